"""What a benchmark prints: one row a comparison, the target beside the figure."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

# Cores in use by other processes above which a figure is marked with a question mark.
BUSY = 0.1

# Names a file to which each row is added as a line of JSON: how `python -m benchmarks all` gathers rows.
KEPT = "GRAMIAN_BENCHMARK_ROWS"


@dataclass(frozen=True)
class Row:
    """One comparison. `figure` is what the target speaks of: a ratio (x), seconds (s) or gigabytes (GB)."""

    case: str
    what: str
    against: str
    figure: float | None
    unit: str = "x"
    at_most: float | None = None
    at_least: float | None = None
    ours_seconds: float | None = None
    peer_seconds: float | None = None
    ours_peak: int | None = None
    peer_peak: int | None = None
    floor: str = ""
    note: str = ""
    neighbours: float = 0.0

    @property
    def target(self) -> str:
        """The bound on the figure, or nothing."""
        if self.at_least is not None:
            return f">= {self.at_least:g}{self.unit}"
        return f"<= {self.at_most:.3g}{self.unit}" if self.at_most is not None else ""

    @property
    def verdict(self) -> str:
        """Whether the bound is held; without one, the note."""
        if self.figure is None or not self.target:
            return self.note
        held = self.figure >= self.at_least if self.at_least is not None else self.figure <= (self.at_most or 0.0)
        return ("pass" if held else "MISS") + ("?" if self.neighbours > BUSY else "")


def keep(row: Row) -> Row:
    """Add a row to the file that the environment names, if it names one, and return it."""
    if path := os.environ.get(KEPT):
        with Path(path).open("a", encoding="utf-8") as file:
            print(json.dumps({**asdict(row), "verdict": row.verdict}), file=file)
    return row


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f} s" if value < 10 else f"{value:.1f} s"


def _gigabytes(value: int | None) -> str:
    return "" if value is None else f"{value / 1e9:.2f} GB"


HEAD = ("", "case", "against", "ours", "peer", "figure", "target", "", "peak", "peer peak", "floor")


def cells(row: Row) -> tuple[str, ...]:
    # A figure without a unit is a score or a rank, whose third decimal is still read.
    figure = "" if row.figure is None else f"{row.figure:.{2 if row.unit else 3}f}{row.unit}"
    return (
        row.case,
        row.what,
        row.against,
        _seconds(row.ours_seconds),
        _seconds(row.peer_seconds),
        figure,
        row.target,
        row.verdict,
        _gigabytes(row.ours_peak),
        _gigabytes(row.peer_peak),
        row.floor,
    )


def show(rows: list[Row]) -> None:
    """Print the rows as one aligned table."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = {3, 4, 5, 6, 8, 9}
    for line in lines:
        parts = (f"{c:>{w}}" if j in right else f"{c:<{w}}" for j, (c, w) in enumerate(zip(line, widths, strict=True)))
        print("  ".join(parts).rstrip())
    busiest = max((row.neighbours for row in rows), default=0.0)
    if busiest > BUSY:
        print(f"\n?  other processes used up to {busiest:.1f} cores meanwhile: measure again on a quiet machine")


def environment(packages: list[str]) -> dict[str, object]:
    """Return what the figures depend on: processor count, interpreter and package versions."""
    versions = {name: version(name) for name in packages}
    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        **versions,
    }


def dump(rows: list[Row], around: dict[str, object]) -> None:
    """Print the rows and the environment as JSON."""
    print(json.dumps({"environment": around, "rows": [{**asdict(r), "verdict": r.verdict} for r in rows]}, indent=2))
