"""Rows drawn from the model behind the score (a random spanning tree, then values along its edges), and the threshold.

Trees are drawn from their posterior given the counts: a tree of mutual informations I multiplies the likelihood of n rows
by the product of exp(n I). The weights of the score, I^2, are no likelihood: they let every plausible tree speak. Rows drawn
from *those* trees break each dependence that their own tree leaves out, and are odder than any row of data: of a chain of
eight columns that copy each other nine times in ten not one clean row in 20,000 was beyond their 99% point.

The first node of a tree is drawn from its margin. Then, given level u of the parent, a level v of the child has

    p(v | u)  ~  f_v lift[u, v] = f_v (n_uv + a) / (n_u f_v + a) = f_v a/(a + E) + (n_uv / n_u) E/(a + E),     E = n_u f_v

(f_v = n_v / n), so that a fair coin proposes v from the margin or from the rows that hold u, and v is taken with
probability a/(a + E) or E/(a + E): exact, without a sum over levels, from counts that stay sparse. The score has a = 1. Rows
that were not counted know nothing of the chance in the counts, so a is larger here where counts vary about E by no more
than chance does: fitted to their excess, a = sum E^2 / (sum (n_uv - E)^2 - sum E), it is that of the Gamma(a, a) lifts which
would explain it. Margins are those of rows that were not counted, too (see `_fresh`).

A number given a level or a number lies about what that predicts, with the variance v left and with the excess k of the
kurtosis (see `dependence`), a skewed one on its logarithmic scale. One family has every kurtosis, Pearson's symmetric one:
Student's law with 4 + 6/k degrees of freedom where k > 0, the normal one where k = 0, and below it a symmetric beta law, the
uniform one at k = -1.2. What was fitted to n rows is not the truth: the mean of a level of n_u rows is off by a variance of v
/ (n_u + 1), a line at x by v (1 + x^2) / n, and v itself by the relative variance (k + 2) / n, that of a chi-square with 2n /
(k + 2) degrees of freedom. Rows that were not counted see all three, and so drawn rows do: for k = 0 this is Student's
predictive law.

A level given a number is drawn by Bayes. Numbers are missing as often as they were, whatever the other values.

A tree has one edge for a number where data may have many that agree, and so several numbers mixed densely are drawn far more
apart than they are. What all of them have in common is known, their correlations, and the drawn numbers are given these by
the linear map that moves them least (see `_correlated`).

Trees begin at the widest category: it is never a child, so that only the way from its levels to others is needed.

*The threshold* of `predict`, without rows of data, is the 99% point of rows drawn from the fitted model. A share of 1% of
clean rows lies beyond it as far as the model is right. Where the data hold more than pairs of columns can tell, rows of data
are more alike than those of the model, and fewer are flagged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit, types
from scipy.sparse.csgraph import connected_components

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.linear.density.dependence import Dependence, pair_sums
from gramian.linear.density.spanning import ALL_TREES, best_tree, draw_trees
from gramian.maps.projection import Design, Rows
from gramian.maps.surprise.score import standard_value
from gramian.moments.value import Moments

Ints = npt.NDArray[np.int64]

NO_EXCESS, ALL_ROWS = 1e-3, 1e6
"""An excess below the first makes a normal number, and degrees of freedom beyond the second are as good as all."""

TREE_STEPS = 2**22
"""Trees times the squared number of columns: so many trees are drawn, a row of each where that is enough."""


@dataclass(frozen=True, eq=False)
class Conditionals:
    """Counts of one column's levels by another's where one of them is wide, ready to draw from.

    Attributes
    ----------
    at : (c, c) array
        Where a pair (parent, child) stands in `begins`, -1 where both are narrow.
    begins : array
        For each pair the place of its first row in `indptr`.
    indptr, indices, passed : arrays
        Rows of all pairs as CSR, the counts added up along all of them.
    """

    at: Ints
    begins: Ints
    indptr: Ints
    indices: npt.NDArray[np.int32]
    passed: Array


def draw_rows(moments: Moments, design: Design, depends: Dependence, n_rows: int, seed: int) -> Rows:
    """Return rows drawn from the trees of these columns.

    Parameters
    ----------
    moments : Moments
    design : Design
        Of the columns.
    depends : Dependence
        Of the same columns.
    n_rows : int
    seed : int
    """
    at = [moments.coded_at[column.name] for column in design.categorical]
    weights = [np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in at]
    sizes = np.array([len(weight) for weight in weights], np.int64)
    c, q, n = len(at), len(design.numeric), float(moments.total_weight)
    edges = depends.information
    by_width = np.argsort(-np.append(sizes, np.zeros(q, np.int64)), kind="stable")
    if c + q > ALL_TREES:
        order, parents = (each[None] for each in best_tree(edges, by_width))
        roots = np.flatnonzero(parents[0] < 0)
    else:
        roots = _roots(edges, by_width)
        n_trees = int(np.clip(TREE_STEPS // max(1, (c + q) ** 2), 64, n_rows))
        order, parents = draw_trees(np.where(edges > 0, n * edges, -np.inf), roots, n_trees, seed)
    given = _conditionals(moments, at, edges[:c, :c] > 0, set(roots.tolist()))
    codes = np.zeros((c, n_rows), dtype=np.uint32)
    numbers = np.zeros((n_rows, q))
    values = np.concatenate([np.zeros(0), *weights])
    fresh = np.concatenate([np.zeros(0), *map(_fresh, weights)])
    offsets = moments.pairs.offsets()
    prior = _prior_rows(moments, at, weights)
    places = np.array([offsets.get(k, -1) for k in at], np.int64)
    occurring = np.array([np.count_nonzero(weight) for weight in weights], np.float64)
    fill_rows(
        order, parents, np.cumsum(sizes) - sizes, sizes, values, np.cumsum(fresh), n,
        np.require(moments.pairs.matrix, requirements=["C", "W"]), places, prior, given.at, given.begins,
        given.indptr, given.indices, given.passed, np.concatenate([np.zeros((0, q)), *depends.level_means]),
        depends.left_by_level, depends.correlation, depends.left, depends.excess, depends.excess_left,
        depends.excess_by_level, np.maximum(depends.observed, 1.0), occurring, seed + 1, codes, numbers,
    )  # fmt: skip
    numbers = _correlated(numbers, depends.correlation)
    absent = np.random.default_rng(seed).random((n_rows, q)) >= depends.observed / n
    # What never varied does not vary here.
    numbers[:, np.diagonal(depends.correlation) == 0] = 0.0
    numbers[absent] = np.nan
    bent = np.flatnonzero(depends.bend)
    numbers[:, bent] = standard_value(numbers[:, bent], depends.bend[bent])
    return Rows(codes.astype(design.code_dtype), numbers * depends.scale + depends.centre)


def _fresh(weights: Array) -> Array:
    """Return how often the levels of a column turn up in rows that were not counted, up to a factor.

    Levels that were seen less often than they occur are those that look rare: of levels that occur evenly, five rows each,
    a fresh row in thirty holds one that was seen once, a counted row in 150. The posterior mean of Poisson rates under a
    Gamma prior is n_u + a, and a = mean^2 / (variance - mean) of the counts, where they vary by more than chance.
    """
    seen = weights[weights > 0]
    if len(seen) < 2:
        return weights
    mean, variance = float(seen.mean()), float(seen.var(ddof=1))
    shape = mean**2 / (variance - mean) if variance > mean else np.inf
    share = 1.0 / (1.0 + shape / mean)
    return np.where(weights > 0, share * weights + (1.0 - share) * mean, 0.0)


def _correlated(numbers: Array, correlation: Array) -> Array:
    """Return numbers of mean 0, these correlations and the mean of their variances, moved as little as a linear map can.

    One variance for all: numbers that are nearly a combination of others stay so. It exceeds 1 where few rows were counted.

    Of all A with A D A^T = C the one that moves numbers of covariance D least is A = D^-1/2 (D^1/2 C D^1/2)^1/2 D^-1/2 (Olkin
    and Pukelsheim, 1982). Rows fewer than four times the numbers do not tell D.
    """
    varies = np.flatnonzero(np.diagonal(correlation))
    if len(varies) < 2 or len(numbers) < 4 * len(varies):
        return numbers
    drawn = numbers[:, varies] - numbers[:, varies].mean(axis=0)
    root, inverse = _roots_of(drawn.T @ drawn / len(drawn))
    middle, _ = _roots_of(root @ (correlation[np.ix_(varies, varies)] * drawn.var(axis=0).mean()) @ root)
    out = numbers.copy()
    out[:, varies] = drawn @ (inverse @ middle @ inverse)
    return out


def _roots_of(matrix: Array) -> tuple[Array, Array]:
    """Return the symmetric root of a positive semi-definite matrix and its pseudo-inverse."""
    values, vectors = eigh_descending(matrix)
    rank = relative_rank(values)
    kept, root = vectors[:, :rank], np.sqrt(values[:rank])
    return (kept * root) @ kept.T, (kept / root) @ kept.T


def _prior_rows(moments: Moments, at: list[int], weights: list[Array]) -> Array:
    """Return a of each pair of columns, at least 1: infinite where counts vary no more than by chance."""
    n = float(moments.total_weight)
    squares = np.array([weight @ weight for weight in weights])
    expected = np.multiply.outer(squares, squares) / n**2
    excess = pair_sums(moments, at, lambda counts, u, v: counts * (counts - 2.0 * u * v / n)) + expected - n
    with np.errstate(divide="ignore"):
        return np.where(excess > 0, np.maximum(expected / np.maximum(excess, 0.0), 1.0), np.inf)


def _roots(weights: Array, by_width: Ints) -> Ints:
    """Return the widest node of each component; a number where there is no category."""
    _, part = connected_components(sp.csr_array(weights > 0), directed=False)
    _, first = np.unique(part[by_width], return_index=True)
    return np.asarray(by_width[first], dtype=np.int64)


def _conditionals(moments: Moments, at: list[int], edges: npt.NDArray[np.bool_], roots: set[int]) -> Conditionals:
    """Return the counts of the pairs with an edge and a wide column, by the levels of either that can be a parent."""
    narrow = set(moments.pairs.narrow)
    where = np.full((len(at), len(at)), -1, np.int64)
    indptrs, indices, counts = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
    begins: list[int] = []
    rows = entries = 0
    for j, k in np.argwhere(edges).tolist():
        if k in roots or (at[j] in narrow and at[k] in narrow):
            continue
        block = sp.csr_array(moments.pairs.block(at[j], at[k]))
        where[j, k] = len(begins)
        begins.append(rows)
        indptrs.append(block.indptr[1:].astype(np.int64) + entries)
        indices.append(block.indices.astype(np.int32, copy=False))
        counts.append(block.data.astype(np.float64))
        rows, entries = rows + block.shape[0], entries + block.nnz
    return Conditionals(
        where,
        np.array(begins, np.int64),
        np.concatenate(indptrs),
        np.concatenate(indices),
        np.cumsum(np.concatenate(counts)),
    )


_I4, _I8, _U4, _F8 = types.int32, types.int64, types.uint32, types.float64


def _signature(count: types.Type) -> types.Type:
    return types.void(
        _I4[:, ::1], _I4[:, ::1], _I8[::1], _I8[::1], _F8[::1], _F8[::1], _F8, count[:, ::1], _I8[::1], _F8[:, ::1],
        _I8[:, ::1], _I8[::1], _I8[::1], _I4[::1], _F8[::1], _F8[:, ::1], _F8[:, ::1], _F8[:, ::1], _F8[:, ::1],
        _F8[::1], _F8[:, ::1], _F8[:, ::1], _F8[::1], _F8[::1], _I8,
        _U4[:, ::1], _F8[:, ::1],
    )  # fmt: skip


@njit(nogil=True)
def first_above(values, low, high, point):  # type: ignore[no-untyped-def]
    """Return the first place from `low` whose value is above `point`, `high` if none is: numpy's compiles far longer."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] > point:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(_signature(_I8), _signature(_F8))
