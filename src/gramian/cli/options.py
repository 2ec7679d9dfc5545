"""Arguments and options that several commands share, so that they read and complete alike everywhere.

After a tab the shell offers methods, their parameters, and the columns of the data named so far.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from gramian.cli.wording import CSV_OPTIONS, UsageError

# Completion


def methods(incomplete: str) -> list[str]:
    """Return methods that begin like this; other names they have, where no method does."""
    from gramian.estimators.registry import METHODS

    names = [method.name for method in METHODS if method.name.startswith(incomplete)]
    return names or [alias for method in METHODS for alias in method.aliases if alias.startswith(incomplete)]


def parameters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return `name=` for the parameters of the method named so far."""
    from gramian.errors import DataError
    from gramian.estimators.registry import find_method

    try:
        known = find_method(ctx.params.get("method") or "").parameters
    except DataError:
        return []
    return [f"{name}=" for name in known if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return columns of the data named so far that begin like this."""
    try:
        known = _columns_of(_paths(ctx))
    except Exception:
        # Half a command line names half a file: there is nothing to offer, and nobody to tell.
        return []
    return [name for name in known if name.startswith(incomplete)]


def _paths(ctx: typer.Context) -> list[str]:
    """Return the paths typed so far; while the last option lacks its value they are not yet sorted into arguments."""
    paths: list[str] = []
    given: list[Any] = [ctx.params.get(name) for name in ("source", "model", "data")]
    for each in [*given, ctx.args]:
        paths += [each] if isinstance(each, str) else [str(path) for path in each or ()]
    return [path for path in paths if not path.startswith("-")]


def _columns_of(paths: list[str]) -> list[str]:
    from gramian.cli.files import column_names, kind_of

    data = [path for path in paths if kind_of(path) == "data"]
    return column_names(data or paths[:1])


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from a least one on, whose complaint names what was given.

    Examples
    --------
    >>> whole(1)("12")
    12
    """

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no whole number") from None
        if number < least:
            raise typer.BadParameter(f"{number} is less than {least}")
        return number

    return read


# Options of several commands

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Parquet, CSV, .xlsx, Arrow or JSON-lines files, folders or quoted patterns."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file written by gramian fit.")]
MomentsOut = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The moments file to write.")]
TableOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .parquet, .csv, .csv.gz or .arrow.")
]
Missing = Annotated[
    str,
    typer.Option("--missing", metavar="raise|fill", help="fill: a column that a file lacks is missing values there."),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON instead.")]
Method = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="See gramian methods.", autocompletion=methods)
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="COL", help="The column to predict.", autocompletion=columns)
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COL", help="Copy a column through. Repeatable.", autocompletion=columns),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="COL", help="Leave a column out. Repeatable.", autocompletion=columns),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COL", help="Read a column as categories. Repeatable.", autocompletion=columns
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="COL", help="Read a column as numbers. Repeatable.", autocompletion=columns),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="COL", help="A column that says how often a row counts.", autocompletion=columns),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column", metavar="COL", help="For methods of distances: the column of objects.", autocompletion=columns
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the method (gramian methods NAME lists them). Repeatable.",
        autocompletion=parameters,
    ),
]


# Options about reading and writing data

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
    return tuple(word for name, some in values.items() for each in some for word in (CSV_OPTIONS[name][0], str(each)))


def with_csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes these options besides its own; whatever it opens is read with them."""

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name in CSV_OPTIONS}
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
        for name, (option, metavar, words) in CSV_OPTIONS.items()
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
