"""Competition among activities: who stays active when neurons inhibit each other, as plain functions of rows.

Winner-take-all is the limit of strong inhibition, k-winners its soft bound, the softmax a competition in shares that its
inverse temperature turns from a draw (0) into winner-take-all (infinity).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, shown


def winner_take_all(activities: Any, *, absolute: bool = False) -> Array:
    """Return activities with all but the largest of each row set to zero.

    Parameters
    ----------
    activities : (n, k) or (k,) array-like
    absolute : bool
        Whether sizes compete, whatever their sign.

    Notes
    -----
    Of equal activities the first wins.

    Examples
    --------
    >>> winner_take_all([0.2, 0.9, 0.5])
    array([0. , 0.9, 0. ])
    """
    return k_winners(activities, 1, absolute=absolute)


def k_winners(activities: Any, k: int, *, absolute: bool = False) -> Array:
    """Return activities with all but the `k` largest of each row set to zero.

    Parameters
    ----------
    activities : (n, m) or (m,) array-like
    k : int
        How many stay, from 1 to m.
    absolute : bool
        Whether sizes compete, whatever their sign.

    Notes
    -----
    Of equal activities the first win. O(m log m) a row.

    Examples
    --------
    >>> k_winners([[0.2, -0.9, 0.5, 0.5]], 2)
    array([[0. , 0. , 0.5, 0.5]])
    >>> k_winners([0.2, -0.9, 0.5, 0.5], 2, absolute=True)
    array([ 0. , -0.9,  0.5,  0. ])
    """
    values = _rows(activities)
    width = values.shape[-1]
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= width:
        raise DataError(f"k is a whole number from 1 to the {width} activities; got {shown(k)}")
    sizes = np.abs(values) if absolute else values
    # A stable sort of negatives: the first of equals comes first.
    winners = np.argsort(-sizes, axis=-1, kind="stable")[..., :k]
    out = np.zeros_like(values)
    np.put_along_axis(out, winners, np.take_along_axis(values, winners, axis=-1), axis=-1)
    return out


def softmax(activities: Any, *, sharpness: float = 1.0) -> Array:
    """Return each row's activities as shares of one: ``exp(sharpness a_j) / sum_i exp(sharpness a_i)``.

    Parameters
    ----------
    activities : (n, k) or (k,) array-like
    sharpness : float
        The inverse temperature, from 0.

    Notes
    -----
    The largest activity is taken off each row first, which changes no share and keeps the exponentials finite.

    Examples
    --------
    >>> softmax([1000.0, 1000.0])
    array([0.5, 0.5])
    """
    values = _rows(activities)
    if not isinstance(sharpness, int | float | np.number) or not np.isfinite(sharpness) or sharpness < 0:
        raise DataError(f"sharpness is a number from 0; got {shown(sharpness)}")
    weights = np.exp(float(sharpness) * (values - values.max(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _rows(activities: Any) -> Array:
    values = np.asarray(activities)
    if values.dtype.kind not in "fiub":
        raise DataError("activities are numbers; got values of another kind")
    values = values if values.dtype == np.float32 else values.astype(np.float64)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        raise DataError(f"activities have shape {values.shape}; give one row, or rows, of at least one activity")
    if not np.isfinite(values).all():
        raise DataError("activities hold NaN or infinity; a competition needs numbers")
    return values
