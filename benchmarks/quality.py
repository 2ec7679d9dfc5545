"""How good features are: every classification and regression set of a catalogue, left-out rows, two models behind them.

A set is one Parquet file and an entry of `catalog.json`. Five outer splits. Behind the features stand logistic or ridge
regression on standardised ones, and histogram gradient boosting of 40 rounds. Scores are AUC (one against the rest,
macro-averaged) or R^2 of the left-out rows.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.encoders import METHODS
from benchmarks.report import Row

SPLITS = 5

Scores = dict[tuple[str, str, str], float]
"""(set, method, downstream) -> mean score."""

PEERS = ("TargetEncoder", "James-Stein", "CatBoost", "WOE")
ENCODERS = ("columns", *PEERS)
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
    # A class of one or two rows may be in the left-out rows alone, or not there at all.
    present = np.intersect1d(held_out, model.classes_)
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
        return kind(max_iter=40, early_stopping=False, random_state=0)
    model = Ridge() if task == "regression" else LogisticRegression(max_iter=200)
    return make_pipeline(StandardScaler(with_mean=False), model)


def evaluate(folder: Path, name: str, method: str, rows: int) -> tuple[dict[str, float], float]:
    """Return the mean score of a method on a set, a model behind it each, and the seconds that its features took."""
    from threadpoolctl import threadpool_limits

    about = catalogue(folder)[name]
    task = about["task"]
    frame, y, numeric = load(folder, name, about, rows)
    d = 1 if task == "regression" else int(y.max())
    found: dict[str, list[float]] = {model: [] for model in DOWNSTREAM}
    seconds = 0.0
    # Many small fits: threads that wait for each other would take most of the time.
    with threadpool_limits(1):
        for train, test in splits(y, task):
            start = time.process_time()
            features = METHODS[method][0](frame.iloc[train], frame.iloc[test], y[train], numeric, task, d)
            seconds += time.process_time() - start
            if features is None:
                return {}, 0.0
            for model in DOWNSTREAM:
                if method == "one-hot" and model == "boosting":
                    continue
                found[model].append(score(downstream(model, task), *features, y[train], y[test], task))
    return {model: float(np.mean(values)) for model, values in found.items() if values}, seconds


def quality(folder: Path, rows: int, chosen: list[str], only: list[str]) -> tuple[Scores, list[str]]:
    """Return the scores of every method on every set, and the packages that were missing."""
    missing = sorted({package for _, package in METHODS.values() if package and find_spec(package) is None})
    about = catalogue(folder)
    sets = chosen or list(about)
    methods = [m for m, (_, package) in METHODS.items() if package not in missing and (not only or m in only)]
    # The largest first, so that no core waits for the last one.
    jobs = sorted(
        ((n, m) for n in sets for m in methods), key=lambda job: -about[job[0]]["rows"] * about[job[0]]["columns"]
    )
    scores: Scores = {}
    seconds: dict[tuple[str, str], float] = {}
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        running = {job: pool.submit(evaluate, folder, *job, rows) for job in jobs}
        for (name, method), job in running.items():
            found, seconds[name, method] = job.result()
            scores |= {(name, method, model): value for model, value in found.items()}
            shown = ", ".join(f"{model} {value:.4f}" for model, value in found.items())
            print(f"  {name}, {method}: {shown or 'has no form for numbers'}", file=sys.stderr, flush=True)
    for name in sets:
        n = min(about[name]["rows"], rows or about[name]["rows"])
        spent = ", ".join(f"{m} {seconds[name, m]:.1f}" for m in methods)
        print(
            f"{name}: {n:,} of {about[name]['rows']:,} rows, {about[name]['columns']} columns; seconds of encoding: {spent}"
        )
    ordered = {(n, m, model) for n in sets for m in methods for model in DOWNSTREAM}
    return {
        key: scores[key] for key in sorted(ordered & scores.keys(), key=lambda k: (sets.index(k[0]), k[1:]))
    }, missing


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
    print("\nlosses of canonical to an unsupervised map, of columns to the best encoder:")
    for name in sets:
        for model in DOWNSTREAM:
            for mine, peers in (("canonical", UNSUPERVISED), ("columns", PEERS)):
                there = {m: scores[name, m, model] for m in peers if (name, m, model) in scores}
                own = scores.get((name, mine, model))
                if own is not None and there and max(there.values()) > own:
                    best = max(there, key=there.__getitem__)
                    print(
                        f"  {name:18} {model:9} {mine:9} {own:.4f}   {best} {there[best]:.4f}   {own - there[best]:+.4f}"
                    )


def ranks(scores: Scores, methods: tuple[str, ...]) -> dict[str, float]:
    """Return the mean rank over sets and downstream models, 1 the best, ties shared; last where a method has no form."""
    from scipy.stats import rankdata

    sets = dict.fromkeys(name for name, _, _ in scores)
    ran = [m for m in methods if any((name, m, model) in scores for name in sets for model in DOWNSTREAM)]
    cells = [[scores.get((name, m, model), -np.inf) for m in ran] for name in sets for model in DOWNSTREAM]
    return dict(zip(ran, np.mean([rankdata(-np.round(c, 6)) for c in cells], axis=0).tolist(), strict=True))


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
    # WOE has no form for a numeric target, so it is ranked twice: last on those sets, and only where it has one.
    # James-Stein and WOE are not cross-fitted; ours without that is shown beside, with no target.
    everywhere = {name for name in sets if (name, "WOE", "linear") in scores}
    for what, some in (("all sets", scores), ("classes", {k: v for k, v in scores.items() if k[0] in everywhere})):
        for mine in ("columns", "columns, plain"):
            found = ranks(some, (mine, *PEERS))
            if mine not in found or len(found) < 2:
                continue
            best = min((m for m in found if m != mine), key=found.__getitem__)
            order = ", ".join(f"{m} {r:.2f}" for m, r in sorted(found.items(), key=lambda item: item[1]))
            bound = found[best] if mine == "columns" else None
            yield Row("q", f"{mine}: rank, {what}", f"encoder ({best})", found[mine], "", at_most=bound, floor=order)
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
