"""Data for methods of distances: a column of objects, lines of text, vectors, or a matrix of distances.

With a column named, its values are the objects (texts for `metric=levenshtein` and its like). A `.txt` file has one
object a line. Otherwise all columns but the target are taken together: as an array where they are numbers (vectors, or
a square matrix of distances), as a table for `metric=gower` where they are not. A `.npy` file is an array as it is.

Which columns these were goes into the model file as notes, so that new objects are read alike.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gramian.cli.files import ARRAY_SUFFIXES, TEXT_SUFFIXES, open_data, require_columns, require_paths
from gramian.cli.wording import UsageError
from gramian.errors import Argument, DataError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Objects:
    """Objects as the estimators take them, with what was read beside them.

    Attributes
    ----------
    values : list, array or table
    target : list or None
        Their classes.
    notes : dict
        Which columns they stood in; nothing where there are no columns.
    table : pyarrow.Table or None
        Every column that was read.
    """

    values: Any
    target: list[Any] | None
    notes: dict[str, str]
    table: pa.Table | None


def read_objects(
    paths: Sequence[str],
    *,
    column: str | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    exclude: Sequence[str] = (),
    numeric: Sequence[str] = (),
    metric: Any = None,
) -> Objects:
    """Return the objects of some files.

    Parameters
    ----------
    paths : files of one kind
    column : the column of objects, if they stand in one
    columns : the columns that make up an object, where not all do
    target : the column of classes, if there is one
    exclude : columns that are no part of the objects
    numeric : columns to be read as numbers
    metric : what the objects are to be measured with, where that is known
    """
    require_paths(paths)
    if are_listed(paths):
        if len(paths) > 1:
            raise UsageError(f"{paths[0]} must be the only file: read one of its kind at a time")
        if column is not None or target is not None:
            raise UsageError(f"{paths[0]} has no columns; use a table (CSV, Parquet) with --column and --target")
        values = _lines(paths[0]) if paths[0].lower().endswith(TEXT_SUFFIXES) else _array(paths[0])
        if isinstance(values, list) and metric == "precomputed":
            raise _needs_metric(paths[0])
        return Objects(values, None, {}, None)
    source = open_data(paths, numeric=numeric, exclude=exclude)
    require_columns(source, [column, target, *(columns or ())])
    table = _whole(source)
    if target is not None and metric != "precomputed":
        table = _with_target(table, target)
    names = list(columns or [name for name in table.column_names if name != target])
    if not names:
        raise DataError(f"{source.describe} has no columns left to measure distances between")
    if column is None and metric not in (None, "gower") and not _all_numbers(table.select(names)):
        if metric == "precomputed":
            raise _needs_metric(source.describe)
        if len(names) > 1:
            raise DataError(
                f"{source.describe} has {len(names)} columns ({', '.join(names)}), and metric {metric!r} measures one of "
                "them: name it with --column, or measure whole rows with ",
                Argument("metric", "gower"),
            )
        column = names[0]
    classes = None if target is None else table[target].to_pylist()
    if column is not None:
        objects = table[column].to_pylist()
        if None in objects:
            raise DataError(f"column {column!r} has no value in row {objects.index(None)}; every object needs one")
        return Objects(objects, classes, {"column": column}, table)
    return Objects(_vectors(table.select(names)), classes, {"columns": json.dumps(names)}, table)


def _needs_metric(what: str) -> DataError:
    return DataError(
        f"{what} holds texts, and without a metric numbers are expected, a matrix of distances; name a metric, such as ",
        Argument("metric", "levenshtein"),
    )


def _lines(path: str) -> list[str]:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            lines = [line.rstrip("\r\n") for line in file]
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; convert it first") from None
    if not lines:
        raise DataError(f"{path} is empty")
    return lines


def _array(path: str) -> Any:
    import numpy as np

    try:
        return np.load(os.path.expanduser(path), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as a numpy array: {error}") from None


def _whole(source: Any) -> pa.Table:
    import pyarrow as pa

    from gramian.tables.base import decoded

    batches = [decoded(batch) for batch in source.batches()]
    if not batches:
        raise DataError(f"{source.describe} has no rows")
    return pa.Table.from_batches(batches).combine_chunks()


def _with_target(table: pa.Table, target: str) -> pa.Table:
    """Return the rows that have a class, after saying how many do not; all rows where those are to be refused."""
    import numpy as np
    import pyarrow as pa

    from gramian.design.encoder import TARGET_MISSING, missing_among
    from gramian.engines.collect import note_missing

    missing = missing_among(table[target].chunks)
    if missing is None or TARGET_MISSING.get() == "raise":
        return table
    note_missing(int(np.count_nonzero(missing)), table.num_rows, [target])
    return table.filter(pa.array(~missing))


def _all_numbers(table: pa.Table) -> bool:
    import pyarrow.types as pt

    return all(pt.is_integer(field.type) or pt.is_floating(field.type) for field in table.schema)


def _vectors(table: pa.Table) -> Any:
    """Return columns as an array where all of them are numbers, else as they are."""
    import numpy as np

    if _all_numbers(table):
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in table.columns])
    return table


def are_listed(paths: Sequence[str]) -> bool:
    """Whether the objects are lines of text or an array, and so have no columns."""
    return any(path.lower().endswith(TEXT_SUFFIXES + ARRAY_SUFFIXES) for path in paths)


def object_columns(notes: Mapping[str, str], column: str | None) -> list[str] | None:
    """Return the columns that hold the objects: the one that is named, or those of fit; None where neither is known.

    Parameters
    ----------
    notes : those of the model file
    column : the column of objects, where it is called otherwise than in fit
    """
    one = column or notes.get("column")
    return [one] if one else json.loads(notes["columns"]) if "columns" in notes else None
