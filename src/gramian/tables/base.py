"""The two shapes in which rows reach the rest of the package.

An `ArrowTable` gives record batches of named columns; an `ArrayTable` gives 2-d float chunks, dense or CSR.
Both know their names before a row is read. A third shape is not needed: whatever is not a matrix of floats
has typed columns, and a matrix of floats would only lose its layout (and a copy) on the way through Arrow.

Batches without dictionaries, whose entries differ from batch to batch.

How many rows the parts of a table have, as far as that is known, and where among them a row lies.

Consecutive batches in groups of a bounded number of rows.

Which system a frame is at home in, told by the names of its classes: nothing is imported to find out.

Work done one step ahead in the background, in order, and stopped when nobody wants it any more.

A queue between two threads can be abandoned with its producer blocked on a full queue. Futures cannot: one
worker runs the next tasks while the caller uses the last result, no more than `ahead` are submitted at a
time, and closing the generator cancels those that have not begun. At most one task, a fraction of a second,
is waited for.

Tables seen through another table: some columns left out, or all under other names.

Tables whose parts differ in columns, read as one: a column that a part lacks is missing values there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from copy import copy
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from gramian.arrays import sparse as sp
from gramian.arrays.threads import one_of
from gramian.errors import ColumnError, DataError, unknown_column
from gramian.tables.schemas import conform, merge_schemas, observed, subset

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
    part_rows
        Of a table in parts, such as files, the rows of each; None where they are not known.
    one_shot
        Whether the rows can be read only once.
    disputed
        Columns that the parts of a table do not agree on, of the null type in the schema, each with the error that
        reading it raises. Whoever does not read them need not care.
    """

    schema: pa.Schema
    parts: PartRows
    """The rows of its parts, as far as they are known."""
    # Whether a reader that looks at indices itself may be left to it.
    _leaves_indices = False
    _unlooked: frozenset[str] = frozenset()
    """Columns whose indices are left to the reader of the batches to look at."""

    def __init__(
        self,
        schema: pa.Schema,
        *,
        describe: str,
        n_rows: int | None = None,
        part_rows: Sequence[int | None] | None = None,
        one_shot: bool = False,
        disputed: Mapping[str, DataError] | None = None,
    ) -> None:
        self.parts = PartRows([n_rows] if part_rows is None else part_rows)
        super().__init__(describe=describe, n_rows=self.parts.total, one_shot=one_shot)
        self._disputed = dict(disputed or {})
        require_unique_names(schema.names, describe)
        if not schema.names:
            raise DataError(f"{describe} has no columns")
        self.schema = schema.remove_metadata()

    def typed_by_values(self, column: str) -> bool:
        """Whether a column of texts would be one of numbers or dates without some of its values, as in a CSV file."""
        return False

    def batches(self, columns: Sequence[str] | None = None, *, start: int = 0) -> Generator[pa.RecordBatch, None, None]:
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
        if not self._leaves_indices:
            return self
        left = copy(self)
        left._unlooked = frozenset(columns)
        return left

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

    def partitions(self, n_parts: int) -> list[ArrowTable]:
        """Return tables of consecutive rows, about so many, that can be read in other processes; none where that cannot be.

        One that holds several files has partitions itself, one a file.
        """
        return []

    def _stream(self, columns: list[str], start: int) -> Generator[pa.RecordBatch, None, None]:
        source = self._read_from(columns, start) if start else self._read(columns)
        try:
            for batch in source:
                if batch.num_rows:
                    yield batch
                # What was used must be gone before the next is read, here and wherever batches pass through.
                del batch
        finally:
            _close(source)

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
            _close(source)


class Resumable(ArrowTable):
    """A table that can be read from any row on: without the parts before it, where it is known how long they are."""

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._read_from(columns, 0)

    @abstractmethod
    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        """Yield batches as `_read` does, from row `start` on."""


