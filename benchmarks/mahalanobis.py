"""Mahalanobis features against target encoders, unsupervised maps and the source's loop: quality, speed, memory.

`--only quality,speed,wide,task` chooses parts; `--data FOLDER` holds the Parquet sets and `catalog.json`.

Quality: every classification and regression set of the catalogue, 5 outer splits, at most `--rows` rows of each (drawn with a
seed; 0 takes all). Downstream are logistic or ridge regression on standardised features, and histogram gradient boosting of 40
rounds. Scores are AUC (one against the rest, macro-averaged) or R^2 of the left-out rows. Encoders that can are cross-fitted on
the training rows (`fit_transform`); numbers pass through, missing ones at the mean. The encoders of category_encoders take
several classes through its PolynomialWrapper; WOE has no form for numbers. For MCA numbers are cut into eight quantile bins.
The source's loop reads classes as 0, 1, 2, ..., as it has no other way.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure, report, tables
from benchmarks.report import Row

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SPLITS = 5
MILLION = 1_000_000

Scores = dict[tuple[str, str, str], float]
"""(set, method, downstream) -> mean score."""

ENCODERS = ("columns", "TargetEncoder", "James-Stein", "CatBoost", "WOE")
UNSUPERVISED = ("TruncatedSVD", "MCA")
FEW = ("canonical", *UNSUPERVISED, "source's loop")
DOWNSTREAM = ("linear", "boosting")


# The sets


def catalogue(folder: Path) -> dict[str, dict[str, Any]]:
    about = json.loads((folder / "catalog.json").read_text())
    return {name: one for name, one in about.items() if one["task"] in ("classification", "regression")}


def load(folder: Path, name: str, about: dict[str, Any], rows: int) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return features, target and the names of the numbers."""
    frame = pd.read_parquet(folder / f"{name}.parquet").drop(columns=["split"], errors="ignore")
    if rows and len(frame) > rows:
        frame = frame.sample(rows, random_state=0)
    y = frame.pop(about["target"])
    y = y.to_numpy(float) if about["task"] == "regression" else pd.factorize(y.astype(str), sort=True)[0]
    numeric = [c for c in about.get("numeric", []) if c in frame]
    frame[numeric] = frame[numeric].astype(float)
    other = [c for c in frame if c not in numeric]
    frame[other] = frame[other].astype(object).where(frame[other].notna(), "(missing)").astype(str)
    return frame.reset_index(drop=True), y, numeric


