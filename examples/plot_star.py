"""A star of tables
================

Sales, shops and regions: which table explains the sales, and a model over all of them without joining a row.

The facts are collected once. A table is attached to the moments by its key, as if it had been joined before the pass: every
count is that of the joined table. ``gm.rank_tables`` says beforehand which of several tables is worth it. Its test deals the
rows of a table to the keys at random, so a table is not called useful merely because shops differ.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm

# %%
# A star: sales point to shops and products, shops to regions. Sales grow with the size of the shop and with the region's
# income, and shops differ by themselves. The weather station next to a shop has nothing to do with it.

rng = np.random.default_rng(4)
N_SALES, N_SHOPS, N_PRODUCTS = 30_000, 300, 80
regions = pa.table({"region": ["north", "south", "east", "west"], "income": [31.0, 24.0, 27.0, 35.0]})
region = rng.integers(0, 4, N_SHOPS)
size = rng.gamma(4.0, 50.0, N_SHOPS)
shops = pa.table(
    {
        "shop": [f"shop {k:03d}" for k in range(N_SHOPS)],
        "region": regions["region"].take(pa.array(region)),
        "size": size,
        "door": rng.choice(["glass", "wood", "steel"], N_SHOPS),
    }
)
stations = pa.table(
    {"shop": shops["shop"], "rain": rng.gamma(2.0, 300.0, N_SHOPS), "wind": rng.gamma(3.0, 4.0, N_SHOPS)}
)
products = pa.table(
    {
        "product": np.arange(N_PRODUCTS),
        "brand": rng.choice(["Oak", "Mill", "Barn"], N_PRODUCTS),
        "price": rng.gamma(3.0, 9.0, N_PRODUCTS),
    }
)
shop, product = rng.integers(0, N_SHOPS, N_SALES), rng.integers(0, N_PRODUCTS, N_SALES)
income = regions["income"].to_numpy()[region[shop]]
amount = 0.02 * size[shop] + 0.2 * income + 0.1 * products["price"].to_numpy()[product]
amount += rng.normal(size=N_SHOPS)[shop] + 3 * rng.normal(size=N_SALES)
sales = pa.table({"shop": shops["shop"].take(pa.array(shop)), "product": product, "amount": amount})

# %%
# One pass over the facts. Integers that are keys are collected by level.

m = gm.collect(sales, categorical="product", targets="amount", folds=5)
print(m)

# %%
# Which table is worth joining? The shops are; the stations are not, though shops differ.

ranked = gm.rank_tables(
    m, "amount", {"shop": {"shops": shops, "stations": stations}, "product": {"products": products}}
)
for row in ranked.to_pylist():
    name = row["table"] if row["column"] is None else f"    {row['column']}"
    print(f"{name:16} gain {row['gain']:7.4f}   p {row['p_value']:.2g}")

# %%
# The star and the snowflake: `region` came with the shops, and is a key itself.

star = m.attach("shop", shops).attach("product", products).attach("region", regions, keep_key=True)
print(star.design_names)

# %%
# A model over the star. New sales are joined to their tables while they stream.

model = gm.MahalanobisFeatures(structure="columns").fit(star, y="amount")
folder = Path(tempfile.mkdtemp())
tables = {"shop": shops, "product": products, "region": regions}
gm.transform_file(model, sales, folder / "features.parquet", keep="amount", lookup=tables)
features = pq.read_table(folder / "features.parquet")
score = sum(features.column(name).to_numpy() for name in features.column_names[1:])
r = np.corrcoef(score, amount)[0, 1]
print(
    f"R^2 of the sum of the features: {r**2:.3f}; of the shops and products themselves, at best: {1 - 9 / amount.var():.3f}"
)

# %%
# The gains, column by column.

columns = [row for row in ranked.to_pylist() if row["column"] is not None]
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
colors = ["tab:blue" if row["p_value"] < 0.01 else "lightgrey" for row in columns]
axes.barh([f"{row['table']}: {row['column']}" for row in columns], [row["gain"] for row in columns], color=colors)
axes.invert_yaxis()
axes.set_xlabel("gain in held-out R^2 (grey: no more than chance)")
plt.show()
