"""How good a model is with k columns that each selector chose: accuracy (or R^2) on rows left out.

Every selector sees the training rows alone. Models are a linear one on one-hot columns and gradient boosting with
categories as such. Selectors of other packages take a matrix: categories are given to them as integer codes (mutual
information), or as one-hot columns whose importances are added up by source column (RFE, Lasso).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import Row

NAMES = ("adult", "german", "telco_churn", "splice", "ames", "diamonds")
ROWS = 1_500
SIZES = (3, 5, 10)

DATA = Path(os.environ.get("GRAMIAN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

Selector = Callable[[pd.DataFrame, np.ndarray, int], list[str]]


def table(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray, bool]:
    """Return features (text as categories, numbers as such), the target, and whether it is classes."""
    about = json.loads((folder / "catalog.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet").drop(columns=["split"], errors="ignore")
    frame = frame[frame[about["target"]].notna()].reset_index(drop=True)
    classes = about["task"] == "classification"
    y = frame.pop(about["target"]).to_numpy()
    for column in frame:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype(object).where(frame[column].notna(), "(missing)").astype(str)
    return frame, y.astype(str) if classes else np.log1p(y.astype(float)), classes


def coded(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix with categories as integer codes and missing numbers at their means, and which columns are codes."""
    text = np.array([not pd.api.types.is_numeric_dtype(X[c]) for c in X])
    parts = [
        pd.factorize(X[c])[0] if t else X[c].fillna(X[c].mean()).to_numpy(float) for c, t in zip(X, text, strict=True)
    ]
    return np.column_stack(parts), text


