"""The inverse of the within-class covariance, applied to a few right sides.

Sigma = S_within / (W - ddof) is shrunk to (1 - a) Sigma + a diag(Sigma) and inverted in units of its own standard deviations:
neither the shrinkage nor what counts as dependent may change with the units. With D = diag(d) the diagonal of S_within,
Sigma^+ stands for D^-1/2 E^+ D^-1/2, E = D^-1/2 S_within D^-1/2, up to the divisor.

*Null vectors.* S_within v = 0 means that x^T v is constant within every class. One such v is known beforehand for each
categorical column: the indicator 1_B of its levels B that vary within some class. All levels sum to one, and those that do
not vary are constant within every class, so the sum over B is too. But that constant may be *another one in every class*: a
level that all rows of one class have, and no others, makes it 0 there and 1 elsewhere. Then class means differ along 1_B,
they are not in the range of S_within, and only the pseudo-inverse will do, no other generalised inverse. Whatever else depends
on each other (a column nested in another, levels that exclude each other, a number that is a function of a category, more
columns than rows) has no form known beforehand.

One of three roads is taken in `solve_within`:

- *Cholesky*, where S_within is regular once one level of each B is left out. Then its rank is p less the number of the 1_B,
  which span the null space. With q = D^1/2 1_B scaled to unit length, P = I - sum of q q^T the projector on the range of E, and
  E^- the inverse on the columns kept and 0 elsewhere,

      E^+ = P E^- P,        as for any E^- with E E^- E = E.

  The factor needs no units: a diagonal scaling passes through it unchanged. Whether the matrix is regular is judged by the
  length that a few random right sides take on, solved along with those asked for: about |z| / l_min with z a standard normal
  number. By interlacing no eigenvalue of E but its zeros is below l_min, so the other road would cut none of them off.
- *eigh*, where it is not: the pseudo-inverse with a relative cut-off. S - S_between is more rounded than it shows in columns
  of which the classes explain nearly all: with t the total over the within-class scatter, an entry i, j of E is known to eps
  sqrt(t_i t_j), so an eigenvalue of unit vector v to p eps sum t_i v_i^2. One such column does not blur the others.
- *rows*, where numbers are kept as fewer rows R than columns. With R R^T = U diag(l) U^T and V = R^T U diag(l)^-1/2, all that
  varies lies in the span of V, class means included, so in units of D, and with G the rows sqrt(n_c) (m_c - m) D^-1,

      D^-1 S_within D^-1 = V (diag(l) - B^T B) V^T,    B = G V,

  an r x r problem. What is orthogonal to V belongs to no class mean, so shrinkage does not reach it either.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.threads import threads_for
from gramian.arrays.types import Array
from gramian.linear.fisher.class_moments import ROUNDING, ClassMoments
from gramian.linear.layout import Layout
from gramian.linear.scatter.base import Scatter
from gramian.linear.scatter.dense import say_slow_eigenvectors

PROBES = 3
"""Random right sides: one alone underestimates 1 / l_min a hundredfold once in a hundred cases, three once in a million."""


def solve_within(problem: ClassMoments, right: Array, divisor: float, amount: float) -> tuple[Array, int]:
    """Return Sigma^+ times `right`, for the shrunk within-class covariance, and the rank inverted.

    Parameters
    ----------
    problem : ClassMoments
    right : (p, b) array
        In the span of the class means, as every right side of the discriminant is.
    divisor : float
        By which the scatter becomes a covariance.
    amount : float
        Intensity of shrinkage towards the diagonal, in [0, 1].
    """
    diagonal = problem.within_diagonal
    varies = diagonal > 0
    if not varies.any():
        return np.zeros_like(right), 0
    right = np.where(varies[:, None], right * divisor, 0.0)
    if problem.total.low_rank:
        solved, rank = _through_rows(problem, right, amount)
        return solved, rank if amount == 0 else int(varies.sum())
    unit = np.sqrt(np.where(varies, diagonal, 1.0))
    cut = max(len(unit), 64) * np.finfo(np.float64).eps * float(problem.ratio.max())
    matrix = _shrunk_matrix(problem, amount)
    # A shrunk matrix is regular on all that varies.
    blocks = _known_null_vectors(problem.layout, matrix, cut) if amount == 0 else []
    left = varies.copy()
    for block in blocks:
        # The rest determine the level of most variance, as they do any other.
        left[block.start + int(np.argmax(diagonal[block]))] = False
    kept = np.flatnonzero(left)
    for block in blocks:
        right[block] -= diagonal[block, None] * (right[block].sum(axis=0) / diagonal[block].sum())
    solution = _cholesky(matrix, right, unit, kept, cut)
    if solution is not None:
        for block in blocks:
            solution[block] -= (diagonal[block] @ solution[block]) / diagonal[block].sum()
            solution[block][diagonal[block] == 0] = 0.0
        return solution, len(kept)
    matrix = _shrunk_matrix(problem, amount)
    matrix /= unit
    matrix /= unit[:, None]
    say_slow_eigenvectors(len(matrix))
    values, vectors = scipy.linalg.eigh(matrix, lower=True, driver="evd", overwrite_a=True, check_finite=False)
    above = above_rounding(values, vectors, problem.ratio)
    vectors = vectors[:, above] / unit[:, None]
    return vectors @ ((vectors.T @ right) / values[above, None]), int(above.sum())


def above_rounding(values: Array, vectors: Array, ratio: Array) -> npt.NDArray[np.bool_]:
    """Return which eigenvalues of the within-class scatter in units of its own are more than rounding.

    Parameters
    ----------
    values : (k,) array
    vectors : (p, k) array
        Orthonormal, in those units.
    ratio : (p,) array
        Total over within-class scatter of each column.

    Examples
    --------
    >>> above_rounding(np.array([1.0, 1e-10]), np.eye(2), np.array([1.0, 1.0]))
    array([ True,  True])
    >>> above_rounding(np.array([1.0, 1e-10]), np.eye(2), np.array([1.0, 1e6]))
    array([ True, False])
    """
    cut = max(len(vectors), 64) * np.finfo(np.float64).eps * max(float(values.max(initial=0.0)), 0.0)
    return np.asarray(values > cut * (ratio @ np.square(vectors)))


def _shrunk_matrix(problem: ClassMoments, amount: float) -> Array:
    matrix = problem.within()
    if amount > 0:
        matrix *= 1 - amount
        np.fill_diagonal(matrix, problem.within_diagonal)
    return matrix


def _cholesky(matrix: Array, right: Array, unit: Array, kept: npt.NDArray[np.intp], cut: float) -> Array | None:
    """Return the solution over the columns kept and 0 elsewhere; None where rounding could be what was inverted."""
    part = matrix if len(kept) == len(unit) else np.asfortranarray(matrix[np.ix_(kept, kept)])
    with threads_for(len(kept)):
        factor, failed = lapack.dpotrf(part, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        probes = np.random.default_rng(0).standard_normal((len(kept), PROBES)) * unit[kept, None]
        solved = lapack.dpotrs(factor, np.concatenate([right[kept], probes], axis=1), lower=1)[0]
    longest = float(np.linalg.norm(solved[:, -PROBES:] * unit[kept, None], axis=0).max())
    # The largest eigenvalue is at most the trace, here the number of columns. Where that bound is what decides, the other
    # road gives the same answer, only later.
    if not longest * len(kept) * cut < 1:
        return None
    out = np.zeros_like(right)
    out[kept] = solved[:, :-PROBES]
    return out


def _through_rows(problem: ClassMoments, right: Array, amount: float) -> tuple[Array, int]:
    unit = np.sqrt(np.where(problem.within_diagonal > 0, problem.within_diagonal, np.inf))
    values, vectors = within_pairs(problem.total, problem.rooted, unit)
    above = above_rounding(values, vectors, problem.ratio)
    vectors = vectors / unit[:, None]
    inverse = shrunk_inverse(values, above, amount)
    return vectors @ (inverse[:, None] * (vectors.T @ right)), int(above.sum())


def within_pairs(total: Scatter, rooted: Array, unit: Array) -> tuple[Array, Array]:
    """Return the eigenpairs of D^-1 (S - G^T G) D^-1, descending, D = diag(unit), infinite to leave a column out.

    Where S is kept as rows they are those on its range; the others are zero.

    Parameters
    ----------
    total : Scatter
    rooted : (c, p) array
        G, the factor of S_between.
    unit : (p,) array
    """
    rooted = rooted / unit
    if not total.low_rank:
        matrix = total.dense() / unit
        matrix /= unit[:, None]
        matrix -= rooted.T @ rooted
        say_slow_eigenvectors(len(matrix))
        return eigh_descending(matrix, overwrite=True)
    pairs = total.scaled(1.0 / unit).eigenpairs()
    seen = rooted @ pairs.vectors
    inner = np.diag(pairs.values) - seen.T @ seen
    values, turn = eigh_descending(inner, overwrite=True)
    return values, pairs.vectors @ turn


def shrunk_inverse(values: Array, above: npt.NDArray[np.bool_], amount: float) -> Array:
    """Return 1 / ((1 - a) v + a) for each eigenvalue v; where not `above` rounding it counts as 0, and 1/0 as 0.

    Examples
    --------
    >>> above = np.array([True, False])
    >>> shrunk_inverse(np.array([4.0, 1e-17]), above, 0.0), shrunk_inverse(np.array([4.0, 1e-17]), above, 0.5)
    (array([0.25, 0.  ]), array([0.4, 2. ]))
    """
    size = (1 - amount) * np.where(above, values, 0.0) + amount
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


def solve_total(problem: ClassMoments, right: Array, divisor: float) -> tuple[Array, int]:
    """Return the pseudo-inverse of the total covariance times `right`, and the rank inverted."""
    whole = problem.total.diagonal()
    # A level that all rows have varies by the rounding of their sum of weights.
    rounding = ROUNDING * np.where(problem.layout.is_level, problem.total.mean * problem.weight, 0.0)
    unit = np.sqrt(np.where(whole > rounding, whole, np.inf))
    values, vectors = within_pairs(problem.total, np.zeros((0, len(unit))), unit)
    rank = relative_rank(values, size=len(unit))
    vectors = vectors[:, :rank] / unit[:, None]
    return vectors @ ((vectors.T @ right) * (divisor / values[:rank, None])), rank


def _known_null_vectors(layout: Layout, matrix: Array, cut: float) -> list[slice]:
    """Return the categorical columns whose varying levels have a sum that does not vary within classes, beyond rounding.

    Parameters
    ----------
    layout : Layout
    matrix : (p, p) array
        The lower triangle of S_within, zero in rows and columns that do not vary.
    cut : float
        What counts as rounding, relative to the levels' own scatter. Only that can break the sum: where a level's scatter was
        taken for none beside its total, those of the others need not be.
    """
    # Thousands of numbers are not looked at one by one for no category.
    if not any(layout.categorical):
        return []
    out = []
    for span, categorical in zip(layout.spans(), layout.categorical, strict=True):
        own = float(np.diagonal(matrix)[span].sum()) if categorical else 0.0
        if own > 0 and abs(2 * np.tril(matrix[span, span], -1).sum() + own) <= cut * own:
            out.append(span)
    return out
