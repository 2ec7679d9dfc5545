"""How far a long table of distances has come: one line on standard error, on a terminal only unless asked for."""

from __future__ import annotations

import sys
import time

SHOW_AFTER = 1.0
"""Seconds before anything is shown."""


class Progress:
    """Counts pairs done; the share is written over the same line at most five times a second.

    Parameters
    ----------
    wanted : bool or None
        None shows progress on a terminal only.
    total : float
        Pairs in all.
    """

    def __init__(self, wanted: bool | None, total: float) -> None:
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._total, self._done = max(total, 1.0), 0.0
        self._next = time.monotonic() + SHOW_AFTER
        self._shown = False

    def advance(self, pairs: float) -> None:
        """Say that so many more pairs are done."""
        self._done += pairs
        if self._wanted and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._shown = True
            print(f"\rdistances {self._done / self._total:4.0%}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line."""
        if self._shown:
            print(file=sys.stderr)
