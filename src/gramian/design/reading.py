"""A column of a batch, read as the kind of column that it is known to be.

A type is not trusted where nothing was observed: a text column without a value in some batch arrives as floats from pandas,
as nulls from Arrow, and as text from a file that declares it. All of them are missing values of the same column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gramian.design.kinds import is_date, is_number, require_known_zone
from gramian.design.labels import label_family
from gramian.design.schema import Column
from gramian.errors import Argument, ColumnError
from gramian.tables.files.conventions import WORDS, is_written_number
from gramian.tables.schemas import is_text, observed


def date_part(column: pa.Array, part: str) -> pa.Array:
    """Return one part of dates: the day of the week from Monday = 0, the month from 1, the hour from 0."""
    function: Callable[[Any], Any] = {"dayofweek": pc.day_of_week, "month": pc.month, "hour": pc.hour}[part]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        # A day begins at midnight; by itself it has no hour in Arrow.
        column = column.cast(pa.timestamp("ms"))
    return function(column)


def read_column(array: pa.Array, column: Column, family: str, *, asked: str) -> pa.Array:
    """Return the values of a column, of a date the part that it stands for.

    Parameters
    ----------
    array : pyarrow.Array
        What the source has.
    column : Column
        What it is to be read as.
    family : str
        Of the labels that are known, `null` where there are none (see `gramian.design.labels`).
    asked : str
        Who says what kind the column is, for the message where it is of another: `"in fit it was"`.
    """
    kind = array.type
    if column.part is not None:
        fits = is_date(kind) and (column.part == "hour" or not pa.types.is_time(kind))
    elif column.form == "category":
        # A column of another type has only unseen levels; that is a mistake more often than news.
        given = label_family(kind)
        fits = given is not None and (given == family or "null" in (given, family))
    else:
        fits = is_number(kind)
    if fits:
        if column.part is not None:
            require_known_zone(column.origin, kind)
        return array if column.part is None else date_part(array, column.part)
    if not observed(array):
        return pa.nulls(len(array))
    wanted = f"a date with a {column.part}" if column.part else column.kind
    wanted = (
        f"{wanted} ({family} labels)" if column.form == "category" and family != "null" and not column.part else wanted
    )
    step: tuple[Any, ...] = ()
    if is_text(kind) and column.part is None and column.form != "category":
        step = _not_a_number(array)
    raise ColumnError(
        f"column {column.origin!r} holds {'text' if is_text(kind) else kind}; ", asked, f" {wanted}", *step
    )


def _not_a_number(texts: pa.Array) -> tuple[Any, ...]:
    """Return the words that name the first text that is not a number, and what to do where it is a missing value."""
    for text in texts.unique().drop_null().to_pylist():
        word = text.strip()
        if word and word not in WORDS and not is_written_number(word):
            what = f". {word!r} is not a number; if it stands for a missing value in a file, pass "
            return what, Argument("csv", {"na": [word]})
    return ()
