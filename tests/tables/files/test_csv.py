from __future__ import annotations

import bz2
import datetime as dt
import gzip
import logging
import threading

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files import text as textfiles

TEXT = pa.dictionary(pa.int32(), pa.string())


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 4 kB, so that a small file has many."""
    monkeypatch.setattr(textfiles, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(textfiles, "READ_BYTES", 1024)
    monkeypatch.setattr(textfiles, "SAMPLE_BYTES", 512)


def test_types_and_missing_values(write_text, rows):
    path = write_text(
        "day.csv",
        'color,age,height,member,when\nred,31,1.5,true,2024-01-01\nNA,,NA,,\n"",7,2,false,2024-02-01\n',
    )
    table = open_table(path)
    assert table.schema.types == [TEXT, pa.int64(), pa.float64(), pa.bool_(), pa.date32()]
    assert table.n_rows is None
    found = rows(table)
    # Among numbers NA is missing, among texts it is one; a quoted empty string is a value.
    assert found["color"] == ["red", "NA", ""]
    assert found["age"] == [31, None, 7]
    assert found["height"] == [1.5, None, 2.0]
    assert rows(table) == found
    assert rows(table, ["age", "color"]) == {"age": [31, None, 7], "color": ["red", "NA", ""]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"a,b\n1,x\n2,y\n"),
        ("a.CSV", b"a,b\n1,x\n2,y\n"),
        ("a.tsv", b"a\tb\n1\tx\n2\ty\n"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,x\n2,y\n", mtime=0)),
        ("a.tsv.gz", gzip.compress(b"a\tb\n1\tx\n2\ty\n", mtime=0)),
        ("a.csv.bz2", bz2.compress(b"a,b\n1,x\n2,y\n")),
        ("gzip_without_its_suffix.csv", gzip.compress(b"a,b\n1,x\n2,y\n", mtime=0)),
        ("bom.csv", b"\xef\xbb\xbfa,b\n1,x\n2,y\n"),
        ("crlf.csv", b"a,b\r\n1,x\r\n2,y\r\n"),
        ("no_last_newline.csv", b"a,b\n1,x\n2,y"),
    ],
)
def test_every_dress_of_a_csv_reads_alike(write_text, rows, name, content):
    assert rows(open_table(write_text(name, content))) == {"a": [1, 2], "b": ["x", "y"]}


def test_line_breaks_in_quotes_survive_block_borders(write_text, rows, small_blocks):
    lines = [f'{i},"first {i}\nsecond, ""{i}"""' for i in range(2000)]
    found = rows(open_table(write_text("a.csv", "n,t\n" + "\n".join(lines))))
    assert found["n"] == list(range(2000))
    assert found["t"][1999] == 'first 1999\nsecond, "1999"'


def test_many_blocks_keep_their_order(write_text, rows, small_blocks):
    content = "n,c\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(20_000))
    table = open_table(write_text("a.csv", content))
    assert len(list(table.batches())) > 5
    found = rows(table)
    assert found["n"] == list(range(20_000))
    assert found["c"][:4] == ["a", "b", "c", "a"]


def test_mostly_distinct_text_stays_plain(write_text):
    content = "id,c\n" + "".join(f"user{i},{i % 3}x\n" for i in range(3000))
    table = open_table(write_text("a.csv", content))
    assert table.schema.types == [pa.string(), TEXT]


def test_fractions_at_the_end_of_a_long_file_are_foreseen(write_text, rows, small_blocks):
    content = "n\n" + "1\n" * 5000 + "2.5\n" * 10
    table = open_table(write_text("a.csv", content))
    assert table.schema.field("n").type == pa.float64()
    assert rows(table)["n"][-1] == 2.5


def test_text_and_first_values_at_the_end_are_foreseen(write_text, rows, small_blocks):
    content = "zip,late\n" + "123,\n" * 3000 + "A12,x\n" * 20
    table = open_table(write_text("a.csv", content))
    assert table.schema.types == [TEXT, TEXT]
    assert rows(table)["zip"][-1] == "A12"


