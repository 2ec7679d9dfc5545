"""Gower's distance between rows of a mixed table with missing values.

    d(a, b) = mean over the columns that both rows have of  |a_k - b_k| / range_k  (a number),  [a_k != b_k]  (a category)

Ranges and levels are those of the reference table, so that new rows are measured alike: a number outside the range counts
at most 1, and a level never seen differs from every other. A column without a value in the reference table counts for no pair.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.design.identifiers import is_identifier
from gramian.design.schema import Labels, canonical, label_family
from gramian.distances.metrics.metric import Metric, Objects, over_rows
from gramian.errors import ColumnError, DataError, type_words, unknown_column
from gramian.tables import ArrayTable, open_table
from gramian.tables.memory.arrays import column_names
from gramian.tables.schemas import observed

_LOG = logging.getLogger("gramian")


class MixedMetric(Metric):
    """Gower's distance; rows are prepared as one float array, levels as codes and missing as NaN.

    Examples
    --------
    >>> table = pa.table({"size": [1.0, 3.0, None], "color": ["red", "red", "blue"]})
    >>> metric = MixedMetric("gower", {}).learn(table)
    >>> rows = metric.prepare(table)
    >>> metric.block(rows, rows, 1)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 1. ],
           [1. , 1. , 0. ]])
    """

    names: list[str]
    levels: dict[str, list[Any]]
    ranges: npt.NDArray[np.float64]

    def learn(self, objects: Any) -> Metric:
        """Return the metric with the columns, ranges and levels of a table."""
        columns = _columns(objects)
        self.names = list(columns)
        self.levels = {}
        ranges = []
        for name, column in columns.items():
            if _is_category(column.type):
                self.levels[name] = _levels(name, column)
                ranges.append(np.nan)
            else:
                values = _numbers(name, _plain(column))
                seen = values[~np.isnan(values)]
                if np.isinf(seen).any():
                    raise ColumnError(
                        f"column {name!r} holds an infinite value, which has no distance; mark it missing"
                    )
                ranges.append(float(seen.max() - seen.min()) if seen.size else 0.0)
        self.ranges = np.array(ranges)
        return self

    def without_identifiers(self, objects: Any) -> Metric:
        """Return the metric without the columns of the table that it learned from whose levels tell rows apart, and say which.

        They would add the same to nearly every distance (`gramian.design.identifiers`). Columns of arrays all stay.
        """
        columns = _columns(objects)
        if _numbered(self.names):
            return self
        n_rows = len(columns[self.names[0]])
        sizes = {name: len(levels) + (columns[name].null_count > 0) for name, levels in self.levels.items()}
        found = {name: size for name, size in sizes.items() if is_identifier(size, n_rows)}
        if not found:
            return self
        listed = ", ".join(f"{name!r} ({size:,} levels)" for name, size in list(found.items())[:5])
        why = f"at least half as many levels as there are rows ({n_rows:,})"
        if len(found) == len(self.names):
            raise DataError(
                f"no columns are left to measure by: every column has {why}, as {listed}; add other columns"
            )
        _LOG.info(
            "identifiers are set aside, with %s: %s; to measure by them too, pass the matrix of gm.pairwise_distances with "
            "metric='precomputed'",
            why,
            listed,
        )
        self.ranges = np.array([r for name, r in zip(self.names, self.ranges, strict=True) if name not in found])
        self.names = [name for name in self.names if name not in found]
        self.levels = {name: levels for name, levels in self.levels.items() if name not in found}
        return self

    def state(self) -> dict[str, Any]:
        """Return columns, levels and ranges."""
        return {"names": self.names, "levels": self.levels, "ranges": self.ranges}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back columns, levels and ranges."""
        self.names, self.levels, self.ranges = state["names"], state["levels"], state["ranges"]

    def check_levels(self) -> None:
        """Raise where the restored state is not a list of names and their levels."""
        fine = all(isinstance(name, str) for name in self.names) and isinstance(self.levels, dict)
        if not fine or not set(self.levels) <= set(self.names):
            raise DataError("the columns and their levels do not fit each other")
        for levels in self.levels.values():
            if levels:
                canonical(pa.array(levels))

    def prepare(self, objects: Any) -> Objects:
        """Return the rows of a table as floats, (n, columns)."""
        columns = _columns(objects)
        missing = [name for name in self.names if name not in columns]
        if missing and len(columns) == len(self.names) and _numbered(self.names, list(columns)):
            # On one side an array, whose columns have no names of their own.
            columns, missing = dict(zip(self.names, columns.values(), strict=True)), []
        if missing:
            raise ColumnError(f"column {missing[0]!r} is not in the table; the distances were learned with it")
        out = np.empty((len(next(iter(columns.values()))), len(self.names)))
        for k, name in enumerate(self.names):
            if name in self.levels:
                out[:, k] = self._codes(name, _plain(columns[name]))
            else:
                out[:, k] = _numbers(name, _plain(columns[name]))
        empty = np.isnan(out).all(axis=1)
        if empty.any():
            raise DataError(f"row {int(empty.argmax())} has no observed value in any column; drop such rows")
        return out

    def _codes(self, name: str, column: pa.Array) -> npt.NDArray[np.float64]:
        """Return the place of each value among the known levels, NaN where it is missing, -1 where it is new."""
        if not observed(column):
            return np.full(len(column), np.nan)
        if not self.levels[name]:
            # Whatever new rows have here, no row of the reference table has it too: any kind of value will do.
            return np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, -1.0)
        known = Labels(canonical(pa.array(self.levels[name])))
        if label_family(column.type) != known.family:
            raise ColumnError(
                f"column {name!r} holds {type_words(column.type)}; in the reference table it has {known.words}"
            )
        column = canonical(column)
        # A level that the reference table lacks equals no code of it.
        codes = known.codes(column).astype(np.float64)
        codes[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return codes

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances, blocks of rows in threads."""
        from gramian.distances.metrics.pair_loops import gower

        rows, cols = np.ascontiguousarray(rows), np.ascontiguousarray(cols)
        out = np.empty((len(rows), len(cols)))

        def work(part: slice) -> None:
            gower(rows, cols, self.ranges, part.start, part.stop, out[part])

        over_rows(work, len(rows), n_jobs)
        if np.isnan(out).any():
            # Positions within a block would mislead: say what the two rows have instead.
            pair = np.argwhere(np.isnan(out))[0]
            seen = [np.array(self.names)[~np.isnan(table[at])] for table, at in zip((rows, cols), pair, strict=True)]
            raise DataError(
                f"two rows share no observed column: one has only {_listed(seen[0])}, the other {_listed(seen[1])}; fill "
                f"gaps or drop rows that are all but empty"
            )
        return out


def _listed(names: npt.NDArray[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names[:5]) + (", ..." if len(names) > 5 else "")


def split_column(objects: Any, name: str) -> tuple[pa.Table, list[Any]]:
    """Return a table without one of its columns, and that column's values."""
    columns = _columns(objects)
    if name not in columns:
        raise unknown_column(name, columns)
    values = columns.pop(name).to_pylist()
    return pa.table(columns), values


def _columns(objects: Any) -> dict[str, pa.Array]:
    table = open_table(objects)
    if isinstance(table, ArrayTable):
        chunks = [np.asarray(chunk.toarray() if hasattr(chunk, "toarray") else chunk) for chunk in table.chunks()]
        if not sum(map(len, chunks)):
            raise DataError("the table has no rows")
        values = np.concatenate(chunks)
        return {name: pa.array(values[:, k], from_pandas=True) for k, name in enumerate(table.names)}
    batches = list(table.batches())
    whole = pa.Table.from_batches(batches, schema=table.schema)
    if len(whole) == 0:
        raise DataError("the table has no rows")
    return {name: whole[name].combine_chunks() for name in whole.schema.names}


def _numbered(*names: list[str]) -> bool:
    """Whether any of some lists of names is the one that columns of an array get."""
    return any(own == column_names(len(own)) for own in names)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_category(kind: pa.DataType) -> bool:
    # A column of nothing may hold anything in new rows: categories without a level say so.
    return pa.types.is_dictionary(kind) or pa.types.is_null(kind) or label_family(kind) in ("text", "boolean")


def _levels(name: str, column: pa.Array) -> list[Any]:
    try:
        return canonical(pc.unique(_plain(column))).unique().drop_null().to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowIndexError):
        raise ColumnError(
            f"column {name!r} holds {type_words(column.type)}, which have no distance; leave it out"
        ) from None


def _numbers(name: str, column: pa.Array) -> npt.NDArray[np.float64]:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    try:
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        floats = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ColumnError(
            f"column {name!r} holds {type_words(column.type)}, which have no distance; leave it out"
        ) from None
    return floats.to_numpy(zero_copy_only=False)