def hot(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised one-hot columns and the source column of each."""
    parts, owner = [], []
    for j, c in enumerate(X):
        numeric = pd.api.types.is_numeric_dtype(X[c])
        part = X[[c]].fillna(X[c].mean()).to_numpy(float) if numeric else pd.get_dummies(X[c]).to_numpy(float)
        parts.append(part)
        owner += [j] * part.shape[1]
    matrix = np.column_stack(parts)
    spread = matrix.std(axis=0)
    return (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1.0), np.array(owner)


def ours(make: Callable[[int], Any]) -> Selector:
    return lambda X, y, k: list(make(k).fit(X, y).get_feature_names_out())


def best(X: pd.DataFrame, scores: np.ndarray, k: int) -> list[str]:
    return [X.columns[j] for j in np.argsort(-scores, kind="stable")[:k]]


def information(X: pd.DataFrame, y: np.ndarray, k: int) -> list[str]:
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    matrix, text = coded(X)
    function = mutual_info_classif if y.dtype.kind == "U" else mutual_info_regression
    return best(X, function(matrix, y, discrete_features=text, random_state=0), k)


def elimination(X: pd.DataFrame, y: np.ndarray, k: int) -> list[str]:
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import LinearRegression, LogisticRegression

    matrix, owner = hot(X)
    model = LogisticRegression(max_iter=200) if y.dtype.kind == "U" else LinearRegression()
    ranking = RFE(model, n_features_to_select=1, step=0.1).fit(matrix, y).ranking_
    # A source column is as good as its best level.
    return best(X, -np.array([ranking[owner == j].min() for j in range(X.shape[1])], dtype=float), k)


def from_lasso(X: pd.DataFrame, y: np.ndarray, k: int) -> list[str]:
    from sklearn.feature_selection import SelectFromModel
    from sklearn.linear_model import LassoCV, LogisticRegression

    matrix, owner = hot(X)
    model = (
        LogisticRegression(l1_ratio=1.0, solver="saga", C=0.1, max_iter=60, tol=1e-2)
        if y.dtype.kind == "U"
        else LassoCV(cv=3)
    )
    fitted = SelectFromModel(model).fit(matrix, y).estimator_
    size = np.abs(np.atleast_2d(fitted.coef_)).sum(axis=0)
    return best(X, np.bincount(owner, size, X.shape[1]), k)


def mrmr(X: pd.DataFrame, y: np.ndarray, k: int) -> list[str]:
    import mrmr as package

    matrix, _ = coded(X)
    frame = pd.DataFrame(matrix, columns=[str(c) for c in X])
    function = package.mrmr_classif if y.dtype.kind == "U" else package.mrmr_regression
    target = pd.Series(pd.factorize(y)[0]) if y.dtype.kind == "U" else pd.Series(y)
    return [str(c) for c in function(frame, target, K=k, show_progress=False, n_jobs=1)]


RANKING = (information, elimination, from_lasso, mrmr)


def contestants() -> dict[str, Selector]:
    import gramian as gm

    return {
        "ForwardSelector": ours(lambda k: gm.ForwardSelector(k)),
        "RecursiveEliminator": ours(lambda k: gm.RecursiveEliminator(k)),
        "LassoSelector": ours(lambda k: gm.LassoSelector(k=k)),
        "MRMRFilter": ours(lambda k: gm.MRMRFilter(k)),
        "MutualInformationFilter": ours(lambda k: gm.MutualInformationFilter(k)),
        "PearsonFilter": ours(lambda k: gm.PearsonFilter(k)),
        "SelectKBest(mutual information)": information,
        "RFE": elimination,
        "SelectFromModel(Lasso)": from_lasso,
        "mrmr-selection": mrmr,
    }


def accuracy(X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray, columns: list[str]) -> list[float]:
    """Return the scores of a linear model and of gradient boosting on rows left out."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    some, classes = X[columns], y.dtype.kind == "U"
    matrix, _ = hot(some)
    linear = LogisticRegression(max_iter=200) if classes else Ridge()
    scores = [float(linear.fit(matrix[train], y[train]).score(matrix[test], y[test]))]
    codes, text = coded(some)
    # Boosting takes at most 255 levels a category; the others are numbers to it.
    few = [bool(t) and codes[:, j].max() < 250 for j, t in enumerate(text)]
    make = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    boosted = make(max_iter=40, categorical_features=few, random_state=0, early_stopping=False)
    return [*scores, float(boosted.fit(codes[train], y[train]).score(codes[test], y[test]))]


def chosen(choose: Selector, X: pd.DataFrame, y: np.ndarray) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each size. Selectors of other packages rank columns, so that the largest choice holds the others."""
    sizes = [(s, k) for s, k in enumerate(SIZES) if k < X.shape[1]]
    if choose in RANKING:
        order = choose(X, y, max(k for _, k in sizes))
        yield from ((s, order[:k]) for s, k in sizes)
    else:
        yield from ((s, choose(X, y, k)) for s, k in sizes)


def compare(seeds: int) -> Iterator[Row]:
    """Print the table, and yield the mean rank of each contestant."""
    from scipy.stats import rankdata

    folder = DATA
    if not (folder / "catalog.json").exists():
        yield Row("downstream", "accuracy with k columns", "", None, note="no data: set GRAMIAN_DATA to a folder")
        return
    makers = contestants()
    ranks: list[np.ndarray] = []
    for name in NAMES:
        X, y, _ = table(folder, name)
        cells = np.full((len(makers), len(SIZES), 2, seeds), np.nan)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(X))[:ROWS]
            here, target = X.iloc[order].reset_index(drop=True), y[order]
            cut = 2 * len(order) // 3
            train, test = np.arange(cut), np.arange(cut, len(order))
            known: dict[tuple[str, ...], list[float]] = {}
            for i, choose in enumerate(makers.values()):
                for s, columns in chosen(choose, here.iloc[:cut], target[:cut]):
                    # Columns in the order of the table: the same choice is the same model, whoever made it.
                    some = tuple(c for c in here if c in set(columns))
                    if some not in known:
                        known[some] = accuracy(here, target, train, test, list(some))
                    cells[i, s, :, seed] = known[some]
        _print(name, makers, cells)
        for s in range(len(SIZES)):
            for model in range(2):
                for seed in range(seeds):
                    values = cells[:, s, model, seed]
                    if np.isfinite(values).all():
                        ranks.append(rankdata(-np.round(values, 6)))
    table_of_ranks = np.array(ranks)
    mean, error = table_of_ranks.mean(axis=0), table_of_ranks.std(axis=0, ddof=1) / np.sqrt(len(ranks) / seeds)
    first = int(np.argmin(mean))
    for i in np.argsort(mean):
        name = list(makers)[i]
        note = "best" if i == first else "within one" if mean[i] - error[first] <= mean[first] else ""
        yield Row(
            "downstream",
            f"mean rank of {len(makers)}: {name}",
            "",
            float(mean[i]),
            unit="",
            floor=f"+- {error[i]:.2f}",
            note=note,
        )


def _print(name: str, makers: dict[str, Selector], cells: np.ndarray) -> None:
    print(f"\n{name}: score with k columns, linear model | boosting, mean and standard error over seeds")
    for i, maker in enumerate(makers):
        line = []
        for s, k in enumerate(SIZES):
            for model in range(2):
                values = cells[i, s, model]
                if np.isfinite(values).all():
                    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
                    line.append(f"{'k=' + str(k) if not model else '|'} {values.mean():.3f} ({error:.3f})")
        print(f"  {maker:32} " + "  ".join(line), flush=True)
