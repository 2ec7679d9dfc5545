"""The labels of a table's categories, from one reading of those columns alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from gramian.arrays.threads import usable_cores
from gramian.design.encoder import Encoder
from gramian.design.labels import Labels
from gramian.tables import ArrayTable, ArrowTable


def read_labels(table: ArrowTable | ArrayTable, encoder: Encoder) -> tuple[list[Labels], int]:
    """Return the labels of each category in order of first sight, and the number of rows read.

    Parameters
    ----------
    table : table
    encoder : Encoder
        Of the categories alone; its codebooks grow.
    """
    arrow = table.as_arrow() if isinstance(table, ArrayTable) else table
    n_rows = 0
    with ThreadPoolExecutor(usable_cores(None)) as pool:
        for batch in arrow.batches(encoder.source_columns):
            encoder.encode([batch], executor=pool)
            n_rows += batch.num_rows
    return [encoder.labels(column.name) for column in encoder.schema], n_rows


def count_rows(table: ArrowTable | ArrayTable) -> int:
    """Return the number of rows, reading one column where it is not known beforehand."""
    if table.n_rows is not None:
        return table.n_rows
    if isinstance(table, ArrayTable):
        return sum(chunk.shape[0] for chunk in table.chunks())
    return sum(batch.num_rows for batch in table.batches(table.schema.names[:1]))
