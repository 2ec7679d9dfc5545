"""The local engine: reading, encoding and counting overlap on the cores of this process.

This thread reads and encodes while a second one has the pool count the stretch before: Arrow's own threads read ahead
meanwhile, so no core waits for another's stage. At most two stretches are in memory. The pool lives as long as the call:
no thread outlives it, which keeps the engine safe under fork, spawn and the threads of other schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.allocator import arrow_from_the_system
from gramian.arrays.threads import one_blas_thread
from gramian.design.codebook import OutsideDictionary
from gramian.design.encoded import Encoded
from gramian.design.encoder import Encoder
from gramian.engines.base import Engine, Result, batch_rows
from gramian.engines.checkpoint import Checkpoint, KeptProgress
from gramian.engines.counters import MemoryBudget, Pass
from gramian.errors import DataError, NoRowsError
from gramian.moments.value import Moments
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
            work = Pass(
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
            with closing(_encoded(table, encoder, pool, start, n_bytes)) as encoded:
                for n_read, rows in encoded:
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


def _encoded(
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
