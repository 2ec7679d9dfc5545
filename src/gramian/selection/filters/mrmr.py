"""Maximum relevance, minimum redundancy (mRMR): columns that say much about the target and little about each other.

Columns enter one by one. With A those inside, the next maximises

    R(x; y) - mean over a in A of R(x; a)        (scheme "difference"),
    R(x; y) / mean over a in A of R(x; a)        (scheme "quotient").

Peng, Long and Ding take mutual information for R. Between a column and the target it is at most the entropy of the target,
between two columns of many levels it is far larger, so that the second term would decide alone. Here R is the correlation
that two normal variables of that information would have, sqrt(1 - exp(-2 I)) (Linfoot): |r| of two numbers, between 0 and 1
for any two columns. I is less twice what chance gives (`gramian.selection.filters.information`, "held-out"), for relevance
and redundancy alike: it is that of new rows, and differences compare like with like. In quotients a mean below 1 / sqrt(n),
what unrelated columns show, counts as that.

Columns without relevance come last in both schemes: zero less zero is more than what is left of a relevant column that
others repeat, and yet such a column, a near-identifier say, has nothing to add.

Reference: Peng, Long and Ding, Feature selection based on mutual information, IEEE TPAMI 27, 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays.types import Array

SCHEMES = ("difference", "quotient")

RELEVANT = float(np.sqrt(64 * np.finfo(np.float64).eps))
"""Relevance, the root of an information, below which it is rounding."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """Columns in the order in which they enter.

    Attributes
    ----------
    order : list of int
    relevance, redundancy, score : lists of float
        R with the target, mean R with those inside, and their difference or quotient, as the column entered.
    """

    order: list[int]
    relevance: list[float]
    redundancy: list[float]
    score: list[float]


def as_correlation(information: Array) -> Array:
    """Return sqrt(1 - exp(-2 I)), 0 where the information is negative.

    Examples
    --------
    >>> as_correlation(np.array([-0.1, 0.0, 0.5 * np.log(4 / 3)])).round(6)
    array([0. , 0. , 0.5])
    """
    return np.sqrt(-np.expm1(-2 * np.maximum(information, 0.0)))


def most_relevant(
    relevance: Array,
    row: Callable[[int], Array],
    steps: int,
    *,
    n: float,
    scheme: str = "difference",
    include: Sequence[int] = (),
    same: Array | None = None,
) -> Relevance:
    """Return columns in the order of mRMR, those without relevance last.

    Parameters
    ----------
    relevance : (q,) array
        Of each column with the target.
    row : callable
        Gives the redundancy of one column with every other.
    steps : int
        Columns to enter after the included ones.
    n : float
        Rows.
    scheme : {"difference", "quotient"}
    include : sequence of int
        Columns that enter first.
    same : (q,) array, optional
        Columns of equal value are parts of one: where one enters, the others are done.

    Examples
    --------
    >>> red = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> most_relevant(np.array([0.8, 0.7, 0.3]), lambda j: red[j], 3, n=100).order
    [0, 2, 1]
    """
    q = len(relevance)
    kin = np.arange(q) if same is None else same
    outside, total = np.ones(q, dtype=bool), np.zeros(q)
    picked = Relevance([], [], [], [])

    def enter(j: int) -> None:
        mean = total[j] / len(picked.order) if picked.order else 0.0
        picked.relevance.append(float(relevance[j]))
        picked.redundancy.append(float(mean))
        picked.score.append(float(_score(relevance[j], mean, scheme, n) if picked.order else relevance[j]))
        picked.order.append(j)
        outside[kin == kin[j]] = False

    for j in include:
        enter(j)
        total += row(j)
    last = len(include) + steps
    while outside.any() and len(picked.order) < last:
        score = _score(relevance, total / len(picked.order), scheme, n) if picked.order else relevance
        relevant = outside & (relevance > RELEVANT)
        score = np.where(relevant if relevant.any() else outside, score, -np.inf)
        # The first of those that rounding alone tells apart.
        j = int(np.argmax(score >= score.max() - 1e-9 * abs(score.max())))
        enter(j)
        if len(picked.order) < last:
            total += row(j)
    return picked


def _score(relevance: Any, redundancy: Any, scheme: str, n: float) -> Any:
    if scheme == "difference":
        return relevance - redundancy
    return relevance / np.maximum(redundancy, 1 / np.sqrt(max(n, 1.0)))
