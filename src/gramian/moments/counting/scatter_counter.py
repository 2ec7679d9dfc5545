"""Adding up the second moments of numbers, chunk by chunk, at the speed of the matrix product.

A chunk of rows is turned into deviations from the anchors, centred on its own mean and multiplied out by BLAS. Chan's
correction for the distance between the chunk's mean and the mean so far, (W m / (W + m)) delta delta^T, is one more row
under the chunk, sqrt(W m / (W + m)) delta, so it rides along in the same product. Nothing is ever computed as a
difference of large sums: every product is of centred values.

Chunks are sized so that the buffer stays in cache (about 200,000 values); each thread keeps its own total and BLAS is held
to one thread, which on two cores takes no longer than one bare product over the whole matrix
(`python -m benchmarks moments --only d`).

Third to sixth powers (`moments.state.powers`) are summed about the chunk's mean while it is in cache: half a nanosecond a
value.

Sparse rows have anchors of 0, so that what is not stored needs no work, but for columns that the first rows all hold: about 0
the sum of squares of a constant column leaves rounding, about itself nothing. Its deviations are all 0, so it costs nothing
either.

Missing values are found through the sum of the chunk, which they make NaN; a chunk without them pays nothing.

Who wants more of the deviations than their scatter, sums by level for one, watches: it is shown each chunk while that is in
cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.arrays import sparse as sp
from gramian.arrays.types import Array
from gramian.design.encoder import LazyRows
from gramian.errors import DataError
from gramian.moments.state.numbers import (
    WIDE_COLUMNS,
    Numbers,
    Powers,
    anchor_near,
    merge,
    powers_of,
    powers_of_sparse,
    refuse_overflow,
)

Watch: TypeAlias = Callable[[int, int, Array, tuple[int, ...]], None]
"""`watch(worker, first_row, extended, missing)`: told of every chunk by the worker that adds it."""

CHUNK_VALUES = 200_000
# Enough for a mean to a thirtieth of the spread, and few enough to stay in cache while they are looked at: every fold looks.
ANCHOR_ROWS = 1024
FEW_COLUMNS = 16


def choose_anchors(values: Any, anchors: Array, weights: Array | None = None) -> Array:
    """Return `anchors` with those still unknown (NaN) chosen from the rows given: from the heavier of them.

    A residual divided by its weight is large where the weight is small, and an anchor there would cost the other rows digits.
    """
    if not isinstance(values, np.ndarray) and sp.issparse(values):
        return _sparse_anchors(values, anchors)
    unknown = np.flatnonzero(np.isnan(anchors))
    if not len(unknown) or not len(values):
        return anchors
    sample = np.asarray(values[:ANCHOR_ROWS][:, unknown], dtype=np.float64)
    if weights is not None:
        heavy = weights[:ANCHOR_ROWS]
        sample = sample[heavy >= heavy.mean() * (1 - 1e-9)]
    bare = np.flatnonzero(np.isnan(sample).all(axis=0))
    chosen = anchors.copy()
    chosen[unknown] = _anchors_of(sample)
    for j in unknown[bare]:
        column = np.asarray(values[:][:, j], dtype=np.float64)
        chosen[j] = _anchors_of(column[~np.isnan(column)][:ANCHOR_ROWS, None])[0]
    return chosen


def _sparse_anchors(values: sp.csr_array, anchors: Array) -> Array:
    """Return 0 for unknown anchors, unless every row of the sample holds a value."""
    chosen = np.where(np.isnan(anchors), 0.0, anchors)
    n = min(values.shape[0], ANCHOR_ROWS)
    held = np.bincount(values.indices[: values.indptr[n]], minlength=values.shape[1])
    full = np.flatnonzero(np.isnan(anchors) & (held >= max(n, 1)))
    if len(full):
        chosen[full] = _anchors_of(np.asarray(values[:n][:, full].toarray(), dtype=np.float64))
    return chosen


def _sparse_deviations(values: sp.csr_array, anchors: Array) -> sp.csr_array:
    """Return sparse rows less their anchors, 0 of which is stored."""
    moved = np.flatnonzero(anchors)
    if not len(moved):
        return values
    n = values.shape[0]
    others = values @ sp.diags_array((anchors == 0).astype(np.float64))
    deviation = (values[:, moved].toarray() - anchors[moved]).ravel()
    at = np.tile(moved, n), np.arange(n + 1) * len(moved)
    out = sp.csr_array(others + sp.csr_array((deviation, *at), shape=values.shape))
    out.eliminate_zeros()
    return out


def _anchors_of(sample: Array) -> Array:
    # Infinities are refused with the column's name once the deviations are formed; here they only must not warn.
    with np.errstate(all="ignore"):
        # A complete sample, as most are, needs no look at each value by itself; its maximum is NaN where it is not.
        start = sample.max(axis=0, initial=-np.inf)
        deviation = sample - start
        mean = deviation.sum(axis=0) / len(sample)
        if np.isfinite(mean).all():
            deviation -= mean
            return anchor_near(start + mean, np.sqrt(np.einsum("ij,ij->j", deviation, deviation) / len(sample)))
        seen = ~np.isnan(sample)
        count = seen.sum(axis=0)
        start = sample.max(axis=0, initial=-np.inf, where=seen)
        start = np.where(np.isfinite(start), start, 0.0)
        deviation = np.where(seen, sample - start, 0.0)
        mean = deviation.sum(axis=0) / count
        spread = np.sqrt((np.where(seen, deviation - mean, 0.0) ** 2).sum(axis=0) / count)
        # A constant column must be its own anchor to the bit: its mean deviation from any of its values is 0.
        return np.where(count > 0, np.where(np.isfinite(mean), anchor_near(start + mean, spread), 0.0), np.nan)


def _subtract(values: npt.NDArray, row: Array, out: Array) -> None:
    """Write `values - row`; a column at a time where columns are few, since numpy's inner loop would be as short as a row."""
    if values.shape[1] > FEW_COLUMNS:
        np.subtract(values, row, out=out)
        return
    for j, value in enumerate(row):
        np.subtract(values[:, j], value, out=out[:, j])


