"""How a result follows from a row, as plain data: what is read first, and the steps after it.

Every model that is linear in a row, and the score of odd rows, is a *formula*:

    a projection of the row, or a sum over its values and pairs of values -> step -> step -> result.

A fitted model states its formula for each of its methods (`gramian.estimators.spine.outputs`). Whoever writes the model in
another language reads the formula and nothing else of the model (`gramian.exports`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.maps.projection import Design, Projection
from gramian.maps.surprise.score import PairScore

Function = Literal["tanh", "sigmoid", "relu", "step", "cos", "exp", "share", "softmax", "proportion"]
"""What can be applied to each value: `share` cuts to between 0 and 1. Over the values of a row: `softmax`, and `proportion`,
each of their sum."""

EXP_END = 300.0
"""`exp` cuts its argument here, on both sides."""


@dataclass(frozen=True, eq=False)
class Apply:
    """Apply a function to each value."""

    function: Function


@dataclass(frozen=True, eq=False)
class Layer:
    """Multiply by a matrix, (k, m), and add a vector, (m,)."""

    weights: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class Scale:
    """Multiply every value by a number, and add another."""

    factor: float
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class Plus:
    """Add a projection of the row."""

    projection: Projection


@dataclass(frozen=True, eq=False)
class Choose:
    """Name one of some classes: that of the largest value, the first of equals.

    Of one value there are two classes: the second where it is above 0, or with `at_least` where it is 0 or more.
    """

    classes: npt.NDArray[Any]
    at_least: bool = False


Step = Apply | Layer | Scale | Plus | Choose


@dataclass(frozen=True, eq=False)
class Formula:
    """How a result follows from a row.

    Attributes
    ----------
    start : Projection or PairScore
    steps : tuple of steps
    logarithm : str or None
        A number of which the logarithm is read, a missing one as 1.
    """

    start: Projection | PairScore
    steps: tuple[Step, ...] = ()
    logarithm: str | None = None

    @property
    def design(self) -> Design:
        """What is read of a row."""
        return self.start.design

    def then(self, *steps: Step) -> Formula:
        """Return the formula with more steps."""
        return Formula(self.start, (*self.steps, *steps), self.logarithm)


BOTH = (Layer(np.array([[-1.0, 1.0]]), np.zeros(2)),)
"""Of one value x the two values -x and x: the small one of two probabilities keeps its digits."""


def classified(scores: Formula, classes: npt.NDArray[Any], method: str) -> Formula | None:
    """Return what a classifier by log-posteriors gives, one score standing for two classes; None for another method."""
    two = len(classes) == 2
    if method == "decision_function":
        return scores
    if method == "predict":
        return scores.then(Choose(classes))
    if method == "predict_proba":
        return scores.then(*BOTH, Apply("sigmoid")) if two else scores.then(Apply("softmax"))
    return None
