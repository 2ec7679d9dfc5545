"""`MahalanobisFeatures`: the few dense features that carry all linear information about a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gramian.arrays.types import Array, exact_array
from gramian.design.schema import number_values, offset_for
from gramian.errors import Argument, DataError, shown
from gramian.estimators.cross_fitting import CrossFitted
from gramian.estimators.spine.fields import Fields, Optional, array, classes, size, table, texts
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.training import row_weights, target_outputs
from gramian.linear.mahalanobis import STRUCTURES, MahalanobisSolution, class_labels, mahalanobis, worth_of
from gramian.linear.regression.targets import (
    INFLUENCES,
    TYPES,
    Influence,
    aim_of,
    checked_functions,
    mid_ranks,
    slices_of,
)
from gramian.moments.value import Moments
from gramian.online.ascent import AscentOptions, AscentState, Before, ascent_scale, climb, target_columns
from gramian.parameters import OPTIONS, RIDGE, declared, whole
from gramian.tables.base import home_of


class MahalanobisFeatures(CrossFitted):
    """Dense features from categories and numbers that follow a target best, from moments.

    The generalised Mahalanobis distance of the features, n R^2 of the regression of the target on them, is maximised in
    closed form: one column for a number, one less than its classes for a category.

    `fit_transform` is cross-fitted: no row's own target reaches its own features, which come from the coefficients of the
    other folds' rows. For "columns" these are the features. For "canonical" and "krylov" the full fit's rotation, a matrix no
    larger than the number of functions or directions, is applied to every row's alike, so that features mean the same in
    every fold, and so it is for columns that need no encoding ("columns"): numbers, and categories of no more levels than
    classes, whose features span the whole column. One ridge is chosen for all.
    `fit(X, y).transform(X)` is not cross-fitted.

    Parameters
    ----------
    n_components : int, optional
        Features to keep. By default as many as the target has independent influence functions ("canonical"), or as reach
        99.9% of the largest statistic ("krylov"); "columns" has one a source column (and class) and takes no number.
        Of "canonical" those beyond what the features can follow are always zero.
    structure : {"canonical", "columns", "krylov"}
        The best directions overall; one jointly fitted feature per source column (and class), in units of the target; or the
        sequence c, Sc, S^2 c, ... that climbs to the best.
    ridge : "auto", "cv" or float
        Counted in rows: a level of n rows shrinks by n / (n + ridge), and so does a number over n rows. `"cv"` chooses from
        fold moments, `"auto"` too where there are folds (rows always have) and otherwise by generalised cross-validation.
        "krylov" needs none: its number of directions takes that place.
    influence : "auto", "slices", "ranks" or callable
        What of a continuous target to follow: itself; ten slices of it; its ranks; or the columns of a function of its
        values.
    solver : {"exact", "sgd"}
        The closed form; or the source's mini-batch ascent, for comparison.
    cv : int, splitter or None
        The folds of `fit_transform`, and of the ridge that it chooses. The test sets of a splitter must hold each row once.
        `fit` chooses its ridge by as many folds as a number says, and by five where `cv` is a splitter.
    target_type : {"auto", "continuous", "binary", "multiclass"}
        By default text, booleans and integers of at most 20 distinct values are classes, other numbers continuous.
    sgd_options : dict, optional
        For `solver="sgd"`: fields of `gramian.online.ascent.AscentOptions`, among them `gradient="exact"` or `"printed"`,
        `learning_rate`, `batch_size`, `max_epochs`, `tol`, `random_state`.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    components_ : (k, p) array
        Weights over `design_names_`: features are `(x - mean_) @ components_.T`. For "canonical" and "krylov" they are
        uncorrelated and of unit variance, `components_ @ covariance @ components_.T = I` with `ddof=0`.
    statistic_ : float
        n times the sum of squared canonical correlations of features and influence functions, n R^2 for a number, at
        ridge 0 over all columns: the largest Mahalanobis distance there is.
    p_value_ : float
        Of the independence of features and target: the share of all pairings of features with targets whose statistic is as
        large, by a gamma law of their mean, variance and skewness, or by random tables for one sparse category and classes.
    p_value_moments_ : {"exact", "estimated", "chi-squared"}
        Whether those moments are exact, estimates (several columns jointly), or unknown, so that chi-squared stands in.
    r2_, r2_cv_ : float
        In-sample and cross-validated R^2 of the implied regression (at `ridge_`, on as many Krylov directions, or on the
        features that the ascent ended with), of the Brier kind for classes; `r2_cv_` is NaN where there are no folds.
    ridge_ : float
    selection_ : dict of arrays
        Held-out R^2 and its standard error for each `ridge`, or for each `n_components` of "krylov"; without folds the
        generalised cross-validation behind `ridge_`.
    component_r2_ : (k,) array
        R^2 of each feature, summed over the canonical directions of the target; empty for "columns".
    component_tests_ : dict of arrays
        For each canonical direction at ridge 0: `statistic`, `df` and `p_value` (approximate, never falling) of the test that
        it and all later ones are nothing.
    n_components_ : int
        Number of features.
    mean_ : (p,) array
        Where features are zero.
    classes_ : array
        Only where a single target is read as classes.
    history_ : dict of arrays
        Only with `solver="sgd"`: mean distance and R^2 over the batches of each epoch, and the norm of the weights.
    projection_ : Projection
        From rows to features; see `loadings`.
    moments_ : Moments
        What was collected; other methods can be fitted from it without reading data again. A model file does not hold it.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    JointTargetEncoder : `structure="columns"` under the name people look for.
    FisherDiscriminant : the axes of classes, with a classifier.
    independence_test : the statistic and its p-value alone.

    References
    ----------
    .. [1] Mahalanobis Feature Extraction (MFE): mathematical formulation, the stochastic ascent of `solver="sgd"`.
    .. [2] Strasser, H. and Weber, C. (1999). On the asymptotic theory of permutation statistics. Mathematical Methods of
       Statistics 8.
    .. [3] Kazi-Aoual, F., Hitier, S., Sabatier, R. and Lebreton, J.-D. (1995). Refined approximations to permutation tests for
       multivariate inference. Computational Statistics and Data Analysis 20(6).

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"color": ["red", "blue", "green", "red"] * 50, "size": [1.0, 2.0, 3.0, 5.0] * 50})
    >>> price = [1.0, 3.0, 4.0, 6.0] * 50
    >>> model = gm.MahalanobisFeatures(ridge=0.0).fit(frame, price)
    >>> model.transform(frame).shape, round(model.statistic_, 6)
    ((200, 1), 200.0)
    >>> model.set_params(structure="columns").fit(frame, price).get_feature_names_out()
    array(['color', 'size'], dtype=object)
    """

    _fields: ClassVar[Fields] = {
        "_derived": bool,
        "ridge_ statistic_ p_value_ r2_ r2_cv_": float,
        "selection_": table(),
        "component_tests_": table("statistic", "df", "p_value"),
        "p_value_moments_": {"exact", "estimated", "chi-squared"},
        "component_r2_": array(None),
        "_names": lambda model: texts("k" if model._structure == "columns" else 0),
        "components_": array("k", "p"),
        "n_components_": size("k"),
        "classes_": Optional(classes()),
        "history_": Optional(table("distance", "r2", "norm"), "steps"),
        "n_steps_": Optional(int, "steps"),
    }

    _takes_target = True
    _needs_target = True
    _several_targets = True
    _derived = False

    _parameters = declared(
        n_components=(None, whole()),
        structure=STRUCTURES,
        ridge=RIDGE,
        influence=INFLUENCES,
        solver=("exact", "sgd"),
        target_type=TYPES,
        sgd_options=(None, OPTIONS),
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        structure: str = "canonical",
        ridge: float | str = "auto",
        influence: Any = "auto",
        solver: str = "exact",
        cv: Any = 5,
        target_type: str = "auto",
        sgd_options: Mapping[str, Any] | None = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.n_components = n_components
        self.structure = structure
        self.ridge = ridge
        self.influence = influence
        self.solver = solver
        self.cv = cv
        self.target_type = target_type
        self.sgd_options = sgd_options
        self.categorical_features = categorical_features

    # Parameters

    # A subclass that fixes some of them has no parameter to read them from.

    @property
    def _structure(self) -> str:
        return self.structure

    @property
    def _solver(self) -> str:
        return self.solver

    @property
    def _influence(self) -> Any:
        return self.influence

    @property
    def _n_components(self) -> int | None:
        return self.n_components

    @property
    def _inverts(self) -> bool:  # type: ignore[override]
        return self._solver == "exact"

    @property
    def _sgd_options(self) -> Mapping[str, Any]:
        return self.sgd_options if self.sgd_options is not None else {}

    def _check_together(self) -> None:
        if self._structure == "columns" and self._n_components is not None:
            raise DataError(
                Argument("structure", "columns"),
                " has one feature per source column; leave ",
                Argument("n_components"),
                " out",
            )
        if self._solver == "sgd" and self._structure != "canonical":
            raise DataError(
                Argument("solver", "sgd"),
                " is for ",
                Argument("structure", "canonical"),
                f"; got {shown(self._structure)}",
            )
        if self._solver == "sgd":
            AscentOptions(**self._sgd_options)

    def _wants_folds(self) -> bool:
        chosen = isinstance(self.ridge, str) and self._solver == "exact"
        return chosen or bool(self.__dict__.get("_cross_fitting"))

    def _is_cross_fitted(self) -> bool:
        return self.cv is not None and self._solver == "exact"

    # Targets given as values

    def _target_values(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return target values by the column they are collected under, functions of them where those are asked for."""
        if isinstance(y, dict) and not all(isinstance(values, pa.Array) for values in y.values()):
            raise DataError("y is values, one a row, or names of columns; got a dict")
        if y is None or isinstance(y, str | tuple | dict):
            return y
        outputs = target_outputs(y)
        if isinstance(self._influence, str) and self._influence == "auto":
            return outputs
        n_rows = len(next(iter(outputs.values())))
        return derived_targets(outputs, self._influence, row_weights(sample_weight, n_rows, X))

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        return dict(y)

    def _class_targets(self, attached: list[str]) -> list[str]:
        sliced = self._derived and isinstance(self._influence, str) and self._influence == "slices"
        return attached if sliced or self.target_type in ("binary", "multiclass") else []

    def _functions(self) -> tuple[Any, str]:
        """Return what `influence` and `target_type` say of the targets as they were collected."""
        if not self._derived:
            return self._influence, self.target_type
        sliced = isinstance(self._influence, str) and self._influence == "slices"
        return "auto", "multiclass" if sliced else "continuous"

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, files or moments.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s), iterable of batches, or Moments
            Any source of `gramian.collect`. From Moments no data is read.
        y : array, (n, t) array, str or tuple of str
            Values, or names of columns of X, which are then not features.
            Rows in which a named column is missing are left out; missing values in an array raise.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._learn(X, y, sample_weight)
        if self._solver == "sgd":
            self._ascend(X, y, sample_weight, None, whole=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows; with `solver="sgd"` one epoch of the ascent over them.

        Parameters and result are those of `fit`. Slices and ranks are of all rows, which no batch knows: derive them before.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not isinstance(y, str | tuple) and isinstance(self._influence, str) and self._influence != "auto":
            raise DataError(
                Argument("influence", self._influence),
                f" needs all of y at once; pass its {self._influence} as y instead",
            )
        before = None
        if "n_steps_" in self.__dict__:
            history = {name: list(map(float, past)) for name, past in self.history_.items()}
            before = (self.projection_.design, AscentState(self.components_.T, self.n_steps_, history))
        super()._learn_more(X, y, sample_weight)
        if self._solver == "sgd":
            self._finish()
            self._ascend(X, y, sample_weight, before, whole=False)

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        # Only values can be turned into slices, ranks or functions before they are collected.
        values = y if isinstance(X, Moments) or home_of(y) is not None else self._target_values(X, y, sample_weight)
        self._derived = isinstance(values, dict) and (callable(self._influence) or self._influence != "auto")
        return super()._gather(X, values, sample_weight, like=like)

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        if self._solver == "sgd":
            raise DataError(
                Argument("solver", "sgd"),
                " reads rows, and Moments have none; pass rows, or use ",
                Argument("solver", "exact"),
            )
        return super()._gather_moments(moments, y, sample_weight)

    def _solve(self) -> None:
        self._describe(self._solution())

    def _solution(self) -> MahalanobisSolution:
        influence, target_type = self._functions()
        ascent = self._solver == "sgd"
        return mahalanobis(
            self._moments,
            self._features,
            self._targets,
            n_components=None if ascent else self._n_components,
            structure=self._structure,
            ridge=0.0 if ascent else self.ridge,
            influence=influence,
            target_type=target_type,
        )

    def _describe(self, solution: MahalanobisSolution) -> None:
        test = solution.test
        self.ridge_ = solution.ridge
        self.selection_ = solution.selection
        self.statistic_ = float(test.n * np.square(test.correlations).sum())
        self.p_value_ = test.p_value
        self.p_value_moments_ = test.null
        self.r2_ = solution.r2
        self.r2_cv_ = solution.r2_cv
        self.component_r2_ = solution.component_r2
        self.component_tests_ = {
            "statistic": test.component_statistics,
            "df": test.component_df,
            "p_value": test.component_p_values,
        }
        self._names = solution.names
        labels = class_labels(solution.aim)
        if labels is not None and not self._derived:
            self.classes_ = exact_array(labels)
        self._set_weights(solution.weights, solution.inverse)
        self.mean_ = self.projection_.design.as_given(solution.mean)

    def _set_weights(self, weights: Array, inverse: Array | None) -> None:
        self.components_ = weights.T
        self.n_components_ = weights.shape[1]
        self.projection_ = self._project(weights, inverse)

    def _ascend(self, X: Any, y: Any, sample_weight: Any, before: Before | None, *, whole: bool) -> None:
        """Replace the weights by those of the mini-batch ascent over some rows."""
        influence, target_type = self._functions()
        design = self.projection_.design
        named = isinstance(y, str | tuple)
        targets = target_columns(X, self._targets) if named else list(self._target_values(X, y, sample_weight).values())
        weights, state = climb(
            design,
            design.rows(open_rows(self, X, design)),
            aim_of(self._moments, self._targets, influence=influence, target_type=target_type).one_per_class(),
            targets,
            row_weights(sample_weight, len(targets[0]), X),
            ascent_scale(design, np.diagonal(self.moments_.covariance(self._features, ddof=0))),
            AscentOptions(**self._sgd_options),
            n_components=self._n_components or 1,
            before=before,
            whole=whole,
        )
        self.history_ = {name: np.array(past) for name, past in state.history.items()}
        self.n_steps_ = state.steps
        self.r2_, self.component_r2_ = worth_of(
            self.moments_, self._features, self._targets, weights, influence=influence, target_type=target_type
        )
        self._set_weights(weights, None)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray:
        """Return the names of the features: source columns (and classes) for "columns", numbered ones otherwise."""
        check_is_fitted(self)
        if self._structure != "columns":
            return np.asarray(super().get_feature_names_out(input_features))
        origins = self.projection_.design.origins
        given = _check_feature_names_in(self, input_features)
        renamed = {old: str(new) for old, new in zip(origins, given, strict=True) if old != new}
        if not renamed:
            return np.array(self._names, dtype=object)
        suffixes = [
            name.removeprefix(self._features[0]) for name in self._names[: len(self._names) // len(self._features)]
        ]
        sources = [renamed.get(name, name) for name in self._features]
        return np.array([f"{source}{suffix}" for source in sources for suffix in suffixes], dtype=object)


def derived_targets(
    outputs: dict[str, pa.Array], influence: Influence, row_weights: Array | None = None
) -> dict[str, pa.Array]:
    """Return functions of target values as the columns to collect.

    Slices, ranks and callables are functions of single values, so rows allow them for any number of distinct ones.

    Parameters
    ----------
    outputs : dict
        Values of each output.
    influence : "slices", "ranks" or callable
    row_weights : (n,) array, optional
        A row of weight w ranks as w equal rows.
    """
    derived: dict[str, pa.Array] = {}
    for name, values in outputs.items():
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise DataError(Argument("influence", influence), f" is for a continuous target; y holds {values.type}")
        # Ranks and slices tell apart what float64 would round together.
        numbers = number_values(values, 0.0 if callable(influence) else offset_for([values]) or 0.0)
        if row_weights is not None and len(row_weights) != len(numbers):
            raise DataError(f"sample_weight has {len(row_weights)} values for {len(numbers)} rows")
        if callable(influence):
            functions = checked_functions(influence, numbers, name)
            many = functions.shape[1] > 1
            derived |= {f"{name}{k}" if many else name: pa.array(functions[:, k]) for k in range(functions.shape[1])}
        elif influence == "slices":
            derived[name] = pa.array(slices_of(mid_ranks(numbers, row_weights)))
        else:
            derived[name] = pa.array(mid_ranks(numbers, row_weights))
    return derived
