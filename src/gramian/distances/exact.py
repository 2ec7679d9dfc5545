"""MDS-FDA of a Gram matrix in memory, by the cheapest exact way: triangular factors, or one decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.distances.classes import Labels
from gramian.distances.definite import MIN_OBJECTS, SMALLEST, solve_definite
from gramian.distances.mdsfda import Discriminant, solve


def solve_gram(
    G: npt.NDArray[Any],
    labels: Labels,
    *,
    n_components: int,
    regularization: float | None,
    folds: npt.NDArray[np.int64],
) -> Discriminant:
    """Return the discriminant coordinates from the Gram matrix, which is destroyed.

    Factors serve one regularisation and no negative eigenvalue; a decomposition serves everything. Both give the same.

    Parameters
    ----------
    G : (n, n) array
    labels, n_components, regularization, folds
        As for `mdsfda.solve`.
    """
    if regularization is not None and regularization >= SMALLEST and len(G) >= MIN_OBJECTS and len(folds) == 1:
        found = solve_definite(G, labels, n_components=n_components, regularization=regularization, folds=folds[0])
        if found is not None:
            return found
    # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
    values, vectors = scipy.linalg.eigh(G.T, driver="evd", overwrite_a=True, check_finite=False)
    return solve(values, vectors, labels, n_components=n_components, regularization=regularization, folds=folds)
