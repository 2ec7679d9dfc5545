"""Counts, means and scatter of the classes of a target, read off the joint moments.

For class indicators the cross scatter with the features is C_c = sum over rows of class c of (x - m) = n_c (m_c - m), so class
means need no further pass: C is N - n_c n_l / W for a level l of N_cl rows in the class, and T - n_c t / W for a number, T its
sum over the class and t its sum over all rows. Only these c rows are formed, beside the features' own scatter.

Within classes a level varies by sum_c N_cl (n_c - N_cl) / n_c, which loses nothing to cancellation; a number by what the
classes leave of its scatter, which does where they leave little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.errors import Argument, DataError, shown
from gramian.linear.layout import Layout, layout_of
from gramian.linear.regression.targets import refuse_missing
from gramian.linear.scatter.base import Scatter
from gramian.linear.scatter.choice import scatter_of
from gramian.moments.covariance import centred_counts, level_values
from gramian.moments.value import Moments

ROUNDING = 64 * np.finfo(np.float64).eps
"""What is left of a difference of sums, relative to them, where they are equal."""


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
    counts : (c,) array
        Weight of each class.
    gaps : (c, p) array
        Class means less the overall mean, 0 where they differ by rounding.
    within_diagonal : (p,) array
        Within-class scatter of each design column, 0 where it is rounding.
    total : Scatter
        Of the design columns, over all rows.
    """

    layout: Layout
    target: str
    classes: list[Any]
    counts: Array
    gaps: Array
    within_diagonal: Array
    total: Scatter

    @property
    def weight(self) -> float:
        """Total weight."""
        return self.total.weight

    @property
    def means(self) -> Array:
        """Class means, (c, p)."""
        return self.total.mean + self.gaps

    @property
    def per_pair(self) -> float:
        """W over the number of pairs of rows from different classes: turns Fisher's ratio into the criterion J."""
        pairs = (np.square(self.weight) - np.square(self.counts).sum()) / 2
        return float(self.weight / pairs)

    @cached_property
    def rooted(self) -> Array:
        """The factor of S_between: its rows sqrt(n_c) (m_c - m), (c, p)."""
        return self.gaps * np.sqrt(self.counts)[:, None]

    def within(self) -> Array:
        """Return the lower triangle of the within-class scatter, S - S_between, in a new matrix of column order.

        What stands above the diagonal is not to be read: LAPACK reads one triangle, and filling both would take longer than
        a tenth of the factorisation.
        """
        out = np.array(self.total.dense().T, order="F")
        out = blas.dsyrk(-1.0, self.rooted, trans=1, beta=1.0, c=out, lower=1, overwrite_c=1)
        np.fill_diagonal(out, self.within_diagonal)
        # A column that is constant within every class leaves rounding behind.
        still = self.within_diagonal == 0
        if still.any():
            out[still] = 0.0
            out[:, still] = 0.0
        return out

    @cached_property
    def ratio(self) -> Array:
        """Total over within-class scatter of each design column, 1 where it does not vary within.

        By so much is the column's part of the difference S - S_between more rounded than it shows.
        """
        varies = self.within_diagonal > 0
        return np.divide(self.total.diagonal(), self.within_diagonal, out=np.ones(len(varies)), where=varies)

    def sums_along(self, weights: Array) -> tuple[Array, Array]:
        """Return the between- and within-class sums of squares of the features `x @ weights`."""
        between = self.counts @ np.square(self.gaps @ weights)
        return between, self.total.variance_along(weights) - between


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
            f"target {column!r} was collected as a number, so its classes are not known; collect it again with ",
            Argument("categorical", [column]),
        )
    layout = layout_of(moments, columns, without=[target])
    read = moments.as_categorical([target])
    labels, counts = read.levels(target), np.asarray(read.counts(target), dtype=np.float64)
    refuse_missing(read, target)
    present = [k for k in range(len(labels)) if counts[k] > 0]
    # Among numbers, `(rare)` is the one text, and stands last.
    order = sorted(present, key=lambda k: (isinstance(labels[k], str), labels[k]))
    if len(order) < 2:
        met = f"only the class {shown(labels[order[0]])}" if order else "no rows"
        raise DataError(
            f"target {target!r} has {met}: a discriminant needs two classes, it has less than 2 classes here"
        )
    counts = counts[order]
    cross, within_levels = _by_class(read, layout, target)
    total = scatter_of(moments, layout)
    diagonal = total.diagonal()
    gaps = cross[order] / counts[:, None]
    # Sums of many terms: their rounding is that of the column's own size.
    size = np.sqrt(np.where(layout.is_level, total.mean, diagonal / total.weight))
    gaps[np.abs(gaps) <= ROUNDING * size] = 0.0
    return ClassMoments(
        layout=layout,
        target=target,
        classes=[labels[k] for k in order],
        counts=counts,
        gaps=gaps,
        within_diagonal=np.where(layout.is_level, within_levels, within_scatter(diagonal, gaps, counts)),
        total=total,
    )


def within_scatter(whole: Array, gaps: Array, counts: Array) -> Array:
    """Return what the classes leave of the scatter of each column, 0 where it is rounding."""
    left = whole - counts @ np.square(gaps)
    return np.where(left > ROUNDING * whole, left, 0.0)


def _by_class(moments: Moments, layout: Layout, target: str) -> tuple[Array, Array]:
    """Return the scatter of the target's levels with the design columns, (levels, p), and that of levels within classes."""
    pairs, weight = moments.pairs, float(moments.total_weight)
    at = moments.coded_at[target]
    own = pairs.level_weights[at]
    out, within = np.empty((len(own), layout.width)), np.zeros(layout.width)
    position = {name: j for j, name in enumerate(moments.numbers.names)}
    taken = [position[name] for name, form in zip(layout.columns, layout.forms, strict=True) if form == "number"]
    if taken:
        _, deviation = moments.numbers.imputed_mean(weight)
        sums = moments.numbers.imputed_sums(moments.sums[at], weight) - np.outer(own, deviation)
        if layout.plain:
            return sums[:, taken], within
        starts = np.array(layout.starts)
        out[:, starts[[form == "number" for form in layout.forms]]] = sums[:, taken]
    for name, span, form in zip(layout.columns, layout.spans(), layout.forms, strict=True):
        if form == "number":
            continue
        k = moments.coded_at[name]
        pair_counts = pairs.block(at, k)
        counts = pair_counts.toarray() if sp.issparse(pair_counts) else pair_counts
        block = centred_counts(counts, own, pairs.level_weights[k], weight)
        out[:, span] = block if form == "category" else block @ level_values(moments, k)[1][:, None]
        if form == "category":
            others = own[:, None] - counts
            # Sums of weights in another order: that all of a class have a level is known up to rounding.
            others[others <= ROUNDING * own[:, None]] = 0.0
            within[span] = np.einsum("cl,cl->l", counts / np.where(own > 0, own, 1.0)[:, None], others)
    return out, within
