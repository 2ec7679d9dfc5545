"""What a place to run a pass must offer: rows reduced to moments, and rows mapped batch by batch.

Whatever reads data uses one of the two. `reduce` adds rows up (`gramian.collect`, and every `fit` from rows). `map` gives one
result per batch, in order (`transform_file`, `transform_stream`, `preview`, the sample of a report, and on the command line
`transform`, `predict` and `detect`). What is done to a batch is a function that knows neither the source nor the engine, so a
method works on every engine, and an engine is one file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from gramian.arrays.memory import parse_bytes
from gramian.arrays.threads import usable_cores
from gramian.design.encoder import Encoder
from gramian.errors import Argument, DataError
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable

if TYPE_CHECKING:
    from gramian.engines.checkpoint import Checkpoint

Result = TypeVar("Result")

# A batch of rows with all that is read and made of them; long enough that starting threads for it costs nothing beside it.
BATCH_BYTES = 2**26
BATCH_ROWS = 2**19


def batch_rows(n_values: int) -> int:
    """Return how many rows to take at a time where each is read as, or becomes, so many values.

    Examples
    --------
    >>> batch_rows(4) == BATCH_ROWS, batch_rows(2**20)
    (True, 8)
    """
    return max(1, min(BATCH_ROWS, BATCH_BYTES // (8 * max(n_values, 1))))


class Engine(ABC):
    """A place where a table is read once.

    Parameters
    ----------
    n_jobs, memory_limit, progress
        As in `gramian.collect`.
    """

    _default_jobs: int | None = None

    def __init__(
        self, *, n_jobs: int | None = None, memory_limit: int | str | None = None, progress: bool | None = None
    ) -> None:
        self.n_threads = usable_cores(self._default_jobs if n_jobs is None else n_jobs)
        self.memory_limit = None if memory_limit is None else parse_bytes(memory_limit)
        self.progress = progress

    def resolved(self, source: Any) -> Any:
        """Return what a source stands for in this engine: a name may be that of a table there."""
        return source

    @abstractmethod
    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table.

        Parameters
        ----------
        table : ArrowTable or ArrayTable
        encoder : Encoder
            Fresh; it grows its codebooks during the pass, and says which columns, weights and folds there are.
        """

    def reduce_kept(self, table: ArrowTable | ArrayTable, encoder: Encoder, checkpoint: Checkpoint) -> Moments:
        """Return the moments of a table, progress being kept in a file; here an error, for an engine that keeps none.

        Parameters
        ----------
        table, encoder
            As in `reduce`.
        checkpoint : Checkpoint
            Where progress is kept, and where that of an earlier pass may be.
        """
        raise DataError(
            Argument("checkpoint"),
            f" is kept by the local engine, not by {type(self).__name__}; leave it out, or collect files with ",
            Argument("engine", "local"),
        )

    @abstractmethod
    def map(
        self,
        table: ArrowTable,
        function: Callable[[pa.RecordBatch], Result],
        *,
        columns: Sequence[str],
        rows: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """Yield a function of each batch of a table, in the order of its rows.

        Parameters
        ----------
        table : ArrowTable
        function : callable
            Of a record batch with these columns; it may be called in another thread or process.
        columns : sequence of str
            Those to read.
        rows : int, optional
            Rows of a batch at most; by default as many as fit a bounded number of bytes.
        limit : int, optional
            Stop after so many rows of the table; nothing beyond the batch that holds the last of them is read.
        """
