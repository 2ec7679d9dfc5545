"""Where each source column stands among the design columns, the metric in which components are sought, and means of levels.

The *metric* is one factor per centred design column. For a number of population variance s^2 and a level of share f:

    scale=False    1                 1                  covariance: scikit-learn's PCA
    scale=True     1/s               1/sqrt(f (1 - f))  correlation: every design column to unit variance
    scale="auto"   1/s               1/sqrt(f)          FAMD, and MCA where every column is categorical

The last is the chi-squared metric. In it the block of one categorical column is D^-1/2 (D - f f^T) D^-1/2 = I - r r^T with
r = sqrt(f): a projector of rank L - 1. So each number brings inertia 1, each column of L levels brings L - 1, and all of
its directions count alike. With Q categorical columns and no numbers the eigenvalues are Q times those of the
correspondence analysis of the indicator table, since that divides the table by n Q.

Both scales are of the population (no `ddof`), as in StandardScaler and in FAMD: `ddof` divides the scatter afterwards.

*Means over the levels* of each category are taken for whole blocks of design columns at once. A loop over columns costs more
than the arithmetic where there are dozens of small ones; `reduceat` sums all spans in one call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.errors import ColumnError, DataError
from gramian.moments.covariance import mean as design_mean
from gramian.moments.value import Moments

Scale = bool | str


@dataclass(frozen=True)
class Layout:
    """Source columns and their spans of design columns.

    Attributes
    ----------
    columns : list of str
        Source columns, in order.
    sizes : list of int
        Design columns of each.
    forms : list of str
        How each is collected: "category", or "integer" and "number", which have one design column.
    """

    columns: list[str]
    sizes: list[int]
    forms: list[str]

    @cached_property
    def categorical(self) -> list[bool]:
        """Whether each source column is a category."""
        return [form == "category" for form in self.forms]

    @cached_property
    def plain(self) -> bool:
        """Whether every column is a plain number, none of them kept by level."""
        return all(form == "number" for form in self.forms)

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> list[int]:
        """First design column of each source column."""
        return np.cumsum([0, *self.sizes[:-1]]).tolist() if self.sizes else []

    @property
    def widest(self) -> tuple[str, int]:
        """The source column of the most design columns, and how many these are."""
        return max(zip(self.columns, self.sizes, strict=True), key=lambda each: each[1])

    def spans(self) -> list[slice]:
        """Return the design columns of each source column."""
        return [slice(start, start + size) for start, size in zip(self.starts, self.sizes, strict=True)]

    @cached_property
    def categories(self) -> list[str]:
        """Names of the categories."""
        return [name for name, is_one in zip(self.columns, self.categorical, strict=True) if is_one]

    @cached_property
    def category_spans(self) -> list[slice]:
        """The design columns of each category."""
        return [span for span, is_one in zip(self.spans(), self.categorical, strict=True) if is_one]

    def without(self, names: Collection[str]) -> Layout:
        """Return the layout of the other columns."""
        kept = [k for k, name in enumerate(self.columns) if name not in names]
        return Layout([self.columns[k] for k in kept], [self.sizes[k] for k in kept], [self.forms[k] for k in kept])

    @cached_property
    def is_level(self) -> npt.NDArray[np.bool_]:
        """Which design columns are levels."""
        return np.repeat(np.asarray(self.categorical, dtype=bool), self.sizes)

    @property
    def dimensions(self) -> int:
        """Directions in which rows can differ: one less than its levels for each categorical column."""
        return self.width - sum(self.categorical)


def layout_of(moments: Moments, columns: Sequence[str] | None, *, without: Sequence[str] = ()) -> Layout:
    """Return the layout of `columns`, by default of every feature but those in `without`.

    Raises
    ------
    ColumnError
        Where a column is not there, is asked for twice, or is a target of the same fit.
    """
    if columns is None:
        names = [name for name in moments.schema.features if name not in without]
    else:
        names = moments.schema.resolve(columns)
    both = [name for name in names if name in without]
    if both:
        raise ColumnError(f"column {both[0]!r} is the target, it cannot be a feature as well; leave it out of columns")
    if not names:
        raise DataError("there is no column to work on: every column is a target or excluded")
    forms: list[str] = [moments.schema[name].form for name in names]
    levels = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    sizes = [levels[name] if form == "category" else 1 for name, form in zip(names, forms, strict=True)]
    return Layout(names, sizes, forms)


def centre_of(moments: Moments, layout: Layout) -> Array:
    """Return the mean of each design column, 0 for a number of which nothing was ever observed."""
    if layout.plain and list(moments.numbers.names) == layout.columns and moments.total_weight > 0:
        mean, _ = moments.numbers.imputed_mean(float(moments.total_weight))
    else:
        mean = design_mean(moments, layout.columns)
    return np.nan_to_num(mean, nan=0.0)


def metric_of(scale: Scale, layout: Layout, mean: Array, diagonal: Array, weight: float) -> Array | None:
    """Return the factor of each centred design column, None where all are 1.

    Parameters
    ----------
    scale : bool or "auto"
    layout : Layout
    mean : (p,) array
        Of the design columns: a level's share.
    diagonal : (p,) array
        The scatter of each design column, undivided.
    weight : float
        Total weight.

    Notes
    -----
    A column that does not vary has factor 1: centred it is zero whatever it is multiplied by.
    """
    if scale is False or (scale == "auto" and not any(layout.categorical)):
        return None
    squared = diagonal / weight
    if scale == "auto":
        squared = np.where(layout.is_level, mean, squared)
    varies = (diagonal > 0) & (squared > 0)
    return np.where(varies, 1.0 / np.sqrt(np.where(varies, squared, 1.0)), 1.0)


class LevelMeans:
    """Weighted means over spans of rows; rows outside every span have mean zero.

    Parameters
    ----------
    spans : sequence of slices
        In order and apart from each other.
    width : int
        Number of rows.
    weights : (width,) array, optional
        Shares that sum to one over each span; by default all rows of a span count alike.

    Examples
    --------
    >>> means = LevelMeans([slice(0, 2)], 3)
    >>> means.removed(np.array([[1.0], [3.0], [5.0]])).ravel()
    array([-1.,  1.,  5.])
    """

    def __init__(self, spans: Sequence[slice], width: int, weights: Array | None = None) -> None:
        inside = np.zeros(width)
        for span in spans:
            inside[span] = 1.0 / max(span.stop - span.start, 1) if weights is None else weights[span]
        self._inside = inside[:, None]
        edges = {0, *(span.start for span in spans), *(span.stop for span in spans)}
        self._starts = np.array(sorted(edge for edge in edges if edge < width), dtype=np.intp)
        self._sizes = np.diff(np.append(self._starts, width))

    def removed(self, v: Array) -> Array:
        """Return a (width, k) block less the means of its columns."""
        if not len(v):
            return v.copy()
        means = np.add.reduceat(self._inside * v, self._starts, axis=0)
        return v - np.repeat(means, self._sizes, axis=0)


def as_transformed(layout: Layout, mean: Array, weights: Array) -> Array:
    """Return weights (p, k) with mean zero over each category, and zero for levels without rows.

    The levels of a category sum to one, so adding a constant to their weights changes nothing once centred. With this choice
    of it a level that no row had is worth what the average row is, as `transform` has it.

    Parameters
    ----------
    layout : Layout
    mean : (p,) array
        Of the design columns: a level's share.
    weights : (p, k) array
    """
    out = LevelMeans(layout.category_spans, layout.width, mean).removed(weights)
    out[layout.is_level & (mean == 0)] = 0.0
    return out
