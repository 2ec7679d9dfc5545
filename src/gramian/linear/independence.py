"""Are two sets of columns independent? The permutation test of Strasser and Weber, from moments.

With S the scatter of the design columns x, V that of the influence functions h(y) and C the cross scatter, the linear statistic
T = sum_i x_i h(y_i)^T has, over all permutations of y, mean sum x sum h^T / n and covariance V (x) S / (n - 1). Its Mahalanobis
distance from that mean is

    (n - 1) tr(S^+ C V^+ C^T) = (n - 1) sum of the squared canonical correlations of x and h,

for large n chi-squared with rank(S) rank(V) degrees of freedom. With one number on either side it is (n - 1) r^2; with two
categories (n - 1)/n times Pearson's chi-squared of the table; with one number and classes, up to that factor, n times the
correlation ratio. Nothing is assumed of the distributions.

*Components.* The squared canonical correlations come one by one, largest first. That none but the first k differ from zero is
tested by (n - 1) times the sum of the others, with (rank(S) - k)(rank(V) - k) degrees of freedom.

Reference: Strasser and Weber, On the asymptotic theory of permutation statistics, Mathematical Methods of Statistics 8, 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from gramian.arrays import eigh_descending, relative_rank
from gramian.linear.influence import Aim, aim_of
from gramian.linear.regression import Regression, regression_of
from gramian.linear.ridge import least_squares
from gramian.moments.dense import divisor_of
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IndependenceTest:
    """The answer of `independence_test`.

    Attributes
    ----------
    statistic : float
        (n - 1) times the sum of the squared canonical correlations.
    df : int
        Degrees of freedom, `rank_x * rank_y`.
    p_value : float
    rank_x, rank_y : int
    correlations : (min(rank_x, rank_y),) array
        Canonical correlations, largest first.
    component_statistics, component_df, component_p_values : arrays
        Of the tests that this and all later canonical correlations are zero.
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

    def __repr__(self) -> str:
        return f"IndependenceTest(statistic={self.statistic:.6g}, df={self.df}, p_value={self.p_value:.4g})"


def upper_tail(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Array:
    """Return the probability that a chi-squared variable exceeds the statistic; 1 where there is nothing to test."""
    x, k = np.asarray(statistic, dtype=np.float64), np.asarray(df, dtype=np.float64)
    return np.where(k > 0, gammaincc(np.where(k > 0, k, 1.0) / 2, np.maximum(x, 0.0) / 2), 1.0)


def root_of_inverse(matrix: Array) -> Array:
    """Return a (m, r) matrix R with R R^T a pseudo-inverse of a positive semi-definite matrix of rank r.

    Examples
    --------
    >>> R = root_of_inverse(np.array([[4.0, 0.0], [0.0, 0.0]]))
    >>> R @ R.T
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    spread = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    # A function that does not vary leaves rounding behind; the others set what that is.
    unit = np.where(spread > 0, spread, np.inf)
    values, vectors = eigh_descending(matrix / np.outer(unit, unit))
    rank = relative_rank(values, slack=64.0)
    return np.asarray(vectors[:, :rank] / np.sqrt(values[:rank]) / unit[:, None])


def dependence_of(problem: Regression) -> IndependenceTest:
    """Return the test of a regression: always at ridge 0, whatever ridge its features have."""
    divisor_of(problem.moments, 1, "a test of independence")
    solved = least_squares(problem)
    root = root_of_inverse(problem.own)
    explained = root.T @ (problem.cross.T @ solved.coefficients) @ root
    values, _ = eigh_descending((explained + explained.T) / 2)
    rank_x, rank_y = solved.rank, root.shape[1]
    count = min(rank_x, rank_y)
    squares = np.clip(values[:count], 0.0, 1.0)
    n = problem.weight
    rest = (n - 1) * np.cumsum(squares[::-1])[::-1]
    k = np.arange(count)
    df = (rank_x - k) * (rank_y - k)
    statistic = float((n - 1) * squares.sum())
    return IndependenceTest(
        statistic=statistic,
        df=rank_x * rank_y,
        p_value=float(upper_tail(statistic, rank_x * rank_y)),
        rank_x=rank_x,
        rank_y=rank_y,
        correlations=np.sqrt(squares),
        component_statistics=rest,
        component_df=df,
        component_p_values=upper_tail(rest, df),
        n=n,
    )


def independence_test(
    moments: Moments, x_columns: str | Sequence[str] | None, target: str | Sequence[str]
) -> IndependenceTest:
    """Test whether some columns and a target (one column or several) are independent, from moments.

    Numbers, categories and mixtures of both may stand on either side: a number enters as itself, a category by its levels.

    Parameters
    ----------
    moments : Moments
    x_columns : str or sequence of str, optional
        By default every feature that is not a target.
    target : str or sequence of str

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
    IndependenceTest(statistic=33, df=1, p_value=9.216e-09)
    >>> independence_test(m, "color", "size").p_value
    1.0
    """
    targets = moments.schema.resolve(target)
    if x_columns is None:
        columns = [name for name in moments.schema.features if name not in targets]
    else:
        columns = moments.schema.resolve(x_columns)
    return dependence_of(regression_of(moments, columns, _by_kind(moments, targets)))


def _by_kind(moments: Moments, targets: Sequence[str]) -> Aim:
    """Return the functions of columns as they are collected: numbers as numbers, categories by level."""
    sizes = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    widths = [sizes[name] if moments.kind(name) == "categorical" else 1 for name in targets]
    if sum(widths) == 0:
        return aim_of(moments, targets)
    owner = np.repeat(np.arange(len(targets)), widths)
    names = [name for name, width in zip(targets, widths, strict=True) for _ in range(width)]
    return Aim(list(targets), [], np.eye(sum(widths)), names, owner, [[] for _ in targets])
