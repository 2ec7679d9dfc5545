"""The Spark engine: partitions are counted where they lie, and their moments are added up there too.

**Counting.** `mapInArrow` gives each partition to a Python worker of an executor as Arrow batches, and takes the bytes of its
moments back. Files named by path are not sent through Spark at all: a task gets the name of its part and reads that itself, as
the local engine would, dictionary pages as codes.

**Adding up.** The bytes are shuffled by neighbourhood (`FAN_IN` partitions each), added up in order on the executors, shuffled
again, and the last of three levels leaves one sum; that alone travels to the driver. Bytes are cut into pieces for the way,
because a row of Spark, and a batch of Arrow's, ends at 2 GiB.

All of it is frames and no RDD, so that a session of Spark Connect, which has no RDD, runs the same job.

**Failing.** An error about data is raised in the worker, Spark gives the task up after its usual retries, and the line is read
back out of the worker's traceback. Ctrl-C cancels this job and no other.

Functions of rows over Spark frames: lazy, with a schema that is known before any job runs.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import groupby
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.errors import AnalysisException
from pyspark.sql import Observation, functions, types

from gramian import errors
from gramian.design.encoder import Encoder
from gramian.engines.base import Engine, batch_rows
from gramian.engines.local import LocalEngine
from gramian.engines.partitions import PassPlan, finish, located, parts_of, reduced, shell_of
from gramian.errors import DataError, GramianError, MissingPackageError, missing_package, type_words
from gramian.moments.file import from_bytes, one_line, to_bytes
from gramian.moments.value import Moments
from gramian.progress import Progress
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.base import innermost, over, stretches
from gramian.tables.distributed.spark import SparkPartition, SparkTable

try:
    from pyspark import TaskContext
    from pyspark.sql import SparkSession
except ImportError:
    raise missing_package("this engine", "pyspark", extra="spark") from None

FAN_IN = 32
"""Neighbours that are added up in one task: two levels of so many, then a last one, hold a thousand partitions in 64 additions
one after the other, and ten thousand in 74."""

PIECE_BYTES = 2**24

TASK_ROWS, LEAST_ROWS = 2**22, 2**18
"""Rows of files that one task takes, unless that makes too few tasks to keep every core busy; and rows not worth a task."""

_PIECES = "near long, place long, piece int, data binary"
"""A neighbourhood, a place in it, and a piece of the moments there."""
_PIECE = pa.schema([("near", pa.int64()), ("place", pa.int64()), ("piece", pa.int32()), ("data", pa.binary())])


class SparkEngine(Engine):
    """The executors of a Spark session, classic or Connect.

    Parameters
    ----------
    n_jobs : int, optional
        Threads of one task; by default 1, as Spark counts cores.
    memory_limit : int or str, optional
        What counting may take in one task.
    progress : bool, optional
        As in `gramian.collect`; tasks are counted.
    """

    _default_jobs = 1

    def resolved(self, source: Any) -> Any:
        """Return the frame of a table that Spark's catalogue has under a name; all else as it is."""
        if not isinstance(source, str) or not _TABLE_NAME.fullmatch(source) or os.path.exists(source):
            return source
        session = _session()
        return session.table(source) if session.catalog.tableExists(source) else source

    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table, added up on the executors."""
        plan = PassPlan.of(encoder, n_threads=self.n_threads, memory_limit=self.memory_limit)
        inner = innermost(table)
        if isinstance(inner, SparkTable):
            session = inner.frame.sparkSession
            names = plan.source_columns if table is inner else inner.schema.names
            parts = inner.mapped(names, partial(_count, plan, shell_of(table, inner)), _PIECES)
        else:
            session = _session()
            tasks = _tasks(table, session)
            # One number per partition: the place of the task that it stands for.
            parts = session.range(0, len(tasks), 1, len(tasks)).mapInArrow(partial(_count_files, plan, tasks), _PIECES)
        with running(session, self.progress):
            rows = _summed(parts).collect()
        return finish([b"".join(row["data"] for row in rows)] if rows else [], table.describe)

    def map(self, *asked: Any, **options: Any) -> Iterator[Any]:
        """Yield a function of each batch, in order, computed on this machine as the partitions arrive."""
        return LocalEngine().map(*asked, **options)


_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")


def _session() -> Any:
    """Return the session in use, or start one."""
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _tasks(table: ArrowTable | ArrayTable, session: Any) -> list[ArrowTable]:
    """Return the parts of files that tasks read themselves."""
    context = getattr(session, "_sc", None)
    slots = 16 if context is None else int(context.defaultParallelism)
    n_tasks = 4 * slots if table.n_rows is None else max(4 * slots, table.n_rows // TASK_ROWS)
    if table.n_rows is not None:
        n_tasks = max(1, min(n_tasks, table.n_rows // LEAST_ROWS))
    reads = "files, tables and frames of Spark; leave it out, or make a frame with spark.createDataFrame"
    return parts_of(table, n_tasks, engine="spark", reads=reads)


def _count(plan: PassPlan, shell: ArrowTable | None, part: SparkPartition) -> Iterator[pa.RecordBatch]:
    """Yield the moments of a partition of a frame, in pieces."""
    place = _place()
    part.describe = f"partition {place} of {part.describe}"
    yield from _in_pieces(place, reduced(part if shell is None else over(shell, part), plan))


def _count_files(
    plan: PassPlan, tasks: list[ArrowTable], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the moments of the files that tasks read, in pieces, from the numbers of the tasks."""
    for place in (number.as_py() for batch in batches for number in batch.column(0)):
        yield from _in_pieces(place, reduced(tasks[place], plan))