def fill_rows(  # type: ignore[no-untyped-def]
    order, parents, starts, sizes, weights, passed, n, matrix, places, prior, at, begins, indptr, indices, given_passed, means,
    left_by_level, slope, left, excess, excess_left, excess_by_level, observed, levels, seed, codes, numbers,
):  # fmt: skip
    """Fill `codes` (c, n) and `numbers` (n, q) with rows drawn along the trees."""
    np.random.seed(seed)
    c, n_rows, n_trees = codes.shape[0], numbers.shape[0], order.shape[0]
    by_bayes = np.empty(max(1, 0 if c == 0 else sizes.max()))
    for i in range(n_rows):
        tree = i % n_trees
        for node in order[tree]:
            parent = parents[tree, node]
            if node >= c:
                a = node - c
                centre, variance, beyond = 0.0, 1.0, excess[a]
                doubt, used = 1.0 / observed[a], 1.0
                if parent >= c:
                    centre = slope[parent - c, a] * numbers[i, parent - c]
                    variance, beyond = left[parent - c, a], excess_left[parent - c, a]
                    doubt, used = (1.0 + numbers[i, parent - c] ** 2) / observed[a], 2.0
                elif parent >= 0:
                    u = starts[parent] + codes[parent, i]
                    centre = means[u, a]
                    variance, beyond = left_by_level[parent, a], excess_by_level[parent, a]
                    doubt, used = 1.0 / (1.0 + weights[u]), levels[parent]
                if beyond > NO_EXCESS:
                    freedom = 4.0 + 6.0 / beyond
                    z = np.random.standard_t(freedom) * np.sqrt(1.0 - 2.0 / freedom)
                elif beyond < -NO_EXCESS:
                    shape = -3.0 / beyond - 1.5
                    if shape > 0.0:
                        z = (2.0 * np.random.beta(shape, shape) - 1.0) * np.sqrt(2.0 * shape + 1.0)
                    else:
                        z = 1.0 if np.random.random() < 0.5 else -1.0
                else:
                    z = np.random.standard_normal()
                # One row is added to what is left, as in v.
                rows_left = max(observed[a] - used, 0.0) + 1.0
                freedom = min(max(2.0 * rows_left / (beyond + 2.0), 1.0), ALL_ROWS)
                known = 2.0 * np.random.standard_gamma(0.5 * freedom) / freedom
                numbers[i, a] = centre + z * np.sqrt(variance * (1.0 + doubt) / known)
                continue
            begin, size = starts[node], sizes[node]
            before = passed[begin - 1] if begin > 0 else 0.0
            whole = passed[begin + size - 1] - before
            if parent >= c:
                a, total = parent - c, 0.0
                root = np.sqrt(left_by_level[node, a])
                for v in range(size):
                    square = ((numbers[i, a] - means[begin + v, a]) / root) ** 2
                    worth = 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
                    total += weights[begin + v] * np.exp(-worth)
                    by_bayes[v] = total
                codes[node, i] = min(first_above(by_bayes, 0, size, np.random.random() * total), size - 1)
                continue
            while True:
                from_margin = True
                if parent >= 0:
                    u = codes[parent, i]
                    from_margin = np.random.random() < 0.5
                if from_margin:
                    point = before + np.random.random() * whole
                    v = min(first_above(passed, begin, begin + size, point) - begin, size - 1)
                elif at[parent, node] < 0:
                    # Rows of a narrow table are short: added up as far as need be.
                    row, first = places[parent] + u, places[node]
                    point, v = np.random.random() * weights[starts[parent] + u], 0
                    point -= matrix[row, first]
                    while point >= 0 and v < size - 1:
                        v += 1
                        point -= matrix[row, first + v]
                else:
                    row = begins[at[parent, node]] + u
                    low, high = indptr[row], indptr[row + 1]
                    floor = given_passed[low - 1] if low > 0 else 0.0
                    point = floor + np.random.random() * (given_passed[high - 1] - floor)
                    v = indices[min(first_above(given_passed, low, high, point), high - 1)]
                if weights[begin + v] <= 0:
                    continue
                if parent >= 0:
                    expected = weights[starts[parent] + u] * weights[begin + v] / n
                    margin = 1.0 / (1.0 + expected / prior[parent, node])
                    if np.random.random() >= (margin if from_margin else 1.0 - margin):
                        continue
                codes[node, i] = v
                break


