"""How far long work has come: done, a second and time left, on standard error, once the work turns out to be long."""

from __future__ import annotations

import sys
import time
from typing import Any

SHOW_AFTER = 1.0
"""Seconds before anything is shown: short work needs no progress."""


class Progress:
    """Shows how far work has come; a context, so that the line ends where the work fails too.

    Parameters
    ----------
    wanted : bool or None
        None shows progress on a terminal only.
    total : int or None
        Rows (or what `unit` names) in all, where known: then the time left is shown too.
    what : str
        What is being done, for the line's beginning.
    unit : str
        What is counted.

    Examples
    --------
    >>> with Progress(False, 3) as shown:
    ...     shown.advance(3)
    """

    def __init__(self, wanted: bool | None, total: int | None, what: str = "collect", unit: str = "rows") -> None:
        self.wanted = sys.stderr is not None and sys.stderr.isatty() if wanted is None else wanted
        self._total, self._what, self._unit = total, what, unit
        self._started = time.monotonic()
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, count: int) -> None:
        """Say that so many more are done."""
        self._done += count
        if not self.wanted:
            return
        if self._bar is None and time.monotonic() - self._started >= SHOW_AFTER:
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, speed=self._speed())

    def _speed(self) -> str:
        rate = self._done / max(time.monotonic() - self._started, 1e-9)
        return f"{rate / 1e6:.1f} M {self._unit}/s" if rate >= 1e6 else f"{rate:,.0f} {self._unit}/s"

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        total = f" of {self._total:,}" if self._total is not None else ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}" + f"{total} {self._unit}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn() if self._total is not None else TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(self._what, total=self._total, completed=self._done, speed=self._speed())
        self._bar.start()

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
