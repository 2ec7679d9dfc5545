"""One door for every kind of source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gramian.arrays import sparse as sp
from gramian.errors import Argument, DataError, Value
from gramian.tables.base import ArrayTable, ArrowTable, Union, home_of
from gramian.tables.files.paths import find_files, is_path, only

if TYPE_CHECKING:
    from gramian.tables.files.file_table import FileTable

ACCEPTED = (
    "a path, a list of paths, a pattern or a folder; a pandas or polars frame; a pyarrow Table, RecordBatch, "
    "Dataset or RecordBatchReader; an object with __arrow_c_stream__; a 2-d numpy array or nested list; "
    "a scipy sparse matrix; a Dask DataFrame or Array; a Spark DataFrame; an Ibis table; "
    "a generator or list of tables or 2-d arrays; a dict, or a list of dicts, as rows"
)


_csv_settings: ContextVar[Mapping[str, Any] | None] = ContextVar("csv", default=None)


@contextmanager
def csv_settings(given: Mapping[str, Any] | None) -> Iterator[None]:
    """Within the block CSV files are read with these settings where `open_table` is given none: how a program is told once."""
    before = _csv_settings.set(given)
    try:
        yield
    finally:
        _csv_settings.reset(before)


def open_table(
    source: Any,
    *,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    csv: Mapping[str, Any] | None = None,
    missing: str = "raise",
) -> ArrowTable | ArrayTable:
    """Return the rows of `source` as a stream whose names and types are known before any row is read.

    Parameters
    ----------
    source
        A path, a list of paths, a glob pattern or a folder of Parquet, CSV, Arrow IPC or JSON-lines files
        or spreadsheets; a pandas or polars frame; a pyarrow Table, RecordBatch, Dataset or RecordBatchReader; anything with
        ``__arrow_c_stream__``; a numpy array or nested list; a scipy sparse matrix; a generator or list of
        tables or 2-d arrays, as batches.
    numeric
        Columns to be read as float64 where the source does not declare types of its own (CSV, JSON lines) or
        declares them before all rows are seen (batches).
    categorical
        Columns of CSV files and spreadsheets to be read as text, as it is written.
    csv
        How CSV files are written, where that is not to be found out: `delimiter`, `decimal`, `thousands`, `encoding`,
        `date_format`, `empty`, `header` (its line, counted from 1); of spreadsheets `sheet`, by name; of both and of JSON
        lines `na`, a list of words that stand for missing values.
    missing
        `"fill"`: a column that one file or batch lacks is missing values there; `"raise"`: reading it raises.

    Returns
    -------
    ArrowTable or ArrayTable
        `ArrayTable` where the source is a matrix of floats (2-d array, scipy sparse, a frame of floats only).

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = open_table(pa.table({"color": ["red", "blue"], "size": [1.5, 2.0]}))
    >>> table.schema.names, table.n_rows
    (['color', 'size'], 2)
    >>> [batch.num_rows for batch in table.batches(["size"])]
    [2]
    """
    if isinstance(source, ArrowTable | ArrayTable):
        return source
    if missing not in ("raise", "fill"):
        raise DataError(Argument("missing", missing), " is not known; it is ", Value("raise"), " or ", Value("fill"))
    fill = missing == "fill"
    open_files = partial(_open_files, numeric=numeric, categorical=categorical, csv=csv, fill=fill)
    if is_path(source):
        if _names_a_database(source):
            return _open_database(source, csv)
        return open_files([source])
    if isinstance(source, list | tuple):
        return open_files(source) if source and all(map(is_path, source)) else _open_list(source, numeric, fill)
    if csv is not None:
        raise _not_csv(f"a {type(source).__qualname__}")
    opened = _open_in_memory(source, None)
    if opened is not None:
        return opened
    if isinstance(source, dict):
        from gramian.tables.memory.arrow import open_dicts

        return open_dicts(source, describe="the dict")
    if isinstance(source, Iterable) and not isinstance(source, dict | set | bytes | bytearray | memoryview):
        return _open_iterable(source, numeric, fill)
    raise _not_accepted(source)


def _names_a_database(source: Any) -> bool:
    """Whether a text is the address of a table in a database, `URL::TABLE`, and not of files within others."""
    if not isinstance(source, str) or "://" not in source or source.lower().startswith(("http://", "https://")):
        return False
    return "::" in source and "://" not in source.rpartition("::")[2]


def _open_database(address: str, csv: Mapping[str, Any] | None) -> ArrowTable:
    from gramian.tables.distributed.database import open_address

    if csv is not None:
        raise _not_csv(f"{address.partition('://')[0]}://... a database")
    return open_address(address)


def files_behind(source: Any) -> list[str]:
    """Return the files that a source is read from, as far as it says: paths, opened tables, datasets of Arrow.

    Examples
    --------
    >>> files_behind([[1.0, 2.0]])
    []
    """
    if is_path(source):
        return [] if _names_a_database(source) else find_files(source).paths
    if isinstance(source, list | tuple):
        return [path for item in source if is_path(item) for path in find_files(item).paths]
    if isinstance(source, ArrowTable) or type(source).__module__.startswith("pyarrow."):
        return [str(path) for path in getattr(source, "files", [])]
    return []


def refuse_input_as_output(out: str | os.PathLike[str], source: Any) -> None:
    """Raise where a file to be written is one of those to be read, whatever name or link it goes by."""
    if not os.path.exists(out):
        return
    for path in files_behind(source):
        if os.path.exists(path) and os.path.samefile(path, out):
            raise DataError(f"cannot write {os.fspath(out)!r}: it is one of the inputs; name another file")


def _not_accepted(source: object) -> DataError:
    kind = type(source)
    module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    return DataError(f"a {module}{kind.__qualname__} is not a source of rows; pass {ACCEPTED}")


def _not_csv(what: str) -> DataError:
    return DataError(Argument("csv"), f" applies to CSV files only; remove it to read {what}")


_FORMATS = {
    "parquet": ("parquet", "ParquetTable"),
    "csv": ("csv", "CsvTable"),
    "excel": ("excel", "ExcelTable"),
    "ipc": ("ipc", "IpcTable"),
    "json": ("jsonlines", "JsonLinesTable"),
}
"""Where the table of each format is; imported when it is needed."""


def _open_files(
    paths: Sequence[Any],
    *,
    numeric: Sequence[str],
    categorical: Sequence[str],
    csv: Mapping[str, Any] | None,
    fill: bool,
) -> ArrowTable:
    files = find_files(paths)
    if csv is not None and files.format not in ("csv", "excel") and (files.format != "json" or set(csv) - {"na"}):
        raise _not_csv(files.describe)
    settings = csv if csv is not None else _csv_settings.get()
    module, kind = _FORMATS[files.format]
    table: type[FileTable] = getattr(import_module(f"gramian.tables.files.{module}"), kind)
    open_one = partial(table, numeric=numeric, categorical=categorical, csv=settings)
    if fill and len(files.paths) > 1:
        parts = [open_one(only(files, k), describe=path) for k, path in enumerate(files.paths)]
        return Union(parts, describe=files.describe, numeric=numeric)
    return open_one(files)


def _open_in_memory(source: Any, label: str | None) -> ArrowTable | ArrayTable | None:
    """Open a value that holds (or can be asked for) its rows; None where `source` is nothing of the kind."""
    if isinstance(source, np.ndarray):
        from gramian.tables.memory.arrays import open_array

        return open_array(source, describe=label or "a numpy array")
    if sp.issparse(source):
        from gramian.tables.memory.arrays import SparseArray

        return SparseArray(source, describe=label or "a scipy sparse matrix")
    if home_of(source) == "dask":
        from gramian.tables.distributed.dask import open_dask

        return open_dask(source, describe=label)
    if home_of(source) == "spark":
        from gramian.tables.distributed.spark import open_spark

        return open_spark(source, describe=label)
    # By the names of its classes: a library is not imported to find out that its frames were not passed.
    libraries = {kind.__module__.split(".")[0].lstrip("_") for kind in type(source).__mro__}
    name = type(source).__name__
    if "pandas" in libraries:
        from gramian.tables.memory.pandas import open_pandas

        if name == "Series":
            raise DataError("a pandas Series has 1 dimension; pass a frame, such as series.to_frame()")
        return open_pandas(source, describe=label or "a pandas frame") if hasattr(source, "iloc") else None
    if "polars" in libraries:
        from gramian.tables.memory.polars import open_polars

        return open_polars(source, describe=label)
    return _open_arrow(source, libraries, name, label)


def _open_arrow(source: Any, libraries: set[str], name: str, label: str | None) -> ArrowTable | None:
    from gramian.tables.memory import arrow as arrow_memory

    if isinstance(source, pa.Table | pa.RecordBatch):
        return arrow_memory.MemoryTable(source, describe=label or f"a pyarrow {name}")
    if isinstance(source, pa.RecordBatchReader):
        return arrow_memory.StreamTable(source, describe=label or "a RecordBatchReader")
    if "pyarrow" in libraries and hasattr(source, "scanner") and hasattr(source, "schema"):
        words = label or "a pyarrow dataset"
        if type(getattr(source, "format", None)).__name__ == "ParquetFileFormat":
            from gramian.tables.files.parquet import ParquetTable

            return ParquetTable.of_dataset(source, words) or arrow_memory.DatasetTable(source, describe=words)
        return arrow_memory.DatasetTable(source, describe=words)
    if "duckdb" in libraries and name == "DuckDBPyRelation":
        return arrow_memory.RelationTable(source, describe=label or "a DuckDB relation")
    if "ibis" in libraries and name == "Table":
        from gramian.tables.distributed.database import open_ibis

        return open_ibis(source, describe=label)
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, type):
        return arrow_memory.StreamTable(source, describe=label or f"an Arrow stream ({name})")
    return None


def _open_list(source: Sequence[Any], numeric: Sequence[str], fill: bool) -> ArrowTable | ArrayTable:
    if not source:
        raise DataError("the list is empty: no rows")
    if any(is_path(item) for item in source):
        raise DataError("a list of paths and other things is not a source of rows; pass paths only, or tables only")
    first = source[0]
    if isinstance(first, dict):
        from gramian.tables.memory.arrow import open_dicts

        return open_dicts(source, describe="the list of rows")
    if _is_batch(first):
        return _open_iterable(source, numeric, fill)
    if isinstance(first, list | tuple | np.ndarray | int | float | complex | np.generic):
        from gramian.tables.memory.arrays import open_nested_list

        return open_nested_list(source, describe="a nested list")
    raise DataError(f"a list of {type(first).__qualname__} is not a source of rows; pass {ACCEPTED}")


def _is_batch(item: Any) -> bool:
    """Whether an item of a list is a table rather than a row."""
    if isinstance(item, np.ndarray):
        return item.ndim >= 2 or item.dtype.names is not None
    return sp.issparse(item) or hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")


def _open_iterable(source: Iterable[Any], numeric: Sequence[str], fill: bool) -> ArrowTable | ArrayTable:
    from gramian.tables.memory.batches import open_batches

    def open_one(batch: Any, describe: str) -> ArrowTable | ArrayTable:
        opened = _open_in_memory(batch, describe)
        if opened is None:
            raise DataError(
                f"{describe} is of type {type(batch).__qualname__}; each batch must be a frame, an Arrow table or a 2-d array"
            )
        return opened

    words = "a list of batches" if isinstance(source, Sequence) else "a generator of batches"
    return open_batches(source, open_one, numeric=numeric, describe=words, fill=fill)
