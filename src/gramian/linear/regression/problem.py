"""The second moments of a regression: design columns x, influence functions h, and products with their scatter.

S is the centred scatter of the design columns, C its cross scatter with the influence functions (`regression.targets`), V
the scatter of those. Nothing here is solved; see `gramian.linear.regression.ridge`.

*Products.* Up to `DENSE` design columns S may be formed, and a product goes through the pair counts: as one matrix where all
categories are narrow (`linear.scatter.narrow`). Beyond, the widest category stands apart (`linear.scatter.wide`)
and the products go through its sparse pair counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.level_means import LevelMeans
from gramian.linear.regression.targets import Aim
from gramian.linear.scatter.narrow import NarrowScatter, joined
from gramian.linear.scatter.sparse import ScatterOperator
from gramian.linear.scatter.spread import kept_rows
from gramian.linear.scatter.wide import Elimination
from gramian.moments import covariance as dense
from gramian.moments.value import Moments

DENSE = 6000
"""Up to this many design columns the scatter may be formed: 288 MB, and a Cholesky factor in seconds."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Second moments of design columns and influence functions.

    Attributes
    ----------
    moments : Moments
    layout : Layout
        Of the features.
    weight : float
        Total weight, n.
    mean : (p,) array
        Of the design columns.
    aim_mean : (m,) array
        Of the influence functions, up to a constant that is the same for every part of one data set.
    cross, own : (p, m) and (m, m) arrays
        C and V.
    diagonal : (p,) array
        Of S.
    unit : (p,) array
        v, the ridge of one row.
    joint : ScatterOperator or None
        Over features and targets; None where S is too wide to be formed and the products go through the elimination, which
        holds the same pair counts.
    """

    moments: Moments
    layout: Layout
    weight: float
    mean: Array
    aim_mean: Array
    cross: Array
    own: Array
    diagonal: Array
    unit: Array
    joint: ScatterOperator | None

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return self.layout.width

    @property
    def is_dense(self) -> bool:
        """Whether S may be formed."""
        return self.width <= DENSE

    @cached_property
    def matrix(self) -> Array:
        """S as a matrix. Not to be changed."""
        rows = kept_rows(self.moments, self.layout)
        return dense.scatter(self.moments, self.layout.columns) if rows is None else rows.T @ rows

    def apply(self, v: Array) -> Array:
        """Return S v, without forming S."""
        if isinstance(self.joint, NarrowScatter):
            return self.joint.among_features(v)
        if self.joint is None:
            assert self.elimination is not None
            return self.elimination @ v
        full = np.zeros((self.joint.shape[0], v.shape[1]))
        full[: self.width] = v
        return (self.joint @ full)[: self.width]

    @cached_property
    def elimination(self) -> Elimination | None:
        """The system with its widest category eliminated; None where there is no category."""
        sizes = [s if c else 0 for s, c in zip(self.layout.sizes, self.layout.categorical, strict=True)]
        return Elimination(self.moments, self.layout, int(np.argmax(sizes))) if any(sizes) else None

    @cached_property
    def category_spans(self) -> list[slice]:
        """The design columns of each category."""
        return [span for span, is_one in zip(self.layout.spans(), self.layout.categorical, strict=True) if is_one]

    @cached_property
    def directions(self) -> int:
        """Directions in which rows could differ: one less than its levels a category, one a number that varies."""
        varies = self.diagonal > 0
        levels = [max(int((self.mean[span] > 0).sum()) - 1, 0) for span in self.category_spans]
        return sum(levels) + int((varies & ~self.layout.is_level).sum())

    @property
    def dimensions(self) -> int:
        """The same, but no more than rows less one."""
        return int(min(self.directions, max(self.moments.n_rows - 1, 0)))

    def centred(self, coefficients: Array) -> Array:
        """Return coefficients with weighted mean zero over each category, and zero for levels without rows."""
        out = LevelMeans(self.category_spans, self.width, self.mean).removed(coefficients)
        out[self.layout.is_level & (self.mean == 0)] = 0.0
        return out


def regression_of(moments: Moments, columns: list[str], aim: Aim, *, unit: Array | None = None) -> Regression:
    """Return the moments of a regression of `aim` on some columns.

    Parameters
    ----------
    moments : Moments
        With the targets already in the form that `aim` takes (`aim.read`).
    columns : list of str
        Feature columns.
    aim : Aim
    unit : (p,) array, optional
        The ridge of one row; by default from the variances of these moments. Folds are given that of the whole, so that
        a ridge means the same in each.
    """
    layout = layout_of(moments, columns, without=aim.columns)
    aimed = layout_of(moments, aim.columns)
    p, weight, mean = layout.width, float(moments.total_weight), centre_of(moments, layout)
    wide = p > DENSE and any(layout.categorical)
    if not wide and NarrowScatter.suits(moments, layout):
        joint: ScatterOperator = NarrowScatter(moments, layout, aimed, mean)
    else:
        joint = ScatterOperator(moments, joined(layout, aimed))
    found = joint @ np.vstack([np.zeros((p, aim.size)), aim.map])
    own = aim.map.T @ found[p:]
    diagonal = joint.diagonal()[:p]
    if unit is None:
        spread = diagonal / weight
        unit = np.where(layout.is_level | (spread <= 0), 1.0, spread)
    return Regression(
        moments=moments,
        layout=layout,
        weight=weight,
        mean=mean,
        aim_mean=centre_of(moments, aimed) @ aim.map,
        cross=found[:p],
        own=(own + own.T) / 2,
        diagonal=diagonal,
        unit=unit,
        joint=None if wide else joint,
    )
