"""Children started, watched and counted: whatever ends one of them, or keeps it longer than a case may take, is a failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .base import classes
from .runner import OUTCOMES

BLOCK = 2000
"""Cases of one child: it is started anew afterwards, so that what one leaves behind cannot add up."""

_FIRST = 21
_START = 300.0
"""Cases of a child in which it still imports modules and compiles loops, and the seconds that one of these may take."""


@dataclass
class Tally:
    """What came of the cases."""

    names: list[str]
    counts: np.ndarray
    failures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many were run, those that ended a child included."""
        return int(self.counts.sum()) + sum(note["how"] in ("signal", "hang") for note in self.failures)

    def table(self) -> str:
        """Return counts by class and outcome as lines of text."""
        deaths = ("signal", "hang")
        ended = [
            [sum(n["class"] == name and n["how"] == how for n in self.failures) for how in deaths]
            for name in self.names
        ]
        heads = ["class", "cases", *OUTCOMES, "signal", "hang"]
        body = [
            [name, sum(map(int, row)) + sum(dead), *map(int, row), *dead]
            for name, row, dead in zip(self.names, self.counts, ended, strict=True)
        ]
        body.append(["all", *(sum(int(row[k]) for row in body) for k in range(1, len(heads)))])
        widths = [max(len(f"{row[k]}") for row in [heads, *body]) for k in range(len(heads))]
        return "\n".join("  ".join(f"{v:>{w}}" for v, w in zip(row, widths, strict=True)) for row in [heads, *body])


@dataclass
class _Child:
    process: subprocess.Popen[bytes]
    shared: np.ndarray
    errors: Path
    begin: int
    last: int
    at: int
    since: float


def run(
    *,
    first: int,
    cases: int,
    workers: int = 2,
    seconds: float | None = None,
    limit: float = 30.0,
    chosen: tuple[str, ...] = (),
) -> Tally:
    """Run cases in children and return what came of them, on Ctrl-C of those up to there.

    Parameters
    ----------
    first : int
        The first seed; the others follow it.
    cases : int
        How many at most.
    workers : int
        Children at a time.
    seconds : float, optional
        Time after which no more are begun.
    limit : float
        Seconds that a case may take.
    chosen : tuple of str
        Classes to run; all where there are none.
    """
    end = time.monotonic() + (seconds if seconds is not None else float("inf"))
    blocks = iter(range(first, first + cases, BLOCK))
    names = classes(chosen)
    tally = Tally(names, np.zeros((len(names), len(OUTCOMES)), dtype=np.int64))
    children: list[_Child] = []
    waiting: list[tuple[int, int]] = []
    # In memory where there is a place for it; whatever a child that dies leaves behind goes with it.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="gramian-fuzz-", dir=memory) as folder:
        notes = Path(folder) / "failures.jsonl"
        notes.touch()
        try:
            while True:
                while len(children) < workers and time.monotonic() < end:
                    part = waiting.pop(0) if waiting else next(_parts(blocks, first + cases), None)
                    if part is None:
                        break
                    children.append(_start(*part, Path(folder), notes, names))
                if not children:
                    break
                time.sleep(0.05)
                for child in list(children):
                    ended = _look_at(child, limit, time.monotonic() > end)
                    if ended is None:
                        continue
                    children.remove(child)
                    tally.counts += np.array(child.shared[1:]).reshape(tally.counts.shape)
                    if ended:
                        tally.failures.append(ended | {"class": names[ended["seed"] % len(names)]})
                        if ended["seed"] + 1 < child.last:
                            waiting.append((ended["seed"] + 1, child.last))
        except KeyboardInterrupt:
            # What was seen so far is counted.
            for child in children:
                tally.counts += np.array(child.shared[1:]).reshape(tally.counts.shape)
        finally:
            for child in children:
                child.process.kill()
                child.process.wait()
        tally.failures += [json.loads(line) for line in notes.read_text().splitlines()]
    return tally


def _parts(blocks: Iterator[int], last: int) -> Iterator[tuple[int, int]]:
    for begin in blocks:
        yield begin, min(begin + BLOCK, last)


def _start(begin: int, last: int, folder: Path, notes: Path, names: list[str]) -> _Child:
    path = folder / f"shared-{begin}"
    np.zeros(1 + len(names) * len(OUTCOMES), dtype=np.int64).tofile(path)
    shared = np.memmap(path, dtype=np.int64, mode="r+")
    shared[0] = -1
    errors = folder / f"errors-{begin}"
    command = [sys.executable, "-m", "tests.fuzz.runner", str(begin), str(last), str(path), str(notes), *names]
    with open(errors, "wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=Path(__file__).parents[2])
    return _Child(process, shared, errors, begin, last, -1, time.monotonic())


def _look_at(child: _Child, limit: float, late: bool) -> dict[str, Any] | None:
    """Return None for a child that runs on, {} for one that is done, and what happened to one that died or hangs."""
    code = child.process.poll()
    at = int(child.shared[0])
    if code == 0 and at == child.last:
        return {}
    if code is not None:
        words = child.errors.read_text(errors="replace")[-12_000:]
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        if at < 0:
            raise RuntimeError(f"a child did not begin ({name}): {words}")
        # The last of it is a list of all modules, which says nothing.
        where = [line[:200] for line in words.splitlines() if line.strip() and not line.startswith("Extension modules")]
        return {"seed": at, "how": "signal", "words": name, "where": where[-30:]}
    if at != child.at:
        child.at, child.since = at, time.monotonic()
    patience = limit if at >= child.begin + _FIRST else max(limit, _START if at >= 0 else 300.0)
    if time.monotonic() - child.since > patience:
        child.process.kill()
        child.process.wait()
        return {"seed": max(at, 0), "how": "hang", "words": f"more than {patience:g} s", "where": []}
    if late:
        child.process.kill()
        child.process.wait()
        return {}
    return None
