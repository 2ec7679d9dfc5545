"""The scale of a number: its own where it is symmetric, a logarithm where it is skewed.

A number z of mean 0, variance 1 and skewness g is read as a shifted lognormal one, y its normal score:

    1 + a z = exp(t y - t^2 / 2),      t^2 = log(1 + a^2),    g = a (a^2 + 3),

t of the sign of a, *bend* being a: 0 leaves z as it is, a < 0 is skewed to the left. Everything that Gaussian trees need of y
follows from moments of z. Two numbers of correlation r have normal scores of correlation

    log(1 + a a' r) / (t t'),      r a / t where the other is not bent;

a category that explains a share e of the variance of z explains log(1 + a^2 e) / t^2 of that of y; and where v of it is left,
a level in which z has mean m has the mean y(m) - t v / 2.

Values below `LOWEST` standard deviations of y count in plain standard deviations from there on. The end of the lognormal is
near: near it the logarithm finds any value odd beyond measure, and the long tail, which chose the scale, says nothing of the
short one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array

LOWEST = 3.0
"""Standard deviations of the short tail up to which it is logarithmic."""

LARGEST = 300.0
"""Logarithm of the largest value, in standard deviations: larger ones would overflow."""


def bend_of(skewness: Array, kurtosis: Array, sixth: Array, weight: Array) -> Array:
    """Return a for numbers of these standardised third, fourth and sixth moments over so many rows; 0 where one is unknown.

    With skewness g a gamma number has the kurtosis 3 + 3/2 g^2 and a lognormal one more; a bulk with a few values far out,
    however it is shaped, 1 + g^2, the least there is. Below the line midway between the two it is such values: no bend.

    A skewness counts as 0 within three standard errors of that of normal numbers, whose variance is 6 / n. It also counts as 0
    within two standard errors of its own, (m_6 - g^2 - 6 m_4 + 9) / n being the variance of a third moment: one value far
    out, or heavy tails on both sides, give a skewness of about one.

    Where the long tail is heavy its skewness is known badly, and one that is too large puts the end of the short tail inside
    the data; one that is too small leaves the long tail a little odder than it is. So g is taken one standard error low.

    Examples
    --------
    >>> skewness, kurtosis = np.array([0.0, 2.0, -2.0, 2.0]), np.array([3.0, 9.0, 9.0, 5.5])
    >>> sixth = np.array([15.0, 265.0, 265.0, 16.0])
    >>> bend_of(skewness, kurtosis, sixth, np.full(4, 1e12)).round(3)
    array([ 0.   ,  0.596, -0.596,  0.   ])
    """
    square = np.square(skewness)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.maximum(sixth - square - 6.0 * kurtosis + 9.0, 0.0) / weight)
        skewed = (kurtosis >= 2.0 + 1.25 * square) & (np.abs(skewness) > 2.0 * error) & (square * weight > 9.0 * 6.0)
    half = np.where(skewed, skewness - np.copysign(error, skewness), 0.0) / 2.0
    # The real root of a^3 + 3 a = g (Cardano).
    root = np.cbrt(half + np.copysign(np.sqrt(np.square(half) + 1.0), half))
    return np.asarray(root - 1.0 / root)


def rate_of(bend: Array) -> Array:
    """Return t."""
    return np.asarray(np.copysign(np.sqrt(np.log1p(np.square(bend))), bend))


def normal_score(z: Array, bend: Array) -> Array:
    """Return y of standardised numbers; NaN stays.

    Examples
    --------
    >>> normal_score(np.array([-0.9, 0.0, 1.0, 10.0]), np.array([0.596])).round(2)
    array([-1.12,  0.28,  1.12,  3.79])
    """
    z, bend = np.broadcast_arrays(np.asarray(z, dtype=np.float64), bend)
    rate = np.abs(rate_of(bend))
    some = np.where(rate > 0, rate, 1.0)
    inner = bend * z
    edge = np.expm1(-LOWEST * some - np.square(some) / 2.0)
    logarithmic = some / 2.0 + np.log1p(np.maximum(inner, edge)) / some
    score = np.where(inner < edge, -LOWEST + (inner - edge) / np.where(rate > 0, np.abs(bend), 1.0), logarithmic)
    return np.where(rate > 0, np.copysign(1.0, bend) * np.where(np.isnan(z), z, score), z)


def standard_value(y: Array, bend: Array) -> Array:
    """Return z of normal scores: the inverse of `normal_score`.

    Examples
    --------
    >>> standard_value(normal_score(np.array([-5.0, -0.9, 0.0, 10.0]), np.array([0.596])), np.array([0.596])).round(9)
    array([-5. , -0.9,  0. , 10. ])
    """
    y, bend = np.broadcast_arrays(np.asarray(y, dtype=np.float64), bend)
    rate = np.abs(rate_of(bend))
    some = np.where(rate > 0, rate, 1.0)
    # Where nothing is bent y is the answer, however large: its power is not to be taken.
    score = np.where(rate > 0, np.copysign(1.0, bend) * y, 0.0)
    edge = np.expm1(-LOWEST * some - np.square(some) / 2.0)
    logarithmic = np.expm1(np.minimum(some * np.maximum(score, -LOWEST) - np.square(some) / 2.0, LARGEST))
    inner = np.where(score < -LOWEST, edge + (score + LOWEST) * np.abs(bend), logarithmic)
    return np.where(rate > 0, inner / np.where(bend != 0, bend, 1.0), y)


def score_correlation(correlation: Array, bend: Array, rows: slice = slice(None)) -> Array:
    """Return the correlations of the normal scores of numbers, (q, q) or some rows of it, from those of the numbers."""
    rate = rate_of(bend)
    both = np.multiply.outer(bend[rows], bend)
    bent = both != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(bend != 0, bend / np.where(rate != 0, rate, 1.0), 1.0)
        out = correlation * np.multiply.outer(one[rows], one)
        inner = np.log1p(np.maximum(both[bent] * correlation[bent], -1.0))
        out[bent] = inner / np.multiply.outer(rate[rows], rate)[bent]
    return np.clip(out, -1.0, 1.0, out=out)


def score_left(left: Any, bend: Array) -> Array:
    """Return the share of the variance of normal scores that a category leaves, from that of the numbers."""
    square = np.square(bend)
    explained = np.log1p(np.maximum(square * (1.0 - left), -0.5)) / np.where(square > 0, np.log1p(square), 1.0)
    return np.where(square > 0, 1.0 - explained, left)
