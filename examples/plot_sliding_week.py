"""A year of daily files, one moments file a day, and the last seven days of any day by one addition and one subtraction.

Each day's rows are read once, on the day they arrive, and their moments kept: a few kilobytes, whatever the number of rows.
Sums over any stretch of days are then sums of those files. A window that slides adds the day that enters and takes away the
one that leaves; no row is read again, and models of every week of the year cost algebra.
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
# A shop's year: in summer the city stops mattering and the channel begins to.

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
    """Return what is kept of a day."""
    return gm.Moments.load(folder / f"{day:03d}.moments")


# %%
# The window: seven days to begin with, then one addition and one subtraction a day. Counts are exact however far it
# slides; sums of numbers keep their digits, because no mean is ever stored rounded.

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
print(f"the last of 358 weeks, {week.n_rows} rows, is that of its seven files read afresh")

# %%
# Any column may be the target of any week, after the fact.

model = gm.MahalanobisFeatures(1).fit(week, "paid")
print(f"R² of the last week: {model.r2_:.3f}")

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for column in ("city", "channel"):
    axes.plot(list(strength), [found[column] for found in strength.values()], label=column)
axes.set(xlabel="day", ylabel="correlation with what was paid", title="The last seven days")
axes.legend()
plt.show()
