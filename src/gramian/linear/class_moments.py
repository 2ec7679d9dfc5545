"""Counts, means and scatter of the classes of a target, from the joint moments, and the inverse of the within-class scatter.

*Class means.* For class indicators the cross scatter with the features is C_c = sum over rows of class c of (x - m) = n_c (m_c
- m), so class means need no further pass: C is N - n_c n_l / W for a level l of N_cl rows in the class, and T - n_c t / W for
a number, T its sum over the class and t its sum over all rows. Only these c rows are formed, beside the features' own scatter.

Within classes a level varies by sum_c N_cl (n_c - N_cl) / n_c, which loses nothing to cancellation; a number by what the
classes leave of its scatter, which does where they leave little.

*Inverse.* Sigma = S_within / (W - ddof) is shrunk to (1 - a) Sigma + a diag(Sigma) and inverted in units of its own standard
deviations: neither the shrinkage nor what counts as dependent may change with the units. With D = diag(d) the diagonal of
S_within, Sigma^+ stands for D^-1/2 E^+ D^-1/2, E = D^-1/2 S_within D^-1/2, up to the divisor.

*Null vectors.* S_within v = 0 means that x^T v is constant within every class. One such v is known beforehand for each
categorical column: the indicator 1_B of its levels B that vary within some class. All levels sum to one, and those that do not
vary are constant within every class, so the sum over B is too. But that constant may be *another one in every class*: a level
that all rows of one class have, and no others, makes it 0 there and 1 elsewhere. Then class means differ along 1_B, they are
not in the range of S_within, and only the pseudo-inverse will do, no other generalised inverse. Whatever else depends on each
other (a column nested in another, levels that exclude each other, a number that is a function of a category, more columns than
rows) has no form known beforehand.

One of four roads is taken in `solve_within`:

- *elimination*, where one category has thousands of levels and nothing is shrunk. Its block of S_within is a diagonal less
  N^T diag(1 / n_c) N, N the counts by class, so only a c x c system is solved for it. The Schur complement T of the other
  columns is that of the others and the target in S (`gramian.linear.scatter.wide`), with the target eliminated as well. Null
  vectors are those of T, each with the part that the category has in it, and the indicators of levels that share no class
  with the rest. With Q their orthonormal basis in units of D, E^+ = (I - Q Q^T) E^- (I - Q Q^T).
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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import blas, lapack
from scipy.sparse.csgraph import connected_components

from gramian.arrays.linalg import eigh, eigh_descending, relative_rank
from gramian.arrays.memory import PRODUCT, say_first
from gramian.arrays.threads import cached_property, threads_for
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, shown
from gramian.linear.layout import Layout, layout_of
from gramian.linear.regression.targets import refuse_missing
from gramian.linear.scatter.dense import Scatter, say_slow_eigenvectors
from gramian.linear.scatter.wide import FACTOR, WideScatter, scatter_of
from gramian.moments.covariance import centred_counts, level_values, sums_by_level
from gramian.moments.value import Moments

ROUNDING = 64 * np.finfo(np.float64).eps
"""What is left of a difference of sums, relative to them, where they are equal."""


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Features and classes of one target.

    Attributes
    ----------
    layout : Layout
        Of the features.
    target : str
    classes : list
        Labels, sorted.
    counts : (c,) array
        Weight of each class.
    gaps : (c, p) array
        Class means less the overall mean, 0 where they differ by rounding.
    within_diagonal : (p,) array
        Within-class scatter of each design column, 0 where it is rounding.
    total : Scatter
        Of the design columns, over all rows.
    """

    layout: Layout
    target: str
    classes: list[Any]
    counts: Array
    gaps: Array
    within_diagonal: Array
    total: Scatter

    @property
    def weight(self) -> float:
        """Total weight."""
        return self.total.weight

    @property
    def means(self) -> Array:
        """Class means, (c, p)."""
        return self.total.mean + self.gaps

    @property
    def per_pair(self) -> float:
        """W over the number of pairs of rows from different classes: turns Fisher's ratio into the criterion J."""
        pairs = (np.square(self.weight) - np.square(self.counts).sum()) / 2
        return float(self.weight / pairs)

    @cached_property
    def rooted(self) -> Array:
        """The factor of S_between: its rows sqrt(n_c) (m_c - m), (c, p)."""
        return self.gaps * np.sqrt(self.counts)[:, None]

    def within(self) -> Array:
        """Return the lower triangle of the within-class scatter, S - S_between, in a new matrix of column order.

        What stands above the diagonal is not to be read: LAPACK reads one triangle, and filling both would take longer than
        a tenth of the factorisation.
        """
        out = np.array(self.total.dense().T, order="F")
        out = blas.dsyrk(-1.0, self.rooted, trans=1, beta=1.0, c=out, lower=1, overwrite_c=1)
        np.fill_diagonal(out, self.within_diagonal)
        # A column that is constant within every class leaves rounding behind.
        still = self.within_diagonal == 0
        if still.any():
            out[still] = 0.0
            out[:, still] = 0.0
        return out

    @cached_property
    def ratio(self) -> Array:
        """Total over within-class scatter of each design column, 1 where it does not vary within.

        By so much is the column's part of the difference S - S_between more rounded than it shows.
        """
        varies = self.within_diagonal > 0
        return np.divide(self.total.diagonal(), self.within_diagonal, out=np.ones(len(varies)), where=varies)

    @cached_property
    def unit(self) -> Array:
        """The root of the within-class scatter of each design column, infinite where it does not vary within."""
        return np.sqrt(np.where(self.within_diagonal > 0, self.within_diagonal, np.inf))

    @cached_property
    def within_spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of the within-class scatter in its own units, 0 where they are rounding, and vectors over the units."""
        values, vectors = within_pairs(self.total, self.rooted, self.unit)
        above = above_rounding(values, vectors, self.ratio)
        return np.where(above, values, 0.0), vectors / self.unit[:, None]

    def sums_along(self, weights: Array) -> tuple[Array, Array]:
        """Return the between- and within-class sums of squares of the features `x @ weights`."""
        between = self.between_along(weights)
        return between, self.total.variance_along(weights) - between

    def between_along(self, weights: Array) -> Array:
        """Return the between-class sums of squares of the features `x @ weights`."""
        return np.asarray(self.counts @ np.square(self.gaps @ weights))


def class_moments(moments: Moments, columns: Sequence[str] | None, target: str) -> ClassMoments:
    """Return the moments of the features by class of the target.

    Raises
    ------
    DataError
        Where the target was collected as a plain number, has missing labels, or has one class only.
    """
    if target not in moments.schema or moments.schema[target].form == "number":
        column = moments.schema[target].name
        raise DataError(
            f"target {column!r} was collected as a number, so its classes are not known; collect it again with ",
            Argument("categorical", [column]),
        )
    layout = layout_of(moments, columns, without=[target])
    read = moments.as_categorical([target])
    labels, counts = read.levels(target), np.asarray(read.counts(target), dtype=np.float64)
    refuse_missing(read, target)
    present = [k for k in range(len(labels)) if counts[k] > 0]
    # Among numbers, `(rare)` is the one text, and stands last.
    order = sorted(present, key=lambda k: (isinstance(labels[k], str), labels[k]))
    if len(order) < 2:
        met = f"only the class {shown(labels[order[0]])}" if order else "no rows"
        raise DataError(
            f"target {target!r} has {met}: a discriminant needs two classes, it has less than 2 classes here"
        )
    counts = counts[order]
    cross, within_levels = _by_class(read, layout, target)
    total = scatter_of(moments, layout)
    diagonal = total.diagonal()
    gaps = cross[order] / counts[:, None]
    # Sums of many terms: their rounding is that of the column's own size.
    size = np.sqrt(np.where(layout.is_level, total.mean, diagonal / total.weight))
    gaps[np.abs(gaps) <= ROUNDING * size] = 0.0
    return ClassMoments(
        layout=layout,
        target=target,
        classes=[labels[k] for k in order],
        counts=counts,
        gaps=gaps,
        within_diagonal=np.where(layout.is_level, within_levels, within_scatter(diagonal, gaps, counts)),
        total=total,
    )


def within_scatter(whole: Array, gaps: Array, counts: Array) -> Array:
    """Return what the classes leave of the scatter of each column, 0 where it is rounding."""
    left = whole - counts @ np.square(gaps)
    return np.where(left > ROUNDING * whole, left, 0.0)


def _by_class(moments: Moments, layout: Layout, target: str) -> tuple[Array, Array]:
    """Return the scatter of the target's levels with the design columns, (levels, p), and that of levels within classes."""
    pairs, weight = moments.pairs, float(moments.total_weight)
    at = moments.coded_at[target]
    own = pairs.level_weights[at]
    out, within = np.empty((len(own), layout.width)), np.zeros(layout.width)
    numbers = [name for name, form in zip(layout.columns, layout.forms, strict=True) if form == "number"]
    if numbers:
        sums = sums_by_level(moments, at)[:, [moments.number_at[name] for name in numbers]]
        if layout.plain:
            return sums, within
        out[:, np.array(layout.starts)[[form == "number" for form in layout.forms]]] = sums
    for name, span, form in zip(layout.columns, layout.spans(), layout.forms, strict=True):
        if form == "number":
            continue
        k = moments.coded_at[name]
        pair_counts = pairs.block(at, k)
        counts = pair_counts.toarray() if sp.issparse(pair_counts) else pair_counts
        block = centred_counts(counts, own, pairs.level_weights[k], weight)
        out[:, span] = block if form == "category" else block @ level_values(moments, k)[1][:, None]
        if form == "category":
            others = own[:, None] - counts
            # Sums of weights in another order: that all of a class have a level is known up to rounding.
            others[others <= ROUNDING * own[:, None]] = 0.0
            within[span] = np.einsum("cl,cl->l", counts / np.where(own > 0, own, 1.0)[:, None], others)
    return out, within


