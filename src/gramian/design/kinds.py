"""Which form each source column takes: inferred from its Arrow type, overridden by name, or enforced by a schema.

A column of a batch, read as the kind of column that it is known to be.

A type is not trusted where nothing was observed: a text column without a value in some batch arrives as floats from pandas,
as nulls from Arrow, and as text from a file that declares it. All of them are missing values of the same column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gramian.design.bins import Bins
from gramian.design.crosses import cells, within
from gramian.design.schema import Column, Cross, DatePart, Form, Schema, Slope, label_family, number_values
from gramian.errors import Argument, ColumnError, DataError, PythonOnly, shown, type_words, unknown_column
from gramian.tables.files.conventions import WORDS, is_written_number
from gramian.tables.schemas import is_text, observed


def names_of(argument: str | Iterable[str] | None, *, called: str) -> list[str]:
    """Return column names given as one name, several, or none."""
    if argument is None:
        return []
    names = [argument] if isinstance(argument, str) else list(argument)
    # numpy's texts are texts, and print as such.
    names = [str(name) if isinstance(name, str) else name for name in names]
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ColumnError(f"{called}= takes column names; got {shown(wrong[0])}")
    return names


def is_date(kind: pa.DataType) -> bool:
    """Whether a column of this type is read as parts of a date or of a day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type can be added up."""
    if pa.types.is_dictionary(kind):
        return is_number(kind.value_type)
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def inferred_form(name: str, kind: pa.DataType) -> Form:
    """Return how a column of this type is collected unless told otherwise."""
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_duration(kind):
        return "number"
    if label_family(kind) is None:
        raise ColumnError(
            f"column {name!r} holds {type_words(kind)}, neither numbers nor labels; pass ",
            Argument("exclude", [name]),
            ", or turn it into plain columns first",
        )
    return "category"


def require_known_zone(name: str, kind: pa.DataType) -> None:
    """Raise where the times of a column are in a time zone that the database of zones does not have."""
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return
    try:
        pc.hour(pa.scalar(0, pa.timestamp(kind.unit)).cast(kind))
    except pa.ArrowInvalid:
        raise ColumnError(
            f"column {name!r} is in the time zone {shown(kind.tz)}, which is not known here; convert it to UTC, or leave it "
            "out with ",
            Argument("exclude", [name]),
        ) from None


def date_parts(kind: pa.DataType) -> tuple[DatePart, ...]:
    """Return the parts a date, time or timestamp is read as."""
    if pa.types.is_time(kind):
        return ("hour",)
    return ("dayofweek", "month", "hour") if pa.types.is_timestamp(kind) else ("dayofweek", "month")


def date_of_part(name: str, types: Mapping[str, pa.DataType]) -> str | None:
    """Return the date that a column is a part of: `when` of `when_month`; None where there is none.

    Examples
    --------
    >>> date_of_part("when_month", {"when": pa.date32()}), date_of_part("when_hour", {"when": pa.date32()})
    ('when', None)
    """
    origin, _, part = name.rpartition("_")
    kind = None if name in types else types.get(origin)
    return origin if kind is not None and is_date(kind) and part in date_parts(kind) else None


def types_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the type of each column."""
    return dict(zip(schema.names, schema.types, strict=True))


def plan_columns(
    types: Mapping[str, pa.DataType],
    *,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
    targets: str | Sequence[str] | None = None,
    reserved: Sequence[str] = (),
    like: Schema | None = None,
) -> Schema:
    """Return the columns to collect from a table.

    Parameters
    ----------
    types : mapping
        What the source has: the Arrow type of each column.
    columns, exclude : names, optional
        Take only these; leave these out.
    categorical, numeric : names, optional
        Kinds that are not to be inferred.
    targets : names, optional
        Columns that are never features; a part of a date (`when_month`) is one as well.
    reserved : names
        Columns read for another purpose (weights), never collected.
    like : Schema, optional
        Columns and kinds to enforce.
    """
    asked = {
        "columns": names_of(columns, called="columns"),
        "exclude": names_of(exclude, called="exclude"),
        "categorical": names_of(categorical, called="categorical"),
        "numeric": names_of(numeric, called="numeric"),
        "targets": names_of(targets, called="targets"),
    }
    for argument, names in asked.items():
        for name in names:
            if name not in types and not (argument == "targets" and date_of_part(name, types)):
                raise unknown_column(name, list(types))
    both = set(asked["categorical"]) & set(asked["numeric"])
    if both:
        raise ColumnError(
            f"column {min(both)!r} is named in ", Argument("categorical"), " and in ", Argument("numeric"), "; keep one"
        )
    sources = [date_of_part(name, types) or name for name in asked["targets"]]
    dropped = set(asked["exclude"]) & set(sources)
    if dropped:
        raise ColumnError(
            f"column {min(dropped)!r} is named in ", Argument("targets"), " and in ", Argument("exclude"), "; keep one"
        )
    if like is not None:
        return _enforced(types, like, asked)
    kept = dict.fromkeys([*asked["columns"], *sources] if columns is not None else types)
    left_out = {*asked["exclude"], *(name for name in reserved if name not in asked["columns"])}
    mentioned = {*asked["categorical"], *asked["numeric"], *asked["targets"]}
    forms: dict[pa.DataType, Form | None] = {}
    planned: list[Column] = []
    for name in kept:
        if name in left_out:
            continue
        kind = types[name]
        # Thousands of columns have few types between them.
        if kind not in forms:
            forms[kind] = None if is_date(kind) else inferred_form(name, kind)
        form = forms[kind]
        if form is None or name in mentioned:
            planned += _columns_of(name, kind, asked)
        else:
            planned.append(Column(name, form, name))
    if not planned:
        raise DataError(
            "no columns are left to collect; name ",
            PythonOnly("some in ", Argument("columns"), " or "),
            "fewer in ",
            Argument("exclude"),
        )
    return Schema(tuple(planned))


