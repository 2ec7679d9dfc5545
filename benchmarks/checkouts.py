"""Two checkouts of this repository side by side: whether they give the same answers, and at what speed.

    python -m benchmarks.checkouts results OLD NEW DATA
    python -m benchmarks.checkouts speed OLD NEW NAMES... [--only CASES] [--rounds N] [--rows-scale S] [--data DATA] [--cpu]
    python -m benchmarks.checkouts operations OLD NEW [--rounds N] [--cpu]

OLD and NEW are folders with `src/gramian` and `benchmarks`; both run under the interpreter that runs this, each in processes
of its own. `results` collects moments of ten sets in DATA, fits models to them and compares every number, relative to the
largest of its array; files that OLD wrote are loaded by NEW and must answer as they did. `speed` runs our side of benchmarks
in turn, old and new (peers say nothing about a checkout and take most of the time), and prints medians over the rounds of the
ratios new / old of time and of peak memory; `--cpu` compares processor time, which says more beside busy neighbours.
`operations` does the same for one usual call of each kind on tables made here, in minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SETS = (
    "mushroom",
    "adult",
    "nursery",
    "splice",
    "votes",
    "german",
    "telco_churn",
    "ames",
    "diamonds",
    "employee_salaries",
)
"""Categories alone and mixed tables, classes and numbers to predict, missing values, few and many rows."""

EQUAL = 1e-12
"""Relative differences up to which numbers are the same: sums of the same terms in another order."""

WIDE = 1000
"""Design columns from which only models are fitted that take no whole spectrum."""

SHOWN = 400
"""Rows of a set whose features are compared."""

SCALED_BY = {"moments": "--rows-scale", "linear": "--rows-scale", "mahalanobis": "--scale"}
"""The option of each benchmark that sets the share of the rows."""


# What a child computes. Only public names: it runs under either tree.


def models_for(task: str, width: int) -> dict[str, Callable[[], Any]]:
    """Return models by name, those that need classes only where there are some, and few of them for many design columns."""
    import gramian as gm

    found: dict[str, Callable[[], Any]] = {
        "PCA(10)": lambda: gm.PCA(10),
        "PCA(scale=True)": lambda: gm.PCA(scale=True),
        "PCA(parallel)": lambda: gm.PCA("parallel"),
        "PCA(cv)": lambda: gm.PCA("cv"),
        "PCA(cv-target)": lambda: gm.PCA("cv-target"),
        "Whitening": lambda: gm.Whitening(),
        "Whitening(cholesky)": lambda: gm.Whitening("cholesky"),
        "MahalanobisFeatures": lambda: gm.MahalanobisFeatures(),
        "MahalanobisFeatures(krylov)": lambda: gm.MahalanobisFeatures(structure="krylov"),
        "JointTargetEncoder": lambda: gm.JointTargetEncoder(),
        "DensityEmbedding": lambda: gm.DensityEmbedding(),
    }
    if task == "classification":
        found["Fisher"] = lambda: gm.FisherDiscriminant()
        found["Fisher(auto)"] = lambda: gm.FisherDiscriminant(shrinkage="auto")
        found["Fisher(cv)"] = lambda: gm.FisherDiscriminant(shrinkage="cv")
    if width > WIDE:
        return {name: found[name] for name in ("PCA(10)", "MahalanobisFeatures", "JointTargetEncoder")}
    return found


def answers_of(model: Any, rows: Any) -> dict[str, np.ndarray]:
    """Return what a fitted model says: features of rows, scores, and the curve behind what it chose."""
    out = {"transform": np.asarray(model.transform(rows), dtype=float)}
    for name in ("decision_function", "score_samples", "predict_proba"):
        if hasattr(model, name):
            out[name] = np.asarray(getattr(model, name)(rows), dtype=float)
    for name in (
        "explained_variance_",
        "criterion_",
        "statistic_",
        "p_value_",
        "ridge_",
        "r2_cv_",
        "shrinkage_",
        "offset_",
    ):
        value = getattr(model, name, None)
        if value is not None:
            out[name] = np.asarray(value, dtype=float)
    curve = getattr(model, "selection_", None)
    for name, column in curve.items() if isinstance(curve, dict) else ():
        out[f"selection {name}"] = np.asarray(column, dtype=float)
    return out


def answers(data: Path, files: Path, load: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every answer with its name, models fitted and saved here, or loaded from files that another tree wrote."""
    import pyarrow.parquet as pq

    import gramian as gm

    catalog = json.loads((data / "catalog.json").read_text())
    for name in SETS:
        about = catalog[name]
        table = pq.read_table(data / f"{name}.parquet")
        target = about["target"]
        path = files / f"{name}.moments"
        if load:
            moments = gm.Moments.load(path)
        else:
            moments = gm.collect(table, targets=[target], numeric=about.get("numeric", []), folds=5)
            moments.save(path)
        yield f"{name}: moments: mean", moments.mean()
        if len(moments.design_names) <= WIDE:
            yield f"{name}: moments: covariance", moments.covariance()
        yield (
            f"{name}: moments: counts",
            np.concatenate([moments.counts(c) for c in moments.columns if c in moments.coded]),
        )
        rows = table.slice(0, SHOWN).drop_columns([target])
        for kind, make in models_for(about["task"], len(moments.design_names)).items():
            path = files / f"{name}.{kind}.model"
            if load:
                if not path.exists():
                    continue
                model = gm.load(path)
            else:
                try:
                    model = make().fit(moments, y=target)
                except gm.errors.GramianError as refused:
                    yield f"{name}: {kind}: refused", np.frombuffer(type(refused).__name__.encode(), dtype=np.uint8)
                    continue
                gm.save(model, path)
            for what, value in answers_of(model, rows).items():
                yield f"{name}: {kind}: {what}", value


