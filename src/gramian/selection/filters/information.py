"""Mutual information of columns, in nats.

Two columns collected by level (categories, and integers of at most 64 values) have their contingency table in the moments,
so that

    I = sum_uv (n_uv / n) log(n n_uv / (n_u n_v))

is exact, whatever the shape of the dependence. Where one of the two is a plain number its values are not kept: there I is
that of jointly normal variables, -1/2 log(1 - R^2), R^2 the squared correlation or correlation ratio. It is blind to a
dependence without a slope or a difference of means; bin such a number and collect the bins as a category.

A table shows information by chance, the more the more levels it has. What is taken off for it:

    "chance"         E[I], the mean over all permutations (`gramian.selection.filters.chance`): zero on average for unrelated
                     columns, whether of few levels or of as many as rows
    "held-out"       2 E[I]: the table fits the noise of its own rows by E[I] and misses that of new rows by as much, as
    Akaike's
                     criterion has it; unrelated columns of many levels fall below those of few
    "miller-madow"   (K_xy + 1 - K_x - K_y) / 2n with the cells that occur: next to nothing for a near-identifier
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.moments.crosstabs import Crosstabs, Pairwise
from gramian.moments.value import Moments
from gramian.selection.filters.chance import MeanInformation, mean_gaussian_information
from gramian.selection.problem import Problem

CORRECTIONS = ("held-out", "chance", "miller-madow", None)

TIMES = {"chance": 1, "held-out": 2}
"""How many means over all permutations are taken off."""

LARGEST = 1.0 - np.finfo(np.float64).eps
"""Of a squared correlation: a number that is a function of another column has 18 nats of it, and not infinitely many."""

LARGEST_INFORMATION = float(-np.log1p(-LARGEST) / 2)


def entropy(counts: npt.ArrayLike) -> float:
    """Return the entropy of level counts, in nats.

    Examples
    --------
    >>> round(entropy([2, 2]), 6)
    0.693147
    """
    some = np.asarray(counts, dtype=np.float64)
    some = some[some > 0]
    share = some / some.sum()
    return float(-(share @ np.log(share)))


def _corrected(
    plain: Array, cells: Array, levels: Array, n: float, chance: Array | None, correction: str | None
) -> Array:
    """Return the information of tables less what is taken off it, `levels` counting those of both sides."""
    if not n > 0:
        return np.zeros_like(plain)
    if correction in TIMES:
        return plain - TIMES[correction] * np.asarray(chance)
    if correction == "miller-madow":
        return plain + (levels - cells - 1) / (2 * n)
    return np.maximum(plain, 0.0)


def gaussian_information(squares: Array, directions: Array, n: float, correction: str | None) -> Array:
    """Return -1/2 log(1 - R^2), corrected where a column has several directions, or for any by its mean."""
    plain = -np.log1p(-np.clip(squares, 0.0, LARGEST)) / 2
    if correction in TIMES:
        expected = mean_gaussian_information(n, directions)
        return np.where(
            np.isfinite(expected), plain - TIMES[correction] * expected, (1 - TIMES[correction]) * LARGEST_INFORMATION
        )
    # What Miller and Madow's is for a table of the same degrees of freedom.
    return plain - directions / (2 * n) if correction == "miller-madow" else plain


class TableInformation:
    """Mutual information of one column with others, from their tables.

    Parameters
    ----------
    tables : Crosstabs
    correction : "held-out", "chance", "miller-madow" or None
    """

    def __init__(self, tables: Crosstabs, correction: str | None) -> None:
        self._tables, self._correction = tables, correction
        self._levels = np.array([int((counts > 0).sum()) for counts in tables.counts])
        self._chance = MeanInformation(tables.counts) if correction in TIMES else None

    def row(self, j: int, otherwise: Array) -> Array:
        """Return the information of column j with every column, and what is given where a pair has no table."""
        tables = self._tables
        if not tables.by_level[j]:
            return otherwise
        plain, cells = tables.information(j)
        chance = None if self._chance is None else self._chance.row(j)
        own = _corrected(plain, cells, self._levels[j] + self._levels, tables.weight, chance, self._correction)
        return np.where(tables.by_level, own, otherwise)


class Information:
    """Mutual information of one column with others, one row of the matrix at a time.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
    correction : "held-out", "chance", "miller-madow" or None
    """

    def __init__(self, moments: Moments, columns: Sequence[str], correction: str | None = "chance") -> None:
        self._n, self._correction = float(moments.total_weight), correction
        self._pairwise = Pairwise(moments, columns)
        self._tables = TableInformation(self._pairwise.tables, correction)

    def row(self, j: int) -> Array:
        """Return the mutual information of column j with every column; with itself it is its own entropy, at most."""
        pairs = self._pairwise
        directions = np.maximum(pairs.ranks, pairs.ranks[j]) * (pairs.ranks > 0)
        return self._tables.row(j, gaussian_information(pairs.squares(j), directions, self._n, self._correction))


def information_with_target(problem: Problem, correction: str | None = "chance") -> Array:
    """Return the mutual information of each collected column with the target, averaged over several targets.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect(pa.table({"id": [f"i{k}" for k in range(80)], "color": ["r", "b"] * 40, "y": ["u", "v"] * 40}))
    >>> p = problem_of(m, ["id", "color"], ["y"])
    >>> information_with_target(p, None).round(3), abs(information_with_target(p).round(3))
    (array([0.693, 0.693]), array([0.   , 0.687]))
    """
    targets, count = problem.aim.columns, len(problem.columns)
    tables = TableInformation(Crosstabs(problem.moments, [*problem.columns, *targets]), correction)
    total = np.zeros(count)
    for k, name in enumerate(targets):
        squares, directions = _with_target(problem, name)
        information = gaussian_information(squares, directions, problem.n, correction)
        information = tables.row(count + k, np.append(information, np.zeros(len(targets))))[:count]
        total += np.where(problem.ranks > 0, information, 0.0)
    return total / len(targets)


def _with_target(problem: Problem, target: str) -> tuple[Array, Array]:
    """Return the squared correlation or correlation ratio of each column with one target, and the directions behind it."""
    if len(problem.aim.columns) == 1:
        squares, rank = problem.explained, problem.target_rank
    else:
        from gramian.selection.problem import problem_of

        kinds = "multiclass" if target in problem.aim.by_level else "continuous"
        alone = problem_of(problem.moments, problem.columns, [target], target_type=kinds)
        squares, rank = alone.explained, alone.target_rank
    # A table stands in wherever both sides have several directions.
    return squares, np.maximum(problem.ranks, rank).astype(np.float64) * ((problem.ranks > 0) & (rank > 0))
