"""Scores of each column by itself: variance, correlation with the target, the test of independence, and many tests at once.

*Variance.* A number by its population variance over observed values, as scikit-learn's VarianceThreshold has it (divided by
n, where PCA divides by n - 1). A category by the Gini-Simpson index 1 - sum_l f_l^2: the chance that two rows differ, which
is the sum of the variances f_l (1 - f_l) of its levels.

*Correlation.* With q the sum of the squared canonical correlations of a column and the target (`gramian.selection.problem`)
and s the smaller of their ranks, sqrt(q / s) is |r| of two numbers, the correlation ratio eta of a number and a category,
and Cramer's V of two categories. The sign is kept where both are one number.

*Chance.* Under independence q is rank_x rank_y / (n - 1) on average, so a share e = max(rank_x, rank_y) / (n - 1) of its
largest value s: a column of n levels has eta = 1 with whatever target. Taken off, (q/s - e) / (1 - e) is zero on average
where there is nothing, and adjusted R^2 where the target is one number, whether the column is a number or a category. It
counts as 0 where it is negative.

*Tests*, as textbooks have them: chi-squared n q for two categories; otherwise F, exact for normal numbers: that of Pillai's
trace q with error degrees of freedom v = n - 1 - rank_x,

    F = (v - rank_y + s) q / (max(rank_x, rank_y) (s - q)),    degrees of freedom rank_x rank_y and s (v - rank_y + s),

which is the F of a regression, of an analysis of variance, and the squared t of a correlation. They fail for rare classes
and heavy tails; the test of independence does not.

*Independence.* The statistic (n - 1) q needs no matrix over the design columns, and its law over all permutations is a
function of the leverages of the two sides, or of their margins where both are sparse categories, so two thousand numbers
take a fraction of a second. A column of many levels, a rare class, a heavy tail: each is in the leverages, so that under
independence p-values are uniform whatever the columns are.

*Many tests at once* have p-values that can be held against one level. Bonferroni: m p. No false discovery at all with
probability 1 - alpha, whatever the tests have to do with each other. False discovery rate (Benjamini and Hochberg): with
p-values in order, the least over j >= i of m p_(j) / j. The expected share of false ones among the columns kept is at most
alpha, for tests that are independent or positively related.

Reference: Benjamini and Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57,
1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc

from gramian.arrays.types import Array
from gramian.linear.regression.permutation import null_law
from gramian.moments.covariance import level_values
from gramian.moments.value import Moments
from gramian.selection.problem import Problem

CONTROLS = ("fdr", "bonferroni", "none")


def variances(moments: Moments, columns: Sequence[str]) -> Array:
    """Return the variance of each collected column.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["r", "r", "b", "g"], "size": [1.0, 2.0, None, 3.0], "one": [7, 7, 7, 7]}))
    >>> variances(m, ["color", "size", "one"]).round(6)
    array([0.625   , 0.666667, 0.      ])
    """
    weight = float(moments.total_weight)
    central = moments.numbers.central(weight)
    of_numbers = np.divide(central.sums[0], central.weight, out=np.zeros(len(central.weight)), where=central.weight > 0)
    out = np.zeros(len(columns))
    for k, name in enumerate(columns):
        form = moments.schema[name].form
        if form == "number":
            out[k] = of_numbers[moments.number_at[name]]
            continue
        at = moments.coded_at[name]
        counts = np.asarray(moments.pairs.level_weights[at], dtype=np.float64)
        if form == "category":
            # As a sum of f (1 - f): 1 - sum f^2 leaves rounding where there is one level.
            share = counts / counts.sum()
            out[k] = float(share @ (1 - share))
        else:
            values = level_values(moments, at)[1]
            observed = counts[[label is not None for label in moments.labels[at].to_list()]].sum()
            out[k] = float(counts @ np.square(values)) / observed if observed > 0 else 0.0
    return out


@dataclass(frozen=True, eq=False)
class Correlations:
    """Of each collected column with the target.

    Attributes
    ----------
    plain : (q,) array
        r, eta or V, signed where both sides are one number.
    beyond_chance : (q,) array
        The same without what chance gives, the more the more levels a column has.
    p_values : (q,) array
    measures : list of str
        "r", "eta", "V", or "canonical" for several targets.
    """

    plain: Array
    beyond_chance: Array
    p_values: Array
    measures: list[str]


def correlations(problem: Problem) -> Correlations:
    """Return how strongly each collected column goes with the target.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect(pa.table({"color": ["r", "r", "b", "b"], "size": [1.0, 2.0, 1.0, 3.0], "y": [3.0, 1.5, 3.0, 0.5]}))
    >>> found = correlations(problem_of(m, ["color", "size"], ["y"]))
    >>> found.plain.round(4), found.measures
    (array([ 0.2357, -0.9949]), ['eta', 'r'])
    """
    x, y, n = problem.ranks.astype(np.float64), float(problem.target_rank), problem.n
    square, corrected = mean_squares(problem.explained, x, y, n)
    sign = np.ones(len(x))
    whole = [len(classes) > 0 for classes in problem.aim.classes]
    one_number = len(whole) == 1 and not whole[0] and problem.aim.size == 1
    if one_number:
        starts = np.asarray(problem.layout.starts)
        negative = problem.regression.cross[starts, 0] < 0
        sign = np.where(negative & ~np.asarray(problem.layout.categorical), -1.0, 1.0)
    return Correlations(
        plain=sign * np.sqrt(square),
        # Not -0.
        beyond_chance=sign * np.sqrt(corrected) + 0.0,
        p_values=_p_values(problem, x, y, n),
        measures=_measures(problem, one_number, whole),
    )


def mean_squares(explained: Array, x: Array, y: float, n: float) -> tuple[Array, Array]:
    """Return the mean squared canonical correlation of columns with another, and the same beyond chance.

    Parameters
    ----------
    explained : (q,) array
        Sums of squared canonical correlations.
    x, y : (q,) array and float
        Ranks of the columns and of the other.
    n : float
        Rows.

    Examples
    --------
    Of 11 rows, a number and a category of 6 levels that explain half of another number:

    >>> mean_squares(np.array([0.5, 0.5]), np.array([1.0, 5.0]), 1.0, 11.0)[1].round(6)
    array([0.444444, 0.      ])
    """
    fewer, more = np.minimum(x, y), np.maximum(x, y)
    square = np.divide(explained, fewer, out=np.zeros(len(x)), where=fewer > 0)
    chance = np.minimum(more / max(n - 1, 1.0), 1.0)
    left = np.divide(square - chance, 1 - chance, out=np.zeros(len(x)), where=chance < 1)
    return square, np.maximum(left, 0.0)


def _measures(problem: Problem, one_number: bool, whole: list[bool]) -> list[str]:
    if len(whole) > 1:
        return ["canonical"] * len(problem.columns)
    of_category, of_number = ("eta", "r") if one_number else ("V", "eta")
    return [of_category if is_one else of_number for is_one in problem.layout.categorical]


def _p_values(problem: Problem, x: Array, y: float, n: float) -> Array:
    """Return chi-squared p-values for two categories, otherwise those of Pillai's F."""
    q = problem.explained
    tested = (x > 0) & (y > 0)
    fewer = np.where(tested, np.minimum(x, y), 1.0)
    classes = len(problem.aim.classes) == 1 and len(problem.aim.classes[0]) > 0
    both = np.asarray(problem.layout.categorical) & classes
    table = chdtrc(np.where(tested, x * y, 1.0), n * q)
    error = n - 1 - x - y + fewer
    room = (error > 0) & tested
    short = np.maximum(fewer - q, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(short > 0, error * q / (np.maximum(x, y) * short), np.inf)
    f = fdtrc(np.where(room, x * y, 1.0), np.where(room, fewer * error, 1.0), np.where(room, ratio, 0.0))
    return np.where(tested, np.where(both, table, np.where(room, f, 1.0)), 1.0)


@dataclass(frozen=True, eq=False)
class Tests:
    """Of each collected column against the target.

    Attributes
    ----------
    statistics, p_values : (q,) arrays
    df : (q,) array of int
        Mean of the statistic under independence.
    """

    statistics: Array
    p_values: Array
    df: npt.NDArray[np.intp]


def tests(problem: Problem) -> Tests:
    """Return the permutation test of each collected column.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect(pa.table({"color": ["red", "red", "blue", "blue"] * 25, "sold": ["yes", "yes", "no", "yes"] * 25}))
    >>> tests(problem_of(m, ["color"], ["sold"])).p_values
    array([1.04247886e-09])
    >>> gm.independence_test(m, "color", "sold")
    IndependenceTest(statistic=33, df=1, p_value=1.042e-09, null='exact')
    """
    n, target = problem.n, problem.target_side
    statistics = max(n - 1, 0.0) * problem.explained
    laws = [null_law(n, part.side, target) for part in problem.parts]
    p_values = [law.upper_tail(float(value)) for law, value in zip(laws, statistics, strict=True)]
    return Tests(statistics, np.array(p_values), problem.ranks * problem.target_rank)


def adjusted(p_values: npt.ArrayLike, control: str) -> Array:
    """Return p-values adjusted for their number: a column is kept where its own is at most alpha.

    Examples
    --------
    >>> adjusted([0.01, 0.02, 0.5], "fdr"), adjusted([0.01, 0.02, 0.5], "bonferroni")
    (array([0.03, 0.03, 0.5 ]), array([0.03, 0.06, 1.  ]))
    """
    p = np.asarray(p_values, dtype=np.float64)
    m = len(p)
    if control == "none" or m == 0:
        return p.copy()
    if control == "bonferroni":
        return np.minimum(m * p, 1.0)
    order = np.argsort(p, kind="stable")
    steps = p[order] * m / np.arange(1, m + 1)
    out = np.empty(m)
    out[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return out
