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

from gramian.arrays.types import Array
from gramian.design.encoder import by_position
from gramian.errors import DataError
from gramian.linear.mahalanobis import MahalanobisSolution, fold_weights
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.algebra.folds import Folds
from gramian.parameters import Kind

SPLITTER = Kind("a splitter", lambda cv: not isinstance(cv, str) and (hasattr(cv, "split") or hasattr(cv, "__iter__")))


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
