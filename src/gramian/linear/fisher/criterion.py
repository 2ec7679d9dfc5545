"""Fisher's criterion of a given direction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.linear.fisher.class_moments import class_moments
from gramian.moments.value import Moments


def fisher_criterion(X: npt.ArrayLike | Moments, y: npt.ArrayLike | str, w: npt.ArrayLike) -> float:
    """Return how well a direction separates classes: squared gap of the class means over the squares within.

    For two classes with projected means m_1, m_2 and sums of squares about them s_1^2, s_2^2 it is

        J(w) = (m_1 - m_2)^2 / (s_1^2 + s_2^2).

    For more classes the numerator is the mean of (m_a - m_b)^2 over all pairs of rows from different classes, which for two
    classes is the same number; then J is proportional to Fisher's ratio, and the axes of `FisherDiscriminant` maximise it.
    The length of `w` does not matter.

    Parameters
    ----------
    X : (n, p) array, or Moments
    y : (n,) array of labels, or for Moments the name of the target column
    w : (p,) array
        A weight for each column of `X`; for Moments, for each design column of the features.

    Returns
    -------
    float
        Infinity where the classes differ and nothing varies within them.

    Examples
    --------
    >>> X = [[1, 2], [2, 1], [3, 3], [6, 5], [7, 8]]
    >>> y = [1, 1, 1, 2, 2]
    >>> round(fisher_criterion(X, y, [-1, 5]), 6), round(fisher_criterion(X, y, [2, -3]), 6)
    (2.314286, 0.525974)
    """
    direction = np.asarray(w, dtype=np.float64).ravel()
    if isinstance(X, Moments):
        if not isinstance(y, str):
            raise DataError("with Moments, y is the name of the target column")
        problem = class_moments(X, None, y)
        if len(direction) != problem.layout.width:
            raise DataError(f"w has {len(direction)} entries; the features have {problem.layout.width} design columns")
        sums = problem.sums_along(direction[:, None])
        between, within = float(sums[0][0]), float(sums[1][0])
        # What is left of the difference is rounding where nothing varies within the classes.
        within = within if within > 1e-14 * between else 0.0
        per_pair = problem.per_pair
    else:
        data, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if data.ndim != 2 or data.shape[1] != len(direction) or labels.shape != (len(data),):
            raise DataError(
                f"X must be (n, p), y (n,) and w (p,); got shapes {data.shape}, {labels.shape} and {direction.shape}"
            )
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError("Fisher's criterion compares classes; y has one only")
        z = data @ direction
        counts = np.bincount(codes)
        means = np.bincount(codes, z) / counts
        within = float(np.square(z - means[codes]).sum())
        between = float(counts @ np.square(means - z.mean()))
        n = len(z)
        per_pair = n / ((n**2 - np.square(counts).sum()) / 2)
    if within > 0:
        return float(per_pair * between / within)
    return float("inf") if between > 0 else float("nan")
