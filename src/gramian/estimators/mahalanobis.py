"""`MahalanobisFeatures`: the few dense features that carry all linear information about a target; `JointTargetEncoder`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gramian.arrays.types import Array, exact_array
from gramian.design.schema import number_values, offset_for
from gramian.engines.collect import note_left_out
from gramian.errors import Argument, DataError, shown, type_words
from gramian.estimators.column_importance import ColumnImportance
from gramian.estimators.cross_fitting import SPLITTER, features_by_fold, fold_projections, folds_of_splitter, take_rows
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.estimator import Tags, refuse_rowless
from gramian.estimators.spine.fields import Fields, Optional, array, classes, size, table, texts
from gramian.estimators.spine.inputs import columns_in, open_rows
from gramian.estimators.spine.moments_estimator import FOLDS, ProjectionTransformer
from gramian.estimators.spine.training import row_weights, single_weight, target_outputs
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
from gramian.moments.algebra.folds import Folds, folds_of, has_folds
from gramian.moments.value import Moments, merge
from gramian.online.ascent import AscentOptions, AscentState, Before, ascent_scale, climb, target_columns
from gramian.parameters import OPTIONS, RIDGE, check_parameters, parameter, whole
from gramian.tables.base import home_of


@dataclass(eq=False, repr=False)
class MahalanobisFeatures(Plots, ColumnImportance, ProjectionTransformer):
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

    n_components: int | None = parameter(None, whole())
    _: KW_ONLY
    structure: str = parameter("canonical", *STRUCTURES)
    ridge: float | str = parameter("auto", *RIDGE)
    influence: Any = parameter("auto", *INFLUENCES)
    solver: str = parameter("exact", "sgd")
    cv: Any = parameter(5, None, whole(2, 255, words="a number of folds"), SPLITTER)
    target_type: str = parameter("auto", *TYPES)
    sgd_options: Mapping[str, Any] | None = parameter(None, OPTIONS)
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("importance", "loadings")
    _fields: ClassVar[Fields] = {
        "_derived": bool,
        "ridge_ statistic_ p_value_ r2_ r2_cv_": float,
        "selection_": table(),
        "component_tests_": table("statistic", "df", "p_value"),
        "p_value_moments_": {"exact", "estimated", "chi-squared"},
        "component_r2_": array(None),
        "_names": lambda model: texts("k" if model.structure == "columns" else 0),
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
    # fit_transform is cross-fitted, so it is not fit().transform(): that is the point of it.
    _tags: ClassVar[Tags] = {"non_deterministic": True}

    @property
    def _n_components(self) -> int | None:
        # A subclass may have no such parameter, and then reads none, whatever is set: scikit-learn's checks set it.
        return self.n_components

    @property
    def _inverts(self) -> bool:  # type: ignore[override]
        return self.solver == "exact"

    def _check_together(self) -> None:
        if self.structure == "columns" and self._n_components is not None:
            raise DataError(
                Argument("structure", "columns"),
                " has one feature per source column; leave ",
                Argument("n_components"),
                " out",
            )
        if self.solver == "sgd" and self.structure != "canonical":
            raise DataError(
                Argument("solver", "sgd"),
                " is for ",
                Argument("structure", "canonical"),
                f"; got {shown(self.structure)}",
            )
        if self.solver == "sgd":
            AscentOptions(**(self.sgd_options or {}))

    def _wants_folds(self) -> bool:
        chosen = isinstance(self.ridge, str) and self.solver == "exact"
        return chosen or bool(self.__dict__.get("_cross_fitting"))

    def _n_folds(self) -> int:
        return int(self.cv) if isinstance(self.cv, int | np.integer) else FOLDS

    # Targets given as values

    def _target_values(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return target values by the column they are collected under, functions of them where those are asked for."""
        if isinstance(y, dict) and not all(isinstance(values, pa.Array) for values in y.values()):
            raise DataError("y is one value per row, or names of columns; got a dict")
        if y is None or isinstance(y, str | tuple | dict):
            return y
        outputs = target_outputs(y)
        if isinstance(self.influence, str) and self.influence == "auto":
            return outputs
        n_rows = len(next(iter(outputs.values())))
        return derived_targets(outputs, self.influence, row_weights(sample_weight, n_rows, X))

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        return dict(y)

    def _class_targets(self, attached: list[str]) -> list[str]:
        sliced = self._derived and isinstance(self.influence, str) and self.influence == "slices"
        return attached if sliced else super()._class_targets(attached)

    def _functions(self) -> tuple[Any, str]:
        """Return what `influence` and `target_type` say of the targets as they were collected."""
        if not self._derived:
            return self.influence, self.target_type
        sliced = isinstance(self.influence, str) and self.influence == "slices"
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
        if self.solver == "sgd":
            self._ascend(X, y, sample_weight, None, whole=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows; with `solver="sgd"` one epoch of the ascent over them.

        Parameters and result are those of `fit`. Slices and ranks are of all rows, which no batch knows: derive them before.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not isinstance(y, str | tuple) and isinstance(self.influence, str) and self.influence != "auto":
            raise DataError(
                Argument("influence", self.influence),
                f" needs all of y at once; pass its {self.influence} as y instead",
            )
        before = None
        if "n_steps_" in self.__dict__:
            history = {name: list(map(float, past)) for name, past in self.history_.items()}
            before = (self.projection_.design, AscentState(self.components_.T, self.n_steps_, history))
        super()._learn_more(X, y, sample_weight)
        if self.solver == "sgd":
            self._finish()
            self._ascend(X, y, sample_weight, before, whole=False)

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        # Only values can be turned into slices, ranks or functions before they are collected.
        values = y if isinstance(X, Moments) or home_of(y) is not None else self._target_values(X, y, sample_weight)
        self._derived = isinstance(values, dict) and (callable(self.influence) or self.influence != "auto")
        return super()._gather(X, values, sample_weight, like=like)

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        if self.solver == "sgd":
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
        ascent = self.solver == "sgd"
        return mahalanobis(
            self._moments,
            self._features,
            self._targets,
            n_components=None if ascent else self._n_components,
            structure=self.structure,
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
            AscentOptions(**(self.sgd_options or {})),
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

    # Cross-fitting

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit, then return cross-fitted features of the same rows.

        Each row's features come from coefficients of the other folds' rows alone. With `structure="columns"` these are the
        features, but for numbers and categories of no more levels than classes, which need no encoding; otherwise, and for
        these, they are turned by the rotation of the full fit, so that features mean the same in every fold.

        Parameters
        ----------
        X : rows in memory
        y : array, str or tuple of str
        sample_weight : array or str, optional
        **params : dict
            `groups`, for a splitter that takes them.
        """
        check_parameters(self)
        refuse_rowless(self, X)
        if hasattr(X, "__next__"):
            raise DataError("fit_transform reads X twice, and an iterator gives its batches once; pass a list of them")
        groups = params.pop("groups", None)
        if params:
            raise TypeError(
                f"fit_transform() takes groups= beside X, y and sample_weight; got {shown(sorted(params)[0])}"
            )
        if self.cv is None or self.solver != "exact":
            return self.fit(X, y, sample_weight).transform(X)
        return self._fit_by(lambda copy: copy._learn_across(X, y, sample_weight, groups), called="fit_transform")

    def _learn_across(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Array:
        """Learn from all rows, and return the features of each from what the other folds give."""
        self._cross_fitting = True
        try:
            if isinstance(self.cv, int | np.integer):
                self.moments_ = self._gather(X, y, sample_weight)
                fold_of = None
            else:
                self.moments_, fold_of = self._gather_split(X, y, sample_weight, groups)
        finally:
            del self._cross_fitting
        note_left_out(self.moments_)
        if not has_folds(self.moments_):
            raise DataError(
                "cross-fitted features come from the rows of other folds, and n_samples = "
                f"{self.moments_.n_rows} leaves fewer than 2 outside a fold; give more rows or folds, or ",
                Argument("cv", None),
                " for plain features",
            )
        self._set_aside()
        self.design_names_ = self._moments.design_names_of(self._features)
        solution = self._solution()
        self._describe(solution)
        folds = folds_of(solution.aim.read(self._moments))
        if solution.names:
            self._leave_out(solution, folds)
        projections = fold_projections(solution, folds, self._features)
        rows = self.projection_.design.rows(open_rows(self, X, self.projection_.design))
        return features_by_fold(rows, projections, fold_of, self._n_folds())

    def _leave_out(self, solution: MahalanobisSolution, folds: Folds) -> None:
        """Set the weights of encoded columns to zero of whose levels no two are met in several folds."""
        design, weights, inverse = self.projection_.design, solution.weights.copy(), solution.inverse
        for column, is_whole in zip(design.columns, solution.whole, strict=True):
            if not is_whole and folds.shown(column.name).sum() < 2:
                weights[design.spans[column.name]] = 0.0
        gone = np.flatnonzero(np.abs(weights).max(axis=0) == 0)
        if len(gone):
            if inverse is not None:
                inverse = inverse.copy()
                inverse[gone] = 0.0
            self._set_weights(weights, inverse)

    def _gather_split(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Moments, npt.NDArray[np.intp]]:
        """Return moments whose folds are the test sets of a splitter, and the fold of each row."""
        named = isinstance(y, str | tuple)
        fold_of = folds_of_splitter(self.cv, X, None if named else y, groups)
        attached = self._target_values(X, y, sample_weight)
        by_name = sample_weight is None or isinstance(sample_weight, str) or single_weight(sample_weight) is not None
        parts: list[Moments] = []
        for k in range(int(fold_of.max()) + 1):
            rows = np.flatnonzero(fold_of == k)
            own = attached if named else {name: values.take(rows) for name, values in attached.items()}
            weight = sample_weight if by_name else np.asarray(sample_weight)[rows]
            part = self._gather(take_rows(X, rows), own, weight, like=parts[0] if parts else None)
            parts.append(replace(part, folds=()))
        return replace(merge(parts), folds=tuple(parts)), fold_of

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: `sample_weight` to fit, and what a splitter asks for (`groups`) to it."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit_transform", callee="split"))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray:
        """Return the names of the features: source columns (and classes) for "columns", numbered ones otherwise."""
        check_is_fitted(self)
        if self.structure != "columns":
            return np.asarray(super().get_feature_names_out(input_features))
        given = _check_feature_names_in(self, input_features)
        # Columns set aside are among those that are read, and have no feature.
        columns = columns_in(self, self.projection_.design)
        renamed = {old: str(new) for old, new in zip(columns, given, strict=True) if old != new}
        if not renamed:
            return np.array(self._names, dtype=object)
        suffixes = [
            name.removeprefix(self._features[0]) for name in self._names[: len(self._names) // len(self._features)]
        ]
        sources = [renamed.get(name, name) for name in self._features]
        return np.array([f"{source}{suffix}" for source in sources for suffix in suffixes], dtype=object)


@dataclass(eq=False, repr=False)
class JointTargetEncoder(MahalanobisFeatures):
    """One number per column (and class), fitted over all columns at once, in the place of scikit-learn's TargetEncoder.

    A target encoder gives each level its own mean of the target, so two columns that say the same are counted twice. Here the
    numbers are the coefficients of one ridge regression on all levels of all columns: what a level adds to the prediction,
    given the others, in units of the target and zero on average. It is `MahalanobisFeatures(structure="columns")` under the
    name people look for.

    Numbers, and categories of no more levels than the target has classes (of two levels, where it is a number), need no
    encoding: their features are the column itself, turned by what it adds, in `fit_transform` as in `transform`. Other
    columns are cross-fitted.

    Parameters
    ----------
    ridge : "auto", "cv" or float
        Counted in rows: a level of n rows shrinks by n / (n + ridge); chosen by cross-validation.
    cv : int, splitter or None
        Of `fit_transform`, which is cross-fitted.
    target_type : {"auto", "continuous", "binary", "multiclass"}
        By default text, booleans and integers of at most 20 distinct values are classes, other numbers continuous.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories; others enter as numbers.

    Attributes
    ----------
    components_ : (k, p) array
        Weights over `design_names_`: features are `(x - mean_) @ components_.T`.
    statistic_ : float
        n R^2 of the regression on all columns at ridge 0: the largest Mahalanobis distance there is.
    p_value_ : float
        Of the independence of features and target.
    p_value_moments_ : {"exact", "estimated", "chi-squared"}
        How the law of the p-value is known.
    r2_, r2_cv_ : float
        In-sample and cross-validated R^2, of the Brier kind for classes; `r2_cv_` is NaN where there are no folds.
    ridge_ : float
        The ridge used.
    selection_ : dict of arrays
        Held-out R^2 and its standard error for each ridge tried.
    component_r2_ : (0,) array
        Empty: features are per column here, not per direction.
    component_tests_ : dict of arrays
        For each canonical direction at ridge 0: `statistic`, `df` and `p_value`.
    n_components_ : int
        Number of features.
    mean_ : (p,) array
        Where features are zero.
    classes_ : array
        Only where a single target is read as classes.
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

    Notes
    -----
    It takes the place of `sklearn.preprocessing.TargetEncoder` in a pipeline, with as many features under the same names. The
    values differ:

    - They are centred: 0 is the mean of the target, not the mean itself. An unseen level is 0. Of one column without shrinkage
      (`ridge=0`, `smooth=0`) they are scikit-learn's less that mean.
    - They are fitted jointly: what a level adds, given the other columns. scikit-learn encodes each column by itself.
    - A level of n rows shrinks by n / (n + ridge), one ridge for all columns; `smooth="auto"` shrinks each level by its
      variance.
    - Only categories are encoded, by `categorical_features`; scikit-learn takes every column for one. `"all"` does the same
      here.
    - `fit_transform` does not cross-fit numbers, nor categories of no more levels than the target has classes (of two levels,
      where it is a number): their values are those of `transform`. scikit-learn cross-fits every column.
    - Folds are drawn by position and the same in every run; scikit-learn shuffles, and stratifies classes.

    See Also
    --------
    MahalanobisFeatures : fewer features than columns.
    sklearn.preprocessing.TargetEncoder : each column by itself.

    References
    ----------
    .. [1] Mahalanobis Feature Extraction (MFE): mathematical formulation, of which this is the block-diagonal case.
    .. [2] Micci-Barreca, D. (2001). A preprocessing scheme for high-cardinality categorical attributes in classification and
       prediction problems. ACM SIGKDD Explorations 3(1).

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"color": ["red", "blue"] * 50, "shape": ["box", "box", "disc", "disc"] * 25})
    >>> encoder = gm.JointTargetEncoder(ridge=0.0).fit(frame, [1.0, 3.0, 2.0, 4.0] * 25)
    >>> encoder.transform(frame[:2])
    array([[-1. , -0.5],
           [ 1. , -0.5]])
    """

    # Parameters of the general form that are fixed here.
    n_components: int | None = field(default=None, init=False)
    structure: str = field(default="columns", init=False)
    influence: Any = field(default="auto", init=False)
    solver: str = field(default="exact", init=False)
    sgd_options: Mapping[str, Any] | None = field(default=None, init=False)
    _n_components = None


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
            raise DataError(
                Argument("influence", influence), f" is for a continuous target; y holds {type_words(values.type)}"
            )
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
