"""Which categories tell rows apart instead of describing them: one rule for the whole library.

A categorical column with at least half as many levels as rows is an identifier, and is not a feature. A row shares its level
with less than one other row on average, so whatever is learned of the level is learned of that row alone; and the algebra
grows with the number of levels.

- *Levels* are those that occur, `None` (missing) and `(rare)` (pooled) among them, each as one.
- *Rows* are counted, whatever they weigh, those with a missing value included.
- Up to `FEW_LEVELS` levels a column is never an identifier: so many levels cost nothing, and a small table (6 rows, 3 levels)
  stays usable. It is the number of distinct values up to which whole numbers are read as classes.
- Numbers are not categories, and whole numbers kept by level are numbers. The parts of a date (day of the week, month, hour)
  are never identifiers.
- A column that the user names as a category (`categorical=`, `categorical_features=`, `as_categorical`) is a feature.

`docs/identifiers.md` is the page for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.types as pt

from gramian.design.schema import Column
from gramian.errors import Argument, Message, PythonOnly
from gramian.tables.files.conventions import DATE

FEW_LEVELS = 20
"""Levels up to which a column is never an identifier."""

_LOOKED_AT = 100
_NAMED = 5


def is_identifier(n_levels: int, n_rows: int) -> bool:
    """Whether a category of so many levels in so many rows tells rows apart.

    Examples
    --------
    >>> is_identifier(50, 100), is_identifier(49, 100), is_identifier(3, 6)
    (True, False, False)
    """
    return n_levels > FEW_LEVELS and 2 * n_levels >= n_rows


def may_be_identifier(column: Column) -> bool:
    """Whether the rule is for this column: a category, not named as one by the user, and not a part of a date."""
    return column.form == "category" and column.part is None and not column.named


def reads_as_dates(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether the first texts of a column are dates.

    Examples
    --------
    >>> reads_as_dates(pa.array(["2015-12-31", None, "2015-12-30"])), reads_as_dates(pa.array(["u1", "u2"]))
    (True, False)
    """
    if not (pt.is_string(values.type) or pt.is_large_string(values.type)):
        return False
    texts = [text for text in values.slice(0, _LOOKED_AT).to_pylist() if text is not None]
    return bool(texts) and all(map(DATE.match, texts))


def set_aside_note(found: Mapping[str, int], n_rows: int, dates: Iterable[str]) -> Message:
    """Return the line that says which columns are set aside, why, and how to keep them.

    Parameters
    ----------
    found : mapping
        The number of levels of each column.
    n_rows : int
    dates : iterable of str
        Those of the columns whose texts are dates.

    Examples
    --------
    >>> print(set_aside_note({"id": 100}, 100, []))
    column 'id' (100 levels) is set aside as an identifier: it has at least half as many levels as there are rows (100); keep \
it with categorical=['id'] in collect(), or categorical_features=['id'] in the method
    """
    names, texts = list(found), list(dates)
    listed = [f"{name!r} ({found[name]:,} levels)" for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
    one = len(names) == 1
    parts: list[object] = [
        f"{'column' if one else 'columns'} {', '.join(listed)}{more} {'is' if one else 'are'} set aside as "
        f"{'an identifier: it has' if one else 'identifiers: they have'} at least half as many levels as there are rows "
        f"({n_rows:,}); keep {'it' if one else 'them'} with ",
        Argument("categorical", names),
        PythonOnly(" in collect(), or ", Argument("categorical_features", names), " in the method"),
    ]
    if texts:
        parts.append(
            f"; {', '.join(map(repr, texts[:_NAMED]))} reads as dates: convert it to a date type to use the day of the week "
            "and the month"
        )
    return Message(*parts)
