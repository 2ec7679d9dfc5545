"""Wrappers: forward selection and recursive elimination, exact least squares at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.selection.selector import Chosen, ColumnSelector
from gramian.estimators.spine.fields import Fields, array, table
from gramian.estimators.spine.inputs import is_path, open_rows
from gramian.estimators.spine.training import row_weights
from gramian.maps.projection import Design
from gramian.moments.value import Moments
from gramian.online.ascent import target_columns
from gramian.parameters import Kind, check_parameters, declared, number, parameter, whole
from gramian.selection.held_out import Curve, held_out_curve
from gramian.selection.stepwise.backward import backward
from gramian.selection.stepwise.forward import Path, forward

ALPHA = 0.05
_MODEL = Kind(
    "a scikit-learn model, such as LinearRegression()",
    lambda value: hasattr(value, "fit") and hasattr(value, "get_params"),
)


class _Stepwise(ColumnSelector):
    """What forward and backward steps share: the stops, and what is told of them."""

    _fields: ClassVar[Fields] = {
        "ranking_": array("q", dtype="i8"),
        "n_selected_cv_": array(None),
        "path_columns_": table("step", "column", "gain", "score", "p_value", "corrected", "r2", worded=("column",)),
    }

    k: Any
    alpha: Any
    rule: str

    _parameters = declared(k=(None, "cv", whole()), alpha=(None, number(least=0, most=1)), rule=("best", "1se"))

    def _check_together(self) -> None:
        if self.alpha is not None and self.k == "cv":
            raise DataError(Argument("k", "cv"), " and alpha each say where to stop; keep one of them")

    def _wants_folds(self) -> bool:
        return isinstance(self.k, str)

    def _alpha(self) -> float | None:
        return ALPHA if self.k is None and self.alpha is None else self.alpha

    def _told(self, path: Path, curve: Curve | None, at: Sequence[int]) -> Chosen:
        """Return the scores and tests of a path, those inside it as chosen.

        The score of the model that a step made is on the curve at `at`; steps that made none have places outside it.
        """
        count = len(self._sources)
        scores, p_values = np.full(count, -np.inf), np.ones(count)
        for values, left, stepped in (
            (scores, path.left_score, path.score),
            (p_values, path.left_p_value, path.p_value),
        ):
            values[list(left)] = list(left.values())
            values[path.order] = stepped
        table: dict[str, Any] = {
            "step": list(range(1, len(path.order) + 1)),
            "column": [self._sources[j] for j in path.order],
            "gain": path.gain,
            "score": path.score,
            "p_value": path.p_value,
            "corrected": path.corrected,
            "r2": path.explained,
        }
        self.n_selected_cv_ = np.empty(0) if curve is None else curve.score
        if curve is not None:
            for name, means in (("cv_score", curve.score), ("cv_error", curve.error)):
                table[name] = [float(means[k]) if 0 <= k < len(means) else None for k in at]
        return Chosen(np.isin(np.arange(count), path.order), scores, p_values, table)


def _ranked(ranking: Array) -> dict[str, tuple[Array, int]]:
    """Return the ranking as an attribute; columns that were set aside come last."""
    return {"ranking_": (ranking, ranking.max() + 1)}


@dataclass(eq=False, repr=False)
class ForwardSelector(_Stepwise):
    """Takes in, step by step, the column that adds most to a least squares fit of the target; for classes, to Fisher's.

    Each step is exact: what a column adds beyond those inside, all its levels together, from moments alone. The gain is
    counted in the sum of squared canonical correlations with the target (R^2 for one number), and a column must pay twice
    what its directions would gain by chance, as in Mallows' C_p: among numbers this is ordinary forward selection, and a
    category of many levels, a near-identifier above all, is not chosen for its levels.

    Parameters
    ----------
    k : int, "cv" or None
        Columns to keep; `"cv"`: as many as predict left-out rows best, the whole selection repeated in each fold. Neither
        stops at a step that helps nothing by itself, so columns that matter only together are found; `"cv"` compares models
        of up to half as many directions as rows, and beyond while each step has a positive score.
    alpha : float, optional
        Stop before a column whose p-value, times the number of columns it was chosen from, is larger, or whose score is not
        positive. 0.05 where k is None too.
    rule : {"best", "1se"}
        For `"cv"`: the best score, or the fewest columns within one standard error of it.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that enter first.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Gain less twice chance, as a column entered; of the others, as they would enter next.
    p_values_ : array
        Of the same gains, not adjusted.
    ranking_ : array of int
        1 for the first that entered, 2 for the second; those that did not enter follow, in the order of `scores_`. As in
        scikit-learn 1 is best.
    path_ : table
        step, column, gain, score, p_value, corrected (for the choice), r2 (explained share so far), and for `"cv"` the held-out
        score with its standard error.
    n_selected_cv_ : array
        For `"cv"`: held-out score of the models of 0, 1, 2... columns beyond the included.

    See Also
    --------
    RecursiveEliminator : leaves columns out instead.
    LassoSelector : a path of penalties instead of steps.

    Notes
    -----
    A category of at least half as many levels as rows can explain nothing worth its levels and is set aside before any
    matrix is formed; it stays only where `include` names it, and then explains nothing, or where `k` asks for more columns
    than there are others. Other columns need a matrix over their levels.

    References
    ----------
    .. [1] Mallows, C. L. (1973). Some comments on C_p. Technometrics 15(4).
    .. [2] Efroymson, M. A. (1960). Multiple regression analysis. Mathematical methods for digital computers.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 6))
    >>> model = gm.ForwardSelector().fit(X, 2 * X[:, 4] - X[:, 1] + rng.standard_normal(300))
    >>> model.get_support(indices=True), model.path_["column"].to_pylist()
    (array([1, 4]), ['x4', 'x1'])
    """

    k: int | str | None = None
    _: KW_ONLY
    alpha: float | None = None
    rule: str = "best"
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        problem, curve = self._problem(moments), None
        if isinstance(self.k, str):
            # Held-out rows decide, so the path goes on where no step has a positive score, through all models that could
            # have one as a whole: of rank k it is at most r (1 - 2 k / (n - 1)).
            room = (problem.n - 1) / 2
            whole = forward(problem, include=include, while_useful=True, room=room, with_tests=False)
            most = len(whole.order) - len(include)
            models = partial(forward, include=include, steps=most, with_coefficients=True, with_tests=False)
            curve = held_out_curve(problem, lambda train: models(train).coefficients, "k='cv'")
            steps: int | None = curve.best(self.rule)
        else:
            steps = None if self.k is None else self.k - len(include)
        alpha = self._alpha()
        path = forward(problem, include=include, steps=steps, alpha=alpha, while_useful=alpha is not None)
        # The first step after the included columns makes the model of one column.
        first = len(include)
        told = self._told(path, curve, [k - first + 1 if k >= first else -1 for k in range(len(path.order))])
        best = np.argsort(np.nan_to_num(-told.scores, nan=np.inf), kind="stable")
        rest = [j for j in best if not told.support[j]]
        ranking = np.empty(len(told.scores), dtype=np.int64)
        ranking[[*path.order, *rest]] = np.arange(1, len(ranking) + 1)
        return replace(told, more=_ranked(ranking))


def _model_has(name: str) -> Callable[[Any], bool]:
    """Return whether a selector's model, fitted or not yet, has a method."""

    def has(selector: Any) -> bool:
        model = vars(selector).get("estimator_", selector.estimator)
        return model is not None and hasattr(model, name)

    return has


