"""How fast to learn, when to stop, and the history of what was learned: shared by the loops of this folder.

A rate per update t = 0, 1, 2, ... is one of

    constant         eta
    1/t              eta / (t + 1)
    robbins-monro    eta (1 + t / 20)^-0.6

The last two satisfy the conditions of Robbins and Monro (1951), sum eta_t = inf and sum eta_t^2 < inf; the exponent 0.6 lies
between 1/2, below which noise stays, and 1, at which the start is forgotten slowly. The first twenty updates keep most of
the rate.

The *history* holds weights, their lengths, and how far they are from the components of all rows. A stream may have any number
of calls, so the history is bounded: past `MOST_NUMBERS` of weights every second entry is
left out, those before the last evenly spread over what came before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array
from gramian.online.rows import Batch, carried_over

SCHEDULES = ("constant", "1/t", "robbins-monro")


@dataclass(frozen=True)
class Schedule:
    """A learning rate per update.

    Attributes
    ----------
    rate : float
        Of the first update.
    name : {"constant", "1/t", "robbins-monro"}

    Examples
    --------
    >>> Schedule(0.5, "1/t").at(np.arange(4))
    array([0.5       , 0.25      , 0.16666667, 0.125     ])
    """

    rate: float
    name: str = "constant"

    def at(self, step: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the rate of each of some updates, counted from 0."""
        t = np.asarray(step, dtype=np.float64)
        if self.name == "constant":
            return np.full(t.shape, float(self.rate))
        return np.asarray(self.rate / (t + 1) if self.name == "1/t" else self.rate * (1 + t / 20) ** -0.6)


@dataclass(frozen=True)
class Patience:
    """Epochs without progress, and whether there have been enough of them to stop.

    Attributes
    ----------
    tol : float
        Rise of what is followed that counts as progress.
    epochs : int
        Without progress after which there is nothing to wait for.
    best : float
        The largest value so far.
    waited : int
        Epochs since it rose.

    Examples
    --------
    >>> wait = Patience(0.1, 2)
    >>> for value in (1.0, 2.0, 2.05, 1.5):
    ...     wait = wait.after(value)
    >>> wait.over
    True
    """

    tol: float
    epochs: int
    best: float = -np.inf
    waited: int = 0

    def after(self, value: float) -> Patience:
        """Return what is known after one more epoch."""
        if value > self.best + self.tol:
            return replace(self, best=value, waited=0)
        # It may fall for good: then too there is nothing to wait for.
        return replace(self, waited=self.waited + 1)

    @property
    def over(self) -> bool:
        """Whether to stop."""
        return self.waited >= self.epochs


def rounded_down(value: float) -> float:
    """Return a value with two digits, not above it.

    Examples
    --------
    >>> rounded_down(0.012987)
    0.012
    """
    if not 0 < value < np.inf:
        return value
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.floor(value / unit) * unit:.2g}")


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
    """Return a history with an array for each list; what was smaller once (before a level was seen) ends in 0."""
    return {name: _stacked([np.asarray(each) for each in past]) for name, past in history.items()}


def _stacked(past: list[Array]) -> Array:
    largest = [max(sizes) for sizes in zip(*(each.shape for each in past), strict=True)]
    out = np.zeros((len(past), *largest), dtype=np.result_type(*past) if past else float)
    for k, each in enumerate(past):
        at: tuple[Any, ...] = (k, *map(slice, each.shape))
        out[at] = each
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
