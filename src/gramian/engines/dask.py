"""The Dask engine: partitions are encoded where they lie, and their moments are summed in a tree on the workers.

One task reduces one partition of a frame, one block of an array, or some files (of a large Parquet file, some of its row
groups), holding a stretch of rows at a time. Its result is
moments, whose size follows the levels and not the rows. Sums of
neighbours follow, `FAN_IN` at a time; only the last one comes to the client. So what passes the scheduler are the tasks and
one sum, and a worker that dies costs its own tasks again.

Tasks run on the current `distributed.Client`. Where there is none they run on the scheduler that Dask itself would take:
threads of this process, or what its configuration names. A cluster of processes is not started unasked: a library that does
breaks every script without a guard around its main part, and threads do as well here, since counting releases the GIL.

Functions of rows over Dask frames and arrays: lazy, with a meta that is known before anything is computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.arrays.threads import usable_cores
from gramian.design.encoder import Encoder
from gramian.engines.base import Engine, Result, batch_rows
from gramian.engines.local import LocalEngine
from gramian.engines.partitions import PassPlan, added, finish, located, part_of, parts_of, shell_of
from gramian.errors import Argument, DataError, GramianError, missing_package
from gramian.moments.value import Moments
from gramian.progress import Progress
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.base import innermost, over, stretches
from gramian.tables.distributed.dask import DaskFloats, DaskFrame, DaskIntegers, FramePartition, example_rows, open_dask
from gramian.tables.memory.arrays import open_array

try:
    import pandas as pd
    from dask.base import compute, get_scheduler, tokenize
    from dask.callbacks import Callback
    from dask.delayed import delayed
except ImportError:
    raise missing_package("this engine", "dask", "distributed", extra="dask") from None

FAN_IN = 4
"""Sums added up by one task: few, as all of them are in its memory at a time, and a tree of 1,000 is five deep."""

TASK_ROWS = 2**22
"""Rows of files that one task takes, unless that makes too few tasks to keep every thread busy, or too many to schedule."""

TASKS_A_THREAD = (4, 32)
"""Tasks of files for each thread of the cluster: enough that the last one is short, and no more however many the rows."""

LEAST_ROWS = 2**18
"""A task of fewer rows takes longer to send than to count."""

MAPPED_ROWS = 2**20
"""Rows of files whose results one task holds and sends back."""


class DaskEngine(Engine):
    """The workers of Dask.

    Parameters
    ----------
    n_jobs : int, optional
        Threads of one task, by default 1: Dask itself runs one task on each thread.
    memory_limit : int or str, optional
        What counting may take in one task.
    progress : bool, optional
        As in `gramian.collect`; partitions are counted.
    """

    _default_jobs = 1

    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table, of which only the sum comes here."""
        plan = PassPlan.of(encoder, n_threads=self.n_threads, memory_limit=self.memory_limit)
        runner = _runner()
        places = _tasks(table, plan.source_columns, part_of, delayed(plan), _n_tasks(table.n_rows, runner.n_threads()))
        leaves = sums = list(places)
        while len(sums) > 1:
            sums = [delayed(added)(sums[k : k + FAN_IN]) for k in range(0, len(sums), FAN_IN)]
        with Progress(self.progress, len(leaves), unit="partitions") as shown:
            return finish([runner.value(sums[0], places, shown).moments], table.describe)

    def map(
        self,
        table: ArrowTable,
        function: Callable[[pa.RecordBatch], Result],
        *,
        columns: Sequence[str],
        rows: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """Yield a function of each batch, in order, computed by the workers a few partitions ahead."""
        names = list(columns)
        if limit is not None:
            # Whoever wants the first rows waits for the first partition, and no other is computed.
            return LocalEngine(n_jobs=1).map(table, function, columns=names, rows=rows, limit=limit)
        runner = _runner()
        work = partial(_mapped, columns=names, rows=batch_rows(len(names)) if rows is None else rows)
        n_tasks = runner.n_threads() if table.n_rows is None else -(-table.n_rows // MAPPED_ROWS)
        tasks = _tasks(table, names, work, delayed(function), n_tasks)
        return (result for results in runner.values(tasks) for result in results)


def _n_tasks(n_rows: int | None, n_threads: int) -> int:
    """Return how many tasks to make of files."""
    few, many = (n * n_threads for n in TASKS_A_THREAD)
    if n_rows is None:
        return many
    return max(1, min(max(few, min(many, n_rows // TASK_ROWS)), n_rows // LEAST_ROWS))


def _tasks(
    table: ArrowTable | ArrayTable, columns: list[str], work: Callable[..., Any], given: Any, n_tasks: int
) -> dict[Any, str]:
    """Return one delayed value per partition, `work(partition, given)`, in the order of the partitions, and what each reads.

    `given` is delayed itself, so that it goes to each worker once.
    """
    inner = innermost(table)
    if isinstance(inner, DaskFrame):
        names = columns if table is inner else inner.schema.names
        schema = pa.schema([inner.schema.field(name) for name in names])
        picked = inner.picked(names)
        at_work = picked.map_partitions(
            _on_frame, given, work, schema, shell_of(table, inner), inner.describe,
            meta=("work", object), enforce_metadata=False,
        )  # fmt: skip
        return {task: f"partition {k} of {inner.describe}" for k, task in enumerate(at_work.to_delayed())}
    if isinstance(inner, DaskFloats | DaskIntegers):
        shell, blocks = shell_of(table, inner), enumerate(inner.array.to_delayed().ravel())
        named = ((f"block {k} of {inner.describe}", block) for k, block in blocks)
        return {delayed(_on_block)(block, given, work, shell, name): name for name, block in named}
    reads = "files and frames of Dask; leave it out, or make a Dask frame of the rows"
    parts = parts_of(table, n_tasks, engine="dask", reads=reads)
    return {delayed(work)(part, given): innermost(part).describe for part in parts}


def _on_frame(
    frame: Any,
    given: Any,
    work: Callable[..., Any],
    schema: pa.Schema,
    shell: ArrowTable | None,
    describe: str,
    partition_info: Any = None,
) -> Any:
    """Do the work of one partition of a frame."""
    number = "a partition" if partition_info is None else f"partition {partition_info['number']}"
    part = FramePartition(frame, schema, describe=f"{number} of {describe}")
    return work(part if shell is None else over(shell, part), given)


def _on_block(block: Any, given: Any, work: Callable[..., Any], shell: ArrowTable | None, describe: str) -> Any:
    """Do the work of one block of an array."""
    part = open_array(block, describe=describe)
    return work(part if shell is None else over(shell, part), given)


def _mapped(
    table: ArrowTable, function: Callable[[pa.RecordBatch], Result], *, columns: list[str], rows: int
) -> list[Result]:
    """Return a function of each batch of one partition."""
    with located(table.describe):
        groups = stretches(table.batches(columns), rows)
        return [function(batch) for group in groups for batch in group]


# Where tasks run


def _runner() -> _OnClient | _HereInThreads:
    """Return what runs tasks: the current client, or the scheduler that Dask takes without one."""
    client = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    return _HereInThreads() if client is None or not hasattr(client, "scheduler_info") else _OnClient(client)


class _HereInThreads:
    """Dask's own scheduler in this process."""

    def n_threads(self) -> int:
        """Return how many tasks run at a time."""
        return usable_cores(None)

    def value(self, task: Any, leaves: Mapping[Any, str], shown: Progress) -> Any:
        """Return what a task gives, while its leaves are counted."""
        keys = {leaf.key for leaf in leaves}

        class Count(Callback):
            def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
                shown.advance(int(key in keys))

        with Count():  # type: ignore[no-untyped-call]
            return _or_one_line(lambda: compute(task)[0])  # type: ignore[no-untyped-call]

    def values(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield what tasks give, in order, as many at a time as there are threads."""
        waiting = iter(tasks)
        while some := list(islice(waiting, self.n_threads())):
            yield from _or_one_line(partial(compute, *some))


class _OnClient:
    """The workers of a `distributed.Client`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def n_threads(self) -> int:
        """Return how many tasks run at a time, at least one: workers may be on their way."""
        return max(1, sum(self._client.nthreads().values()))

    def value(self, task: Any, leaves: Mapping[Any, str], shown: Progress) -> Any:
        """Return what a task gives, while its leaves are counted; whatever interrupts it cancels them all."""
        from distributed import as_completed

        counted = list(leaves) if shown.wanted else []
        total, *pending = self._client.compute([task, *counted])
        # A leaf that nobody holds any more is forgotten as soon as it has been added.
        unseen = as_completed(pending)  # type: ignore[no-untyped-call]
        del pending
        try:
            for future in unseen:
                shown.advance(1)
                if future.status == "error":
                    break
                del future
            return _or_one_line(total.result, {leaf.key: place for leaf, place in leaves.items()})
        except BaseException:
            self._client.cancel([total, *unseen.futures], force=True)
            raise

    def values(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield what tasks give, in order, a few ahead of the one that is waited for."""
        ahead = 2 * self.n_threads()
        pending: deque[Any] = deque()
        waiting = iter(tasks)
        try:
            while True:
                for task in islice(waiting, ahead - len(pending)):
                    pending.append(self._client.compute(task))
                if not pending:
                    return
                future = pending[0]
                yield _or_one_line(future.result)
                pending.popleft()
                del future
        finally:
            if pending:
                self._client.cancel(list(pending), force=True)


def _or_one_line(run: Callable[[], Any], places: Mapping[Any, str] | None = None) -> Any:
    """Return what is run, or raise what went wrong on a worker as if it had been here: one line, no trace of Dask.

    `places` says what the tasks read, by their keys.
    """
    try:
        return run()
    except GramianError as error:
        raise type(error)(*error.parts) from None
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        place = (places or {}).get(getattr(error, "task", None), "one task")
        raise DataError(
            f"{place}: every worker of Dask that tried it was lost, mostly for want of memory; give them more, or name ",
            Argument("memory_limit"),
            " to learn what needs it",
        ) from None


def map_frame(frame: Any, function: Callable[[Any], Any], names: Sequence[str]) -> Any:
    """Return a function of the rows of a Dask frame or array, as a lazy one of the same kind.

    Parameters
    ----------
    frame : Dask DataFrame or Array
    function : callable
        From rows, a pandas frame or an array, to an array with one row for each of them.
    names : sequence of str
        Of the columns that it gives.

    Returns
    -------
    Dask DataFrame, Series or Array
        Of a frame, with its index and divisions: a Series where the function gives one value a row.
    """
    table = open_dask(frame)
    # Delayed, it goes to each worker once and not with every task.
    sent = delayed(function, name=f"model-{tokenize(function)}", traverse=False)
    if hasattr(table, "frame"):
        meta = _columns(example_rows(table.frame), function, list(names)).iloc[:0]
        return table.frame.map_partitions(_partition, sent, list(names), meta, meta=meta)
    array = table.array  # type: ignore[union-attr]
    sample = np.asarray(function(np.ones((2, array.shape[1]), dtype=array.dtype)))
    shape: dict[str, Any] = {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (array.chunks[0], sample.shape[1:])}
    return array.map_blocks(_block, sent, sample[:0], dtype=sample.dtype, meta=sample[:0], **shape)


def _columns(rows: pd.DataFrame, function: Callable[[Any], Any], names: list[str]) -> pd.DataFrame | pd.Series:
    answer = function(rows)
    if isinstance(answer, pd.DataFrame | pd.Series):
        return answer.set_axis(rows.index, axis=0)
    values = np.asarray(answer)
    if values.ndim == 1:
        return pd.Series(values, index=rows.index, name=names[0])
    return pd.DataFrame(values, index=rows.index, columns=names)


def _partition(rows: pd.DataFrame, function: Callable[[Any], Any], names: list[str], meta: Any) -> Any:
    """Return the columns of one partition, of the types of the meta."""
    columns = _columns(rows, function, names) if len(rows) else meta.reindex(rows.index)
    return columns.astype(meta.dtypes.to_dict() if isinstance(meta, pd.DataFrame) else meta.dtype)


def _block(rows: Any, function: Callable[[Any], Any], nothing: Any) -> Any:
    return np.asarray(function(rows)) if len(rows) else nothing
