"""What changed since last week
============================

Compare each week with the weeks before, from moments alone: what drifted, and which two columns changed together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import PowerNorm

import gramian as gm

# %%
# Twelve weeks of sensor readings. From week 8 on the sensors of one maker read too high; from week 10 on a new maker
# appears. In week 11 temperature and pressure stop going together, although neither changes by itself.

rng = np.random.default_rng(1)
makers = np.array(["Ada", "Bolt", "Crux", "Dyn"])


def readings(week, n=1500):
    """Return the readings of one week."""
    maker = rng.choice(4, n, p=[0.5, 0.3, 0.2, 0.0] if week < 10 else [0.45, 0.25, 0.2, 0.1])
    temperature, other = rng.normal(0, 1, (2, n))
    pressure = other if week == 11 else 0.7 * temperature + np.sqrt(0.51) * other
    flow = rng.normal(10, 2, n) + (1.0 * (maker == 1) if week >= 8 else 0)
    return pd.DataFrame(
        {"maker": makers[maker], "temperature": 20 + 3 * temperature, "pressure": 1 + 0.1 * pressure, "flow": flow}
    )


weeks = [gm.collect(readings(week)) for week in range(12)]

# %%
# Moments add up, so all weeks before one are a sum. The comparison needs no row. Each change has an effect from 0 to 1
# and a p-value that is adjusted for the number of comparisons.

found = []
for week in range(3, 12):
    changes = gm.compare(gm.merge(weeks[:week]), weeks[week])
    found.append(changes.assign(week=week))
    real = changes[changes["adjusted"] < 0.01]
    names = [
        f"{a} with {b}" if isinstance(b, str) else f"{a} ({what})"
        for a, b, what in real[["column", "other", "what"]].to_numpy()
    ]
    print(f"week {week:2}: {', '.join(names) or 'nothing'}")

# %%
# One row per comparison, one column per week. Cells with a mark are beyond chance.

table = pd.concat(found)
pair = table["column"] + np.where(
    table["other"].notna(), " with " + table["other"].astype(str), " (" + table["what"] + ")"
)
effect = table.assign(name=pair).pivot(index="name", columns="week", values="effect")
sure = table.assign(name=pair).pivot(index="name", columns="week", values="adjusted") < 0.01
figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
shown = axes.imshow(effect, cmap="Blues", aspect="auto", norm=PowerNorm(0.5, vmin=0))
axes.set_xticks(range(len(effect.columns)), effect.columns)
axes.set_yticks(range(len(effect)), effect.index)
for i, j in zip(*np.nonzero(sure.to_numpy()), strict=True):
    axes.text(j, i, "✕", ha="center", va="center", color="C3", fontsize=12)
axes.set(title="Each week against all weeks before it", xlabel="week")
figure.colorbar(shown, label="effect (marks: adjusted p below 0.01)")
plt.show()
