"""Estimates of class probabilities by least squares, moved to the nearest probabilities.

The regression of class indicators on features estimates P(class | x). Its outputs sum to one and may lie below 0 or above 1.
The nearest point (in squares) of the probability simplex is max(v - t, 0), with t such that it sums to one (Held, Wolfe and
Crowder, 1974): the order of the classes stays, and the expected Brier score can only fall.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array


def nearest_probabilities(outputs: Array) -> Array:
    """Return the nearest probabilities of each row.

    Examples
    --------
    >>> nearest_probabilities(np.array([[0.2, 0.8], [1.2, -0.2], [0.5, 0.6]])).round(3)
    array([[0.2 , 0.8 ],
           [1.  , 0.  ],
           [0.45, 0.55]])
    """
    ordered = -np.sort(-outputs, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, outputs.shape[1] + 1)
    kept = np.count_nonzero(ordered > excess, axis=1)
    shift = excess[np.arange(len(outputs)), kept - 1]
    return np.maximum(outputs - shift[:, None], 0.0)
