"""Sections on what models tell about a target: dependence, the separation of classes, and the columns selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import mannwhitneyu

from gramian.estimators.fisher import FisherDiscriminant
from gramian.estimators.mahalanobis import MahalanobisFeatures
from gramian.estimators.selection.filters import PearsonFilter
from gramian.estimators.selection.selector import ColumnSelector
from gramian.estimators.selection.stepwise import RecursiveEliminator
from gramian.estimators.spine.outputs import outputs_of
from gramian.reporting.context import Context
from gramian.reporting.values import number, numbers, text
from gramian.tables import open_table

# The Mahalanobis statistic: how much of the target the columns tell linearly

POINTS = 60


def dependence(context: Context) -> dict[str, Any] | str:
    """Return the statistic, its p-value and R^2, the test of each component, and the curve behind the ridge."""
    model = context.model(MahalanobisFeatures)
    if model is None:
        if context.target is None:
            return "no target is known: pass target="
        return context.refused.get("MahalanobisFeatures", "no Mahalanobis features were fitted")
    tests = model.component_tests_
    r2 = np.asarray(model.component_r2_, dtype=np.float64)
    names = outputs_of(model).names("transform")
    components = [
        {
            "k": k + 1,
            "feature": names[k] if k < len(names) and len(r2) else None,
            "r2": number(r2[k], 5) if k < len(r2) else None,
            "statistic": number(statistic),
            "df": int(df),
            "p_value": number(p, 4),
        }
        for k, (statistic, df, p) in enumerate(zip(tests["statistic"], tests["df"], tests["p_value"], strict=True))
    ]
    return {
        "model": type(model).__name__,
        "target": context.target,
        "statistic": number(model.statistic_),
        "p_value": number(model.p_value_, 4),
        # A model saved before there were others has the p-value of chi-squared.
        "moments": getattr(model, "p_value_moments_", "chi-squared"),
        "df": components[0]["df"] if components else None,
        "r2": number(model.r2_, 5),
        "r2_cv": number(model.r2_cv_, 5),
        "ridge": number(model.ridge_, 4),
        "components": components[:20],
        "ridge_curve": _curve(model),
    }


def _curve(model: Any) -> dict[str, Any] | None:
    """Return the score that the ridge was chosen by."""
    curve = {name: np.asarray(values) for name, values in model.selection_.items()}
    score = next((name for name in ("r2_cv", "r2", "score", "gcv") if name in curve), None)
    if "ridge" not in curve or score is None or len(curve["ridge"]) < 3:
        return None
    rows = [
        {"ridge": number(r), "score": number(s)}
        for r, s in zip(curve["ridge"], curve[score], strict=True)
        if np.isfinite(s) and r > 0
    ]
    return {"score": score, "points": rows[:POINTS]} if len(rows) >= 3 else None


# Class separation: the criterion of Fisher, and where classes lie on the first axis

SPREAD_BINS = 48
CLASSES_DRAWN = 10
"""Classes that can be told apart by colour."""


def classes(context: Context) -> dict[str, Any] | str:
    """Return Fisher's criterion per axis and, where rows carry the target, their confusion and their spread."""
    model = context.model(FisherDiscriminant)
    if model is None:
        if context.target is None:
            return "no target is known: pass target="
        return context.refused.get("FisherDiscriminant", f"no model here separates the classes of {context.target!r}")
    names = outputs_of(model).names("transform")
    labels = [text(label) for label in model.classes_.tolist()]
    out: dict[str, Any] = {
        "target": context.target,
        "classes": [
            {"name": label, "prior": number(prior, 4)} for label, prior in zip(labels, model.priors_, strict=True)
        ],
        "axes": [
            {"name": name, "criterion": number(j, 5), "gap": _gap(model, j), "share": number(share, 4), "between": None}
            for name, j, share in zip(names, model.criterion_, model.explained_variance_ratio_, strict=True)
        ],
        "confusion": None,
        "spread": None,
    }
    if context.target_values is None or context.sample is None or not context.sample.table.num_rows:
        return out
    actual = _codes(context.target_values.combine_chunks(), labels)
    predicted = _codes(pa.array(model.predict(context.sample.table)), labels)
    projection = model.projection_
    placed = np.asarray(projection.apply(projection.design.rows(open_table(context.sample.table))))
    for k, axis in enumerate(out["axes"]):
        axis["between"] = number(_between(placed[:, k], actual, len(labels)), 4)
    out["confusion"] = confusion(predicted, actual, labels, context.sample.words)
    if len(labels) == 2:
        out["confusion"]["auc"] = number(_area(placed[:, 0], actual), 4)
    out["spread"] = _spread(placed[:, 0], actual, labels, names[0], context.class_order)
    return out


