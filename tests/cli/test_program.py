"""The program: its version, and what it says to an empty command line."""

from __future__ import annotations

import gramian as gm


def test_the_version_and_an_empty_command_line(gramian):
    assert gramian("--version").ok().out == f"gramian {gm.__version__}\n"
    assert gramian().ok().out == gramian("--help").ok().out
