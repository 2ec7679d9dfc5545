"""The two shapes in which rows reach the rest of the package.

An `ArrowTable` gives record batches of named columns; an `ArrayTable` gives 2-d float chunks, dense or CSR.
Both know their names before a row is read. A third shape is not needed: whatever is not a matrix of floats
has typed columns, and a matrix of floats would only lose its layout (and a copy) on the way through Arrow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.errors import ColumnError, DataError, unknown_column

Chunk: TypeAlias = "np.ndarray | sp.csr_array"

#: Rows of one batch where this package chooses. The counting kernels want stretches of about half a million
#: rows.
BATCH_ROWS = 524_288
_LEAST_ROWS = 4096


def require_unique_names(names: Sequence[str], where: str) -> None:
    """Raise `ColumnError` naming the first name that occurs twice."""
    if len(set(names)) == len(names):
        return
    name, times = Counter(names).most_common(1)[0]
    raise ColumnError(
        f"column {name!r} occurs {times} times in {where}; rename the columns so that each name is unique"
    )


class _Source:
    """What both kinds of table share: a description, a row count, and the rule for one-shot sources."""

    describe: str
    n_rows: int | None
    one_shot: bool
    home = "local"
    """The engine that the rows lie in."""
    read_bytes: int | None = None
    """Bytes that one piece of what is read may take, where the format leaves a choice; None: what is fastest."""

    def __init__(self, *, describe: str, n_rows: int | None, one_shot: bool = False) -> None:
        self.describe = describe
        self.n_rows = n_rows
        self.one_shot = one_shot
        self._started = False

    def _start(self) -> None:
        if self.one_shot and self._started:
            raise DataError(
                f"{self.describe} can be read only once and has been read already; "
                "pass a file, a table or a list of batches to read it again"
            )
        self._started = True

    def _batch_rows(self, n_columns: int) -> int:
        """Return how many rows of so many columns to take at a time from what lies in memory."""
        if self.read_bytes is None:
            return BATCH_ROWS
        # Numbers take eight bytes, texts and their places about twice that.
        return max(_LEAST_ROWS, min(BATCH_ROWS, self.read_bytes // (16 * max(n_columns, 1))))

    def read_within(self, n_bytes: int) -> None:
        """Read in pieces of at most about so many bytes from here on, the tables that this one is made of too."""
        self.read_bytes = n_bytes
        for inner in (getattr(self, "_table", None), *getattr(self, "_parts", ())):
            if isinstance(inner, _Source):
                inner.read_within(n_bytes)

    def __repr__(self) -> str:
        rows = "unknown rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        return f"<{type(self).__name__}: {self.describe}, {rows}>"


class ArrowTable(_Source, ABC):
    """Named columns, streamed as Arrow record batches.

    Parameters
    ----------
    schema
        Names and types of all columns. `batches` gives exactly these types.
    describe
        Short words for error messages: ``"day.parquet"``, ``"a pandas frame"``.
    n_rows
        Total number of rows where that is known without reading them.
    one_shot
        Whether the rows can be read only once.
    disputed
        Columns that the parts of a table do not agree on, of the null type in the schema, each with the error that
        reading it raises. Whoever does not read them need not care.
    """

    schema: pa.Schema
    _unlooked: frozenset[str] = frozenset()
    """Columns whose indices are left to the reader of the batches to look at."""

    def __init__(
        self,
        schema: pa.Schema,
        *,
        describe: str,
        n_rows: int | None = None,
        one_shot: bool = False,
        disputed: Mapping[str, DataError] | None = None,
    ) -> None:
        super().__init__(describe=describe, n_rows=n_rows, one_shot=one_shot)
        self._disputed = dict(disputed or {})
        require_unique_names(schema.names, describe)
        if not schema.names:
            raise DataError(f"{describe} has no columns")
        self.schema = schema.remove_metadata()

    def typed_by_values(self, column: str) -> bool:
        """Whether a column of texts would be one of numbers or dates without some of its values, as in a CSV file."""
        return False

    def batches(self, columns: Sequence[str] | None = None, *, start: int = 0) -> Iterator[pa.RecordBatch]:
        """Stream the rows of `columns`, in that order (of all columns if None), from row `start` on.

        Only these columns are read. Batches without rows are left out. Closing the iterator early stops
        whatever reads ahead in the background. What comes from row `start` on is what comes after the rows before it,
        batch by batch.
        """
        wanted = self.schema.names if columns is None else list(columns)
        if not wanted:
            raise DataError(f"no columns of {self.describe} were asked for; name at least one")
        self.require(wanted)
        require_unique_names(wanted, "the columns asked for")
        self._start()
        return self._stream(wanted, start)

    def leaving_indices(self, columns: Iterable[str]) -> ArrowTable:
        """Return the table for a reader that looks at the indices of these columns itself, before it follows them.

        Codes are read at the speed of memory, and a loop that reads them anyway looks at them for nothing. A table that
        follows indices itself, or hands them on, looks at all of them nevertheless: by default.
        """
        return self

    def require(self, columns: Iterable[str]) -> None:
        """Raise where a column is not there, or is not the same throughout the table."""
        known = set(self.schema.names)
        for name in columns:
            if name not in known:
                raise unknown_column(name, self.schema.names, where=self.describe)
            if name in self._disputed:
                raise self._disputed[name]

    def identity(self) -> dict[str, Any] | None:
        """Return what tells these rows from others without reading them, as JSON; None where nothing does.

        Names of entries are words for a message: what differs is named in it.
        """
        return None

    def rows_of_parts(self, start: int) -> list[int]:
        """Return the rows of each file, or other part, that ends by row `start`: what `know_parts` takes."""
        return []

    def know_parts(self, n_rows: Sequence[int]) -> None:
        """Take the rows of the first parts from an earlier reading, so that they can be passed over unread."""

    def partitions(self, n_parts: int) -> list[ArrowTable]:
        """Return tables of consecutive rows, about so many, that can be read in other processes; none where that cannot be.

        One that holds several files has partitions itself, one a file.
        """
        return []

    def _stream(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        source = self._read_from(columns, start) if start else self._read(columns)
        try:
            for batch in source:
                if batch.num_rows:
                    yield batch
                # What was used must be gone before the next is read, here and wherever batches pass through.
                del batch
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()

    @abstractmethod
    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches with exactly `columns`, typed as in `schema`."""

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        """Yield what `_read` does after its first `start` rows; here by reading them too."""
        source = self._read(columns)
        try:
            row = 0
            for batch in source:
                yield batch.slice(max(0, min(start - row, batch.num_rows)))
                row += batch.num_rows
                del batch
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()


