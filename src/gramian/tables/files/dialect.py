"""How a CSV file is written: its separator, decimal point, encoding and dates, found in a sample of its lines.

Spreadsheets write CSV as their country does: `1.234,56` and `31.12.2025` between semicolons in Berlin, `1,234.56` and
`12/31/2025` between commas in Boston, all of it in UTF-8, in a Windows code page or in UTF-16. No library finds all of that
together: DuckDB's sniffer knows neither decimal commas nor encodings, clevercsv neither numbers nor dates, and Arrow, whose
parser reads the rows, is told everything. So the sample is split by Python's `csv` module for each separator there may be
(`layout`), and the values of its columns decide the rest.

What is found is a `Dialect`. Nothing is guessed where two readings are possible and one would be silently wrong: a column of
values such as `1.234` between semicolons is refused with both options named, dates that may begin with the day or with the
month stay text. Values that begin with a zero, postal codes for one, are read as text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from gramian.errors import Argument, DataError, FileFormatError, Message, shown
from gramian.tables.files.conventions import (
    DATE,
    LEADING_ZERO,
    SPACES,
    WHOLE,
    WORDS,
    checked_words,
    convention_of,
    dates_of,
    number_pattern,
    without_words,
)
from gramian.tables.files.layout import reading_of
from gramian.tables.files.text import LOOKED_BYTES

SAMPLE_BYTES = 2**18
QUOTED_LINES = 200

GIVEN = ("delimiter", "decimal", "thousands", "encoding", "date_format", "empty", "na", "header")

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Dialect:
    """How a file is to be parsed.

    Attributes
    ----------
    delimiter, decimal, thousands, encoding : str
        `thousands` is every character that groups digits, "" where none does.
    date_formats : tuple of str
        As `strptime` has them, beside ISO 8601.
    skipped : int
        Lines above the header.
    header : int
        Lines of the header itself.
    names : tuple of str
        Of all columns; columns without a name are numbered.
    unnamed : frozenset of str
        Columns without a name.
    empty : frozenset of str
        Columns without a name and without a value.
    as_written : frozenset of str
        Columns whose numbers begin with zeros: they are text.
    grouped : frozenset of str
        Columns in which digits are grouped.
    whole : frozenset of str
        Columns whose values in the sample are whole numbers, or that have none there.
    decided : bool
        Whether the user or the sample says which sign is the decimal point.
    undecided : tuple of str
        Columns of dates whose order of day and month the sample does not show.
    typed : frozenset of str
        Columns whose values are all numbers or dates: where the parser takes one for text, quoted empty fields are why.
    converted : frozenset of str
        Columns of numbers or dates that are read as text first, for their words or their dates.
    taken : mapping
        Column of numbers or dates -> the words in it that stand for a missing value.
    kept : mapping
        Column of texts -> the words in it that might stand for a missing value, and are texts.
    spoilt : mapping
        Column of texts -> the few values but for which it holds dates.
    quoted_texts : bool
        Whether all texts are quoted: then a word such as `NA` without quotes stands for a missing one, as R writes it.
    quoted_missing : bool
        Whether a quoted empty field is a missing value, and not an empty text: so where everything is quoted.
    rival : str
        Another separator that explains the sample as well; empty where there is none.
    """

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    date_formats: tuple[str, ...] = ()
    skipped: int = 0
    header: int = 1
    names: tuple[str, ...] = ()
    unnamed: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    as_written: frozenset[str] = frozenset()
    grouped: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    decided: bool = False
    undecided: tuple[str, ...] = field(default=())
    typed: frozenset[str] = frozenset()
    converted: frozenset[str] = frozenset()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spoilt: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quoted_texts: bool = False
    quoted_missing: bool = False
    rival: str = ""

    @property
    def unsure(self) -> frozenset[str]:
        """Columns in which nothing says what a sign between digits is."""
        return self.whole if not self.decided and self.delimiter != "," else frozenset()

    def in_words(self) -> list[str]:
        """Return what is not as in a plain file, each choice a phrase.

        Examples
        --------
        >>> Dialect(delimiter=";", decimal=",", skipped=1).in_words()
        ['fields separated by semicolons', 'decimal comma', '1 line above the header left out']
        """
        words = []
        if len(self.names) == 1 and self.delimiter in _NAMES:
            words += ["one column"] if self.delimiter != "," else []
        elif self.delimiter != "," or self.rival:
            separated = f"fields separated by {_NAMES.get(self.delimiter, shown(self.delimiter))}"
            other = (" (", Argument("csv", {"delimiter": self.rival}), " is possible too)") if self.rival else ()
            words.append(Message(separated, *other))
        if self.decimal == ",":
            words.append("decimal comma")
        if self.grouped:
            sign = "spaces" if self.thousands == SPACES else shown(self.thousands)
            words.append(f"digits grouped by {sign} in {_listed(self.grouped)}")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            words.append(f"encoding {self.encoding}")
        if self.quoted_missing:
            words.append(
                Message("quoted empty fields taken as missing (", Argument("csv", {"empty": "text"}), " if not)")
            )
        words += [f"dates as {pattern}" for pattern in self.date_formats]
        if self.taken:
            missing = sorted({word for column in self.taken.values() for word in column})
            words.append(f"{', '.join(map(repr, missing))} taken as missing in {_listed(self.taken)}")
        if self.kept:
            texts = sorted({word for column in self.kept.values() for word in column})
            left = f"{', '.join(map(repr, texts))} kept as text in {_listed(self.kept)} ("
            words.append(Message(left, Argument("csv", {"na": texts}), " if it is missing)"))
        for name, values in self.spoilt.items():
            verb = "makes" if len(values) == 1 else "make"
            made = f"{', '.join(map(repr, values))} {verb} text of {name!r}, a column of dates ("
            words.append(Message(made, Argument("csv", {"na": list(values)}), " if it is missing)"))
        if self.skipped:
            words.append(f"{self.skipped} {'line' if self.skipped == 1 else 'lines'} above the header left out")
        named, full = len(self.names) - len(self.unnamed), len(self.names) - len(self.empty)
        if full and 2 * named <= full:
            few = f"only {named} of {full} columns named by the header in line {self.skipped + 1} ("
            words.append(Message(few, Argument("csv", {"header": self.skipped + 2}), " takes another line)"))
        if self.empty:
            words.append(f"{len(self.empty)} empty {'column' if len(self.empty) == 1 else 'columns'} left out")
        if self.as_written:
            words.append(f"numbers with leading zeros kept as text in {_listed(self.as_written)}")
        if self.undecided:
            left = f"dates left as text in {_listed(self.undecided)}, as day or month may come first ("
            words.append(Message(left, Argument("csv", {"date_format": "%d/%m/%Y"}), " says which)"))
        return words


def checked(given: Mapping[str, Any] | None) -> dict[str, Any]:
    r"""Return what the user says of CSV files, known names alone, each of its kind.

    Examples
    --------
    >>> checked({"delimiter": "tab", "decimal": None})
    {'delimiter': '\t'}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(Argument("csv"), f" takes a dict such as {{'delimiter': ';'}}; got {shown(given)}")
    out = {name: value for name, value in given.items() if value is not None}
    for name, value in out.items():
        if name == "na":
            out[name] = checked_words(value)
            continue
        if name == "sheet":
            raise DataError(
                Argument("csv", {name: value}), " applies to spreadsheets only; remove it to read a CSV file"
            )
        if name not in GIVEN:
            raise DataError(Argument("csv"), f" does not know {shown(name)}; it has {', '.join(GIVEN)}")
        if name == "header":
            out[name] = _line(value)
        elif not isinstance(value, str) or (name != "thousands" and not value):
            raise DataError(Argument("csv"), f" takes a text for {name}; got {shown(value)}")
    if out.get("delimiter") in ("tab", "\\t"):
        out["delimiter"] = "\t"
    for name, kind, valid in (
        ("delimiter", "one character", lambda text: len(text) == 1),
        ("decimal", "'.' or ','", lambda text: text in (".", ",")),
        ("thousands", "a sign other than the decimal point, or empty", lambda text: text != out.get("decimal", "\0")),
        ("empty", "'missing' or 'text'", lambda text: text in ("missing", "text")),
        ("encoding", "an encoding such as 'utf-8', 'latin-1' or 'utf-16'", _is_encoding),
    ):
        if name in out and not valid(out[name]):
            raise DataError(Argument("csv", {name: out[name]}), f" is not possible: it takes {kind}")
    return out


