"""The scatter of each design column by itself, from the margins of the moments: no pair of columns is looked at."""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import Layout
from gramian.moments.covariance import level_scatter, level_values
from gramian.moments.value import Moments


def scatter_diagonal(moments: Moments, layout: Layout) -> Array:
    """Return the diagonal of the scatter, (p,): n (1 - n / W) of a level of weight n, the sum of squares of a number.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red", "red"], "size": [1.5, 2.5, 3.5, None]}))
    >>> scatter_diagonal(m, layout_of(m, None))
    array([0.75, 0.75, 2.  ])
    """
    weight = float(moments.total_weight)
    squares = moments.numbers.central(weight).sums[0]
    # Thousands of numbers are not looked at one by one.
    if layout.plain and list(moments.numbers.names) == layout.columns:
        return squares
    out = np.empty(layout.width)
    numbers = dict(zip(moments.numbers.names, squares.tolist(), strict=True))
    for name, form, span in zip(layout.columns, layout.forms, layout.spans(), strict=True):
        if form == "number":
            out[span] = numbers[name]
            continue
        k = moments.coded_at[name]
        n = moments.pairs.level_weights[k]
        out[span] = level_scatter(n, weight) if form == "category" else n @ np.square(level_values(moments, k)[1])
    return out
