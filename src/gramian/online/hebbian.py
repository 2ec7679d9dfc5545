"""Principal components by learning with a rate: Hebbian rules as textbooks state them, and the linear autoencoder.

**Hebbian rules.** A linear unit answers y = w^T x. Hebb's rule strengthens what fires together, dw = eta y x: on average w
grows by the factor 1 + eta l along a component of variance l, without bound. Oja (1982) subtracts what the unit already
explains,

    dw = eta y (x - y w),

whose only stable fixed points are +- the first component at unit length. For k units, Sanger (1989) lets each see what the
units before it leave, and Oja (1989) what all of them leave:

    sanger      dw_i = eta y_i (x - sum_{j <= i} y_j w_j)      the components in order
    subspace    dw_i = eta y_i (x - sum_j y_j w_j)             an orthonormal basis of their span

*Online*, each row makes an update. In *batch* mode the updates of all rows at the same weights are summed and made once an
epoch, and a minibatch does so for its own rows: with H = Y^T X and S = Y^T Y,

    W <- W + eta (H - T(S) W),     T(S) = 0 (hebb), S (oja, subspace), its lower triangle (sanger).

Rates are per row in every mode. A row of weight w counts as w rows at the same weights.

*When it diverges.* With L the largest eigenvalue of X^T X of an update and |w| <= R, R >= 1, the step is
(1 - eta w^T X^T X w) w + eta X^T X w: while eta L R^2 <= 1/2 the first factor stays in [1/2, 1] and the length is pulled
towards 1 from either side. The trace of X^T X, the sum of squared lengths of its rows, is at least L, so that
eta = 1 / (2 R^2 sum |x|^2) is a rate that is safe.

**The linear autoencoder** has a code y = W x of few numbers, and its reconstruction V^T y, learnt by gradient. With W (k, p)
the encoder and V (k, p) the decoder, the error of b centred rows X is E = 1/(2b) |X - Y V|^2 with Y = X W^T, and

    -dE/dV = (Y^T X - Y^T Y V) / b                 -dE/dW = ((X V^T)^T X - V V^T Y^T X) / b
    tied (V = W):   -dE/dW = (2 Y^T X - W W^T Y^T X - Y^T Y W) / b.

Neither the residual nor anything else of the size of X is formed, so that rows of categories stay codes. The minima of E are
all pairs with V^T W the projector onto the first k components (Baldi and Hornik 1989): the code spans what PCA spans.

*The automatic rate* is the gradient over its curvature. In V the error is quadratic with curvature Y^T Y / b, and the step
that ends at its minimum is V = (Y^T Y)^-1 Y^T X; for given V the best encoder is its pseudo-inverse. With running means over
all rows in place of sums over b, that is the running mean of `gramian.online.amnesic`, guard units included. W W^T - V V^T
does not change under gradient descent with small steps, so a pair that starts equal stays equal: tied and untied differ only
in how they follow a rate that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.online.row_loops import HEBB, OJA, SANGER, SUBSPACE, learn_dense, learn_sparse
from gramian.online.rows import Batch
from gramian.online.schedules import Schedule, rounded_down

RULES = {"hebb": HEBB, "oja": OJA, "sanger": SANGER, "subspace": SUBSPACE}
MODES = ("minibatch", "online", "batch")

LARGEST = 1e100
"""Weights at which Hebb's rule is stopped: far beyond use, and far from overflow."""

DIVERGED = 1e6
"""Weights, relative to the first ones, at which the other rules have diverged: they settle at length one."""


@dataclass(frozen=True, eq=False)
class Hebbian:
    """Where the learning stands.

    Attributes
    ----------
    weights : (k, p) array
    updates : int
        Made so far, which is where a schedule goes on.
    stopped : bool
        Whether Hebb's rule has reached `LARGEST`.
    first : float
        Largest squared length of the first weights; by default that of these.
    """

    weights: Array
    updates: int = 0
    stopped: bool = False
    first: float | None = None

    def __post_init__(self) -> None:
        if self.first is None:
            object.__setattr__(self, "first", float(np.square(self.weights).sum(axis=1).max(initial=0.0)))


