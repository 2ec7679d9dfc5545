"""How much a column varies by itself.

A number by its population variance over observed values, as scikit-learn's VarianceThreshold has it (divided by n, where
PCA divides by n - 1). A category by the Gini-Simpson index 1 - sum_l f_l^2: the chance that two rows differ, which is the
sum of the variances f_l (1 - f_l) of its levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.moments.covariance import level_values
from gramian.moments.value import Moments


def variances(moments: Moments, columns: Sequence[str]) -> Array:
    """Return the variance of each collected column.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["r", "r", "b", "g"], "size": [1.0, 2.0, None, 3.0], "one": [7, 7, 7, 7]}))
    >>> variances(m, ["color", "size", "one"]).round(6)
    array([0.625   , 0.666667, 0.      ])
    """
    weight = float(moments.total_weight)
    place = {name: j for j, name in enumerate(moments.numbers.names)}
    if place:
        central = moments.numbers.central(weight)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_numbers = np.where(central.weight > 0, central.sums[0] / central.weight, 0.0)
    out = np.zeros(len(columns))
    for k, name in enumerate(columns):
        form = moments.schema[name].form
        if form == "number":
            out[k] = of_numbers[place[name]]
            continue
        at = moments.coded_at[name]
        counts = np.asarray(moments.pairs.level_weights[at], dtype=np.float64)
        if form == "category":
            # As a sum of f (1 - f): 1 - sum f^2 leaves rounding where there is one level.
            share = counts / counts.sum()
            out[k] = float(share @ (1 - share))
        else:
            values = level_values(moments, at)[1]
            observed = counts[[label is not None for label in moments.labels[at].to_list()]].sum()
            out[k] = float(counts @ np.square(values)) / observed if observed > 0 else 0.0
    return out
