"""MDS-FDA of Euclidean distances at a given regularisation: triangular factors in place of a decomposition.

Where D is Euclidean, G has no negative eigenvalue, |G| is G, and what `distances.mdsfda.mdsfda` asks for are c right-hand
sides against one positive definite matrix:

    weights  W = (G + r I)^-1 Y,      fitted scores  S Y = Y - r W,      Y' S Y = Y' Y - r Y' W.

The held-out scores of a fold f need ``(I - S_ff - 11'/n)^-1``, where ``I - S_ff = q (A^-1)_ff`` for ``A = G + q I``, q = 4/5 r
(see `mdsfda.share_kept`). A fold holds a fifth of each direction, so that S_ff is small, and conjugate gradients, with every
use of ``A = L L'`` serving all folds and classes, end in about ten rounds. The weights come from the same rounds:
``G + r I = A (I + (r - q) A^-1)``, where the second matrix has eigenvalues between 1 and 5/4. Where single objects have hat
values near one, as with little regularisation, more than `ROUNDS` would be needed; then ``(A^-1)_ff = B' B`` with B the
columns f of L^-1, which with the objects ordered by fold start at the fold's first row.

That G has no negative eigenvalue is shown by a factor too: that of G + t I with t so small (`NEGLIGIBLE` of r) that what it may
hide changes S in the ninth digit. Where there is a negative eigenvalue this factor breaks off, mostly already that of the
first `CORNER` objects, and the decomposition of `distances.mdsfda.mdsfda` is the way. In all some 0.8 n^3 operations, each as
cheap as those of a matrix product, against some 9 n^3 for eigenvalues and vectors, half of which are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.types import Array
from gramian.distances.mdsfda.classifier import Labels
from gramian.distances.mdsfda.mdsfda import Discriminant, Regression, parts_of, path_of_one, share_kept, solve_left
from gramian.linear.solvers.conjugate import conjugate_gradients

MIN_OBJECTS = 500
"""Below it one decomposition takes a few hundredths of a second, and folds are dealt several times."""

SMALLEST = 1e-6
"""Regularisations below it, relative to the largest eigenvalue, leave too few digits to a factor."""

NEGLIGIBLE = 1e-9

CORNER = 256
"""Objects whose inner products alone mostly show that D is not Euclidean."""

ROUNDS = 20
"""Uses of a factor, for all folds and classes at once, beyond which its inverse costs less."""


def solve_definite(
    G: npt.NDArray[Any], labels: Labels, *, n_components: int, regularization: float, folds: npt.NDArray[np.int64]
) -> Discriminant | None:
    """Return the discriminant coordinates from the Gram matrix, or None where it has a negative eigenvalue.

    Parameters
    ----------
    G : (n, n) array
        Not changed.
    labels : Labels
    n_components : int
    regularization : float
        Relative to the largest eigenvalue, at least `SMALLEST`.
    folds : (n,) array of int
        One deal.

    Examples
    --------
    >>> X = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0, 9.5]) - 36.5 / 7
    >>> labels = Labels.of(np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    >>> found = solve_definite(np.outer(X, X), labels, n_components=1, regularization=0.1, folds=np.arange(7) % 2)
    >>> bool(np.allclose(found.embedding[:, 0] / X, found.embedding[0, 0] / X[0]))
    True
    """
    hidden = max(NEGLIGIBLE * regularization, len(G) * float(np.finfo(G.dtype).eps))
    # The eigenvalues of a corner lie between those of the whole, and the norm is no less than the largest: what a corner
    # shows with this shift, the whole would show with the smaller one, after many products for its largest eigenvalue.
    if _factor(G[:CORNER, :CORNER].copy(), hidden * 1.001 * _norm(G)) is None:
        return None
    scale = largest_eigenvalue(G)
    ridge = regularization * scale
    work = np.empty_like(G)
    np.copyto(work, G)
    if _factor(work, hidden * scale) is None:
        return None
    Y = labels.scores()
    np.copyto(work, G)
    weights, held = _regression(G, work, Y, parts_of(folds), ridge)
    fitted = Y - ridge * weights
    regression = Regression.of(Y.T @ fitted, labels.means(fitted), held, labels, n_components)
    path = path_of_one(regularization, regression, n_deals=1)
    return Discriminant.of(regression, fitted, weights, scale=scale, path=path, negative_share=0.0)


def _norm(G: npt.NDArray[Any]) -> float:
    """Return the root of the sum of squares.

    By scipy: the threads of numpy's own BLAS would go on waiting for more to do beside those that factor next.
    """
    return float(scipy.linalg.get_lapack_funcs("lange", (G,))("F", G.T))


def largest_eigenvalue(G: npt.NDArray[Any]) -> float:
    """Return the largest eigenvalue of a symmetric matrix, by a few Lanczos steps over one triangle."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    symv = scipy.linalg.get_blas_funcs("symv", (G,))
    operator = LinearOperator(G.shape, matvec=lambda v: symv(1.0, G.T, v, lower=True), dtype=G.dtype)
    first = np.random.default_rng(0).standard_normal(len(G)).astype(G.dtype)
    # The error of an eigenvalue is the square of that of its vector, which the tolerance is about.
    options = {"tol": 0.1 * float(np.sqrt(np.finfo(G.dtype).eps)), "ncv": min(len(G), 12), "v0": first}
    return float(eigsh(operator, k=1, which="LA", return_eigenvectors=False, **options)[0])


def _factor(A: npt.NDArray[Any], shift: float) -> npt.NDArray[Any] | None:
    """Return L with ``A + shift I = L L'`` in the place of A, or None where that is not positive definite.

    Above its diagonal stands what stood there.
    """
    A[np.diag_indices(len(A))] += shift
    potrf = scipy.linalg.get_lapack_funcs("potrf", (A,))
    # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
    factor, failed = potrf(A.T, lower=True, clean=False, overwrite_a=True)
    return None if failed else factor


def _regression(
    G: npt.NDArray[Any], A: npt.NDArray[Any], Y: Array, parts: list[npt.NDArray[np.intp]], ridge: float
) -> tuple[Array, Array]:
    """Return the weights and each fold's scores without it; A holds G and is destroyed."""
    n, c = Y.shape
    less = ridge * share_kept(len(parts))
    factor = _existing_factor(A, less)

    def solve(right: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve((factor, True), right, check_finite=False), dtype=np.float64)

    def product(block: Array, kind: Array) -> Array:
        # Columns of kind 1 ask for A^-1; those of kind 0 for its blocks, each fold in columns of its own.
        whole, folded = block[:, kind == 1], block[:, kind == 0]
        k, m = whole.shape[1], folded.shape[1]
        wide = np.zeros((n, k + len(parts) * m), order="F")
        wide[:, :k] = whole
        for f, part in enumerate(parts):
            wide[part, k + f * m : k + (f + 1) * m] = folded[part]
        wide = solve(wide)
        out, left = np.empty_like(block), np.empty_like(folded)
        for f, part in enumerate(parts):
            left[part] = less * wide[part, k + f * m : k + (f + 1) * m] - folded[part].sum(axis=0) / n
        out[:, kind == 1], out[:, kind == 0] = (ridge - less) * wide[:, :k], left
        return out

    def iterate(right: Array, kind: Array) -> tuple[Array, bool]:
        tolerance = max(1e-11, 10 * float(np.finfo(A.dtype).eps))
        return conjugate_gradients(product, np.ones(n), right, kind, np.ones(n), tol=tolerance, max_rounds=ROUNDS)

    first = solve(Y)
    solution, done = iterate(np.hstack([first, less * first]), np.repeat([1.0, 0.0], c))
    if done:
        return solution[:, :c], Y - solution[:, c:]
    weights, _ = iterate(first, np.ones(c))
    order = np.concatenate(parts)
    for rows in row_blocks(G, CACHED_BYTES):
        A[rows] = G[order[rows]][:, order]
    left = np.empty_like(Y)
    left[order] = _block_solutions(_existing_factor(A, less), less * first[order], list(map(len, parts)), less)
    return weights, Y - left


def _existing_factor(A: npt.NDArray[Any], shift: float) -> npt.NDArray[Any]:
    factor = _factor(A, shift)
    if factor is None:
        raise ArithmeticError("a factor that exists with a smaller shift was not found with a larger one")
    return factor


def _block_solutions(factor: npt.NDArray[Any], right: Array, sizes: list[int], less: float) -> Array:
    """Return ``(I - S_ff - 11'/n)^-1 right_f`` of each fold, through ``L^-1``, which takes the place of the factor.

    Objects are ordered by fold.
    """
    parts = [slice(stop - size, stop) for stop, size in zip(np.cumsum(sizes), sizes, strict=True)]
    inverse, _ = scipy.linalg.get_lapack_funcs("trtri", (factor,))(factor, lower=True, overwrite_c=True)
    out = np.empty_like(right)
    for part in parts:
        inverse[part, part] = np.tril(inverse[part, part])
        B = inverse.T[part, part.start :]
        out[part] = solve_left(less * (B @ B.T) - 1.0 / len(right), right[part])
    return out
