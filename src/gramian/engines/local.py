"""The local engine: reading, encoding and counting overlap on the cores of this process.

This thread reads and encodes while a second one has the pool count the stretch before: Arrow's own threads read ahead
meanwhile, so no core waits for another's stage. At most two stretches are in memory. The pool lives as long as the call:
no thread outlives it, which keeps the engine safe under fork, spawn and the threads of other schedulers.

The counters of one local pass: a set for each fold, renewed when a column changes its form, in a budget of memory.
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

from gramian.arrays.memory import Growth, arrow_from_the_system, available_memory, in_words
from gramian.arrays.threads import one_blas_thread
from gramian.design.codebook import OutsideDictionary
from gramian.design.encoder import Encoded, Encoder
from gramian.design.schema import Labels, Schema, positions
from gramian.engines.base import Engine, Result, batch_rows
from gramian.engines.checkpoint import Checkpoint, KeptProgress
from gramian.errors import Argument, Call, DataError, MemoryLimitError, NoRowsError, PythonOnly
from gramian.moments.algebra.levels import drop_empty_levels, map_levels
from gramian.moments.counting.accumulate import Accumulator
from gramian.moments.value import Moments, merge
from gramian.progress import Progress
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.base import run_ahead, stretches

STRETCH_ROWS = 2**18
STRETCH_BYTES = 2**27
LEAST_ROWS = 2**13
# Of the memory a user allows, what one stretch takes, encoded, and one piece of what is read: with what is read ahead, waits,
# is encoded and is counted, several of each are there at a time.
STRETCH_SHARE = 32
READ_SHARE = 64


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

    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table."""
        return _whole(self.add_up(table, encoder), table, encoder)

    def reduce_kept(self, table: ArrowTable | ArrayTable, encoder: Encoder, checkpoint: Checkpoint) -> Moments:
        """Return the moments of a table, progress being kept in a file."""
        with checkpoint.begin(table, encoder) as kept:
            return _whole(self.add_up(table, encoder, kept), table, encoder)

    def add_up(self, table: ArrowTable | ArrayTable, encoder: Encoder, kept: KeptProgress | None = None) -> Moments:
        """Return the moments of a table that may be a part of another: without rows they are the empty ones.

        Where every row weighs nothing they have columns and no rows.

        Parameters
        ----------
        table, encoder
            As in `reduce`.
        kept : KeptProgress, optional
            Where progress is kept; the encoder goes on from what it holds.
        """
        start = n_rows = 0 if kept is None else kept.row
        with (
            closing(MemoryBudget(self.memory_limit, encoder.widest)) as budget,
            ThreadPoolExecutor(self.n_threads, thread_name_prefix="gramian") as pool,
            ThreadPoolExecutor(1, thread_name_prefix="gramian-count") as counting,
            one_blas_thread(),
            arrow_from_the_system(self.memory_limit),
            Progress(self.progress, table.n_rows) as shown,
        ):
            work = FoldCounters(
                encoder,
                executor=pool,
                n_threads=self.n_threads,
                expected_rows=table.n_rows,
                budget=budget,
            )
            if kept is not None and start:
                work.restore(kept.parts)
                shown.advance(start)
            pending: Future[None] | None = None
            n_bytes = STRETCH_BYTES
            if self.memory_limit is not None:
                n_bytes = min(n_bytes, self.memory_limit // STRETCH_SHARE)
                table.read_within(self.memory_limit // READ_SHARE)
            with closing(encoded(table, encoder, pool, start, n_bytes)) as stretches_:
                for n_read, rows in stretches_:
                    budget.reserve("labels", encoder.nbytes)
                    if pending is not None:
                        pending.result()
                    n_rows += n_read
                    pending = counting.submit(
                        partial(work.add, rows) if kept is None else kept.task(work, rows, n_rows)
                    )
                    shown.advance(n_read)
            if pending is not None:
                pending.result()
            if encoder.weights is not None and len(encoder.weights) != n_rows:
                raise DataError(
                    f"sample_weight has {len(encoder.weights)} values and {table.describe} has {n_rows} rows"
                )
            if kept is not None and n_rows:
                kept.complete(work, n_rows)
            return work.finish()

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
    function: Callable[[pa.RecordBatch], Result],
    batches: Generator[pa.RecordBatch, None, None],
    rows: int,
    limit: int | None,
) -> Generator[Callable[[], Result], None, None]:
    """Yield one task per batch of at most so many rows."""
    left = limit
    with closing(stretches(batches, rows)) as groups, closing(batches):
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


def _whole(moments: Moments, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
    """Return the moments of a table that is no part of another, after checking that it is complete."""
    if len(moments.schema):
        encoder.check_complete()
    return require_rows(moments, table.describe)


def require_rows(moments: Moments, describe: str) -> Moments:
    """Return the moments of a whole table; raise where it had no rows, or none of any weight."""
    if not len(moments.schema):
        raise NoRowsError(f"{describe} has no rows")
    if not moments.n_rows and moments.rows_left_out:
        raise DataError(
            f"no row of {describe} has a target: {named(moments.targets)} is missing in all "
            f"{moments.rows_left_out:,} rows; name another column"
        )
    if not moments.n_rows:
        raise DataError("every sample weight is zero: no row is left to collect")
    return moments


def named(targets: Sequence[str]) -> str:
    """Return the names of target columns as a message has them.

    Examples
    --------
    >>> named(["a", "b"])
    "'a' or 'b'"
    """
    return " or ".join(map(repr, targets))


def encoded(
    table: ArrowTable | ArrayTable,
    encoder: Encoder,
    pool: Executor,
    start: int,
    n_bytes: int,
) -> Generator[tuple[int, Encoded], None, None]:
    """Yield stretches from a row on, of at most so many bytes, with the number of rows read for each."""
    row, weights = start, encoder.weights

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
    row_bytes = 2 * len(encoder.schema.coded) + 8 * len(encoder.schema.numbers)
    # With folds a stretch is split: a longer one keeps each part worth a call.
    longest = 4 * STRETCH_ROWS if encoder.n_folds else STRETCH_ROWS
    per_stretch = max(LEAST_ROWS, min(longest, n_bytes // row_bytes))
    # Half a stretch is worth counting at once: what comes next need not be waited for, nor be joined to it.
    columns = encoder.source_columns
    batches = table.leaving_indices(encoder.looks_at(table.schema)).batches(columns, start=start)
    with closing(stretches(batches, per_stretch, per_stretch // 2, n_bytes)) as groups:
        for group in groups:
            n = sum(batch.num_rows for batch in group)
            try:
                encoded = encoder.encode(group, weights=next_weights(n), executor=pool)
            except OutsideDictionary:
                # Which file it is, is known to the table where it looks itself.
                for _ in table.batches(columns, start=start):
                    pass
                raise
            # Encoded, a batch is of no use any more, and the next ones are on their way.
            group.clear()
            yield n, encoded
            del encoded


READING_SHARE = 4
"""Of the memory a user allows, what is left to reading and encoding: one part in so many."""


class MemoryBudget:
    """What one pass holds, refused before it passes the limit.

    Parameters
    ----------
    limit : int or None
        Bytes that the process may grow by; None for what is free, less a tenth for all that is not counted here.
    widest : callable, optional
        Gives the column with the most levels, and how many they are, for the message.
    """

    def __init__(self, limit: int | None, widest: Callable[[], tuple[str, int] | None] = lambda: None) -> None:
        self.limit = limit if limit is not None else int(0.9 * available_memory())
        # Of a limit of the user's own a part is left to what is being read, which nobody counts byte by byte.
        self._reading = 0 if limit is None else limit // READING_SHARE
        self._growth = None if limit is None else Growth(limit)
        self._widest = widest
        self._held: dict[object, int] = {}
        self._lock = Lock()

    def settle(self, nbytes: int) -> None:
        """Note that all counters have been emptied into moments of so many bytes."""
        with self._lock:
            self._held = {"labels": self._held.get("labels", 0), "moments": nbytes}

    def reserve(self, who: object, nbytes: int) -> None:
        """Note that `who` is about to hold `nbytes` in all."""
        with self._lock:
            more = nbytes - self._held.get(who, 0)
            total = sum(self._held.values()) + self._reading + more
            if total > self.limit:
                raise self._refusal(total)
            self._held[who] = nbytes
        if self._growth is not None:
            self._growth.expect(max(0, more))

    def all_read(self) -> None:
        """Note that no row is to come any more."""
        self._reading = 0

    def close(self) -> None:
        """Note that the pass has ended."""
        if self._growth is not None:
            self._growth.close()

    def _refusal(self, total: int) -> MemoryLimitError:
        numbers = sum(held for who, held in self._held.items() if isinstance(who, tuple) and who[1] == "numbers")
        # Where it is the scatter of numbers that takes the memory, no column stands out.
        widest = self._widest() if 2 * numbers < total else None
        name = None if widest is None else widest[0]
        words = "" if widest is None else f"column {name!r} has the most levels, {widest[1]:,}: "
        return MemoryLimitError(
            f"counting needs {in_words(total)} and {in_words(self.limit)} are allowed; {words}leave "
            f"{'the widest columns' if widest is None else 'it'} out with ",
            Argument("exclude") if name is None else Argument("exclude", [name]),
            PythonOnly(" or ", Argument("columns")),
            " (",
            Call("preview"),
            " shows such columns)",
            PythonOnly(", or collect in parts and ", Call("pool"), " each before adding"),
        )


class FoldCounters:
    """The counters of one pass, a set of them for each fold, renewed when a column changes its form.

    As many folds as divide evenly among the threads are counted a thread each, so that no thread waits for another; what is
    left over is split, as rows without folds are.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        executor: Executor,
        n_threads: int,
        expected_rows: int | None,
        budget: MemoryBudget,
    ) -> None:
        self._encoder, self._executor, self._n_threads = encoder, executor, n_threads
        self._n_parts = max(encoder.n_folds, 1)
        self._n_whole = self._n_parts - self._n_parts % n_threads if n_threads > 1 and encoder.n_folds else 0
        self._budget = budget
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
                    weighted=self._encoder.weighted,
                    expected_rows=self._expected_rows,
                    reserve=self._budget.reserve,
                    offsets=rows.offsets,
                    room=self._budget.limit // self._n_parts,
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
        return schema.with_form(set(rows.coded).difference(schema.coded), "integer")

    def _each(self, work: Callable[[int], None]) -> None:
        """Do something for every part that has a counter: in the pool where it takes one thread, here where it takes all."""
        count = len(self._counters)
        waiting = [self._executor.submit(work, k) for k in range(min(self._n_whole, count))]
        for task in waiting:
            task.result()
        for k in range(len(waiting), count):
            work(k)

    def _close(self) -> None:
        known: dict[tuple[str, int], Labels] = {}

        def labels(name: str, n_levels: int) -> Labels:
            # Folds share them: a copy each would be a table of texts for every fold.
            if (name, n_levels) not in known:
                known[name, n_levels] = self._encoder.labels(name, n_levels)
            return known[name, n_levels]

        self._each(lambda k: self._parts[k].append(self._counters[k].finish(labels)))
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
        self._budget.all_read()
        self._close()
        parts = [merge(part) for part in self._parts]
        if len(parts) > 1:
            held = sum(part.nbytes for part in parts)
            self._budget.settle(held)
            # The whole is no larger than its parts together.
            self._budget.reserve("whole", held)
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
