"""Outputs of classes from a readout of their indicators: log posteriors, and classes that have no rows yet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.random.readout import Readout


def log_posteriors(outputs: Readout) -> tuple[Array, Array]:
    """Return coefficients and intercepts of the log posteriors of classes, of indicators where there are none.

    Parameters
    ----------
    outputs : Readout
        Regressions of indicators, one column for two classes, and the discriminant of each target that has one.
    """
    widths = [1 if len(labels) < 3 else len(labels) for labels in outputs.classes]
    ends = np.cumsum(widths)[:-1]
    sides = zip(
        outputs.discriminants,
        np.split(outputs.coefficients, ends, axis=1),
        np.split(outputs.intercept, ends),
        strict=True,
    )
    parts = [
        (weights, level) if each is None else (weights @ each[0], level @ each[0] + each[1])
        for each, weights, level in sides
    ]
    return np.hstack([weights for weights, _ in parts]), np.concatenate([level for _, level in parts])


def among_declared(
    present: Array, declared: npt.NDArray, coefficients: Array, intercept: Array, absent: float
) -> tuple[Array, Array]:
    """Return the outputs of all declared classes, given those of the classes that have rows; the others have `absent`."""
    if len(present) == 2:
        coefficients = np.column_stack([-coefficients[:, 0], coefficients[:, 0]])
        intercept = np.array([1 - intercept[0], intercept[0]])
    place = np.searchsorted(declared, present)
    wide, levels = np.zeros((len(coefficients), len(declared))), np.full(len(declared), absent)
    wide[:, place], levels[place] = coefficients, intercept
    return (wide[:, 1:], levels[1:]) if len(declared) == 2 else (wide, levels)
