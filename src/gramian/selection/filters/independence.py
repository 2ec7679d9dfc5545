"""Is each column independent of the target? The permutation test of `gramian.linear.regression`, for all columns at once.

The statistic (n - 1) q needs no matrix over the design columns, and its law over all permutations is a function of the
leverages of the two sides, or of their margins where both are sparse categories, so two thousand numbers take a fraction of a
second. A column of many levels, a rare
class, a heavy tail: each is in the leverages, so that under independence p-values are uniform whatever the columns are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.linear.regression.permutation import null_law
from gramian.selection.problem import Problem


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
