"""Counts, means and scatter of the classes of a target, read off the joint moments.

For class indicators the cross scatter with the features is C_c = sum over rows of class c of (x - m) = n_c (m_c - m), so class
means need no further pass: they are columns of the same matrix that holds the features' own scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.moments import dense
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Features and classes of one target.

    Attributes
    ----------
    layout : Layout
        Of the features.
    target : str
    classes : list
        Labels, sorted.
    weight : float
        Total weight.
    counts : (c,) array
        Weight of each class.
    mean : (p,) array
        Of the design columns.
    gaps : (c, p) array
        Class means less the overall mean.
    scatter : (p, p) array
        Total centred scatter of the design columns. Not to be changed.
    """

    layout: Layout
    target: str
    classes: list[Any]
    weight: float
    counts: Array
    mean: Array
    gaps: Array
    scatter: Array

    @property
    def means(self) -> Array:
        """Class means, (c, p)."""
        return self.mean + self.gaps

    @property
    def per_pair(self) -> float:
        """W over the number of pairs of rows from different classes: turns Fisher's ratio into the criterion J."""
        pairs = (np.square(self.weight) - np.square(self.counts).sum()) / 2
        return float(self.weight / pairs)

    def within(self) -> Array:
        """Return the within-class scatter, S - S_between, as a new matrix."""
        rooted = self.gaps * np.sqrt(self.counts)[:, None]
        out = self.scatter - rooted.T @ rooted
        out[np.diag_indices_from(out)] = self.within_diagonal
        # A column that is constant within every class leaves rounding behind.
        still = self.within_diagonal == 0
        out[still] = 0.0
        out[:, still] = 0.0
        return out

    @cached_property
    def within_diagonal(self) -> Array:
        """Within-class scatter of each design column, 0 where it is rounding."""
        whole = np.diagonal(self.scatter)
        left = whole - self.counts @ np.square(self.gaps)
        return np.where(left > 64 * np.finfo(np.float64).eps * whole, left, 0.0)

    @cached_property
    def slack(self) -> float:
        """By how much the difference S - S_between is more rounded than its entries show."""
        varies = self.within_diagonal > 0
        ratio = np.diagonal(self.scatter)[varies] / self.within_diagonal[varies]
        return float(ratio.max(initial=1.0))

    def spread_along(self, weights: Array) -> tuple[Array, Array]:
        """Return the between- and within-class sums of squares of the features `x @ weights`."""
        between = self.counts @ np.square(self.gaps @ weights)
        total = np.einsum("ij,ij->j", weights, self.scatter @ weights)
        return between, total - between


def class_moments(moments: Moments, columns: Sequence[str] | None, target: str) -> ClassMoments:
    """Return the moments of the features by class of the target.

    Raises
    ------
    DataError
        Where the target was collected as a plain number, has missing labels, or has one class only.
    """
    if target not in moments.schema or moments.schema[target].form == "number":
        column = moments.schema[target].name
        raise DataError(
            f"target {column!r} was collected as a number, so its classes are not known; "
            f"collect it again with categorical=[{column!r}]"
        )
    layout = layout_of(moments, columns, without=[target])
    read = moments.as_categorical([target])
    labels, counts = read.levels(target), np.asarray(read.counts(target), dtype=np.float64)
    missing = [k for k, label in enumerate(labels) if label is None and counts[k] > 0]
    if missing:
        rows = int(read.pairs.level_rows[read.coded_at[target]][missing[0]])
        raise DataError(f"target {target!r} is missing in {rows} rows; drop them, or fill them in, before collecting")
    present = [k for k in range(len(labels)) if counts[k] > 0]
    order = sorted(present, key=lambda k: labels[k])
    if len(order) < 2:
        found = f"only the class {labels[order[0]]!r}" if order else "no rows"
        raise DataError(
            f"target {target!r} has {found}: a discriminant needs two classes, it has less than 2 classes here"
        )
    whole = dense.scatter(read, [*layout.columns, target])
    p = layout.width
    counts = counts[order]
    gaps = whole[p:, :p][order] / counts[:, None]
    return ClassMoments(
        layout=layout,
        target=target,
        classes=[labels[k] for k in order],
        weight=float(moments.total_weight),
        counts=counts,
        mean=centre_of(moments, layout),
        gaps=gaps,
        scatter=whole[:p, :p],
    )
