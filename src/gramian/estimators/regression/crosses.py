"""`rank_crosses`: which pairs of columns say more than the two say each, for a fitted additive model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.design.encoder import Encoder
from gramian.design.schema import Column, Schema
from gramian.engines.fold_passes import FitRows
from gramian.engines.weighted import Reader
from gramian.errors import Argument, DataError
from gramian.estimators.regression.additive import FOLDS, AdditiveModel
from gramian.estimators.regression.additive_fit import Fit, rank
from gramian.estimators.regression.glm import LogisticRegression
from gramian.estimators.regression.ridge import Ridge, as_numbers
from gramian.estimators.spine.training import TARGET, read, target_values
from gramian.linear.regression.expansion import total
from gramian.linear.regression.interaction import adjusted
from gramian.tables.base import innermost
from gramian.tables.returned import table as output_table


def rank_crosses(model: Any, data: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Return all pairs of columns by what their cells say beyond a fitted model, with a test.

    The residuals are on the scale of the link and cross-fitted: the model takes one Newton step without each of five folds, and
    a row is predicted without its own fold. The test of a pair is that its cells say nothing beyond a function of either
    column.

    Parameters
    ----------
    model : AdditiveClassifier, AdditiveRegressor, LogisticRegression or Ridge
        Fitted. Crosses that it has already are part of the prediction.
    data : any source of `gramian.collect`
        The rows of the fit, or others like them; they are kept in memory where they fit, and read twice where they do not.
    y : array or str, optional
        The target; by default the column that the model was fitted to.
    sample_weight : array or str, optional
        One weight per row, or the name of a column.

    Returns
    -------
    table
        `left, right, cells, gain, statistic, df, p_value, q_value`, the largest gain first. The gain is the share of the
        residual variance that the cells explain beyond chance; `q_value` is the false discovery rate of Benjamini and
        Hochberg at which the pair is a discovery.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({name: rng.choice(["a", "b", "c"], 3000) for name in ("u", "v", "w")})
    >>> rows["won"] = (rows["u"] == rows["v"]) ^ (rng.random(3000) < 0.3)
    >>> model = gm.AdditiveClassifier(crosses=0).fit(rows, "won")
    >>> ranks = gm.rank_crosses(model, rows)
    >>> ranks["left"][0], ranks["right"][0], bool(ranks["q_value"][0] < 1e-9)
    ('u', 'v', True)
    """
    if not isinstance(model, AdditiveModel | LogisticRegression | Ridge):
        raise DataError(
            "rank_crosses takes a fitted AdditiveClassifier, AdditiveRegressor, LogisticRegression or Ridge; got "
            f"{type(model).__name__}"
        )
    check_is_fitted(model)
    fit = _fit_of(model, data, y, sample_weight)
    ranking = rank(fit)
    tests = ranking.tests
    rates = adjusted(np.array([test.p_value for test in tests])) if tests else np.empty(0)
    order = sorted(range(len(tests)), key=lambda k: (-tests[k].gain, tests[k].p_value))
    columns: dict[str, Any] = {
        "left": [ranking.pairs[k][0] for k in order],
        "right": [ranking.pairs[k][1] for k in order],
        "cells": np.array([tests[k].n_cells for k in order], dtype=np.int64),
        "gain": np.array([tests[k].gain for k in order], dtype=np.float64),
        "statistic": np.array([tests[k].statistic for k in order], dtype=np.float64),
        "df": np.array([tests[k].df for k in order], dtype=np.int64),
        "p_value": np.array([tests[k].p_value for k in order], dtype=np.float64),
        "q_value": np.array([rates[k] for k in order], dtype=np.float64),
    }
    return output_table(columns, library=model._frames)


def _fit_of(model: Any, data: Any, y: Any, sample_weight: Any) -> Fit:
    """Return a fit that stands at the coefficients of a model."""
    numbers = isinstance(model, AdditiveModel | Ridge) and not hasattr(model, "classes_")
    target = y if isinstance(y, str) else TARGET if y is not None else model._targets[0]
    if target == TARGET and y is None:
        raise DataError("the model was fitted to values of a target, not to a column; pass them to rank_crosses as y")
    if model.projection_.n_features > 1 and numbers:
        raise DataError("rank_crosses takes a model of one target; fit one target at a time")

    def attached(values: Any) -> dict[str, Any]:
        return {TARGET: as_numbers(target_values(values)) if numbers else target_values(values)}

    training = read(model, data, target if y is None or isinstance(y, str) else y, sample_weight, targets=attached)
    if innermost(training.table).home != "local":
        raise DataError(
            f"{training.table.describe} lies in partitions elsewhere; write it to files and pass their path"
        )
    design = model.projection_.design
    plain = [column for column in design.columns if not column.crossed]
    families = {c.name: labels.family for c, labels in zip(design.categorical, design.labels, strict=True)}
    schema = Schema((*plain, Column(target, "number" if numbers else "category", target, target=True)))

    def fresh() -> Encoder:
        known = {column.name: families[column.name] for column in plain if column.name in families and not column.part}
        return training.encoder(schema, families=known)

    family = model._family
    labels = None if numbers else model.classes_.tolist()
    fill = np.nan_to_num(design.mean[design.number_places])
    reader = Reader(design, fill, target, labels, family.least, family.name)
    rows = FitRows(training.table, fresh, FOLDS, None, training.every_weight)
    if numbers:
        events: list[int | None] = [None]
    else:
        events = [1] if len(model.classes_) == 2 else list(range(len(model.classes_)))
    thetas = [np.append(model.projection_.offset[k], model.projection_.weights[:, k]) for k in range(len(events))]
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 1.0))
    fit = Fit(rows, reader, family, events, [1.0] * len(events), np.ones(len(design.mean)), max(float(alpha), 0.5))
    fit.cross_ridge = float(getattr(model, "cross_alpha_", fit.cross_ridge))
    fit.expand(thetas)
    wholes = [total(parts) for parts in fit.expansions]
    if not wholes[0].weight > 0:
        raise DataError(f"{training.table.describe} has no rows with a ", Argument("y", target))
    n_rows = float(sum(part.rows.n_rows for part in rows.stretches(reader)))
    fit.curvatures = [max(whole.weight / n_rows, 1e-6) for whole in wholes]
    for column in design.numeric:
        at = design.spans[column.name].start
        fit.unit[at] = max(wholes[0].gram[1 + at, 1 + at] / wholes[0].weight, 1e-300)
    fit.thetas = fit.about
    return fit