def test_a_fraction_that_could_not_be_foreseen_names_the_way_out(write_text, rows, small_blocks):
    content = "c,n\n" + "x,1\n" * 2000 + "x,2.5\n" + "x,1\n" * 20_000
    path = write_text("a.csv", content)
    with pytest.raises(
        DataError, match=r"column 'n' of .*a.csv holds '2.5' in row 2002 where whole numbers.*numeric=\['n'\]"
    ):
        rows(open_table(path))
    found = rows(open_table(path, numeric=["n"]))["n"]
    assert found[1999:2002] == [1.0, 2.5, 1.0]


def test_text_in_a_number_column_names_value_and_column(write_text, rows, small_blocks):
    content = "c,n\n" + "x,1\n" * 2000 + "x,many\n" + "x,1\n" * 20_000
    with pytest.raises(DataError, match=r"column 'n' of .*a.csv holds 'many'.*exclude=\['n'\]") as caught:
        rows(open_table(write_text("a.csv", content)))
    assert "numeric=" not in str(caught.value)


def test_text_where_numeric_was_asked_for_is_named(write_text):
    with pytest.raises(DataError, match=r"column 'b' of .*a.csv holds 'x' in row 2 where numbers"):
        open_table(write_text("a.csv", "a,b\n1,x\n"), numeric=["b"])


def test_ragged_rows_are_named_by_row(write_text, rows, small_blocks):
    path = write_text("a.csv", "a,b\n" + "1,2\n" * 4000 + "3\n")
    with pytest.raises(FileFormatError, match=r"a.csv: row 4002 has 1 fields where the header has 2"):
        rows(open_table(path))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_other_encodings_are_read(write_text, rows, encoding):
    content = "é,b\n1,café\n2,Öl\n".encode(encoding)
    assert rows(open_table(write_text("a.csv", content))) == {"é": [1, 2], "b": ["café", "Öl"]}


def test_another_encoding_far_into_the_file_is_named(write_text, rows, small_blocks, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.csv.SAMPLE_BYTES", 4096)
    content = b"a,b\n" + b"1,x\n" * 2000 + "1,é\n".encode("latin-1") + b"1,x\n" * 20_000
    path = write_text("a.csv", content)
    with pytest.raises(FileFormatError, match=r"a.csv is not utf-8 text throughout; .* csv={'encoding': 'latin-1'}"):
        rows(open_table(path))
    assert rows(open_table(path, csv={"encoding": "latin-1"}))["b"][2000] == "é"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("blank.csv", b"\n", "blank.csv has no header row"),
        (
            "cut.csv.gz",
            gzip.compress(b"a,b\n" + bytes(range(32, 127)) * 99, mtime=0)[:-30],
            "cut.csv.gz cannot be read",
        ),
        ("plain.csv.gz", b"a,b\n1,2\n", "plain.csv.gz is not gzip-compressed"),
        ("other.csv", b"PAR1 and so on", "other.csv is a Parquet file"),
    ],
)
def test_files_that_are_no_csv_are_named(write_text, rows, name, content, words):
    path = write_text(name, content)
    with pytest.raises(FileFormatError, match=words) as caught:
        rows(open_table(path))
    assert "\n" not in str(caught.value)


def test_duplicate_names_are_named(write_text):
    with pytest.raises(ColumnError, match=r"'a' occurs 2 times in .*x.csv"):
        open_table(write_text("x.csv", "a,b,a\n1,2,3\n"))


def test_a_header_without_rows_gives_no_batches(write_text):
    table = open_table(write_text("x.csv", "a,b\n"))
    assert table.schema.names == ["a", "b"]
    assert list(table.batches()) == []


def test_files_are_matched_by_name_and_widened(write_text, rows, tmp_path):
    write_text("d/1.csv", "a,b,c\n1,x,\n")
    write_text("d/2.csv", "c,b,a\nlate,y,2.5\n")
    assert rows(open_table(tmp_path / "d")) == {"a": [1.0, 2.5], "b": ["x", "y"], "c": [None, "late"]}


