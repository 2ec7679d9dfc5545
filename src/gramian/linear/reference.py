"""What scores look like where nothing is odd: a reference distribution, from the moments behind the score.

The residual of a level u is linear in the indicators of the other levels, so its mean over the training rows that
hold u is exact from pair counts:

    rbar_u = own_u + sum_v p(v | u) T[u, v].

With every level at its mean residual a row scores sum_j a(x_j), a_u = F_u h(rbar_u): a sum of one number a level,
whose mean f^T a and variance a^T S a over the training rows follow from shares and pair shares, dependences included:
this part of the reference is the gamma distribution with that mean and variance. Numbers add q g(sqrt(t / q)) with t
their squared whitened residual, chi-squared with q degrees of freedom where they are normal given the levels. The
reference is the sum of the two, as if independent. No row is read and nothing is drawn at random.

What it leaves out is the spread of a residual among rows that hold the same level; rows that differ from the rest in
this way are what a detector is to point out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, gamma

from gramian.arrays import one_blas_thread
from gramian.maps.pair_surprise import PairSurprise, damped, far_out

Array = npt.NDArray[np.float64]

TAIL = 0.05
"""Share of the reference above the threshold: of usual rows, about one in twenty is pointed out."""


def reference_threshold(score: PairSurprise, *, tail: float = TAIL) -> float:
    """Return the score that a share `tail` of the reference exceeds.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.surprise import surprise
    >>> table = pa.table({"city": ["Bonn"] * 90 + ["Oslo"] * 90, "tongue": ["de"] * 90 + ["no"] * 89 + ["de"]})
    >>> found = surprise(gm.collect(table))
    >>> scores = found.apply(map(found.design.encode, table.to_batches()))
    >>> np.flatnonzero(scores > reference_threshold(found))
    array([179])
    """
    q = len(score.scale)
    mean, variance = levels_reference(score) if len(score.sizes) else (0.0, 0.0)
    # Rows that score the mean up to rounding are not odd, also where all of them do.
    slack = 1e-9 * max(mean, 1.0)
    varies = variance > slack**2
    shape, scale = (mean**2 / variance, variance / mean) if varies else (1.0, 0.0)
    if not q:
        return (float(gamma.isf(tail, shape, scale=scale)) if varies else mean) + slack
    if not varies:
        return mean + slack + float(_numbers_worth(np.array([chi2.isf(tail, q)]), q)[0])
    # Each part as a thousand equally likely values, the middles of equal shares: their sums are the sum's distribution.
    middles = (np.arange(1000) + 0.5) / 1000
    sums = np.add.outer(gamma.ppf(middles, shape, scale=scale), _numbers_worth(chi2.ppf(middles, q), q))
    return float(np.quantile(sums, 1.0 - tail)) + slack


def _numbers_worth(squares: Array, q: int) -> Array:
    return np.asarray(q * far_out(np.sqrt(squares / q)))


def levels_reference(score: PairSurprise) -> tuple[float, float]:
    """Return the mean and the variance of the score of levels, each at its mean residual."""
    counts = score.counts[:-1, :-1]
    own = np.diagonal(counts)
    shares = own / score.weight
    columns = np.repeat(np.arange(len(score.sizes)), score.sizes)
    worth = (score.factors * damped(score.usual.sum(axis=1)))[:-1]
    mean = float(shares @ worth)
    by_column = np.bincount(columns, shares * worth)
    # Centred within each column before the product, so that the variance of a constant is zero and not a difference.
    centred = worth - by_column[columns]
    centred[own == 0] = 0.0
    # One product of a matrix and a vector: threads woken for it would still be waiting when rows are scored.
    with one_blas_thread():
        variance = float(centred @ (counts @ centred)) / score.weight
    return mean, max(variance, 0.0)