def write_answers(data: str, files: str, out: str, load: str) -> None:
    """Write all answers to one file of arrays."""
    found = {key.replace("/", " per "): value for key, value in answers(Path(data), Path(files), load == "load")}
    np.savez(out, **found)


OURS = ("ours", "fit_", "wide_")
"""How the contestants of ours that benchmarks run in processes of their own are called."""


def write_rows(name: str, out: str, clock: str, *arguments: str) -> None:
    """Run our side of one benchmark of the checkout and write the rows that it would print."""
    from dataclasses import asdict
    from importlib import import_module

    from benchmarks import measure, report

    now, run_alone = getattr(time, clock), measure.alone

    def keep(rows: list[Any], *_: Any) -> None:
        Path(out).write_text(json.dumps([asdict(row) for row in rows]))

    def best(call: Callable[[], object], repeat: int) -> float:
        call()
        spent = []
        for _ in range(max(repeat, 3)):
            start = now()
            call()
            spent.append(now() - start)
        return min(spent)

    def first_only(first: Callable[[], object], _: object, repeat: int) -> Any:
        seconds = best(first, repeat)
        return measure.Pair(seconds, seconds, 1.0)

    def ours_alone(maker: str, *given: object, env: Any = None) -> Any:
        ours = maker.split(":")[1].startswith(OURS)
        return run_alone(maker, *given, env=env) if ours else measure.Alone(1.0, 1, None)

    report.show = report.dump = keep
    measure.best, measure.interleaved, measure.alone = best, first_only, ours_alone
    import_module(f"benchmarks.{name}").main(list(arguments))