def test_files_that_disagree_are_named(write_text, tmp_path):
    write_text("d/1.csv", "a\n1\n")
    write_text("d/2.csv", "a\nx\n")
    with pytest.raises(DataError, match=r"column 'a' holds text in .*2.csv but whole numbers in .*1.csv"):
        open_table(tmp_path / "d").batches()


def test_an_abandoned_reader_leaves_no_thread_behind(write_text, small_blocks):
    path = write_text("a.csv", "n\n" + "1\n" * 50_000)
    before = threading.active_count()
    batches = open_table(path).batches()
    next(batches)
    batches.close()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ('"a","b"\n"1","x"\n"",""\n"2.5","NA"\n', [1.0, None, 2.5], ["x", None, "NA"]),
        ('a,b\n1,"x"\n"",""\n2.5,"NA"\n', [1.0, None, 2.5], ["x", None, "NA"]),
        ('a,b\n1,"x"\n,""\n2.5,"NA"\n', [1.0, None, 2.5], ["x", "", "NA"]),
        ('a,b\n2024-01-01,x\n"",""\n', [dt.date(2024, 1, 1), None], ["x", None]),
    ],
    ids=["all quoted", "a number quoted where missing", "texts quoted alone", "a date"],
)
def test_a_quoted_empty_field_is_missing_where_quotes_tell_nothing(tmp_path, caplog, text, a, b):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with caplog.at_level(logging.INFO, logger="gramian"):
        found = pa.Table.from_batches(open_table(path).batches()).to_pydict()
    assert found == {"a": a, "b": b}
    assert ("quoted empty fields taken as missing" in caplog.text) == (None in b)
    as_text = pa.Table.from_batches(open_table(path, csv={"empty": "text"}).batches()).to_pydict()
    assert as_text["b"] == ["" if value is None else value for value in b]
    missing = pa.Table.from_batches(open_table(path, csv={"empty": "missing"}).batches()).to_pydict()
    assert missing["b"] == [value or None for value in b]


def test_a_quoted_empty_field_is_missing_where_everything_is_quoted_however_late_it_stands(tmp_path):
    """Everything quoted is seen by a quoted number; texts alone do not tell, as R quotes those and writes NA without."""
    path = tmp_path / "a.csv"
    lines = [f'"{k}","some text of level {k % 2}"' for k in range(30_000)]
    path.write_text("\n".join(['"n","c"', *lines, '"30000",""', '"30001","NA"']) + "\n")
    levels = gm.collect(path).levels("c")
    assert sorted(map(str, levels)) == ["NA", "None", "some text of level 0", "some text of level 1"]
    assert None in levels
    texts = [line.split(",")[1] for line in lines]
    path.write_text("\n".join(['"b","c"', *map(",".join, zip(texts, texts, strict=True)), 'NA,"NA"']) + "\n")
    moments = gm.collect(path)
    assert None in moments.levels("b")
    assert "NA" in moments.levels("c")


def test_a_day_has_no_hour_however_it_is_written(tmp_path):
    for name, days in (("iso.csv", "2025-12-31\n2025-01-02"), ("german.csv", "31.12.2025\n02.01.2025")):
        (tmp_path / name).write_text(f"am\n{days}\n")
    german, iso = open_table(tmp_path / "german.csv"), open_table(tmp_path / "iso.csv")
    assert german.schema.field("am").type == iso.schema.field("am").type == pa.date32()
    assert pa.Table.from_batches(german.batches()) == pa.Table.from_batches(iso.batches())
    (tmp_path / "clock.csv").write_text("am\n31.12.2025 08:30\n02.01.2025 09:15\n")
    assert open_table(tmp_path / "clock.csv").schema.field("am").type == pa.timestamp("s")


def test_a_header_longer_than_the_sample_is_read_whole(tmp_path):
    names = [f"{'a long name' * 20} {k}" for k in range(1_500)]
    path = tmp_path / "wide.csv"
    for end in ("\n", "\r\n"):
        path.write_bytes(
            end.join([",".join(names), ",".join("1" * len(names)), ",".join("2" * len(names)), ""]).encode()
        )
        table = open_table(str(path))
        assert table.schema.names == names
        (batch,) = table.batches([names[-1]])
        assert batch.column(0).to_pylist() == [1, 2]


