"""`stream_fit`: any estimator with `partial_fit`, fitted to a source of any size a part of its rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.errors import Argument, DataError
from gramian.parameters import check, whole
from gramian.progress import Progress
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import stretches

PART_BYTES = 2**24
"""Bytes of one part: enough for the calls to cost nothing beside it, and flat memory."""


def stream_fit(
    estimator: Any,
    source: Any,
    epochs: int = 1,
    *,
    y: Any = None,
    sample_weight: str | None = None,
    batch_rows: int | None = None,
    progress: bool | None = None,
) -> Any:
    """Fit an estimator by `partial_fit` over a source of any size, and return it.

    Parameters
    ----------
    estimator : estimator with `partial_fit`
        Goes on from where it stands.
    source : any source of `collect`
        Files, a frame, an array, batches... Read once an epoch, in order; what can be read only once has one epoch.
    epochs : int
        Times that the source is read.
    y : str or tuple of str, optional
        Columns that are the target, or are not features.
    sample_weight : str, optional
        The column of weights.
    batch_rows : int, optional
        Rows of a call; by default as many as 16 MB hold.
    progress : bool, optional
        Show rows, speed and time left; by default on a terminal only.

    Returns
    -------
    estimator
        The one that was given.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5000, 4)) * [3.0, 1.0, 1.0, 1.0]
    >>> model = gm.stream_fit(gm.HebbianPCA(), X, epochs=2)
    >>> model.n_samples_seen_, bool(abs(model.weights_[0, 0]) > 0.999)
    (10000, True)
    """
    if not hasattr(estimator, "partial_fit"):
        raise DataError(f"{type(estimator).__name__} has no partial_fit, which stream_fit calls; use fit")
    check("epochs", epochs, whole())
    check("batch_rows", batch_rows, None, whole())
    table = open_table(source)
    if epochs > 1 and table.one_shot:
        raise DataError(
            f"{table.describe} can be read only once, and ",
            Argument("epochs", epochs),
            "; pass a file, a table or a list",
        )
    if isinstance(table, ArrayTable) and (y is not None or sample_weight is not None):
        table = table.as_arrow()
    given = {name: value for name, value in (("y", y), ("sample_weight", sample_weight)) if value is not None}
    unknown = [name for name in given if name not in signature(estimator.partial_fit).parameters]
    if unknown:
        raise DataError(f"partial_fit of {type(estimator).__name__} takes no {unknown[0]}; leave it out")
    total = None if table.n_rows is None else table.n_rows * int(epochs)
    with Progress(progress, total, what="fit") as shown_progress:
        for _ in range(int(epochs)):
            n_rows = 0
            for part in _parts(table, batch_rows):
                estimator.partial_fit(part, **given)
                n_rows += part.shape[0]
                shown_progress.advance(part.shape[0])
            if not n_rows:
                raise DataError(f"{table.describe} has no rows (n_samples = 0)")
    return estimator


def _parts(table: ArrowTable | ArrayTable, batch_rows: int | None) -> Iterator[Any]:
    """Yield the rows of a table in parts of so many rows: arrays of an array, Arrow tables otherwise."""
    if isinstance(table, ArrowTable):
        size = batch_rows or max(1, PART_BYTES // (8 * len(table.schema.names)))
        yield from map(pa.Table.from_batches, stretches(table.batches(), size))
        return
    waiting: list[Any] = []
    held = 0
    for chunk in table.chunks():
        # A sparse row holds only what it has.
        stored = max(1.0, getattr(chunk, "nnz", chunk.size) / max(1, chunk.shape[0]))
        batch_rows = batch_rows or max(1, int(PART_BYTES // (8 * stored)))
        start = 0
        while start < chunk.shape[0]:
            waiting.append(chunk[start : start + batch_rows - held])
            start += waiting[-1].shape[0]
            held += waiting[-1].shape[0]
            if held == batch_rows:
                yield _joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(chunks: list[Any]) -> Any:
    if len(chunks) == 1:
        return chunks[0]
    return sp.vstack(chunks, format="csr") if any(map(sp.issparse, chunks)) else np.concatenate(chunks)
