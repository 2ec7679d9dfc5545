"""What text formats share: opening, samples of long files, widened types, and Arrow's messages in plain words."""

from __future__ import annotations

import bz2
import gzip
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv as csv
import pytest

from gramian.errors import DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files import text
from gramian.tables.files.paths import Files
from gramian.tables.files.text import FirstBlock, TextTable, first_block, not_utf8, open_text, sample_blocks, widen


class Lines(TextTable):
    """One column `n`, a value a line; `_open` raises what the test asks for."""

    format_name = "lines"
    trouble: Exception | None = None

    def _infer(self, path, block_bytes):
        with open_text(path) as file:
            values = file.read(block_bytes).decode().split()
        first = pa.table({"n": pa.array([float(value) for value in values])})
        self._keep_long(
            FirstBlock.of(first.schema, first.to_batches()),
            lambda name, kind: all(float(v) < (2**63 if kind == pa.int64() else 2**64) for v in values),
        )
        return first.schema

    def _open(self, path, schema, block_bytes):
        if self.trouble is not None:
            raise self.trouble
        with open_text(path) as file:
            kind = int if pa.types.is_integer(schema.field("n").type) else float
            yield pa.record_batch({"n": pa.array(map(kind, file.read().decode().split()), schema.field("n").type)})


@pytest.fixture
def lines(write_text):
    def opened(*contents):
        paths = [write_text(f"{k}.txt", content) for k, content in enumerate(contents)]
        return Lines(Files(paths, "lines", "some lines"))

    return opened


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.csv", bytes), ("a.csv.gz", gzip.compress), ("a.csv", gzip.compress), ("a.csv.bz2", bz2.compress)],
)
def test_text_is_opened_unpacked(write_text, name, pack):
    with open_text(write_text(name, pack(b"a,b\n1,2\n"))) as file:
        assert file.read() == b"a,b\n1,2\n"