@pytest.mark.parametrize("day", ["30.02.2025", "31.04.2025", "29.02.2023", "31.11.2025"])
@pytest.mark.parametrize("clock", ["", " 10:30", " 10:30:15"])
def test_a_day_that_the_calendar_lacks_makes_its_column_text(write_text, rows, day, clock):
    lines = [f"28.02.2025{clock},28.02.2025{clock}", f"{day}{clock},01.03.2025{clock}"]
    found = open_table(write_text("a.csv", "bad,good\n" + "\n".join(lines) + "\n"))
    assert found.schema.field("bad").type == TEXT
    assert found.schema.field("good").type == (pa.timestamp("s") if clock else pa.date32())
    assert rows(found)["bad"] == [f"28.02.2025{clock}", f"{day}{clock}"]


@pytest.mark.parametrize(
    ("day", "format"),
    [("02/30/2025", None), ("02/30/2025", "%m/%d/%Y"), ("30 Feb 2025", "%d %b %Y")],
)
def test_a_day_that_the_calendar_lacks_is_text_in_every_format(write_text, rows, day, format):
    good = {"%d %b %Y": "28 Feb 2025"}.get(format or "", "02/28/2025")
    path = write_text("a.csv", f"bad,good\n{good},{good}\n{day},{good}\n")
    table = open_table(path, csv={"date_format": format} if format else None)
    found = rows(table)
    assert found["bad"] == [good, day]
    assert found["good"][0] == dt.date(2025, 2, 28)
    assert not pa.types.is_temporal(table.schema.field("bad").type)


def test_a_late_day_that_the_calendar_lacks_is_named_with_its_row(write_text, rows, small_blocks):
    lines = ["28.02.2025"] * 3000 + ["30.02.2025"] + ["01.03.2025"] * 3000
    path = write_text("a.csv", "am\n" + "\n".join(lines) + "\n")
    table = open_table(path)
    if table.schema.field("am").type == pa.date32():
        with pytest.raises(DataError, match=r"column 'am' of .*a\.csv holds '30\.02\.2025' in row 3002 among dates"):
            rows(table)
    else:
        assert rows(table)["am"][3000] == "30.02.2025"


def test_days_are_those_that_python_reads(write_text, rows):
    days = [dt.date(2023, 12, 20) + dt.timedelta(days=k) for k in range(500)]
    path = write_text("a.csv", "am,um\n" + "".join(f"{d:%d.%m.%Y},{d:%d.%m.%y %H:%M}\n" for d in days))
    found = rows(open_table(path))
    assert found["am"] == days
    assert found["um"] == [dt.datetime(d.year, d.month, d.day) for d in days]


@pytest.mark.parametrize("word", ["NA", "n/a", "N/A", "NaN", "null", "NULL", "None", "-", "--", "?", " NA"])
def test_words_among_numbers_and_dates_are_missing_and_among_texts_are_texts(write_text, rows, caplog, word):
    lines = [
        "n,x,am,iso,on,word",
        "1,1.5,31.12.2025,2025-12-31,true,red",
        ",".join([word] * 6),
        "3,2.5,01.01.2026,2026-01-01,false,blue",
    ]
    path = write_text("a.csv", "\n".join(lines) + "\n")
    with caplog.at_level(logging.INFO, logger="gramian"):
        table = open_table(path)
    assert table.schema.types == [pa.int64(), pa.float64(), pa.date32(), pa.date32(), pa.bool_(), TEXT]
    assert rows(table) == {
        "n": [1, None, 3],
        "x": [1.5, None, 2.5],
        "am": [dt.date(2025, 12, 31), None, dt.date(2026, 1, 1)],
        "iso": [dt.date(2025, 12, 31), None, dt.date(2026, 1, 1)],
        "on": [True, None, False],
        "word": ["red", word, "blue"],
    }
    assert f"{word.strip()!r} taken as missing in 'am', 'iso', 'n' and 2 more" in caplog.text
    kept = f"{word!r} kept as text in 'word' (csv={{'na': [{word!r}]}} if it is missing)"
    assert (kept in caplog.text) == (word in ("NA", "n/a", "N/A", "NaN", "null", "NULL"))


