"""The one name for arrays of any type, and labels as an array that holds them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""A numpy array of any shape and type; what a function asks of it stands in its docstring."""


def exact_array(labels: Sequence[Any]) -> Array:
    """Return labels as an array that holds them exactly; numbers beside a text, which `(rare)` is, are texts too.

    Examples
    --------
    >>> exact_array([1, 2**63]), exact_array(["a", "b"])
    (array([                  1, 9223372036854775808], dtype=uint64), array(['a', 'b'], dtype='<U1'))
    """
    array = np.asarray(labels)
    if array.dtype.kind == "f" and all(isinstance(label, int) for label in labels):
        # numpy makes floats of integers on both sides of 2^63.
        return np.array(labels, dtype=np.uint64 if min(labels) >= 0 else object)
    return array
