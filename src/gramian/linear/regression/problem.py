"""The second moments of a regression: design columns x, influence functions h, and products with their scatter.

S is the centred scatter of the design columns, C its cross scatter with the influence functions (`regression.targets`), V
the scatter of those. Nothing here is solved; see `gramian.linear.regression.ridge`. How S multiplies is decided in
`gramian.linear.scatter.wide`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.layout import Layout, as_transformed, centre_of, layout_of
from gramian.linear.regression.targets import TargetFunctions
from gramian.linear.scatter.dense import RowScatter, Scatter, scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.wide import WideScatter, by_few_rows, for_products, may_be_formed, scatter_of
from gramian.moments.value import Moments


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
        v, what a ridge of 1 adds to the diagonal of S: 1 for a level; for a number its variance in these moments, or 1.
    in_rows : bool
        Whether the ridge is counted in rows, so that a number has its variance.
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
    in_rows: bool = True

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return self.layout.width

    @property
    def is_dense(self) -> bool:
        """Whether S may be formed."""
        return may_be_formed(self.layout)

    @cached_property
    def scatter(self) -> Scatter:
        """S, as it multiplies best."""
        if self.few_rows is not None:
            return self.few_rows.scaled(np.sqrt(self.unit))
        return for_products(self.moments, self.layout, self.elimination)

    @cached_property
    def matrix(self) -> Array:
        """S as a matrix. Not to be changed."""
        return scatter_of(self.moments, self.layout).dense()

    @cached_property
    def few_rows(self) -> RowScatter | None:
        """D^-1/2 S D^-1/2 by its few rows, where it is too wide to be formed; None where it is not, or rows are many."""
        return None if self.is_dense else by_few_rows(self.moments, self.layout, 1 / np.sqrt(self.unit))

    @cached_property
    def elimination(self) -> WideScatter | None:
        """The system with its widest category eliminated; None where there is no category."""
        return WideScatter(self.moments, self.layout) if any(self.layout.categorical) else None

    @cached_property
    def directions(self) -> int:
        """Directions in which rows could differ: one less than its levels per category, one per number that varies."""
        varies = self.diagonal > 0
        levels = [max(int((self.mean[span] > 0).sum()) - 1, 0) for span in self.layout.category_spans]
        return sum(levels) + int((varies & ~self.layout.is_level).sum())

    @property
    def dimensions(self) -> int:
        """The same, but no more than rows less one."""
        return int(min(self.directions, max(self.moments.n_rows - 1, 0)))

    def centred(self, coefficients: Array) -> Array:
        """Return coefficients with weighted mean zero over each category, and zero for levels without rows."""
        return as_transformed(self.layout, self.mean, coefficients)


def regression_of(moments: Moments, columns: list[str], aim: TargetFunctions, *, in_rows: bool = True) -> Regression:
    """Return the moments of a regression of `aim` on some columns.

    Parameters
    ----------
    moments : Moments
        With the targets already in the form that `aim` takes (`aim.read`).
    columns : list of str
        Feature columns.
    aim : TargetFunctions
    in_rows : bool
        Whether a ridge is counted in rows (see `gramian.linear.regression.ridge`); else it is added to the diagonal as it is,
        which is what scikit-learn's `alpha` means.

    Raises
    ------
    DataError
        Where all weights together are too small for sums that have digits.
    """
    weight = float(moments.total_weight)
    if 0 < weight < np.finfo(np.float64).tiny:
        raise DataError(
            f"the sample weights add up to {weight:.3g}; numbers below {np.finfo(np.float64).tiny:.2g} lose their digits, "
            f"and sums over rows with them; multiply the weights by a constant"
        )
    layout = layout_of(moments, columns, without=aim.columns)
    aimed = layout_of(moments, aim.columns)
    mean, diagonal = centre_of(moments, layout), scatter_diagonal(moments, layout)
    own = aim.map.T @ cross_scatter(moments, aimed, aimed, aim.map)
    variance = diagonal / weight
    return Regression(
        moments=moments,
        layout=layout,
        weight=weight,
        mean=mean,
        aim_mean=centre_of(moments, aimed) @ aim.map,
        cross=cross_scatter(moments, layout, aimed, aim.map),
        own=(own + own.T) / 2,
        diagonal=diagonal,
        unit=np.where(layout.is_level | (variance <= 0), 1.0, variance) if in_rows else np.ones(layout.width),
        in_rows=in_rows,
    )
