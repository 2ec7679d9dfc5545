"""Collect 200,000 generated orders in one pass, then answer questions from the moments without reading a row again.

Run it with ``python examples/collect_a_table.py [ROWS]``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm

TARGETS = ["returned"]


def orders(n_rows: int, seed: int = 0) -> pa.Table:
    """Return a table of orders: text, numbers, dates, missing values, and one product ordered seven times."""
    rng = np.random.default_rng(seed)
    channels = np.array(["web", "app", "shop", "phone"])
    channel = rng.choice(4, n_rows, p=[0.5, 0.3, 0.15, 0.05])
    popularity = 1 / np.arange(1, 121)
    product = rng.choice(120, n_rows, p=popularity / popularity.sum())
    names = np.array([f"product {i:03d}" for i in range(120)] + ["gift card"])
    product[rng.choice(n_rows, 7, replace=False)] = 120
    price = np.round(np.exp(rng.normal(3 + product % 7 / 4, 0.4)), 2)
    quantity = np.minimum(1 + rng.poisson(0.6, n_rows), 12)
    # Web and phone orders are returned more often; the crosstab below shows it.
    returned = (rng.random(n_rows) < np.array([0.12, 0.05, 0.02, 0.20])[channel]).astype(np.int64)
    seconds = np.sort(rng.integers(0, 365 * 86_400, n_rows))
    return pa.table(
        {
            "channel": pa.array(channels[channel], mask=rng.random(n_rows) < 0.01),
            "product": pa.array(names[product]),
            "price": pa.array(price, mask=rng.random(n_rows) < 0.02),
            "quantity": pa.array(quantity),
            "ordered": pa.array(np.datetime64("2025-01-01", "s") + seconds),
            "returned": pa.array(returned),
        }
    )


def show(table: pa.Table) -> None:
    """Print a small table with aligned columns."""
    cells = [
        table.column_names,
        *(["(missing)" if v is None else str(v) for v in row.values()] for row in table.to_pylist()),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)))


def main(n_rows: int = 200_000) -> None:
    """Run the example on a table of `n_rows` orders."""
    table = orders(n_rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders.parquet"
        pq.write_table(table, path)
        # The first pass on a machine also compiles the counting loops, and stores them on disk.
        _, first_time = timed(lambda: gm.collect(path, folds=5, targets=TARGETS))
        m, seconds = timed(lambda: gm.collect(path, folds=5, targets=TARGETS))
    # The file is deleted by now: everything below is computed from the moments.
    print(f"One pass over {m.n_rows:,} orders: {seconds:.2f} s ({first_time:.1f} s the first time), ", end="")
    print(f"{m.nbytes / 1e6:.1f} MB of moments:\n")
    print(m.summary())

    print("\nWhich channel's orders are returned? The exact counts, with labels:\n")
    show(m.crosstab("channel", "returned", labels=True))

    half = n_rows // 2
    first = gm.collect(table.slice(0, half), targets=TARGETS)
    second = gm.collect(table.slice(half), targets=TARGETS)
    whole = gm.collect(table, targets=TARGETS)
    print("\nMoments add and subtract:\n")
    print(f"  first half + second half is the whole: {(first + second).isclose(whole)}")
    print(f"  whole - second half is the first half: {(whole - second).isclose(first)}")

    print("\nMethods are fitted from the same moments; no row is read again:\n")
    pca, seconds = timed(lambda: gm.PCA("parallel").fit(m))
    print(
        f"  PCA keeps {pca.n_components_} components, {pca.explained_variance_ratio_.sum():.0%} of variance, {seconds:.2f} s"
    )
    axes, seconds = timed(lambda: gm.FisherDiscriminant().fit(m, y="returned"))
    loadings = axes.loadings().to_pylist()
    top = max(loadings, key=lambda row: abs(row["weight"]) if row["column"] == "channel" else 0.0)
    print(f"  Fisher's axis for 'returned' weighs channel={top['level']} most among channels, {seconds:.2f} s")

    pooled = m.pool(min_count=1000)
    print("\nRare levels are pooled after the pass:\n")
    cards = rows_of(m, "product", "gift card")
    print(f"  products seen: {len(m.levels('product'))}, 'gift card' in {cards} orders")
    print(f"  products kept: {len(pooled.levels('product'))}, one of them {pooled.levels('product')[-1]!r}")


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its time in seconds."""
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def rows_of(m: gm.Moments, column: str, label: object) -> int:
    """Return the number of rows with a label."""
    return int(m.counts(column)[list(m.levels(column)).index(label)])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
