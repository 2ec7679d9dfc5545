"""A week that slides
==================

A year of daily files with one moments file per day: the last seven days take one addition and one subtraction.

The rows of each day are read once, on the day they arrive, and their moments are saved: a few kilobytes, for any number of
rows. The moments of several days are the sum of their files. A sliding window adds the new day and subtracts the oldest one.
No row is read again, so a model for every week of the year is cheap.
"""

import tempfile
from collections import deque
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm

# %%
# A shop's year: in summer, the channel determines what customers pay; otherwise, the city does.

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
cities, channels = np.array(["Bern", "Graz", "Linz", "Ulm"]), np.array(["web", "store", "phone"])
for day in range(365):
    n = int(rng.poisson(150))
    city, channel = rng.integers(4, size=n), rng.integers(3, size=n)
    summer = 150 < day < 240
    paid = 20 + (8 * (channel == 0) if summer else 5 * (city == 2)) + rng.normal(0, 4, n)
    rows = pa.table({"city": cities[city], "channel": channels[channel], "paid": paid})
    pq.write_table(rows, folder / f"{day:03d}.parquet")

# %%
# Every evening: one pass over the day's file, one moments file beside it.

for path in sorted(folder.glob("*.parquet")):
    gm.collect(path, n_jobs=1).save(path.with_suffix(".moments"))


def moments_of(day):
    """Return the moments of a day."""
    return gm.Moments.load(folder / f"{day:03d}.moments")


# %%
# The window starts with seven days. Each later day takes one addition and one subtraction. Counts stay exact over any
# number of days; sums of numbers keep their digits, because no mean is stored rounded.

days = deque(moments_of(day) for day in range(7))
week = gm.merge(days)
strength = {}
for day in range(7, 365):
    days.append(moments_of(day))
    week = week + days[-1] - days.popleft()
    if day % 7 == 0:
        table = gm.rank_columns(week, "paid", methods=["pearson"])
        strength[day] = dict(zip(table["column"].to_pylist(), table["correlation"].to_pylist(), strict=True))

direct = gm.collect([folder / f"{day:03d}.parquet" for day in range(358, 365)])
assert week.isclose(direct)
print(f"the last of 358 weeks, {week.n_rows} rows, equals its seven files read again")

# %%
# Any column can be the target, for any week.

model = gm.MahalanobisFeatures(1).fit(week, "paid")
print(f"R² of the last week: {model.r2_:.3f}")

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for column in ("city", "channel"):
    axes.plot(list(strength), [found[column] for found in strength.values()], label=column)
axes.set(xlabel="day", ylabel="correlation with what was paid", title="The last seven days")
axes.legend()
plt.show()
