"""Tables of independent columns, and how often the first component exceeds what PCA("parallel") takes for noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from gramian.linear.layout import Layout
from gramian.linear.parallel import noise_thresholds

TRACY_WIDOM_95 = 0.9793


@dataclass(frozen=True)
class Shape:
    """Rows, numbers, and the levels of each category, with shares that are even or fall as 1/k."""

    n_rows: int
    numbers: int
    levels: tuple[int, ...]
    zipf: bool = False

    def __str__(self) -> str:
        parts = [f"{self.numbers} numbers"] if self.numbers else []
        parts += [f"{len(self.levels)} x {max(self.levels)} {'Zipf' if self.zipf else 'even'}"] if self.levels else []
        return f"{' + '.join(parts)}, {self.n_rows:,} rows"


SHAPES = [
    Shape(500, 2, ()),
    Shape(500, 20, ()),
    Shape(5_000, 60, ()),
    Shape(500, 0, (2, 2)),
    Shape(2_000, 0, (30, 30)),
    Shape(500, 0, (30, 30)),
    Shape(2_000, 0, (200, 200, 200)),
    Shape(500, 0, (3,) * 10, zipf=True),
    Shape(500, 0, (50, 50), zipf=True),
    Shape(500, 0, (20,) * 8, zipf=True),
    Shape(5_000, 0, (200,) * 4, zipf=True),
    Shape(20_000, 0, (50,) * 12, zipf=True),
    Shape(20_000, 0, (200, 200), zipf=True),
    Shape(2_000, 5, (30, 30, 10)),
    Shape(3_000, 10, (200, 50, 5), zipf=True),
]


def codes(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the categories of a shape, only levels that occur."""
    found = []
    for levels in shape.levels:
        share = 1.0 / np.arange(1, levels + 1) if shape.zipf else np.ones(levels)
        drawn = rng.choice(levels, shape.n_rows, p=share / share.sum())
        found.append(np.unique(drawn, return_inverse=True)[1])
    return found


def largest(shape: Shape, columns: list[np.ndarray], rng: np.random.Generator) -> float:
    """Return the first eigenvalue of one table, the columns shuffled against each other: MCA and FAMD by their definition."""
    n = shape.n_rows
    numbers = rng.standard_normal((n, shape.numbers))
    numbers -= numbers.mean(axis=0)
    numbers /= np.linalg.norm(numbers, axis=0)
    parts, centres = [sp.csr_array(numbers)], [np.zeros(shape.numbers)]
    for column in columns:
        root = np.sqrt(np.bincount(column))
        shuffled = rng.permutation(column)
        parts.append(sp.csr_array((1.0 / root[shuffled], (np.arange(n), shuffled)), shape=(n, len(root))))
        centres.append(root / n)
    table, centre = sp.hstack(parts).tocsr(), np.concatenate(centres)
    gram = (table.T @ table).toarray() - n * np.multiply.outer(centre, centre)
    if len(gram) < 60:
        return float(np.linalg.eigvalsh(gram)[-1])
    return float(eigsh(gram, k=1, which="LA", return_eigenvectors=False, tol=1e-6)[0])


def threshold(shape: Shape, columns: list[np.ndarray]) -> float:
    """Return what the first component must exceed."""
    shares = [np.bincount(column) / shape.n_rows for column in columns]
    forms = ["number"] * shape.numbers + ["category"] * len(shares)
    layout = Layout([str(j) for j in range(len(forms))], [1] * shape.numbers + [len(s) for s in shares], forms)
    mean = np.concatenate([np.zeros(shape.numbers), *shares])
    variance = np.concatenate([np.ones(shape.numbers), *(s * (1 - s) for s in shares)])
    metric = np.concatenate([np.ones(shape.numbers), *(1 / np.sqrt(s) for s in shares)])
    first = np.zeros(1), np.zeros((layout.width, 1))
    return float(noise_thresholds(layout, mean, variance, metric, shape.n_rows - 1.0, *first)[0])


def marchenko_pastur(shape: Shape, columns: list[np.ndarray]) -> float:
    """Return the same where every direction is taken for a number of its own."""
    n = shape.n_rows - 1.0
    d = shape.numbers + sum(int(column.max()) for column in columns)
    edge = np.square(1 + np.sqrt(d / n))
    return float(edge + TRACY_WIDOM_95 * (1 + np.sqrt(d / n)) * (1 + np.sqrt(n / d)) ** (1 / 3) * n ** (-2 / 3))


def share_above(shape: Shape, n_tables: int, seed: int) -> tuple[float, float]:
    """Return the share of null tables, in per cent, above the threshold and above Marchenko and Pastur's."""
    rng = np.random.default_rng(seed)
    columns = codes(shape, rng)
    found = np.array([largest(shape, columns, rng) for _ in range(n_tables)])
    ours, plain = threshold(shape, columns), marchenko_pastur(shape, columns)
    return 100.0 * float((found > ours).mean()), 100.0 * float((found > plain).mean())


def dependent(seed: int) -> float:
    """Return by how much two columns of 30 levels, one a copy of the other in 12 rows of 100, exceed their threshold."""
    import pandas as pd

    import gramian as gm

    rng = np.random.default_rng(seed)
    a = rng.integers(0, 30, 2000)
    b = np.where(rng.random(2000) < 0.12, a, rng.integers(0, 30, 2000))
    frame = pd.DataFrame({"a": a.astype(str), "b": b.astype(str)})
    found = gm.PCA("parallel").fit(frame).selection_
    return float(found["explained_variance"][0] / found["noise_threshold"][0])