def _line(value: Any) -> int:
    """Return the number of a line, which the command line gives as text."""
    line = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(line, int) or isinstance(line, bool) or line < 1:
        raise DataError(
            Argument("csv", {"header": value}), " is not possible: it takes the number of a line, the first being 1"
        )
    return line


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True


def sniff(
    sample: bytes, path: str, *, whole: bool, given: Mapping[str, Any] | None = None, tabs: bool = False
) -> Dialect:
    r"""Return how a file is written.

    Parameters
    ----------
    sample : bytes
        Its beginning.
    path : str
        For messages.
    whole : bool
        Whether the sample is all of it; else its last line may be cut.
    given : mapping, optional
        What the user says, by the names of `GIVEN`.
    tabs : bool
        Whether the name of the file says that tabs separate.

    Examples
    --------
    >>> found = sniff("Ort;Preis;am\nKöln;1.234,50;31.12.2025\n".encode("latin-1"), "a.csv", whole=True)
    >>> found.delimiter, found.decimal, found.thousands, found.encoding, found.date_formats
    (';', ',', '.', 'cp1252', ('%d.%m.%Y',))
    """
    given = {} if given is None else given
    encoding = given.get("encoding") or encoding_of(sample, whole=whole)
    text = _decoded(sample, encoding, path, whole)
    dialect = Dialect(encoding=encoding)
    first = re.match(r"sep=(.)\r?\n", text)
    told = given.get("delimiter") or (first[1] if first else None) or ("\t" if tabs else None)
    reading = reading_of(text, path, whole=whole, told=told, decimal=given.get("decimal"), header=given.get("header"))
    dialect = replace(dialect, delimiter=reading.delimiter, rival=reading.rival)
    rows, ends, above = reading.rows, reading.ends, reading.above
    if above >= len(rows):
        return dialect
    header, body = rows[above], rows[above + 1 :]
    names, unnamed = column_names(header)
    columns = {name: _values(body, k) for k, name in enumerate(names)}
    dialect = replace(
        dialect,
        names=names,
        skipped=ends[above - 1] if above else given.get("header", 1) - 1,
        header=ends[above] - (ends[above - 1] if above else given.get("header", 1) - 1),
        unnamed=frozenset(unnamed),
        empty=frozenset(name for name in unnamed if not columns[name]),
        quoted_texts=_quoted_texts(text, dialect.delimiter),
        quoted_missing=given["empty"] == "missing" if "empty" in given else _all_quoted(text, dialect.delimiter),
    )
    columns = {name: without_words(values, given.get("na", ())) for name, values in columns.items()}
    return _with_values(dialect, columns, given, path)