class ArrayTable(_Source, ABC):
    """Float columns, streamed as 2-d chunks: numpy arrays as they lie in memory, or CSR.

    Parameters
    ----------
    names
        One name per column: ``x0, x1, ...`` where the source has none.
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


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with what dictionaries stand for in their place."""
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with what dictionaries stand for in their place."""
    arrays = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=decoded_schema(batch.schema))


class PartRows:
    """The rows of files, or other parts, read one after the other; a text file's are known once it has been read.

    Parameters
    ----------
    n_rows : sequence of int or None
        Rows of each part, None where not known.

    Examples
    --------
    >>> parts = PartRows([3, None, None])
    >>> parts.place(5)
    (1, 2)
    >>> parts.note(1, 2)
    >>> parts.place(5), parts.up_to(4)
    ((2, 0), [3])
    """

    def __init__(self, n_rows: Sequence[int | None]) -> None:
        self._n_rows = list(n_rows)

    def place(self, row: int) -> tuple[int, int]:
        """Return the part to begin with in order to come to a row, and how many of its rows lie before that row."""
        part = 0
        for n in self._n_rows:
            if n is None or n > row:
                break
            row -= n
            part += 1
        return part, row

    def note(self, part: int, n_rows: int) -> None:
        """Note the rows of a part that has been read to its end."""
        self._n_rows[part] = n_rows

    def know(self, n_rows: Iterable[int]) -> None:
        """Take the rows of the first parts from an earlier reading, so that they can be passed over unread."""
        for part, n in enumerate(n_rows):
            self.note(part, n)

    def up_to(self, row: int) -> list[int]:
        """Return the rows of the parts that end by a row."""
        part, _ = self.place(row)
        return [n for n in self._n_rows[:part] if n is not None]

    @property
    def total(self) -> int | None:
        """Rows of all parts, None where not known."""
        known = [n for n in self._n_rows if n is not None]
        return sum(known) if len(known) == len(self._n_rows) else None


def stretches(
    batches: Iterable[pa.RecordBatch], at_most: int, at_least: int | None = None, n_bytes: int | None = None
) -> Generator[list[pa.RecordBatch], None, None]:
    """Yield consecutive batches in groups of at most so many rows, slicing those that are longer.

    A group is complete as soon as it has `at_least` so many, by default as many as it may have, or `n_bytes` of them: texts may
    be of any length.

    Examples
    --------
    >>> batches = [pa.record_batch({"x": list(range(n))}) for n in (3, 4)]
    >>> [[batch.num_rows for batch in group] for group in stretches(batches, 5)]
    [[3, 2], [2]]
    """
    enough = at_most if at_least is None else at_least
    waiting: list[pa.RecordBatch] = []
    # Added up as they come: over thousands of small files, adding up all that wait for each would grow by the square.
    n_waiting = bytes_waiting = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            waiting.append(batch.slice(start, at_most - n_waiting))
            n_waiting += waiting[-1].num_rows
            start += waiting[-1].num_rows
            if n_bytes is not None:
                # Dictionaries aside, which batches share.
                columns = waiting[-1].columns
                bytes_waiting += sum((c.indices if pa.types.is_dictionary(c.type) else c).nbytes for c in columns)
            if n_waiting >= enough or (n_bytes is not None and bytes_waiting >= n_bytes):
                yield waiting
                waiting, n_waiting, bytes_waiting = [], 0, 0
        # Before the next is read.
        del batch
    if waiting:
        yield waiting


_SYSTEMS = {"dask": "dask", "dask_expr": "dask", "pyspark": "spark"}


def home_of(source: Any) -> str | None:
    """Return the engine that a source's rows lie in, `"dask"` or `"spark"`; None for rows that lie anywhere else.

    Examples
    --------
    >>> home_of([[1.0, 2.0]]) is None
    True
    """
    roots = (kind.__module__.partition(".")[0] for kind in type(source).__mro__)
    return next((_SYSTEMS[root] for root in roots if root in _SYSTEMS), None)


Result = TypeVar("Result")


def run_ahead(
    tasks: Iterator[Callable[[], Result]], *, ahead: int = 1, threads: int = 1
) -> Generator[Result, None, None]:
    """Yield the results of `tasks` in order, with up to `ahead` of them computed before they are asked for.

    With one thread tasks run one after the other, so they may share state such as a sequential reader.

    Examples
    --------
    >>> list(run_ahead(iter([lambda: 1, lambda: 2])))
    [1, 2]
    """
    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="gramian-ahead")

    def run(task: Callable[[], Result]) -> Result:
        with one_of(threads):
            return task()

    try:
        for task in tasks:
            pending.append(pool.submit(run, task))
            # The task may hold a batch, which should not live until the next one is there.
            del task
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        # On an error or an early end the tasks not begun are dropped; waiting for the one that runs keeps its
        # files and buffers from outliving the generator.
        pool.shutdown(wait=True, cancel_futures=True)
        _close(tasks)


def iterate_ahead(source: Iterator[Result], *, ahead: int = 2) -> Generator[Result, None, None]:
    """Yield the items of a sequential iterator, up to `ahead` of them computed in the background."""
    finished = object()

    def tasks() -> Iterator[Callable[[], object]]:
        while True:
            yield lambda: next(source, finished)

    try:
        with closing(run_ahead(tasks(), ahead=ahead)) as results:
            for item in results:
                if item is finished:
                    break
                yield item  # type: ignore[misc]
    finally:
        _close(source)


def _close(source: Iterator[object]) -> None:
    """Close a generator; other iterators have nothing to close."""
    close = getattr(source, "close", None)
    if close is not None:
        close()


def as_columns(table: ArrowTable, schema: pa.Schema, start: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table from row `start` on with the columns of `schema`, missing values where it has none."""
    there = set(table.schema.names)
    # Rows must be counted where it has none of the columns.
    have = [name for name in schema.names if name in there] or table.schema.names[:1]
    for batch in table.batches(have, start=start):
        yield conform(batch, schema, table.describe, fill=True)


