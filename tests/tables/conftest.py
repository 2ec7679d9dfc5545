from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gramian.tables import ArrowTable


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


@pytest.fixture
def people() -> pa.Table:
    """Text, an integer, a float and a boolean, with a missing value in each."""
    return pa.table(
        {
            "color": ["red", "blue", None, "red", "green"],
            "age": [31, None, 45, 22, 60],
            "height": [1.7, 1.8, None, 1.6, 1.9],
            "member": [True, None, False, True, True],
        }
    )


@pytest.fixture
def rows():
    """Return a function that reads a whole table as a dict of Python lists."""

    def read(table: ArrowTable, columns=None) -> dict[str, list]:
        batches = list(table.batches(columns))
        schema = table.schema if columns is None else pa.schema([table.schema.field(c) for c in columns])
        for batch in batches:
            assert batch.schema == schema
            batch.validate(full=True)
        return pa.Table.from_batches(batches, schema).to_pydict()

    return read


@pytest.fixture
def write_text(tmp_path: Path):
    """Return a function that writes bytes or text under a name and returns the path as `str`."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write