def usual(subject: str, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the usual operations of a subject, on a mixed table, one of numbers, and moments of them; made in a moment."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    import gramian as gm

    def mixed(n: int) -> pd.DataFrame:
        rng = np.random.default_rng(3)
        sizes = (2, 3, 5, 8, 12, 20, 40, 80, 200, 1000)
        frame = pd.DataFrame({f"c{k}": rng.integers(0, size, n) for k, size in enumerate(sizes)}).astype(str)
        numbers = rng.standard_normal((n, 6)) @ rng.normal(0, 1, (6, 6))
        frame = frame.astype("category").assign(**{f"x{k}": numbers[:, k] for k in range(6)})
        return frame.assign(y=np.where(numbers[:, 0] + (frame["c2"] == "1") + rng.normal(0, 1, n) > 0.5, "yes", "no"))

    small = mixed(50_000)
    matrix = np.random.default_rng(4).standard_normal((50_000, 200))
    moments = gm.collect(small, folds=3)
    if subject == "moments":
        table = pa.Table.from_pandas(mixed(300_000), preserve_index=False)
        pq.write_table(table, folder / "t.parquet")
        part = gm.collect(small)
        yield "collect Parquet", lambda: gm.collect(folder / "t.parquet")
        yield "collect Arrow, 5 folds", lambda: gm.collect(table, folds=5)
        yield "collect frame", lambda: gm.collect(small)
        yield "collect matrix", lambda: gm.collect(matrix)
        yield "merge 20", lambda: gm.merge([part] * 20)
        yield "subtract", lambda: moments - moments.folds[0]
        yield "covariance", lambda: moments.covariance()
    elif subject == "linear":
        yield "PCA(10)", lambda: gm.PCA(10).fit(moments)
        yield "PCA(parallel)", lambda: gm.PCA("parallel").fit(moments)
        yield "Whitening", lambda: gm.Whitening().fit(moments)
        yield "Fisher", lambda: gm.FisherDiscriminant().fit(moments, y="y")
        yield "PCA(10) of rows", lambda: gm.PCA(10).fit(small)
        model = gm.PCA(10).fit(moments)
        yield "transform", lambda: model.transform(small)
    elif subject == "mahalanobis":
        yield "MahalanobisFeatures", lambda: gm.MahalanobisFeatures().fit(moments, y="y")
        yield "MahalanobisFeatures(krylov)", lambda: gm.MahalanobisFeatures(structure="krylov").fit(moments, y="y")
        yield "JointTargetEncoder", lambda: gm.JointTargetEncoder().fit(moments, y="y")
        encoder = gm.JointTargetEncoder().fit(moments, y="y")
        yield "encode rows", lambda: encoder.transform(small)
    elif subject == "anomalies":
        features = small.drop(columns="y")
        yield "DensityEmbedding", lambda: gm.DensityEmbedding().fit(features)
        detector = gm.DensityEmbedding().fit(features)
        yield "anomaly_score", lambda: detector.anomaly_score(features)
        yield "explain 20 rows", lambda: detector.explain(features[:20])
    else:
        numbers = gm.collect(matrix, folds=3)
        yield "ForwardSelector(20)", lambda: gm.ForwardSelector(20).fit(numbers, y="x0")
        yield "RecursiveEliminator(20)", lambda: gm.RecursiveEliminator(20).fit(numbers, y="x0")
        yield "LassoSelector(20)", lambda: gm.LassoSelector(20).fit(numbers, y="x0")
        yield "MRMRFilter(20)", lambda: gm.MRMRFilter(20).fit(numbers, y="x0")
        yield "ForwardSelector(5), mixed", lambda: gm.ForwardSelector(5).fit(moments, y="y")
        yield "LassoSelector(5), mixed", lambda: gm.LassoSelector(5).fit(moments, y="y")
        yield "rank_columns, mixed", lambda: gm.rank_columns(moments, "y")


SUBJECTS = ("moments", "linear", "mahalanobis", "anomalies", "selection")
AT_LEAST = 0.3
"""Seconds for which an operation is repeated, three times at least; the least of its times counts."""


def write_times(subject: str, out: str, clock: str) -> None:
    """Write the time of each usual operation of a subject."""
    now, found = getattr(time, clock), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in usual(subject, Path(folder)):
            call()
            spent: list[float] = []
            while len(spent) < 3 or sum(spent) < AT_LEAST:
                start = now()
                call()
                spent.append(now() - start)
            found[name] = min(spent)
    Path(out).write_text(json.dumps(found))


# The parent.


def child(checkout: Path, verb: str, *arguments: str) -> None:
    """Run a function of this file in a process that imports the packages of a checkout."""
    places = os.pathsep.join([str(checkout / "src"), str(checkout)])
    command = [sys.executable, str(Path(__file__).resolve()), verb, *arguments]
    environment = {**os.environ, "PYTHONPATH": places, "PYTHONSAFEPATH": "1"}
    subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """Return the largest difference relative to the largest entry; infinity where shapes or missing entries differ.

    Examples
    --------
    >>> difference(np.array([2.0, 4.0]), np.array([2.0, 4.4]))
    0.09090909090909098
    """
    if old.shape != new.shape or not np.array_equal(np.isfinite(old), np.isfinite(new)):
        return float("inf")
    known = np.isfinite(old)
    top = max(np.abs(old[known]).max(initial=0.0), np.abs(new[known]).max(initial=0.0))
    return float(np.abs(old[known] - new[known]).max(initial=0.0) / top) if top > 0 else 0.0


def compared(title: str, old: Path, new: Path) -> bool:
    """Print which answers differ, and return whether none does."""
    before, after = np.load(old), np.load(new)
    names = [*before.files, *(key for key in after.files if key not in before.files)]
    apart = {
        key: difference(before[key], after[key]) if key in before.files and key in after.files else float("inf")
        for key in names
    }
    beyond = {key: value for key, value in apart.items() if not value <= EQUAL}
    print(f"{title}: {len(apart) - len(beyond)} of {len(apart)} equal to {EQUAL:g}")
    for key, value in sorted(beyond.items(), key=lambda item: -item[1]):
        print(f"  {value:8.1e}  {key}")
    return not beyond


def results(options: argparse.Namespace) -> int:
    """Compare answers, those of fresh fits and those of files that the old tree wrote."""
    old, new, data = options.old.resolve(), options.new.resolve(), str(options.data.resolve())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "old").mkdir()
        (place / "new").mkdir()
        child(old, "_answers", data, str(place / "old"), str(place / "old.npz"), "fit")
        child(new, "_answers", data, str(place / "new"), str(place / "new.npz"), "fit")
        child(old, "_answers", data, str(place / "old"), str(place / "kept.npz"), "load")
        child(new, "_answers", data, str(place / "old"), str(place / "loaded.npz"), "load")
        same = compared("fitted by both", place / "old.npz", place / "new.npz")
        loads = compared("written by the old, read by both", place / "kept.npz", place / "loaded.npz")
    return 0 if same and loads else 1


