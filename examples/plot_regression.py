"""From a CSV to a paragraph
=========================

From a CSV to a paragraph: claims of an insurer by Poisson regression, with errors that can be trusted.

A table of contracts has categories and numbers. Claims are counted over different times, so that the time is the exposure. The
model is fitted by weighted passes over the file, the coefficients come with standard errors, and whole columns with a test.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

# %%
# Contracts of four zones. The age of the driver is missing for some. A few contracts are much worse than their columns
# say, so that counts vary more than Poisson's law allows for.

rng = np.random.default_rng(0)
n = 24_000
zone = rng.choice(["city", "coast", "hills", "plain"], n, p=[0.4, 0.2, 0.1, 0.3])
fuel = rng.choice(["diesel", "petrol", "electric"], n)
age = rng.normal(45, 12, n)
rate = np.exp(-2.2 + 0.4 * (zone == "coast") - 0.3 * (zone == "plain") + 0.1 * (fuel == "diesel") - 0.01 * (age - 45))
years = rng.uniform(0.5, 6.0, n)
contracts = pd.DataFrame({"zone": zone, "fuel": fuel, "age": age.round(1), "years": years.round(2)})
contracts.loc[rng.random(n) < 0.05, "age"] = np.nan
contracts["claims"] = rng.poisson(rate * years * rng.gamma(2.0, 0.5, n))
path = Path(tempfile.mkdtemp()) / "claims.csv"
contracts.to_csv(path, index=False)

# %%
# One call reads the file, and counts it a few times with other weights.

model = gm.GLM("poisson", exposure="years", reference={"zone": "city"}).fit(path, "claims")
print(model.summary(errors="HC3", data=path))

# %%
# Of a category one wants to know whether it matters at all: one row per column.

anova = model.anova(errors="HC3", data=path).to_pandas()
print(anova.round(4).to_string(index=False))

# %%
# And how two of its levels differ. On the scale of the link differences are logarithms of ratios.

row = model.compare_levels("zone", "coast", "hills", errors="HC3", data=path).to_pylist()[0]
ratio, low, high = np.exp([row["difference"], row["lower"], row["upper"]])
zones = anova.set_index("column").loc["zone"]
p_value = "< 0.001" if zones["p_value"] < 0.001 else f"= {zones['p_value']:.3f}"
print(
    "\nClaims per year of exposure were modelled by Poisson regression with zone, fuel and age of the driver "
    f"({n:,} contracts). Zones differ (chi-squared = {zones['statistic']:.0f} with {zones['df']:.0f} degrees of freedom, "
    f"p {p_value}). Claims on the coast are {ratio:.2f} times those in the hills (95% interval {low:.2f} to {high:.2f}, "
    "errors robust to unequal variances)."
)

# %%
# The errors that Poisson's law implies are too small here, as counts vary more than it says.

plain = model.inference().to_pandas()
robust = model.inference(errors="HC3", data=path).to_pandas()
shown = robust[robust["column"].isin(["zone", "fuel"])].reset_index(drop=True)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, table, label in ((0.12, robust, "HC3"), (-0.12, plain, "iid")):
    kept = table[table["column"].isin(["zone", "fuel"])]
    ax.errorbar(
        kept["coefficient"],
        np.arange(len(kept)) + shift,
        xerr=kept["upper"] - kept["coefficient"],
        fmt="o",
        markersize=4,
        label=label,
    )
ax.axvline(0, color="0.7", linewidth=0.8)
ax.set_yticks(range(len(shown)), shown["column"] + ": " + shown["level"])
ax.set(xlabel="log ratio of claim rates, against the reference level", title="Coefficients with 95% intervals")
ax.legend()
plt.show()
