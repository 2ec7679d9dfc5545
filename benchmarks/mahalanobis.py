"""Mahalanobis features against target encoders, unsupervised maps and the source's loop: quality, speed, memory.

`--only quality,speed,wide,task,calibration` chooses parts; `--data FOLDER` holds the Parquet sets and `catalog.json`. The
contestants are in `benchmarks.encoders`, the sets and scores in `benchmarks.quality`, null tables in `benchmarks.calibration`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure, quality, report, synthetic
from benchmarks.calibration import calibration
from benchmarks.encoders import ours, source_loop
from benchmarks.report import Row

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MILLION = 1_000_000


# Speed and memory


def speed_frame(n_rows: int, text: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = synthetic.categorical(n_rows).to_pandas()
    codes = synthetic.codes(n_rows, synthetic.CATEGORICAL)
    y = sum(rng.standard_normal(k)[c] for c, k in zip(codes, synthetic.CATEGORICAL, strict=True))
    return frame.astype(str) if text else frame, np.asarray(y + 3 * rng.standard_normal(n_rows))


def speed(n_rows: int, repeat: int) -> Iterator[Row]:
    from sklearn.preprocessing import TargetEncoder

    import gramian as gm

    for text in (False, True):
        frame, y = speed_frame(n_rows, text)
        neighbours = measure.Neighbours()
        pair = measure.interleaved(
            lambda frame=frame, y=y: gm.MahalanobisFeatures().fit(frame, y),
            lambda frame=frame, y=y: TargetEncoder(target_type="continuous").fit_transform(frame, y),
            repeat,
        )
        yield Row(
            "s",
            f"{n_rows:,} x 20 {'text' if text else 'categories'}, ridge chosen",
            "TargetEncoder.fit_transform",
            1 / pair.ratio,
            at_least=15,
            ours_seconds=pair.first,
            peer_seconds=pair.second,
            neighbours=neighbours.cores(),
        )


WIDE = (2, 3, 5, 8, 12, 20, 50, 100, 30)


def wide_table(levels: int, n_rows: int) -> Any:
    """Return ten columns of which the first has very many levels, and a numeric target that depends on all of them."""
    import pyarrow as pa

    sizes = (levels, *WIDE)
    codes = synthetic.codes(n_rows, sizes, skew=1.0, seed=1)
    rng = np.random.default_rng(2)
    y = sum(rng.standard_normal(k)[c] for c, k in zip(codes, sizes, strict=True)) + rng.standard_normal(n_rows)
    columns = {f"c{j}": synthetic.labelled(c, k) for j, (c, k) in enumerate(zip(codes, sizes, strict=True))}
    return pa.table({**columns, "y": pa.array(y)})


def wide_data(levels: int, n_rows: int) -> Callable[[], object]:
    """Only make the table: what the memory of `wide_fit` is measured against."""
    table = wide_table(levels, n_rows)
    return lambda: table.num_rows


def wide_fit(levels: int, n_rows: int) -> Callable[[], object]:
    import gramian as gm

    table = wide_table(levels, n_rows)
    return lambda: float(gm.MahalanobisFeatures().fit(table, "y").ridge_)


def wide(levels: int, n_rows: int) -> Iterator[Row]:
    """One column of a million levels among ten: time, memory, and agreement with a dense solve on a subsample."""
    made, fitted = (measure.alone(f"benchmarks.mahalanobis:wide_{part}", levels, n_rows) for part in ("data", "fit"))
    what = f"{levels:,} levels among ten columns, {n_rows:,} rows"
    each = (fitted.peak - made.peak) / n_rows
    yield Row(
        "w", what, "bytes a row beside the table", each, " B", at_most=5000, ours_seconds=fitted.seconds,
        ours_peak=fitted.peak, peer_peak=made.peak, floor=f"ridge {fitted.value:g}"
    )  # fmt: skip
    yield Row(
        "w", "the same on 1,500 levels", "dense solve: largest gap", agreement(1500, 6000) / 1e-8, "e-8", at_most=1
    )


def agreement(levels: int, n_rows: int) -> float:
    """Return the largest difference of weights between the eliminated and the dense route, relative to the largest weight."""
    import gramian as gm
    from gramian.linear.regression import ridge
    from gramian.linear.scatter import wide as choice

    moments = gm.collect(wide_table(levels, n_rows), targets="y")
    kept, weights = (ridge.EIGEN, choice.DENSE), []
    try:
        for limits in ((0, 0), (10**9, 10**9)):
            ridge.EIGEN, choice.DENSE = limits
            weights.append(gm.MahalanobisFeatures(ridge=2.0).fit(moments, "y").components_)
    finally:
        ridge.EIGEN, choice.DENSE = kept
    return float(np.abs(weights[0] - weights[1]).max() / np.abs(weights[1]).max())


# The source's own kind of task


def task_table(seed: int, n_rows: int = 1000, n_columns: int = 34) -> tuple[pd.DataFrame, np.ndarray]:
    """Return 34 categories, about 200 levels in all, correlated in groups, and a number that depends on a third of them."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 11, n_columns)
    hidden = rng.standard_normal((n_rows, 6))
    columns, signal = {}, np.zeros(n_rows)
    for j, k in enumerate(levels):
        latent = 0.8 * hidden[:, j % 6] + 0.6 * rng.standard_normal(n_rows)
        code = np.searchsorted(np.quantile(latent, np.linspace(0, 1, k + 1)[1:-1]), latent)
        code = rng.permutation(k)[code]
        columns[f"c{j:02d}"] = np.char.add("v", code.astype(str))
        if j % 3 == 0:
            signal += rng.standard_normal(k)[code]
    return pd.DataFrame(columns), signal + signal.std() * 0.7 * rng.standard_normal(n_rows)


