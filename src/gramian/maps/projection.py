"""`Projection`: an affine map from rows to features, stored as one table per column.

With m the means of the design columns and W (p, k) the weights, the features of a row x are

    z = offset + (x - m)^T W = offset + sum_c T_c[level of c] + sum_j (x_j - m_j) W_j,
    T_c[l] = W_l - sum_{l' in c} m_{l'} W_{l'}.

The tables are centred, so a level never seen contributes a row of zeros: it sits at the mean, as a missing number does, and
no row's features depend on its neighbours.

No one-hot matrix is formed. With the tables of all columns stacked into one, the loop gathers one row of weights per column
and adds it; the sum of a row stays in cache until it is written, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.threads import in_threads
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.compiling import kernel
from gramian.maps.fitted_design import Design, Rows


def _gather_add(codes, starts, table, out):  # type: ignore[no-untyped-def]
    n_columns, n_features = codes.shape[0], table.shape[1]
    for i in range(codes.shape[1]):
        for c in range(n_columns):
            row = starts[c] + codes[c, i]
            for f in range(n_features):
                out[i, f] += table[row, f]


gather_add = {
    (code, value): kernel(f"void({code}[:,::1], int64[::1], {value}[:,::1], {value}[:,::1])")(_gather_add)
    for code in ("uint16", "uint32")
    for value in ("float64", "float32")
}
"""By code and value type: add to `out` (n, k) the weights of `codes` (columns, n) in `table`, column c from row `starts[c]`."""


BLOCK_ROWS = 2**13
"""Rows a thread takes at a time: their codes stay in cache between fusing and gathering."""

FUSED_ROWS = 2**11
"""Combinations of levels that a group of columns may have."""

FUSED_CELLS = 2**24
"""Sums that the tables of all groups may hold, 128 MB: a thousand features of a thousand columns fuse fewer columns each."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Weights over design columns, ready to apply.

    Attributes
    ----------
    design : Design
        What is read.
    weights : (p, k) array
    offset : (k,) array
    inverse : (k, p) array or None
        The way back: `(z - offset) @ inverse + mean`.
    """

    design: Design
    weights: Array
    offset: Array
    inverse: Array | None = None

    def __post_init__(self) -> None:
        # BLAS rounds differently in another memory order; with one order a model read from a file answers to the bit.
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights))
        if self.inverse is not None:
            object.__setattr__(self, "inverse", np.ascontiguousarray(self.inverse))

    @property
    def n_features(self) -> int:
        """Number of features, k."""
        return int(self.weights.shape[1])

    @cached_property
    def tables(self) -> list[Array]:
        """Centred tables of the categorical columns, each with a row of zeros after its levels."""
        tables = []
        for column in self.design.categorical:
            span = self.design.spans[column.name]
            block = self.weights[span] - self.design.mean[span] @ self.weights[span]
            tables.append(np.vstack([block, np.zeros(self.n_features)]))
        return tables

    @cached_property
    def _fused(self) -> tuple[list[list[int]], npt.NDArray[np.int64], Array]:
        """Columns in groups, where each group starts in the stacked table, and that table.

        A group of small columns is read as one column whose levels are their combinations and whose table holds the sums:
        fewer rows to gather for the same result. Groups are filled in order of size while the table stays in cache.
        """
        tables, most = self.tables, FUSED_ROWS
        groups = _groups(tables, most)
        while most > 1 and self.n_features * sum(_combinations(tables, group) for group in groups) > FUSED_CELLS:
            most //= 2
            groups = _groups(tables, most)
        stacked = []
        for group in groups:
            sums = tables[group[0]]
            for c in group[1:]:
                sums = (sums[:, None] + tables[c][None]).reshape(len(sums) * len(tables[c]), self.n_features)
            stacked.append(sums)
        starts = np.cumsum([0, *(len(sums) for sums in stacked)])[:-1].astype(np.int64)
        return groups, starts, np.concatenate(stacked)

    def _fuse(self, codes: npt.NDArray) -> npt.NDArray:
        """Return the codes of the groups, (groups, n), in mixed radix."""
        groups, _, _ = self._fused
        out = np.empty((len(groups), codes.shape[1]), dtype=codes.dtype)
        for g, group in enumerate(groups):
            out[g] = codes[group[0]]
            for c in group[1:]:
                out[g] *= len(self.tables[c])
                out[g] += codes[c]
        return out

    def apply(self, rows: Iterable[Rows], dtype: Any = np.float64, n_rows: int | None = None) -> npt.NDArray:
        """Return the features of all rows, (n, k), written where they belong if `n_rows` is known beforehand."""
        if n_rows is None:
            parts = [self.apply_rows(part, dtype) for part in rows]
            return np.concatenate(parts) if parts else np.empty((0, self.n_features), dtype=dtype)
        out = np.empty((n_rows, self.n_features), dtype=dtype)
        start = 0
        for part in rows:
            self.apply_rows(part, out=out[start : start + len(part)])
            start += len(part)
        return out[:start]

    def apply_rows(self, rows: Rows, dtype: Any = np.float64, out: npt.NDArray | None = None) -> npt.NDArray:
        """Return the features of some encoded rows, written to `out` where it is given."""
        if out is None:
            out = np.empty((len(rows), self.n_features), dtype=dtype)
        if len(rows.codes):
            kernel = gather_add[rows.codes.dtype.name, out.dtype.name]
            _, table_starts, table = self._fused
            table = np.ascontiguousarray(table, dtype=out.dtype)

            def gather(start: int) -> None:
                block = out[start : start + BLOCK_ROWS]
                block[:] = self.offset
                kernel(self._fuse(rows.codes[:, start : start + BLOCK_ROWS]), table_starts, table, block)

            in_threads(gather, range(0, len(rows), BLOCK_ROWS))
        else:
            out[:] = self.offset
        if self.design.numeric:
            places = self.design.number_places
            weights = self.weights[places].astype(out.dtype, copy=False)
            self._add_numbers(rows.numbers, weights, self.design.mean[places], out)
        return out

    @np.errstate(over="ignore", invalid="ignore")
    def _add_numbers(self, numbers: Any, weights: npt.NDArray, mean: Array, out: npt.NDArray) -> None:
        """Add `(x - mean) @ weights`; centred before the product, so that large offsets do not cancel after it."""
        known = np.where(np.isnan(mean), 0.0, mean)
        if sp.issparse(numbers) and not np.isnan(numbers.data).any():
            out += (numbers @ weights) - known @ weights
            self._refuse_overflow(out, numbers)
            return
        step = max(1, 2**18 // max(numbers.shape[1], 1))
        for start in range(0, len(out), step):
            part = numbers[start : start + step]
            part = part.toarray() if sp.issparse(part) else part
            centred = np.subtract(part, known)
            if np.isnan(centred.sum()):
                centred[np.isnan(centred)] = 0.0
            features = out[start : start + step]
            features += centred.astype(out.dtype, copy=False) @ weights
            self._refuse_overflow(features, part)

    def _refuse_overflow(self, features: npt.NDArray, numbers: Any) -> None:
        """Raise where features are beyond floating point."""
        # Their sum is enough where it is a number.
        if not (np.isfinite(features.sum()) or np.isfinite(features).all()):
            self.design.refuse_overflow(numbers)

    def to_design(self, features: npt.NDArray) -> Array:
        """Return features mapped back to design columns, (n, p)."""
        if self.inverse is None:
            raise NotImplementedError("this projection has no way back")
        expanded = (np.asarray(features, dtype=np.float64) - self.offset) @ self.inverse + self.design.mean
        return self.design.as_given(expanded)

    def to_columns(self, features: npt.NDArray, dtype: Any = np.float64) -> dict[str, Any]:
        """Return features mapped back to the columns of the design: numbers, and the most likely level."""
        expanded = self.to_design(features)
        columns: dict[str, Any] = {}
        labels = iter(self.design.labels)
        for column in self.design.columns:
            block = expanded[:, self.design.spans[column.name]]
            if column.form == "category":
                columns[column.name] = next(labels).column().take(pa.array(block.argmax(axis=1)))
            else:
                columns[column.name] = block[:, 0].astype(dtype)
        return columns

    def loadings(self, feature_names: Iterable[str]) -> dict[str, list[Any]]:
        """Return one row a design column and feature: column, level (None for a number), feature, weight."""
        columns: list[str] = []
        levels: list[Any] = []
        labels = iter(self.design.labels)
        for column in self.design.columns:
            names = next(labels).names() if column.form == "category" else [None]
            columns += [column.name] * len(names)
            levels += names
        features = list(feature_names)
        return {
            "column": columns * len(features),
            "level": levels * len(features),
            "feature": [feature for feature in features for _ in columns],
            "weight": self.weights.T.ravel().tolist(),
        }


def _groups(tables: list[Array], most: int) -> list[list[int]]:
    """Return columns in groups, the smallest first, of at most so many combinations where a group has several."""
    groups: list[list[int]] = []
    combinations = 0
    for c in sorted(range(len(tables)), key=lambda c: len(tables[c])):
        combinations *= len(tables[c])
        if groups and combinations <= most:
            groups[-1].append(c)
        else:
            groups.append([c])
            combinations = len(tables[c])
    return groups


def _combinations(tables: list[Array], group: list[int]) -> int:
    return int(np.prod([len(tables[c]) for c in group]))
