"""What selection works on: source columns as groups of design columns, and the functions of the target.

Everything is counted in *unit* design columns: a centred level divided by the root of its weight n_a, a centred number by
the root of its scatter. In these units the scatter of a number with itself is 1 and that of a category is I - r r^T, r the
roots of its shares: a projector of rank levels - 1. With the target's functions h turned to be orthonormal too (V -> I),
the squares of the cross scatter of one column add up to

    q = tr(S^+ C V^+ C^T),

the sum of its squared canonical correlations with the target: r^2 of two numbers, the squared correlation ratio of a number
and a category, chi-squared over n of two categories. Under independence its mean is rank_x rank_y / (n - 1), whatever the
columns: that is what a column of so many levels shows by chance, and what every score here is held against.

A date is one source column of several parts, each a category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.linear.layout import Layout
from gramian.linear.regression.independence import Part, parts_of, parts_of_target, root_of_inverse, scaled, side_of
from gramian.linear.regression.permutation import Side
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.targets import TargetFunctions, aim_of
from gramian.linear.scatter.wide import may_be_formed
from gramian.moments.value import Moments

Positions = npt.NDArray[np.intp]

ROUNDING = 1e-9
"""Relative difference of two scores that the order of additions may make."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Source columns and a target, by their second moments.

    Attributes
    ----------
    regression : Regression
        Of the target's functions on the design columns of the collected columns.
    aim : TargetFunctions
        The target's functions.
    """

    regression: Regression
    aim: TargetFunctions

    @property
    def moments(self) -> Moments:
        """With the target in the form that its functions take."""
        return self.regression.moments

    @property
    def layout(self) -> Layout:
        """Of the collected columns."""
        return self.regression.layout

    @property
    def columns(self) -> list[str]:
        """Names of the collected columns."""
        return self.layout.columns

    @property
    def n(self) -> float:
        """Total weight."""
        return self.regression.weight

    @cached_property
    def sources(self) -> list[str]:
        """Names of the source columns."""
        return sources_of(self.moments, self.columns)

    @cached_property
    def owner(self) -> Positions:
        """The source column of each collected column."""
        return owner_of(self.moments, self.columns)

    @cached_property
    def _members(self) -> list[list[int]]:
        """The collected columns of each source column."""
        out: list[list[int]] = [[] for _ in self.sources]
        for column, source in enumerate(self.owner):
            out[source].append(column)
        return out

    @cached_property
    def spans(self) -> list[slice]:
        """The design columns of each source column."""
        own = self.layout.spans()
        return [slice(own[parts[0]].start, own[parts[-1]].stop) for parts in self._members]

    @cached_property
    def unit(self) -> Array:
        """By what each design column is divided; infinite where it does not vary."""
        squared = np.where(self.layout.is_level, self.regression.mean * self.n, self.regression.diagonal)
        varies = (squared > 0) & (self.regression.diagonal > 0)
        return np.where(varies, np.sqrt(np.where(varies, squared, 1.0)), np.inf)

    @cached_property
    def root(self) -> Array:
        """R with R R^T = V^+, (m, r)."""
        return root_of_inverse(self.regression.own)

    @property
    def target_rank(self) -> int:
        """Independent functions of the target, r."""
        return int(self.root.shape[1])

    @cached_property
    def cross(self) -> Array:
        """Cross scatter of unit design columns and orthonormal functions, (p, r)."""
        return (self.regression.cross @ self.root) / self.unit[:, None]

    @cached_property
    def matrix(self) -> Array:
        """Scatter of the unit design columns, (p, p)."""
        out = self.regression.matrix / self.unit
        out /= self.unit[:, None]
        return out

    def scatter_with(self, span: slice) -> Array:
        """Return the scatter of all unit design columns with some of them, (p, d); no larger matrix where that is too wide."""
        if may_be_formed(self.layout):
            return self.matrix[:, span]
        chosen = np.zeros((self.regression.width, span.stop - span.start))
        chosen[span] = np.diag(1 / self.unit[span])
        return (self.regression.scatter @ chosen) / self.unit[:, None]

    @cached_property
    def level_roots(self) -> Array:
        """Roots of the shares of levels, 0 for numbers and for levels that do not vary."""
        is_level = self.layout.is_level & np.isfinite(self.unit)
        return np.where(is_level, np.sqrt(np.maximum(self.regression.mean, 0.0)), 0.0)

    @cached_property
    def roots(self) -> dict[int, Array]:
        """Those of each source column that is one category: in unit columns its block is I - r r^T."""
        return {
            source: self.level_roots[span]
            for source, span in enumerate(self.spans)
            if len(self._members[source]) == 1 and self.layout.categorical[self._members[source][0]]
        }

    @cached_property
    def ranks(self) -> Positions:
        """Directions of each collected column: levels - 1, or 1 for a number that varies."""
        varies = np.isfinite(self.unit).astype(np.intp)
        ranks = np.add.reduceat(varies, self.layout.starts)
        return np.where(self.layout.categorical, np.maximum(ranks - 1, 0), ranks)

    @cached_property
    def explained(self) -> Array:
        """Q of each collected column."""
        explained = np.add.reduceat(np.square(self.cross).sum(axis=1), self.layout.starts)
        return np.clip(explained, 0.0, np.minimum(self.ranks, self.target_rank))

    # What permutation tests need

    @cached_property
    def parts(self) -> list[Part]:
        """Leverages of each collected column."""
        return parts_of(self.moments, self.columns)

    @cached_property
    def target_side(self) -> Side:
        """Leverages of the target's functions."""
        parts = parts_of_target(self.moments, self.aim)
        return side_of(self.moments, self.aim.columns, parts, self.target_rank)

    def side(self, source: int, rank: int) -> Side:
        """Return the leverages of a source column of which so many directions are left."""
        at = self._members[source]
        if len(at) == 1:
            own = self.parts[at[0]].side
            return own if own.rank == rank else scaled(own, rank)
        whole = int(self.ranks[at].sum())
        side = side_of(self.moments, [self.columns[j] for j in at], [self.parts[j] for j in at], whole)
        return side if side.rank == rank else scaled(side, rank)

    def only(self, sources: Sequence[int]) -> Problem:
        """Return the problem of some of the source columns."""
        kept = set(sources)
        columns = [name for name, owner in zip(self.columns, self.owner, strict=True) if int(owner) in kept]
        return Problem(regression_of(self.moments, columns, self.aim), self.aim)