def arguments_of(name: str, options: argparse.Namespace) -> list[str]:
    """Return the options of one benchmark."""
    out = ["--only", options.only] if options.only else []
    if options.rows_scale != 1.0 and name in SCALED_BY:
        out += [SCALED_BY[name], str(options.rows_scale)]
    if options.data is not None and name not in ("moments", "linear"):
        out += ["--data", str(options.data.resolve())]
    return out


def speed(options: argparse.Namespace) -> int:
    """Run benchmarks in turn and print ratios new / old."""
    ratios: dict[tuple[str, ...], list[tuple[float | None, float | None]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            for name in options.names:
                found = {}
                # Each goes first in every other round.
                for side in ("old", "new")[:: 1 if turn % 2 == 0 else -1]:
                    out = Path(folder) / f"{side}.json"
                    clock = "process_time" if options.cpu else "perf_counter"
                    place = getattr(options, side).resolve()
                    child(place, "_rows", name, str(out), clock, *arguments_of(name, options))
                    rows = json.loads(out.read_text())
                    found[side] = {(name, row["case"], row["what"], row["against"]): row for row in rows}
                for key in found["old"].keys() & found["new"].keys():
                    pair = [
                        (found["new"][key][field], found["old"][key][field]) for field in ("ours_seconds", "ours_peak")
                    ]
                    ratio = [a / b if a and b else None for a, b in pair]
                    ratios.setdefault(key, []).append((ratio[0], ratio[1]))
                print(f"round {turn + 1}: {name}", file=sys.stderr, flush=True)
    print(f"{'time':>6}  {'memory':>6}  new / old, medians of {options.rounds}")
    slow = False
    for key, found_ratios in sorted(ratios.items()):
        columns = [[pair[j] for pair in found_ratios if pair[j] is not None] for j in (0, 1)]
        middle = [median(column) if column else None for column in columns]
        slow |= any(value is not None and value > 1.1 for value in middle)
        cells = [f"{value:6.2f}" if value is not None else 6 * " " for value in middle]
        print(f"{cells[0]}  {cells[1]}  {'  '.join(key)}")
    return 1 if slow else 0


def operations(options: argparse.Namespace) -> int:
    """Run usual operations in turn, in fresh processes, and print ratios new / old of their median times."""
    seconds: dict[tuple[str, str], dict[str, list[float]]] = {}
    clock = "process_time" if options.cpu else "perf_counter"
    slow = False
    print(f"{'ratio':>6}  {'old ms':>9}  {'new ms':>9}  medians of {options.rounds}, {clock}")
    with tempfile.TemporaryDirectory() as folder:
        for subject in options.subjects.split(","):
            for turn in range(options.rounds):
                for side in ("old", "new")[:: 1 if turn % 2 == 0 else -1]:
                    out = Path(folder) / "times.json"
                    child(getattr(options, side).resolve(), "_times", subject, str(out), clock)
                    for name, spent in json.loads(out.read_text()).items():
                        seconds.setdefault((subject, name), {}).setdefault(side, []).append(spent)
            for (of, name), sides in seconds.items():
                if of == subject:
                    old, new = median(sides["old"]), median(sides["new"])
                    slow |= new > 1.1 * old
                    print(f"{new / old:6.2f}  {1e3 * old:9.2f}  {1e3 * new:9.2f}  {subject}: {name}", flush=True)
    return 1 if slow else 0


def main(arguments: list[str]) -> int:
    """Run the verb that is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checkouts", description=(__doc__ or "").split("\n\n")[0]
    )
    verbs = parser.add_subparsers(required=True)
    for verb in (results, speed, operations):
        one = verbs.add_parser(verb.__name__, help=verb.__doc__)
        one.add_argument("old", type=Path, help="checkout to compare with")
        one.add_argument("new", type=Path, help="checkout to judge")
        one.set_defaults(run=verb)
        if verb is results:
            one.add_argument("data", type=Path, help="folder of the Parquet sets and catalog.json")
            continue
        one.add_argument("--rounds", type=int, default=3, help="runs of each checkout")
        one.add_argument("--cpu", action="store_true", help="processor time in place of time on the clock")
        if verb is operations:
            one.add_argument("--subjects", default=",".join(SUBJECTS), help="which of them, with commas")
            continue
        one.add_argument("names", nargs="+", help="benchmarks, as `python -m benchmarks` lists them")
        one.add_argument("--only", help="cases to run, such as a,c", metavar="CASES")
        one.add_argument("--rows-scale", type=float, default=1.0, help="share of the rows")
        one.add_argument("--data", type=Path, help="folder of the Parquet sets, for benchmarks that read them")
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    inner = {"_answers": write_answers, "_rows": write_rows, "_times": write_times}
    if len(sys.argv) > 1 and sys.argv[1] in inner:
        try:
            inner[sys.argv[1]](*sys.argv[2:])
        except Exception:
            traceback.print_exc()
            sys.exit(1)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