@pytest.mark.parametrize("numeric", [[], ["x"]])
def test_words_of_the_user_are_missing_everywhere(write_text, rows, numeric):
    text = 'x;am;color\n1,5;31.12.2025;red\nunbekannt;unbekannt;unbekannt\nNA;NA;NA\n2,5;01.01.2026;"unbekannt"\n'
    path = write_text("a.csv", text)
    table = open_table(path, csv={"na": ["unbekannt"]}, numeric=numeric)
    assert rows(table) == {
        "x": [1.5, None, None, 2.5],
        "am": [dt.date(2025, 12, 31), None, None, dt.date(2026, 1, 1)],
        "color": ["red", None, "NA", None],
    }
    assert open_table(path).schema.field("am").type == TEXT
    assert table.identity() != open_table(path, numeric=[]).identity()
    with pytest.raises(DataError, match=r"csv= takes a list of texts for na; got 7"):
        open_table(path, csv={"na": 7})


def test_numbers_that_are_asked_for_may_have_words_beside_them(write_text, rows):
    path = write_text("a.csv", "x,y\n1,a\n-,b\nNA,c\n")
    assert rows(open_table(path, numeric=["x"]))["x"] == [1.0, None, None]
    with pytest.raises(DataError, match="'a'"):
        open_table(path, numeric=["x", "y"])


def test_texts_that_are_asked_for_keep_their_words(write_text, rows):
    path = write_text("a.csv", "x,y\n1,a\n-,b\nNA,c\n")
    assert rows(open_table(path, categorical=["x"]))["x"] == ["1", "-", "NA"]


@pytest.mark.parametrize("at", [3000, 5990])
def test_a_late_word_among_numbers_is_missing(write_text, rows, small_blocks, at):
    # Beyond every sample, or in the one from the end.
    lines = [f"{k % 7},{k % 5},28.02.2025,t{k % 3}" for k in range(6000)]
    lines[at] = "NA,-,n/a,NA"
    found = rows(open_table(write_text("a.csv", "a,b,am,t\n" + "\n".join(lines) + "\n")))
    assert found["a"] == [None if k == at else k % 7 for k in range(6000)]
    assert found["b"] == [None if k == at else k % 5 for k in range(6000)]
    assert found["am"] == [None if k == at else dt.date(2025, 2, 28) for k in range(6000)]
    assert found["t"][at] == "NA"


def test_a_word_without_quotes_is_missing_where_texts_are_quoted(write_text, rows):
    # As R writes it.
    path = write_text("a.csv", '"color","n"\n"red",1\nNA,NA\n"NA",3\n')
    assert rows(open_table(path)) == {"color": ["red", None, "NA"], "n": [1, None, 3]}


def test_a_column_of_words_alone_is_empty_and_agrees_with_numbers_and_texts(write_text, rows):
    one, two = write_text("1.csv", "a,b\nNA,NA\n"), write_text("2.csv", "a,b\n1,red\n")
    assert open_table(one).schema.types == [pa.null(), pa.null()]
    assert rows(open_table([one, two])) == {"a": [None, 1], "b": ["NA", "red"]}


@pytest.mark.parametrize("late", ["01234", '"01234"', " 01234", "-007"])
@pytest.mark.parametrize(("delimiter", "price"), [(",", "2.5"), (";", "2,5")])
def test_a_late_leading_zero_makes_a_column_text(write_text, rows, caplog, late, delimiter, price):
    """As late text does: postal codes of which the first 3,000 rows show none that begins with a zero."""
    lines = [f"10115{delimiter}{price}{delimiter}7"] * 3000 + [f"{late}{delimiter}{price}{delimiter}7"]
    path = write_text("a.csv", "\n".join([delimiter.join(["zip", "price", "n"]), *lines]))
    with caplog.at_level(logging.INFO, "gramian"):
        found = rows(open_table(path))
    assert found["zip"] == ["10115"] * 3000 + [late.strip('"')]
    assert found["price"] == [2.5] * 3001
    assert found["n"] == [7] * 3001
    assert "leading zeros kept as text in 'zip'" in caplog.text
    assert rows(open_table(path, numeric=["zip"]))["zip"][-1] == int(late.strip('"'))