def first_weights(k: int, p: int, rng: np.random.Generator) -> Array:
    """Return k random orthonormal rows."""
    return np.ascontiguousarray(np.linalg.qr(rng.standard_normal((p, k)))[0].T)


def updated(weights: Array, outward: Array, outputs: Array, rate: float, rule: str) -> Array:
    """Return W + rate (H - T(S) W), the sum of the updates of rows at the same weights.

    Parameters
    ----------
    weights : (k, p) array
    outward : (k, p) array
        H = Y^T X.
    outputs : (k, k) array
        S = Y^T Y.
    rate : float
    rule : {"hebb", "oja", "sanger", "subspace"}

    Examples
    --------
    >>> X = np.array([[-5.0, -4], [-2, 0], [0, -1], [0, 1], [3, 2], [4, 2]])
    >>> w = np.array([[-1.0, 0.0]])
    >>> for _ in range(2):
    ...     Y = X @ w.T
    ...     w = updated(w, Y.T @ X, Y.T @ Y, 0.01, "oja")
    >>> w.round(6)
    array([[-0.854344, -0.495973]])
    """
    if rule == "hebb":
        return weights + rate * outward
    return weights + rate * (outward - (np.tril(outputs) if rule == "sanger" else outputs) @ weights)


def learn(state: Hebbian, batches: Iterable[Batch], *, rule: str, mode: str, schedule: Schedule) -> Hebbian:
    """Return the state after an epoch over some rows.

    Parameters
    ----------
    state : Hebbian
    batches : iterable of Batch
        In the order in which they are learnt. For "batch" all of them make one update.
    rule : {"hebb", "oja", "sanger", "subspace"}
    mode : {"minibatch", "online", "batch"}
    schedule : Schedule

    Raises
    ------
    DataError
        Where the weights diverge: with the update, and a rate at which they do not.
    """
    square = max(1.0, float(state.first or 0.0))
    limit = LARGEST if rule == "hebb" else DIVERGED * float(np.sqrt(square))
    source, longest = iter(batches), 0.0
    for group in _updates(source, mode):
        if state.stopped:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            fresh, failed = _one(state, group, rule, mode, schedule, limit)
        if failed is None:
            longest = max(longest, _longest(group, mode)) if rule != "hebb" else 0.0
            state = fresh
        elif rule == "hebb":
            kept = fresh.weights if np.isfinite(fresh.weights).all() else state.weights
            state = replace(state, weights=kept, updates=failed + 1, stopped=True)
        else:
            for other in (group, *_updates(source, mode)):
                longest = max(longest, _longest(other, mode))
            safe = 0.5 / (longest * square)
            raise DataError(
                Argument("learning_rate", schedule.rate),
                f" diverges: at update {failed + 1:,} a weight passed {limit:.0e}, and rule {rule!r} settles at "
                "length 1; ",
                Argument("learning_rate", rounded_down(safe)),
                " or less does not, nor does 'auto'",
            )
    return state


def _updates(batches: Iterator[Batch], mode: str) -> Iterator[list[Batch]]:
    """Yield the batches of each call: all of them at once, or one by one."""
    if mode == "batch":
        yield list(batches)
        return
    for batch in batches:
        yield [batch]


def _one(
    state: Hebbian, group: list[Batch], rule: str, mode: str, schedule: Schedule, limit: float
) -> tuple[Hebbian, int | None]:
    """Return the state after some rows, and the update at which a weight passed the limit."""
    if mode == "online":
        return _each_row(state, group[0], rule, schedule, limit)
    k = len(state.weights)
    outward, outputs = np.zeros_like(state.weights), np.zeros((k, k))
    for batch in group:
        y = batch.outputs(state.weights)
        weighed = batch.weights[:, None] * y
        outward += batch.back(weighed)
        outputs += y.T @ weighed
    weights = updated(state.weights, outward, outputs, float(schedule.at(state.updates)), rule)
    fresh = replace(state, weights=weights, updates=state.updates + 1)
    return fresh, None if np.abs(weights).max(initial=0.0) <= limit else state.updates


