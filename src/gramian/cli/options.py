"""Arguments and options that several commands share, so that they read and complete alike everywhere.

After a tab the shell offers methods, their parameters, and the columns of the data named so far.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
            raise typer.BadParameter(f"{text!r} is not a whole number") from None
        if number < least:
            raise typer.BadParameter(f"{number} is less than {least}")
        return number

    return read


# Options of several commands


def option(told: str, words: str, **more: Any) -> Any:
    """Return an option told as in a help page, `--output -o FILE`: its names, and what its value is called if it has one."""
    names = [part for part in told.split() if part.startswith("-")]
    return typer.Option(*names, metavar=" ".join(told.split()[len(names) :]) or None, help=words, **more)


def argument(metavar: str, words: str, **more: Any) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=words, **more)


def of_columns(name: str, words: str) -> Any:
    """Return an option that names columns of the data, and completes them."""
    return option(f"{name} COL", words, autocompletion=columns)


Data = Annotated[
    list[str], argument("DATA", "Parquet, CSV, .xlsx, Arrow or JSON-lines files, folders or quoted patterns.")
]
DataOrMoments = Annotated[list[str], argument("DATA", "Data files, folders or quoted patterns; or one moments file.")]
Model = Annotated[str, argument("MODEL", "A file written by gramian fit.")]
MomentsOut = Annotated[str, option("--output -o FILE", "The moments file to write.")]
TableOut = Annotated[str, option("--output -o FILE", "The file to write: .parquet, .csv, .csv.gz or .arrow.")]
Missing = Annotated[str, option("--missing raise|fill", "fill: a column that a file lacks is missing values there.")]
Json = Annotated[bool, option("--json", "Print machine-readable JSON instead.")]
Method = Annotated[str, option("--method -m NAME", "See gramian methods.", autocompletion=methods)]
Target = Annotated[str | None, of_columns("--target", "The column to predict.")]
Keep = Annotated[list[str] | None, of_columns("--keep", "Copy a column through. Repeatable.")]
Exclude = Annotated[list[str] | None, of_columns("--exclude", "Leave a column out. Repeatable.")]
Categorical = Annotated[list[str] | None, of_columns("--categorical", "Read a column as categories. Repeatable.")]
Numeric = Annotated[list[str] | None, of_columns("--numeric", "Read a column as numbers. Repeatable.")]
Weights = Annotated[str | None, of_columns("--weights", "A column that says how often a row counts.")]
Column = Annotated[str | None, of_columns("--column", "For methods of distances: the column of objects.")]
Settings = Annotated[
    list[str] | None,
    option(
        "--set NAME=VALUE",
        "Set a parameter of the method (gramian methods NAME lists them). Repeatable.",
        autocompletion=parameters,
    ),
]


# Options about reading and writing data: of many commands, and in force while one of them runs

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


@contextmanager
def reading(**given: Any) -> Iterator[None]:
    """While the block runs, whatever is opened is read with the options that were given."""
    settings = {name: value for name, value in given.items() if value is not None and value != []}
    if not settings:
        yield
        return
    from gramian.tables.opening import csv_settings

    before = _typed.set(_as_typed(settings))
    try:
        with csv_settings(settings):
            yield
    finally:
        _typed.reset(before)


reading.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(
            setting,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                list[str] | None if setting in REPEATABLE else str | None, option(f"{name} {metavar}", words)
            ],
        )
        for setting, (name, metavar, words) in CSV_OPTIONS.items()
    ]
)


@contextmanager
def aiming(
    target_missing: Annotated[
        str,
        option(
            "--target-missing drop|raise",
            "drop: rows without a target are left out, and a line says how many; raise: they are an error.",
        ),
    ] = "drop",
) -> Iterator[None]:
    """While the block runs, rows without a target are left out, or an error."""
    if target_missing not in ("drop", "raise"):
        raise UsageError(f"--target-missing is drop or raise; got {target_missing!r}")
    from gramian.design.encoder import missing_targets

    with missing_targets(target_missing):
        yield


@contextmanager
def writing(
    spreadsheet_safe: Annotated[
        bool,
        option(
            "--spreadsheet-safe",
            "In a CSV file, write text that a spreadsheet would run as a formula behind an apostrophe.",
        ),
    ] = False,
) -> Iterator[None]:
    """While the block runs, CSV files are written so that a spreadsheet runs nothing, if that is asked for."""
    if not spreadsheet_safe:
        yield
        return
    from gramian.tables.write import spreadsheet_safety

    with spreadsheet_safety(True):
        yield


def with_options(command: Callable[..., Any], *around: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that runs in some contexts and takes their parameters as options behind its own."""
    taken = {context: inspect.signature(context, eval_str=True).parameters for context in around}

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        with ExitStack() as stack:
            for context, names in taken.items():
                stack.enter_context(context(**{name: arguments.pop(name) for name in names}))
            return command(**arguments)

    own = inspect.signature(command, eval_str=True)
    every = [*own.parameters.values(), *(each for more in taken.values() for each in more.values())]
    run.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in every]
    )
    run.__annotations__ = {each.name: each.annotation for each in every}
    return run