class View(Resumable):
    """Other columns of another table: without some of them, or with further ones, of missing values alone."""

    def __init__(self, table: ArrowTable, schema: pa.Schema) -> None:
        super().__init__(schema, describe=table.describe, n_rows=table.n_rows, one_shot=table.one_shot)
        self._table, self.parts = table, table.parts

    def identity(self) -> dict[str, Any] | None:
        """Return what tells the rows of the other table from others, and how they are seen."""
        own = self._table.identity()
        seen = [[field.name, str(field.type)] for field in self.schema]
        return None if own is None else {**own, "the columns shown": seen}

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        return as_columns(self._table, subset(self.schema, columns), start)


class Renamed(View):
    """Columns of another table under other names, matched by position."""

    def __init__(self, table: ArrowTable, names: Sequence[str]) -> None:
        fields = [pa.field(new, table.schema.field(k).type) for k, new in enumerate(names)]
        super().__init__(table, pa.schema(fields))

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        known = dict(zip(self.schema.names, self._table.schema.names, strict=True))
        old = [known[name] for name in columns]
        for batch in self._table.batches(old, start=start):
            yield batch.rename_columns(columns)


def without(table: ArrowTable, names: Sequence[str]) -> ArrowTable:
    """Return a table that does not show some of its columns, and never reads them."""
    return View(table, pa.schema([field for field in table.schema if field.name not in names]))


def with_names(table: ArrowTable | ArrayTable, names: Sequence[str]) -> ArrowTable | ArrayTable:
    """Return a table whose columns take these names by position."""
    if isinstance(table, ArrayTable):
        table.names = list(names)
        return table
    return Renamed(table, names)


def typed(table: ArrowTable | ArrayTable) -> ArrowTable:
    """Return the table as named columns of their own types: a matrix of floats as one column per number."""
    return table.as_arrow() if isinstance(table, ArrayTable) else table


def _shown(table: Any) -> ArrowTable | ArrayTable | None:
    """Return the table that a view shows, None for a table of its own."""
    inner = getattr(table, "_table", None)
    return inner if isinstance(inner, ArrowTable | ArrayTable) else None


def innermost(table: ArrowTable | ArrayTable) -> ArrowTable | ArrayTable:
    """Return the table that another one shows, through however many views."""
    while (inner := _shown(table)) is not None:
        table = inner
    return table


