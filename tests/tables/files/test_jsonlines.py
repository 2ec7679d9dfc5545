from __future__ import annotations

import datetime as dt
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


def lines_of(*values, key="a"):
    return "".join(json.dumps({key: value}) + "\n" for value in values)


def test_days_have_no_hour(write_text, rows):
    path = write_text("a.jsonl", lines_of("2025-02-03", None, "2024-02-29"))
    table = open_table(path)
    assert table.schema.types == [pa.date32()]
    assert rows(table)["a"] == [dt.date(2025, 2, 3), None, dt.date(2024, 2, 29)]
    assert [column.name for column in gm.collect(path).schema] == ["a_dayofweek", "a_month"]


@pytest.mark.parametrize("text", ["2025-02-03T10:11:12.5", "2025-02-03 10:11:12.500000", "2025-02-03T10:11:12.500"])
def test_fractions_of_seconds_are_times(write_text, rows, text):
    table = open_table(write_text("a.jsonl", lines_of(text, "2025-02-03T10:11:12")))
    assert pa.types.is_timestamp(table.schema.types[0])
    found = rows(table)["a"]
    assert [value.isoformat()[:21] for value in found] == ["2025-02-03T10:11:12.5", "2025-02-03T10:11:12"]


def test_times_and_zones_are_as_they_were(write_text, rows):
    found = rows(open_table(write_text("a.jsonl", lines_of("2025-02-03 10:00:00", "2025-02-03"))))["a"]
    assert found == [dt.datetime(2025, 2, 3, 10), dt.datetime(2025, 2, 3)]
    zoned = rows(open_table(write_text("b.jsonl", lines_of("2025-02-03T10:00:00+02:00", "2025-02-03T10:00:00Z"))))["a"]
    assert [value.replace(tzinfo=None) for value in zoned] == [dt.datetime(2025, 2, 3, 8), dt.datetime(2025, 2, 3, 10)]


def test_a_day_that_the_calendar_lacks_is_text(write_text, rows):
    assert rows(open_table(write_text("a.jsonl", lines_of("2025-02-28", "2025-02-30"))))["a"][1] == "2025-02-30"


@pytest.mark.parametrize("word", ["NA", "n/a", "NaN", "null", "None", "-", "?"])
@pytest.mark.parametrize("spelt", [str, lambda text: text.replace("/", "\\/")], ids=["plain", "slashes escaped"])
def test_words_among_numbers_and_dates_are_missing_and_among_texts_are_texts(write_text, rows, caplog, word, spelt):
    keys = ["n", "x", "on", "day", 'a "key"', "größe", "text", "digits"]
    values = [
        [1, 1.5, True, "2025-01-01", 2, 3, "red", "12"],
        [word] * 8,
        [3, 2.5, False, "2025-01-02", 4, 5, "blue", "13"],
    ]
    text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in values)
    with caplog.at_level("INFO", logger="gramian"):
        table = open_table(write_text("a.jsonl", spelt(text)))
    assert f"{word!r} taken as missing in" in caplog.text
    found = rows(table)
    expected = {key: [first, None, last] for key, first, last in zip(keys, values[0], values[2], strict=True)}
    expected |= {"day": [dt.date(2025, 1, 1), None, dt.date(2025, 1, 2)], "text": ["red", word, "blue"]}
    assert found == expected | {"digits": ["12", word, "13"]}


def test_words_of_the_user_are_missing_everywhere(write_text, rows):
    text = '{"x": 1, "c": "red"}\n{"x": "unbekannt", "c": "unbekannt"}\n{"x": "NA", "c": "NA"}\n'
    path = write_text("a.jsonl", text)
    assert rows(open_table(path, csv={"na": ["unbekannt"]})) == {"x": [1, None, None], "c": ["red", None, "NA"]}
    with pytest.raises(DataError, match="'x'"):
        rows(open_table(path))
    with pytest.raises(DataError, match="csv= applies to CSV files only"):
        open_table(path, csv={"na": ["x"], "decimal": ","})


def test_a_late_word_among_numbers_is_missing(write_text, rows, small_blocks):
    lines = [json.dumps({"a": k % 7, "t": f"t{k % 3}", "d": "2025-01-02"}) for k in range(6000)]
    lines[3000] = '{"a": "NA", "t": "NA", "d": "NA"}'
    found = rows(open_table(write_text("a.jsonl", "\n".join(lines))))
    assert found["a"] == [None if k == 3000 else k % 7 for k in range(6000)]
    assert found["t"][3000] == "NA"
    assert found["d"][2999:3002] == [dt.date(2025, 1, 2), None, dt.date(2025, 1, 2)]


def test_a_text_that_quotes_a_word_stays_what_it_is(write_text, rows):
    # Only a value that is a word is one: neither a key nor what a text holds.
    text = '{"a": 1, "b": "\\"a\\": \\"NA\\", x"}\n{"a": "NA", "b": "a"}\n'
    assert rows(open_table(write_text("a.jsonl", text))) == {"a": [1, None], "b": ['"a": "NA", x', "a"]}
