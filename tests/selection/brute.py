"""Selection from the definitions, on rows: every quantity by a singular value decomposition of what was given."""

import numpy as np
import pandas as pd


def expanded(frame, columns):
    """Return centred columns: numbers with missing values at their means, one column a level (missing is one)."""
    parts = [np.zeros((len(frame), 0))]
    for name in columns:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values) and values.dtype != bool:
            parts.append(values.fillna(values.mean()).to_numpy(float)[:, None])
        else:
            parts.append(pd.get_dummies(values.astype(object).where(values.notna(), "(missing)")).to_numpy(float))
    out = np.concatenate(parts, axis=1)
    return out - out.mean(axis=0)


def basis(matrix):
    """Return orthonormal columns that span a centred matrix."""
    if not matrix.shape[1]:
        return matrix
    scale = np.sqrt(np.square(matrix).sum(axis=0))
    u, s, _ = np.linalg.svd(matrix / np.where(scale > 0, scale, 1.0), full_matrices=False)
    return u[:, s > 1e-6]


def target_basis(values):
    """Return orthonormal functions of a target: a number centred, classes by their indicators."""
    values = np.asarray(values)
    functions = values[:, None].astype(float) if values.dtype.kind == "f" else pd.get_dummies(values).to_numpy(float)
    return basis(functions - functions.mean(axis=0))


def explained(frame, columns, target):
    """Return the sum of squared canonical correlations with the target, and the rank of the columns."""
    z = basis(expanded(frame, columns))
    return float(np.square(z.T @ target_basis(target)).sum()), z.shape[1]


def score(frame, inside, column, target):
    """Return what a column adds to a model less twice what chance would, and by how many directions."""
    before, rank = explained(frame, inside, target)
    after, more = explained(frame, [*inside, column], target)
    r = target_basis(target).shape[1]
    chance = (more - rank) * (r - before) / (len(frame) - 1 - rank)
    return after - before - 2 * chance, more - rank


def random_problem(rng, *, missing=False):
    """Return a table of numbers, categories of 2 to 12 levels, a sum of two numbers, a coarser category, and a target."""
    n = int(rng.integers(60, 160))
    frame = pd.DataFrame({f"n{k}": rng.standard_normal(n) for k in range(3)})
    for k, levels in enumerate((2, 3, 5, 12)):
        frame[f"c{k}"] = [f"l{v}" for v in rng.integers(0, levels, n)]
    frame["sum"] = 2 * frame["n0"] + frame["n1"]
    frame["coarse"] = [v[:2] for v in frame["c3"]]
    signal = frame["n0"] + 1.5 * (frame["c2"] == "l1") + rng.standard_normal(n)
    if missing:
        frame.loc[rng.random(n) < 0.2, "n2"] = np.nan
    if rng.random() < 0.5:
        return frame, signal.to_numpy()
    return frame, np.array(["low", "mid", "high"])[np.digitize(signal, [-0.5, 1.0])]
