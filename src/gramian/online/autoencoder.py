"""The linear autoencoder: a code y = W x of few numbers, and its reconstruction V^T y, learnt by gradient.

With W (k, p) the encoder and V (k, p) the decoder, the error of b centred rows X is E = 1/(2b) |X - Y V|^2 with Y = X W^T, and

    -dE/dV = (Y^T X - Y^T Y V) / b                 -dE/dW = ((X V^T)^T X - V V^T Y^T X) / b
    tied (V = W):   -dE/dW = (2 Y^T X - W W^T Y^T X - Y^T Y W) / b.

Neither the residual nor anything else of the size of X is formed, so that rows of categories stay codes. The minima of E are
all pairs with V^T W the projector onto the first k components (Baldi and Hornik 1989): the code spans what PCA spans.

*The automatic rate* is the gradient over its curvature. In V the error is quadratic with curvature Y^T Y / b, and the step
that ends at its minimum is V = (Y^T Y)^-1 Y^T X; for given V the best encoder is its pseudo-inverse. With running means over
all rows in place of sums over b, that is the running mean of `gramian.online.amnesic`, guard units included. W W^T - V V^T does
not change under gradient descent with small steps, so a pair that starts equal stays equal: tied and untied differ only in how
they follow a rate that is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.online.rows import Batch
from gramian.online.schedules import Schedule, rounded_down

DIVERGED = 1e6
"""Weights at which the gradient has diverged: they start below length one and settle there."""


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


def learn(state: Autoencoder, batches: Iterable[Batch], schedule: Schedule, *, tied: bool) -> Autoencoder:
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