TAIL = 0.01
"""Share of the drawn rows above the threshold."""

DRAWN_ROWS = 2**13
"""Rows drawn: the share above the threshold is then 1% give or take a tenth of it."""

DRAWN_PAIRS = 2**30
"""Rows times squared columns. Above 362 columns fewer rows are drawn, at least 1,024: the share is 1% give or take a third."""


class Score(Protocol):
    """What gives each row a number."""

    @property
    def design(self) -> Design:
        """What is read."""
        ...

    def apply_rows(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the score of encoded rows."""
        ...


def threshold(score: Score, moments: Moments, depends: Dependence, *, seed: int = 0) -> float:
    """Return the score that a share `TAIL` of rows drawn from the model exceeds.

    Parameters
    ----------
    score : Score
        Any of the three.
    moments : Moments
    depends : Dependence
        Of the columns of the score.
    seed : int
    """
    columns = len(score.design.columns)
    # The score of a row is a sum over pairs of columns.
    n_rows = min(DRAWN_ROWS, max(DRAWN_PAIRS // columns**2, 2**10))
    rows = draw_rows(moments, score.design, depends, n_rows, seed)
    drawn = score.apply_rows(rows)
    line = float(np.quantile(drawn, 1.0 - TAIL, method="higher"))
    # A row that scores the same in another batch, with another rounding, is on the same side.
    return line + 1e-9 * max(1.0, abs(line))
