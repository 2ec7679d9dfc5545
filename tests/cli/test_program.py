"""The program: its version, and what it says to an empty command line."""

from __future__ import annotations

import gramian as gm
from gramian.cli.program import COMMANDS, build


def test_the_version_and_an_empty_command_line(gramian):
    assert gramian("--version").ok().out == f"gramian {gm.__version__}\n"
    assert gramian().ok().out == gramian("--help").ok().out


def test_every_command_is_built_with_its_examples():
    built = build().commands
    assert list(built) == list(COMMANDS)
    assert [name for name in built if built[name].epilog != "\n".join(COMMANDS[name].EXAMPLES[name])] == []