def _place() -> int:
    """Return which partition a task works on."""
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _in_pieces(place: int, data: bytes) -> Iterator[pa.RecordBatch]:
    for piece, start in enumerate(range(0, len(data), PIECE_BYTES)):
        part = {"near": place // FAN_IN, "place": place, "piece": piece, "data": data[start : start + PIECE_BYTES]}
        yield pa.RecordBatch.from_pylist([part], _PIECE)


def _add_neighbours(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the sum of each neighbourhood, in pieces, from moments in pieces and in order."""
    for near, whole in groupby(_whole(batches), key=lambda one: one[0]):
        yield from _in_pieces(near, _added(data for _, data in whole))


def _add_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the sum of everything, in pieces."""
    yield from _in_pieces(0, _added(data for _, data in _whole(batches)))


def _added(parts: Iterator[bytes]) -> bytes:
    # One after the other: what waits to be added is never more than one partition's.
    return to_bytes(reduce(add, map(from_bytes, parts), Moments.empty()))


def _whole(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """Yield (neighbourhood, bytes) for each place, from pieces that come in order."""
    rows = (
        (near.as_py(), place.as_py(), data.as_py())
        for batch in batches
        for near, place, data in zip(batch.column("near"), batch.column("place"), batch.column("data"), strict=True)
    )
    for (near, _), pieces in groupby(rows, key=lambda row: row[:2]):
        yield near, b"".join(data for _, _, data in pieces)


def _summed(parts: Any) -> Any:
    """Return a frame of one sum, in pieces, from a frame of the moments of partitions."""
    for _ in range(2):
        # Without a number of partitions, so that Spark joins those that are small.
        near = parts.repartition("near").sortWithinPartitions("near", "place", "piece")
        parts = near.mapInArrow(_add_neighbours, _PIECES)
    return parts.repartition(1).sortWithinPartitions("place", "piece").mapInArrow(_add_all, _PIECES)


@contextmanager
def running(session: Any, progress: bool | None) -> Iterator[None]:
    """Within the block Spark runs one job: it is shown, cancelled where the block is left early, and fails in one line."""
    job = _ClassicJob(session) if hasattr(session, "_jsparkSession") else _ConnectJob(session)
    try:
        with job, Progress(progress, None, unit="tasks") as shown, _polled(job, shown):
            try:
                yield
            except BaseException as error:
                if not _from_spark(error):
                    job.cancel()
                raise
    except Exception as error:
        if not _from_spark(error):
            raise
        raise one_line_of(error) from None


class _ClassicJob:
    """Jobs of a session in this process, by a tag beside those that the user has set."""

    def __init__(self, session: Any) -> None:
        self._context, self._tag = session.sparkContext, f"gramian-{uuid4().hex}"

    def __enter__(self) -> _ClassicJob:
        self._context.addJobTag(self._tag)
        return self

    def __exit__(self, *error: object) -> None:
        self._context.removeJobTag(self._tag)

    def cancel(self) -> None:
        self._context.cancelJobsWithTag(self._tag)

    def n_done(self) -> int:
        """Return how many tasks have ended."""
        tracker = self._context.statusTracker()
        known = self._context._jsc.sc().statusTracker()
        jobs = [tracker.getJobInfo(job) for job in known.getJobIdsForTag(self._tag)]
        stages = {stage for job in jobs if job is not None for stage in job.stageIds}
        infos = [tracker.getStageInfo(stage) for stage in stages]
        return sum(info.numCompletedTasks for info in infos if info is not None)


class _ConnectJob:
    """Operations of a session of Spark Connect, by a tag."""

    def __init__(self, session: Any) -> None:
        self._session, self._tag = session, f"gramian-{uuid4().hex}"
        self._done = 0

    def __enter__(self) -> _ConnectJob:
        self._session.addTag(self._tag)
        self._session.registerProgressHandler(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._session.removeProgressHandler(self._note)
        self._session.removeTag(self._tag)

    def _note(self, stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        self._done = sum(stage.num_completed_tasks for stage in stages or ())

    def cancel(self) -> None:
        self._session.interruptTag(self._tag)

    def n_done(self) -> int:
        """Return how many tasks have ended."""
        return self._done


@contextmanager
def _polled(job: _ClassicJob | _ConnectJob, shown: Progress) -> Iterator[None]:
    """Show twice a second how many tasks have ended, where anybody looks."""
    if not shown.wanted:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        before = 0
        while not ended.wait(0.5):
            done = job.n_done()
            shown.advance(done - before)
            before = done

    watching = threading.Thread(target=look, name="gramian-progress", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _from_spark(error: BaseException) -> bool:
    return any(kind.__module__.split(".")[0] in ("pyspark", "py4j", "grpc") for kind in type(error).__mro__)


_OURS = re.compile(r"^gramian\.errors\.(\w+): (.*)$", re.MULTILINE)
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def one_line_of(error: BaseException) -> GramianError:
    r"""Return what an error of Spark's says, without the stacks of two machines and two languages.

    Examples
    --------
    >>> one_line_of(Exception("Traceback ...\ngramian.errors.ColumnError: partition 3: column 'x' holds text\n at org..."))
    ColumnError("partition 3: column 'x' holds text")
    """
    said = str(error)
    ours = _OURS.findall(said)
    if ours:
        name, message = ours[-1]
        kind = getattr(errors, name, DataError)
        return kind(message) if issubclass(kind, GramianError) else DataError(message)
    absent = _ABSENT.search(said)
    if absent:
        return MissingPackageError(
            f"the executors of Spark cannot import {absent[1]}; install gramian there for the Python that Spark starts "
            f"(PYSPARK_PYTHON), as it is installed here"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*: ", line) and "PythonException" not in line
    ]
    words = one_line(error) if not lines else (telling or lines)[-1 if telling else 0]
    return DataError(f"Spark gave the pass up: {words[:300]}")


_SPARK = {
    pa.bool_(): types.BooleanType(),
    pa.int8(): types.ByteType(),
    pa.int16(): types.ShortType(),
    pa.int32(): types.IntegerType(),
    pa.int64(): types.LongType(),
    pa.float32(): types.FloatType(),
    pa.float64(): types.DoubleType(),
    pa.string(): types.StringType(),
    pa.large_string(): types.StringType(),
    pa.date32(): types.DateType(),
}
"""What Spark calls the types of results."""


def map_frame(
    frame: Any, function: Callable[[Any], Any], names: Sequence[str], *, keep: Sequence[str] = (), dtype: Any = None
) -> Any:
    """Return a function of the rows of a Spark frame, as a lazy Spark frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    function : callable
        From rows, an Arrow table, to an array or a table with one row for each of them; its `columns`, where it has some, are
        all that is read. It travels with the plan, and Spark sends a large one to each executor once.
    names : sequence of str
        Of the columns that it gives.
    keep : sequence of str
        Columns that are copied through, in front of them.
    dtype : numpy dtype, optional
        Of results that are floats; by default as they are.

    Returns
    -------
    pyspark.sql.DataFrame
        Rows in the order of the frame's; `keep`, then `names`.
    """
    table = SparkTable(frame)
    wanted = getattr(function, "columns", None)
    readable = wanted or [f.name for f in table.schema if not pt.is_nested(f.type)]
    table.require([*readable, *keep])
    results = _results(function, _example(table.schema, readable), list(names), dtype)
    fields = [*(frame.schema.fields[table.schema.names.index(name)] for name in keep)]
    fields += [types.StructField(f.name, _spark_type(f, frame, table.schema), True) for f in results.schema]
    columns = list(dict.fromkeys([*readable, *keep]))
    mapping = partial(_map, function, readable, list(keep), results.schema, dtype)
    return table.mapped(columns, mapping, types.StructType(fields))


def _spark_type(field: pa.Field, frame: Any, schema: pa.Schema) -> Any:
    """Return Spark's type of a result: of a column that is handed through, the one it has."""
    if field.name in schema.names and schema.field(field.name).type == field.type:
        return frame.schema.fields[schema.names.index(field.name)].dataType
    kind = _SPARK.get(field.type)
    if kind is None:
        raise DataError(
            f"{field.name!r} holds {type_words(field.type)}, which Spark has no type for; compute it on rows in memory"
        )
    return kind


def _example(schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """Return two rows of some value, to see what a function makes of rows."""

    def column(kind: pa.DataType) -> pa.Array:
        if pt.is_string(kind):
            return pa.array(["a", "b"], kind)
        if pt.is_integer(kind) or pt.is_floating(kind):
            return pa.array([1, 1], kind)
        return pa.nulls(2, kind)

    return pa.table({name: column(schema.field(name).type) for name in names})


def _results(function: Callable[[Any], Any], rows: pa.Table, names: list[str], dtype: Any) -> pa.Table:
    """Return what a function gives for rows, as named columns."""
    answer = function(rows)
    if isinstance(answer, pa.RecordBatch | pa.Table):
        return pa.table({name: answer.column(k) for k, name in enumerate(names)})
    values = np.asarray(answer)
    values = values.reshape(len(values), -1)
    columns = {}
    for k, name in enumerate(names):
        column = values[:, k]
        if dtype is not None and column.dtype.kind == "f":
            column = column.astype(dtype, copy=False)
        columns[name] = pa.array(column)
    return pa.table(columns)


def _map(
    function: Callable[[Any], Any], columns: list[str], keep: list[str], schema: pa.Schema, dtype: Any, part: SparkPartition
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Yield the columns kept and a function of the rows of a partition, some of them at a time."""
    rows = batch_rows(len(columns) + len(schema))
    with located(part.describe):
        for group in stretches(part.batches(), rows):
            whole = pa.Table.from_batches(group)
            results = _results(function, whole.select(columns), schema.names, dtype)
            kept = [whole.column(name) for name in keep]
            table = pa.table([*kept, *results.cast(schema).columns], names=[*keep, *schema.names])
            yield from table.combine_chunks().to_batches()


def with_missing(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame with these columns, of missing values where it has none itself."""
    absent = [name for name in names if name not in frame.columns]
    return frame.withColumns({name: functions.lit(None) for name in absent}) if absent else frame


def write_parquet(frame: Any, out: str | os.PathLike[str]) -> int:
    """Have the executors write a frame to a new folder of Parquet files, and return the number of rows.

    Raises
    ------
    DataError
        Where the folder is there already: Spark would remove it before the new rows are written.
    """
    path = os.fspath(out)
    if not path.removesuffix("/").endswith(".parquet"):
        raise DataError(
            f"cannot write {path!r}: the executors of Spark write Parquet; name a folder that ends in .parquet"
        )
    counted = Observation()
    with running(frame.sparkSession, None):
        try:
            frame.observe(counted, functions.count(functions.lit(1)).alias("rows")).write.mode("error").parquet(path)
        except AnalysisException as error:
            if "PATH_ALREADY_EXISTS" not in str(error):
                raise
            raise DataError(f"cannot write {path!r}: it exists already; name another folder, or remove it") from None
        return int(counted.get["rows"])
