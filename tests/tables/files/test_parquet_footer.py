"""The sizes read off a footer are those that pyarrow says, and a footer that lies does not end the process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.tables.files import parquet
from gramian.tables.files.parquet import chunk_sizes


@pytest.fixture(autouse=True, params=["plain", "compiled"])
def _walk(request, monkeypatch):
    monkeypatch.setattr(parquet, "_PLAIN_BYTES_WALKED", 10**9 if request.param == "plain" else -1)


def table(rng, n=600):
    return pa.table(
        {
            "few": rng.choice(["a", "b", None], n),
            "many": rng.integers(0, 10**9, n).astype(str),
            "x": rng.normal(size=n),
            "lists": [[1, 2], None] * (n // 2),
            "parts": [{"p": 1, "q": "z"}] * n,
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none", "row_group_size": 70},
        {"use_dictionary": False, "row_group_size": 300},
        {"compression": "zstd", "data_page_version": "2.0", "write_page_index": True},
        {"write_statistics": False, "store_schema": False, "version": "1.0"},
        {"dictionary_pagesize_limit": 200, "sorting_columns": [pq.SortingColumn(0)]},
    ],
)
def test_sizes_are_those_that_pyarrow_says(tmp_path, rng, options):
    path = str(tmp_path / "p.parquet")
    pq.write_table(table(rng), path, **options)
    footer = pq.read_metadata(path)
    found = chunk_sizes(path, footer.num_row_groups, footer.num_columns)
    for g in range(footer.num_row_groups):
        for j in range(footer.num_columns):
            chunk = footer.row_group(g).column(j)
            at = chunk.dictionary_page_offset
            expected = (
                chunk.num_values,
                chunk.total_uncompressed_size,
                chunk.total_compressed_size,
                0 if at is None else chunk.data_page_offset - at,
                any("DICTIONARY" in encoding for encoding in chunk.encodings),
            )
            assert tuple(each[g, j] for each in found) == expected


@pytest.mark.parametrize("n", [0, 1, 7, 8, 40])
def test_what_is_no_footer_has_no_sizes(tmp_path, rng, n):
    path = tmp_path / "p.parquet"
    path.write_bytes(rng.bytes(n))
    assert chunk_sizes(str(path), 1, 1) is None


@pytest.mark.parametrize("footer", [b"\x03", b"\x07", b"\x15\x02\x07"])
def test_a_footer_that_ends_within_the_number_of_a_field_has_no_sizes(tmp_path, footer):
    path = tmp_path / "p.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert chunk_sizes(str(path), 1, 1) is None


def test_any_bytes_as_footer_are_passed_over_or_refused(tmp_path, rng):
    path = tmp_path / "p.parquet"
    pq.write_table(table(rng), path)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = np.frombuffer(data[-8 - size : -8], np.uint8)
    for _ in range(300):
        harmed = footer.copy()
        harmed[rng.integers(size, size=3)] = rng.integers(0, 256, 3)
        harmed = harmed[: rng.integers(size // 2, size + 1)].tobytes()
        path.write_bytes(data[: -8 - size] + harmed + len(harmed).to_bytes(4, "little") + b"PAR1")
        found = chunk_sizes(str(path), 1, 6)
        assert found is None or found.values.shape == (1, 6)


def test_a_histogram_that_contradicts_its_column_does_not_end_the_process(tmp_path):
    """pyarrow's way to the same numbers aborts: a C++ exception that nothing catches."""
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"c": ["a", None, "b", "a"]}), path)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    # The column is optional (1), with a histogram of two levels; as a required one (0) it would have one.
    at = footer.index(b"\x25\x02", footer.index(b"schema"))
    path.write_bytes(data[: -8 - size] + footer[:at] + b"\x25\x00" + footer[at + 2 :] + data[-8:])
    asked = {
        "pyarrow": "pq.read_metadata(path).row_group(0).column(0)",
        "gramian": "print(gm.collect(path).n_rows)",
    }
    start = f"import sys, gramian as gm, pyarrow.parquet as pq; path = {str(path)!r}; "
    ended = {
        name: subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=120)
        for name, code in asked.items()
    }
    assert ended["gramian"].returncode in (0, 1)
    if ended["gramian"].returncode:
        assert "FileFormatError" in ended["gramian"].stderr.splitlines()[-1]
    # Once pyarrow raises, the loop is no longer needed.
    assert ended["pyarrow"].returncode < 0
