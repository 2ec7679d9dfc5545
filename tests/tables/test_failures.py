"""What the system and Arrow raise comes out as one line that names the file."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gramian.errors import ColumnError, DataError, FileFormatError, MemoryLimitError, SourceNotFoundError
from gramian.tables.schemas import one_line, reading


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (PermissionError(13, "Permission denied"), DataError, r"^day.csv cannot be read: permission denied$"),
        (FileNotFoundError(2, "No such file"), SourceNotFoundError, r"^day.csv does not exist$"),
        (pa.ArrowInvalid("bad\n  block"), FileFormatError, r"^day.csv cannot be read as CSV: bad block$"),
        (OSError("disk\ngone"), FileFormatError, r"^day.csv cannot be read as CSV: disk gone$"),
        (EOFError(), FileFormatError, r"^day.csv cannot be read as CSV: EOFError$"),
        (MemoryError("none left"), MemoryLimitError, r"^day.csv asks for more memory than there is: .*\(none left\)$"),
        (pa.ArrowMemoryError("malloc"), MemoryLimitError, r"^day.csv asks for more memory .* \(malloc\)$"),
        (UnicodeError("byte 7"), FileFormatError, r"^day.csv cannot be read as CSV: byte 7$"),
    ],
)
def test_errors_name_the_file_on_one_line(raised, kind, words):
    with pytest.raises(kind, match=words) as caught, reading("day.csv", "CSV"):
        raise raised
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    "raised",
    [
        ColumnError("column 'a' is gone"),
        ZeroDivisionError("0"),
    ],
)
def test_errors_that_say_enough_pass_as_they_are(raised):
    with pytest.raises(type(raised)) as caught, reading("day.csv", "CSV"):
        raise raised
    assert caught.value is raised


def test_the_cause_is_kept_where_it_tells_more():
    cause = pa.ArrowInvalid("detail")
    with pytest.raises(FileFormatError) as caught, reading("day.csv", "CSV"):
        raise cause
    assert caught.value.__cause__ is cause


def test_long_messages_are_cut():
    assert one_line(ValueError("a\n\tb   c")) == "a b c"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(ValueError("x" * 240)) == "x" * 240
    assert one_line(ValueError("x" * 241)) == "x" * 237 + "..."
    assert one_line(ValueError("abcdef"), limit=5) == "ab..."