def _gap(model: FisherDiscriminant, criterion: float) -> float | None:
    """Return how many standard deviations two class means lie apart, from J: the squared gap over (n - c) variances."""
    moments = vars(model).get("moments_")
    if moments is None:
        return None
    return number(np.sqrt(max(criterion * (moments.total_weight - len(model.classes_)), 0.0)), 4)


def _codes(values: pa.Array, labels: list[str]) -> npt.NDArray[np.int64]:
    """Return the place of each value among the labels, -1 where it is none of them."""
    encoded = values.dictionary_encode(null_encoding="encode")
    at = {label: k for k, label in enumerate(labels)}
    places = np.array([at.get(text(value), -1) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(places[encoded.indices.to_numpy()], dtype=np.int64)


def _between(placed: npt.NDArray, actual: npt.NDArray, n_classes: int) -> float:
    """Return the share of an axis's variance that lies between the classes."""
    known = actual >= 0
    values, own = placed[known] - placed[known].mean(), actual[known]
    sums, counts = np.bincount(own, values, n_classes), np.bincount(own, minlength=n_classes)
    whole = float(values @ values)
    return float((np.square(sums) / np.maximum(counts, 1)).sum() / whole) if whole > 0 else np.nan


def _area(placed: npt.NDArray, actual: npt.NDArray) -> float:
    """Return how often a row of the second class lies on its side of a row of the first (the area under the ROC)."""
    first, second = placed[actual == 0], placed[actual == 1]
    if not len(first) or not len(second):
        return np.nan
    area = float(mannwhitneyu(second, first, method="asymptotic").statistic) / (len(first) * len(second))
    # The sign of an axis is free.
    return max(area, 1 - area)


def _spread(
    placed: npt.NDArray, actual: npt.NDArray, labels: list[str], axis: str, order: list[str]
) -> dict[str, Any] | None:
    """Return how the rows of each class are spread over an axis, as shares of the class; tails of half a per cent are cut."""
    shown = [label for label in order if label in labels][:CLASSES_DRAWN]
    own = {label: placed[actual == labels.index(label)] for label in shown}
    ends = [np.quantile(values, [0.005, 0.995]) for values in own.values() if len(values)]
    if not ends:
        return None
    low, high = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return None
    # As fine as the rows of a usual class allow.
    usual = np.median([len(values) for values in own.values() if len(values)])
    edges = np.linspace(low, high, int(np.clip(2 * np.sqrt(usual), 12, SPREAD_BINS)) + 1)
    shares = [
        {"name": label, "shares": numbers(np.histogram(values, bins=edges)[0] / max(len(values), 1))}
        for label, values in own.items()
    ]
    return {"axis": axis, "edges": numbers(edges), "classes": shares}


# Who is taken for whom

CLASSES_SHOWN = 12


def confusion(
    predicted: npt.NDArray[np.int64], actual: npt.NDArray[np.int64], labels: list[str], words: str
) -> dict[str, Any]:
    """Return the confusion matrix and what it comes to.

    Parameters
    ----------
    predicted, actual : (n,) arrays
        Places among the labels; -1 in `actual` is none of them and not counted.
    labels : list of str
    words : str
        Which rows or objects these are.

    Examples
    --------
    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), ["a", "b"], "3 rows")["counts"]
    [[1, 1], [0, 1]]
    """
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    known = actual >= 0
    np.add.at(counts, (actual[known], predicted[known]), 1)
    total = max(int(counts.sum()), 1)
    return {
        "labels": labels[:CLASSES_SHOWN],
        "counts": counts[:CLASSES_SHOWN, :CLASSES_SHOWN].tolist(),
        "left_out": max(len(labels) - CLASSES_SHOWN, 0),
        "accuracy": number(np.trace(counts) / total, 4),
        "largest_class": number(counts.sum(axis=1).max() / total, 4),
        "balanced_accuracy": number(_mean_recall(counts), 4),
        "auc": None,
        "words": words,
    }


def _mean_recall(counts: npt.NDArray[np.int64]) -> float:
    totals = counts.sum(axis=1)
    return float((np.diagonal(counts)[totals > 0] / totals[totals > 0]).mean()) if totals.any() else np.nan


# Which columns a selector keeps

COLUMNS_SHOWN = 40
"""Columns in the table."""
LINES = 8
"""Columns whose path is drawn: those that enter first."""
MEANINGS = {
    "VarianceFilter": "the variance of a number; of a category, how likely two rows differ",
    "PearsonFilter": "the correlation with the target beyond chance; minus where one number falls as the other rises",
    "MutualInformationFilter": "the information about the target in nats beyond what chance gives; below 0, less than chance",
    "IndependenceFilter": "the test's statistic over its mean under independence; about 1 where there is nothing",
    "RedundancyFilter": "1 less the degree to which columns kept before explain this one",
    "MRMRFilter": "its relevance for the target by itself, from 0 to 1; those that stay also repeat each other little",
    "ForwardSelector": "the share of the target that the column adds, less twice what chance adds; below 0, it would harm",
    "RecursiveEliminator": "the share of the target lost without the column, less twice what chance takes; below 0, it harms",
    "LassoSelector": "the largest penalty at which the column has coefficients; 0, it never has",
}
"""What a score is, in words."""


def selection(context: Context) -> dict[str, Any] | None:
    """Return what every selector keeps, or None: only selectors do."""
    models = [model for model in context.models if isinstance(model, ColumnSelector)]
    return {"models": [_selected_by(model) for model in models]} if models else None


def _selected_by(model: ColumnSelector) -> dict[str, Any]:
    columns = model.summary_columns()
    wrapped = isinstance(model, RecursiveEliminator) and model.estimator is not None
    scores = np.asarray(columns["score"], dtype=np.float64)
    p_values = columns.get("p_value")
    # A correlation has a sign; any other score below 0 says less than nothing.
    strengths = np.abs(scores) if isinstance(model, PearsonFilter) else scores
    order = np.lexsort((-np.nan_to_num(strengths, neginf=-np.inf), ~np.asarray(columns["kept"], dtype=bool)))
    rows = [
        {
            "column": text(columns["column"][j]),
            "kept": bool(columns["kept"][j]),
            "score": number(scores[j], 4),
            "strength": number(max(strengths[j], 0.0)),
            "p_value": None if p_values is None else number(p_values[j], 4),
        }
        for j in order[:COLUMNS_SHOWN]
    ]
    finite = strengths[np.isfinite(strengths)]
    return {
        "model": type(model).__name__,
        "meaning": "its importance in the model that was wrapped" if wrapped else MEANINGS[type(model).__name__],
        "n_columns": len(scores),
        "n_kept": int(np.sum(columns["kept"])),
        "columns": rows,
        "most": number(finite.max(initial=0.0)) or 1.0,
        "tested": p_values is not None,
        "path": _path(model.path_columns_),
        "held_out": _held_out(model),
    }


def _path(path: dict[str, list[Any]]) -> dict[str, Any] | None:
    """Return lines over the penalties of a Lasso, or the share explained with each column that enters."""
    if "alpha" in path:
        names = list(dict.fromkeys(path["column"]))[:LINES]
        points = [
            {"x": number(a), "y": number(size), "series": text(name)}
            for a, name, size in zip(path["alpha"], path["column"], path["size"], strict=True)
            if name in names
        ]
        return {"points": points, "x": "penalty", "y": "length of the coefficients", "log": True} if points else None
    if "r2" not in path or not path["r2"]:
        return None
    points = [{"x": step, "y": number(value)} for step, value in zip(path["step"], path["r2"], strict=True)]
    return {"points": points, "x": "step", "y": "explained share", "log": False}


def _held_out(model: Any) -> dict[str, Any] | None:
    """Return the held-out score by number of columns, or by penalty, and the choice."""
    scores = vars(model).get("n_selected_cv_")
    if scores is not None and len(scores):
        points = [{"x": k, "y": number(value)} for k, value in enumerate(scores)]
        return {"points": points, "x": "columns", "log": False, "chosen": int(model.get_support().sum())}
    errors = vars(model).get("mse_path_")
    if errors is not None and len(errors):
        points = [{"x": number(a), "y": number(1 - e)} for a, e in zip(model.alphas_, errors, strict=True)]
        return {"points": points, "x": "penalty", "log": True, "chosen": number(model.alpha_, 4)}
    return None
