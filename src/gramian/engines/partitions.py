"""What engines of many processes share: a pass as a value that travels, and sums of what its parts gave.

Moments form a monoid, so a pass over a table in parts is a map and a sum: each partition is encoded by itself, with codebooks
of its own (levels are matched by label when moments are added), and the sum is taken in any shape of tree that keeps the order
of the partitions. Neighbours are added first and the left one's labels come first, so levels appear in the order of the rows,
as they do in one pass.

What crosses between processes is the plan (a few names), and moments as the bytes of their file: checked when they are
opened, and no code comes with them.

An empty partition gives the empty moments, the identity of `+`. What only the whole can answer, whether there were rows, and
whether any had weight, is asked in `finish`, in the words of the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gramian.arrays.memory import memory_reused
from gramian.design.encoder import Encoder
from gramian.engines.local import LocalEngine, require_rows
from gramian.errors import Argument, DataError, GramianError
from gramian.moments.file import from_bytes, one_line, to_bytes
from gramian.moments.value import Moments, merge
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.base import innermost, over
from gramian.tables.memory.arrow import MemoryTable


@dataclass(frozen=True)
class PassPlan:
    """What a pass does to every partition of a table.

    Attributes
    ----------
    settings : dict
        What the encoder of a partition is made with.
    wrap : callable, optional
        What makes the encoder of rows of that of their columns.
    n_threads, memory_limit : int
        What one partition may take.

    Examples
    --------
    >>> from gramian.engines.collect import planned
    >>> from gramian.engines.base import CollectOptions
    >>> from gramian.tables import open_table
    >>> rows = pa.table({"color": ["red", "blue", "red"]})
    >>> plan = PassPlan.of(planned(rows, {}, CollectOptions())[1])
    >>> parts = [plan.reduce(open_table(rows.slice(k, 1))) for k in range(3)]
    >>> finish(parts, "the rows").counts("color"), plan.reduce(open_table(rows.slice(0, 0))).n_rows
    (array([2, 1]), 0)
    """

    settings: dict[str, Any]
    wrap: Callable[[Encoder], Encoder] | None = None
    n_threads: int = 1
    memory_limit: int | None = None

    @classmethod
    def of(cls, encoder: Encoder, *, n_threads: int = 1, memory_limit: int | None = None) -> PassPlan:
        """Return the plan of a fresh encoder; raise where values that lie beside the table would have to be split."""
        for name in encoder.attached:
            raise DataError(f"{name} is given beside a table in partitions; make it a column of the table and name it")
        if encoder.weights is not None:
            raise DataError(
                Argument("sample_weight"), " is an array, and the table is in partitions; name a column of the table"
            )
        return cls(encoder.asked(), encoder.wrap, n_threads, memory_limit)

    @property
    def source_columns(self) -> list[str]:
        """The columns that a partition must have."""
        return self.encoder().source_columns

    def encoder(self) -> Encoder:
        """Return a fresh encoder for one partition."""
        encoder = Encoder(**self.settings)
        return encoder if self.wrap is None else self.wrap(encoder)

    def reduce(self, table: ArrowTable | ArrayTable) -> Moments:
        """Return the moments of a table that is one partition.

        Rows that all weigh nothing give moments with columns and no rows; no rows at all give the empty ones.
        """
        by_name = self.settings["weight_column"] or self.settings["fold_column"] or self.settings["schema"].coded
        if isinstance(table, ArrayTable) and by_name:
            table = table.as_arrow()
        engine = LocalEngine(n_jobs=self.n_threads, memory_limit=self.memory_limit, progress=False)
        return engine.add_up(table, self.encoder())


class Part:
    """Moments that travel between processes as the bytes of their file, and within one as they are.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Part(Moments.empty()))).moments.n_rows
    0
    """

    def __init__(self, moments: Moments) -> None:
        self.moments = moments

    @classmethod
    def from_bytes(cls, data: bytes) -> Part:
        """Return what `to_bytes` of some moments gave."""
        return cls(from_bytes(data))

    def __reduce__(self) -> Any:
        return Part.from_bytes, (to_bytes(self.moments),)

    def __sizeof__(self) -> int:
        # What a scheduler takes for its size in memory.
        return object.__sizeof__(self) + self.moments.nbytes


def reduced(table: ArrowTable | ArrayTable, plan: PassPlan) -> bytes:
    """Return the moments of a table that is one partition as bytes; what goes wrong says in which file (see `located`).

    Examples
    --------
    >>> from gramian.engines.collect import planned
    >>> from gramian.engines.base import CollectOptions
    >>> from gramian.tables import open_table
    >>> table, encoder = planned(pa.table({"color": ["red", "blue"]}), {}, CollectOptions())
    >>> from_bytes(reduced(table, PassPlan.of(encoder))).n_rows
    2
    """
    return to_bytes(part_of(table, plan).moments)


def part_of(table: ArrowTable | ArrayTable, plan: PassPlan) -> Part:
    """Return the moments of a table that is one partition, ready to travel; otherwise as `reduced`."""
    inner = innermost(table)
    try:
        with located(table.describe if table is inner else inner.describe), memory_reused():
            return Part(plan.reduce(table))
    except DataError:
        files = getattr(inner, "files", [])
        if len(files) > 1 and isinstance(inner, ArrowTable):
            # Which of them is at fault is worth another look.
            for part in inner.partitions(2**31):
                part_of(over(table, part), plan)
        raise


def parts_of(table: ArrowTable | ArrayTable, n_parts: int, *, engine: str, reads: str) -> list[ArrowTable]:
    """Return about so many parts of a table of files, seen as the table is; raise where it lies in this process.

    Parameters
    ----------
    table : ArrowTable or ArrayTable
    n_parts : int
    engine, reads : str
        Who is to read them, what it reads and what to do instead, for the message.
    """
    inner = innermost(table)
    parts = inner.partitions(n_parts) if isinstance(inner, ArrowTable) else []
    if not parts:
        raise DataError(f"{table.describe} lies in this process, and ", Argument("engine", engine), f" reads {reads}")
    return [over(table, part) for part in parts]


def shell_of(table: ArrowTable | ArrayTable, inner: ArrowTable | ArrayTable) -> ArrowTable | None:
    """Return how a table is seen, without the table inside, for `over` in another process; None where it is seen as it is."""
    if table is inner:
        return None
    names = inner.schema.names if isinstance(inner, ArrowTable) else inner.names
    nothing = MemoryTable(pa.table({name: pa.nulls(0) for name in names}), describe="nothing")
    shell: ArrowTable = over(table, nothing)
    return shell


def added(parts: Iterable[Part]) -> Part:
    """Return the sum of parts, in their order."""
    given = list(parts)
    return given[0] if len(given) == 1 else Part(merge(part.moments for part in given))


def finish(parts: Iterable[Moments | bytes], describe: str) -> Moments:
    """Return the moments of the whole table from those of its partitions, in their order.

    Raises
    ------
    DataError
        Where no partition had a row, or none of any weight: in the words of the local engine.
    """
    whole = merge(part if isinstance(part, Moments) else from_bytes(part) for part in parts)
    return require_rows(whole, describe)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Within the block, an error about data names the partition: one line with the file, the column and what to do.

    Examples
    --------
    >>> with located("day.parquet"):
    ...     raise DataError("column 'x' holds text")
    Traceback (most recent call last):
    gramian.errors.DataError: day.parquet: column 'x' holds text
    """
    try:
        yield
    except GramianError as error:
        if where in str(error):
            raise
        raise type(error)(f"{where}: ", *error.parts) from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{where}: {one_line(error)}") from None
