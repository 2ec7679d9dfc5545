"""Collect a table once
====================

Collect 60,000 generated orders in one pass, then answer questions from the moments without reading a row again.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm

# %%
# A table of orders: text, numbers, dates and missing values. One product is ordered seven times only.

rng = np.random.default_rng(0)
n = 60_000
channels = np.array(["web", "app", "shop", "phone"])
channel = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
popularity = 1 / np.arange(1, 121)
product = rng.choice(120, n, p=popularity / popularity.sum())
names = np.array([f"product {i:03d}" for i in range(120)] + ["gift card"])
product[rng.choice(n, 7, replace=False)] = 120
price = np.round(np.exp(rng.normal(3 + product % 7 / 4, 0.4)), 2)
orders = pa.table(
    {
        "channel": pa.array(channels[channel], mask=rng.random(n) < 0.01),
        "product": names[product],
        "price": pa.array(price, mask=rng.random(n) < 0.02),
        "quantity": np.minimum(1 + rng.poisson(0.6, n), 12),
        "ordered": np.datetime64("2025-01-01", "s") + np.sort(rng.integers(0, 365 * 86_400, n)),
        # Orders from the web and by phone are returned more often.
        "returned": (rng.random(n) < np.array([0.12, 0.05, 0.02, 0.20])[channel]).astype(np.int64),
    }
)

# %%
# One pass over the file. The file is deleted afterwards: everything below is computed from the moments.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "orders.parquet"
    pq.write_table(orders, path)
    m = gm.collect(path, folds=5, targets="returned")
print(f"{m.n_rows:,} orders, {m.nbytes / 1e6:.1f} MB of moments")
print(m.summary())

# %%
# Which channel's orders are returned? The exact counts, with labels. `None` is the level of missing values.

counts = m.crosstab("channel", "returned")
print(m.crosstab("channel", "returned", labels=True).to_pandas().to_string(index=False))

# %%
# Moments add and subtract.

half = n // 2
first = gm.collect(orders.slice(0, half), targets="returned")
second = gm.collect(orders.slice(half), targets="returned")
whole = gm.collect(orders, targets="returned")
assert (first + second).isclose(whole)
assert (whole - second).isclose(first)

# %%
# Methods are fitted from the same moments.

pca = gm.PCA("parallel").fit(m)
print(f"PCA keeps {pca.n_components_} components: the others vary no more than those of shuffled columns")
axis = gm.FisherDiscriminant().fit(m, y="returned").loadings().to_pandas()
axis = axis[axis["column"] == "channel"]
print(axis.to_string(index=False))

# %%
# Rare levels are pooled after the pass.

pooled = m.pool(min_count=1000)
cards = m.counts("product")[list(m.levels("product")).index("gift card")]
print(f"products seen: {len(m.levels('product'))}; 'gift card' in {cards} orders")
print(f"products kept: {len(pooled.levels('product'))}; one of them is {pooled.levels('product')[-1]!r}")

# %%
# The share of returned orders in each channel, from the counts, and the weights of the channels on Fisher's axis.

labels = ["(missing)" if label is None else label for label in m.levels("channel")]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.barh(labels, 100 * counts[:, 1] / counts.sum(axis=1))
left.set(xlabel="% returned", title="Returned orders")
right.barh(["(missing)" if label is None else label for label in axis["level"]], axis["weight"], color="C1")
right.axvline(0, color="0.7", linewidth=0.8)
right.set(xlabel="weight", title="Channels on Fisher's axis")
plt.show()