def test_files_that_are_no_text_are_named(write_text):
    with pytest.raises(FileFormatError, match=r"a.csv is a Parquet file; rename it to .parquet"):
        open_text(write_text("a.csv", b"PAR1...."))
    with pytest.raises(FileFormatError, match=r"b.csv.gz is not gzip-compressed, as its suffix says"):
        open_text(write_text("b.csv.gz", b"a,b\n"))
    assert str(not_utf8("a.csv")).startswith("a.csv is not UTF-8 text; convert it")


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("7", "8"), ("7", "8.5"), ("1", "true"), ("", "5"), ("", ""), ("x", "7"), ("7", "x"),
        ("2024-01-01", "2024-01-01 10:00"), ("2024-01-01", "7"), ("9223372036854775807", "9223372036854775808"),
        ("true", "0"), ("10:20", "x"),
    ],
)  # fmt: skip
def test_types_of_a_block_in_pieces_are_those_of_the_whole(monkeypatch, early, late):
    monkeypatch.setattr(text, "LOOKED_BYTES", 512)
    block = 16 * 512
    data = "a,b\n" + f"{early},1\n" * (6000 // len(f"{early},1\n")) + f"{late},2\n" * 20
    data = (data + f"{early},3\n" * 4000)[: block + 512].encode()
    opened = []

    def reader(stream, n_bytes):
        opened.append(n_bytes)
        return csv.open_csv(stream, read_options=csv.ReadOptions(block_size=n_bytes, use_threads=False))

    first = first_block(reader, pa.py_buffer(data), block)
    whole = csv.read_csv(pa.py_buffer(data[: data.rindex(b"\n", 0, block) + 1]))
    assert opened[0] == 512
    assert first.schema == whole.schema
    assert first.num_rows == whole.num_rows
    assert first.head.equals(whole)


def test_a_first_block_keeps_a_few_rows_and_what_the_others_show(monkeypatch):
    monkeypatch.setattr(text, "COUNTED_ROWS", 5)
    batches = [pa.record_batch({"n": [k, -k], "t": [str(k), "a\nb" if k == 3 else "a"]}) for k in range(4)]
    first = FirstBlock.of(batches[0].schema, batches)
    assert (first.num_rows, first.head.num_rows, first.largest, first.line_breaks) == (8, 5, {"n": 3.0}, True)
    assert not FirstBlock.of(batches[0].schema, batches[:3]).line_breaks


@pytest.mark.parametrize(
    ("name", "line", "head"), [("a.csv", "{},{}\n", "n,t\n"), ("a.jsonl", '{{"n": {}, "t": "{}"}}\n', "")]
)
def test_a_line_longer_than_what_is_read_at_a_time_is_read_once(monkeypatch, write_text, name, line, head):
    monkeypatch.setattr(text, "READ_BYTES", 256)
    long = {40: 300, 90: 3000, 91: 20_000, 130: 10}
    lines = [line.format(k, "x" * long.get(k, 3)) for k in range(150)]
    table = open_table(write_text(name, head + "".join(lines)))
    batches = list(table._batches(table.files[0], table.schema))
    assert len(batches) > 5
    assert [n for batch in batches for n in batch["n"].to_pylist()] == list(range(150))
    assert [len(t) for batch in batches for t in batch["t"].to_pylist()] == [long.get(k, 3) for k in range(150)]


READING = """
import re, sys
from pathlib import Path
from gramian.tables import open_table

def kilobytes(what):
    return int(re.search(what + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

few, many = sys.argv[1:]
list(open_table(few).batches())
before = kilobytes("VmRSS")
table = open_table(many)
table.read_within(100_000_000 // 64)
n_rows = sum(batch.num_rows for batch in table.batches())
print(n_rows, kilobytes("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of memory is read from /proc")
def test_memory_that_reading_takes_does_not_grow_with_the_file(write_text):
    lines = "".join(f"{k % 7},text {k % 50},{k / 7:.3f},{'xy'[k % 2]},label {k % 11}\n" for k in range(40_000))
    head = "a,b,c,d,e\n"
    few, many = write_text("few.csv", head + lines), write_text("many.csv", head + lines * 60)
    done = subprocess.run([sys.executable, "-c", READING, few, many], capture_output=True, text=True, timeout=300)
    assert not done.stderr
    n_rows, grown = map(int, done.stdout.split())
    assert n_rows == 2_400_000
    # Of 80 MB of text, Arrow would hold all at once ahead of what it parses by blocks of 16 MB.
    assert grown < 110_000


def test_samples_are_whole_lines_from_the_middle_and_the_end(write_text, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 500)
    monkeypatch.setattr(text, "SAMPLE_BYTES", 60)
    lines = [b"line %03d\n" % k for k in range(100)]
    path = write_text("a.csv", b"".join(lines))
    found = list(sample_blocks(path))
    assert len(found) == 3
    for block, least in zip(found, (45, 70, 90), strict=True):
        inside = block.splitlines(keepends=True)
        assert set(inside) <= set(lines)
        assert min(int(line[5:]) for line in inside) >= least
    assert found[-1].endswith(lines[-1])
    assert list(sample_blocks(write_text("small.csv", b"".join(lines[:50])))) == []
    for name, content in (("a.csv.gz", b"".join(lines)), ("packed.csv", b"\x1f\x8b" + b"".join(lines))):
        assert list(sample_blocks(write_text(name, content))) == []
    assert list(sample_blocks(write_text("one.csv", b"x" * 900))) == []


def test_types_are_widened_to_what_later_blocks_show():
    nested = pa.list_(pa.int64())
    first = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("c", pa.null()), ("d", nested), ("e", pa.bool_())])
    later = pa.schema(
        [("b", pa.float64()), ("a", pa.string()), ("c", pa.int64()), ("d", pa.int64()), ("new", pa.int8())]
    )
    found = widen(first, later)
    assert found.names == first.names
    assert found.types == [pa.string(), pa.float64(), pa.int64(), nested, pa.bool_()]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("1\n2.5\n", pa.float64()),
        (f"1\n{2**53 + 2}\n", pa.int64()),
        (f"{2**63}\n1\n", pa.uint64()),
        ("1e40\n1\n", pa.float64()),
    ],
)
def test_whole_numbers_that_floats_would_round_are_kept(lines, rows, values, kind):
    table = lines(values)
    assert table.schema.types == [kind]
    assert rows(table) == {"n": [(int if pa.types.is_integer(kind) else float)(v) for v in values.split()]}


def test_files_follow_each_other(lines, rows):
    assert rows(lines("1\n2\n", "3\n", "4\n")) == {"n": [1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        ("In CSV column #0: Row #7: CSV conversion error to int64: invalid value '2.5'", DataError,
         r"a column of .*0.txt holds '2.5' in row 7 where whole numbers were expected; pass numeric=, or leave it out"),
        ("In CSV column #0: CSV conversion error to double: invalid value 'x'", DataError,
         r"column 'n' of .*0.txt holds 'x' where numbers were expected; leave it out with exclude=\['n'\]"),
        ("Failed to convert JSON to double, couldn't parse: 7q", DataError, r"column 'n' of .*0.txt holds '7q'"),
        ("JSON parse error: Column(/n) changed from number to string in row 3", DataError,
         r"column 'n' of .*0.txt holds a string after values of type number; .*exclude=\['n'\]"),
        ("CSV parse error: Row #4: Expected 2 columns, got 3: a,b,c", FileFormatError,
         r"0.txt: row 4 has 3 fields where the header has 2; repair or remove it"),
        ("CSV parse error: Expected 2 columns, got 1: a", FileFormatError, r"0.txt: a row has 1 fields where"),
        ("invalid UTF8 data", FileFormatError, "0.txt is not UTF-8 text"),
        ("straddling\nobject", FileFormatError, r"0.txt cannot be read as lines: straddling object"),
    ],
)  # fmt: skip
def test_arrows_messages_come_out_in_plain_words(lines, message, kind, words):
    table = lines("1\n")
    table.trouble = pa.ArrowInvalid(message)
    with pytest.raises(kind, match=words) as caught:
        list(table.batches())
    assert "\n" not in str(caught.value)


def test_bytes_of_another_encoding_are_named(lines):
    table = lines("1\n")
    table.trouble = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    with pytest.raises(FileFormatError, match=r"0.txt is not UTF-8 text"):
        list(table.batches())


@pytest.mark.parametrize("value", [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 + 1])
def test_the_first_whole_number_that_a_float_would_round_is_exact(write_text, rows, value):
    table = open_table(write_text("n.csv", f"n\n5\n{value}\n"), numeric=["n"])
    assert [int(found) for found in rows(table)["n"]] == [5, value]
