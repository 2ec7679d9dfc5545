"""Messages of the library in the words of the command line: what is `exclude=["a"]` in Python is `--exclude a` here.

A message is made of parts (`gramian.errors`); texts are the same everywhere, and arguments and calls are written here as
options and commands.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable

from gramian.errors import Argument, Call, InParts, Parameter, PythonOnly, Value, readable, shown

_OPTIONS = {
    "columns": "--columns",
    "exclude": "--exclude",
    "prefix": "--prefix",
    "keep_key": "--keep-key",
    "numeric": "--numeric",
    "categorical": "--categorical",
    "categorical_features": "--categorical",
    "targets": "--targets",
    "keep": "--keep",
    "like": "--like",
    "checkpoint": "--checkpoint",
    "missing": "--missing",
    "target_missing": "--target-missing",
    "folds": "--folds",
    "fold_by": "--fold-by",
    "sample_weight": "--weights",
    "n_components": "-k",
    "k": "-k",
    "n_jobs": "--jobs",
    "y": "--target",
    "data": "--data",
    "view": "--view",
}
"""Argument -> option; any other argument is a parameter of a method, and so a `--set`."""

CSV_OPTIONS = {
    "delimiter": (
        "--delimiter",
        "CHAR",
        "What separates the fields of a CSV file (tab for a tab); detected if not given.",
    ),
    "decimal": ("--decimal", "CHAR", "The decimal point of a CSV file, . or a comma; detected if not given."),
    "thousands": ("--thousands", "CHAR", "What groups digits in a CSV file; detected if not given."),
    "encoding": ("--encoding", "NAME", "The encoding of a CSV file, such as latin-1; detected if not given."),
    "date_format": ("--date-format", "FORMAT", "Dates in a CSV file, such as %d.%m.%Y; detected if not given."),
    "empty": ("--empty", "missing|text", "What a quoted empty field of a CSV file is; detected if not given."),
    "header": ("--header", "LINE", "The line of the header in a CSV file, counted from 1; detected if not given."),
    "na": (
        "--na",
        "WORD",
        "A word that is a missing value in a CSV, .xlsx or JSON-lines file; repeatable. NA, n/a and - among numbers are.",
    ),
    "sheet": ("--sheet", "NAME", "The sheet of a spreadsheet (.xlsx); by default the first."),
}
"""Setting of `csv` -> option, its metavar, its help."""

_COMMANDS = {
    "collect": "gramian collect",
    "merge": "gramian merge",
    "preview": "gramian inspect",
    "save": "gramian collect or gramian fit",
}
"""Function -> command; any other function is there in Python only."""


class UsageError(InParts):
    """The command was called in a way that no data could make right."""


def command_line() -> str:
    """Return the command line of this process, as it can be typed again."""
    return shlex.join(["gramian", *sys.argv[1:]])


def one_line(text: str) -> str:
    """Return a message with its line breaks taken out.

    Examples
    --------
    >>> one_line(" two   words ")
    'two words'
    """
    return " ".join(text.split())


def in_options(message: object) -> str:
    """Return a message in one line, with its arguments named as options and its calls as commands.

    Parameters
    ----------
    message : str, an exception, or a part of the message of one

    Examples
    --------
    >>> from gramian.errors import DataError
    >>> in_options(DataError("column 'a b' holds lists; pass ", Argument("exclude", ["a b"]), ", or convert it first"))
    "column 'a b' holds lists; pass --exclude 'a b', or convert it first"
    >>> in_options(DataError(Argument("ridge", "cv"), " needs folds: ", Call("collect", folds=5), " keeps them"))
    '--set ridge=cv needs folds: gramian collect --folds 5 keeps them'
    """
    return readable(one_line(_worded(message)))


def _worded(part: object) -> str:
    if isinstance(part, PythonOnly):
        return ""
    if isinstance(part, Argument):
        return _option(part)
    if isinstance(part, Parameter):
        return _option(Argument(part.name))
    if isinstance(part, Value):
        return _text(part.value)
    if isinstance(part, Call):
        command = _COMMANDS.get(part.name)
        return " ".join([command, *map(_option, part.arguments)]) if command else f"{part} (in Python)"
    parts = getattr(part, "parts", None)
    return str(part) if parts is None else "".join(map(_worded, parts))


def _option(argument: Argument) -> str:
    if argument.name == "csv":
        settings = argument.value.items() if argument.has_value else ()
        pairs = [(CSV_OPTIONS[name][0], each) for name, value in settings for each in _each(value)]
        return " ".join(f"{option} {shlex.quote(_text(value))}" for option, value in pairs) or "options of CSV files"
    option = _OPTIONS.get(argument.name)
    if not argument.has_value:
        return option or f"--set {argument.name}"
    if option is None:
        return f"--set {shlex.quote(f'{argument.name}={_text(argument.value)}')}"
    return " ".join(f"{option} {shlex.quote(_text(value))}" for value in _each(argument.value))


def _each(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else [value]


def _text(value: object) -> str:
    """Return a value as `--set` reads it."""
    if isinstance(value, str):
        return value
    return shown(value).lower() if value is None or isinstance(value, bool) else shown(value)
