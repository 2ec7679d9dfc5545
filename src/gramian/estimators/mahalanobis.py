"""`MahalanobisFeatures`: the few dense features that carry all linear information about a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gramian.errors import DataError
from gramian.estimators.base import FOLDS, ProjectionTransformer
from gramian.estimators.cross_fitting import features_by_fold, fold_projections, folds_of_splitter, take_rows
from gramian.estimators.inputs import is_path, open_rows
from gramian.estimators.target_columns import derived_targets, target_outputs
from gramian.linear.ascent import AscentOptions, AscentState, ascend, initial_state, one_epoch
from gramian.linear.ascent_rows import carried_over, design_rows, influence_rows, target_columns
from gramian.linear.influence import aim_of
from gramian.linear.mahalanobis import STRUCTURES, MahalanobisSolution, class_labels, mahalanobis
from gramian.maps.design import Design
from gramian.moments.value import Moments, merge

Array = npt.NDArray[np.float64]


class MahalanobisFeatures(ProjectionTransformer):
    """Dense features from categories and numbers that follow a target best, from moments.

    The generalised Mahalanobis distance of the features, n R^2 of the regression of the target on them, is maximised in
    closed form: one column for a number, one less than its classes for a category. `fit_transform` is cross-fitted, so no
    row's own target reaches its own features, with one exception: with `structure="columns"` a number's slope is that of
    the full fit. `fit(X, y).transform(X)` is not cross-fitted.

    Parameters
    ----------
    n_components : int, optional
        Features to keep. By default as many as the target has independent influence functions ("canonical"), or as reach
        99.9% of the largest statistic ("krylov"); "columns" has one a source column (and class) and takes no number.
    structure : {"canonical", "columns", "krylov"}
        The best directions overall; one jointly fitted feature per source column, in units of the target; or the
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
        Of `fit_transform`, and of the ridge where rows are given. A splitter's test sets must hold each row once.
    target_type : {"auto", "continuous", "binary", "multiclass"}
        By default text, booleans and integers of at most 20 distinct values are classes, other numbers continuous.
    sgd_options : dict, optional
        For `solver="sgd"`: fields of `gramian.linear.ascent.AscentOptions`, among them `gradient="exact"` or `"printed"`,
        `learning_rate`, `batch_size`, `max_epochs`, `tol`, `random_state`.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    components_ : (k, p) array
        Weights over `design_names_`: features are `(x - mean_) @ components_.T`. For "canonical" and "krylov" they are
        uncorrelated and of unit variance.
    statistic_ : float
        n times the sum of squared canonical correlations of features and influence functions, n R^2 for a number, at
        ridge 0 over all columns: the largest Mahalanobis distance there is.
    p_value_ : float
        Of the independence of features and target (chi-squared, Strasser and Weber).
    r2_, r2_cv_ : float
        In-sample and cross-validated R^2 of the implied regression at `ridge_`, of the Brier kind for classes; NaN where
        there are no folds.
    ridge_ : float
    selection_ : dict of arrays
        The curve behind `ridge_`.
    component_r2_ : (k,) array
        R^2 of each feature, summed over the canonical directions of the target; empty for "columns".
    component_tests_ : dict of arrays
        For each canonical direction at ridge 0: `statistic`, `df` and `p_value` of the test that it and all later ones are
        nothing.
    classes_ : array
        Where a single target is read as classes.
    history_ : dict of arrays
        For `solver="sgd"`: mean distance and R^2 over the batches of each epoch, and the norm of the weights.

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

    _takes_target = True
    _needs_target = True
    _derived = False

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
    def _sgd_options(self) -> dict[str, Any]:
        return dict(self.sgd_options or {})

    def _check_parameters(self) -> None:
        if self._structure not in STRUCTURES:
            raise DataError(f"structure is one of {', '.join(map(repr, STRUCTURES))}; got {self._structure!r}")
        if self._solver not in ("exact", "sgd"):
            raise DataError(f"solver is 'exact' or 'sgd'; got {self._solver!r}")
        r: Any = self.ridge
        number = isinstance(r, int | float | np.number) and not isinstance(r, bool)
        if not (0 <= r < np.inf if number else r in ("auto", "cv")):
            raise DataError(f"ridge is 'auto', 'cv' or a number of rows from 0; got {r!r}")
        k = self._n_components
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise DataError(f"n_components is None or a whole number from 1; got {k!r}")
        if self._structure == "columns" and k is not None:
            raise DataError("structure='columns' has one feature per source column; leave n_components=None")
        if self._solver == "sgd" and self._structure != "canonical":
            raise DataError(f"solver='sgd' is for structure='canonical'; got {self._structure!r}")
        if isinstance(self.cv, int | np.integer) and not 2 <= self.cv <= 255:
            raise DataError(f"cv is a number of folds from 2 to 255, a splitter or None; got {self.cv!r}")
        if self._solver == "sgd":
            AscentOptions(**self._sgd_options)

    def _wants_folds(self) -> bool:
        chosen = isinstance(self.ridge, str) and self._structure != "krylov" and self._solver == "exact"
        return chosen or bool(self.__dict__.get("_cross_fitting"))

    def _n_folds(self) -> int:
        return int(self.cv) if isinstance(self.cv, int | np.integer) else FOLDS

    # Targets given as values

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        if isinstance(y, dict):
            self._derived = callable(self._influence) or self._influence != "auto"
            return y
        attached, self._derived = derived_targets(target_outputs(y), self._influence)
        return attached

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
        sample_weight : array or str, optional
            One weight a row, or the name of a column.
        """
        self._refuse_weights(sample_weight)
        super().fit(X, y, sample_weight)
        if self._solver == "sgd":
            self._ascend(X, y, None, whole=True)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows; with `solver="sgd"` one epoch of the ascent over them.

        Parameters and result are those of `fit`. Slices and ranks are of all rows, which no batch knows: derive them before.
        """
        if not isinstance(y, str | tuple) and isinstance(self._influence, str) and self._influence != "auto":
            raise DataError(
                f"influence={self._influence!r} needs all of y at once; pass its {self._influence} as y instead"
            )
        self._refuse_weights(sample_weight)
        before = None
        if "n_steps_" in self.__dict__:
            history = {name: list(map(float, past)) for name, past in self.history_.items()}
            before = (self.projection_.design, AscentState(self.components_.T, self.n_steps_, history))
        super().partial_fit(X, y, sample_weight)
        if self._solver == "sgd":
            self._finish()
            self._ascend(X, y, before, whole=False)
        return self

    def _refuse_weights(self, sample_weight: Any) -> None:
        if self._solver == "sgd" and sample_weight is not None:
            raise DataError("solver='sgd' takes every row alike; use solver='exact' with sample_weight")

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, more: bool = False) -> Moments:
        # Only values can be turned into slices, ranks or functions before they are collected.
        self._derived = False
        return super()._gather(X, y, sample_weight, more=more)

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        if self._solver == "sgd":
            raise DataError("solver='sgd' reads rows, and Moments have none; pass rows, or use solver='exact'")
        return super()._gather_moments(moments, y, sample_weight)

    def _solve(self) -> None:
        self._describe(self._solution())

    def _solution(self) -> MahalanobisSolution:
        influence, target_type = self._functions()
        ascent = self._solver == "sgd"
        return mahalanobis(
            self.moments_,
            self._features,
            self._targets,
            n_components=None if ascent else self._n_components,
            structure=self._structure,
            ridge=0.0 if ascent else self.ridge,
            influence=influence,
            target_type=target_type,
        )

    def _describe(self, found: MahalanobisSolution) -> None:
        test = found.test
        self.mean_ = found.mean
        self.ridge_ = found.ridge
        self.selection_ = found.selection
        self.statistic_ = float(test.n * np.square(test.correlations).sum())
        self.p_value_ = test.p_value
        self.r2_ = found.r2
        self.r2_cv_ = found.r2_cv
        self.component_r2_ = found.component_r2
        self.component_tests_ = {
            "statistic": test.component_statistics,
            "df": test.component_df,
            "p_value": test.component_p_values,
        }
        self._names = found.names
        labels = class_labels(found.aim)
        if labels is not None and not self._derived:
            self.classes_ = np.asarray(labels)
        self._set_weights(found.weights, found.inverse)

    def _set_weights(self, weights: Array, inverse: Array | None) -> None:
        self.components_ = weights.T
        self.n_components_ = weights.shape[1]
        self.projection_ = self._project(weights, inverse)

    def _ascend(self, X: Any, y: Any, before: tuple[Design, AscentState] | None, *, whole: bool) -> None:
        """Replace the weights by those of the mini-batch ascent over some rows."""
        options = AscentOptions(**self._sgd_options)
        influence, target_type = self._functions()
        aim = aim_of(self.moments_, self._targets, influence=influence, target_type=target_type).one_per_class()
        design = self.projection_.design
        variance = np.diagonal(self.moments_.covariance(self._features, ddof=0))
        scale = np.where(
            np.isin(np.arange(len(variance)), design.number_places) & (variance > 0), np.sqrt(variance), 1.0
        )
        features = design_rows(design, design.rows(open_rows(self, X, design.origins)), scale)
        named = isinstance(y, str | tuple)
        values = target_columns(X, self._targets) if named else list(self._attached_targets(y).values())
        functions = influence_rows(aim, values)
        if before is None:
            state = initial_state(len(variance), self._n_components or 1, options)
        else:
            state = carried_over(*before, design, scale)
        state = ascend(state, features, functions, options) if whole else one_epoch(state, features, functions, options)
        self.history_ = {name: np.array(past) for name, past in state.history.items()}
        self.n_steps_ = state.steps
        self.component_r2_ = np.empty(0)
        self._set_weights(state.weights / scale[:, None], None)

    # Cross-fitting

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit, then return cross-fitted features of the same rows.

        Each row's features come from coefficients of the other folds' rows alone, in the rotation of the full fit.

        Parameters
        ----------
        X : rows in memory
        y : array, str or tuple of str
        sample_weight : array or str, optional
        **params : dict
            `groups`, for a splitter that takes them.
        """
        if isinstance(X, Moments):
            raise DataError("fit_transform needs rows, and Moments have none; call fit, then transform rows")
        if is_path(X):
            raise DataError("fit_transform takes rows in memory; for files call fit, then gramian.transform_file")
        if hasattr(X, "__next__"):
            raise DataError("fit_transform reads X twice, and an iterator gives its batches once; pass a list of them")
        groups = params.pop("groups", None)
        if params:
            raise TypeError(f"fit_transform() takes groups= beside X, y and sample_weight; got {sorted(params)[0]!r}")
        if self.cv is None or self._solver == "sgd":
            return self.fit(X, y, sample_weight).transform(X)
        self._check_parameters()
        self._forget()
        self._cross_fitting = True
        try:
            if isinstance(self.cv, int | np.integer):
                self.moments_ = self._gather(X, y, sample_weight)
                fold_of = None
            else:
                weights = (
                    sample_weight
                    if sample_weight is None or isinstance(sample_weight, str)
                    else np.asarray(sample_weight)
                )
                self.moments_, fold_of = self._gather_split(X, y, weights, groups)
        finally:
            del self._cross_fitting
        self.design_names_ = self.moments_.design_names_of(self._features)
        found = self._solution()
        self._describe(found)
        projections = fold_projections(found, self.moments_, self._features)
        rows = self.projection_.design.rows(open_rows(self, X, self.projection_.design.origins))
        return features_by_fold(rows, projections, fold_of, self._n_folds())

    def _gather_split(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Moments, npt.NDArray[np.intp]]:
        """Return moments whose folds are the test sets of a splitter, and the fold of each row."""
        named = isinstance(y, str | tuple)
        fold_of = folds_of_splitter(self.cv, X, None if named else y, groups)
        attached = y if named else self._attached_targets(y)
        by_name = sample_weight is None or isinstance(sample_weight, str)
        parts: list[Moments] = []
        for k in range(int(fold_of.max()) + 1):
            rows = np.flatnonzero(fold_of == k)
            own = attached if named else {name: values.take(rows) for name, values in attached.items()}
            weight = sample_weight if by_name else np.asarray(sample_weight)[rows]
            part = self._gather(take_rows(X, rows), own, weight, more=k > 0)
            parts.append(replace(part, folds=()))
        return replace(merge(parts), folds=tuple(parts)), fold_of

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

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: `sample_weight` to fit, and what a splitter asks for (`groups`) to it."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit_transform", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # fit_transform is cross-fitted, so it is not fit().transform(): that is the point of it.
        tags.non_deterministic = True
        return tags
