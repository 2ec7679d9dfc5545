"""Many tests at once: p-values that can be held against one level.

*Bonferroni*: m p. No false discovery at all with probability 1 - alpha, whatever the tests have to do with each other.
*False discovery rate* (Benjamini and Hochberg): with p-values in order, the least over j >= i of m p_(j) / j. The expected
share of false ones among the columns kept is at most alpha, for tests that are independent or positively related.

Reference: Benjamini and Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57,
1995.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array

CONTROLS = ("fdr", "bonferroni", "none")


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
