"""The pool of anomaly problems, run over detectors: the mean within a source first, then over sources.

A folder holds `anomaly_pool.py`, whose `coded()` gives the problems as integer codes: sets published with odd rows, sets
derived from classification (each class in turn odd), and generators. Many problems of one source are no more evidence
than one, so seeds are averaged within a problem, problems within a source, and standard errors are over sources.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pyarrow as pa

Scorer = Callable[["Problem"], np.ndarray | dict[str, np.ndarray]]
"""Fits to the rows of a problem and scores them, by one score or by several with names."""

SOLVED = 0.6
"""A problem counts as solvable where some detector reaches this AUC: elsewhere the class that plays the odd one is not odd."""

GROUPS = ("published", "derived", "generated")


@dataclass(frozen=True)
class Problem:
    """One fit: columns as codes from 0, with the number of levels of each, and which rows are odd."""

    source: str
    name: str
    seed: int
    codes: np.ndarray
    sizes: np.ndarray
    odd: np.ndarray

    def table(self) -> pa.Table:
        """Return the rows as dictionary columns of text."""
        labels = pa.array([f"level {i:05d}" for i in range(int(self.sizes.max()))])
        columns = {
            f"c{j:03d}": pa.DictionaryArray.from_arrays(np.ascontiguousarray(self.codes[:, j]), labels.slice(0, int(k)))
            for j, k in enumerate(self.sizes)
        }
        return pa.table(columns)

    def take(self, rows: int) -> Problem:
        """Return this problem with a sample of its rows, where it has more."""
        if len(self.odd) <= rows:
            return self
        chosen = np.random.default_rng(0).choice(len(self.odd), rows, replace=False)
        return Problem(self.source, self.name, self.seed, self.codes[chosen], self.sizes, self.odd[chosen])


def group(source: str) -> str:
    return "published" if source.startswith("ad_") else "generated" if source.startswith("syn_") else "derived"


def load(folder: Path, sources: Iterable[str] = (), seeds: int = 3) -> list[Problem]:
    """Return the problems that `anomaly_pool.py` in a folder builds, of some sources or of all."""
    spec = spec_from_file_location("anomaly_pool", folder / "anomaly_pool.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder / "anomaly_pool.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    chosen = set(sources)
    return [
        Problem(p["source"], p["name"], p["seed"], p["X"], p["sizes"], p["y"].astype(bool))
        for p in module.coded()
        if p["seed"] < seeds and (not chosen or p["source"].removeprefix("ad_") in chosen or p["source"] in chosen)
    ]


@dataclass(frozen=True)
class Mark:
    """What a detector reached on one fit; `seconds` are of the processor, to fit and to score."""

    auc: float
    precision: float
    seconds: float


Marks = dict[tuple[str, str, int], dict[str, Mark]]
"""(source, problem, seed) -> detector -> mark."""


def judged(problem: Problem, name: str, scorer: Scorer) -> dict[str, Mark]:
    """Return the marks of a scorer, one for each score that it gives."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scorer(problem)
    seconds = time.process_time() - start
    marks = {}
    for one, values in (found if isinstance(found, dict) else {name: found}).items():
        # A detector that cannot tell a row scores NaN: as odd as any.
        scores = np.nan_to_num(values, nan=np.nanmax(values), posinf=1e300)
        quality = [float(f(problem.odd, scores)) for f in (roc_auc_score, average_precision_score)]
        marks[one] = Mark(quality[0], quality[1], seconds)
    return marks


_SHARED: tuple[list[Problem], dict[str, Scorer], dict[str, int]] = ([], {}, {})
"""What forked workers read; a problem is large and a detector cannot be pickled."""


def _job(index: int, name: str) -> dict[str, Mark]:
    from threadpoolctl import threadpool_limits

    problems, detectors, rows = _SHARED
    problem = problems[index].take(rows[name]) if name in rows else problems[index]
    with threadpool_limits(1):
        return judged(problem, name, detectors[name])


def measured(
    problems: list[Problem], detectors: dict[str, Scorer], rows: dict[str, int], known: Marks | None = None
) -> Marks:
    """Run every detector on every problem, one process a core.

    `rows` caps the rows of detectors that need it; what is `known` is not measured again.
    """
    global _SHARED
    _SHARED = (problems, detectors, rows)
    keys = [(p.source, p.name, p.seed) for p in problems]
    marks: Marks = {key: {d: m for d, m in (known or {}).get(key, {}).items() if d in detectors} for key in keys}
    # The largest first, so that no core waits for the last one.
    order = sorted(range(len(problems)), key=lambda i: -problems[i].codes.size)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as workers:
        running = {
            workers.submit(_job, i, name): keys[i] for i in order for name in detectors if name not in marks[keys[i]]
        }
        for done, job in enumerate(as_completed(running), start=1):
            marks[running[job]] |= job.result()
            if done % 20 == 0 or done == len(running):
                print(f"  {done} of {len(running)} fits", file=sys.stderr, flush=True)
    return marks


def save(marks: Marks, path: Path) -> None:
    path.write_text(json.dumps([[*key, {d: asdict(m) for d, m in found.items()}] for key, found in marks.items()]))


def saved(path: Path) -> Marks:
    """Return the marks in a file, none where there is no file."""
    lines = json.loads(path.read_text()) if path.exists() else []
    return {(source, name, seed): {d: Mark(**m) for d, m in found.items()} for source, name, seed, found in lines}


# Means


Figures = dict[str, tuple[float, float]]
"""detector -> AUC, AP."""

ProblemMeans = dict[tuple[str, str], Figures]
"""(source, problem) -> figures, the mean over seeds."""

Sources = dict[str, Figures]


def problem_means(marks: Marks) -> ProblemMeans:
    """Return the means over the seeds of each problem."""
    by_problem: dict[tuple[str, str], list[dict[str, Mark]]] = {}
    for (source, name, _), found in marks.items():
        by_problem.setdefault((source, name), []).append(found)
    return {
        key: {
            d: (fmean(f[d].auc for f in fits if d in f), fmean(f[d].precision for f in fits if d in f))
            for d in dict.fromkeys(d for f in fits for d in f)
        }
        for key, fits in by_problem.items()
    }


def solvable(problems: ProblemMeans) -> set[tuple[str, str]]:
    """Return the problems on which at least one detector does clearly better than chance."""
    return {key for key, found in problems.items() if max(auc for auc, _ in found.values()) >= SOLVED}


def source_means(problems: ProblemMeans) -> Sources:
    """Return the means over the problems of each source."""
    by_source: dict[str, list[Figures]] = {}
    for (source, _), found in problems.items():
        by_source.setdefault(source, []).append(found)
    return {
        source: {
            d: (fmean(f[d][0] for f in all_ if d in f), fmean(f[d][1] for f in all_ if d in f))
            for d in dict.fromkeys(d for f in all_ for d in f)
        }
        for source, all_ in by_source.items()
    }


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return fmean(values), stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
