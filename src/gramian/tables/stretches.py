"""Consecutive batches in groups of a bounded number of rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pyarrow as pa


def stretches(
    batches: Iterable[pa.RecordBatch], at_most: int, at_least: int | None = None, n_bytes: int | None = None
) -> Generator[list[pa.RecordBatch], None, None]:
    """Yield consecutive batches in groups of at most so many rows, slicing those that are longer.

    A group is complete as soon as it has `at_least` so many, by default as many as it may have, or `n_bytes` of them: texts may
    be of any length.

    Examples
    --------
    >>> batches = [pa.record_batch({"x": list(range(n))}) for n in (3, 4)]
    >>> [[batch.num_rows for batch in group] for group in stretches(batches, 5)]
    [[3, 2], [2]]
    """
    enough = at_most if at_least is None else at_least
    waiting: list[pa.RecordBatch] = []
    # Added up as they come: over thousands of small files, adding up all that wait for each would grow by the square.
    n_waiting = bytes_waiting = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            waiting.append(batch.slice(start, at_most - n_waiting))
            n_waiting += waiting[-1].num_rows
            start += waiting[-1].num_rows
            if n_bytes is not None:
                bytes_waiting += _nbytes(waiting[-1])
            if n_waiting >= enough or (n_bytes is not None and bytes_waiting >= n_bytes):
                yield waiting
                waiting, n_waiting, bytes_waiting = [], 0, 0
        # Before the next is read.
        del batch
    if waiting:
        yield waiting


def _nbytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of the rows of a batch, dictionaries aside, which batches share."""
    return sum((c.indices if pa.types.is_dictionary(c.type) else c).nbytes for c in batch.columns)