def splits(y: np.ndarray, task: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if task == "regression" else StratifiedKFold
    yield from kind(SPLITS, shuffle=True, random_state=0).split(np.zeros((len(y), 1)), y)


# The contestants: each gives features of training and test rows


def prepared(train: pd.DataFrame, test: pd.DataFrame, numeric: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    mean = train[numeric].mean()
    return train.fillna(mean), test.fillna(mean)


def ours(structure: str) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def run(
        train: pd.DataFrame, test: pd.DataFrame, y: np.ndarray, numeric: list[str], task: str, d: int
    ) -> tuple[np.ndarray, np.ndarray]:
        import gramian as gm

        kind = "continuous" if task == "regression" else "multiclass"
        model = gm.MahalanobisFeatures(structure=structure, target_type=kind)
        return model.fit_transform(train, y), model.transform(test)

    return run


def target_encoder(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.preprocessing import TargetEncoder

    kind = "continuous" if task == "regression" else "binary" if y.max() == 1 else "multiclass"
    return _encoded(TargetEncoder(target_type=kind, cv=_seeded(task)), train, test, y, numeric)


def _seeded(task: str) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    return (KFold if task == "regression" else StratifiedKFold)(5, shuffle=True, random_state=0)


def category_encoder(name: str) -> Callable[..., tuple[np.ndarray, np.ndarray] | None]:
    def run(
        train: pd.DataFrame, test: pd.DataFrame, y: np.ndarray, numeric: list[str], task: str, d: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        import category_encoders
        from category_encoders.wrapper import PolynomialWrapper

        if name == "WOEEncoder" and task == "regression":
            return None
        encoder = getattr(category_encoders, name)()
        if task != "regression" and y.max() > 1:
            encoder = PolynomialWrapper(encoder)
        return _encoded(encoder, train, test, pd.Series(y), numeric)

    return run


def _encoded(encoder: Any, train: Any, test: Any, y: Any, numeric: list[str]) -> tuple[np.ndarray, np.ndarray]:
    train, test = prepared(train.reset_index(drop=True), test.reset_index(drop=True), numeric)
    coded = [c for c in train if c not in numeric]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = np.asarray(encoder.fit_transform(train[coded], y), dtype=float)
        outer = np.asarray(encoder.transform(test[coded]), dtype=float)
    return np.hstack([inner, train[numeric]]), np.hstack([outer, test[numeric]])


def one_hot(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = prepared(train, test, numeric)
    coded = [c for c in train if c not in numeric]
    table = ColumnTransformer(
        [("levels", OneHotEncoder(handle_unknown="ignore"), coded), ("numbers", StandardScaler(), numeric)]
    )
    return table.fit_transform(train), table.transform(test)


def truncated_svd(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.decomposition import TruncatedSVD

    inner, outer = one_hot(train, test, y, numeric, task, d)
    model = TruncatedSVD(d, random_state=0)
    return model.fit_transform(inner), model.transform(outer)


def mca(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    import prince

    train, test = prepared(train, test, numeric)
    train, test = train.copy(), test.copy()
    for name in numeric:
        edges = np.unique(np.quantile(train[name], np.linspace(0, 1, 9)[1:-1]))
        train[name], test[name] = (np.digitize(part[name], edges).astype(str) for part in (train, test))
    for name in train:
        # prince cannot place a level it has not seen.
        test[name] = test[name].where(test[name].isin(train[name].unique()), train[name].mode()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = prince.MCA(n_components=d, random_state=0).fit(train)
        return model.transform(train).to_numpy(), model.transform(test).to_numpy()


def source_loop(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    import gramian as gm

    options = {"gradient": "printed", "learning_rate": 0.01, "batch_size": 256, "max_epochs": 20}
    model = gm.MahalanobisFeatures(d, solver="sgd", sgd_options=options, target_type="continuous")
    return model.fit_transform(train, y.astype(float)), model.transform(test)


METHODS: dict[str, tuple[Callable[..., Any], str]] = {
    "canonical": (ours("canonical"), ""),
    "columns": (ours("columns"), ""),
    "TargetEncoder": (target_encoder, ""),
    "James-Stein": (category_encoder("JamesSteinEncoder"), "category_encoders"),
    "CatBoost": (category_encoder("CatBoostEncoder"), "category_encoders"),
    "WOE": (category_encoder("WOEEncoder"), "category_encoders"),
    "TruncatedSVD": (truncated_svd, ""),
    "MCA": (mca, "prince"),
    "source's loop": (source_loop, ""),
    "one-hot": (one_hot, ""),
}


# Scores


def score(model: Any, inner: Any, outer: Any, y: np.ndarray, held_out: np.ndarray, task: str) -> float:
    from sklearn.metrics import r2_score, roc_auc_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(inner, y)
    if task == "regression":
        return float(r2_score(held_out, model.predict(outer)))
    probability = model.predict_proba(outer)
    if probability.shape[1] == 2:
        return float(roc_auc_score(held_out, probability[:, 1]))
    present = np.unique(held_out)
    return float(
        np.mean([roc_auc_score(held_out == c, probability[:, list(model.classes_).index(c)]) for c in present])
    )


def downstream(name: str, task: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "boosting":
        kind = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
        return kind(max_iter=40, random_state=0)
    model = Ridge() if task == "regression" else LogisticRegression(max_iter=200)
    return make_pipeline(StandardScaler(with_mean=False), model)


def quality(folder: Path, rows: int, chosen: list[str], only: list[str]) -> tuple[Scores, list[str]]:
    """Return the scores of every method on every set, and the packages that were missing."""
    missing = sorted({package for _, package in METHODS.values() if package and find_spec(package) is None})
    scores: Scores = {}
    about = catalogue(folder)
    for name in chosen or list(about):
        task = about[name]["task"]
        frame, y, numeric = load(folder, name, about[name], rows)
        d = 1 if task == "regression" else int(y.max())
        for method, (make, package) in METHODS.items():
            if package in missing or (only and method not in only):
                continue
            found: dict[str, list[float]] = {model: [] for model in DOWNSTREAM}
            for train, test in splits(y, task):
                features = make(frame.iloc[train], frame.iloc[test], y[train], numeric, task, d)
                if features is None:
                    break
                for model in DOWNSTREAM:
                    if method == "one-hot" and model == "boosting":
                        continue
                    found[model].append(score(downstream(model, task), *features, y[train], y[test], task))
            scores |= {(name, method, model): float(np.mean(values)) for model, values in found.items() if values}
        shown = " ".join(f"{m}/{model[0]}={v:.4f}" for (s, m, model), v in scores.items() if s == name)
        print(f"  {name}: {len(frame):,} rows, {frame.shape[1]} columns, d = {d}: {shown}", file=sys.stderr, flush=True)
    return scores, missing


def show_scores(scores: Scores) -> None:
    """Print one table a downstream model; a star marks the best of each of the two groups of equal size."""
    sets = list(dict.fromkeys(name for name, _, _ in scores))
    for model in DOWNSTREAM:
        methods = [m for m in METHODS if any((name, m, model) in scores for name in sets)]
        print(f"\n{model}: AUC or R^2 of left-out rows (* best of its group: few features | one per column)")
        print(f"  {'':18}" + "".join(f"{m:>15}" for m in methods))
        for name in sets:
            cells = []
            for method in methods:
                value = scores.get((name, method, model))
                group = FEW if method in FEW else ENCODERS if method in ENCODERS else (method,)
                best = max((scores.get((name, m, model), -np.inf) for m in group), default=-np.inf)
                mark = "*" if value is not None and len(group) > 1 and value >= best else " "
                cells.append(f"{'' if value is None else f'{value:.4f}{mark}':>15}")
            print(f"  {name:18}" + "".join(cells))


def ranks(scores: Scores, methods: tuple[str, ...]) -> dict[str, float]:
    """Return the mean rank over sets and downstream models, 1 the best, ties shared; among the methods that apply."""
    from scipy.stats import rankdata

    found: dict[str, list[float]] = {m: [] for m in methods}
    for name in dict.fromkeys(name for name, _, _ in scores):
        for model in DOWNSTREAM:
            there = [m for m in methods if (name, m, model) in scores]
            values = np.round([scores[name, m, model] for m in there], 6)
            for method, rank in zip(there, rankdata(-values), strict=True):
                found[method].append(float(rank))
    return {m: float(np.mean(r)) for m, r in found.items() if r}


def verdicts(scores: Scores) -> Iterator[Row]:
    sets = list(dict.fromkeys(name for name, _, _ in scores))
    cells = [(name, model) for name in sets for model in DOWNSTREAM]
    for peer in UNSUPERVISED:
        against = [
            (name, model)
            for name, model in cells
            if (name, peer, model) in scores and (name, "canonical", model) in scores
        ]
        lost = [c for c in against if scores[c[0], "canonical", c[1]] <= scores[c[0], peer, c[1]]]
        won = 100 * (1 - len(lost) / max(len(against), 1))
        note = ", ".join(f"{name} ({model})" for name, model in lost)
        yield Row(
            "q", "canonical, equal d", f"{peer}: sets won", won, "%", at_least=100, floor=f"lost: {note or 'none'}"
        )
    found = ranks(scores, ENCODERS)
    if len(found) > 1 and "columns" in found:
        best = min((m for m in found if m != "columns"), key=found.__getitem__)
        order = ", ".join(f"{m} {r:.2f}" for m, r in sorted(found.items(), key=lambda item: item[1]))
        yield Row(
            "q", "columns, mean rank", f"best encoder ({best})", found["columns"], "", at_most=found[best], floor=order
        )
    shares = [
        scores[name, "canonical", "linear"] / scores[name, "one-hot", "linear"]
        for name in sets
        if (name, "canonical", "linear") in scores and (name, "one-hot", "linear") in scores
    ]
    if shares:
        worst = f"worst {100 * min(shares):.1f}% ({sets[int(np.argmin(shares))]})"
        yield Row(
            "q", "canonical alone, mean", "one-hot linear", 100 * float(np.mean(shares)), "%", at_least=99, floor=worst
        )


# Speed and memory


def speed_frame(n_rows: int, text: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = tables.categorical(n_rows).to_pandas()
    codes = tables.codes(n_rows, tables.CATEGORICAL)
    y = sum(rng.standard_normal(k)[c] for c, k in zip(codes, tables.CATEGORICAL, strict=True))
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
    codes = tables.codes(n_rows, sizes, skew=1.0, seed=1)
    rng = np.random.default_rng(2)
    y = sum(rng.standard_normal(k)[c] for c, k in zip(codes, sizes, strict=True)) + rng.standard_normal(n_rows)
    columns = {f"c{j}": tables.labelled(c, k) for j, (c, k) in enumerate(zip(codes, sizes, strict=True))}
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
    from gramian.linear import ridge

    moments = gm.collect(wide_table(levels, n_rows), targets="y")
    kept, weights = (ridge.EIGEN, ridge.DENSE), []
    try:
        for limits in ((0, 0), (10**9, 10**9)):
            ridge.EIGEN, ridge.DENSE = limits
            weights.append(gm.MahalanobisFeatures(ridge=2.0).fit(moments, "y").components_)
    finally:
        ridge.EIGEN, ridge.DENSE = kept
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
    parser.add_argument("--only", default="quality,speed,wide,task", help="parts to run")
    parser.add_argument("--sets", default="", help="sets to run, by default all")
    parser.add_argument("--methods", default="", help="methods to run, by default all")
    parser.add_argument("--rows", type=int, default=10_000, help="at most this many rows a set, 0 for all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows of the speed and wide parts")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args(arguments)
    parts, rows = given.only.split(","), []
    if "quality" in parts:
        if not (given.data / "catalog.json").exists():
            print(f"no catalog.json in {given.data}: pass --data FOLDER", file=sys.stderr)
            return 1
        from threadpoolctl import threadpool_limits

        chosen, methods = ([v for v in text.split(",") if v] for text in (given.sets, given.methods))
        # Thousands of small fits: threads that wait for each other would take most of the time.
        with threadpool_limits(1):
            scores, missing = quality(given.data, given.rows, chosen, methods)
        show_scores(scores)
        if missing:
            print(f"\nnot run, pip install {' '.join(missing)}")
        rows += list(verdicts(scores))
    if "speed" in parts:
        rows += list(speed(int(MILLION * given.scale), given.repeat))
    if "wide" in parts:
        rows += list(wide(int(MILLION * given.scale), int(2 * MILLION * given.scale)))
    if "task" in parts:
        rows += list(source_task())
    print()
    report.show(rows)
    return 0
