"""What happened while learning: weights, their lengths, and how far they are from the components of all rows.

A stream may have any number of calls. What is kept of them is bounded: past `MOST_NUMBERS` of weights every second entry is
left out, those before the last evenly spread over what came before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array
from gramian.online.growing import carried_over
from gramian.online.rows import Batch

MOST_NUMBERS = 2**22
MOST_ENTRIES = 2**10

History = dict[str, list[Any]]


def recorded(history: History, *, updates: int, weights: Array, **more: float) -> History:
    """Return a history with one more entry.

    Examples
    --------
    >>> past = recorded({}, updates=1, weights=np.array([[3.0, 4.0]]), angle=2.5)
    >>> past["norms"], past["angle"]
    ([array([5.])], [2.5])
    """
    entry = {"updates": updates, "weights": np.array(weights), "norms": np.linalg.norm(weights, axis=1), **more}
    out = {name: [*history.get(name, []), value] for name, value in entry.items()}
    crowded = len(out["updates"]) > MOST_ENTRIES or sum(part.size for part in out["weights"]) > MOST_NUMBERS
    if crowded and len(out["updates"]) > 2:
        # The last one stays.
        out = {name: past[::-1][::2][::-1] for name, past in out.items()}
    return out


def as_arrays(history: History) -> dict[str, Array]:
    """Return a history with an array for each list; weights over fewer columns (before a level was seen) end in 0."""
    out = {}
    for name, past in history.items():
        if name == "weights":
            width = max((part.shape[1] for part in past), default=0)
            out[name] = np.array([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in past])
        else:
            out[name] = np.array(past)
    return out


def over_design(history: History, old: Any, new: Any) -> History:
    """Return a history over the design columns that there are now."""
    if len(old.mean) == len(new.mean) or "weights" not in history:
        return history
    return {**history, "weights": [carried_over(old, new, part) for part in history["weights"]]}


def batch_components(batches: Iterable[Batch], k: int) -> Array:
    """Return the first k principal components of all rows as orthonormal rows, from their p x p scatter."""
    scatter: Array | None = None
    for batch in batches:
        rows = batch.expanded() * np.sqrt(batch.weights)[:, None]
        scatter = rows.T @ rows if scatter is None else scatter + rows.T @ rows
    if scatter is None:
        raise ValueError("no rows")
    return np.asarray(eigh_descending(scatter, k)[1].T)


def angle_between(weights: Array, reference: Array) -> float:
    """Return the largest principal angle, in degrees, between the rows of two matrices.

    From the sine, which keeps its digits for small angles; 90 where the weights do not span as many dimensions as they are.

    Examples
    --------
    >>> round(angle_between(np.array([[2.0, 2.0]]), np.array([[1.0, 0.0]])), 6)
    45.0
    """
    basis, triangle = np.linalg.qr(weights.T)
    size = np.abs(np.diagonal(triangle))
    if not np.isfinite(size).all() or not size.all() or size.min() < 1e-12 * size.max():
        return 90.0
    target = np.linalg.qr(reference.T)[0]
    apart = basis - target @ (target.T @ basis)
    return float(np.degrees(np.arcsin(min(1.0, float(np.linalg.norm(apart, 2))))))
