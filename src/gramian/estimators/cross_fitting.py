"""Cross-fitting: features of each row from coefficients that its own target had no part in.

Every fold has the projection of the coefficients that the other folds' rows give. For "columns" that is all; whole columns
(`linear.mahalanobis.column_features`), which no target encodes, have the full fit's weights in every fold. For "canonical" and
"krylov" the coefficients are turned by the full fit's rotation (or recurrence), a matrix no larger than the number of functions
or directions, so that a feature means the same in every fold; without it signs and order would differ from fold to fold. One
more number is shared by all rows, the ridge. Rows are encoded once, against the labels of the whole, which all folds share.

*What no fold shows.* A level that only one fold has is unseen by all others, so cross-fitted its rows sit at the mean. Where
that is so of all levels of an encoded column but one, its own feature ("columns") is nothing but the small differences between
folds, and a model behind it that scales features to unit variance would take the plain values of such a level for
thousands of standard deviations. So `transform` leaves that column at the mean as well, after `fit_transform` alone: `fit`
knows no such rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from gramian.arrays.types import Array
from gramian.design.encoder import by_position
from gramian.engines.collect import note_left_out
from gramian.errors import Argument, DataError, shown
from gramian.estimators.spine.estimator import refuse_files
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import FOLDS, ProjectionTransformer
from gramian.estimators.spine.training import single_weight
from gramian.linear.mahalanobis import MahalanobisSolution, fold_weights
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.algebra.folds import Folds, folds_of, has_folds
from gramian.moments.value import Moments, merge
from gramian.parameters import Kind, check_parameters, declared, whole

SPLITTER = Kind("a splitter", lambda cv: not isinstance(cv, str) and (hasattr(cv, "split") or hasattr(cv, "__iter__")))


class CrossFitted(ProjectionTransformer):
    """A transformer whose `fit_transform` is cross-fitted; `fit` and `transform` are plain.

    A concrete class has the parameter `cv` and says how `moments_` are solved and described.
    """

    cv: Any
    components_: Array
    _parameters = declared(cv=(None, whole(2, 255, words="a number of folds"), SPLITTER))

    def _solution(self) -> MahalanobisSolution:
        """Return the solution of all rows."""
        raise NotImplementedError

    def _describe(self, solution: MahalanobisSolution) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _set_weights(self, weights: Array, inverse: Array | None) -> None:
        """Set `components_` and what depends on it."""
        raise NotImplementedError

    def _target_values(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return target values by the column they are collected under, names as they are."""
        raise NotImplementedError

    def _is_cross_fitted(self) -> bool:
        return self.cv is not None

    def _n_folds(self) -> int:
        return int(self.cv) if isinstance(self.cv, int | np.integer) else FOLDS

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
        if isinstance(X, Moments):
            raise DataError("fit_transform needs rows, and Moments have none; call fit, then transform rows")
        refuse_files(X)
        if hasattr(X, "__next__"):
            raise DataError("fit_transform reads X twice, and an iterator gives its batches once; pass a list of them")
        groups = params.pop("groups", None)
        if params:
            raise TypeError(
                f"fit_transform() takes groups= beside X, y and sample_weight; got {shown(sorted(params)[0])}"
            )
        if not self._is_cross_fitted():
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
        self.design_names_ = self.moments_.design_names_of(self._features)
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # fit_transform is cross-fitted, so it is not fit().transform(): that is the point of it.
        tags.non_deterministic = True
        return tags


def fold_projections(solution: MahalanobisSolution, folds: Folds, features: list[str]) -> dict[int, Projection]:
    """Return for each fold the projection that the rows of the others give.

    Parameters
    ----------
    solution : MahalanobisSolution
        Of all rows.
    folds : Folds
        Of the moments in the form that the solution's aim takes.
    features : list of str
    """
    projections = {}
    for k in folds.filled:
        train = folds.train(k)
        weights = fold_weights(solution, train, features)
        design = Design.of(train, features)
        mean = design.mean.copy()
        for column in itertools.compress(features, solution.whole):
            # The same for every row, so about the mean of all of them.
            mean[design.spans[column]] = solution.mean[design.spans[column]]
        projections[k] = Projection(replace(design, mean=mean), weights, np.zeros(weights.shape[1]))
    return projections


def features_by_fold(
    rows: Iterable[Rows], projections: dict[int, Projection], fold_of: npt.NDArray | None, n_folds: int
) -> Array:
    """Return the features of rows, each by the projection of its own fold.

    Parameters
    ----------
    rows : iterable of Rows
        All rows in order, encoded against the labels of the whole.
    projections : dict
        A fold each.
    fold_of : (n,) array, optional
        The fold of each row; by default by position, as `collect` draws them.
    n_folds : int
        How many folds were drawn by position.
    """
    width = next(iter(projections.values())).n_features
    parts, start = [], 0
    for part in rows:
        n = len(part)
        own = by_position(start, n, n_folds, 0) if fold_of is None else fold_of[start : start + n]
        out = np.zeros((n, width))
        for k, projection in projections.items():
            at = np.flatnonzero(own == k)
            out[at] = projection.apply_rows(Rows(part.codes[:, at], part.numbers[at]))
        parts.append(out)
        start += n
    return np.concatenate(parts)


def folds_of_splitter(cv: Any, X: Any, y: Any, groups: Any) -> npt.NDArray[np.intp]:
    """Return the fold of each row of X by the test sets of a splitter, each row in exactly one."""
    from sklearn.model_selection import check_cv

    n = X.num_rows if hasattr(X, "num_rows") else X.shape[0] if hasattr(X, "shape") else len(X)
    fold_of = np.full(n, -1, dtype=np.intp)
    for k, (_, rows) in enumerate(check_cv(cv).split(np.zeros((n, 1)), y, groups)):
        if (fold_of[rows] >= 0).any():
            raise DataError("the test sets of cv overlap: each row must be in exactly one of them")
        fold_of[rows] = k
    if (fold_of < 0).any():
        raise DataError("the test sets of cv leave rows out: each row must be in exactly one of them")
    return fold_of


def take_rows(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Return some rows of X."""
    if isinstance(X, pa.Table | pa.RecordBatch):
        return X.take(pa.array(rows))
    return _safe_indexing(X.tocsr() if sp.issparse(X) else X, rows)
