"""Target values as the columns they are collected under: one or several outputs, and functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.numbers import number_values, offset_for
from gramian.errors import Argument, DataError
from gramian.estimators.base.inputs import target_shape, target_values
from gramian.estimators.base.moments_estimator import TARGET
from gramian.linear.regression.targets import Influence, checked_functions, mid_ranks, slices_of


def target_outputs(y: Any) -> dict[str, pa.Array]:
    """Return target values by the name they are collected under: one output, or several."""
    shape = target_shape(y)
    if len(shape) < 2 or shape[1] == 1:
        return {TARGET: target_values(y)}
    columns = [y.iloc[:, k] for k in range(shape[1])] if hasattr(y, "iloc") else list(np.asarray(y).T)
    return {f"{TARGET}{k}": target_values(column) for k, column in enumerate(columns)}


def derived_targets(
    outputs: dict[str, pa.Array], influence: Influence, row_weights: Array | None = None
) -> dict[str, pa.Array]:
    """Return functions of target values as the columns to collect.

    Slices, ranks and callables are functions of single values, so rows allow them for any number of distinct ones.

    Parameters
    ----------
    outputs : dict
        Values of each output.
    influence : "slices", "ranks" or callable
    row_weights : (n,) array, optional
        A row of weight w ranks as w equal rows.
    """
    derived: dict[str, pa.Array] = {}
    for name, values in outputs.items():
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise DataError(Argument("influence", influence), f" is for a continuous target; y holds {values.type}")
        # Ranks and slices tell apart what float64 would round together.
        numbers = number_values(values, 0.0 if callable(influence) else offset_for([values]) or 0.0)
        if row_weights is not None and len(row_weights) != len(numbers):
            raise DataError(f"sample_weight has {len(row_weights)} values for {len(numbers)} rows")
        if callable(influence):
            functions = checked_functions(influence, numbers, name)
            many = functions.shape[1] > 1
            derived |= {f"{name}{k}" if many else name: pa.array(functions[:, k]) for k in range(functions.shape[1])}
        elif influence == "slices":
            derived[name] = pa.array(slices_of(mid_ranks(numbers, row_weights)))
        else:
            derived[name] = pa.array(mid_ranks(numbers, row_weights))
    return derived
