"""`column_importance()`: how much of the target each source column explains, on left-out rows where there are folds.

A linear prediction is a sum over source columns, yhat = ybar + sum_j yhat_j with yhat_j = (x_j - m_j) B_j. The explained share
of a target on any rows is therefore a sum over the columns as well,

    1 - |y - yhat|^2 / |y - ybar|^2 = sum_j [ 2 <yhat_j, y - ybar> - <yhat_j, yhat - ybar> ] / |y - ybar|^2,

and each term is the importance of a column. On the rows of a least-squares fit it is <yhat_j, y> / |y|^2, the measure of
Hoffman and Pratt. Columns that say the same share it. A column that helps only by correcting another may have less than 0,
and so, on left-out rows, may one that is noise.

Inner products are second moments, so a fold needs the model of the other folds and no row. Features (of
`FisherDiscriminant`, `MahalanobisFeatures`) predict by least squares, B = W (W^T S W)^+ W^T C; a class is the indicators of its
levels, and the share is then the Brier skill. For models with a link it is the linear predictor that is divided: yhat_j there
against yhat, which sums to one and is of the rows of the fit.

Reference: Pratt, Dividing the indivisible: using simple symmetry to partition variance explained, Proc. 2nd Tampere Conference
in Statistics, 1987.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.estimators.spine.moments_estimator import FromMoments
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.regression.targets import is_class
from gramian.linear.scatter.dense import scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.moments.algebra.folds import folds_of, has_folds
from gramian.moments.value import Moments
from gramian.tables.returned import table as output_table

CHOSEN = {"alpha": "alpha_", "ridge": "ridge_", "shrinkage": "shrinkage_"}
"""Parameter that may be chosen by folds -> where the choice is."""


class ColumnImportance(FromMoments):
    """A supervised estimator that is linear in its columns."""

    def column_importance(self) -> Any:
        """Return a table of how much of the target each source column explains, the most important first.

        Returns
        -------
        table
            `column`, a source column with all its levels, bins and parts of a date; `importance`, its part of the explained
            share of the target (R^2; Brier skill for classes), to which the column adds up; `std_error` over the folds; and
            `measure`: `"held-out"` where the moments have folds (`collect(folds=5)`), `"in-sample"` where they have none. Of
            models with a link (`LogisticRegression`, `GLM`) it is the share of the variance of the linear predictor,
            `"predictor"`, which adds up to one.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> rows = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "z": [1.0, -1.0, -1.0, 1.0], "y": [2.0, 4.0, 6.0, 8.0]})
        >>> table = gm.Ridge(alpha=0).fit(rows, y="y").column_importance()
        >>> table.column("column").to_pylist(), table.column("importance").to_numpy().round(6)
        (['x', 'z'], array([1., 0.]))
        """
        check_is_fitted(self)
        if "moments_" not in vars(self):
            raise DataError("this model was loaded from a file, which holds no moments; fit it again")
        moments = self._moments
        if has_folds(self.moments_) and not self._has_link():
            measure, folds = "held-out", folds_of(self.moments_, asked="column_importance()")
            parts = [self._explained(self._refitted(train), train, test) for train, test in folds]
        else:
            measure, parts = "predictor" if self._has_link() else "in-sample", [self._explained(self, moments, moments)]
        whole = sum(squares for _, squares in parts)
        per_fold = np.array([terms for terms, _ in parts]) / (whole if whole > 0 else 1.0)
        owner = [moments.schema[name].origin for name in self._features]
        names = list(dict.fromkeys(owner))
        at = [[j for j, each in enumerate(owner) if each == name] for name in names]
        joint = np.stack([per_fold[:, own].sum(axis=1) for own in at], axis=1)
        total, k = joint.sum(axis=0), len(joint)
        # Every fold estimates its part of the sum: k times that is an estimate of the whole.
        error = joint.std(axis=0, ddof=1) * np.sqrt(k) if k > 1 else None
        order = np.argsort(-total, kind="stable")
        columns = {
            "column": [names[j] for j in order],
            "importance": total[order],
            "std_error": [None if error is None else float(error[j]) for j in order],
            "measure": [measure] * len(names),
        }
        return output_table(columns, library=self._frames)

    def _has_link(self) -> bool:
        """Whether the prediction is no linear function of the columns."""
        return False

    def _refitted(self, train: Moments) -> Any:
        """Return the estimator as it would be without a fold; what folds chose stays as it was chosen."""
        again = clone(self)
        known = again.get_params()
        for name, chosen in CHOSEN.items():
            if known.get(name) in ("cv", "auto"):
                again.set_params(**{name: float(getattr(self, chosen))})
        target: Any = self._targets[0] if len(self._targets) == 1 else tuple(self._targets)
        return again.fit(train, y=target)

    def _explained(self, model: Any, train: Moments, test: Moments) -> tuple[Array, float]:
        """Return the squares that each column of the features explains of the test rows, and all of theirs."""
        targets = [] if self._has_link() else self._targets
        kind = "multiclass" if self._target_is_class else str(getattr(self, "target_type", "continuous"))
        classes = [name for name in targets if is_class(self._moments, name, kind)]
        train, test = (m.as_categorical(classes) if classes else m for m in (train, test))
        layout, aim = layout_of(train, self._features), layout_of(train, targets) if targets else None
        weights = np.asarray(model.projection_.weights)
        gap = centre_of(test, layout) - centre_of(train, layout)
        if aim is None:
            own = _with(test, layout, gap, weights)
            return _by_column(layout, weights * own), float((weights * own).sum())
        if not hasattr(model, "predict") or self._target_is_class:
            among = weights.T @ _with(train, layout, np.zeros(layout.width), weights)
            weights = weights @ np.linalg.pinv(among, hermitian=True) @ (weights.T @ cross_scatter(train, layout, aim))
        shift, weight = centre_of(test, aim) - centre_of(train, aim), float(test.total_weight)
        aimed = cross_scatter(test, layout, aim) + weight * np.outer(gap, shift)
        whole = float((scatter_diagonal(test, aim) + weight * shift**2).sum())
        return _by_column(layout, weights * (2 * aimed - _with(test, layout, gap, weights))), whole


def _with(moments: Moments, layout: Layout, gap: Array, weights: Array) -> Array:
    """Return the second moment of the columns about the training means with their prediction, (p, m)."""
    moved = np.multiply.outer(float(moments.total_weight) * gap, gap @ weights)
    return np.asarray(cross_scatter(moments, layout, layout, weights) + moved)


def _by_column(layout: Layout, terms: Array) -> Array:
    """Return the sums over the design columns of each column, over all targets."""
    return np.add.reduceat(np.asarray(terms).sum(axis=1), layout.starts)
