"""An Ibis table as a table: its schema, and its rows where somebody wants them here. And addresses of tables in databases.

Whether its rows are counted in the database or here is for the engine to say (`gramian.engines.database`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from gramian.errors import DataError, SourceNotFoundError, optional, shown
from gramian.tables.base import ArrowTable
from gramian.tables.schemas import conform, one_line, subset

ibis = optional("ibis", "a table in a database", "ibis-framework", extra="ibis")

HERE = ("duckdb", "sqlite", "polars", "datafusion")
"""Backends that run in this process: reading their rows is faster than queries (`python -m benchmarks joins`)."""

IN_FILES = ("duckdb", "sqlite")
"""Backends that would make a file that is not there."""


@contextmanager
def quietly() -> Iterator[None]:
    """Within the block, no warning says that Ibis calls its libraries by names that they are about to drop."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


class DatabaseTable(ArrowTable):
    """The rows of an Ibis table.

    Attributes
    ----------
    expression : ibis.Table
    """

    def __init__(self, expression: Any, *, describe: str) -> None:
        self.expression = expression
        self.backend = expression.get_backend()
        self.home = "local" if self.backend.name in HERE else "ibis"
        fields = [pa.field(name, _arrow_type(kind)) for name, kind in expression.schema().items()]
        super().__init__(pa.schema(fields), describe=describe)

    def result(self, expression: Any) -> pa.Table:
        """Return what the database answers to a query."""
        try:
            with quietly():
                return expression.to_pyarrow()
        except Exception as error:
            raise self._answer(error) from error

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        chosen = self.expression.select(*columns)
        # `to_pyarrow_batches` of Ibis 12 asks DuckDB 2 for what it no longer has. A query of no rows makes known what the
        # expression has of tables in memory and functions.
        direct = self.backend.name == "duckdb" and self.result(chosen.limit(0)) is not None
        try:
            with quietly():
                if direct:
                    batches = pa.RecordBatchReader.from_stream(self.backend.con.sql(self.backend.compile(chosen)))
                else:
                    batches = chosen.to_pyarrow_batches()
        except Exception as error:
            raise self._answer(error) from error
        while (batch := self._next(batches)) is not None:
            yield conform(batch, schema, self.describe)

    def _next(self, batches: Any) -> pa.RecordBatch | None:
        try:
            with quietly():
                return next(batches, None)
        except Exception as error:
            raise self._answer(error) from error

    def _answer(self, error: Exception) -> DataError:
        # A database has errors of its own, hundreds of kinds.
        return DataError(f"{self.describe}: the database answers: {one_line(error)[:300]}")


def _arrow_type(kind: Any) -> pa.DataType:
    """Return the Arrow type of an Ibis type; a struct without members, which nobody can collect, where there is none."""
    try:
        return kind.to_pyarrow()
    except (NotImplementedError, KeyError, TypeError, ValueError):
        return pa.struct([])


def open_ibis(source: Any, *, describe: str | None = None) -> DatabaseTable:
    """Return an Ibis table as a table."""
    if not source.columns:
        raise DataError("the Ibis table has no columns")
    names = [backend.name for backend in source._find_backends()[0]] if hasattr(source, "_find_backends") else ["?"]
    if not names:
        raise DataError("the Ibis table is bound to no database; connect to one, or pass the data itself")
    return DatabaseTable(source, describe=describe or f"an Ibis table in {names[0]}")


def open_address(address: str) -> DatabaseTable:
    """Return the table that `URL::TABLE` or `URL::SCHEMA.TABLE` names, URL being one that `ibis.connect` takes."""
    url, _, name = address.rpartition("::")
    scheme, _, place = url.partition("://")
    hidden = f"{scheme}://...::{name}"
    path = place.partition("?")[0]
    if scheme in IN_FILES and path and path != ":memory:" and not os.path.exists(path):
        raise SourceNotFoundError(f"{address}: there is no file {path}; the address is {scheme}://FILE::TABLE")
    try:
        with quietly():
            connection = ibis.connect(url, **({"read_only": True} if scheme == "duckdb" and path else {}))
    except Exception as error:
        # Without the address, which may hold a password.
        raise DataError(f"{hidden}: cannot connect: {one_line(error)[:300].replace(url, scheme)}") from None
    schema, _, table = name.rpartition(".")
    with quietly():
        try:
            return DatabaseTable(connection.table(table, database=schema or None), describe=f"table {name!r}")
        except Exception as error:
            raise DataError(
                f"{hidden}: there is no table {shown(name)}{_tables(connection)} ({type(error).__name__})"
            ) from None


def _tables(connection: Any) -> str:
    """Return the tables of a database in words, as far as it says."""
    try:
        return f"; tables there: {', '.join(map(repr, connection.list_tables()[:12])) or 'none'}"
    except Exception:
        # The message is about another fault.
        return ""
