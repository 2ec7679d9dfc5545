"""Output files: checked before work begins, written batch by batch, appearing whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from gramian.cli.shared.usage import UsageError
from gramian.errors import DataError, SourceNotFoundError
from gramian.storage.suffixes import WRITTEN_AS, written_as

if TYPE_CHECKING:
    import pyarrow as pa


def check_output(path: str, inputs: Sequence[str] = ()) -> None:
    """Raise, before a long pass and not after it, where a file could not be written or would replace an input."""
    if "://" in path:
        raise DataError(f"cannot write {path}: files are written on this machine; write one here and copy it there")
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise SourceNotFoundError(f"cannot write {path}: the folder {folder} does not exist; make it first")
    if os.path.isdir(path):
        raise DataError(f"cannot write {path}: it is a folder; name a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"cannot write {path}: it is a pipe or a device; name a file")
    if not os.access(folder, os.W_OK):
        raise DataError(f"cannot write {path}: permission denied in {folder}")
    for each in inputs:
        if os.path.exists(path) and os.path.exists(each) and os.path.samefile(path, each):
            raise UsageError(f"-o {path} is one of the inputs; name another file")


def check_table_output(path: str, inputs: Sequence[str] = ()) -> None:
    """Raise where a table could not be written: as `check_output`, and for a suffix of no known format."""
    if written_as(path) is None:
        raise UsageError(f"-o {path}: tables are written as {', '.join(WRITTEN_AS)}; choose one of these suffixes")
    check_output(path, inputs)


def write_batches(
    batches: Iterable[pa.RecordBatch], path: str, *, total: int | None, what: str, schema: pa.Schema | None = None
) -> int:
    """Write record batches to a file of the format its suffix names; return the number of rows.

    Parameters
    ----------
    batches : of one schema, up to the entries of dictionaries
    path : str
    total : rows expected, where known
    what : word for the progress line
    schema : the columns, where there may be no batch to show them
    """
    from gramian.progress import Progress
    from gramian.storage.atomic import appearing
    from gramian.tables.write import table_writer

    n_rows = 0
    with appearing(path) as temporary, _closing(batches) as waiting:
        first = next(waiting, None)
        known = schema if first is None else first.schema
        with table_writer(path, temporary, known) as write, Progress(None, total, what) as shown:
            for batch in chain([first] if first is not None else [], waiting):
                write(batch)
                n_rows += batch.num_rows
                shown.advance(batch.num_rows)
    return n_rows


@contextmanager
def _closing(batches: Iterable[pa.RecordBatch]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Give the batches one by one; whatever reads ahead in the background has ended when the block has."""
    try:
        yield iter(batches)
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


def check_folder(path: str) -> None:
    """Raise where a folder of this name could not be made or written to."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise DataError(f"cannot write to {path}: it is a file; name a folder with --output")
    parent = path if os.path.isdir(path) else os.path.dirname(path.rstrip(os.sep)) or os.curdir
    if not os.path.isdir(parent):
        raise SourceNotFoundError(f"cannot make the folder {path}: there is no folder {parent}")
    if not os.access(parent, os.W_OK):
        raise DataError(f"cannot write to {path}: permission denied in {parent}")
