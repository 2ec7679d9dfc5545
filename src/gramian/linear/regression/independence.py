"""Are two sets of columns independent? The permutation test of Strasser and Weber, from moments.

With S the scatter of the design columns x, V that of the influence functions h(y) and C the cross scatter, the linear statistic
T = sum_i x_i h(y_i)^T has, over all permutations of y, mean sum x sum h^T / n and covariance V (x) S / (n - 1). Its Mahalanobis
distance from that mean is

    (n - 1) tr(S^+ C V^+ C^T) = (n - 1) sum of the squared canonical correlations of x and h.

With one number on either side it is (n - 1) r^2; with two categories (n - 1)/n times Pearson's chi-squared of the table; with
one number and classes, up to that factor, n times the correlation ratio. Nothing is assumed of the distributions: the p-value
comes from the mean, variance and skewness of the statistic over all permutations (`linear.regression.permutation`), which the
leverages of the two sides give (`linear.regression.leverages`), and for two sparse categories from the tables of their margins
(`linear.regression.table_tail`). For large n, and where neither side has rare levels or heavy
tails, that is chi-squared with rank(S) rank(V) degrees of freedom.

*Components.* The squared canonical correlations come one by one, largest first. That none but the first k differ from zero is
tested by (n - 1) times the sum of the others. Its law is taken as that of the statistic of the spaces that are left, x and
h without their first k canonical directions, as if these had been known beforehand; so it is approximate, and best where the
first k are plain and the rest of x varies alike whatever h is. The spaces left are exact for a single column of few levels and
the first components, otherwise their leverages are in proportion. A later component means something only if all before it do,
so no p-value is smaller than the one before.

Reference: Strasser and Weber, On the asymptotic theory of permutation statistics, Mathematical Methods of Statistics 8, 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array
from gramian.errors import Call, DataError, PythonOnly
from gramian.linear.regression.leverages import (
    Part,
    beyond,
    parts_of,
    parts_of_target,
    root_of_inverse,
    scaled,
    side_of,
)
from gramian.linear.regression.permutation import NullLaw, Side, null_law
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import least_squares
from gramian.linear.regression.targets import Aim, aim_of, refuse_missing
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class IndependenceTest:
    """The answer of `independence_test`.

    Attributes
    ----------
    statistic : float
        (n - 1) times the sum of the squared canonical correlations.
    df : int
        `rank_x * rank_y`, the mean of the statistic over all permutations.
    p_value : float
        Of a statistic as large over all permutations: by all tables of the same margins, or random ones, where two
        categories are sparse, otherwise by a gamma law of the mean, variance and skewness.
    null : {"exact", "estimated", "chi-squared"}
        Whether those moments are exact, estimates (several columns jointly on one side), or unknown: moments from a file
        without fourth powers, or less a part that held almost all of them; chi-squared then stands in.
    null_variance, null_skewness : float
        Of the statistic over all permutations; those of chi-squared are 2 df and sqrt(8 / df). NaN where unknown.
    null_law : NullLaw
        What gives the p-value: `null_law.upper_tail(statistic)`.
    rank_x, rank_y : int
    correlations : (min(rank_x, rank_y),) array
        Canonical correlations, largest first.
    component_statistics, component_df, component_p_values : arrays
        Of the tests that this and all later canonical correlations are zero, p-values approximate and never falling.
    n : float
        Total weight.
    """

    statistic: float
    df: int
    p_value: float
    rank_x: int
    rank_y: int
    correlations: Array
    component_statistics: Array
    component_df: Array
    component_p_values: Array
    n: float
    null: str
    null_variance: float
    null_skewness: float
    null_law: NullLaw

    def __repr__(self) -> str:
        words = f"statistic={self.statistic:.6g}, df={self.df}, p_value={self.p_value:.4g}"
        return f"IndependenceTest({words}, null={self.null!r})"


FEW_LEVELS = 64
FIRST_COMPONENTS = 8
"""Columns of so many levels, and so many components, have the spaces that are left worked out."""


def dependence_of(problem: Regression, aim: Aim) -> IndependenceTest:
    """Return the test of a regression of `aim`: always at ridge 0, whatever ridge its features have."""
    divisor_of(problem.moments, 1, "a test of independence")
    solved = least_squares(problem)
    root = root_of_inverse(problem.own)
    explained = root.T @ (problem.cross.T @ solved.coefficients) @ root
    values, vectors = eigh_descending((explained + explained.T) / 2)
    rank_x, rank_y = solved.rank, root.shape[1]
    count = min(rank_x, rank_y)
    squares = np.clip(values[:count], 0.0, 1.0)
    n, moments = problem.weight, problem.moments
    rest = (n - 1) * np.cumsum(squares[::-1])[::-1]
    k = np.arange(count)

    columns = problem.layout.columns
    x, y = parts_of(moments, columns), parts_of_target(moments, aim)
    sides = side_of(moments, columns, x, rank_x), side_of(moments, aim.columns, y, rank_y)
    whole = null_law(n, *sides)
    # Unit canonical variates as functions of a level; in design columns where several make a side.
    in_x = solved.coefficients @ root @ vectors[:, :count] / np.sqrt(np.where(squares > 0, squares, np.inf))
    in_y = aim.map @ root @ vectors[:, :count]
    left = [
        null_law(n, _left(moments, sides[0], x, in_x, j, rank_x), _left(moments, sides[1], y, in_y, j, rank_y))
        for j in range(1, count)
    ]
    laws = [whole, *left]
    statistic = float((n - 1) * squares.sum())
    return IndependenceTest(
        statistic=statistic,
        df=rank_x * rank_y,
        p_value=whole.upper_tail(statistic),
        rank_x=rank_x,
        rank_y=rank_y,
        correlations=np.sqrt(squares),
        component_statistics=rest,
        component_df=(rank_x - k) * (rank_y - k),
        component_p_values=np.maximum.accumulate([law.upper_tail(v) for law, v in zip(laws, rest, strict=False)]),
        n=n,
        null=_known(whole, sides),
        null_variance=whole.variance,
        null_skewness=whole.skewness,
        null_law=whole,
    )


def _known(law: NullLaw, sides: tuple[Side, Side]) -> str:
    if not np.isfinite(law.variance):
        return "chi-squared"
    return "estimated" if any(side.estimated for side in sides) else "exact"


def _left(moments: Moments, side: Side, parts: Sequence[Part], scores: Array, k: int, rank: int) -> Side:
    """Return a side without its first k canonical directions."""
    part = parts[0]
    if len(parts) > 1 or part.coded is None or k > FIRST_COMPONENTS or not 1 < len(part.leverages) <= FEW_LEVELS:
        return scaled(side, rank - k)
    counts = np.asarray(moments.pairs.level_weights[part.coded], dtype=np.float64)
    remaining = beyond(part, counts, scores[:, :k] - counts @ scores[:, :k] / counts.sum()).side
    # Functions of a level that are not all there are would leave more than their own space.
    return remaining if remaining.rank == rank - k else scaled(side, rank - k)


def independence_test(
    moments: Moments, x_columns: str | Sequence[str] | None = None, target: str | Sequence[str] | None = None
) -> IndependenceTest:
    """Test whether some columns and a target (one column or several) are independent, from moments.

    Numbers, categories and mixtures of both may stand on either side: a number enters as itself, a category by its levels.

    Parameters
    ----------
    moments : Moments
    x_columns : str or sequence of str, optional
        By default every feature that is not a target: `independence_test(moments, "sold")` tests them against `sold`.
    target : str or sequence of str
        With two arguments the second is the target.

    Returns
    -------
    IndependenceTest

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "red", "blue", "blue"] * 25, "size": [1.0, 2.0, 1.0, 2.0] * 25,
    ...                          "sold": ["yes", "yes", "no", "yes"] * 25}))
    >>> independence_test(m, "color", "sold")
    IndependenceTest(statistic=33, df=1, p_value=1.042e-09, null='exact')
    >>> independence_test(m, "color", "size").p_value
    1.0
    >>> independence_test(m, "sold").df
    2
    """
    given: object = moments
    if not isinstance(given, Moments):
        got = type(given).__name__
        raise DataError(
            Call("independence_test"), f" takes Moments; got {got}", PythonOnly(": collect() the rows first")
        )
    if target is None:
        x_columns, target = None, x_columns
    if target is None:
        raise DataError(Call("independence_test"), " needs a target: the name of a column, or several names")
    targets = moments.schema.resolve(target)
    if x_columns is None:
        columns = [name for name in moments.schema.features if name not in targets]
    else:
        columns = moments.schema.resolve(x_columns)
    for name in targets:
        refuse_missing(moments, name)
    aim = _by_kind(moments, targets)
    return dependence_of(regression_of(moments, columns, aim), aim)


def _by_kind(moments: Moments, targets: Sequence[str]) -> Aim:
    """Return the functions of columns as they are collected: numbers as numbers, categories by level."""
    sizes = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    widths = [sizes[name] if moments.kind(name) == "categorical" else 1 for name in targets]
    if sum(widths) == 0:
        return aim_of(moments, targets)
    owner = np.repeat(np.arange(len(targets)), widths)
    names = [name for name, width in zip(targets, widths, strict=True) for _ in range(width)]
    return Aim(list(targets), [], np.eye(sum(widths)), names, owner, [[] for _ in targets])
