"""`check_export`: an export run in its own engine, and compared with the model."""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.errors import Argument, DataError, optional
from gramian.estimators.spine.files import transform_stream
from gramian.estimators.spine.outputs import outputs_of
from gramian.exports.description import Category, Description, described
from gramian.exports.onnx import NAT, input_kinds, missing_text
from gramian.exports.sql import SqlExport
from gramian.tables import open_table
from gramian.tables.base import typed

ROW, TABLE = "gm_row_number", "gm_rows"

Columns = dict[str, pa.Array]


def check_export(
    model: Any, export: Any, rows: Any, *, connection: Any = None, lookup: Mapping[str, Any] | None = None
) -> float:
    """Return the largest difference between what an export gives for rows, in its real engine, and what the model gives.

    Parameters
    ----------
    model : fitted estimator
    export : SqlExport, onnx.ModelProto, path of an ONNX file, or list of polars.Expr
        What `to_sql`, `to_onnx` or `to_polars` returned.
    rows : any source of `collect`
        They are read into memory.
    connection : connection of psycopg, optional
        For a query in the dialect of PostgreSQL. DuckDB and SQLite are run in memory.
    lookup : mapping, optional
        For a query with joins: the rows of the tables by key, as `transform_file` takes them.

    Returns
    -------
    float
        Relative to the largest value of an output where that exceeds 1; 1.0 where a label differs. Infinite where one side has
        a missing value.

    See Also
    --------
    to_sql, to_onnx, to_polars : the exports.

    Examples
    --------
    >>> import gramian as gm
    >>> rows = pa.table({"city": ["Bonn", "Kiel", "Bonn", None], "rent": [510.0, 640.0, 930.0, 700.0]})
    >>> model = gm.PCA().fit(rows)
    >>> gm.check_export(model, gm.to_polars(model), rows) < 1e-12
    True
    """
    joined = export.lookup if isinstance(export, SqlExport) else {}
    if list(joined) != list(lookup or {}):
        raise DataError(
            f"the export joins tables by {list(joined)}, and rows are given by {list(lookup or {})}; give each table's with ",
            Argument("lookup"),
        )
    table = _read(model, rows, joined)
    looked_up = {key: _read(model, source, joined) for key, source in (lookup or {}).items()}
    if isinstance(export, SqlExport):
        found = {export.description.method: _by_query(export, table, looked_up, connection)}
    elif isinstance(export, list):
        found = {_method_of(model, export): _by_polars(export, table)}
    else:
        found = _by_onnx(model, export, table)
    worst = 0.0
    for method, columns in found.items():
        given = transform_stream(model, table, method=method, lookup=lookup).read_all()
        for one, other in zip(columns, given.columns, strict=True):
            worst = max(worst, _difference(one, other))
    return worst


def _read(model: Any, rows: Any, keys: Collection[str] = ()) -> pa.Table:
    outputs = outputs_of(model)
    source = typed(open_table(rows, categorical=outputs.text_columns))
    names = [name for name in source.schema.names if name in keys or outputs.columns is None or name in outputs.columns]
    batches = list(source.batches(names))
    table = pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in names})
    return pa.table([_plain(column) for column in table.columns], names=table.column_names)


def _plain(column: Any) -> pa.Array:
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if pa.types.is_duration(column.type):
        ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        return pc.divide(column.cast(pa.int64()).cast(pa.float64()), ticks)
    return column


def _difference(found: Any, given: Any) -> float:
    one, other = (np.asarray(side.to_pylist() if hasattr(side, "to_pylist") else side) for side in (found, given))
    if any(isinstance(value, str) for side in (one, other) if side.dtype.kind in "OU" for value in side.tolist()):
        return float((one.astype(str) != other.astype(str)).any())
    one, other = one.astype(np.float64), other.astype(np.float64)
    if (np.isnan(one) != np.isnan(other)).any():
        return float("inf")
    same = (one == other) | np.isnan(one)
    finite = other[np.isfinite(other)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.abs(one - other) / scale)
    return float(gaps.max(initial=0.0))


# Polars


def _method_of(model: Any, expressions: list[Any]) -> str:
    names = [each.meta.output_name() for each in expressions]
    outputs = outputs_of(model)
    for method in outputs.methods:
        if outputs.names(method) == names:
            return method
    raise DataError(f"these expressions give {', '.join(names[:5])}, which no method of this model gives")


def _by_polars(expressions: list[Any], table: pa.Table) -> list[Any]:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    # A result that reads no column has one row.
    return [column.to_arrow() for column in frame.with_row_index(ROW).with_columns(expressions).select(
        [each.meta.output_name() for each in expressions]).get_columns()]  # fmt: skip


# SQL


def _by_query(export: SqlExport, table: pa.Table, looked_up: dict[str, pa.Table], connection: Any) -> list[Any]:
    names = {key: f"{TABLE}_{k}" for k, key in enumerate(looked_up)}
    tables = {TABLE: table.append_column(ROW, pa.array(np.arange(table.num_rows)))}
    tables |= {names[key]: rows for key, rows in looked_up.items()}
    asked = export.keeping([ROW], TABLE, names)
    if export.dialect == "duckdb":
        found = _in_duckdb(asked, tables)
    elif export.dialect == "sqlite":
        found = _in_sqlite(asked, tables)
    elif export.dialect == "postgres" and connection is not None:
        found = _in_postgres(asked, tables, connection)
    elif export.dialect == "postgres":
        raise DataError(
            "a query for PostgreSQL is checked in a database: connect with psycopg, and pass the connection as ",
            Argument("connection"),
        )
    else:
        raise DataError(f"a query for {export.dialect} cannot be run here; check the same model in the dialect duckdb")
    order = np.argsort(np.asarray(found[0]), kind="stable")
    if len(order) != table.num_rows:
        raise DataError(f"the query gave {len(order)} rows for {table.num_rows}")
    return [[column[k] for k in order] for column in found[1:]]


