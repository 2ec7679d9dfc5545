"""Rows of data mapped by a fitted model, batch by batch, for the commands that write one line per row."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gramian.cli.shared.usage import UsageError
from gramian.errors import NoRowsError

if TYPE_CHECKING:
    import pyarrow as pa

    from gramian.tables import ArrowTable

Result = TypeVar("Result")


def mapped(
    model: Any,
    table: ArrowTable,
    function: Callable[[Any, pa.RecordBatch], Result],
    *,
    keep: Sequence[str],
    outputs: Sequence[str],
    columns: Sequence[str] | None = None,
    missing: str = "raise",
) -> Iterator[Result]:
    """Yield a function of each batch as the model takes it, and of the batch itself, in order.

    Parameters
    ----------
    model : fitted estimator
    table : where the rows come from
    function : of rows and the batch they were read from
    keep : columns to copy through
    outputs : names of the columns that the output has beside them
    columns : those of the objects, for a model of distances
    missing : "fill" takes data without rows for what it is
    """
    from gramian.cli.shared.sources import require_columns
    from gramian.estimators.io.reading import map_rows

    require_columns(table, keep)
    clash = sorted(set(keep) & set(outputs))
    if clash:
        raise UsageError(f"--keep {clash[0]}: the output has a column of that name; rename it in the data first")
    results = map_rows(model, table, function, keep=keep, width=len(outputs), columns=columns)
    return _or_none(results) if missing == "fill" else results


def _or_none(results: Iterator[Result]) -> Iterator[Result]:
    """Yield results, of which there may be none."""
    with contextlib.suppress(NoRowsError):
        yield from results
