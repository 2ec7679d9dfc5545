"""Rows of data for a fitted model, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gramian.cli.shared.usage import UsageError
from gramian.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from gramian.tables import ArrowTable


def batches_of(
    model: Any, table: ArrowTable, keep: Sequence[str], reserved: Sequence[str] = ()
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the number of the first row, and rows with the columns a model reads and those to keep.

    Parameters
    ----------
    model : fitted estimator
    table : where the rows come from
    keep : columns to copy through
    reserved : names of columns that the output has anyway
    """
    from gramian.cli.shared.sources import require_columns
    from gramian.engines.local import stretches
    from gramian.estimators.io.files import batch_rows

    require_columns(table, keep)
    clash = sorted(set(keep) & set(reserved))
    if clash:
        raise UsageError(f"--keep {clash[0]}: the output has a column of that name; rename it in the data first")
    design = model._design()
    design.check(table.schema.names)
    needed = list(dict.fromkeys([*design.origins, *keep]))
    row = 0
    with closing(stretches(table.batches(needed), batch_rows(2 * len(needed)))) as groups:
        for group in groups:
            for batch in group:
                yield row, batch
                row += batch.num_rows
    if not row:
        raise DataError(f"{table.describe} has no rows")
