"""The program: its commands in the order in which people meet them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from gramian.cli import demo
from gramian.cli.commands import apply, export, fit, inspect, moments, report
from gramian.cli.options import aiming, reading, with_options, writing
from gramian.cli.printing import with_streams

COMMANDS = {
    "demo": demo,
    "collect": moments,
    "merge": moments,
    "subtract": moments,
    "compare": moments,
    "attach": moments,
    "select": fit,
    "fit": fit,
    "transform": apply,
    "predict": apply,
    "detect": apply,
    "export": export,
    "report": report,
    "inspect": inspect,
    "methods": inspect,
}
"""Command -> module with a function of that name, and with `EXAMPLES` of it: command lines that run as printed."""

AROUND: dict[Callable[..., Any], set[str]] = {
    writing: {"transform", "predict", "detect"},
    aiming: {"collect", "fit", "report", "select"},
    reading: {"collect", "attach", "fit", "transform", "predict", "detect", "export", "report", "inspect", "select"},
}
"""Options that several commands take -> these commands."""


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
        around = [context for context, names in AROUND.items() if name in names]
        command = with_options(with_streams(getattr(module, name)), *around)
        app.command(name, cls=Command, epilog="\n".join(module.EXAMPLES[name]))(command)
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


class Command(TyperCommand):
    """A command whose help leaves Python's types out and prints its examples as they stand."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        arguments, options = [], []
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                arguments.append((str(getattr(param, "metavar", None)), str(getattr(param, "help", None))))
                continue
            record = param.get_help_record(ctx)
            if record is not None:
                options.append(record)
        for title, records in (("Arguments", arguments), ("Options", options)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one a line, never wrapped: a line copied from here must run."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")
