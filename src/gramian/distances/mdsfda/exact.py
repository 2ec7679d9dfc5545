"""MDS-FDA of a Gram matrix in memory, by the cheapest exact way: triangular factors, or one decomposition.

Factors (`distances.mdsfda.definite`) serve one regularisation where G has no negative eigenvalue, and take less than a third
of the time of a decomposition. Where it has some, |G| = G sign(G), and the sign of a matrix is what costs. The eigenvalues of
distances that are not Euclidean pass through zero without a gap (by city-block distance 1,633 of 2,000 are negative, the least
at 3% of the largest), and there |w| / (|w| + r) has a kink:

- a Krylov space from the class scores, or a correction for the largest negative eigenvalues alone, errs by |w| / r of those it
  has not found, so that eight digits need nearly all of them;
- iterations for the sign take ten or more products of n x n matrices, three of which cost as much as the decomposition;
- the vectors of one sign alone, 367 of them, take three quarters of it, and the factors of |G| come after;
- rational functions of the tridiagonal form need no vectors, but the form itself is two fifths of the decomposition, and each
  of the ten rounds or so that held-out scores take goes to its basis, through some forty shifted systems and back, a
  twentieth: nine tenths in all, reckoned from the times of its parts.

So one decomposition it is, which has the held-out scores of a fold in one product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.distances.mdsfda.classifier import Labels
from gramian.distances.mdsfda.definite import MIN_OBJECTS, SMALLEST, solve_definite
from gramian.distances.mdsfda.mdsfda import Discriminant, solve

SMALL = 1000
"""Objects up to which numpy decomposes, which copies the matrix but lets other threads run; scipy does neither."""


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
        definite = solve_definite(G, labels, n_components=n_components, regularization=regularization, folds=folds[0])
        if definite is not None:
            return definite
    if len(G) <= SMALL:
        values, vectors = np.linalg.eigh(G)
    else:
        # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
        values, vectors = scipy.linalg.eigh(G.T, driver="evd", overwrite_a=True, check_finite=False)
    return solve(values, vectors, labels, n_components=n_components, regularization=regularization, folds=folds)