def _columns(export: SqlExport, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in export.names]


def _in_duckdb(export: SqlExport, tables: dict[str, pa.Table]) -> list[list[Any]]:
    duckdb = optional("duckdb", "the check of a query for DuckDB", "duckdb", extra="frames")
    with duckdb.connect() as database:
        for name, rows in tables.items():
            database.register(name, rows)
        for statement in export.setup:
            database.execute(statement)
        return _columns(export, database.execute(str(export)).fetchall())


def _in_sqlite(export: SqlExport, tables: dict[str, pa.Table]) -> list[list[Any]]:
    import sqlite3

    database = sqlite3.connect(":memory:")
    try:
        _fill(database, export, tables, "?", {"double": "REAL", "whole": "INTEGER", "boolean": "INTEGER"})
        return _columns(export, database.execute(str(export)).fetchall())
    finally:
        database.close()


def _in_postgres(export: SqlExport, tables: dict[str, pa.Table], connection: Any) -> list[list[Any]]:
    types = {"double": "DOUBLE PRECISION", "whole": "BIGINT", "boolean": "BOOLEAN", "date": "DATE", "time": "TIMESTAMP"}
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        _fill(cursor, export, tables, "%s", types)
        cursor.execute(str(export))
        return _columns(export, cursor.fetchall())


def _fill(cursor: Any, export: SqlExport, tables: dict[str, pa.Table], mark: str, types: dict[str, str]) -> None:
    """Create the tables that a query reads."""
    for name, table in tables.items():
        kinds = [types.get(_kind(column.type), "TEXT") for column in table.columns]
        columns = map(" ".join, zip(map(_quoted, table.column_names), kinds, strict=True))
        cursor.execute(f"CREATE TEMPORARY TABLE {name} ({', '.join(columns)})")
        marks = ", ".join([mark] * table.num_columns)
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", list(_rows(table, "date" in types)))
    for statement in export.setup:
        cursor.execute(statement)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "double"
    if pa.types.is_date(kind):
        return "date"
    return "time" if pa.types.is_timestamp(kind) else "text"


def _rows(table: pa.Table, dates: bool) -> Iterator[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        if isinstance(value, datetime.date | datetime.time) and not dates:
            return value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        return float(value) if type(value).__name__ == "Decimal" else value

    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return zip(*columns, strict=True)


# ONNX


def _by_onnx(model: Any, export: Any, table: pa.Table) -> dict[str, list[Any]]:
    onnx, onnxruntime = (
        optional(name, "the check of an ONNX graph", "onnxruntime", extra="exports") for name in ("onnx", "onnxruntime")
    )
    made = onnx.load_model(os.fspath(export)) if isinstance(export, str | os.PathLike) else export
    props = {each.key: each.value for each in made.metadata_props}
    if "gramian.method" not in props:
        raise DataError("this graph was not written by to_onnx, so that it is not known what it should give")
    method = props["gramian.method"]
    description = described(model, method)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    answers = session.run(None, onnx_inputs(description, table))
    given = {each.name: values for each, values in zip(session.get_outputs(), answers, strict=True)}
    if description.formula is None:
        return {method: [given[f"features_{name}"].ravel() for name in description.names]}
    other = "anomaly_score" if hasattr(model, "anomaly_score") else "decision_function"
    names = {
        "features": "transform",
        "label": "predict",
        "probabilities": "predict_proba",
        "score": other if "label" in given else method,
    }
    return {names[name]: list(values.reshape(len(values), -1).T) for name, values in given.items()}


def onnx_inputs(description: Description, table: pa.Table) -> dict[str, Any]:
    """Return the inputs of a graph for the rows of a table."""
    categories = {category.origin: category for category in description.categories if category.sides is None}
    kinds = input_kinds(description)
    return {name: _input(table[name], kind, categories.get(name))[:, None] for name, kind in kinds.items()}


def _input(column: Any, kind: str, category: Category | None) -> Any:
    column = _plain(column)
    if kind == "text":
        assert category is not None
        missing = missing_text(category)
        return np.array([missing if each is None else str(each) for each in column.to_pylist()], dtype=object)
    if kind == "date":
        return _seconds(column)
    if kind == "boolean":
        return pc.fill_null(column.cast(pa.bool_()), False).to_numpy(zero_copy_only=False)
    if kind in ("whole", "offset"):
        # Else a whole number that no label is.
        unknown = NAT if kind == "offset" or category is None else min(category.keys, default=0) - 1
        return pc.fill_null(column.cast(pa.int64()), unknown).to_numpy(zero_copy_only=False)
    values = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _seconds(column: pa.Array) -> Any:
    """Return times as whole seconds, rounded down before 1970 too."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(column.type, "unit", "s")]
    kind = pa.int32() if column.type.bit_width == 32 else pa.int64()
    whole = pc.fill_null(column.cast(kind).cast(pa.int64()), 0).to_numpy(zero_copy_only=False) // ticks
    return np.where(column.is_null().to_numpy(zero_copy_only=False), NAT, whole)