def encoding_of(sample: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a sample: by its mark, by the zeros of UTF-16, as UTF-8, else as Windows writes western text.

    Examples
    --------
    >>> encoding_of("é".encode()), encoding_of("é".encode("latin-1")), encoding_of("é;a".encode("utf-16"))
    ('utf-8', 'cp1252', 'utf-16')
    """
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = [sample[k::2].count(0) for k in (0, 1)]
    if sum(zeros) > len(sample) // 8:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    for name in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(name)().decode(sample, whole)
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"


def _decoded(sample: bytes, encoding: str, path: str, whole: bool) -> str:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample, whole)
    except UnicodeError:
        raise FileFormatError(
            f"{path} is not {encoding} text; name its encoding with ", Argument("csv", {"encoding": "latin-1"})
        ) from None
    return text.removeprefix("\ufeff")


def _all_quoted(text: str, delimiter: str) -> bool:
    r"""Whether every field of the first lines is quoted, a number or an empty field among them.

    Then quotes do not tell texts from missing values, wherever the first of those stands. Of texts alone it is not known
    whether all fields are quoted: a missing one may stand without quotes farther down.

    Examples
    --------
    >>> _all_quoted('"a","b"\n"1","x"\n', ","), _all_quoted('"a"\n"x"\n""\n', ","), _all_quoted('"a"\n"x"\n', ",")
    (True, True, False)
    >>> _all_quoted('a,"b"\n1,""\n', ","), _all_quoted('"a","b"\n"1","two\nlines"\n', ",")
    (False, True)
    """
    one = '"(?:[^"]|"")*"'
    record = re.compile(f"{one}(?:{re.escape(delimiter)}{one})*(?:\r\n?|\n|$)")
    start = at = len(text) - len(text.lstrip("\r\n")) + len((text.lstrip("\r\n").splitlines(keepends=True) or [""])[0])
    for _ in range(QUOTED_LINES):
        found = record.match(text, at)
        if found is None or found.end() == at:
            break
        at = found.end()
    # The sample may end within a value.
    whole = at >= len(text) or found is not None or text.count('"', at) % 2 == 1
    return whole and at > start and ('""' in text or re.search(r'"[-+]?\d[\d.,]*"', text[start:at]) is not None)


def _quoted_texts(text: str, delimiter: str) -> bool:
    r"""Whether every text of the first lines below the header is quoted, and there are some.

    Examples
    --------
    >>> _quoted_texts('a,b\n1,"x"\nNA,NA\n', ","), _quoted_texts("a,b\n1,x\nNA,NA\n", ",")
    (True, False)
    """
    body = "\n".join(text.splitlines()[1:QUOTED_LINES])
    if '"' not in body:
        return False
    quoted = re.findall('"(?:[^"]|"")*"', body)
    fields = re.split(f"[\n{re.escape(delimiter)}]", re.sub('"(?:[^"]|"")*"', "", body))
    others = {value for each in fields if (value := each.strip())} - WORDS
    return bool(any(any(map(str.isalpha, value)) for value in quoted)) and not any(
        any(map(str.isalpha, value)) for value in others if value.lower() not in ("true", "false")
    )


def column_names(header: Sequence[str]) -> tuple[tuple[str, ...], set[str]]:
    """Return the names of columns, numbered where the header has none, and which those are.

    Examples
    --------
    >>> column_names(["a ", ""])
    (('a', 'column_2'), {'column_2'})
    """
    names = tuple(name.strip() or f"column_{k + 1}" for k, name in enumerate(header))
    return names, {names[k] for k, name in enumerate(header) if not name.strip()}


def _values(body: Iterable[Sequence[str]], k: int) -> list[str]:
    return [value for row in body if len(row) > k and (value := row[k].strip())]


def _with_values(dialect: Dialect, columns: Mapping[str, list[str]], given: Mapping[str, Any], path: str) -> Dialect:
    """Return the dialect with what the values of its columns tell: decimals, groups, dates, zeros in front."""
    decimal, thousands = convention_of(columns, dialect.delimiter, given, path)
    pattern = number_pattern(decimal, thousands)
    numbers = [name for name, values in columns.items() if values and all(map(pattern.fullmatch, values))]
    zeros = [name for name in numbers if any(map(LEADING_ZERO.fullmatch, columns[name]))]
    grouped = [name for name in numbers if name not in zeros and _has_any(thousands, columns[name])]
    whole = {name for name, values in columns.items() if all(map(WHOLE.fullmatch, values))}.difference(zeros)
    if "date_format" in given:
        formats: list[str] = [str(given["date_format"])]
        undecided: list[str] = []
    else:
        formats, undecided = dates_of(columns)
    typed = {name for name in numbers if name not in zeros}
    typed |= {name for name, values in columns.items() if values and all(map(DATE.match, values))} - set(undecided)
    return replace(
        dialect,
        decimal=decimal,
        thousands=thousands,
        date_formats=tuple(formats),
        as_written=frozenset(zeros),
        grouped=frozenset(grouped),
        whole=frozenset(whole - dialect.empty),
        decided="decimal" in given or "thousands" in given or not whole.issuperset(set(numbers).difference(zeros)),
        undecided=tuple(undecided),
        typed=frozenset(typed),
    )


def with_late(
    dialect: Dialect, blocks: Iterable[pa.Buffer], names: Iterable[str], given: Mapping[str, Any], path: str
) -> Dialect:
    """Return the dialect with what values after the sample tell, in columns that showed whole numbers alone.

    Parameters
    ----------
    dialect : Dialect
        What the sample shows.
    blocks : iterable of Buffer
        The first lines of the file, and lines from further on, whose rows are not known.
    names : iterable of str
        The columns.
    given, path
        As for `sniff`.
    """
    late: dict[str, list[str]] = {name: [] for name in names}
    rows: dict[str, int] = {}
    row = dialect.skipped + dialect.header
    for k, data in enumerate(blocks):
        for batch in texts_of(dialect, data, list(late), above=k == 0):
            for name, known in late.items():
                column = pc.utf8_trim_whitespace(batch.column(name))
                some = without_words([value for value in column.unique().to_pylist() if value], given.get("na", ()))
                some = [value for value in some if LEADING_ZERO.fullmatch(value) or not WHOLE.fullmatch(value)]
                if some and not known and k == 0:
                    rows[name] = row + pc.index(column, some[0]).as_py() + 1
                known += some
            row += batch.num_rows
    # Numbers of which one begins with a zero are codes.
    late = {name: some for name, some in late.items() if some and not any(map(LEADING_ZERO.fullmatch, some))}
    told = {"decimal": dialect.decimal} if dialect.decided else {}
    told |= {"thousands": dialect.thousands} if dialect.thousands else {}
    decimal, thousands = convention_of(late, dialect.delimiter, {**told, **given}, path, rows)
    pattern = number_pattern(decimal, thousands)
    numbers = {name for name, values in late.items() if all(map(pattern.fullmatch, values))}
    if not numbers:
        return dialect
    return replace(
        dialect,
        decimal=decimal,
        thousands=thousands,
        grouped=dialect.grouped.union(name for name in numbers if _has_any(thousands, late[name])),
        whole=dialect.whole - numbers,
        decided=True,
    )


def texts_of(dialect: Dialect, data: pa.Buffer, names: list[str], *, above: bool) -> Iterator[pa.RecordBatch]:
    """Yield some columns of some lines of a file as they are written."""
    # A line that cannot be read is reported with its row when the row is reached.
    with suppress(pa.ArrowInvalid):
        types = dict.fromkeys(names, pa.string())
        yield from open_rows(pa.BufferReader(data), LOOKED_BYTES, dialect, types, above=above, include=names)


def open_rows(
    stream: Any,
    block_bytes: int,
    dialect: Dialect,
    types: dict[str, pa.DataType],
    *,
    above: bool = True,
    include: list[str] | None = None,
) -> csv.CSVStreamingReader:
    """Return Arrow's reader of a stream; `above` says whether the header, and what is above it, comes first."""
    # Without threads Arrow counts rows, so that an error can say which; reading ahead is done by the caller.
    read = csv.ReadOptions(
        block_size=block_bytes,
        use_threads=False,
        column_names=list(dialect.names),
        skip_rows=dialect.skipped + dialect.header if above else 0,
    )
    parse = csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(
        column_types=types,
        include_columns=include,
        strings_can_be_null=True,
        quoted_strings_can_be_null=dialect.quoted_missing,
        null_values=["", *(WORDS if dialect.quoted_texts and not dialect.quoted_missing else ())],
        decimal_point=dialect.decimal,
    )
    return csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)


def _has_any(signs: str, values: Iterable[str]) -> bool:
    return any(sign in value for sign in signs for value in values)


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - 3} more" if len(ordered) > 3 else ""
    return ", ".join(map(repr, ordered[:3])) + more
