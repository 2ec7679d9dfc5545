"""Recursive elimination with somebody else's model, fitted again at each step: columns leave by its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.spine.inputs import is_path, open_rows
from gramian.estimators.spine.training import row_weights
from gramian.maps.projection import Design
from gramian.online.ascent import target_columns


@dataclass(frozen=True, eq=False)
class Elimination:
    """What is left, and the order in which columns left.

    Attributes
    ----------
    estimator : model
        Fitted to the columns that stay.
    ranking : (q,) array of int
        1 for those that stay, then as in RFE.
    importance : (q,) array
        Of each column when it was last in the model.
    path : dict
        step, column, importance in the order of leaving.
    """

    estimator: Any
    ranking: Array
    importance: Array
    path: dict[str, list[Any]]


def eliminate_with(selector: Any, X: Any, y: Any, sample_weight: Any, *, k: int, include: list[int]) -> Elimination:
    """Return the columns that a model keeps to the end.

    Parameters
    ----------
    selector : fitted RecursiveEliminator
        Its `estimator` is cloned at each step.
    X, y, sample_weight
        Rows in memory, as they were given to `fit`.
    k : int
        Columns to keep.
    include : list of int
        Columns that stay.
    """
    if is_path(X):
        raise DataError(
            Argument("estimator"), " is fitted to rows in memory; read the files first, or leave estimator out"
        )
    design = selector.design_
    matrix, owner = design_matrix(design, open_rows(selector, X, design))
    target = target_beside(X, y)
    model, origins = selector.estimator, design.origins
    options: dict[str, Any] = {}
    if sample_weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise DataError(f"{type(model).__name__}.fit takes no sample_weight; leave it out")
        options["sample_weight"] = row_weights(sample_weight, len(matrix), X)
    if isinstance(y, str | tuple):
        # As in the moments: rows in which a named target is missing are left out.
        columns = target.T if target.ndim == 2 else [target]
        given = ~np.logical_or.reduce([np.asarray(pa.array(each, from_pandas=True).is_null()) for each in columns])
        matrix, target = matrix[given], target[given]
        options = {name: values[given] for name, values in options.items()}
    inside = np.ones(len(origins), dtype=bool)
    ranking, importance = np.ones(len(origins), dtype=np.int64), np.zeros(len(origins))
    path: dict[str, list[Any]] = {"step": [], "column": [], "importance": []}
    at_once = int(max(1, selector.step * len(origins))) if 0 < selector.step < 1 else int(selector.step)
    round_ = 0
    while True:
        chosen = inside[owner]
        fitted = clone(model).fit(matrix[:, chosen], target, **options)
        strength = np.bincount(owner[chosen], np.square(importances(fitted)), len(origins))
        importance[inside] = strength[inside]
        free = [j for j in np.flatnonzero(inside) if j not in include]
        leave = min(at_once, int(inside.sum()) - k, len(free))
        if leave <= 0:
            return Elimination(fitted, ranking, importance, path)
        round_ += 1
        gone = np.array(free)[np.argsort(strength[free], kind="stable")[:leave]]
        inside[gone] = False
        ranking[~inside] += 1
        path["step"] += [round_] * leave
        path["column"] += [origins[j] for j in gone]
        path["importance"] += [float(strength[j]) for j in gone]


def importances(model: Any) -> Array:
    """Return one number a column of the matrix: the root of the summed squares of its coefficients, or its importance."""
    if hasattr(model, "coef_"):
        coefficients = np.asarray(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_)
        return np.sqrt(np.square(np.atleast_2d(coefficients)).sum(axis=0))
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_, dtype=np.float64)
    raise DataError(
        Argument("estimator"),
        f" needs coef_ or feature_importances_ once fitted, and {type(model).__name__} has neither",
    )


def design_matrix(design: Design, table: Any) -> tuple[Array, Array]:
    """Return rows with one column a number and a level, and the source column of each."""
    parts = [_expanded(design, rows) for rows in design.rows(table)]
    place = {name: k for k, name in enumerate(design.origins)}
    owner = np.concatenate(
        [
            np.full(design.spans[column.name].stop - design.spans[column.name].start, place[column.origin])
            for column in design.columns
        ]
    )
    return np.concatenate(parts), owner


def _expanded(design: Design, rows: Any) -> Array:
    out = np.zeros((len(rows), len(design.mean)))
    numbers = rows.numbers.toarray() if hasattr(rows.numbers, "toarray") else np.asarray(rows.numbers, dtype=np.float64)
    for k, place in enumerate(design.number_places):
        values = numbers[:, k]
        out[:, place] = np.where(np.isnan(values), design.mean[place], values)
    for k, column in enumerate(design.categorical):
        span, codes = design.spans[column.name], rows.codes[k]
        known = codes < span.stop - span.start
        out[np.flatnonzero(known), span.start + codes[known].astype(np.intp)] = 1.0
    return out


def target_beside(X: Any, y: Any) -> Array:
    """Return target values, given as such or as names of columns of rows in memory."""
    if not isinstance(y, str | tuple):
        return np.asarray(y)
    named = [y] if isinstance(y, str) else list(y)
    columns = [values.to_numpy(zero_copy_only=False) for values in target_columns(X, named)]
    return columns[0] if isinstance(y, str) else np.column_stack(columns)