@dataclass(eq=False, repr=False)
class RecursiveEliminator(_Stepwise):
    """Leaves out, step by step, the column that the others miss least; from moments, or with any model that ranks columns.

    From moments every step is an exact least squares fit (for classes, Fisher's): the loss of leaving a column out, all its
    levels together, less twice what chance would lose. With `estimator`, rows are needed: the model is fitted again at each
    step, and the columns of the least squared `coef_` or `feature_importances_`, summed over levels, leave, as in
    scikit-learn's RFE. The selector then is a classifier or a regressor as its model is: it predicts and scores with it.

    Parameters
    ----------
    k : int, "cv" or None
        Columns to keep; `"cv"`: as many as predict left-out rows best, the whole elimination repeated in each fold. None with
        `estimator`: half of them.
    alpha : float, optional
        Stop where every column's p-value, times the number of columns it was chosen from, those that left and itself, is at
        most this. 0.05 where k is None too.
    rule : {"best", "1se"}
        For `"cv"`: the best score, or the fewest columns within one standard error of it.
    estimator : scikit-learn model, optional
        With `coef_` or `feature_importances_`. Categories are given to it as one column per level, missing numbers as means.
    step : int or float
        For `estimator`: columns to leave out at a time, or their share of all.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Loss less twice chance: of those that stay as they stand, of the others as they left. With `estimator`: importance.
    ranking_ : array of int
        1 for those that stay, then the later they left the smaller, as in RFE.
    p_values_ : array
    path_ : table
        In the order of leaving: step, column, gain (what was lost), score, p_value, corrected, r2 (before), and the
        held-out score without it.
    n_selected_cv_ : array
        For `"cv"`: held-out score of the models of 0, 1, 2... columns beyond the included.
    estimator_ : model
        Only where `estimator` is given: fitted to the columns that stay.
    classes_ : array
        Only where `estimator` is a classifier: its classes.

    See Also
    --------
    ForwardSelector : takes columns in instead.
    LassoSelector : a path of penalties instead of steps.

    References
    ----------
    .. [1] Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using support
       vector machines. Machine Learning 46.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 6))
    >>> gm.RecursiveEliminator(2).fit(X, 2 * X[:, 4] - X[:, 1] + rng.standard_normal(300)).get_support(indices=True)
    array([1, 4])
    """

    k: int | str | None = None
    _: KW_ONLY
    alpha: float | None = None
    rule: str = "best"
    estimator: Any = parameter(None, _MODEL)
    step: float = parameter(
        1, whole(words="a whole number of columns"), number(above=0, below=1, words="a share of them")
    )
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    def _check_together(self) -> None:
        super()._check_together()
        if self.estimator is not None and (self.alpha is not None or isinstance(self.k, str)):
            raise DataError(
                Argument("estimator"), " is stopped by k alone, a number of columns; leave alpha and 'cv' out"
            )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, files or moments; with `estimator` to rows in memory.

        Parameters and result are those of the other selectors.
        """
        if self.estimator is not None and isinstance(X, Moments):
            raise DataError(
                Argument("estimator"), " is fitted to rows, and Moments have none; pass rows, or leave estimator out"
            )
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._learn(X, y, sample_weight)
        if self.estimator is not None:
            count = len(self._sources)
            k = max(count // 2, 1) if self.k is None else int(self.k)
            self._eliminate(X, y, sample_weight, k, self._included())

    def _eliminate(self, X: Any, y: Any, sample_weight: Any, k: int, include: list[int]) -> None:
        """Fit the model again and again, each time without the columns of the smallest coefficients, until k are left."""
        if is_path(X):
            raise DataError(
                Argument("estimator"), " is fitted to rows in memory; read the files first, or leave estimator out"
            )
        design = self.design_
        matrix, owner = design_matrix(design, open_rows(self, X, design))
        target = target_beside(X, y)
        model, origins = self.estimator, design.origins
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
        at_once = int(max(1, self.step * len(origins))) if 0 < self.step < 1 else int(self.step)
        round_ = 0
        while True:
            chosen = inside[owner]
            fitted = clone(model).fit(matrix[:, chosen], target, **options)
            strength = np.bincount(owner[chosen], np.square(importances(fitted)), len(origins))
            importance[inside] = strength[inside]
            free = [j for j in np.flatnonzero(inside) if j not in include]
            leave = min(at_once, int(inside.sum()) - k, len(free))
            if leave <= 0:
                if hasattr(fitted, "inference") and not inside.all():
                    fitted._selected_by = type(self).__name__
                self.estimator_ = fitted
                self._note(Chosen(ranking == 1, importance, path=path, more=_ranked(ranking)))
                return
            round_ += 1
            gone = np.array(free)[np.argsort(strength[free], kind="stable")[:leave]]
            inside[gone] = False
            ranking[~inside] += 1
            path["step"] += [round_] * leave
            path["column"] += [origins[j] for j in gone]
            path["importance"] += [float(strength[j]) for j in gone]

    def _model_rows(self, X: Any) -> Array:
        """Return rows as `estimator_` was given them: one column per number and level of the columns that stay."""
        check_is_fitted(self)
        design = self.design_
        matrix, owner = design_matrix(design, open_rows(self, X, design))
        # Identifiers are not in the design.
        stays = np.array([self.support_[self._columns_in.index(name)] for name in design.origins])
        return matrix[:, stays[owner]]

    def _of_model(self, method: str, X: Any) -> Any:
        rows = self._model_rows(X)
        return getattr(self.estimator_, method)(rows)

    @available_if(_model_has("predict"))
    def predict(self, X: Any) -> Any:
        """Return what `estimator_` predicts from the columns that stay."""
        return self._of_model("predict", X)

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities of `estimator_`."""
        return self._of_model("predict_proba", X)

    @available_if(_model_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the class probabilities of `estimator_`."""
        return self._of_model("predict_log_proba", X)

    @available_if(_model_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of `estimator_`."""
        return self._of_model("decision_function", X)

    @available_if(_model_has("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of `estimator_` on the columns that stay.

        Parameters
        ----------
        X : rows in memory
        y : array, str or tuple of str
            Values, or names of columns of X.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        """
        rows = self._model_rows(X)
        options = {} if sample_weight is None else {"sample_weight": row_weights(sample_weight, len(rows), X)}
        return float(self.estimator_.score(rows, target_beside(X, y), **options))

    @property
    def classes_(self) -> Any:
        """Classes that `estimator_` tells apart."""
        if self.estimator is None:
            raise AttributeError("'RecursiveEliminator' object has no attribute 'classes_'")
        return self.estimator_.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            own = get_tags(self.estimator)
            tags.estimator_type = own.estimator_type
            tags.classifier_tags, tags.regressor_tags = deepcopy(own.classifier_tags), deepcopy(own.regressor_tags)
            for each in (tags.classifier_tags, tags.regressor_tags):
                if each is not None:
                    # It sees fewer columns.
                    each.poor_score = True
        return tags

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows to what was seen; not with `estimator`, which needs all of them at once."""
        check_parameters(self)
        if self.estimator is not None:
            raise DataError(Argument("estimator"), " is fitted to all rows at once; call fit, or leave estimator out")
        return super().partial_fit(X, y, sample_weight)

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        count = len(self._sources)
        if self.estimator is not None:
            # The model decides, once it has seen the rows.
            return Chosen(np.ones(count, dtype=bool), np.zeros(count))
        problem = self._problem(moments)
        curve, keep = None, 0 if self.k is None or isinstance(self.k, str) else self.k
        if isinstance(self.k, str):
            # Models of fewest columns first, as forward selection has them.
            models = partial(backward, include=include, with_coefficients=True, with_tests=False)
            curve = held_out_curve(problem, lambda train: models(train).coefficients[::-1], "k='cv'")
            keep = len(include) + curve.best(self.rule)
        path = backward(problem, include=include, keep=keep, alpha=self._alpha())
        support = np.isin(np.arange(count), [*path.left_score, *include])
        ranking = np.ones(count, dtype=np.int64)
        ranking[path.order[::-1]] = np.arange(2, len(path.order) + 2)
        sizes = count - len(include)
        told = self._told(path, curve, [sizes - k - 1 for k in range(len(path.order))])
        return replace(told, support=support, more=_ranked(ranking))


def importances(model: Any) -> Array:
    """Return one number per column of the matrix: the root of the summed squares of its coefficients, or its importance."""
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
    spans = [design.spans[column.name] for column in design.columns]
    owners = [design.origins.index(column.origin) for column in design.columns]
    return np.concatenate(parts), np.repeat(owners, [span.stop - span.start for span in spans])


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
