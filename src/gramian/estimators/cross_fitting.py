"""Features of each row from coefficients that its own target had no part in.

Every fold has the projection that the other folds' rows give, in the rotation of the full fit. Rows are encoded once, against
the labels of the whole, which all folds share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from gramian.design.folds import by_position
from gramian.errors import DataError
from gramian.linear.mahalanobis import MahalanobisSolution, fold_weights
from gramian.linear.ridge_choice import train_and_fold
from gramian.maps.design import Design, Rows
from gramian.maps.projection import Projection
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]


def fold_projections(found: MahalanobisSolution, moments: Moments, features: list[str]) -> dict[int, Projection]:
    """Return for each fold the projection that the rows of the others give.

    Parameters
    ----------
    found : MahalanobisSolution
        Of all rows.
    moments : Moments
        With folds.
    features : list of str
    """
    folds = train_and_fold(found.aim.read(moments))
    projections = {}
    for k in folds.filled:
        train, _ = folds(k)
        weights = fold_weights(found, train, features, found.unit)
        projections[k] = Projection(Design.of(train, features), weights, np.zeros(weights.shape[1]))
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