def deviations(
    values: npt.NDArray, anchors: Array, missing: tuple[int, ...], names: Sequence[str], out: Array | None = None
) -> tuple[Array, tuple[int, ...]]:
    """Return the extended deviations [d, u] of some rows, and the columns that have indicators.

    Parameters
    ----------
    values : (n, p) array
        NaN where missing.
    anchors : (p,) array
    missing : tuple of int
        Columns that already have an indicator, in the order of the indicators.
    names : sequence of str
        For the message where a value is infinite.
    out : array, optional
        Where the result goes if no indicator is needed that it has no room for.
    """
    n, p = values.shape
    q = p + len(missing)
    known = np.where(np.isnan(anchors), 0.0, anchors)
    out = np.empty((n, q)) if out is None else out[:n, :q]
    _subtract(values, known, out[:, :p])
    out[:, p:] = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.ones(n) @ out[:, :p]
    suspects = [int(j) for j in np.flatnonzero(~np.isfinite(sums))]
    if not suspects:
        return out, missing
    absent = np.isnan(out[:, suspects])
    for k, j in enumerate(suspects):
        if np.isinf(out[:, j]).any():
            row = int(np.flatnonzero(np.isinf(out[:, j]))[0])
            raise DataError(
                f"column {names[j]!r} holds an infinite value ({values[row, j]}); replace it with a finite number, "
                f"or with null where it means missing"
            )
        if absent[:, k].any() and j not in missing:
            missing = (*missing, j)
    if p + len(missing) > q:
        out = np.concatenate([out, np.zeros((n, p + len(missing) - q))], axis=1)
    at = {j: p + k for k, j in enumerate(missing)}
    for k, j in enumerate(suspects):
        if j in at:
            out[:, at[j]] = absent[:, k]
            out[absent[:, k], j] = 0.0
    return out, missing


