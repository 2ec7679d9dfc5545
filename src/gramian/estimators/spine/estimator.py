"""What every estimator does around its own learning: check, learn on a copy, assign; solve later; features, names, tags.

A method that fits (`fit`, `partial_fit`) works on a copy of the estimator and assigns what the copy has learned in one step,
at the end. So a `fit` that fails leaves the estimator unfitted, and a `partial_fit` that fails leaves what was there before.
Threads that fit the same estimator wait for each other, so that no rows are lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.threads import lock_of
from gramian.errors import DataError, MemoryLimitError, UnsolvedError
from gramian.estimators.spine.fields import Fields, Optional, size, texts
from gramian.estimators.spine.inputs import all_float32, columns_in, is_path, open_rows
from gramian.estimators.spine.outputs import MapsFrames
from gramian.estimators.spine.training import plain_target
from gramian.maps.formula import Formula
from gramian.maps.projection import Design
from gramian.moments.value import Moments
from gramian.parameters import CATEGORICAL, RANDOM_STATE, check_parameters, declared
from gramian.tables.returned import table as output_table
from gramian.tables.schemas import one_line

Result = TypeVar("Result")

Tags = Mapping[str, Any]
"""Tags of scikit-learn that a class declares, `_tags = {"input_tags.sparse": True}`: values, or functions of the estimator."""


def is_public(name: str) -> bool:
    """Whether a name is one of a fitted attribute by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def assign(estimator: Any, learned: Mapping[str, Any]) -> None:
    """Set learned attributes in one step, and keep their names, so that the next `fit` forgets them.

    Examples
    --------
    >>> from gramian.estimators.pca import Whitening
    >>> model = Whitening()
    >>> assign(model, {"_features": ["a"]})
    >>> forget(model)
    >>> sorted(vars(model)) == sorted(model.get_params())
    True
    """
    names = vars(estimator).get("_learned", frozenset()) | learned.keys()
    vars(estimator).update({**learned, "_learned": names - {"_learned"}})


def forget(estimator: Any) -> None:
    """Remove every learned attribute, and none that a constructor, a subclass or the user has set."""
    for name in vars(estimator).pop("_learned", frozenset()):
        vars(estimator).pop(name, None)


def solve(estimator: Any) -> None:
    """Compute what `partial_fit` left to be computed: once, even if several threads ask for it at the same time."""
    with lock_of(estimator):
        if vars(estimator).get("_unsolved"):
            estimator._learn_on_copy(lambda copy: copy._finish(), called="partial_fit")


def seed_of(random_state: Any) -> int:
    """Return the number that random draws start from; a generator given as `random_state` moves on."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def rng_of(random_state: Any) -> np.random.Generator:
    """Return a generator of numpy's newer kind."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


