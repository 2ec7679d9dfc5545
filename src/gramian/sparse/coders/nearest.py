"""Vector quantisation: the nearest atom and no other, with coefficient 1.

``||x - d_j||^2 = ||x||^2 - 2 x.d_j + ||d_j||^2``; both sides are first moved by the first atom, which changes no distance
and keeps its digits where signals lie far from zero. Of atoms equally near the first is taken.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.sparse.coders.rows import BLOCK_ROWS


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
