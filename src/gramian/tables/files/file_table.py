"""Many files of one format as one table: their common schema, their order, and their partition columns.

What a format must give is small: the schema of a file, and its rows. This module does what all formats share:
schemas are compared before a row is read, each batch is brought to the common schema, and hive keys become
constant columns.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from gramian.tables.base import BATCH_ROWS, ArrowTable, require_unique_names
from gramian.tables.files.paths import Files
from gramian.tables.schemas import conform, merge_schemas, plain_schema, subset


class FileTable(ArrowTable):
    """Rows of one or more files, in the order of their paths.

    Parameters
    ----------
    files
        What `gramian.tables.files.paths.find_files` returned.
    numeric
        Columns to be read as float64.
    describe
        Words for error messages; by default those of `files`.
    """

    def __init__(self, files: Files, *, numeric: Sequence[str] = (), describe: str | None = None) -> None:
        self._files = files
        self._numeric = list(numeric)
        distinct = list(dict.fromkeys(files.paths))
        schemas = self._schemas(distinct)
        for path, schema in zip(distinct, schemas, strict=True):
            require_unique_names(schema.names, path)
        named = zip(distinct, map(plain_schema, schemas), strict=True)
        self._file_schema, disputed = merge_schemas(named)
        # A key that the files hold as a column too is taken from the files.
        keys = [key for key in files.partitions if key not in self._file_schema.names]
        self._keys = {key: _Constant(files.partitions[key]) for key in keys}
        fields = [*self._file_schema, *(pa.field(key, self._keys[key].type) for key in keys)]
        super().__init__(
            pa.schema(fields),
            describe=describe or files.describe,
            n_rows=self._count_rows(distinct),
            disputed=disputed,
        )

    @property
    def files(self) -> list[str]:
        """The paths of the files, in reading order."""
        return self._files.paths

    @abstractmethod
    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        """Return the schema of each file, with floats for `numeric` where it declares none, and keep what reading needs."""

    def _count_rows(self, paths: list[str]) -> int | None:
        """Return the number of rows of all files where that is known without reading them."""
        return None

    @abstractmethod
    def _read_files(self, paths: list[str], schema: pa.Schema) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield (index into `paths`, batch): the columns of `schema`, in any order, as the file has them."""

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        # Rows must be counted where only keys are asked for: one column of the files stands in.
        inside = [name for name in columns if name not in self._keys] or self.stand_in
        file_schema = subset(self._file_schema, inside)
        paths = self._files.paths
        source = self._read_files(paths, file_schema)
        try:
            for index, batch in source:
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    rows = conform(batch.slice(start, BATCH_ROWS), file_schema, paths[index])
                    yield self._with_keys(rows, index, schema)
                    del rows
                del batch
        finally:
            source.close()  # type: ignore[attr-defined]

    @property
    def stand_in(self) -> list[str]:
        """One column that all files have."""
        return [name for name in self._file_schema.names if name not in self._disputed][:1]

    def _with_keys(self, batch: pa.RecordBatch, index: int, schema: pa.Schema) -> pa.RecordBatch:
        if not self._keys:
            return batch
        arrays = [
            self._keys[name].column(index, batch.num_rows) if name in self._keys else batch.column(name)
            for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Constant:
    """A hive key, one value a file: int64 if all are whole numbers, else text codes over one dictionary."""

    def __init__(self, values: list[str | None]) -> None:
        self._values = values
        if all(value is None or re.fullmatch(r"-?\d{1,18}", value) for value in values):
            self.type = pa.int64()
            return
        self.type = pa.dictionary(pa.int32(), pa.string())
        labels = list(dict.fromkeys(value for value in values if value is not None))
        self._dictionary = pa.array(labels, pa.string())
        self._code = {label: code for code, label in enumerate(labels)}

    def column(self, index: int, n_rows: int) -> pa.Array:
        value = self._values[index]
        if value is None:
            return pa.nulls(n_rows, self.type)
        if self.type == pa.int64():
            return pa.array(np.full(n_rows, int(value), dtype=np.int64))
        codes = pa.array(np.full(n_rows, self._code[value], dtype=np.int32))
        return pa.DictionaryArray.from_arrays(codes, self._dictionary)