class Estimator(MapsFrames):
    """An estimator whose fits succeed or leave nothing behind, one at a time.

    It stands first among the bases of a class, scikit-learn's mixins and `BaseEstimator` after it: what wraps methods for
    distributed frames has to be outside of what wraps them for `set_output`.
    """

    _fields: ClassVar[Fields] = {
        "n_features_in_": size("q"),
        "feature_names_in_": Optional(texts("q", np.ndarray)),
        "_columns_in": Optional(texts("q")),
        "_frames": Optional({None, "pandas", "polars"}),
    }

    _tags: ClassVar[Tags] = {}

    _parameters = declared(random_state=RANDOM_STATE, categorical_features=CATEGORICAL)

    _doc_link_module = "gramian"

    n_features_in_: int
    _frames: str | None = None
    """The library that tables are returned in, where fitting or a file names one."""

    # What a subclass says

    def _check_together(self) -> None:
        """Raise where parameters, each of them allowed, contradict each other."""

    def _learn(self, *given: Any, **more: Any) -> None:
        """Set the fitted attributes, given what `fit` was given: of a copy, which has the parameters alone."""
        raise NotImplementedError

    def _learn_more(self, *given: Any, **more: Any) -> None:
        """Set the fitted attributes, given what `partial_fit` was given: of a copy, which has all that was learned before."""
        raise NotImplementedError

    def _formula(self, method: str) -> Formula | None:
        """Return how what a method gives follows from a row, None where that cannot be written as a formula."""
        return None

    # What all share

    @property
    def _doc_link_template(self) -> str:
        """Where scikit-learn's picture of an estimator links to: `GRAMIAN_DOCS` names a built site, a folder or an address."""
        site = os.environ.get("GRAMIAN_DOCS", "").rstrip("/")
        return f"{site}/reference/api/gramian.{{estimator_name}}.html" if site else ""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        for known in reversed(type(self).__mro__):
            for name, value in vars(known).get("_tags", {}).items():
                *groups, tag = name.split(".")
                setattr(reduce(getattr, groups, tags), tag, value(self) if callable(value) else value)
        return tags

    def _fit(self, *given: Any, **more: Any) -> Any:
        """Check the parameters, learn anew, assign what was learned, and return the estimator."""
        self._fit_by(lambda copy: copy._learn(*given, **more))
        return self

    def _fit_by(self, learn: Callable[[Any], Result], *, called: str = "fit") -> Result:
        """Do the same by any function of a copy, and return what it returns."""
        with lock_of(self):
            forget(self)
            return self._learn_on_copy(learn, called=called, check=True)

    def _fit_more(self, *given: Any, **more: Any) -> Any:
        """Check the parameters, learn on from what was learned before, assign it, and return the estimator."""
        with lock_of(self):
            self._learn_on_copy(lambda copy: copy._learn_more(*given, **more), called="partial_fit", check=True)
        return self

    def _learn_on_copy(self, learn: Callable[[Any], Result], *, called: str, check: bool = False) -> Result:
        before = dict(vars(self))
        copy: Any = object.__new__(type(self))
        copy.__dict__.update(before)
        try:
            if check:
                check_parameters(copy)
            result = learn(copy)
        except MemoryError as error:
            if isinstance(error, MemoryLimitError):
                raise
            raise MemoryLimitError(
                f"{called} of {type(self).__name__} needs more memory than there is: {one_line(error)}; "
                f"ask for fewer components or units, or give fewer columns or rows"
            ) from error
        after = vars(copy)
        assign(self, {name: value for name, value in after.items() if before.get(name, self) is not value})
        for name in before.keys() - after.keys():
            self.__dict__.pop(name, None)
        return result


