from __future__ import annotations

import gzip
import json
import time

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files import text as textfiles
from gramian.tables.files.jsonlines import keys_and_lines

LINES = '{"a": 1, "b": "x", "c": null}\n{"b": "y", "a": 2, "c": true}\n{"a": 3}\n'


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 4 kB, so that a small file has many."""
    monkeypatch.setattr(textfiles, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(textfiles, "READ_BYTES", 1024)
    monkeypatch.setattr(textfiles, "SAMPLE_BYTES", 512)
    monkeypatch.setattr("gramian.tables.files.jsonlines.BLOCK_BYTES", 4096)


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.jsonl.gz", "a.json.gz"])
def test_rows_come_back(write_text, rows, name):
    content = LINES.encode()
    path = write_text(name, gzip.compress(content) if name.endswith("gz") else content)
    table = open_table(path)
    assert table.schema == pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_())])
    assert rows(table) == {"a": [1, 2, 3], "b": ["x", "y", None], "c": [None, True, None]}
    assert rows(table, ["c", "a"]) == {"c": [None, True, None], "a": [1, 2, 3]}


def test_fractions_and_keys_at_the_end_are_foreseen(write_text, rows, small_blocks):
    content = '{"n": 1}\n' * 2000 + '{"n": 2.5, "late": "x"}\n' * 20
    found = rows(open_table(write_text("a.jsonl", content)))
    assert found["n"][1999:2001] == [1.0, 2.5]
    assert found["late"][1999:2001] == [None, "x"]


def test_a_fraction_that_could_not_be_foreseen_names_the_way_out(write_text, rows, small_blocks):
    content = '{"c": "x", "n": 1}\n' * 1000 + '{"c": "x", "n": 2.5}\n' + '{"c": "x", "n": 1}\n' * 9000
    path = write_text("a.jsonl", content)
    with pytest.raises(DataError, match=r"column 'n' of .*a.jsonl holds '2.5'.*numeric=\['n'\]"):
        rows(open_table(path))
    assert rows(open_table(path, numeric=["n"]))["n"][1000] == 2.5


def test_a_key_that_could_not_be_foreseen_raises_unless_columns_were_chosen(write_text, rows, small_blocks):
    content = '{"c": "x", "n": 1}\n' * 1000 + '{"c": "x", "new": 1}\n' + '{"c": "x", "n": 1}\n' * 9000
    table = open_table(write_text("a.jsonl", content))
    with pytest.raises(DataError, match=r"a.jsonl has a key .* that no earlier row has; .*columns="):
        rows(table)
    assert rows(table, ["n"])["n"][999:1002] == [1, None, 1]


def test_a_value_of_another_type_is_named(write_text, rows):
    with pytest.raises(DataError, match=r"column 'a' of .*a.jsonl holds a number after values of type string"):
        open_table(write_text("a.jsonl", '{"a": "x"}\n{"a": 1}\n'))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"a": 1}, {"a": 2}]', "is one JSON array; JSON lines are needed"),
        (b"\n\n", "holds no rows"),
        (b'{"a": 1}\n{"a": ', "cannot be read as JSON lines"),
        (b"color,size\nred,1\n", "cannot be read as JSON lines"),
    ],
)
def test_files_that_are_no_json_lines_are_named(write_text, rows, content, words):
    with pytest.raises(FileFormatError, match=rf"bad.json {words}") as caught:
        rows(open_table(write_text("bad.json", content)))
    assert "\n" not in str(caught.value)


def test_other_encodings_are_named(write_text):
    path = write_text("a.jsonl", '{"b": "café"}\n'.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"a.jsonl is not UTF-8"):
        list(open_table(path).batches())


def test_numeric_names_that_are_not_there_add_no_column(write_text):
    assert open_table(write_text("a.jsonl", LINES), numeric=["zz"]).schema.names == ["a", "b", "c"]


DEEP = 30_000


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}\n",
        b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"\n",
        b'{"a":\n' * DEEP + b"1" + b"}\n" * DEEP,
        b'{"b":"]}]}","a":' * DEEP + b"1" + b"}" * DEEP + b"\n",
        b'{"x":"}\n' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"\n",
        b'{"x":"\\\\"}\n{"a":' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    ],
)
def test_nesting_beyond_the_stack_is_refused(tmp_path, text):
    path = tmp_path / "deep.jsonl"
    # Some lines before it, so that it is beyond the first block as well.
    for before in (b"", b'{"a":1}\n' * 3):
        path.write_bytes(before + text)
        with pytest.raises(FileFormatError, match=r"deep\.jsonl.*levels deep"):
            gm.collect(path)


def test_brackets_in_texts_are_no_nesting(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b'{"a":"' + b'[{\\"' * 300 + b'"}\n' + b'{"a":"x"}\n' * 2)
    assert gm.collect(path).n_rows == 3


def test_keys_are_counted_as_a_parser_would(rng):
    letters = ["a", "b:", "{", "}", "[", '"', "\\", "é", ","]
    lines = []
    for _ in range(200):
        names = {"".join(rng.choice(letters, rng.integers(1, 4))) for _ in range(3)}
        inner = {"nested": 1, "x": [{"deep": ":"}]}
        lines.append({name: ": {" if rng.random() < 0.5 else inner for name in names})
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    keys, n_lines = keys_and_lines(np.frombuffer(text.encode(), dtype=np.uint8), 10**4)
    assert (keys, n_lines) == (len({name for line in lines for name in line}), 200)
    assert keys_and_lines(np.frombuffer(text.encode(), dtype=np.uint8), 5) == (5, 200)


def test_a_key_of_its_own_in_each_line_is_refused_before_it_is_a_table(tmp_path):
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(f'{{"k{i}": {i}}}\n' for i in range(40_000)))
    start = time.process_time()
    with pytest.raises(DataError, match=r"has 40,000 different keys in 40,000 lines, and each is a column"):
        open_table(str(path))
    assert time.process_time() - start < 5
    # Many keys that all lines have are a wide table.
    row = json.dumps({f"k{i}": i for i in range(5_000)})
    path.write_text(f"{row}\n{row}\n")
    assert open_table(str(path)).schema.names[-1] == "k4999"