def test_a_leading_zero_beyond_all_samples_is_an_error_that_names_its_row(write_text, rows, small_blocks, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.csv.SAMPLE_BYTES", 2048)
    middle = write_text("a.csv", "zip,x\n" + "10115,0.5\n" * 900 + "01234,0.5\n" + "10115,0.5\n" * 1600)
    with pytest.raises(
        DataError, match=r"'zip' .* holds 01234 in row 902, .* categorical=\['zip'\], or as numbers with numeric="
    ):
        rows(open_table(middle))
    assert rows(open_table(middle, categorical=["zip"]))["zip"][900] == "01234"
    assert rows(open_table(middle, numeric=["zip"]))["zip"][900] == 1234
    # A block from the end is looked at before rows are read.
    end = write_text("b.csv", "zip,x\n" + "10115,0.5\n" * 2000 + "01234,0.5\n")
    assert rows(open_table(end))["zip"][2000] == "01234"


def test_zeros_in_other_columns_leave_numbers_as_they_are(write_text, rows):
    """Dates, times, fractions and codes begin with zeros; long numbers stay whole numbers."""
    body = "0,0.5,01.02.2025,08:30,007,9007199254740993, 12 ,0e3\n" * 2500
    found = open_table(write_text("a.csv", "a,b,on,at,code,long,spaced,e\n" + body))
    kinds = {field.name: field.type for field in found.schema}
    assert [kinds[name] for name in ("a", "long", "spaced")] == [pa.int64()] * 3
    assert [kinds[name] for name in ("b", "e")] == [pa.float64()] * 2
    first = {name: values[0] for name, values in rows(found).items()}
    assert (first["code"], first["long"], first["spaced"], first["e"]) == ("007", 9007199254740993, 12, 0.0)


LATE = ["A;1.200", "A;1.201"]


@pytest.mark.parametrize("numeric", [(), ("x",)])
@pytest.mark.parametrize("before", ["{}", ""])
def test_a_late_sign_that_may_group_digits_or_not_is_refused_with_its_row(write_text, rows, numeric, before):
    """As an early one is: nothing in the file says whether 1.200 is 1200 or 1.2."""
    lines = ["o;x", *(f"A;{before.format(k % 90)}" for k in range(3500)), *LATE]
    path = write_text("a.csv", "\n".join(lines) + "\n")
    with pytest.raises(
        DataError, match=r"'x' .* holds 1.200 in row 3502, which is 1200 or 1.200; .*'decimal': ','.*'decimal': '.'"
    ):
        rows(open_table(path, numeric=numeric))
    assert rows(open_table(path, numeric=numeric, csv={"decimal": "."}))["x"][-2:] == [1.2, 1.201]
    assert rows(open_table(path, numeric=numeric, csv={"decimal": ","}))["x"][-2:] == [1200, 1201]
    assert rows(open_table(path, numeric=numeric, csv={"thousands": "."}))["x"][-2:] == [1200, 1201]
    assert rows(open_table(path, categorical=["x"]))["x"][-2:] == ["1.200", "1.201"]


@pytest.mark.parametrize("numeric", [(), ("x",)])
@pytest.mark.parametrize("at", [3000, 5990])
def test_an_ambiguous_sign_beyond_the_first_block_is_refused_too(write_text, rows, small_blocks, at, numeric):
    lines = [f"A;{k % 90}" for k in range(6000)]
    lines[at] = LATE[0]
    path = write_text("a.csv", "o;x\n" + "\n".join(lines) + "\n")
    # The row is not known of a value in the sample from the end.
    row = f" in row {at + 2}" if at == 3000 else ""
    with pytest.raises(DataError, match=rf"'x' .* holds 1.200{row}, .*'decimal': ','.*'decimal': '.'"):
        rows(open_table(path, numeric=numeric))
    assert rows(open_table(path, numeric=numeric, csv={"thousands": "."}))["x"][at] == 1200


def test_an_ambiguous_sign_is_refused_where_another_file_has_fractions(write_text, rows, small_blocks):
    lines = ["7"] * 9000
    lines[4000] = "1.200"
    paths = [write_text("1.csv", "o;x\nA;1.5\n"), write_text("2.csv", "o;x\n" + "".join(f"A;{x}\n" for x in lines))]
    with pytest.raises(DataError, match=r"'x' of .*2.csv holds 1.200 in row 4002, which is 1200 or 1.200"):
        rows(open_table(paths))
    assert rows(open_table(paths, csv={"decimal": "."}))["x"][4001] == 1.2


def test_late_values_decide_a_sign_that_the_first_rows_do_not_show(write_text, rows):
    lines = ["o;x", *(f"A;{k % 90}" for k in range(3500)), "A;1,5", "A;1.200,5"]
    assert rows(open_table(write_text("a.csv", "\n".join(lines) + "\n")))["x"][-2:] == [1.5, 1200.5]


@pytest.mark.parametrize("numeric", [(), ("menge",)])
@pytest.mark.parametrize("given", [{}, {"thousands": "."}])
def test_late_grouped_digits_are_numbers_where_the_decimal_point_is_known(write_text, rows, caplog, given, numeric):
    lines = ["ort;menge;b", *(f"A;{k % 900};1,5" for k in range(3500)), "A;1.200;2,5"]
    path = write_text("a.csv", "\n".join(lines) + "\n")
    with caplog.at_level(logging.INFO, "gramian"):
        found = rows(open_table(path, csv=given, numeric=numeric))
    assert found["menge"] == [*(k % 900 for k in range(3500)), 1200]
    assert found["b"][-2:] == [1.5, 2.5]
    assert "digits grouped by '.' in 'menge'" in caplog.text


@pytest.mark.parametrize("numeric", [(), ("x",)])
@pytest.mark.parametrize(("usual", "late", "value"), [("7", "1.200", 1200), ("7,5", "1.200,5", 1200.5)])
def test_grouped_digits_beyond_all_samples_need_thousands(write_text, rows, small_blocks, numeric, usual, late, value):
    lines = [f"{usual};1,5"] * 6000
    lines[3000] = f"{late};1,5"
    path = write_text("a.csv", "x;b\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"'x' .* holds '{late}' in row 3002, .*'thousands': '.'"):
        rows(open_table(path, numeric=numeric))
    found = rows(open_table(path, numeric=numeric, csv={"thousands": "."}))["x"]
    assert (found[0], found[3000], found[-1]) == (float(usual.replace(",", ".")), value, float(usual.replace(",", ".")))


@pytest.mark.parametrize("at", [100, 3800])
@pytest.mark.parametrize("other", [False, True])
def test_a_day_that_the_calendar_lacks_is_named_in_the_note(write_text, rows, caplog, at, other):
    """The note says which value makes text of a column, and speaks of dates only where there are some."""
    lines = [f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2025;{'01.02.2025' if other else 'x'}" for k in range(4000)]
    lines[at] = f"30.02.2025;{'01.02.2025' if other else 'x'}"
    path = write_text("a.csv", "am;zu\n" + "\n".join(lines) + "\n")
    with caplog.at_level(logging.INFO, "gramian"):
        found = rows(open_table(path))
    assert found["am"][at] == "30.02.2025"
    assert "'30.02.2025' makes text of 'am', a column of dates" in caplog.text
    assert "csv={'na': ['30.02.2025']}" in caplog.text
    assert ("dates as %d.%m.%Y" in caplog.text) == other
    assert rows(open_table(path, csv={"na": ["30.02.2025"]}))["am"][at] is None
