"""`SquaredLength`: how far out a row lies in an embedding, its squared length there.

The features of a row are a sum over its columns, z = sum_j z_j (the tables of a `Projection` are centred, so an unseen level
and a missing number have z_j = 0), and so |z|^2 = sum_j |z_j|^2 + sum_{j<k} 2 z_j . z_k is a sum over values and pairs of
values. Where all features are kept it is the Mahalanobis distance of the row.

The score is bounded: beyond `SquaredLength.bound` a longer row is no odder. Such a row is explained as the one of that length
in its direction, so that what its values add still adds up to its score.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.maps.frozen_encoder import Design, Rows
from gramian.maps.projection import Projection

FARTHEST = 1e3
"""Standard deviations of a number up to which a longer row is odder: a bound, so that unseen levels can stand above it."""

BLOCK_CELLS = 2**22
"""Features held at a time."""


@dataclass(frozen=True, eq=False)
class SquaredLength:
    """A fitted score, ready to apply to encoded rows.

    Attributes
    ----------
    projection : Projection
        Rows to their features.
    scale : (q,) array
        Standard deviations of the numbers.
    penalty : float
        Added for each unseen level.
    """

    projection: Projection
    scale: Array
    penalty: float = 0.0

    @property
    def design(self) -> Design:
        """What is read."""
        return self.projection.design

    def with_penalty(self, penalty: float | None) -> SquaredLength:
        """Return the same score with another penalty; None puts each unseen level above all rows that have one less."""
        return replace(self, penalty=self.bound + 1.0 if penalty is None else float(penalty))

    @cached_property
    def _tables(self) -> list[Array]:
        """The features of each level of each categorical column, and zeros for an unseen one."""
        tables = []
        for column in self.design.categorical:
            span = self.design.spans[column.name]
            weights = self.projection.weights[span]
            tables.append(np.vstack([weights - self.design.mean[span] @ weights, np.zeros(weights.shape[1])]))
        return tables

    @cached_property
    def bound(self) -> float:
        """What no row without unseen levels exceeds: beyond, longer is no odder."""
        longest = sum(float(np.sqrt(np.square(table).sum(axis=1).max())) for table in self._tables)
        by_number = np.sqrt(np.square(self.projection.weights[self.design.number_places]).sum(axis=1))
        return float(longest + FARTHEST * (by_number @ self.scale)) ** 2

    def apply(self, rows: Iterable[Rows]) -> Array:
        """Return the score of all rows, (n,)."""
        return np.concatenate([np.empty(0), *(self.apply_rows(part) for part in rows)])

    def apply_rows(self, rows: Rows) -> Array:
        """Return the score of some encoded rows."""
        out = np.empty(len(rows))
        step = max(1, BLOCK_CELLS // max(1, self.projection.n_features))
        for start in range(0, len(rows), step):
            part = Rows(rows.codes[:, start : start + step], rows.numbers[start : start + step])
            features = self.projection.apply_rows(part)
            with np.errstate(over="ignore"):
                out[start : start + step] = np.einsum("ij,ij->i", features, features)
        np.minimum(out, self.bound, out=out)
        for k, table in enumerate(self._tables):
            out += self.penalty * (rows.codes[k] == len(table) - 1)
        return out

    def _shortening(self, parts: Array) -> Array:
        """Return by what each row is to be multiplied to lie within the bound, (n,); 1 where it does."""
        # In units of the largest entry of a row, whose square may be beyond floating point.
        unit = np.abs(parts).max(axis=(1, 2), initial=0.0)
        unit = np.where(unit > 0, unit, 1.0)
        length = np.linalg.norm((parts / unit[:, None, None]).sum(axis=1), axis=1)
        longest = np.sqrt(self.bound) / unit
        return np.where(length > longest, longest / np.where(length > 0, length, 1.0), 1.0)

    def terms(self, rows: Rows) -> Array:
        """Return what each value (on the diagonal) and pair (above it) of each row adds, (n, c + q, c + q)."""
        c, q = len(self._tables), len(self.design.numeric)
        parts = np.empty((len(rows), c + q, self.projection.n_features))
        for k, table in enumerate(self._tables):
            parts[:, k] = table[rows.codes[k]]
        if q:
            values = rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers
            places = self.design.number_places
            centred = np.nan_to_num(values - np.nan_to_num(self.design.mean[places], nan=0.0), nan=0.0)
            parts[:, c:] = centred[:, :, None] * self.projection.weights[places]
        parts *= self._shortening(parts)[:, None, None]
        products = parts @ parts.transpose(0, 2, 1)
        out = np.triu(2.0 * products, 1)
        own = np.arange(c + q)
        out[:, own, own] = products[:, own, own]
        for k, table in enumerate(self._tables):
            out[:, k, k] += self.penalty * (rows.codes[k] == len(table) - 1)
        return np.asarray(out)
