"""Probabilistic PCA: the Gaussian that k components and an isotropic rest describe, and the density of rows under it.

In the metric D of `gramian.linear.layout`, y = D (x - m) has covariance V diag(l) V^T + v (P - V V^T): variances l along the
components and v, `noise_variance`, in every other direction in which rows can differ. P projects onto those: a category's
indicators sum to one, so directions D^-1 1 of its levels are not among them. With d the rank of P and q_i = (V^T y)_i^2

    log p(x) = -1/2 [d log 2 pi + sum_i (log l_i + q_i / l_i) + (d - k) log v + (|y|^2 - sum_i q_i) / v] + sum_j log D_j,

the last sum over the numbers: their density is one of x, in its own units. Levels have no units, and theirs stays one of y. On
all-numeric input this is the model of scikit-learn's PCA. Where nothing is left over (v = 0) the density is that within the
components: rows that lie off their span, further than rounding takes them, have density zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.maps.frozen_encoder import Design, Rows


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """The model over the design columns.

    Attributes
    ----------
    design : Design
    components : (k, p) array
        Orthonormal, in the metric.
    metric : (p,) array
    variance : (k,) array
    noise : float
    """

    design: Design
    components: Array
    metric: Array
    variance: Array
    noise: float

    def _directions(self) -> Array:
        """Return P."""
        out = np.eye(len(self.metric))
        for column in self.design.categorical:
            span = self.design.spans[column.name]
            never = 1.0 / self.metric[span]
            out[span, span] -= np.multiply.outer(never, never) / (never @ never)
        return out

    def _combined(self, along: Array, beyond: float) -> Array:
        """Return V^T diag(along - beyond) V + beyond P."""
        out = (self.components.T * (along - beyond)) @ self.components
        return out + beyond * self._directions() if beyond else out

    def covariance(self) -> Array:
        """Return the covariance of the design columns, (p, p)."""
        return self._combined(self.variance, self.noise) / np.multiply.outer(self.metric, self.metric)

    def precision(self) -> Array:
        """Return the matrix with which (x - m)^T A (x - m) is the squared length of a row, (p, p)."""
        varies = self.variance > 0
        along = np.divide(1.0, self.variance, out=np.zeros_like(self.variance), where=varies)
        beyond = 1.0 / self.noise if self.noise > 0 else 0.0
        return self._combined(along, beyond) * np.multiply.outer(self.metric, self.metric)

    def log_density(self, rows: Rows, features: Array) -> Array:
        """Return the log density of encoded rows, whose components (x - m) D V are given as well."""
        varies = self.variance > 0
        with np.errstate(over="ignore", invalid="ignore"):
            squares, kept = np.square(features[:, varies]), self.variance[varies]
            out = squares @ (1.0 / kept) + np.log(kept).sum()
            length = self.squared_length(rows)
            if not np.isfinite(out + length).all():
                self.design.refuse_overflow(rows.numbers)
        d = len(kept)
        if self.noise > 0:
            d = len(self.metric) - len(self.design.categorical)
            left = np.maximum(length - squares.sum(axis=1), 0.0)
            out += left / self.noise + (d - len(kept)) * np.log(self.noise)
        elif d < len(self.metric) - len(self.design.categorical):
            out[self._off_support(rows, squares.sum(axis=1))] = np.inf
        units = np.log(self.metric[self.design.number_places]).sum()
        return -0.5 * (out + d * np.log(2 * np.pi)) + units

    def _off_support(self, rows: Rows, explained: Array) -> npt.NDArray[np.bool_]:
        """Whether encoded rows differ where no training row did, by more than rounding; `explained` is sum_i q_i."""
        eps, at = np.finfo(np.float64).eps, self.design.number_places
        grain = eps * np.nan_to_num(np.abs(self.design.mean) * self.metric)
        length = self.squared_length(rows)
        # Squares are subtracted, and no number is closer to its mean than the grain of floating point there.
        slack = max(len(self.metric), 64) * (eps * (length + self.variance.sum()) + grain @ grain)
        # A number that never varied is checked by itself: it may be small beside the others.
        still = at[~self.components[self.variance > 0][:, at].any(axis=0)]
        moved = np.abs(self._numbers(rows)[:, np.isin(at, still)]) > 64 * grain[still]
        return np.asarray((length - explained > slack) | moved.any(axis=1))

    def _numbers(self, rows: Rows) -> Array:
        """Return the numbers of y, missing ones at the mean."""
        at = self.design.number_places
        numbers = rows.numbers if isinstance(rows.numbers, np.ndarray) else rows.numbers.toarray()
        return np.nan_to_num((np.asarray(numbers, dtype=np.float64) - self.design.mean[at]) * self.metric[at])

    def squared_length(self, rows: Rows) -> Array:
        """Return |y|^2 of encoded rows; unseen levels and missing numbers are at the mean."""
        away = self._numbers(rows)
        out = np.einsum("ij,ij->i", away, away)
        for codes, column in zip(rows.codes, self.design.categorical, strict=True):
            span = self.design.spans[column.name]
            share, squared = self.design.mean[span], np.square(self.metric[span])
            table = squared * (1.0 - 2.0 * share) + (squared * np.square(share)).sum()
            out += np.append(table, 0.0)[codes]
        return out
