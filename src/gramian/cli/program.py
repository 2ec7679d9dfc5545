"""The program: its commands in the order in which people meet them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from gramian.cli.commands import (
    collect,
    detect,
    fit,
    inspect,
    merge,
    methods,
    predict,
    report,
    select,
    subtract,
    transform,
)
from gramian.cli.demo import story
from gramian.cli.help import Command
from gramian.cli.shared.csv_options import with_csv_options, with_spreadsheet_option, with_target_option
from gramian.cli.shared.streams import with_streams

COMMANDS = {
    "demo": story,
    "collect": collect,
    "merge": merge,
    "subtract": subtract,
    "select": select,
    "fit": fit,
    "transform": transform,
    "predict": predict,
    "detect": detect,
    "report": report,
    "inspect": inspect,
    "methods": methods,
}
"""Command -> module with a function of that name and `EXAMPLES`, command lines that run as printed."""

READING = {"collect", "fit", "transform", "predict", "detect", "report", "inspect", "select"}
"""Commands that read data, and so take the options about CSV files."""

TARGETED = {"collect", "fit", "report", "select"}
"""Commands that take a target, and so the option about rows without one."""

WRITING = {"transform", "predict", "detect"}
"""Commands that write tables, and so take the option about spreadsheets."""


def build() -> Any:
    """Return the command line interface."""
    app = typer.Typer(
        help="Dense features from tables full of categories: one pass collects moments, the rest is algebra.",
        epilog="Start with: gramian demo. Every command has --help with examples.",
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name, module in COMMANDS.items():
        command = with_streams(getattr(module, name))
        if name in WRITING:
            command = with_spreadsheet_option(command)
        if name in TARGETED:
            command = with_target_option(command)
        if name in READING:
            command = with_csv_options(command)
        app.command(name, cls=Command, epilog="\n".join(module.EXAMPLES))(command)
    return get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        from gramian import __version__

        typer.echo(f"gramian {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass
