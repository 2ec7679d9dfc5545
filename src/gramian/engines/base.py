"""What `collect` is asked for, as one value: passed on whole, checked once, before any row is read.

What a place to run a pass must offer: rows reduced to moments, and rows mapped batch by batch.

Whatever reads data uses one of the two. `reduce` adds rows up (`gramian.collect`, and every `fit` from rows). `map` gives one
result per batch, in order (`transform_file`, `transform_stream`, `preview`, the sample of a report, and on the command line
`transform`, `predict` and `detect`). What is done to a batch is a function that knows neither the source nor the engine, so a
method works on every engine, and an engine is one file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.memory import parse_bytes
from gramian.arrays.threads import usable_cores
from gramian.arrays.types import Array
from gramian.design.bins import check_bins
from gramian.design.crosses import check_crosses
from gramian.design.encoder import Encoder, check_folds
from gramian.engines.checkpoint import Checkpoint
from gramian.errors import Argument, DataError, shown
from gramian.moments.value import Moments
from gramian.parameters import check, whole
from gramian.tables import ArrayTable, ArrowTable

Names = str | Sequence[str] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class CollectOptions:
    """The options of one pass; each is described in `gramian.collect`.

    Attributes
    ----------
    weight_column : str or None
        The column that `sample_weight` names.
    weights : array or None
        The values that `sample_weight` gives.
    target_missing : {"drop", "raise"} or None
        None stands for what `gramian.design.encoder.missing_targets` says.

    Examples
    --------
    >>> CollectOptions(folds=5, sample_weight="n").weight_column
    'n'
    """

    columns: Names = None
    exclude: Names = None
    categorical: Names = None
    numeric: Names = None
    targets: Names = None
    sample_weight: str | npt.ArrayLike | None = None
    like: Moments | str | PathLike[str] | None = None
    folds: int = 0
    fold_by: str | None = None
    random_state: int = 0
    engine: str | Engine | None = None
    n_jobs: int | None = None
    memory_limit: int | str | None = None
    progress: bool | None = None
    missing: str = "raise"
    csv: Mapping[str, Any] | None = None
    checkpoint: str | PathLike[str] | Checkpoint | None = None
    target_missing: str | None = None
    bins: Any = None
    crosses: Any = None
    weight_column: str | None = field(init=False)
    weights: Array | None = field(init=False)

    def __post_init__(self) -> None:
        n_folds = check_folds(self.folds)
        seed: Any = self.random_state
        check("random_state", seed, whole(None))
        check("target_missing", self.target_missing, None, "drop", "raise")
        check_bins(self.bins)
        if self.crosses is not None:
            check_crosses(self.crosses)
        if self.fold_by is not None and not n_folds:
            raise DataError(Argument("fold_by"), " needs ", Argument("folds"), ", the number of folds")
        if self.checkpoint == "" or not isinstance(self.checkpoint, str | PathLike | Checkpoint | None):
            raise DataError(Argument("checkpoint"), f" takes the path of a file; got {shown(self.checkpoint)}")
        if self.memory_limit is not None:
            parse_bytes(self.memory_limit)
        named = isinstance(self.sample_weight, str)
        object.__setattr__(self, "folds", n_folds)
        object.__setattr__(self, "weight_column", self.sample_weight if named else None)
        object.__setattr__(
            self, "weights", None if named or self.sample_weight is None else weight_values(self.sample_weight)
        )

    @property
    def weighted(self) -> bool:
        """Whether rows count by a weight."""
        return self.sample_weight is not None

    @property
    def kept(self) -> Checkpoint | None:
        """Where progress is kept."""
        given = self.checkpoint
        return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)

    @property
    def model(self) -> Moments | None:
        """The moments whose columns and kinds are enforced."""
        like = self.like
        return like if like is None or isinstance(like, Moments) else Moments.load(like)


def weight_values(given: Any) -> Array:
    """Return weights given beside a table, one per row, as numbers."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("sample_weight must be a column name, or numbers, one per row") from None
    if weights.ndim != 1:
        raise DataError(f"sample_weight must be a column name or one value per row; got shape {weights.shape}")
    return weights


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
