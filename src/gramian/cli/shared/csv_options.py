"""Options about reading and writing data, the same on every command that has them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from gramian.cli.shared.usage import UsageError

OPTIONS = {
    "delimiter": ("--delimiter", "CHAR", "What separates the fields of a CSV file (tab for a tab); found by itself."),
    "decimal": ("--decimal", "CHAR", "The decimal point of a CSV file, . or a comma; found by itself."),
    "thousands": ("--thousands", "CHAR", "What groups digits in a CSV file; found by itself."),
    "encoding": ("--encoding", "NAME", "The encoding of a CSV file, such as latin-1; found by itself."),
    "date_format": ("--date-format", "FORMAT", "Dates in a CSV file, such as %d.%m.%Y; found by itself."),
    "empty": ("--empty", "missing|text", "What a quoted empty field of a CSV file is; found by itself."),
    "header": ("--header", "LINE", "The line of the header in a CSV file, counted from 1; found by itself."),
    "na": (
        "--na",
        "WORD",
        "A word that is a missing value in a CSV, .xlsx or JSON-lines file; repeatable. NA, n/a and - among numbers are.",
    ),
    "sheet": ("--sheet", "NAME", "The sheet of a spreadsheet (.xlsx); by default the first."),
}
"""Setting -> option, its metavar, its help."""
REPEATABLE = ("na",)


_typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


def reading_options() -> tuple[str, ...]:
    """Return these options as they were given to the command that runs: another one reads the same data with them."""
    return _typed.get()


def _as_typed(settings: dict[str, Any]) -> tuple[str, ...]:
    """Return settings as words of a command line.

    Examples
    --------
    >>> _as_typed({"decimal": ",", "sheet": "Daten 2025"})
    ('--decimal', ',', '--sheet', 'Daten 2025')
    """
    values = {name: value if isinstance(value, list | tuple) else [value] for name, value in settings.items()}
    return tuple(word for name, some in values.items() for each in some for word in (OPTIONS[name][0], str(each)))


def with_csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes these options besides its own; whatever it opens is read with them."""

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name in OPTIONS}
        settings = {name: value for name, value in given.items() if value is not None and value != []}
        if not settings:
            return command(**arguments)
        from gramian.tables.opening import csv_settings

        before = _typed.set(_as_typed(settings))
        try:
            with csv_settings(settings):
                return command(**arguments)
        finally:
            _typed.reset(before)

    more = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                list[str] | None if name in REPEATABLE else str | None,
                typer.Option(option, metavar=metavar, help=words),
            ],
        )
        for name, (option, metavar, words) in OPTIONS.items()
    ]
    return _with(run, command, more)


def with_target_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes `--target-missing` besides its own options."""

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        how = arguments.pop("target_missing")
        if how not in ("drop", "raise"):
            raise UsageError(f"--target-missing is drop or raise; got {how!r}")
        from gramian.design.encoder import missing_targets

        with missing_targets(how):
            return command(**arguments)

    words = "drop: rows without a target are left out, and a line says how many; raise: they are an error."
    more = inspect.Parameter(
        "target_missing",
        inspect.Parameter.KEYWORD_ONLY,
        default="drop",
        annotation=Annotated[str, typer.Option("--target-missing", metavar="drop|raise", help=words)],
    )
    return _with(run, command, [more])


def with_spreadsheet_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes `--spreadsheet-safe` besides its own options, for the CSV files that it writes."""

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        if not arguments.pop("spreadsheet_safe"):
            return command(**arguments)
        from gramian.tables.write import spreadsheet_safety

        with spreadsheet_safety(True):
            return command(**arguments)

    words = "In a CSV file, write text that a spreadsheet would run as a formula behind an apostrophe."
    more = inspect.Parameter(
        "spreadsheet_safe",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("--spreadsheet-safe", help=words)],
    )
    return _with(run, command, [more])


def _with(run: Callable[..., Any], command: Callable[..., Any], more: list[inspect.Parameter]) -> Callable[..., Any]:
    """Give a function the parameters of a command, and some more."""
    own = inspect.signature(command, eval_str=True)
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own.parameters.values()]
    run.__signature__ = own.replace(parameters=[*parameters, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [*parameters, *more]}
    return run