def over(view: ArrowTable | ArrayTable, part: ArrowTable | ArrayTable) -> Any:
    """Return a part of the innermost table seen as `view` shows the whole of it.

    Examples
    --------
    >>> from gramian.tables.opening import open_table
    >>> whole, part = (open_table(pa.table({"a": values, "b": values})) for values in ([1, 2, 3], [2]))
    >>> list(over(without(whole, ["b"]), part).batches())[0].to_pydict()
    {'a': [2]}
    """
    inner = _shown(view)
    if inner is None:
        return part
    shown: Any = copy(view)
    shown._table = over(inner, part)
    shown.n_rows, shown.parts = part.n_rows, PartRows([part.n_rows])
    return shown


class Union(Resumable):
    """The rows of several tables one after the other, with every column that any of them has.

    Parameters
    ----------
    parts
        At least one.
    describe
        Words for error messages.
    numeric
        Columns to be read as float64.
    fill
        Whether a column that a part lacks is missing values there; otherwise that is an error.
    """

    def __init__(
        self, parts: Sequence[ArrowTable], *, describe: str, numeric: Sequence[str] = (), fill: bool = True
    ) -> None:
        named = [(part.describe, part.schema) for part in parts]
        schema, disputed = merge_schemas(named, numeric=numeric, fill=fill)
        if disputed and not fill:
            named = [(part.describe, _typed_by_values(part, disputed)) for part in parts]
            schema, disputed = merge_schemas(named, numeric=numeric)
        super().__init__(
            schema,
            describe=describe,
            part_rows=[part.n_rows for part in parts],
            one_shot=any(part.one_shot for part in parts),
            disputed=disputed,
        )
        self._parts = list(parts)

    @property
    def files(self) -> list[str]:
        """The paths of the files, in reading order."""
        return [path for part in self._parts for path in getattr(part, "files", [])]

    def typed_by_values(self, column: str) -> bool:
        """Whether the parts that have a column take its type from its values."""
        return all(part.typed_by_values(column) for part in self._parts if column in part.schema.names)

    def identity(self) -> dict[str, Any] | None:
        """Return what tells the parts from others."""
        parts = [part.identity() for part in self._parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        columns = [[field.name, str(field.type)] for field in self.schema]
        files = [file for part in known for file in part["the files"]]
        return {**known[0], "the files": files, "their columns": columns}

    def partitions(self, n_parts: int) -> list[ArrowTable]:
        """Return tables of parts of one part each, with every column of all; none where some part has none."""
        share = max(1, n_parts // len(self._parts))
        split = [part.partitions(share) for part in self._parts]
        if not all(split):
            return []
        return [self._of(part) for parts in split for part in parts]

    def _of(self, part: ArrowTable) -> Union:
        alone = copy(self)
        alone._parts, alone.n_rows, alone.describe = [part], part.n_rows, part.describe
        alone.parts = PartRows([part.n_rows])
        return alone

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        first, row = self.parts.place(start)
        for k, part in enumerate(self._parts[first:], start=first):
            for batch in as_columns(part, schema, row):
                yield batch
                row += batch.num_rows
            self.parts.note(k, row)
            row = 0


def _typed_by_values(table: ArrowTable, names: Iterable[str]) -> pa.Schema:
    """Return a table's schema with the null type for those of `names` that hold no value in it."""
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    for name in kinds.keys() & set(names):
        if not table.one_shot and not any(observed(batch.column(0)) for batch in table.batches([name])):
            kinds[name] = pa.null()
    return pa.schema(list(kinds.items()))


def filled(table: ArrowTable | ArrayTable, names: Iterable[str]) -> ArrowTable | ArrayTable:
    """Return a table with these columns, of missing values where it has none itself."""
    have = set(table.schema.names if isinstance(table, ArrowTable) else table.names)
    absent = [name for name in dict.fromkeys(names) if name not in have]
    if not absent:
        return table
    own = typed(table)
    return View(own, pa.schema([*own.schema, *(pa.field(name, pa.null()) for name in absent)]))
