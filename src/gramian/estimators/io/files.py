"""Features of files of any size: read, transform and write batch by batch; the output appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from gramian.design.kinds import names_of
from gramian.engines.base import Engine
from gramian.errors import Argument, ColumnError, DataError, NoRowsError, shown
from gramian.estimators.io.reading import map_rows
from gramian.parameters import check
from gramian.storage.atomic import appearing
from gramian.tables import ArrowTable, open_table
from gramian.tables.base import home_of
from gramian.tables.opening import refuse_input_as_output
from gramian.tables.views import filled, typed
from gramian.tables.write import table_writer

METHODS = ("transform", "predict", "predict_proba", "decision_function", "anomaly_score", "score_samples")


def transform_stream(
    model: Any,
    source: Any,
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    dtype: str = "float64",
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
) -> pa.RecordBatchReader:
    """Return a reader of the features of a source, one output row per input row, in order.

    A model of distances takes a source whose only column holds the objects. Where an object is a row of numbers or of a mixed
    table, or rows hold distances, the columns are those of fit, by name if they had names. Which of several columns is meant is
    never guessed, whatever `keep` says.

    Parameters
    ----------
    model : fitted estimator
        Any that has the method.
    source : any source of `collect`
        Read batch by batch, while batches before are transformed.
    keep : str or list of str, optional
        Columns copied through, in front of the features.
    method : str
        `"transform"`, or another method of the model: `"predict"`, `"predict_proba"`, `"anomaly_score"`...
    dtype : {"float64", "float32"}
        Of the features.
    missing : {"raise", "fill"}
        `"fill"`: a column that a file lacks, or all of them, is missing values there; and a source without rows gives none.
    csv : dict, optional
        How CSV files are written, as in `collect`.
    engine : {"local", "dask"} or Engine, optional
        Where rows are transformed, as in `collect`; they come back here, in order.

    Returns
    -------
    pyarrow.RecordBatchReader

    See Also
    --------
    transform_file : the same, written to a file.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 4.0]})
    >>> model = gm.PCA(n_components=1).fit(table)
    >>> gm.transform_stream(model, table, keep="color").read_all().column_names
    ['color', 'pca0']
    """
    _check_method(model, method, dtype)
    table = typed(open_table(source, categorical=text_columns(model), csv=csv, missing=missing))
    design = getattr(model, "design_", None)
    if missing == "fill" and design is not None:
        table = typed(filled(table, design.origins))
    kept = names_of(keep, called="keep")
    outputs = output_names(model, method)
    _refuse_clash(kept, outputs)
    transform = partial(_transformed, getattr(model, method), kept, outputs, np.dtype(dtype))
    batches = map_rows(model, table, transform, keep=kept, width=len(outputs), engine=engine)
    try:
        first = next(batches)
    except NoRowsError:
        if missing != "fill":
            raise
        return pa.RecordBatchReader.from_batches(_schema_of(model, method, table, kept, outputs, dtype), [])
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def class_types(model: Any) -> list[pa.DataType]:
    """Return the type of each target that a classifier predicts."""
    several = isinstance(model.classes_, list)
    return [pa.array(labels).type for labels in (model.classes_ if several else [model.classes_])]


def _schema_of(
    model: Any, method: str, table: ArrowTable, kept: list[str], outputs: list[str], dtype: str
) -> pa.Schema:
    """Return the columns of an output without rows."""
    copied = [table.schema.field(name) for name in kept]
    if method == "predict" and hasattr(model, "classes_"):
        return pa.schema([*copied, *map(pa.field, outputs, class_types(model))])
    if getattr(model, "_hands_through", False):
        return pa.schema([*copied, *(table.schema.field(name) for name in outputs)])
    return pa.schema([*copied, *(pa.field(name, pa.type_for_alias(dtype)) for name in outputs)])


def _check_method(model: Any, method: str, dtype: str) -> None:
    """Raise where a model is not fitted, or has no such method for files."""
    check_is_fitted(model)
    check("dtype", dtype, "float64", "float32")
    if method not in METHODS or not hasattr(model, method):
        able = [name for name in METHODS if hasattr(model, name)]
        raise DataError(f"{type(model).__name__} has no method {shown(method)} for files; it has {', '.join(able)}")


def _refuse_clash(kept: Sequence[str], outputs: Sequence[str]) -> None:
    clash = set(kept) & set(outputs)
    if clash:
        raise ColumnError(
            Argument("keep"), f" names {min(clash)!r}, which is also a feature's name; rename the column first"
        )


def text_columns(model: Any) -> list[str]:
    """Return the columns that held text when a model was fitted: those of a CSV file are then read as they are written.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> text_columns(gm.PCA().fit(pa.table({"zip": ["01067", "50667"], "size": [1.0, 2.0]})))
    ['zip']
    """
    design = getattr(model, "design_", None)
    if design is None:
        return []
    known = zip(design.categorical, design.labels, strict=True)
    return [column.name for column, labels in known if column.part is None and labels.family == "text"]


def output_names(model: Any, method: str) -> list[str]:
    """Return the names of the columns that a method's result becomes."""
    if method == "transform":
        return [str(name) for name in model.get_feature_names_out()]
    several = getattr(model, "_output_names", None)
    if method == "predict" and several:
        return [f"prediction_{name}" for name in several]
    if method == "predict_proba":
        if several:
            sides = zip(several, model.classes_, strict=True)
            return [f"probability_{name}_{label}" for name, labels in sides for label in labels]
        return [f"probability_{label}" for label in model.classes_]
    if method == "predict_log_proba":
        return [f"log_{name}" for name in output_names(model, "predict_proba")]
    if method == "decision_function" and len(getattr(model, "classes_", ())) > 2:
        return [f"decision_{label}" for label in model.classes_]
    return [{"predict": "prediction", "decision_function": "decision"}.get(method, method)]