def _each_row(state: Hebbian, batch: Batch, rule: str, schedule: Schedule, limit: float) -> tuple[Hebbian, int | None]:
    rates = schedule.at(state.updates + np.arange(len(batch))) * batch.weights
    if batch.dense:
        weights = np.array(state.weights, order="C")
        failed = learn_dense(batch.expanded(), weights, rates, RULES[rule], limit)
    else:
        columns = np.array(state.weights.T, order="C")
        failed = learn_sparse(*batch.entries(), batch.mean, columns, rates, RULES[rule], limit)
        weights = np.ascontiguousarray(columns.T)
    done = len(batch) if failed < 0 else failed + 1
    fresh = replace(state, weights=weights, updates=state.updates + done)
    return fresh, None if failed < 0 else state.updates + failed


def _longest(group: list[Batch], mode: str) -> float:
    """Return the largest sum of squared lengths of the rows of one update."""
    squares = [batch.weights * batch.squares() for batch in group]
    if mode == "online":
        return max((float(part.max(initial=0.0)) for part in squares), default=0.0)
    return float(sum(part.sum() for part in squares))


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """Encoder, decoder, and the updates made so far.

    Attributes
    ----------
    encoder, decoder : (k, p) arrays
        The same where they are tied.
    updates : int
    """

    encoder: Array
    decoder: Array
    updates: int = 0


def descent(encoder: Array, decoder: Array, batch: Batch, *, tied: bool) -> tuple[Array, Array]:
    """Return -dE/dW and -dE/dV for a batch, both of the shared weights where they are tied.

    Examples
    --------
    >>> from gramian.online.rows import DesignRows
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> rows = DesignRows(X, np.empty((4, 0), np.int32), np.arange(2), np.ones(4)).batch(slice(None), np.zeros(2))
    >>> best = np.array([[1.0, 0.0]])
    >>> descent(best, best, rows, tied=True)[0]
    array([[0., 0.]])
    """
    weight = float(batch.weights.sum())
    y = batch.outputs(encoder)
    weighed = batch.weights[:, None] * y
    outward, square = batch.back(weighed) / weight, y.T @ weighed / weight
    to_decoder = outward - square @ decoder
    if tied:
        both = to_decoder + outward - encoder @ encoder.T @ outward
        return both, both
    back = batch.back(batch.weights[:, None] * batch.outputs(decoder)) / weight
    return back - decoder @ decoder.T @ outward, to_decoder


def learn_autoencoder(state: Autoencoder, batches: Iterable[Batch], schedule: Schedule, *, tied: bool) -> Autoencoder:
    """Return the state after one update with each batch.

    Raises
    ------
    DataError
        Where the weights diverge: with the update, and a rate at which they do not.
    """
    limit, longest = DIVERGED, 0.0
    for batch in batches:
        weight = float(batch.weights.sum())
        if not weight > 0:
            continue
        longest = max(longest, float(batch.weights @ batch.squares()) / weight)
        with np.errstate(over="ignore", invalid="ignore"):
            to_encoder, to_decoder = descent(state.encoder, state.decoder, batch, tied=tied)
            rate = float(schedule.at(state.updates))
            decoder = state.decoder + rate * to_decoder
            encoder = decoder if tied else state.encoder + rate * to_encoder
        largest = max(np.abs(decoder).max(initial=0.0), np.abs(encoder).max(initial=0.0))
        if not largest <= limit:
            # Curvature is at most 4 times the largest variance for weights up to length 1.
            safe = 0.25 / longest
            raise DataError(
                Argument("learning_rate", schedule.rate),
                f" diverges: at update {state.updates + 1:,} a weight passed {limit:.0e}; ",
                Argument("learning_rate", rounded_down(safe)),
                " or less does not, nor does 'auto'",
            )
        state = Autoencoder(encoder, decoder, state.updates + 1)
    return state


def reconstruction_error(encoder: Array, decoder: Array, batches: Iterable[Batch]) -> float:
    """Return the mean squared distance of rows and their reconstructions, summed over the columns."""
    error = weight = 0.0
    for batch in batches:
        y, back = batch.outputs(encoder), batch.outputs(decoder)
        apart = batch.squares() - 2.0 * (y * back).sum(axis=1) + ((y @ (decoder @ decoder.T)) * y).sum(axis=1)
        error += float(batch.weights @ apart)
        weight += float(batch.weights.sum())
    return max(error, 0.0) / weight if weight > 0 else float("nan")
