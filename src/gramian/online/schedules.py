"""How fast to learn, and when to stop: what the loops of this folder share.

A rate per update t = 0, 1, 2, ... is one of

    constant         eta
    1/t              eta / (t + 1)
    robbins-monro    eta (1 + t / 20)^-0.6

The last two satisfy the conditions of Robbins and Monro (1951), sum eta_t = inf and sum eta_t^2 < inf; the exponent 0.6 lies
between 1/2, below which noise stays, and 1, at which the start is forgotten slowly. The first twenty updates keep most of
the rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, shown

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

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            raise DataError(f"schedule is one of {', '.join(map(repr, SCHEDULES))}; got {shown(self.name)}")
        number = isinstance(self.rate, int | float | np.number) and not isinstance(self.rate, bool)
        if not number or not 0 < self.rate < np.inf:
            raise DataError(f"learning_rate is 'auto' or a number above 0; got {shown(self.rate)}")

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
