"""Functions of rows over Dask frames and arrays: lazy, with a meta that is known before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from dask.base import tokenize
from dask.delayed import delayed

from gramian.tables.distributed.dask import example_rows, open_dask


def map_frame(frame: Any, function: Callable[[Any], Any], names: Sequence[str]) -> Any:
    """Return a function of the rows of a Dask frame or array, as a lazy one of the same kind.

    Parameters
    ----------
    frame : Dask DataFrame or Array
    function : callable
        From rows, a pandas frame or an array, to an array with one row for each of them.
    names : sequence of str
        Of the columns that it gives.

    Returns
    -------
    Dask DataFrame, Series or Array
        Of a frame, with its index and divisions: a Series where the function gives one value a row.
    """
    table = open_dask(frame)
    # Delayed, it goes to each worker once and not with every task.
    sent = delayed(function, name=f"model-{tokenize(function)}", traverse=False)
    if hasattr(table, "frame"):
        meta = _columns(example_rows(table.frame), function, list(names)).iloc[:0]
        return table.frame.map_partitions(_partition, sent, list(names), meta, meta=meta)
    array = table.array  # type: ignore[union-attr]
    sample = np.asarray(function(np.ones((2, array.shape[1]), dtype=array.dtype)))
    shape: dict[str, Any] = {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (array.chunks[0], sample.shape[1:])}
    return array.map_blocks(_block, sent, sample[:0], dtype=sample.dtype, meta=sample[:0], **shape)


def _columns(rows: pd.DataFrame, function: Callable[[Any], Any], names: list[str]) -> pd.DataFrame | pd.Series:
    answer = function(rows)
    if isinstance(answer, pd.DataFrame | pd.Series):
        return answer.set_axis(rows.index, axis=0)
    values = np.asarray(answer)
    if values.ndim == 1:
        return pd.Series(values, index=rows.index, name=names[0])
    return pd.DataFrame(values, index=rows.index, columns=names)


def _partition(rows: pd.DataFrame, function: Callable[[Any], Any], names: list[str], meta: Any) -> Any:
    """Return the columns of one partition, of the types of the meta."""
    columns = _columns(rows, function, names) if len(rows) else meta.reindex(rows.index)
    return columns.astype(meta.dtypes.to_dict() if isinstance(meta, pd.DataFrame) else meta.dtype)


def _block(rows: Any, function: Callable[[Any], Any], nothing: Any) -> Any:
    return np.asarray(function(rows)) if len(rows) else nothing
