"""Distances that saturate: near objects keep their distance, all far ones come to lie equally far.

    d'^2 = 1 - exp(-rate d^2 / typical)

with `typical` the median squared distance between training objects. By Schoenberg's theorem d' is Euclidean wherever d is,
and its Gram matrix is, up to centring, half a Gaussian kernel of d: linear coordinates in d' are what a kernel machine with
that kernel draws its borders in. It helps where large distances mean only "different", as with edits and warped series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

RATES = (None, 0.3, 1.0, 3.0)
"""What cross-validation chooses from: none, and rates half a decade apart about 1."""

SAMPLED_ROWS = 500


def typical_square(D: npt.NDArray[Any]) -> float:
    """Return the median of the positive squared distances, from at most `SAMPLED_ROWS` rows spread evenly."""
    rows = np.asarray(D[:: -(-len(D) // SAMPLED_ROWS)], dtype=np.float64)
    return float(np.median(rows[rows > 0])) ** 2


def saturated(D: npt.NDArray[Any], rate: float, typical: float) -> npt.NDArray[Any]:
    """Return saturated distances, of the type of D.

    Examples
    --------
    >>> saturated(np.array([0.0, 1.0, 100.0]), 1.0, 1.0).round(3)
    array([0.   , 0.795, 1.   ])
    """
    out = np.square(D)
    out *= -rate / typical
    np.expm1(out, out=out)
    np.negative(out, out=out)
    return np.sqrt(out, out=out)
