"""Many files of one format as one table: their common schema, their order, and their partition columns.

What a format must give is small: the schema of a file, and its rows. This module does what all formats share:
schemas are compared before a row is read, each batch is brought to the common schema, and hive keys become
constant columns.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from gramian.tables.base import BATCH_ROWS, ArrowTable, PartRows, Resumable, require_unique_names
from gramian.tables.files.paths import Files, facts, only
from gramian.tables.files.remote import is_remote
from gramian.tables.schemas import conform, merge_schemas, plain_schema, subset

Rows: TypeAlias = "Generator[tuple[int, int, pa.RecordBatch], None, None]"
"""Batches, each with the index of its file among the paths and the place of its first row in that file."""


class FileTable(Resumable):
    """Rows of one or more files, in the order of their paths.

    Parameters
    ----------
    files
        What `gramian.tables.files.paths.find_files` returned.
    numeric
        Columns to be read as float64.
    categorical
        Columns to be read as text, as it is written, where the format has no types of its own.
    csv
        What the user says of how text files and spreadsheets are written (`open_table`).
    describe
        Words for error messages; by default those of `files`.
    """

    _leaves_indices = True
    _rows: dict[str, int | None]
    """By path, where they are known without reading."""
    _known_by_path: tuple[str, ...] = ("_rows",)
    """Names of the attributes that say what was learnt of each file, by its path."""

    def __init__(
        self,
        files: Files,
        *,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        csv: Mapping[str, Any] | None = None,
        describe: str | None = None,
    ) -> None:
        self._files = files
        self._numeric, self._categorical = list(numeric), set(categorical)
        self._given = self._checked({} if csv is None else csv)
        self._words: tuple[str, ...] = self._given.get("na", ())
        for name in self._known_by_path:
            setattr(self, name, {})
        distinct = list(dict.fromkeys(files.paths))
        schemas = self._schemas(distinct)
        # Of thousands of files that follow each other with the same columns, the first says it all.
        told = [k for k, schema in enumerate(schemas) if not (k and schema.equals(schemas[k - 1]))]
        for k in told:
            require_unique_names(schemas[k].names, distinct[k])
        self._file_schema, disputed = merge_schemas((distinct[k], plain_schema(schemas[k])) for k in told)
        # A key that the files hold as a column too is taken from the files.
        keys = [key for key in files.partitions if key not in self._file_schema.names]
        self._keys = {key: _key_values(files.partitions[key]) for key in keys}
        fields = [*self._file_schema, *(pa.field(key, self._keys[key].type) for key in keys)]
        super().__init__(
            pa.schema(fields),
            describe=describe or files.describe,
            part_rows=self._count_rows(),
            disputed=disputed,
        )

    def _checked(self, csv: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that are for this format, after a look at their values."""
        return {}

    @property
    def files(self) -> list[str]:
        """The paths of the files, in reading order."""
        return self._files.paths

    def partitions(self, n_parts: int) -> list[ArrowTable]:
        """Return tables of some of the files each, or of parts of one large file: of about the same size, in order."""
        sizes = [self._size(path) for path in self._files.paths]
        most = max(1.0, sum(sizes) / max(n_parts, 1))
        parts: list[ArrowTable] = []
        waiting: list[int] = []
        held = 0.0
        for index, size in enumerate(sizes):
            if waiting and held + size > most:
                parts.append(self._of(waiting))
                waiting, held = [], 0.0
            pieces = self._of([index])._pieces(round(size / most)) if size > most else []
            if pieces:
                parts.extend(pieces)
            else:
                waiting.append(index)
                held += size
        return [*parts, self._of(waiting)] if waiting else parts

    def _of(self, chosen: Sequence[int]) -> FileTable:
        """Return the table of some of the files, with the types of all of them, as it can be read in another process."""
        part = copy(self)
        files = only(self._files, *chosen)
        # A worker may have another working directory.
        places = {path: path if is_remote(path) else os.path.abspath(path) for path in files.paths}
        part._files = replace(files, paths=[places[path] for path in files.paths])
        part._keys = {key: values.take(pa.array(chosen)) for key, values in self._keys.items()}
        for name in self._known_by_path:
            known = getattr(self, name)
            setattr(part, name, {there: known[path] for path, there in places.items() if path in known})
        first, *others = files.paths
        part.describe = first if not others else f"{first} and {len(others)} more"
        part.parts = PartRows(part._count_rows())
        part.n_rows = part.parts.total
        return part

    def _size(self, path: str) -> float:
        """Return how much there is to read in a file, in units that all of them share."""
        return float(facts([path])[path][1])

    def _pieces(self, n_pieces: int) -> Sequence[ArrowTable]:
        """Return about so many parts of the only file; none where it has no places to cut it at."""
        return []

    @abstractmethod
    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        """Return the schema of each file, with floats for `numeric` where it declares none, and keep what reading needs."""

    def identity(self) -> dict[str, Any]:
        """Return names, sizes and times of the files, and how they are read."""
        known = facts(self._files.paths)
        return {
            "the files": [list(known[path]) for path in self._files.paths],
            "their columns": [[field.name, str(field.type)] for field in self.schema],
            "csv": {name: str(value) for name, value in self._given.items()},
        }

    def _count_rows(self) -> list[int | None]:
        """Return the number of rows of each file, None where that is not known without reading it."""
        return [self._rows.get(path) for path in self._files.paths]

    @abstractmethod
    def _read_files(self, schema: pa.Schema, first: int, skip: int) -> Rows:
        """Yield the rows from the file `first` on.

        Batches have the columns of `schema`, in any order, as the file has them. Of the first `skip` rows of the file
        `first`, batches may be left out; the others are as they always are.
        """

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        # Rows must be counted where only keys are asked for: one column of the files stands in.
        inside = [name for name in columns if name not in self._keys] or self.stand_in
        file_schema = subset(self._file_schema, inside)
        first, skip = self.parts.place(start)
        at, end = first, 0
        with closing(self._read_files(file_schema, first, skip)) as source:
            for index, row, batch in source:
                for ended in range(at, index):
                    # Files without a row give no batch.
                    self.parts.note(ended, end)
                    skip, end = max(0, skip - end), 0
                at, end = index, row + batch.num_rows
                for offset in range(0, batch.num_rows, BATCH_ROWS):
                    rows = batch.slice(offset, BATCH_ROWS)
                    before = skip - row - offset
                    if before > 0:
                        rows = rows.slice(min(before, rows.num_rows))
                    if rows.num_rows:
                        yield self._with_keys(conform(rows, file_schema, self.files[index]), index, schema)
                    del rows
                del batch

    @property
    def stand_in(self) -> list[str]:
        """One column that all files have."""
        return [name for name in self._file_schema.names if name not in self._disputed][:1]

    def _with_keys(self, batch: pa.RecordBatch, index: int, schema: pa.Schema) -> pa.RecordBatch:
        if not self._keys:
            return batch
        arrays = [
            _repeated(self._keys[name][index : index + 1], batch.num_rows) if name in self._keys else batch.column(name)
            for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _key_values(values: list[str | None]) -> pa.Array:
    """Return the values of a hive key, one per file: int64 if all are whole numbers, else text codes over one dictionary."""
    if all(value is None or re.fullmatch(r"-?\d{1,18}", value) for value in values):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.string()).dictionary_encode()


def _repeated(value: pa.Array, n_rows: int) -> pa.Array:
    """Return an array of one value so many times."""
    if value.null_count:
        return pa.nulls(n_rows, value.type)
    if pa.types.is_dictionary(value.type):
        return pa.DictionaryArray.from_arrays(_repeated(value.indices, n_rows), value.dictionary)
    return pa.array(np.full(n_rows, value[0].as_py(), value.type.to_pandas_dtype()))