class TableEstimator(Estimator):
    """An estimator of tables, which knows the columns and the levels that it was fitted on.

    Attributes
    ----------
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.
    design_ : Design
        What is read of a row: source columns, their levels and means. `design_.encode` encodes a record batch once, for any
        number of methods.
    """

    _tags: ClassVar[Tags] = {
        "input_tags.categorical": True,
        "input_tags.string": True,
        "input_tags.allow_nan": True,
        "input_tags.sparse": True,
    }

    _columns_in: list[str]
    projection_: Any

    @property
    def design_(self) -> Design:
        """What is read of a row: source columns, their levels and means."""
        return self.projection_.design

    def black_swans(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return which values of X are levels never seen in fit, a boolean array of shape (n_rows, n_features)."""
        check_is_fitted(self)
        design = self.design_
        names = columns_in(self, design)
        # Identifiers that were set aside are not looked at.
        at = [names.index(name) for name in design.origins]
        parts = [design.unseen(rows) for rows in design.rows(open_rows(self, X, design))]
        out = np.zeros((sum(map(len, parts)), len(names)), dtype=bool)
        if parts:
            out[:, at] = np.concatenate(parts)
        return out


class SolvesLater(TableEstimator):
    """An estimator whose `partial_fit` adds moments, and leaves the solution to be computed when it is first asked for."""

    _kept_current: frozenset[str] = frozenset({"moments_", "n_features_in_", "feature_names_in_"})
    """The public attributes that `partial_fit` itself keeps up to date."""

    def _finish(self) -> None:
        """Compute the solution from the moments."""
        raise NotImplementedError

    def _outdated(self) -> None:
        """Remove an earlier solution: `__getattr__` computes it anew when it is asked for."""
        self._unsolved = True
        for name in [name for name in vars(self) if is_public(name) and name not in self._kept_current]:
            delattr(self, name)

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not set. What fitting does not compute must cost nothing: scikit-learn asks for
        # `feature_names_in_` with every batch.
        if self.__dict__.get("_unsolved") and is_public(name) and name not in self._kept_current:
            try:
                solve(self)
            except DataError as error:
                raise UnsolvedError(*error.parts) from error
            return getattr(self, name)
        if name in self.__dict__:
            # Another thread has computed it meanwhile.
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _has_way_back(model: Any) -> bool:
    # Not by attribute: `__getattr__` would solve.
    projection = model.__dict__.get("projection_")
    return bool(model._inverts if projection is None else projection.inverse is not None)


class RowTransformer(TransformerMixin):
    """A transformer whose `fit_transform` returns what `transform` gives for rows in memory."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then return what `transform` gives for the same rows."""
        refuse_rowless(self, X)
        return super().fit_transform(X, y, **fit_params)


def refuse_rowless(estimator: Any, X: Any) -> None:
    """Raise where `fit_transform` is given moments that `fit` takes, or files: what it returns is of rows, and in memory."""
    if isinstance(X, Moments) and getattr(estimator, "takes_moments", False):
        raise DataError("fit_transform needs rows, and Moments have none; call fit, then transform rows")
    if is_path(X):
        raise DataError("fit_transform takes rows in memory; for files call fit, then gramian.transform_file")


class ProjectionFeatures(TableEstimator, ClassNamePrefixFeaturesOutMixin, RowTransformer):
    """A transformer whose features are one `Projection` of the rows.

    Attributes
    ----------
    projection_ : Projection
    """

    _inverts: bool = True
    """Whether a fitted projection has a way back; without one there is no `inverse_transform`."""

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.n_features)

    def _formula(self, method: str) -> Formula | None:
        return Formula(self.projection_) if method == "transform" else None

    def transform(self, X: Any) -> Any:
        """Return the features of rows in memory, (n_rows, k).

        Unseen levels and missing numbers sit at the mean. Float32 where every number of X is.
        """
        check_is_fitted(self)
        projection = self.projection_
        table = open_rows(self, X, projection.design)
        dtype = np.float32 if all_float32(table, projection.design.origins) else np.float64
        return projection.apply(projection.design.rows(table), dtype, table.n_rows)

    @available_if(_has_way_back)
    def inverse_transform(self, X: Any, design: bool = False) -> Any:
        """Return features mapped back.

        Parameters
        ----------
        X : (n, k) array
            Features.
        design : bool
            Return the expanded numbers, one column per design column, instead of source columns.

        Returns
        -------
        array or table
            An array for all-numeric input or `design=True`; otherwise a table with numbers and the most likely levels.
            Numbers are float32 where the features are.
        """
        check_is_fitted(self)
        projection = self.projection_
        features = np.asarray(X)
        if features.ndim != 2 or features.shape[1] != projection.n_features:
            raise DataError(
                f"inverse_transform takes (n, {projection.n_features}) features; got shape {features.shape}"
            )
        dtype = np.float32 if features.dtype == np.float32 else np.float64
        if design or not projection.design.categorical:
            return projection.to_design(features).astype(dtype, copy=False)
        return output_table(projection.to_columns(features, dtype), library=self._frames)

    def loadings(self) -> Any:
        """Return a table of weights: column, level (null for a number), feature, weight."""
        check_is_fitted(self)
        rows = self.projection_.loadings(self.get_feature_names_out())
        return output_table(rows, library=self._frames)


class Classifier(ClassifierMixin):
    """A classifier of scikit-learn whose score compares classes as they are, whatever holds them."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, each by its weight, whose class is predicted."""
        return float(super().score(X, plain_target(y), sample_weight))
