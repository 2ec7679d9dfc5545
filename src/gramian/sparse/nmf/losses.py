"""What a factorisation minimises: beta-divergences between entries and their reconstruction, and the multiplicative update.

For an entry x, its reconstruction y and its weight w the loss is ``w d(x, y)`` with

    d(x, y) = (x - y)^2 / 2                     beta = 2, "frobenius"
    d(x, y) = x log(x / y) - x + y              beta = 1, "kullback-leibler"
    d(x, y) = x / y - log(x / y) - 1            beta = 0, "itakura-saito"
    d(x, y) = (x^b + (b - 1) y^b - b x y^(b-1)) / (b (b - 1))   otherwise,

scikit-learn's `beta_loss`. An entry that was not observed has weight 0 and takes no part.

Majorising the convex part of d by Jensen's inequality and the concave part by its tangent gives the multiplicative update

    C <- C * [ ((w x y^(beta-2)) D^T) / ((w y^(beta-1)) D^T) ]^g,   y = C D,

which never raises the loss for g = 1 where 1 <= beta <= 2, 1/(2 - beta) below and 1/(beta - 1) above (Fevotte & Idier 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, shown
from gramian.parameters import number

NAMES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}

TINY = 1e-300
"""Added to denominators that may be zero where the numerator is too."""


def beta_of(loss: Any) -> float:
    """Return the exponent that a loss is called by.

    Examples
    --------
    >>> beta_of("kullback-leibler"), beta_of(1.5)
    (1.0, 1.5)
    """
    if isinstance(loss, str) and loss in NAMES:
        return NAMES[loss]
    if not number().accepts(loss):
        raise DataError(f"beta_loss is {shown(loss)}; use {', '.join(map(repr, NAMES))} or a number")
    return float(loss)


def divergence(values: Array, weights: Array | None, made: Array, beta: float) -> float:
    """Return the weighted loss of a reconstruction.

    Parameters
    ----------
    values, made : (n, p) arrays
    weights : (n, p) array, optional
    beta : float

    Examples
    --------
    >>> divergence(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]), np.array([[3.0, 9.0]]), 2.0)
    2.0
    """
    if beta == 2:
        each = 0.5 * np.square(values - made)
    else:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if beta == 1:
                each = np.where(values > 0, values * np.log(values / made), 0.0) - values + made
            elif beta == 0:
                ratio = values / made
                each = ratio - np.log(ratio) - 1
            else:
                powered = np.power(made, beta - 1)
                each = np.power(values, beta) + (beta - 1) * powered * made - beta * values * powered
                each /= beta * (beta - 1)
    if weights is None:
        return float(each.sum())
    return float((weights * np.where(weights > 0, each, 0.0)).sum())


def exponent(beta: float) -> float:
    """Return the power of the multiplicative step under which no loss rises."""
    if beta < 1:
        return 1 / (2 - beta)
    return 1.0 if beta <= 2 else 1 / (beta - 1)


def ratio_parts(values: Array, weights: Array | None, made: Array, basis: Array, beta: float) -> tuple[Array, Array]:
    """Return numerator and denominator of the multiplicative update, (n, k) each.

    Parameters
    ----------
    values, made : (n, p) arrays
    weights : (n, p) array, optional
    basis : (k, p) array
    beta : float
    """
    made = np.maximum(made, TINY)
    if beta == 1:
        up, down = values / made, np.ones_like(made)
    elif beta == 2:
        up, down = values, made
    else:
        down = np.power(made, beta - 1)
        up = values * (down / made)
    if weights is not None:
        up, down = weights * up, weights * down
    return up @ basis.T, down @ basis.T


def multiply(factors: Array, up: Array, down: Array, beta: float) -> Array:
    """Return factors after one multiplicative step; where nothing was observed they stay."""
    step = np.where(down > 0, up / np.maximum(down, TINY), 1.0)
    power = exponent(beta)
    return np.asarray(factors * (step if power == 1 else np.power(step, power)))
