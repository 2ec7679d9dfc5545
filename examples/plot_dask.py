"""Dask in one page
================

Collect a Dask DataFrame partition by partition. The moments are those of the same rows on one machine.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

# %%
# A table in eight partitions. On a cluster each lies on a worker; here the threads of this process stand for the
# workers.

rng = np.random.default_rng(0)
n = 20_000
rows = pd.DataFrame(
    {
        "route": rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "carrier": rng.choice(["A", "B", "C"], n),
        "distance": rng.gamma(4, 200, n),
    }
)
rows["late"] = (
    5 + 10 * (rows["route"] == "west") + 4 * (rows["carrier"] == "B") + 0.01 * rows["distance"] + rng.normal(0, 8, n)
)
frame = dd.from_pandas(rows, npartitions=8)

# %%
# Each partition becomes moments of a few kilobytes. These are added; no row leaves its worker.

moments = gm.collect(frame)
assert moments.isclose(gm.collect(rows))
print(f"{moments.n_rows:,} rows in {frame.npartitions} partitions, {moments.nbytes / 1e3:.0f} kB of moments")

# %%
# Everything else is as on one machine. An estimator also takes the Dask frame itself.

model = gm.Ridge(0).fit(moments, "late")
np.testing.assert_allclose(gm.Ridge(0).fit(frame, "late").coef_, model.coef_, rtol=1e-9)
table = pd.DataFrame(model.inference())
print(table.round(3).to_string(index=False))

parts = [gm.collect(frame.get_partition(k).compute()) for k in range(8)]
means = [part.mean(["late"])[0] for part in parts]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(range(8), means, "o", label="one partition")
left.axhline(moments.mean(["late"])[0], color="C1", label="all partitions")
left.set(title="Mean of a column", xlabel="partition", ylabel="minutes late")
left.legend()
kept = table[table["level"].notna()]
right.errorbar(
    kept["coefficient"],
    kept["column"] + ": " + kept["level"].astype(str),
    xerr=kept["upper"] - kept["coefficient"],
    fmt="o",
)
right.axvline(0, color="0.7", lw=0.8)
right.set(title="Coefficients with 95% intervals", xlabel="minutes")
plt.show()