def _columns_of(name: str, kind: pa.DataType, asked: dict[str, list[str]]) -> list[Column]:
    target = name in asked["targets"]
    if name in asked["numeric"]:
        if not is_number(kind):
            raise ColumnError(
                f"column {name!r} is named in ",
                Argument("numeric"),
                f" and holds {type_words(kind)}; convert it to numbers first",
            )
        return [Column(name, "number", name, target=target)]
    if name in asked["categorical"]:
        if label_family(kind) is None:
            raise ColumnError(
                f"column {name!r} is named in ",
                Argument("categorical"),
                f" and holds {type_words(kind)}; convert it to text first",
            )
        return [Column(name, "category", name, target=target, named=True)]
    if is_date(kind):
        require_known_zone(name, kind)
        parts = [(f"{name}_{part}", part) for part in date_parts(kind)]
        return [Column(each, "category", name, part, target or each in asked["targets"]) for each, part in parts]
    return [Column(name, inferred_form(name, kind), name, target=target)]


def _enforced(types: Mapping[str, pa.DataType], like: Schema, asked: dict[str, list[str]]) -> Schema:
    for argument in ("columns", "categorical", "numeric"):
        if asked[argument]:
            raise ColumnError(Argument("like"), " fixes columns and kinds; leave ", Argument(argument), " out")
    planned = []
    for column in like:
        if not set(column.origins).isdisjoint(asked["exclude"]):
            continue
        for origin in column.origins:
            if origin not in types:
                raise unknown_column(origin, list(types))
        kind = types[column.origin]
        form = column.form
        if form == "integer" and not pa.types.is_integer(kind):
            form = "number"
        target = column.target or column.origin in asked["targets"] or column.name in asked["targets"]
        planned.append(column._replace(form=form, target=target))
    return Schema(tuple(planned))


def part_of(column: pa.Array, part: Any) -> pa.Array:
    """Return one part of dates, or the bins of numbers.

    The day of the week counts from Monday = 0, the month from 1, the hour from 0.
    """
    if isinstance(part, Bins):
        return part.of(number_values(column))
    function: Callable[[Any], Any] = {"dayofweek": pc.day_of_week, "month": pc.month, "hour": pc.hour}[part]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        # A day begins at midnight; by itself it has no hour in Arrow.
        column = column.cast(pa.timestamp("ms"))
    return function(column)


def read_sources(
    arrays: Sequence[pa.Array], column: Column, family: str, *, asked: Any, known: dict[Any, pa.Array] | None = None
) -> pa.Array:
    """Return the values of a column from what the source has in each of its `origins`.

    Parameters
    ----------
    arrays : sequence of pyarrow.Array
    column, family, asked
        As in `read_column`.
    known : dict, optional
        Keeps what sides of crosses were read as, for other crosses of the same batch.
    """
    part = column.part
    if not isinstance(part, Cross | Slope):
        return read_column(arrays[0], column, family, asked=asked)
    known = {} if known is None else known

    def side(array: pa.Array, of: Column) -> pa.Array:
        if (of.origin, of.part) not in known:
            known[of.origin, of.part] = read_column(array, of, "null", asked=asked)
        return known[of.origin, of.part]

    if isinstance(part, Cross):
        return cells(*map(side, arrays, part.sides))
    return within(side(arrays[0], Column(column.origin, "number", column.origin)), side(arrays[1], part.by), part)


def read_column(array: pa.Array, column: Column, family: str, *, asked: Any) -> pa.Array:
    """Return the values of a column; of a date the part that is collected, and of a number with bins their labels.

    Parameters
    ----------
    array : pyarrow.Array
        What the source has.
    column : Column
        What it is to be read as.
    family : str
        Of the labels that are known, `null` where there are none (see `gramian.design.schema`).
    asked : str
        Who says what kind the column is, for the message where it is of another: `"in fit it was"`.
    """
    kind = array.type
    if isinstance(column.part, Bins):
        fits = is_number(kind)
    elif column.part is not None:
        fits = is_date(kind) and (column.part == "hour" or not pa.types.is_time(kind))
    elif column.form == "category":
        # A column of another type has only unseen levels; that is a mistake more often than news.
        given = label_family(kind)
        fits = given is not None and (given == family or "null" in (given, family))
    else:
        fits = is_number(kind)
    if fits:
        if isinstance(column.part, str):
            require_known_zone(column.origin, kind)
        return array if column.part is None else part_of(array, column.part)
    if not observed(array):
        return pa.nulls(len(array))
    wanted: str = column.kind
    if isinstance(column.part, Bins):
        wanted = "numeric"
    elif column.part:
        wanted = f"a date with a {column.part}"
    elif column.form == "category" and family != "null":
        wanted = f"{wanted} ({family} labels)"
    step: tuple[Any, ...] = ()
    if is_text(kind) and column.part is None and column.form != "category":
        step = _not_a_number(array)
    raise ColumnError(f"column {column.origin!r} holds {type_words(kind)}; ", asked, f" {wanted}", *step)


def _not_a_number(texts: pa.Array) -> tuple[Any, ...]:
    """Return the words that name the first text that is not a number, and what to do where it is a missing value."""
    for text in texts.unique().drop_null().to_pylist():
        word = text.strip()
        if word and word not in WORDS and not is_written_number(word):
            what = f". {word!r} is not a number; if it stands for a missing value in a file, pass "
            return what, Argument("csv", {"na": [word]})
    return ()
