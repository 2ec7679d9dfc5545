"""One feature per source column and function of the target: block-diagonal weights that carry a regression.

With B (p, m) the coefficients of a regression on all columns and B_j the block of column j, the weights are W = diag(B_1, B_2,
...): the features of column j are X_j B_j. Their sum is X B, so their span holds it and their generalised Mahalanobis distance
is that of B. Each is a target encoding of its column, fitted jointly with the others.

*Whole columns.* The rows of a column differ in d directions: one for a number, one less than its levels for a category. The
distance depends on the span alone, and functions of rank r span all of X_j as soon as d <= r: always for a number, for a
category where it has no more levels than the target has classes (two levels, where the target is a number). Then nothing of
column j is left for a target to choose: X_j itself is the encoding, and B_j only turns it, a matrix no larger than the
functions. So cross-fitting takes X_j, which no target has touched, and the full fit's rotation B_j, the same for all rows, as
it does for canonical directions. With the B_j of each fold a number would be stretched differently in every fold, and one that
has little to say given the others even turned around: a tree that splits it would cut each fold elsewhere.

>>> from gramian.linear.layout import Layout
>>> layout = Layout(["city", "size"], [3, 1], ["category", "number"])
>>> by_column(layout, np.array([[1.0], [3.0], [-4.0], [0.5]]))
array([[ 1. ,  0. ],
       [ 3. ,  0. ],
       [-4. ,  0. ],
       [ 0. ,  0.5]])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.linear.layout import Layout
from gramian.linear.regression.targets import Aim


def whole_columns(layout: Layout, aim: Aim) -> npt.NDArray[np.bool_]:
    """Return which source columns have no more directions than the target has independent functions.

    Parameters
    ----------
    layout : Layout
        Of the features.
    aim : Aim
        With one function a class where there are more than two.
    """
    # The indicators of more than two classes sum to one, so one of them follows from the others.
    rank = aim.size - sum(len(labels) > 2 for labels in aim.classes)
    directions = np.asarray(layout.sizes) - np.asarray(layout.categorical, dtype=int)
    return np.asarray(directions <= rank)


def by_column(layout: Layout, coefficients: Array) -> Array:
    """Return block-diagonal weights, (p, columns * m), of (p, m) coefficients: a source column's functions side by side."""
    m = coefficients.shape[1]
    weights = np.zeros((len(coefficients), len(layout.sizes) * m))
    for k, span in enumerate(layout.spans()):
        weights[span, k * m : (k + 1) * m] = coefficients[span]
    return weights


def feature_names(layout: Layout, aim: Aim) -> list[str]:
    """Return the names of the features: source columns, with the function's where there are several."""
    suffixes = [""] if aim.size == 1 else [f"_{name}" for name in aim.names]
    return [f"{column}{suffix}" for column in layout.columns for suffix in suffixes]
