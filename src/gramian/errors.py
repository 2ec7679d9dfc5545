"""What a user can get wrong, as exceptions that say what to do next.

Every message is one line that names the file, column or value at fault and the next step. All of them derive from
`GramianError`; those about data are also `ValueError`, so that code written against scikit-learn catches them. Advice that
stops nothing is a warning of its own class.

A message is made of parts: texts, and what a text would have to spell in the words of one interface alone. An `Argument`
is `exclude=['a']` in Python and `--exclude a` on the command line; a `Call` is `collect(folds=5)` or `gramian collect
--folds 5`; what only Python can do is `PythonOnly`. `str` joins them in Python's words; the command line reads `parts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class _UNSET:
    """Stands for no value; a class, because it stays itself when an error comes from another process."""


@dataclass(frozen=True)
class Argument:
    """An argument that a message names, with its value where the message has one.

    Examples
    --------
    >>> print(Argument("exclude", ["a"]), Argument("folds"))
    exclude=['a'] folds=
    """

    name: str
    value: Any = _UNSET

    @property
    def has_value(self) -> bool:
        """Whether the message names a value, be it None."""
        return self.value is not _UNSET

    def __str__(self) -> str:
        return f"{self.name}={shown(self.value)}" if self.has_value else f"{self.name}="


@dataclass(frozen=True)
class Parameter:
    """A parameter that a message speaks of: `ridge` in Python, `--set ridge` on the command line."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Value:
    """A value that may be given: `'auto'` in Python, `auto` on the command line."""

    value: Any

    def __str__(self) -> str:
        return shown(self.value)


class Call:
    """A function that a message names as the next step, with arguments where the message has some.

    Examples
    --------
    >>> print(Call("collect", folds=5), Call("pool"))
    collect(folds=5) pool()
    """

    def __init__(self, name: str, **arguments: Any) -> None:
        self.name = name
        self.arguments = tuple(Argument(key, value) for key, value in arguments.items())

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


class Message(str):
    """A text that remembers the parts it was made of; it may be a part itself.

    Examples
    --------
    >>> note = Message("an id? ", Argument("exclude", ["a"]))
    >>> note, note.parts[1].name
    ("an id? exclude=['a']", 'exclude')
    """

    parts: tuple[object, ...]

    def __new__(cls, *parts: object) -> Message:
        """Join the parts in Python's words."""
        message = super().__new__(cls, visible("".join(map(str, parts))))
        message.parts = parts
        return message

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return self.parts


class PythonOnly(Message):
    """A stretch of a message about what only Python can do; the command line leaves it out."""


class InParts(Exception):
    """An exception whose arguments are the parts of its message."""

    @property
    def parts(self) -> tuple[object, ...]:
        """What the message is made of."""
        return self.args

    def __str__(self) -> str:
        return readable("".join(map(str, self.args)))


class GramianError(InParts):
    """Base of every exception this package raises on purpose; takes the parts of its message."""


class DataError(GramianError, ValueError):
    """The data, a file or an argument about them is at fault."""


class ColumnError(DataError):
    """A column that was asked for is not there, or cannot be used as asked."""


class NumberError(DataError, TypeError):
    """A value stands where a number is needed and is not one."""


class UnsolvedError(DataError, AttributeError):
    """What was added up by `partial_fit` has no solution, so the attribute that was asked for is not there."""

    def __new__(cls, *parts: object) -> UnsolvedError:
        """Make an error of its own layout, which Python does not find by itself; those who unpickle errors call this."""
        return AttributeError.__new__(cls, *parts)


class FileFormatError(DataError):
    """A file is truncated, corrupted, or not of the kind it was opened as."""


class NoRowsError(FileFormatError):
    """A file or another source has no rows, where some are needed."""


class SourceNotFoundError(DataError, FileNotFoundError):
    """No file stands at a path, or a pattern matches none."""

    def __new__(cls, *parts: object) -> SourceNotFoundError:
        """Make an error of its own layout, which Python does not find by itself; those who unpickle errors call this."""
        return FileNotFoundError.__new__(cls, Message(*parts))

    def __init__(self, *parts: object) -> None:
        # OSError takes two arguments for an error number and its text, so it never sees more than one.
        super().__init__(Message(*parts))


class MemoryLimitError(GramianError, MemoryError):
    """The answer would not fit the memory allowed; raised before it is allocated."""

    def __new__(cls, *parts: object) -> MemoryLimitError:
        """Make an error of its own layout, which Python does not find by itself; those who unpickle errors call this."""
        return Exception.__new__(cls, *parts)


