"""A benchmark is a module of cases: functions of a run that yield rows. Here is what all of them share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from benchmarks import measure, report
from benchmarks.measure import Call
from benchmarks.report import Row

Case = Callable[[Any], Iterator[Row]]


class Run:
    """The settings of one run."""

    def __init__(self, scale: float, repeat: int, slow: bool) -> None:
        self.scale, self.repeat, self.slow = scale, repeat, slow

    def rows(self, full: int) -> int:
        """Return the number of rows at this run's scale."""
        return max(1000, int(full * self.scale))

    def compare(self, row: Row, ours: Call, peer: Call) -> Row:
        """Fill in a row from two calls in this process, timed in turn."""
        pair = measure.interleaved(ours, peer, self.repeat)
        figure = 1 / pair.ratio if row.at_least is not None else pair.ratio
        return replace(row, figure=figure, ours_seconds=pair.first, peer_seconds=pair.second)


def main(name: str, about: str, cases: dict[str, Case], make_run: type[Run], arguments: list[str]) -> int:
    """Run the cases that the arguments name, print their rows, and return 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=about.split("\n\n")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="cases:\n" + "\n".join(f"  {key}  {case.__doc__}" for key, case in cases.items()),
    )
    parser.add_argument("--only", default=",".join(cases), help="cases to run, such as a,c", metavar="CASES")
    parser.add_argument("--rows-scale", type=float, default=1.0, help="share of the rows; targets are set for 1.0")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each contestant")
    parser.add_argument("--slow", action="store_true", help="also run peers that take minutes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    unknown = set(options.only.split(",")) - set(cases)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(cases)}")

    judged = options.rows_scale == 1.0
    run = make_run(options.rows_scale, options.repeat, options.slow)
    rows: list[Row] = []
    for key in options.only.split(","):
        print(f"{key}: {cases[key].__doc__}", file=sys.stderr, flush=True)
        neighbours = measure.Neighbours()
        for found in cases[key](run):
            row = found if judged else replace(found, note="not judged", at_most=None, at_least=None)
            rows.append(report.keep(replace(row, neighbours=neighbours.cores())))
            print("   " + "  ".join(filter(None, report.cells(rows[-1])[2:])), file=sys.stderr, flush=True)
    if options.json:
        report.dump(rows, report.environment(["numpy", "scipy", "scikit-learn", "pyarrow", "numba"]))
    else:
        report.show(rows)
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


def parts_parser(name: str, about: str, parts: str, repeat: int = 3) -> argparse.ArgumentParser:
    """Return the options of a benchmark of parts."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=about.split("\n\n")[0])
    parser.add_argument("--only", default=parts, help="parts to run", metavar="PARTS")
    parser.add_argument("--repeat", type=int, default=repeat, help="calls of each contestant")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run_parts(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    parts: dict[str, Callable[[], Iterator[Row]]],
    timed: Collection[str],
    package: str = "numba",
) -> int:
    """Run the parts that the options name, print their rows, and return 1 where a target is missed."""
    unknown = set(options.only.split(",")) - set(parts)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    rows: list[Row] = []
    for part in options.only.split(","):
        others = measure.Neighbours()
        for row in parts[part]():
            rows.append(report.keep(replace(row, neighbours=others.cores() if part in timed else 0.0)))
            print("   " + "  ".join(filter(None, report.cells(rows[-1]))), file=sys.stderr, flush=True)
    if options.json:
        report.dump(rows, report.environment(["numpy", "scipy", "scikit-learn", package]))
    else:
        report.show(rows)
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


def not_judged(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows without their targets: those are set for all the rows."""
    return (replace(row, at_most=None, at_least=None) for row in rows)