def sources_of(moments: Moments, columns: Sequence[str]) -> list[str]:
    """Return the source columns of some collected columns, each once."""
    return list(dict.fromkeys(moments.schema[name].origin for name in columns))


def owner_of(moments: Moments, columns: Sequence[str]) -> Positions:
    """Return the place of each collected column's source among `sources_of` them."""
    place = {name: k for k, name in enumerate(sources_of(moments, columns))}
    return np.array([place[moments.schema[name].origin] for name in columns], dtype=np.intp)


def problem_of(
    moments: Moments, columns: Sequence[str], targets: Sequence[str], *, target_type: str = "auto"
) -> Problem:
    """Return the problem of some feature columns and one or several targets.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["r", "r", "b", "b"], "size": [1.0, 2.0, 1.0, 2.0], "y": [1.0, 1.5, 3.0, 3.5]}))
    >>> problem_of(m, ["color", "size"], ["y"]).explained.round(6)
    array([0.941176, 0.058824])
    """
    aim = aim_of(moments, targets, target_type=target_type)
    return Problem(regression_of(aim.read(moments), list(columns), aim), aim)


def least_p_value(owner: Positions, p_values: Array) -> Array:
    """Return the p-value of each source column: of a date the least of its parts, times their number.

    Examples
    --------
    >>> least_p_value(np.array([0, 1, 1]), np.array([0.01, 0.02, 0.5]))
    array([0.01, 0.04])
    """
    best = best_part(owner, -p_values)
    return np.minimum(p_values[best] * np.bincount(owner, minlength=len(best)), 1.0)


def best_part(owner: Positions, values: Array) -> Positions:
    """Return for each source column its collected column of the largest value.

    Examples
    --------
    >>> best_part(np.array([0, 1, 1, 2]), np.array([0.1, 0.3, 0.5, 0.2]))
    array([0, 2, 3])
    """
    order = np.lexsort((np.arange(len(owner)), -np.nan_to_num(values, nan=-np.inf)))
    return order[np.unique(owner[order], return_index=True)[1]]


def places(values: npt.ArrayLike) -> Positions:
    """Return the place of each value, 0 for the largest; values that rounding alone tells apart share one, NaN the last.

    Which of two columns that repeat each other comes first is then decided by where they stand, and not by the order in
    which their rows were added up.

    Examples
    --------
    >>> places([0.1, 0.5 + 1e-15, 0.5, -np.inf])
    array([1, 0, 0, 2])
    """
    given = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    order = np.argsort(-given, kind="stable")
    above, below = given[order[:-1]], given[order[1:]]
    with np.errstate(invalid="ignore"):
        less = ~((above == below) | (above - below <= ROUNDING * np.minimum(np.abs(above), np.abs(below))))
    out = np.empty(len(given), dtype=np.intp)
    out[order] = np.concatenate([[0], np.cumsum(less)])[: len(given)]
    return out