class ArrayTable(_Source, ABC):
    """Float columns, streamed as 2-d chunks: numpy arrays as they lie in memory, or CSR.

    Parameters
    ----------
    names
        One name a column: ``x0, x1, ...`` where the source has none.
    dtype
        Floating dtype of the chunks.
    sparse
        Whether the chunks are `scipy.sparse.csr_array`.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        dtype: np.dtype[Any],
        describe: str,
        n_rows: int | None = None,
        one_shot: bool = False,
        sparse: bool = False,
    ) -> None:
        super().__init__(describe=describe, n_rows=n_rows, one_shot=one_shot)
        self.names = list(names)
        require_unique_names(self.names, describe)
        if not self.names:
            raise DataError(f"{describe} has no columns")
        self.dtype = np.dtype(dtype)
        self.sparse = sparse

    def chunks(self) -> Iterator[Chunk]:
        """Stream the rows as 2-d chunks of any height; an array in memory comes as itself, without a copy."""
        self._start()
        return self._chunks()

    @abstractmethod
    def _chunks(self) -> Iterator[Chunk]:
        """Yield the chunks."""

    def as_arrow(self) -> ArrowTable:
        """Return the same rows as typed columns, for a float column that is wanted as categories."""
        return _ColumnsOfArrays(self)


class _ColumnsOfArrays(ArrowTable):
    """The columns of an `ArrayTable`, one batch of `BATCH_ROWS` rows at a time."""

    def __init__(self, table: ArrayTable) -> None:
        # Arrow has no floats in another order of bytes than the machine's, and none wider than 64 bits.
        self._kind = table.dtype.newbyteorder("=") if table.dtype.itemsize <= 8 else np.dtype(np.float64)
        kind = pa.from_numpy_dtype(self._kind)
        super().__init__(
            pa.schema([(name, kind) for name in table.names]),
            describe=table.describe,
            n_rows=table.n_rows,
            one_shot=table.one_shot,
        )
        self._table = table

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        at = {name: k for k, name in enumerate(self._table.names)}
        places = [at[name] for name in columns]
        schema = pa.schema([self.schema.field(name) for name in columns])
        step = self._batch_rows(len(columns))
        for chunk in self._table.chunks():
            for start in range(0, chunk.shape[0], step):
                rows: Any = chunk[start : start + step, places]
                rows = rows.toarray() if sp.issparse(rows) else rows
                # Later batches of a stream may have another width than the first.
                rows = rows.astype(self._kind, copy=False)
                arrays = [pa.array(np.ascontiguousarray(rows[:, j])) for j in range(len(places))]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
