"""The command line: the commands by subject, and what they share beside them.

Nothing heavy is imported until a command needs it, so that `gramian --help` answers at once.
"""

from __future__ import annotations


def main() -> int:
    """Run the command that the process was started with; return its exit code."""
    import sys

    from gramian.cli.running import run

    return run(sys.argv[1:])
