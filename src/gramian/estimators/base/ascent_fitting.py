"""The mini-batch ascent over the rows of an estimator: what it reads, where it starts, and the weights it ends with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.encoder import missing_among
from gramian.engines.base import weight_values
from gramian.errors import Argument, DataError
from gramian.estimators.base.inputs import single_weight
from gramian.linear.regression.targets import TargetFunctions
from gramian.maps.fitted_design import Design, Rows
from gramian.online.ascent import (
    AscentOptions,
    AscentState,
    ascend,
    design_rows,
    influence_rows,
    initial_state,
    one_epoch,
    state_over,
    target_columns,
)
from gramian.random.features import count_rows
from gramian.tables import open_table

Before = tuple[Design, AscentState]
"""What an earlier call left: the design its weights are over, and the state."""


def ascent_scale(design: Design, variance: Array) -> Array:
    """Return the unit of each design column in the ascent: 1 for a level, the standard deviation of a number that varies."""
    numbers = np.isin(np.arange(len(variance)), design.number_places)
    return np.where(numbers & (variance > 0), np.sqrt(variance), 1.0)


def climb(
    design: Design,
    rows: Iterable[Rows],
    aim: TargetFunctions,
    targets: list[pa.Array],
    row_weights: Array | None,
    scale: Array,
    options: AscentOptions,
    *,
    n_components: int,
    before: Before | None,
    whole: bool,
) -> tuple[Array, AscentState]:
    """Return weights per unit of each design column, and the state after climbing over some rows.

    Parameters
    ----------
    design : Design
        Over the levels there are now.
    rows : iterable of Rows
        Encoded against it.
    aim : TargetFunctions
    targets : list of arrays
        Values of each target.
    row_weights : (n,) array, optional
    scale : (p,) array
        See `ascent_scale`.
    options : AscentOptions
    n_components : int
        Directions, where the ascent starts anew.
    before : pair of Design and AscentState, optional
        To go on from.
    whole : bool
        Climb until it ends by itself; otherwise one epoch.
    """
    features, functions = design_rows(design, rows, scale), influence_rows(aim, targets)
    missing = [each for each in (missing_among([values]) for values in targets) if each is not None]
    if missing:
        # As in the moments: rows without a target are left out.
        kept = np.flatnonzero(~np.logical_or.reduce(missing))
        features, functions = features[kept], functions[kept]
        row_weights = None if row_weights is None else row_weights[kept]
    start = initial_state(len(scale), n_components, options) if before is None else state_over(*before, design, scale)
    step = ascend if whole else one_epoch
    state = step(start, features, functions, options, row_weights)
    return state.weights / scale[:, None], state


def row_weights_of(X: Any, sample_weight: Any) -> Array | None:
    """Return the weight of each row, given as values or as the name of a column of X; None where every row counts once."""
    if sample_weight is None:
        return None
    every = single_weight(sample_weight)
    if every is not None:
        return np.full(count_rows(open_table(X)), every)
    if not isinstance(sample_weight, str):
        return weight_values(sample_weight)
    if hasattr(X, "__next__"):
        raise DataError(
            Argument("sample_weight", sample_weight),
            " is read beside the rows, and an iterator gives its batches once; pass a list of them",
        )
    return np.asarray(target_columns(X, [sample_weight])[0].to_numpy(zero_copy_only=False), dtype=np.float64)
