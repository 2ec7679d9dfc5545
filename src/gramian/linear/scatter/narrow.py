"""The scatter of features and targets, with faster products over the features where they are narrow categories.

For categories alone S v = N u, with N the pair counts and u = v less its weighted mean over each category: a constant added to
all levels of a column is the same for every row, hence nothing once centred. Numbers bring the columns R = S[:, numbers], found
once. So a product is one call of BLAS and a few vector operations, and S is never formed.

The block is multiplied from the left, (V^T N)^T: for eight columns OpenBLAS takes three fifths of the time of N V, as it
need not repack N.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import Layout
from gramian.linear.level_means import LevelMeans
from gramian.linear.scatter.sparse import ScatterOperator
from gramian.moments.value import Moments

NUMBERS = 64
"""With more numbers than this their own scatter is most of the product, and `ScatterOperator` has it as it is."""


class NarrowScatter(ScatterOperator):
    """S over features and targets; every feature is a narrow category, or one of at most `NUMBERS` numbers.

    Parameters
    ----------
    moments : Moments
    features, targets : Layout
        See `suits`.
    mean : (p,) array
        Of the features' design columns.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import centre_of, layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5], "y": [1.0, 2.0, 4.0]}))
    >>> features = layout_of(m, ["color", "size"])
    >>> scatter = NarrowScatter(m, features, layout_of(m, ["y"]), centre_of(m, features))
    >>> np.allclose(scatter.among_features(np.eye(3)), 2 * m.covariance(["color", "size"]))
    True
    """

    def __init__(self, moments: Moments, features: Layout, targets: Layout, mean: Array) -> None:
        super().__init__(moments, joined(features, targets))
        named = {
            moments.coded_at[name]
            for name, is_one in zip(features.columns, features.categorical, strict=True)
            if is_one
        }
        at, start = [], 0
        for k in self._narrow:
            size = len(self._counts[k])
            if k in named:
                at.append(np.arange(start, start + size))
            start += size
        place = np.concatenate(at)
        together = bool((np.diff(place) == 1).all())
        first, last = place[0], place[-1] + 1
        self._among = self._matrix[first:last, first:last] if together else self._matrix[np.ix_(place, place)]
        spans = [span for span, is_one in zip(features.spans(), features.categorical, strict=True) if is_one]
        self._means = LevelMeans(spans, features.width, mean)
        self._levels = np.flatnonzero(features.is_level)
        self._others = np.flatnonzero(~features.is_level)
        unit = np.zeros((self.shape[0], len(self._others)))
        unit[self._others, np.arange(len(self._others))] = 1.0
        self._columns = (self @ unit)[: features.width] if len(self._others) else np.empty((features.width, 0))

    @staticmethod
    def suits(moments: Moments, features: Layout) -> bool:
        """Whether every category is narrow, there is one, and numbers are few."""
        names = [n for n, is_one in zip(features.columns, features.categorical, strict=True) if is_one]
        coded = [moments.coded_at[name] for name in names]
        narrow = set(moments.pairs.narrow)
        return bool(coded) and narrow.issuperset(coded) and len(features.columns) - len(coded) <= NUMBERS

    def among_features(self, v: Array) -> Array:
        """Return S v for a (p, k) block over the features alone."""
        centred = self._means.removed(v)
        if not len(self._others):
            return np.ascontiguousarray((centred.T @ self._among).T)
        out = np.empty_like(centred)
        out[self._levels] = (centred[self._levels].T @ self._among).T
        out[self._levels] += self._columns[self._levels] @ centred[self._others]
        out[self._others] = self._columns.T @ centred
        return out


def joined(features: Layout, targets: Layout) -> Layout:
    """Return the layout of features, then targets."""
    return Layout(features.columns + targets.columns, features.sizes + targets.sizes, features.forms + targets.forms)