MANY = 2000
"""From so many levels of one category on it is eliminated."""

RELATIVE = 1e-11
"""Share of the largest below which eigenvalues of a block of classes, and lengths of null vectors, are rounding."""

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
    if amount == 0 and problem.layout.widest[1] >= MANY:
        found = _by_elimination(problem, right)
        if found is not None:
            return found
    say_first(
        "a Cholesky factor", int(varies.sum()), PRODUCT / 6, problem.layout.widest, "less with fewer columns or levels"
    )
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
    say_slow_eigenvectors(len(matrix), problem.layout.widest)
    values, vectors = eigh(matrix.T, overwrite=True)
    above = above_rounding(values, vectors, problem.ratio)
    vectors = vectors[:, above] / unit[:, None]
    return vectors @ ((vectors.T @ right) / values[above, None]), int(above.sum())


def _by_elimination(problem: ClassMoments, right: Array) -> tuple[Array, int] | None:
    """Return the solution and the rank without a matrix of all levels; None where that costs more than the matrix."""
    layout, read = problem.layout, problem.total.moments.as_categorical([problem.target])
    joint = WideScatter(read, layout_of(read, [*layout.columns, problem.target]))
    wide = WideScatter(read, layout)
    if joint.name != wide.name or not joint.pays(1, layout.width**3 / FACTOR):
        return None
    levels, others = wide.span, wide.is_other
    of_levels, of_others = problem.rooted[:, levels], problem.rooted[:, others]

    def across(v: Array) -> Array:
        return wide.across(v) - of_levels.T @ (of_others @ v)

    def back(v: Array) -> Array:
        return wide.back(v) - of_others.T @ (of_levels @ v)

    at = read.coded_at
    pairs = sp.csr_array(read.pairs.block(at[problem.target], at[wide.name]), dtype=np.float64)
    pairs = pairs[np.flatnonzero(read.counts(problem.target))]
    weights, counts = np.maximum(wide.counts, np.finfo(np.float64).tiny), np.asarray(pairs.sum(axis=1))
    scaled = pairs.multiply(1 / weights).tocsr()
    by_class = np.linalg.pinv(np.diag(counts) - (scaled @ pairs.T).toarray(), rcond=RELATIVE, hermitian=True)

    def own(b: Array) -> Array:
        return np.asarray((b + pairs.T @ (by_class @ (scaled @ b))) / weights[:, None])

    # The complement of the others and the target, the target eliminated.
    whole = joint.complement()
    is_target = np.zeros(len(whole), dtype=bool)
    is_target[joint.rest.spans()[joint.rest.columns.index(problem.target)]] = True
    cross = whole[np.ix_(~is_target, is_target)]
    inner = np.linalg.pinv(whole[np.ix_(is_target, is_target)], rcond=RELATIVE, hermitian=True)
    unit = problem.unit
    matrix = (whole[np.ix_(~is_target, ~is_target)] - cross @ inner @ cross.T) / unit[others] / unit[others][:, None]
    values, vectors = eigh((matrix + matrix.T) / 2)
    size = max(float(values[-1]), 1.0)
    above = values > layout.width * np.finfo(np.float64).eps * size * (problem.ratio[others] @ np.square(vectors))
    vectors = vectors / unit[others][:, None]
    # Null vectors in units of D: those of the complement, and the levels that are linked by classes.
    null = np.zeros((layout.width, int(np.count_nonzero(~above))))
    null[others] = vectors[:, ~above]
    null[levels] = -own(across(null[others]))
    linked = connected_components(sp.block_array([[None, pairs], [pairs.T, None]]), directed=False)[1][len(counts) :]
    groups = np.zeros((layout.width, int(linked.max()) + 1))
    groups[np.arange(levels.start, levels.stop), linked] = 1.0
    finite = np.where(np.isfinite(unit), unit, 0.0)[:, None]
    null = np.column_stack([null, groups[:, (groups[levels] * finite[levels]).any(axis=0)]]) * finite
    basis, sizes, _ = np.linalg.svd(null, full_matrices=False)
    basis = basis[:, sizes > RELATIVE * sizes.max(initial=0.0)]

    def projected(v: Array) -> Array:
        return np.asarray(v - basis @ (basis.T @ v))

    aim = projected(right / unit[:, None]) * finite
    solution = np.zeros_like(right)
    left = aim[others] - back(own(aim[levels]))
    solution[others] = vectors[:, above] @ ((vectors[:, above].T @ left) / values[above, None])
    solution[levels] = own(aim[levels] - across(solution[others]))
    return projected(solution * finite) / unit[:, None], int(np.isfinite(unit).sum()) - basis.shape[1]


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
    values, vectors = problem.within_spectrum
    inverse = shrunk_inverse(values, amount)
    return vectors @ (inverse[:, None] * (vectors.T @ right)), int(np.count_nonzero(values))


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
        say_slow_eigenvectors(len(matrix), total.layout.widest)
        return eigh_descending(matrix, overwrite=True)
    pairs = total.scaled(1.0 / unit).eigenpairs()
    seen = rooted @ pairs.vectors
    inner = np.diag(pairs.values) - seen.T @ seen
    values, turn = eigh_descending(inner, overwrite=True)
    return values, pairs.vectors @ turn


def shrunk_inverse(values: Array, amount: float) -> Array:
    """Return 1 / ((1 - a) v + a) for each eigenvalue v; 0 in place of 1/0.

    Examples
    --------
    >>> shrunk_inverse(np.array([4.0, 0.0]), 0.0), shrunk_inverse(np.array([4.0, 0.0]), 0.5)
    (array([0.25, 0.  ]), array([0.4, 2. ]))
    """
    size = (1 - amount) * values + amount
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
