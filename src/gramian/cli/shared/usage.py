"""How the program was called: the line as typed, and what no data could make right."""

from __future__ import annotations

import shlex
import sys

from gramian.errors import InParts


class UsageError(InParts):
    """The command was called in a way that no data could make right."""


def command_line() -> str:
    """Return the command line of this process, as it can be typed again."""
    return shlex.join(["gramian", *sys.argv[1:]])
