"""Tables written batch by batch, in the format that a file's suffix names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gramian.errors import DataError
from gramian.storage.suffixes import WRITTEN_AS, written_as
from gramian.tables.decoding import decoded, decoded_schema


@contextmanager
def table_writer(path: str | Path, where: str, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Give a function that writes a batch; everything is on disk when the block has ended.

    Parameters
    ----------
    path : path
        Whose suffix names the format.
    where : str
        The file to write, which may have another name until it is whole.
    schema : pyarrow.Schema
        Of the batches. Dictionaries are written as what they stand for: their entries differ from batch to batch.
    """
    kind, plain = written_as(Path(path).name), decoded_schema(schema)
    with ExitStack() as closing:
        writer: Any
        if kind == "parquet":
            import pyarrow.parquet as pq

            # Features hardly repeat: a dictionary of them is work for nothing.
            texts = [f.name for f in plain if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
            writer = closing.enter_context(pq.ParquetWriter(where, plain, use_dictionary=texts or False))
        elif kind == "csv":
            import pyarrow.csv as csv

            # The writer does not close what it writes to, and a compressed file is not whole before it is closed.
            compression = "gzip" if Path(path).name.lower().endswith(".gz") else None
            sink = closing.enter_context(pa.output_stream(where, compression=compression))
            writer = closing.enter_context(csv.CSVWriter(sink, plain))
        elif kind == "ipc":
            writer = closing.enter_context(pa.ipc.new_file(where, plain))
        else:
            raise DataError(f"{Path(path).name!r}: tables are written as {', '.join(WRITTEN_AS)}; choose one of these")
        yield lambda batch: writer.write_batch(decoded(batch))
