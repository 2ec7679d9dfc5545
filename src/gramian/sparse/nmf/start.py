"""Where a factorisation begins: the positive parts of singular vectors, or a seeded draw.

A singular pair ``s u v^T`` has entries of both signs; of its two non-negative parts ``u+ v+^T`` and ``u- v-^T`` the
heavier is taken (NNDSVD, Boutsidis & Gallopoulos 2008), with zeros raised to the mean so that multiplicative steps
can move them. It needs no chance, so that the same data give the same factors, and a row that is given twice counts
as one of weight two. Entries that were not observed are filled with the mean of their column for this alone.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array


def singular_start(
    values: Array, weights: Array | None, row_weights: Array | None, n_atoms: int
) -> tuple[Array, Array]:
    """Return codes (n, k) and atoms (k, p) from the leading singular vectors.

    Parameters
    ----------
    values : (n, p) array
        0 where not observed.
    weights : (n, p) array, optional
    row_weights : (n,) array, optional
    n_atoms : int
        Those beyond the rank begin as the mean of the rows.

    Examples
    --------
    >>> codes, atoms = singular_start(np.outer([1.0, 2.0], [3.0, 4.0]), None, None, 1)
    >>> (codes @ atoms).round(6)
    array([[3., 4.],
           [6., 8.]])
    """
    filled = values
    if weights is not None:
        total = weights.sum(axis=0)
        means = (weights * values).sum(axis=0) / np.where(total > 0, total, 1.0)
        filled = np.where(weights > 0, values, means)
    scaled = filled if row_weights is None else filled * np.sqrt(row_weights)[:, None]
    right, sizes = _right_vectors(scaled, n_atoms)
    # Left vectors of the rows as they are: a row's weight is how often it counts, not how long it is.
    left = filled @ right / np.where(sizes > 0, sizes, 1.0)
    n, p = values.shape
    mean = float(np.average(filled.mean(axis=1), weights=row_weights))
    codes = np.full((n, n_atoms), np.sqrt(mean / n_atoms))
    atoms = np.full((n_atoms, p), np.sqrt(mean / n_atoms))
    importance = np.ones(n) if row_weights is None else row_weights
    for j in range(len(sizes)):
        u, v = left[:, j], right[:, j]
        if j == 0:
            # Of a non-negative matrix the first pair has one sign (Perron and Frobenius), up to rounding.
            u, v = np.abs(u), np.abs(v)
        ups, vps, ums, vms = np.maximum(u, 0), np.maximum(v, 0), np.maximum(-u, 0), np.maximum(-v, 0)
        plus, minus = _length(ups, importance) * _length(vps), _length(ums, importance) * _length(vms)
        if plus == 0 and minus == 0:
            continue
        u, v, size = (ups, vps, plus) if plus >= minus else (ums, vms, minus)
        scale = np.sqrt(sizes[j] * size)
        codes[:, j] = scale * u / _length(u, importance)
        atoms[j] = scale * v / _length(v)
    codes[codes < 1e-9 * codes.max(initial=0.0)] = 0.0
    atoms[atoms < 1e-9 * atoms.max(initial=0.0)] = 0.0
    level = mean / max(1.0, n_atoms)
    codes[codes == 0] = np.sqrt(level) * 1e-1
    atoms[atoms == 0] = np.sqrt(level) * 1e-1
    return np.ascontiguousarray(codes), np.ascontiguousarray(atoms)


def random_start(values: Array, n_atoms: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return codes and atoms of seeded half-normal entries whose product has the mean of the values."""
    n, p = values.shape
    scale = np.sqrt(float(values.mean()) / n_atoms)
    return scale * np.abs(rng.normal(size=(n, n_atoms))), scale * np.abs(rng.normal(size=(n_atoms, p)))


def _right_vectors(rows: Array, count: int) -> tuple[Array, Array]:
    """Return leading right singular vectors as columns and the singular values, above rounding."""
    n, p = rows.shape
    if p <= n:
        squares, right = eigh_descending(rows.T @ rows, min(count, p))
    else:
        squares, left = eigh_descending(rows @ rows.T, min(count, n))
        right = rows.T @ left
        right /= np.maximum(np.linalg.norm(right, axis=0), np.finfo(np.float64).tiny)
    kept = squares > 1e-14 * max(float(squares[0]), 0.0)
    return right[:, kept], np.sqrt(squares[kept])


def _length(vector: Array, weights: Array | None = None) -> float:
    return float(np.sqrt(np.sum(np.square(vector) if weights is None else weights * np.square(vector))))
