"""How a fitted model reads a table: which columns, and what its methods take in place of a batch of them.

A table is opened and checked once, here. A model over columns (`design_`) then has every batch encoded once, and gives the
encoded rows to as many of its methods as are asked; a model of distances has the objects of every batch picked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from typing import Any, Generic, TypeVar

import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from gramian.engines.base import Engine, batch_rows
from gramian.engines.collect import choose_engine
from gramian.errors import NoRowsError
from gramian.estimators.base.distance_estimator import DistanceTransformer
from gramian.tables import ArrowTable

Result = TypeVar("Result")


@dataclass(frozen=True)
class Reading:
    """What a model takes of a table.

    Attributes
    ----------
    columns : list of str
        Those to read.
    prepare : callable
        From a batch with these columns to what the model's methods take.
    """

    columns: list[str]
    prepare: Callable[[pa.RecordBatch], Any]


def reading_of(model: Any, table: ArrowTable, columns: Sequence[str] | None = None) -> Reading:
    """Return how a model reads a table, having checked that it can.

    Parameters
    ----------
    model : fitted estimator
    table : ArrowTable
    columns : sequence of str, optional
        For a model of distances the columns of the objects, where that is known.
    """
    check_is_fitted(model)
    if isinstance(model, DistanceTransformer):
        return Reading(*model._object_reader(table, columns))
    design = getattr(model, "design_", None)
    if design is None:
        # A model of another kind takes named columns and checks every batch itself.
        names = [str(name) for name in getattr(model, "feature_names_in_", table.schema.names)]
        table.require(names)
        return Reading(names, partial(_selected, names))
    if getattr(model, "_hands_through", False):
        kept = [str(name) for name in model.get_feature_names_out()]
        table.require(kept)
        return Reading(kept, partial(_selected, kept))
    origins = list(design.origins)
    there = set(table.schema.names)
    table.require(name for name in origins if name in there)
    design.check(table.schema.names)
    return Reading(origins, design.encode)


def _selected(names: list[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(names)


class _Work(Generic[Result]):
    """A function of rows as a model takes them, as one of batches; it may be sent to another process.

    A model may solve when it is first asked: that is done once, and not by two threads at a time.
    """

    def __init__(
        self, prepare: Callable[[pa.RecordBatch], Any], function: Callable[[Any, pa.RecordBatch], Result]
    ) -> None:
        self._prepare, self._function = prepare, function
        self._first, self._solved = Lock(), Event()

    def __reduce__(self) -> Any:
        return type(self), (self._prepare, self._function)

    def __call__(self, batch: pa.RecordBatch) -> Result:
        rows = self._prepare(batch)
        if self._solved.is_set():
            return self._function(rows, batch)
        with self._first:
            result = self._function(rows, batch)
        self._solved.set()
        return result


def map_rows(
    model: Any,
    table: ArrowTable,
    function: Callable[[Any, pa.RecordBatch], Result],
    *,
    keep: Sequence[str] = (),
    width: int = 0,
    columns: Sequence[str] | None = None,
    engine: str | Engine | None = None,
) -> Iterator[Result]:
    """Yield a function of each batch of a table as a model takes it, and of the batch itself, in order.

    Parameters
    ----------
    model : fitted estimator
    table : ArrowTable
    function : callable
        Of what the model's methods take and of the record batch.
    keep : sequence of str
        Columns that the batch has beside those of the model.
    width : int
        Values that a row becomes: batches are the shorter for it.
    columns : sequence of str, optional
        See `reading_of`.
    engine : str or Engine, optional
        Where the function is called; by default where the table is at home.

    Raises
    ------
    DataError
        At once, where the table lacks a column; with the first batch, where it has no rows.
    """
    reading = reading_of(model, table, columns)
    table.require(keep)
    needed = list(dict.fromkeys([*reading.columns, *keep]))

    work = _Work(reading.prepare, function)
    if getattr(model, "_needs_all_rows", False):
        # What a row gives depends on those before it: rows are steps of one sequence.
        whole = pa.Table.from_batches(list(table.batches(needed)), pa.schema([table.schema.field(n) for n in needed]))
        return _some(iter([work(b) for b in whole.combine_chunks().to_batches()]), table.describe)
    runs = choose_engine(engine, table, n_jobs=1 if getattr(model, "_one_at_a_time", False) else None)
    return _some(runs.map(table, work, columns=needed, rows=batch_rows(len(needed) + width)), table.describe)


def _some(results: Iterator[Result], describe: str) -> Iterator[Result]:
    """Yield results, of which there must be one."""
    empty = True
    for result in results:
        empty = False
        yield result
    if empty:
        raise NoRowsError(f"{describe} has no rows")