class MissingPackageError(GramianError, ImportError):
    """An optional package is needed for this source or method."""


def missing_package(what: object, *packages: str, extra: str | None = None) -> MissingPackageError:
    """Return the error for optional packages that are not there, with advice that works however Gramian was installed.

    Examples
    --------
    >>> print(missing_package("metric 'levenshtein'", "rapidfuzz", extra="distances"))
    metric 'levenshtein' needs rapidfuzz; install it with: pip install rapidfuzz (the extra 'distances')
    """
    them = "it" if len(packages) == 1 else "them"
    whole = f" (the extra {extra!r})" if extra else ""
    return MissingPackageError(
        what, f" needs {' and '.join(packages)}; install {them} with: pip install {' '.join(packages)}{whole}"
    )


def optional(module: str, what: object, *packages: str, extra: str | None = None) -> Any:
    """Return an optional package, imported; where it is not installed raise `missing_package`."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_package(what, *packages, extra=extra) from None


class DroppedClassWarning(UserWarning):
    """Classes of one object were left out of a fit, as asked; they are never predicted."""


class NothingSelectedWarning(InParts, UserWarning):
    """A selector keeps no column; what it gives has rows and no columns."""


class WideColumnWarning(InParts, UserWarning):
    """A column has so many rare levels that pooling them would help; nothing is wrong."""


class LongWorkWarning(InParts, UserWarning):
    """What was asked for takes minutes of arithmetic, said before it begins; nothing is wrong."""


class CheckpointWarning(InParts, UserWarning):
    """Progress cannot be kept for now; the pass goes on, and the checkpoint before this one stays."""


class EchoStateWarning(UserWarning):
    """A reservoir's spectral radius is 1 or more: its states may depend on where it began, however long the sequence."""


class LearningWarning(UserWarning):
    """Learning stopped before its end; what was learnt until then is kept."""


def readable(text: str) -> str:
    """Return a message that can be read: of a name as long as a page, only the beginning and what follows it.

    Examples
    --------
    >>> len(readable(f"column {'x' * 10_000!r} is not there; leave it out")) < 1000
    True
    """
    text = visible(text)
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 3 :]}"


_LONGEST = 990

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return a text in which nothing steers a terminal: control characters are written as Python and JSON write them.

    Parameters
    ----------
    text : str
    lines : bool
        Whether line breaks stay, as in a text of several lines.

    Examples
    --------
    >>> print(visible("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """

    def written(match: re.Match[str]) -> str:
        letter = match[0]
        if lines and letter == "\n":
            return letter
        return repr(letter)[1:-1] if letter < " " else f"\\u{ord(letter):04x}"

    return _UNSEEN.sub(written, text)


_WORDS: dict[str, str | tuple[str, ...]] = {
    "text": ("large_string", "string"),
    "true and false": "bool",
    "whole numbers": ("uint", "int"),
    "numbers": ("double", "float", "halffloat", "decimal"),
    "dates with times": "timestamp",
    "dates": "date",
    "times of day": "time",
    "durations": "duration",
    "no values": "null",
    "lists": ("large_list", "list", "fixed_size_list"),
    "nested columns": ("struct", "map"),
    "bytes": ("binary", "large_binary", "fixed_size_binary"),
}
"""What people call the values of Arrow types whose names begin so; the first that fits."""


def type_words(kind: object) -> str:
    """Return what values of an Arrow type are, as people say it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [type_words(kind) for kind in (pa.large_string(), pa.int8(), pa.float64(), pa.date32(), pa.list_(pa.int8()))]
    ['text', 'whole numbers', 'numbers', 'dates', 'lists']
    >>> type_words(pa.dictionary(pa.int32(), pa.float64()))
    'numbers'
    """
    name = str(kind)
    if name.startswith("dictionary<values="):
        return type_words(name.removeprefix("dictionary<values=").partition(",")[0])
    return next((words for words, starts in _WORDS.items() if name.startswith(starts)), name)


def shown(value: object) -> str:
    """Return a value as it is written in Python, those of numpy (and collections of them) as the plain values they hold.

    Examples
    --------
    >>> import numpy as np
    >>> shown(np.int64(9)), shown(np.str_("y")), shown([np.float64(0.5), None]), shown("auto")
    ('9', "'y'", '[0.5, None]', "'auto'")
    """
    text = repr(_plain(value))
    # A frame is shown in lines, and a message is one.
    return " ".join(text.split()) if "\n" in text else text


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