def source_task(repeats: int = 5) -> Iterator[Row]:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.metrics import r2_score
    from sklearn.model_selection import train_test_split

    found: dict[str, list[float]] = {"exact": [], "loop d = 1": [], "loop d = 10": []}
    for seed in range(repeats):
        frame, y = task_table(seed)
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
        inner, outer = frame.iloc[train], frame.iloc[test]
        makers = {
            "exact": ours("canonical")(inner, outer, y[train], [], "regression", 1),
            "loop d = 1": source_loop(inner, outer, y[train], [], "regression", 1),
            "loop d = 10": source_loop(inner, outer, y[train], [], "regression", 10),
        }
        for name, (a, b) in makers.items():
            forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0, n_jobs=1).fit(a, y[train])
            found[name].append(r2_score(y[test], forest.predict(b)))
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    shown = ", ".join(f"{name} {value:.3f}" for name, value in mean.items())
    for name in ("loop d = 1", "loop d = 10"):
        gain = mean["exact"] - mean[name]
        yield Row("t", "random forest, R^2 gained", f"source's {name}", gain, "", at_least=0.05, floor=shown)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks mahalanobis", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the Parquet sets and catalog.json")
    parser.add_argument("--only", default="quality,speed,wide,task,calibration", help="parts to run")
    parser.add_argument("--sets", default="", help="sets to run, by default all")
    parser.add_argument("--methods", default="", help="methods to run, by default all")
    parser.add_argument("--rows", type=int, default=0, help="at most this many rows a set, by default all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows of the speed and wide parts")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args(arguments)
    parts, rows = given.only.split(","), []
    if "quality" in parts:
        if not (given.data / "catalog.json").exists():
            print(f"no catalog.json in {given.data}: pass --data FOLDER", file=sys.stderr)
            return 1
        chosen, methods = ([v for v in text.split(",") if v] for text in (given.sets, given.methods))
        scores, missing = quality.quality(given.data, given.rows, chosen, methods)
        quality.show_scores(scores)
        if missing:
            print(f"\nnot run, pip install {' '.join(missing)}")
        rows += map(report.keep, quality.verdicts(scores))
    if "speed" in parts:
        rows += map(report.keep, speed(int(MILLION * given.scale), given.repeat))
    if "wide" in parts:
        rows += map(report.keep, wide(int(MILLION * given.scale), int(2 * MILLION * given.scale)))
    if "task" in parts:
        rows += map(report.keep, source_task())
    if "calibration" in parts:
        rows += map(report.keep, calibration())
    print()
    report.show(rows)
    return 0
