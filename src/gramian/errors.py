"""What a user can get wrong, as exceptions that say what to do next.

Every message is one line that names the file, column or value at fault and the next step. All of them derive from
`GramianError`; those about data are also `ValueError`, so that code written against scikit-learn catches them. Advice that
stops nothing is a warning of its own class.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class GramianError(Exception):
    """Base of every exception this package raises on purpose."""


class DataError(GramianError, ValueError):
    """The data, a file or an argument about them is at fault."""


class ColumnError(DataError):
    """A column that was asked for is not there, or cannot be used as asked."""


class UnsolvedError(DataError, AttributeError):
    """What was added up by `partial_fit` has no solution, so the attribute that was asked for is not there."""


class FileFormatError(DataError):
    """A file is truncated, corrupted, or not of the kind it was opened as."""


class SourceNotFoundError(DataError, FileNotFoundError):
    """No file stands at a path, or a pattern matches none."""

    def __str__(self) -> str:
        # OSError formats (errno, strerror) pairs; a single message must come through untouched.
        return str(self.args[0])


class MemoryLimitError(GramianError, MemoryError):
    """The answer would not fit the memory allowed; raised before it is allocated."""


class MissingPackageError(GramianError, ImportError):
    """An optional package is needed for this source or method."""


class WideColumnWarning(UserWarning):
    """A column has so many rare levels that pooling them would help; nothing is wrong."""


def shown(value: object) -> str:
    """Return a value as it is written in Python, those of numpy (and collections of them) as the plain values they hold.

    Examples
    --------
    >>> import numpy as np
    >>> shown(np.int64(9)), shown(np.str_("y")), shown([np.float64(0.5), None]), shown("auto")
    ('9', "'y'", '[0.5, None]', "'auto'")
    """
    return repr(_plain(value))


def _plain(value: Any) -> Any:
    # By what it can do: this layer imports nothing.
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    if type(value) in (list, tuple, set):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def unknown_column(name: object, known: Iterable[str], *, where: str = "the table") -> ColumnError:
    """Return the error for a column that is not there, with the nearest name as a suggestion.

    Examples
    --------
    >>> print(unknown_column("colour", ["color", "age"]))
    column 'colour' is not in the table; did you mean 'color'?
    """
    names = [str(k) for k in known]
    near = get_close_matches(str(name), names, n=1, cutoff=0.6)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif len(names) <= 12:
        hint = "it has " + (", ".join(repr(n) for n in names) or "no columns")
    else:
        hint = f"it has {len(names)} columns, the first of them {', '.join(repr(n) for n in names[:5])}"
    return ColumnError(f"column {shown(name)} is not in {where}; {hint}")
