"""Run every benchmark one after another and write down what they say: ``python -m benchmarks all``.

Each benchmark runs in a process of its own, within a limit of minutes. Its rows, what it printed, the date, the machine
and the versions are kept in ``benchmarks/results.json``, from which ``benchmarks/RESULTS.md`` and the page of the site are
rendered. A benchmark that is run again replaces its entry; the others stay. ``--quick`` takes small tables, a few minutes
for all of them, and judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.report import BUSY, KEPT, Row, cells

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

SCALED = "--rows-scale 0.02 --repeat 1"

PLAN = {
    "moments": (f"--only a,c,d,f,g,k {SCALED}", ""),
    "linear": (SCALED, ""),
    "mahalanobis": ("--only speed,task --scale 0.02 --repeat 1", ""),
    "selection": (f"--only a,b,c {SCALED}", ""),
    "regression": (SCALED, ""),
    "crosses": ("--calibration 2 --rows 1000", ""),
    "joins": (SCALED, ""),
    "production": (SCALED, ""),
    "anomalies": ("--only d --sizes 50 --seeds 1 --repeat 1", ""),
    "online": (SCALED, ""),
    "random": ("--only maps --rows-scale 0.02 --repeat 1", ""),
    "sparse": ("--only omp --rows 2000 --repeat 1", ""),
    "distances": ("--only speed --repeat 1", ""),
    "reliability": ("--only fits", ""),
    "tables": ("--tables 5 --jobs 1", "--tables 0"),
    "scale": (f"--only h {SCALED}", ""),
}
"""Benchmark -> its arguments in a quick run and in a full one."""

PEERS = (
    "numpy", "scipy", "scikit-learn", "pyarrow", "numba", "pandas", "polars", "duckdb", "glum", "statsmodels", "pyfixest",
    "lightgbm", "interpret-core", "category_encoders", "prince", "onnxruntime", "dask", "pyspark", "pyod", "reservoirpy",
)  # fmt: skip

_IMPORTS = "0.31 GB are the interpreter, imports and compiled kernels, and one matrix of pair counts takes 0.05 GB"
SHORT = {("regression", "a", "glum"): _IMPORTS, ("regression", "b", "glum"): _IMPORTS}
"""(benchmark, case, against) -> why the figure is short of its target, as a profile showed."""


def machine() -> dict[str, Any]:
    """Return what the figures depend on: date, processor, memory, interpreter and versions of the peers."""
    model = platform.machine()
    if (cpu := Path("/proc/cpuinfo")).exists():
        model = next(
            (ln.split(":")[1].strip() for ln in cpu.read_text().splitlines() if ln.startswith("model name")), model
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    versions = {}
    for name in PEERS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": date.today().isoformat(),
        "processor": f"{os.cpu_count()} x {model}",
        "memory_gb": round(memory / 1e9, 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def run(name: str, arguments: str, minutes: float) -> dict[str, Any]:
    """Run one benchmark in a process of its own and return its entry of the results."""
    with tempfile.TemporaryDirectory() as folder:
        kept, printed, said = (Path(folder) / each for each in ("rows.jsonl", "printed.txt", "said.txt"))
        command = [sys.executable, "-m", "benchmarks", name, *arguments.split()]
        start = time.monotonic()
        with printed.open("w") as output, said.open("w") as errors:
            try:
                code = subprocess.run(
                    command,
                    stdout=output,
                    stderr=errors,
                    timeout=60 * minutes,
                    env={**os.environ, KEPT: str(kept)},
                    check=False,
                ).returncode
                # A missed target ends with 1 too; an exception leaves its traceback.
                last = [line for line in said.read_text().splitlines() if line][-1:]
                ended = f"failed: {last[0]}" if code and "Traceback (most" in said.read_text() else "finished"
            except subprocess.TimeoutExpired:
                ended = f"stopped after {minutes:g} minutes"
        rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        return {
            "command": " ".join(["python", *command[1:]]),
            "ended": ended,
            "seconds": round(time.monotonic() - start),
            **machine(),
            "rows": rows,
            "printed": [] if rows else printed.read_text().splitlines()[-60:],
        }


def row_of(kept: dict[str, Any]) -> Row:
    """Return a row as it was before it was written down."""
    return Row(**{key: value for key, value in kept.items() if key != "verdict"})


def table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in (head, ("---",) * len(head), *lines)
    )


def missed(results: dict[str, Any]) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield the figures that are short of their targets, each with its reason."""
    for name, entry in results.items():
        for row in map(row_of, entry["rows"]):
            if row.verdict.startswith("MISS"):
                shown = cells(row)
                why = SHORT.get((name, row.case, row.against), "")
                busy = "measured beside other work; " if row.neighbours > BUSY else ""
                yield (name, row.what, row.against, shown[5], row.target, busy + why)


def page(results: dict[str, Any]) -> str:
    """Return the page that says what was measured."""
    parts = [
        "# Results\n\n"
        "`python -m benchmarks all` runs every benchmark and writes this page. Each line compares with a named peer in\n"
        "the same run. A figure in `x` is a ratio: with a target `>=` it says how many times faster Gramian is, with `<=`\n"
        "how many times as much it takes. `?` marks a figure that was measured while other processes were at work.\n"
    ]
    short = list(missed(results))
    judged = sum(1 for entry in results.values() for row in map(row_of, entry["rows"]) if row.target)
    parts.append(f"{judged - len(short)} of {judged} figures with a target hold it.\n")
    if short:
        parts.append(
            "## Short of the target\n\n"
            + table(("benchmark", "case", "against", "figure", "target", "why"), short)
            + "\n"
        )
    for name, entry in results.items():
        rows = [cells(row_of(row)) for row in entry["rows"]]
        versions = ", ".join(f"{package} {number}" for package, number in entry["versions"].items())
        parts.append(
            f"## {name}\n\n`{entry['command']}`: {entry['ended']}, {entry['seconds']} s, on {entry['date']}; "
            f"{entry['processor']}, {entry['memory_gb']} GB; Python {entry['python']}.\n"
        )
        if rows:
            head = ("case", "what", "against", "ours", "peer", "figure", "target", "", "peak", "peer peak")
            parts.append(table(head, [line[:10] for line in rows]) + "\n")
        else:
            parts.append("```text\n" + "\n".join(entry["printed"]) + "\n```\n")
        parts.append(f"<details><summary>versions</summary>{versions}</details>\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks all", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small tables: a few minutes for all")
    parser.add_argument("--only", default=",".join(PLAN), help="benchmarks to run", metavar="NAMES")
    parser.add_argument("--minutes", type=float, default=60, help="limit of each benchmark")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of results, which is added to")
    parser.add_argument("--render", action="store_true", help="run nothing, only write the page again")
    options = parser.parse_args(arguments)
    unknown = set(options.only.split(",")) - set(PLAN)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(PLAN)}")
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    for name in [] if options.render else options.only.split(","):
        quick, full = PLAN[name]
        print(f"== {name}", file=sys.stderr, flush=True)
        results[name] = run(name, quick if options.quick else full, options.minutes)
        # Kept after each benchmark: a run of hours that is interrupted has lost one.
        options.output.write_text(
            json.dumps({each: results[each] for each in PLAN if each in results}, indent=1) + "\n"
        )
    options.output.with_name(options.output.stem.upper() + ".md").write_text(page(results), encoding="utf-8")
    failed = [name for name, entry in results.items() if entry["ended"].startswith("failed")]
    print(f"{len(results)} benchmarks; failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))