def places(p: int, missing: tuple[int, ...], among: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Return where p columns and the indicators of `missing` stand in a layout that has more indicators.

    Examples
    --------
    >>> places(3, (2,), (0, 2)).tolist()
    [0, 1, 2, 4]
    """
    return np.array([*range(p), *(p + among.index(j) for j in missing)], dtype=np.intp)


# What overflows is named when the pass ends.
_overflowing = np.errstate(over="ignore", invalid="ignore")


class _Total:
    """One thread's running sums and centred scatter over extended columns."""

    def __init__(self, n_columns: int) -> None:
        self.p = n_columns
        self.missing: tuple[int, ...] = ()
        self.weight = 0.0
        self.sums = np.zeros(n_columns)
        self.scatter = np.zeros((n_columns, n_columns))
        self.powers = Powers.zero(n_columns)
        self._product = np.empty_like(self.scatter)

    def arrange(self, missing: tuple[int, ...]) -> None:
        """Lay the sums out for these indicators, those so far among them."""
        if missing == self.missing:
            return
        width, at = self.p + len(missing), places(self.p, self.missing, missing)
        sums, scatter = np.zeros(width), np.zeros((width, width))
        sums[at] = self.sums
        scatter[np.ix_(at, at)] = self.scatter
        self.sums, self.scatter, self.missing = sums, scatter, missing
        self._product = np.empty_like(scatter)

    @_overflowing
    def push(self, rows: Array, buffer: Array, weights: Array | None) -> None:
        """Add rows; `buffer`, which may hold them already, has room for one more and is overwritten."""
        n = len(rows)
        chunk = buffer[:n]
        weight = float(n) if weights is None else float(weights.sum())
        sums = (np.ones(n) if weights is None else weights) @ rows
        mean = sums / weight
        self.powers += powers_of(rows, sums, self.p, self.missing, weights)
        _subtract(rows, mean, chunk)
        if weights is not None:
            chunk *= np.sqrt(weights)[:, None]
        if self.weight:
            np.subtract(self.sums / self.weight, mean, out=buffer[n])
            buffer[n] *= np.sqrt(self.weight / (self.weight + weight) * weight)
            n += 1
        np.matmul(buffer[:n].T, buffer[:n], out=self._product)
        self.scatter += self._product
        self.sums += sums
        self.weight += weight

    @_overflowing
    def add_sparse(self, chunk: sp.csr_array, weights: Array | None) -> None:
        """Add rows of deviations, through the sparse product."""
        n = chunk.shape[0]
        weight = float(n) if weights is None else float(weights.sum())
        sums = (np.ones(n) if weights is None else weights) @ chunk
        weighted = chunk if weights is None else sp.csr_array(chunk.multiply(weights[:, None]))
        product = (chunk.T @ weighted).toarray()
        # About 0, where sparse columns have most of their rows, the square of the mean is small beside the scatter.
        product -= np.outer(sums, sums / weight)
        gap = (self.sums / self.weight if self.weight else 0.0) - sums / weight
        product += (self.weight / (self.weight + weight) * weight) * np.outer(gap, gap)
        self.scatter += product
        self.powers += powers_of_sparse(chunk, weights)
        self.sums += sums
        self.weight += weight

    def value(self, names: tuple[str, ...], anchors: Array) -> Numbers:
        order = np.argsort(self.missing)
        take = np.concatenate([np.arange(self.p), self.p + order]).astype(np.intp)
        upper = self.scatter[np.ix_(take, take)]
        # One thread's products are symmetric only to rounding.
        scatter = (upper + upper.T) / 2
        return Numbers(names, anchors, tuple(sorted(self.missing)), self.sums[take], self.powers.sums[1:], scatter)


class ScatterCounter:
    """Accumulates `Numbers` over stretches of rows.

    Parameters
    ----------
    names : sequence of str
        The numeric columns.
    executor : Executor
        Pool of `n_threads` threads.
    reserve : callable
        Told the bytes about to be held before they are allocated; raises where they are too many.
    """

    def __init__(
        self, names: Sequence[str], *, executor: Executor, n_threads: int, reserve: Callable[[int], None]
    ) -> None:
        self.names = tuple(names)
        self.anchors = np.full(len(self.names), np.nan)
        self.missing: tuple[int, ...] = ()
        self._executor, self._n_threads, self._reserve = executor, n_threads, reserve
        self._totals: list[_Total] = []
        self._wide = Numbers.empty(self.names)
        self._wide_weight = 0.0

    def _multiply_out(self) -> None:
        """Make room for dense scatters: two a thread, the total and the product of the chunk at hand."""
        if not self._totals:
            self._reserve(16 * len(self.names) ** 2 * self._n_threads)
            self._totals = [_Total(len(self.names)) for _ in range(self._n_threads)]

    def _stays_wide(self, n: int) -> bool:
        """Whether n more rows can be kept as rows."""
        if self._totals or len(self.names) < WIDE_COLUMNS or self._wide.rows is None:
            return False
        return n + len(self._wide.rows) < len(self.names)

    def extend(self, values: npt.NDArray, weights: Array | None = None) -> Array:
        """Return the extended deviations of a stretch, fixing anchors and indicators as it goes."""
        self.anchors = choose_anchors(values, self.anchors, weights)
        met = dict.fromkeys(j for total in self._totals for j in total.missing)
        self.missing = tuple(dict.fromkeys([*self.missing, *met]))
        extended, self.missing = deviations(values, self.anchors, self.missing, self.names)
        return extended

    def add_extended(self, extended: Array, weights: Array | None = None) -> None:
        """Add rows that `extend` has prepared."""
        self._add(extended, weights, prepared=True)

    def add(self, values: Any, weights: Array | None = None, watch: Watch | None = None) -> None:
        """Add rows of raw values, NaN where missing.

        Parameters
        ----------
        values : array, LazyRows or csr_array
        weights : array, optional
        watch : callable, optional
            See `Watch`; not for sparse rows, whose deviations are never formed.
        """
        if sp.issparse(values):
            self._add_sparse(values, weights)
            return
        self.anchors = choose_anchors(values, self.anchors, weights)
        self._add(values, weights, prepared=False, watch=watch)

    def _add(self, values: Any, weights: Array | None, *, prepared: bool, watch: Watch | None = None) -> None:
        n = len(values)
        if not n:
            return
        if self._stays_wide(n):
            self._add_wide(values[:], weights, prepared, watch)
            return
        self._multiply_out()
        most = max(CHUNK_VALUES // values.shape[1], min(values.shape[1], 4096), 1)
        workers = min(len(self._totals), -(-n // most))
        # Alike, and as many for each thread: a fold's few chunks would otherwise leave one thread waiting.
        per_chunk = -(-n // (workers * -(-n // (workers * most))))
        starts = range(0, n, per_chunk)
        if len(self._totals) == 1:
            # In the thread that asks: it may be one of the pool's own.
            self._run(0, values, weights, starts, per_chunk, prepared, watch)
            return
        tasks = [
            self._executor.submit(self._run, k, values, weights, starts[k::workers], per_chunk, prepared, watch)
            for k in range(workers)
        ]
        for task in tasks:
            task.result()

    def _run(
        self,
        worker: int,
        values: Any,
        weights: Array | None,
        starts: range,
        per_chunk: int,
        prepared: bool,
        watch: Watch | None,
    ) -> None:
        total = self._totals[worker]
        buffer = np.empty((per_chunk + 1, len(total.sums)))
        for start in starts:
            at = slice(start, start + per_chunk)
            part = values.copied(at, buffer) if isinstance(values, LazyRows) else values[at]
            share = None if weights is None else weights[start : start + per_chunk]
            if prepared:
                missing = self.missing
            else:
                extended, missing = deviations(part, self.anchors, total.missing, self.names, buffer)
            if watch is not None:
                watch(worker, start, extended, missing)
            total.arrange(missing)
            if buffer.shape[1] != len(total.sums):
                buffer = np.empty((per_chunk + 1, len(total.sums)))
            total.push(part if prepared else extended, buffer, share)

    def _add_wide(self, values: npt.NDArray, weights: Array | None, prepared: bool, watch: Watch | None) -> None:
        """Keep a few rows of many columns as rows; `merge` multiplies them out once they are too many."""
        extended, missing = (values, self.missing) if prepared else deviations(values, self.anchors, (), self.names)
        if watch is not None:
            watch(0, 0, extended, missing)
        weight = float(len(values)) if weights is None else float(weights.sum())
        sums = (np.ones(len(values)) if weights is None else weights) @ extended
        rows = extended - sums / weight
        powers = powers_of(extended, sums, len(self.names), missing, weights).sums[1:]
        if weights is not None:
            rows *= np.sqrt(weights)[:, None]
        p = len(self.names)
        take = np.concatenate([np.arange(p), p + np.argsort(missing)]).astype(np.intp)
        block = Numbers(self.names, self.anchors, tuple(sorted(missing)), sums[take], powers, None, rows[:, take])
        self._wide = merge(self._wide, self._wide_weight, block, weight)
        self._wide_weight += weight

    def _add_sparse(self, values: sp.csr_array, weights: Array | None) -> None:
        n, p = values.shape
        self.anchors = choose_anchors(values, self.anchors)
        finite = np.isfinite(values.data).all()
        wide = self._stays_wide(n)
        # The sparse product takes about 4 ns per pair of stored values of a row; BLAS about 0.05 ns a pair of columns.
        pairs = float((np.diff(values.indptr).astype(np.float64) ** 2).sum())
        if finite and not wide and 4.0 * pairs < 0.05 * n * p * p:
            self._multiply_out()
            if not self._totals[0].missing:
                self._totals[0].add_sparse(_sparse_deviations(values, self.anchors), weights)
                return
        step = n if wide else max(1, 8 * CHUNK_VALUES // max(p, 1))
        for start in range(0, n, step):
            share = None if weights is None else weights[start : start + step]
            self._add(values[start : start + step].toarray(), share, prepared=False)

    @_overflowing
    def result(self) -> tuple[Numbers, float]:
        """Return the moments of every row added, and their weight."""
        total, weight = self._wide, self._wide_weight
        for part in self._totals:
            if part.weight:
                total = merge(total, weight, part.value(self.names, self.anchors), part.weight)
                weight += part.weight
        return refuse_overflow(total), weight
