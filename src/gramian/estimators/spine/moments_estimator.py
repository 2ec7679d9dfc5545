"""The shared estimator from moments: fit on rows, files or Moments; add up; solve.

A concrete estimator declares its parameters and says, in `_solve`, which solver turns `moments_` into its attributes. All else
is here, in `training` (what X, y and sample_weight may be) and in `estimator` (features, their names, tags).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from gramian.arrays.types import Array
from gramian.design.schema import Column
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached, library_of, note_left_out
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly
from gramian.estimators.spine.estimator import ProjectionFeatures, SolvesLater, Tags
from gramian.estimators.spine.fields import Fields, array, projection, texts
from gramian.estimators.spine.training import (
    TARGET,
    Training,
    categorical_names,
    named_targets,
    no_target,
    note_columns,
    plain_target,
    read,
    target_outputs,
    target_values,
)
from gramian.linear.regression.targets import refuse_identifier, refuse_missing
from gramian.maps.projection import Design, Projection
from gramian.moments.advice import advise_pooling, identifiers, near_zero, only_identifiers, say_set_aside
from gramian.moments.value import Moments
from gramian.tables.base import home_of
from gramian.tables.distributed.dask import with_target

FOLDS = 5
"""Folds collected where rows are given and something is chosen by cross-validation."""


class FromMoments(SolvesLater, BaseEstimator):
    """Fits from moments: `fit` collects them (or is given them), `_solve` does the algebra.

    Attributes
    ----------
    moments_ : Moments
        What was collected; other methods can be fitted from it without reading data again. A model file does not hold it.
    n_features_in_ : int
        Source columns, those that were set aside as identifiers included.
    feature_names_in_ : array of str
        Their names, where they have some.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    design_ : Design
        What is read of a row: source columns (identifiers are not among them), their levels and means. `design_.encode`
        encodes a record batch once, for any number of methods.
    """

    _fields: ClassVar[Fields] = {
        "_columns_in": texts("q"),
        "_offered _targets _features": texts(),
        "design_names_": texts("p"),
    }

    _offered: list[str]
    """The features, and the identifiers beside them."""

    _tags: ClassVar[Tags] = {"target_tags.required": lambda model: model._needs_target}

    takes_moments = True
    _min_rows = 2
    _takes_target = False
    _needs_target = False
    _target_is_class = False
    _several_targets = False

    # What a subclass says

    def _solve(self) -> None:
        """Set the fitted attributes from `moments_`, `_features` and `_targets`."""
        raise NotImplementedError

    def _wants_folds(self) -> bool:
        """Whether a parameter asks for cross-validation."""
        return False

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, files or moments.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s), iterable of batches, or Moments
            Any source of `gramian.collect`. From Moments no data is read.
        y : array, str or tuple of str, optional
            Values, or the name of a column of X, which is then not a feature. Of a date one part is a target (`when_month`);
            methods without a target leave all of it out. Rows in which a column named as target is missing are left out, and
            the log `gramian` says how many; missing values in an array raise, as in scikit-learn.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.moments_ = self._collected(X, y, sample_weight)
        self._finish()

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        before = self.__dict__.get("moments_")
        if before is None and "_features" in self.__dict__:
            raise DataError("this model was loaded from a file, which holds no moments; fit it again to add rows")
        if before is None:
            self.moments_ = self._collected(X, y, sample_weight)
        else:
            self.moments_ = before + self._collected(X, y, sample_weight, like=before)
            self._features, _ = self._apart(self.moments_)
        self._outdated()

    def _refuse_few_rows(self) -> None:
        """Raise where there is nothing to solve; `partial_fit` may start from less."""
        moments = self.moments_
        if moments.total_weight < self._min_rows and moments.n_rows < self._min_rows:
            raise DataError(
                f"{type(self).__name__} needs at least {self._min_rows} rows; got n_samples = {moments.n_rows}"
            )

    def _finish(self) -> None:
        self._refuse_few_rows()
        self.__dict__.pop("_unsolved", None)
        self._set_aside()
        self.design_names_ = self._moments.design_names_of(self._features)
        self._solve()

    def _kept_categories(self) -> list[str]:
        """Return the source columns that the user names, so that they are features however many levels they have."""
        return categorical_names(getattr(self, "categorical_features", None), self._columns_in)

    def _apart(self, moments: Moments) -> tuple[list[str], dict[str, int]]:
        """Return the features, and the identifiers with their numbers of levels."""
        found = identifiers(moments, self._offered, self._kept_categories())
        return [name for name in self._offered if name not in found], found

    def _set_aside(self) -> None:
        """Leave identifiers out of the features, and say so."""
        self._features, found = self._apart(self.moments_)
        if not self._features:
            raise only_identifiers(found, self.moments_.n_rows)
        say_set_aside(self.moments_, found)

    def _collected(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        """Return what `_gather` does, after saying how many rows have no target."""
        moments = self._gather(X, y, sample_weight, like=like)
        return moments if isinstance(X, Moments) else note_left_out(moments)

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        """Return the moments of rows, of the columns and kinds of `like` where rows are added to it."""
        y = None if isinstance(y, tuple) and not y else y
        if y is None and self._needs_target:
            raise no_target(self)
        if self._takes_target and not self._several_targets and isinstance(y, tuple) and len(y) > 1:
            raise DataError(
                f"{type(self).__name__} takes one target; got ",
                Argument("y", y),
                ": name one",
                PythonOnly(", and ", Call("drop"), " the other columns"),
            )
        if isinstance(X, Moments):
            return self._gather_moments(X, y, sample_weight)
        training = self._opened(X, y, sample_weight, None if like is None else like.schema)
        kinds: dict[str, Any] = {}
        if like is None:
            values = [name for name in training.targets if name in training.attached or name == TARGET]
            kinds["categorical"] = [*training.categorical, *self._class_targets(values)]
            # Integers of an array are plain numbers unless they are named as categories.
            kinds["numeric"] = [] if training.named else training.integers
        options = CollectOptions(
            targets=training.targets or None,
            sample_weight=training.weight_column if training.weights is None else training.weights,
            folds=self._n_folds() if self._wants_folds() else 0,
            like=like,
            **kinds,
        )
        moments = self._pass(training, options).from_library(training.library)
        if training.every_weight not in (None, 1):
            moments = moments * training.every_weight
        # Columns that are not features are collected like any other, and left out of the features.
        aside = named_targets(tuple(training.aside), moments.schema, followed=False)
        return self._accept(moments, aside or moments.targets, named=training.named, more=like is not None)

    def _opened(self, X: Any, y: Any, sample_weight: Any, before: Iterable[Column] | None = None) -> Training:
        """Return rows to be learned from; `before` are the columns of the rows before, as in `read`."""
        beside = None
        if self._takes_target and home_of(X) == home_of(y) == "dask":
            beside = with_target(X, y, TARGET)
        if self._takes_target and beside is None and home_of(X) is not None and not isinstance(y, str | tuple | None):
            raise DataError(
                "y is given as values, which cannot be matched to rows in partitions; make it a column of the frame and pass "
                "its name"
            )
        training = read(
            self,
            X if beside is None else beside,
            y if beside is None else TARGET,
            sample_weight,
            targets=self._attached_targets if self._takes_target else None,
            parts=True,
            before=before,
        )
        return training if beside is None else replace(training, named=False, library=library_of(X))

    def _pass(self, training: Training, options: CollectOptions) -> Moments:
        """Return the moments of what is to be learned from; a method that reads it again keeps how."""
        return collect_attached(training.table, training.attached, options)

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        if sample_weight is not None:
            raise DataError(
                Argument("sample_weight"), " belongs to ", Call("collect"), ": these moments have their weights already"
            )
        advise_pooling(moments)
        positional = [c.origin for c in moments.schema] == [f"x{k}" for k in range(len(moments.schema))]
        targets = named_targets(y, moments.schema, followed=self._takes_target)
        return self._accept(moments, targets, named=not positional, more=False)

    def _accept(self, moments: Moments, targets: list[str], *, named: bool, more: bool) -> Moments:
        """Note which columns are features and targets, as scikit-learn wants it noted."""
        features = moments.schema.features_beside(targets)
        if not features:
            raise DataError("no feature columns are left beside the target")
        if more:
            if features != self._offered:
                raise ColumnError(f"partial_fit got columns {features[:5]}, and before {self._offered[:5]}")
            return moments
        self._offered, self._targets = features, targets
        origins = [origin for name in features for origin in moments.schema[name].origins]
        note_columns(self, origins, named=named, library=moments.library)
        self._features, _ = self._apart(moments)
        return moments

    def _n_folds(self) -> int:
        """How many folds to collect where a parameter asks for cross-validation."""
        return FOLDS

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        """Return the columns that target values are collected under, checked where only classes will do."""
        attached = target_outputs(y) if self._several_targets else {TARGET: target_values(plain_target(y))}
        if self._target_is_class:
            check_classification_targets(plain_target(y))
        return attached

    def _class_targets(self, attached: list[str]) -> list[str]:
        """Return those of the attached targets that are classes, whatever their type."""
        classes = self._target_is_class or getattr(self, "target_type", "auto") in ("binary", "multiclass")
        return attached if classes else []

    def _classes_of(self, target: str) -> Moments:
        """Return the moments with the target read as classes."""
        moments = self._moments
        if moments.schema[target].form == "number":
            raise ColumnError(
                f"target {target!r} was collected as a number, so its classes are not known; where its values are classes, ",
                PythonOnly("pass them as y, or "),
                "collect it with ",
                Argument("categorical", [target]),
                "; else bin it, or use a method for numbers",
            )
        moments = moments.as_categorical([target])
        refuse_missing(moments, target)
        refuse_identifier(moments, target)
        return moments

    @property
    def _moments(self) -> Moments:
        """What is solved: `moments_`, with few-row cells of crosses pooled and long integers counted from an offset."""
        return near_zero(self.moments_, self._targets)


class MomentsEstimator(FromMoments):
    """An estimator from moments alone, so that rows can be added later."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows to what was seen; the solution is computed when it is first asked for.

        Parameters and result are those of `fit`.
        """
        return self._fit_more(X, y, sample_weight)


class ProjectionTransformer(ProjectionFeatures, MomentsEstimator):
    """An estimator from moments whose features are one `Projection` of the rows.

    Attributes
    ----------
    projection_ : Projection
    """

    _fields: ClassVar[Fields] = {"projection_": projection(), "mean_": array("p")}

    def _project(self, weights: Array, inverse: Array | None = None) -> Projection:
        design = Design.of(self._moments, self._features)
        return Projection(design, np.asarray(weights), np.zeros(weights.shape[1]), inverse)
