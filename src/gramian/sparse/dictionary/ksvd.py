"""K-SVD: an atom and the coefficients that use it, refitted together, one atom after the other.

Take atom j out of the reconstruction of the signals that use it: ``E = X_S - C_S D + c d^T``. The best rank-one fit
of E replaces ``c d^T``: it is E's first singular pair, found here by one step of its power iteration from where it
stands (Rubinstein et al. 2008): ``d <- E^T c / ||E^T c||``, ``c <- E d``. Both halves are exact minimisers, so the
error never rises, and no coefficient that was zero becomes anything else.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array


def ksvd_sweep(signals: Array, codes: Array, atoms: Array, *, positive: bool = False) -> tuple[Array, Array]:
    """Return atoms of length 1 and codes on the same supports, each pair refitted once.

    Parameters
    ----------
    signals : (n, p) array
    codes : (n, k) array
    atoms : (k, p) array
    positive : bool
        Coefficients are not negative.

    Notes
    -----
    O(p) times the number of non-zero coefficients.

    References
    ----------
    M. Aharon, M. Elad, A. Bruckstein (2006), K-SVD: an algorithm for designing overcomplete dictionaries for sparse
    representation.

    Examples
    --------
    >>> atoms, codes = ksvd_sweep(np.array([[3.0, 4.0], [6.0, 8.0]]), np.array([[3.0], [6.0]]), np.array([[1.0, 0.0]]))
    >>> atoms.round(3), codes.round(3)
    (array([[0.6, 0.8]]), array([[ 5.],
           [10.]]))
    """
    atoms, codes = atoms.copy(), codes.copy()
    residual = np.asarray(signals, dtype=np.float64) - codes @ atoms
    for j in range(len(atoms)):
        users = np.flatnonzero(codes[:, j])
        coefficients = codes[users, j]
        without = residual[users] + np.outer(coefficients, atoms[j])
        direction = coefficients @ without
        size = float(np.linalg.norm(direction))
        if size == 0:
            continue
        atoms[j] = direction / size
        refitted = without @ atoms[j]
        codes[users, j] = np.maximum(refitted, 0.0) if positive else refitted
        residual[users] = without - np.outer(codes[users, j], atoms[j])
    return atoms, codes