def _transformed(
    call: Callable[[Any], Any], kept: list[str], outputs: list[str], dtype: np.dtype, rows: Any, batch: pa.RecordBatch
) -> pa.RecordBatch:
    arrays = [batch.column(name) for name in kept]
    # Plain arrays out, whatever set_output says for people; selectors hand columns through.
    with config_context(transform_output="default"):
        answer = call(rows)
    if isinstance(answer, pa.RecordBatch):
        return pa.record_batch([*arrays, *answer.columns], names=[*kept, *outputs])
    # Of several targets the probabilities are a list.
    result = np.hstack(answer) if isinstance(answer, list) else np.asarray(answer)
    result = result.reshape(len(result), -1)
    for k in range(result.shape[1]):
        column = result[:, k]
        arrays.append(pa.array(column if column.dtype.kind in "OUib" else column.astype(dtype, copy=False)))
    return pa.record_batch(arrays, names=[*kept, *outputs])


def transform_file(
    model: Any,
    source: Any,
    out: str | os.PathLike[str],
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    dtype: str = "float64",
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
    spreadsheet_safe: bool = False,
) -> int:
    """Write the features of a source of any size to a file, and return the number of rows.

    One output row per input row, in order. The file appears under its name only when it is whole. A symbolic link as `out` is
    written through: the file that it leads to is replaced, and the link stays.

    Parameters
    ----------
    model : fitted estimator
        Any that has the method. For models of distances see `transform_stream`.
    source : any source of `collect`
        Read batch by batch. It must not include `out`, also not through a link.
    out : path
        `.parquet`, `.csv`, `.csv.gz`, `.arrow` or `.feather`. Of a Spark frame, a new folder of Parquet files, which the
        executors write.
    keep : str or list of str, optional
        Columns copied through, in front of the features.
    method : str
        `"transform"`, or another method of the model: `"predict"`, `"predict_proba"`, `"decision_function"`,
        `"anomaly_score"`, `"score_samples"`.
    dtype : {"float64", "float32"}
        Of the features.
    missing : {"raise", "fill"}
        `"fill"`: a column that a file lacks, or all of them, is missing values there; and a source without rows gives none.
    csv : dict, optional
        How CSV files are written, as in `collect`.
    engine : {"local", "dask"} or Engine, optional
        Where rows are transformed, as in `collect`; they come back here, in order.
    spreadsheet_safe : bool
        For CSV files that people open in a spreadsheet: text (and names of columns) that it would run as a formula is written
        behind an apostrophe. Numbers stay as they are. Leave it off where a program reads the file.

    Returns
    -------
    int
        Rows written.

    See Also
    --------
    transform_stream : the same as a reader, without a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 4.0]})
    >>> model = gm.PCA(n_components=1).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.transform_file(model, table, pathlib.Path(folder) / "features.csv", keep="color")
    3
    """
    if home_of(source) == "spark" and engine in (None, "spark"):
        return _by_spark(model, source, out, keep=keep, method=method, dtype=dtype, missing=missing)
    refuse_input_as_output(out, source)
    n_rows = 0
    with appearing(out) as temporary:
        reader = transform_stream(
            model, source, keep=keep, method=method, dtype=dtype, missing=missing, csv=csv, engine=engine
        )
        with table_writer(Path(out), temporary, reader.schema, spreadsheet_safe=spreadsheet_safe) as write:
            for batch in reader:
                write(batch)
                n_rows += batch.num_rows
    return n_rows


def _by_spark(
    model: Any, frame: Any, out: str | os.PathLike[str], *, keep: Any, method: str, dtype: str, missing: str
) -> int:
    """Have the executors of Spark write the features of a frame, and return the number of rows."""
    from gramian.engines.spark import map_frame, with_missing, write_parquet
    from gramian.estimators.io.lazy import RowMethod

    _check_method(model, method, dtype)
    function, kept = RowMethod(model, method), names_of(keep, called="keep")
    _refuse_clash(kept, function.names)
    if missing == "fill":
        frame = with_missing(frame, function.columns or [])
    return write_parquet(map_frame(frame, function, function.names, keep=kept, dtype=np.dtype(dtype)), out)
