"""Neural ICA: the nonlinear form of Oja's subspace rule on white rows.

With x white (mean 0, covariance I), y = W x and g taken entry by entry, the rule is

    dW = eta g(y) (x - W^T g(y))^T.

*Which sources it finds.* Around a separating W, with s a source and the scale at rest, a rotation of two sources dies out
where E g'(y) < E g(y) y for W orthogonal (Oja 1997): for g = tanh that holds for sub-Gaussian sources alone, for g = y^3
(kurtosis above 0) and g = y - tanh(y) for super-Gaussian ones alone. For a Gaussian both sides are equal by Stein's identity,
whatever g is: two Gaussian sources cannot be told apart. `"auto"` gives each unit tanh or y - tanh(y) by the sign of its
kurtosis, E y^4 - 3.

*The automatic rate.* Sources have unit variance, so W is orthogonal, and of dW only the part within the orthogonal matrices
matters: the symmetric g g^T drops out, and what is left is a rotation W <- exp(R) W with R antisymmetric,

    R_ij = E g(y_i) y_j - E g(y_j) y_i        (the slope of sum_i E G(y_i), G' = g).

Its curvature in the plane of i and j is k_i + k_j with k_i = E g(y_i) y_i - E g'(y_i), so that R_ij / |k_i + k_j| is the step
that ends at the top of a stable plane, in radians, and leads away from an unstable one as the rule itself does: a wrong g
still fails. The step is averaged over rows by the shares of `gramian.online.amnesic`, 1/t but for the first rows, and the
matrix is made orthogonal again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import Argument, DataError
from gramian.online.amnesic import AMNESIA, share_of
from gramian.online.schedules import Schedule, rounded_down

TANH, CUBE, Y_TANH = 0, 1, 2

_LARGEST_SHARE = 1.0 / 64.0
"""Of what the rows so far say, that one row may have: its own step is many times as long as the mean of steps."""


_FIRST_ROWS = 128.0
"""Rows that are only looked at, before curvatures are known well enough to be divided by."""


@kernel("int64(float64[:,::1], float64[::1], float64[:,::1], int64[::1], float64)")
def learn_nonlinear(rows, rates, weights, kinds, limit):  # type: ignore[no-untyped-def]
    """Update `weights` (k, k) by rate g(y) (x - W^T g(y))^T with each row; return the row after which one passes `limit`."""
    n, width = rows.shape
    k = weights.shape[0]
    g, left = np.empty(k), np.empty(width)
    for i in range(n):
        left[:] = rows[i]
        for a in range(k):
            y = 0.0
            for j in range(width):
                y += weights[a, j] * rows[i, j]
            g[a] = np.tanh(y) if kinds[a] == 0 else y * y * y if kinds[a] == 1 else y - np.tanh(y)
        for a in range(k):
            for j in range(width):
                left[j] -= g[a] * weights[a, j]
        within = True
        for a in range(k):
            for j in range(width):
                weights[a, j] += rates[i] * g[a] * left[j]
                within = within and abs(weights[a, j]) <= limit
        if not within:
            return i
    return -1


@kernel("void(float64[:,::1], float64[::1], float64[:,::1], float64[:,::1], float64, int64, float64, float64)")
def turn_rows(rows, row_weights, weights, past, seen, code, widest, amnesia):  # type: ignore[no-untyped-def]
    """Turn `weights` (k, k) by the automatic rate with each row; `past` holds kurtosis and curvature of each unit."""
    n, k = rows.shape
    y, g = np.empty(k), np.empty(k)
    step, moved, square = np.zeros((k, k)), np.empty((k, k)), np.empty((k, k))
    for i in range(n):
        if row_weights[i] <= 0.0:
            continue
        seen += row_weights[i]
        share = min(_LARGEST_SHARE, 1.0 - (1.0 - row_weights[i] / seen) ** (1.0 + amnesia))
        for a in range(k):
            total = 0.0
            for j in range(k):
                total += weights[a, j] * rows[i, j]
            y[a] = total
            past[0, a] = (1.0 - share) * past[0, a] + share * (total**4 - 3.0)
            kind = code if code >= 0 else (0 if past[0, a] < 0.0 else 2)
            t = np.tanh(total)
            if kind == 0:
                g[a], slope = t, 1.0 - t * t
            elif kind == 1:
                g[a], slope = total**3, 3.0 * total * total
            else:
                g[a], slope = total - t, t * t
            past[1, a] = (1.0 - share) * past[1, a] + share * (g[a] * total - slope)
        if seen < _FIRST_ROWS:
            continue
        for a in range(k):
            for c in range(a):
                size = max(abs(past[1, a] + past[1, c]), 1e-3)
                turn = share * (g[a] * y[c] - g[c] * y[a]) / size
                turn = min(max(turn, -widest), widest)
                step[a, c], step[c, a] = turn, -turn
        moved[:] = weights
        for a in range(k):
            for j in range(k):
                total = 0.0
                for c in range(k):
                    total += step[a, c] * weights[c, j]
                moved[a, j] += total
        # One step of Newton's towards orthonormal rows: W <- (3 W - W W^T W) / 2.
        for a in range(k):
            for c in range(k):
                total = 0.0
                for j in range(k):
                    total += moved[a, j] * moved[c, j]
                square[a, c] = total
        for a in range(k):
            for j in range(k):
                total = 0.0
                for c in range(k):
                    total += square[a, c] * moved[c, j]
                weights[a, j] = 1.5 * moved[a, j] - 0.5 * total


Kinds = npt.NDArray[np.int64]

NONLINEARITIES = {"tanh": TANH, "cube": CUBE, "y-tanh": Y_TANH}

WIDEST = 0.5
"""Radians that one update may turn two units by: the quadratic model holds within a part of the quarter turn to a neighbour."""

SMALLEST_CURVATURE = 1e-3
DIVERGED = 1e6


@dataclass(frozen=True, eq=False)
class Separation:
    """Where the learning stands.

    Attributes
    ----------
    weights : (k, k) array
        Over white rows.
    kurtosis, curvature : (k,) arrays
        Running means of y^4 - 3 and of g(y) y - g'(y) for each unit.
    weight : float
        Of the rows behind them.
    updates : int
    """

    weights: Array
    kurtosis: Array
    curvature: Array
    weight: float = 0.0
    updates: int = 0

    @classmethod
    def at(cls, weights: Array) -> Separation:
        """Return a start from some weights."""
        return cls(weights, np.zeros(len(weights)), np.zeros(len(weights)))


def first_rotation(k: int, rng: np.random.Generator) -> Array:
    """Return a random orthogonal matrix."""
    return orthogonal(rng.standard_normal((k, k)))


def orthogonal(weights: Array) -> Array:
    """Return the nearest matrix of orthonormal rows, (W W^T)^-1/2 W.

    Examples
    --------
    >>> orthogonal(np.array([[2.0, 0.0], [0.0, -0.5]]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    left, _, right = np.linalg.svd(weights, full_matrices=False)
    return np.asarray(left @ right)


def kinds_of(nonlinearity: str, kurtosis: Array) -> Kinds:
    """Return the function of each unit; for "auto" by the sign of its kurtosis."""
    if nonlinearity == "auto":
        return np.where(kurtosis < 0, TANH, Y_TANH).astype(np.int64)
    return np.full(len(kurtosis), NONLINEARITIES[nonlinearity], dtype=np.int64)


def nonlinear(y: Array, kinds: Kinds) -> tuple[Array, Array]:
    """Return g and g' of outputs (b, k), the function of each column by its kind."""
    t = np.tanh(y)
    g = np.where(kinds == TANH, t, np.where(kinds == CUBE, y**3, y - t))
    slope = np.where(kinds == TANH, 1 - t**2, np.where(kinds == CUBE, 3 * y**2, t**2))
    return g, slope


def turn(state: Separation, rows: Array, row_weights: Array, *, nonlinearity: str, by_row: bool = False) -> Separation:
    """Return the state after one update with white rows (b, k), or one with each of them, at the automatic rate."""
    if by_row:
        weights, past = np.array(state.weights, order="C"), np.vstack([state.kurtosis, state.curvature])
        code = -1 if nonlinearity == "auto" else NONLINEARITIES[nonlinearity]
        turn_rows(np.ascontiguousarray(rows), row_weights, weights, past, state.weight, code, WIDEST / 8, AMNESIA)
        return Separation(
            orthogonal(weights), past[0], past[1], state.weight + float(row_weights.sum()), state.updates + len(rows)
        )
    weight = float(row_weights.sum())
    if not weight > 0:
        return state
    share = share_of(weight, state.weight, None)
    y = rows @ state.weights.T
    kurtosis = (1 - share) * state.kurtosis + share * (row_weights @ y**4 / weight - 3.0)
    g, slope = nonlinear(y, kinds_of(nonlinearity, kurtosis))
    products = (row_weights[:, None] * g).T @ y / weight
    curvature = (1 - share) * state.curvature + share * (np.diagonal(products) - row_weights @ slope / weight)
    step = (products - products.T) / np.maximum(np.abs(curvature[:, None] + curvature), SMALLEST_CURVATURE)
    step = np.clip(step, -WIDEST, WIDEST)
    weights = orthogonal(state.weights + share * step @ state.weights)
    return Separation(weights, kurtosis, curvature, state.weight + weight, state.updates + 1)


def learn(
    state: Separation, rows: Array, row_weights: Array, *, nonlinearity: str, schedule: Schedule, by_row: bool
) -> Separation:
    """Return the state after the rule as it is written, at a given rate: summed over the rows, or for each of them in turn.

    Raises
    ------
    DataError
        Where the weights diverge: with the update, and a rate at which they do not.
    """
    weight = float(row_weights.sum())
    if not weight > 0:
        return state
    y = rows @ state.weights.T
    share = share_of(weight, state.weight, None)
    scale = np.maximum(row_weights @ y**2 / weight, np.finfo(float).tiny)
    kurtosis = (1 - share) * state.kurtosis + share * (row_weights @ y**4 / weight / scale**2 - 3.0)
    kinds = kinds_of(nonlinearity, kurtosis)
    weights = np.array(state.weights, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        if by_row:
            rates = schedule.at(state.updates + np.arange(len(rows))) * row_weights
            failed = learn_nonlinear(np.ascontiguousarray(rows), rates, weights, kinds, DIVERGED)
            at = state.updates + failed
        else:
            g = nonlinear(y, kinds)[0]
            weighed = row_weights[:, None] * g
            weights += float(schedule.at(state.updates)) * (weighed.T @ rows - weighed.T @ g @ weights)
            failed = -1 if np.abs(weights).max() <= DIVERGED else 0
            at = state.updates
    if failed >= 0:
        # |g(y)|^2 of the longest row is what pulls the weights back; more than 1 of it, times the rate, overshoots.
        length = np.sqrt(np.square(rows).sum(axis=1))
        pulls = np.square(nonlinear(length[:, None], kinds)[0]).sum(axis=1) * row_weights
        safe = 0.5 / max(1.0, float(pulls.max() if by_row else pulls.sum()))
        raise DataError(
            Argument("learning_rate", schedule.rate),
            f" diverges: at update {at + 1:,} a weight passed {DIVERGED:.0e}; ",
            Argument("learning_rate", rounded_down(safe)),
            " or less does not, nor does 'auto'",
        )
    done = len(rows) if by_row else 1
    return Separation(weights, kurtosis, state.curvature, state.weight + weight, state.updates + done)


def amari_index(product: Array) -> float:
    """Return how far a matrix, unmixing times mixing, is from a permutation with signs and scales: 0 to 1.

    The mean over rows and columns of (sum |entries| / largest - 1) / (k - 1), after Amari, Cichocki and Yang (1996).

    Examples
    --------
    >>> amari_index(np.array([[0.0, -2.0], [3.0, 0.0]])), amari_index(np.ones((2, 2)))
    (0.0, 1.0)
    """
    size = np.abs(product)
    k = len(size)
    if k < 2:
        return 0.0
    over_rows = (size.sum(axis=1) / size.max(axis=1) - 1).mean()
    over_columns = (size.sum(axis=0) / size.max(axis=0) - 1).mean()
    return float((over_rows + over_columns) / (2 * (k - 1)))
