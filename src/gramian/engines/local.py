"""The local engine: reading, encoding and counting overlap on the cores of this process.

This thread reads and encodes while a second one has the pool count the stretch before: Arrow's own threads read ahead
meanwhile, so no core waits for another's stage. At most two stretches are in memory. The pool lives as long as the call:
no thread outlives it, which keeps the engine safe under fork, spawn and the threads of other schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.memory import available_memory, in_words, parse_bytes
from gramian.arrays.threads import one_blas_thread, usable_cores
from gramian.design.encoded import Encoded
from gramian.design.encoder import Encoder
from gramian.design.labels import Labels, positions
from gramian.design.schema import Schema
from gramian.engines.base import Engine, Result, batch_rows
from gramian.engines.checkpoint import Checkpoint, KeptProgress
from gramian.errors import Argument, Call, DataError, MemoryLimitError, NoRowsError, PythonOnly
from gramian.moments.algebra.levels import drop_empty_levels, map_levels
from gramian.moments.counting.accumulate import Accumulator
from gramian.moments.value import Moments, merge
from gramian.progress import Progress
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.prefetch import run_ahead
from gramian.tables.stretches import stretches

STRETCH_ROWS = 2**18
STRETCH_BYTES = 2**27
LEAST_ROWS = 2**13
# Of the memory a user allows, what one stretch takes, encoded, and one piece of what is read: with what is read ahead, waits,
# is encoded and is counted, several of each are there at a time.
STRETCH_SHARE = 32
READ_SHARE = 64


class MemoryBudget:
    """What the counters of one pass hold together, refused before it passes the limit."""

    def __init__(self, limit: int | None) -> None:
        # Without a limit of the user's own, a tenth is left to everything that is not counted here.
        self._limit = limit if limit is not None else int(0.9 * available_memory())
        self._held: dict[object, int] = {}
        self._lock = Lock()

    def settle(self, nbytes: int) -> None:
        """Note that all counters have been emptied into moments of so many bytes."""
        with self._lock:
            self._held = {"moments": nbytes}

    def reserve(self, who: object, nbytes: int) -> None:
        """Note that `who` is about to hold `nbytes` in all."""
        with self._lock:
            self._held[who] = nbytes
            total = sum(self._held.values())
        if total > self._limit:
            raise MemoryLimitError(
                f"counting needs {in_words(total)} and {in_words(self._limit)} are allowed; leave the widest "
                "columns out with ",
                Argument("exclude"),
                PythonOnly(" or ", Argument("columns")),
                " (",
                Call("preview"),
                " shows them)",
                PythonOnly(", or collect in parts and ", Call("pool"), " each before adding"),
            )


class Pass:
    """The counters of one pass, a set of them for each fold, renewed when a column changes its form.

    As many folds as divide evenly among the threads are counted a thread each, so that no thread waits for another; what is
    left over is split, as rows without folds are.
    """

    def __init__(
        self, encoder: Encoder, *, executor: Executor, n_threads: int, n_folds: int, weighted: bool,
        expected_rows: int | None, budget: MemoryBudget,
    ) -> None:  # fmt: skip
        self._encoder, self._executor, self._n_threads = encoder, executor, n_threads
        self._n_parts = max(n_folds, 1)
        self._n_whole = self._n_parts - self._n_parts % n_threads if n_threads > 1 and n_folds else 0
        self._weighted, self._budget = weighted, budget
        self._expected_rows = None if expected_rows is None else expected_rows // self._n_parts
        self._counters: list[Accumulator] = []
        self._parts: list[list[Moments]] = [[] for _ in range(self._n_parts)]

    def add(self, rows: Encoded) -> None:
        """Count a stretch of rows."""
        if self._counters:
            first = self._counters[0]
            if (rows.coded, rows.numeric, rows.offsets) != (first.coded, first.numeric, first.offsets):
                self._close()
        if not self._counters:
            self._counters = [
                Accumulator(
                    self._schema(rows),
                    executor=self._executor,
                    n_threads=1 if k < self._n_whole else self._n_threads,
                    weighted=self._weighted,
                    expected_rows=self._expected_rows,
                    reserve=self._budget.reserve,
                    offsets=rows.offsets,
                )
                for k in range(self._n_parts)
            ]
        if rows.folds is None:
            self._counters[0].add(rows)
            return
        folds = rows.by_fold(self._n_parts, self._executor)
        self._each(lambda k: self._counters[k].add(folds[k]))

    def _schema(self, rows: Encoded) -> Schema:
        """Return the columns as they are in these rows: the encoder is ahead, and may have made a number of an integer."""
        schema = self._encoder.schema
        for name in rows.coded:
            if not schema[name].by_level:
                schema = schema.with_form(name, "integer")
        return schema

    def _each(self, work: Callable[[int], None]) -> None:
        """Do something for every part that has a counter: in the pool where it takes one thread, here where it takes all."""
        count = len(self._counters)
        waiting = [self._executor.submit(work, k) for k in range(min(self._n_whole, count))]
        for task in waiting:
            task.result()
        for k in range(len(waiting), count):
            work(k)

    def _close(self) -> None:
        self._each(lambda k: self._parts[k].append(self._counters[k].finish(self._encoder.labels)))
        self._counters = []

    def settle(self) -> list[Moments]:
        """Return the moments so far, of each fold or of all rows, with levels as they are coded; counting starts afresh."""
        self._close()
        self._parts = [[merge(part)] for part in self._parts]
        self._budget.settle(sum(part.nbytes for (part,) in self._parts))
        return [part for (part,) in self._parts]

    def restore(self, parts: Sequence[Moments]) -> None:
        """Go on from what `settle` returned in another pass."""
        self._parts = [[part] for part in parts]
        self._budget.settle(sum(part.nbytes for part in parts))

    def finish(self) -> Moments:
        """Return the moments of all rows, with those of the folds."""
        self._close()
        parts = [merge(part) for part in self._parts]
        # Added up while all have the codes of the pass, so that nothing has to be aligned.
        whole = parts[0] if len(parts) == 1 else self._in_order_of_sight(merge(parts))
        folds = tuple(map(drop_empty_levels, parts)) if len(parts) > 1 else ()
        return replace(drop_empty_levels(whole), folds=folds)

    def _in_order_of_sight(self, moments: Moments) -> Moments:
        """Return the moments with levels as the rows showed them, not as the folds did."""
        changes = {}
        for k, (name, labels) in enumerate(zip(moments.coded, moments.labels, strict=True)):
            order = np.argsort(positions(labels.values, self._encoder.labels(name).values))
            mapping = np.empty(len(order), dtype=np.int64)
            mapping[order] = np.arange(len(order))
            if (mapping != np.arange(len(order))).any():
                changes[k] = (Labels(labels.values.take(pa.array(order))), mapping)
        return map_levels(moments, changes)


class LocalEngine(Engine):
    """The cores of this process.

    Parameters
    ----------
    n_jobs, memory_limit, progress
        As in `gramian.collect`.

    Examples
    --------
    >>> from gramian.tables import open_table
    >>> table = open_table(pa.table({"x": [1, 2, 3]}))
    >>> list(LocalEngine().map(table, lambda batch: batch.num_rows, columns=["x"], rows=2))
    [2, 1]
    """

    def __init__(
        self, *, n_jobs: int | None = None, memory_limit: int | str | None = None, progress: bool | None = None
    ) -> None:
        self.n_threads = usable_cores(n_jobs)
        self.memory_limit = None if memory_limit is None else parse_bytes(memory_limit)
        self.progress = progress

    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table."""
        return self._reduce(table, encoder, None)

    def reduce_kept(self, table: ArrowTable | ArrayTable, encoder: Encoder, checkpoint: Checkpoint) -> Moments:
        """Return the moments of a table, progress being kept in a file."""
        kept = checkpoint.begin(table, encoder)
        with kept:
            return self._reduce(table, encoder, kept)

    def _reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder, kept: KeptProgress | None) -> Moments:
        return reduce_table(
            table,
            encoder,
            weights=encoder.weights,
            weighted=encoder.weighted,
            n_folds=encoder.n_folds,
            n_threads=self.n_threads,
            memory_limit=self.memory_limit,
            progress=self.progress,
            kept=kept,
        )

    def map(
        self,
        table: ArrowTable,
        function: Callable[[pa.RecordBatch], Result],
        *,
        columns: Sequence[str],
        rows: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """Yield a function of each batch, in order, computed in threads while the batches after it are read."""
        names = list(columns)
        at_once = batch_rows(len(names)) if rows is None else rows
        tasks = _tasks(function, table.batches(names), at_once if limit is None else min(at_once, limit), limit)
        if limit is not None:
            # Whoever wants the first rows should not wait for those after them.
            return (task() for task in tasks)
        # Two batches at a time, one waiting, while the caller uses a fourth: threads do not wait for each other in a batch.
        return run_ahead(tasks, ahead=3, threads=min(2, self.n_threads))


def _tasks(
    function: Callable[[pa.RecordBatch], Result], batches: Iterator[pa.RecordBatch], rows: int, limit: int | None
) -> Generator[Callable[[], Result], None, None]:
    """Yield one task per batch of at most so many rows."""
    left = limit
    with closing(stretches(batches, rows)) as groups, closing(batches):  # type: ignore[type-var]
        for group in groups:
            while group:
                batch = group.pop(0)
                if left is not None:
                    batch = batch.slice(0, left)
                    left -= batch.num_rows
                yield partial(function, batch)
                del batch
                if left == 0:
                    return


def reduce_table(
    table: ArrowTable | ArrayTable,
    encoder: Encoder,
    *,
    weights: npt.NDArray[np.float64] | None,
    weighted: bool,
    n_folds: int,
    n_threads: int,
    memory_limit: int | None,
    progress: bool | None,
    kept: KeptProgress | None = None,
) -> Moments:
    """Read a table once and return its moments.

    Parameters
    ----------
    table : ArrowTable or ArrayTable
    encoder : Encoder
        Fresh; it grows its codebooks during the pass.
    weights : array, optional
        One weight a row, where they are not a column.
    weighted : bool
        Whether there are weights, from either place.
    n_folds : int
        0 for none.
    n_threads, memory_limit, progress
        As in `gramian.collect`.
    kept : KeptProgress, optional
        Where progress is kept; the encoder goes on from what it holds.
    """
    moments = added_up(
        table, encoder, weights=weights, weighted=weighted, n_folds=n_folds, n_threads=n_threads,
        memory_limit=memory_limit, progress=progress, kept=kept,
    )  # fmt: skip
    if len(moments.schema):
        encoder.check_complete()
    return require_rows(moments, table.describe)


def require_rows(moments: Moments, describe: str) -> Moments:
    """Return the moments of a whole table; raise where it had no rows, or none of any weight."""
    if not len(moments.schema):
        raise NoRowsError(f"{describe} has no rows")
    if not moments.n_rows:
        raise DataError("every sample weight is zero: no row is left to collect")
    return moments


def added_up(
    table: ArrowTable | ArrayTable,
    encoder: Encoder,
    *,
    weights: npt.NDArray[np.float64] | None,
    weighted: bool,
    n_folds: int,
    n_threads: int,
    memory_limit: int | None,
    progress: bool | None,
    kept: KeptProgress | None = None,
) -> Moments:
    """Return the moments of a table that may be a part of another: without rows they are the empty ones.

    Where every row weighs nothing they have columns and no rows. Parameters as in `reduce_table`.
    """
    start = n_rows = 0 if kept is None else kept.row
    with (
        ThreadPoolExecutor(n_threads, thread_name_prefix="gramian") as pool,
        ThreadPoolExecutor(1, thread_name_prefix="gramian-count") as counting,
        one_blas_thread(),
        Progress(progress, table.n_rows) as shown,
    ):
        work = Pass(
            encoder, executor=pool, n_threads=n_threads, n_folds=n_folds, weighted=weighted,
            expected_rows=table.n_rows, budget=MemoryBudget(memory_limit),
        )  # fmt: skip
        if kept is not None and start:
            work.restore(kept.parts)
            shown.advance(start)
        pending: Future[None] | None = None
        n_bytes = STRETCH_BYTES
        if memory_limit is not None:
            n_bytes = min(n_bytes, memory_limit // STRETCH_SHARE)
            table.read_within(memory_limit // READ_SHARE)
        with closing(_encoded(table, encoder, weights, pool, start, n_bytes)) as encoded:
            for n_read, rows in encoded:
                if pending is not None:
                    pending.result()
                n_rows += n_read
                pending = counting.submit(partial(work.add, rows) if kept is None else kept.task(work, rows, n_rows))
                shown.advance(n_read)
        if pending is not None:
            pending.result()
        if weights is not None and len(weights) != n_rows:
            raise DataError(f"sample_weight has {len(weights)} values and {table.describe} has {n_rows} rows")
        if kept is not None and n_rows:
            kept.complete(work, n_rows)
        return work.finish()


def _encoded(
    table: ArrowTable | ArrayTable,
    encoder: Encoder,
    weights: npt.NDArray[np.float64] | None,
    pool: Executor,
    start: int = 0,
    n_bytes: int = STRETCH_BYTES,
) -> Generator[tuple[int, Encoded], None, None]:
    """Yield stretches from a row on, of at most so many bytes, with the number of rows read for each."""
    row = start

    def next_weights(n: int) -> npt.NDArray[np.float64] | None:
        nonlocal row
        row += n
        if weights is None:
            return None
        if row > len(weights):
            raise DataError(f"sample_weight has {len(weights)} values and {table.describe} has more rows")
        return weights[row - n : row]

    if isinstance(table, ArrayTable):
        names = list(table.names)
        at = {name: k for k, name in enumerate(names)}
        wanted = [at[name] for name in encoder.source_columns]
        per_stretch = max(LEAST_ROWS, n_bytes // (16 * len(wanted)))
        for chunk in table.chunks():
            for start in range(0, chunk.shape[0], per_stretch):
                values = chunk[start : start + per_stretch]
                if wanted != list(range(len(names))):
                    values = values[:, wanted]
                yield values.shape[0], encoder.encode_array(values, weights=next_weights(values.shape[0]))
        return
    row_bytes = sum(2 if column.by_level else 8 for column in encoder.schema)
    # With folds a stretch is split: a longer one keeps each part worth a call.
    longest = 4 * STRETCH_ROWS if encoder.n_folds else STRETCH_ROWS
    per_stretch = max(LEAST_ROWS, min(longest, n_bytes // row_bytes))
    # Half a stretch is worth counting at once: what comes next need not be waited for, nor be joined to it.
    batches = table.batches(encoder.source_columns, start=start)
    with closing(stretches(batches, per_stretch, per_stretch // 2)) as groups:
        for group in groups:
            n = sum(batch.num_rows for batch in group)
            encoded = encoder.encode(group, weights=next_weights(n), executor=pool)
            # Encoded, a batch is of no use any more, and the next ones are on their way.
            group.clear()
            yield n, encoded
            del encoded
