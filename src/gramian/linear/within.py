"""The inverse of the within-class covariance, applied to a few right sides.

Sigma = S_within / (W - ddof) is shrunk to (1 - a) Sigma + a T, T its diagonal or its mean variance times the identity, and
inverted in units of its own standard deviations: what counts as dependent must not change with the units. One of three
roads is taken in `solve_within`:

- *Cholesky*, where the matrix is regular once one level of each categorical column is left out. The factor needs no units: a
  diagonal scaling passes through it unchanged. Whether the matrix is regular is judged by the length that a few random right
  sides take on, solved along with those asked for: about |z| / l_min with z a standard normal number.
- *eigh*, where it is not: the pseudo-inverse with a relative cut-off.
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

from gramian.arrays import eigh_descending, relative_rank, threads_for
from gramian.linear.classes import ClassMoments
from gramian.linear.layout import Layout
from gramian.linear.spread import Spread, pairs_of_rows

Array = npt.NDArray[np.float64]

PROBES = 3
"""Random right sides: one alone underestimates 1 / l_min a hundredfold once in a hundred cases, three once in a million."""


def solve_within(
    problem: ClassMoments, right: Array, divisor: float, amount: float, to_diagonal: bool
) -> tuple[Array, int]:
    """Return Sigma^+ times `right`, for the shrunk within-class covariance, and the rank inverted.

    Parameters
    ----------
    problem : ClassMoments
    right : (p, b) array
        In the span of the class means, as every right side of the discriminant is.
    divisor : float
        By which the scatter becomes a covariance.
    amount : float
        Intensity of shrinkage, in [0, 1].
    to_diagonal : bool
        Whether towards the diagonal; otherwise towards the mean variance times the identity.
    """
    diagonal = problem.within_diagonal
    shrunk = diagonal if to_diagonal or amount == 0 else (1 - amount) * diagonal + amount * diagonal.mean()
    varies = shrunk > 0
    if not varies.any():
        return np.zeros_like(right), 0
    right = np.where(varies[:, None], right * divisor, 0.0)
    if problem.spread.rows is not None:
        solved, rank = _through_rows(problem, right, amount, to_diagonal)
        return solved, rank if amount == 0 else int(varies.sum())
    unit = np.sqrt(np.where(varies, shrunk, 1.0))
    cut = max(len(unit), 64) * np.finfo(np.float64).eps * problem.slack
    left_out = _one_level_each(problem.layout, diagonal) if amount == 0 else ~varies
    kept = np.flatnonzero(varies & ~left_out)
    found = _cholesky(_shrunk_matrix(problem, amount, shrunk), right, unit, kept, cut)
    if found is not None:
        return _centre_blocks(found, problem.layout, diagonal) if amount == 0 else found, len(kept)
    matrix = _shrunk_matrix(problem, amount, shrunk)
    matrix /= unit
    matrix /= unit[:, None]
    values, vectors = scipy.linalg.eigh(matrix, lower=True, driver="evd", overwrite_a=True, check_finite=False)
    above = values > cut * values[-1]
    vectors = vectors[:, above] / unit[:, None]
    return vectors @ ((vectors.T @ right) / values[above, None]), int(above.sum())


def _shrunk_matrix(problem: ClassMoments, amount: float, diagonal: Array) -> Array:
    matrix = problem.within()
    if amount > 0:
        matrix *= 1 - amount
        np.fill_diagonal(matrix, diagonal)
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


def _through_rows(problem: ClassMoments, right: Array, amount: float, to_diagonal: bool) -> tuple[Array, int]:
    diagonal = problem.within_diagonal
    identity = amount > 0 and not to_diagonal
    unit = np.ones(len(diagonal)) if identity else np.sqrt(np.where(diagonal > 0, diagonal, np.inf))
    floor = float(diagonal.mean()) if identity else 1.0
    values, vectors = within_pairs(problem.spread, problem.rooted, unit)
    rank = relative_rank(values, size=len(diagonal), slack=problem.slack)
    vectors = vectors / unit[:, None]
    return vectors @ (shrunk_inverse(values, rank, amount, floor)[:, None] * (vectors.T @ right)), rank


def within_pairs(spread: Spread, rooted: Array, unit: Array) -> tuple[Array, Array]:
    """Return the eigenpairs of D^-1 (S - G^T G) D^-1, descending, D = diag(unit), infinite to leave a column out.

    Where S is kept as rows they are those on its range; the others are zero.

    Parameters
    ----------
    spread : Spread
    rooted : (c, p) array
        G, the factor of S_between.
    unit : (p,) array
    """
    rooted = rooted / unit
    if spread.rows is None:
        assert spread.matrix is not None
        matrix = spread.matrix / unit
        matrix /= unit[:, None]
        matrix -= rooted.T @ rooted
        return eigh_descending(matrix, overwrite=True)
    values, basis = pairs_of_rows(spread.rows / unit)
    seen = rooted @ basis
    inner = np.diag(values) - seen.T @ seen
    values, turn = eigh_descending(inner, overwrite=True)
    return values, basis @ turn


def shrunk_inverse(values: Array, rank: int, amount: float, floor: float = 1.0) -> Array:
    """Return 1 / ((1 - a) v + a floor) for each eigenvalue v; from `rank` on v is rounding and counts as 0, and 1/0 as 0.

    Examples
    --------
    >>> shrunk_inverse(np.array([4.0, 1e-17]), 1, 0.0), shrunk_inverse(np.array([4.0, 1e-17]), 1, 0.5)
    (array([0.25, 0.  ]), array([0.4, 2. ]))
    """
    size = (1 - amount) * np.where(np.arange(len(values)) < rank, values, 0.0) + amount * floor
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


def solve_total(problem: ClassMoments, right: Array, divisor: float) -> tuple[Array, int]:
    """Return the pseudo-inverse of the total covariance times `right`, and the rank inverted."""
    unit = np.sqrt(problem.spread.diagonal)
    unit = np.where(unit > 0, unit, np.inf)
    values, vectors = within_pairs(problem.spread, np.zeros((0, len(unit))), unit)
    rank = relative_rank(values, size=len(unit))
    vectors = vectors[:, :rank] / unit[:, None]
    return vectors @ ((vectors.T @ right) * (divisor / values[:rank, None])), rank


def _category_spans(layout: Layout) -> list[slice]:
    """Return the design columns of each category; thousands of numbers are not looked at one by one for none."""
    if not any(layout.categorical):
        return []
    return [span for span, categorical in zip(layout.spans(), layout.categorical, strict=True) if categorical]


def _one_level_each(layout: Layout, diagonal: Array) -> npt.NDArray[np.bool_]:
    """Return one varying level of each categorical column, the one of most variance: the rest determine it."""
    out = np.zeros(layout.width, dtype=bool)
    for span in _category_spans(layout):
        if diagonal[span].any():
            out[span.start + int(np.argmax(diagonal[span]))] = True
    return out


def _centre_blocks(weights: Array, layout: Layout, diagonal: Array) -> Array:
    """Return the weights with the constant of each categorical column as the pseudo-inverse has it: sum d_l w_l = 0."""
    for span in _category_spans(layout):
        total = diagonal[span].sum()
        if total > 0:
            block = weights[span]
            block -= (diagonal[span] @ block) / total
            block[diagonal[span] == 0] = 0.0
    return weights
