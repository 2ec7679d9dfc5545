"""Features of files of any size: read, transform and write batch by batch; the output appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from gramian.design.kinds import names_of
from gramian.engines.local import stretches
from gramian.errors import Argument, ColumnError, DataError, shown
from gramian.storage.atomic import appearing
from gramian.tables import ArrayTable, open_table
from gramian.tables.prefetch import run_ahead
from gramian.tables.write import table_writer

# A batch of rows with all that is read and made of them; long enough that starting threads for it costs nothing beside it.
BATCH_BYTES = 2**26
BATCH_ROWS = 2**19
METHODS = ("transform", "predict", "predict_proba", "decision_function", "anomaly_score", "score_samples")


def batch_rows(n_columns: int) -> int:
    """Return how many rows to take at a time where each is read as, or becomes, so many values."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES // (8 * n_columns)))


def transform_stream(
    model: Any,
    source: Any,
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    dtype: str = "float64",
) -> pa.RecordBatchReader:
    """Return a reader of the features of a source, one row a row of it, in order.

    Parameters
    ----------
    model : fitted estimator
    source : any source of `collect`
    keep : str or list of str, optional
        Columns copied through, in front of the features.
    method : str
        `"transform"`, or another method of the model: `"predict"`, `"predict_proba"`, `"anomaly_score"`...
    dtype : {"float64", "float32"}
        Of the features.
    """
    check_is_fitted(model)
    if dtype not in ("float64", "float32"):
        raise DataError(f"dtype is 'float64' or 'float32'; got {shown(dtype)}")
    if method not in METHODS or not hasattr(model, method):
        able = [name for name in METHODS if hasattr(model, name)]
        raise DataError(f"{type(model).__name__} has no method {shown(method)} for files; it has {', '.join(able)}")
    table = open_table(source)
    if isinstance(table, ArrayTable):
        table = table.as_arrow()
    kept = names_of(keep, called="keep")
    table.require(kept)
    origins = list(model._design().origins)
    table.require(name for name in origins if name in table.schema.names)
    model._design().check(table.schema.names)
    outputs = output_names(model, method)
    clash = set(kept) & set(outputs)
    if clash:
        raise ColumnError(
            Argument("keep"), f" names {min(clash)!r}, which is also a feature's name; rename the column first"
        )
    needed = list(dict.fromkeys([*origins, *kept]))
    transform = partial(_transformed, getattr(model, method), kept, outputs, np.dtype(dtype))
    tasks = _tasks(transform, table.batches(needed), batch_rows(len(needed) + len(outputs)))
    # Two batches at a time, one waiting, while the caller writes a fourth: threads do not wait for each other in a batch.
    batches = run_ahead(tasks, ahead=3, threads=2)
    first = next(batches, None)
    if first is None:
        raise DataError(f"{table.describe} has no rows")

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


def output_names(model: Any, method: str) -> list[str]:
    """Return the names of the columns that a method's result becomes."""
    if method == "transform":
        return [str(name) for name in model.get_feature_names_out()]
    if method == "predict_proba":
        return [f"probability_{label}" for label in model.classes_]
    if method == "decision_function" and len(getattr(model, "classes_", ())) > 2:
        return [f"decision_{label}" for label in model.classes_]
    return [{"predict": "prediction", "decision_function": "decision"}.get(method, method)]


def _tasks(
    transform: Callable[[pa.RecordBatch], pa.RecordBatch], batches: Iterator[pa.RecordBatch], rows: int
) -> Iterator[Callable[[], pa.RecordBatch]]:
    """Yield one task a batch of at most so many rows."""
    with closing(stretches(batches, rows)) as groups:
        for group in groups:
            while group:
                yield partial(transform, group.pop(0))


def _transformed(
    call: Callable[[Any], Any], kept: list[str], outputs: list[str], dtype: np.dtype, batch: pa.RecordBatch
) -> pa.RecordBatch:
    # Named Arrow data in, plain arrays out, whatever set_output says for people.
    result = np.asarray(_unwrapped(call, batch))
    result = result.reshape(len(result), -1)
    arrays = [batch.column(name) for name in kept]
    for k in range(result.shape[1]):
        column = result[:, k]
        arrays.append(pa.array(column if column.dtype.kind in "OUib" else column.astype(dtype, copy=False)))
    return pa.record_batch(arrays, names=[*kept, *outputs])


def _unwrapped(call: Callable[[Any], Any], batch: pa.RecordBatch) -> Any:
    from sklearn import config_context

    with config_context(transform_output="default"):
        result = call(batch)
    return result if isinstance(result, np.ndarray) else np.asarray(result)


def transform_file(
    model: Any,
    source: Any,
    out: str | os.PathLike[str],
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    dtype: str = "float64",
) -> int:
    """Write the features of a source of any size to a file, and return the number of rows.

    One output row an input row, in order. The file appears under its name only when it is whole.

    Parameters
    ----------
    model, source, keep, method, dtype
        As in `transform_stream`.
    out : path
        `.parquet`, `.csv`, `.csv.gz`, `.arrow` or `.feather`.
    """
    n_rows = 0
    with appearing(out) as temporary:
        reader = transform_stream(model, source, keep=keep, method=method, dtype=dtype)
        with table_writer(Path(out), temporary, reader.schema) as write:
            for batch in reader:
                write(batch)
                n_rows += batch.num_rows
    return n_rows
