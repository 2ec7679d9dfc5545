"""Vector quantisation: each signal is coded by the nearest atom alone, with coefficient 1.

It is the dictionary model under its hardest constraint, one coefficient, equal to 1: the best atom is then the mean
of its signals, and the best code the nearest atom. scikit-learn's k-means finds the atoms. In a stream each atom moves to the
mean of all signals that it has stood for (MacQueen 1967).

``||x - d_j||^2 = ||x||^2 - 2 x.d_j + ||d_j||^2``; both sides are first moved by the first atom, which changes no distance
and keeps its digits where signals lie far from zero. Of atoms equally near the first is taken.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.sparse.atoms import BLOCK_ROWS


def nearest_atom(signals: Array, atoms: Array) -> Array:
    """Return the number of the atom nearest to each signal, (n,).

    Examples
    --------
    >>> nearest_atom(np.array([[0.9, 0.2], [0.1, 0.8]]), np.eye(2))
    array([0, 1])
    """
    centre = atoms[0]
    moved = atoms - centre
    half = 0.5 * np.einsum("ij,ij->i", moved, moved)
    out = np.empty(len(signals), dtype=np.int64)

    def one(start: int) -> None:
        rows = slice(start, start + BLOCK_ROWS)
        out[rows] = np.argmax((signals[rows] - centre) @ moved.T - half, axis=1)

    with one_blas_thread():
        in_threads(one, range(0, len(signals), BLOCK_ROWS))
    return out


def nearest(signals: Array, atoms: Array) -> Array:
    """Return codes with one 1 each, at the nearest atom, (n, k).

    Examples
    --------
    >>> nearest(np.array([[0.9, 0.2], [0.1, 0.8]]), np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    codes = np.zeros((len(signals), len(atoms)))
    codes[np.arange(len(signals)), nearest_atom(signals, atoms)] = 1.0
    return codes


def quantise(
    signals: Array,
    n_atoms: int,
    *,
    row_weights: Array | None = None,
    n_init: int = 1,
    max_iter: int = 300,
    seed: int = 0,
) -> tuple[Array, Array, float, int]:
    """Return atoms (k, p), how much weight each stands for (k,), the weighted squared error, and the iterations.

    Parameters
    ----------
    signals : (n, p) array
    n_atoms : int
    row_weights : (n,) array, optional
    n_init : int
        Starts, of which the best is kept.
    max_iter : int
    seed : int

    Examples
    --------
    >>> atoms, uses, error, _ = quantise(np.array([[0.0], [2.0], [10.0]]), 2)
    >>> sorted(atoms.ravel().tolist()), error
    ([1.0, 10.0], 2.0)
    """
    from sklearn.cluster import KMeans

    model = KMeans(n_atoms, n_init=n_init, max_iter=max_iter, random_state=seed)
    model.fit(np.asarray(signals, dtype=np.float64), sample_weight=row_weights)
    uses = np.bincount(model.labels_, weights=row_weights, minlength=n_atoms).astype(np.float64)
    return np.ascontiguousarray(model.cluster_centers_), uses, float(model.inertia_), int(model.n_iter_)


def move_atoms(atoms: Array, uses: Array, signals: Array, row_weights: Array | None = None) -> tuple[Array, Array]:
    """Return atoms and their uses after a batch: each is the mean of all signals that were nearest to it.

    Examples
    --------
    >>> move_atoms(np.array([[0.0], [9.0]]), np.array([1.0, 0.0]), np.array([[2.0], [8.0]]))
    (array([[1.],
           [8.]]), array([2., 1.]))
    """
    labels = nearest_atom(signals, atoms)
    counts = np.ones(len(signals)) if row_weights is None else row_weights
    new = np.bincount(labels, weights=counts, minlength=len(atoms))
    sums = np.zeros_like(atoms)
    # Deviations from the atom, so that a mean far from zero keeps its digits.
    np.add.at(sums, labels, counts[:, None] * (signals - atoms[labels]))
    total = uses + new
    return atoms + sums / np.where(total > 0, total, 1.0)[:, None], total
