"""Running totals of level pairs: one dense matrix for the narrow columns, and sums of blocks for other pairs.

Short stretches of rows, held back to be counted together: a thread pool pays only over many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import scipy.sparse

from gramian.moments.counting import loops
from gramian.moments.counting.joint_tables import Timed
from gramian.moments.counting.plan import upper_shares
from gramian.moments.state.pair_counts import SMALL_CELLS, Block, CountType, compact, count_type


def grown(array: np.ndarray | None, shape: Sequence[int], kind: CountType) -> np.ndarray:
    """Return the array with at least this shape, zero where it is new; the array itself where it is large enough."""
    if array is None:
        return np.zeros(tuple(shape), kind)
    if all(have >= want for have, want in zip(array.shape, shape, strict=True)):
        return array
    larger: np.ndarray = np.zeros([max(have, want) for have, want in zip(array.shape, shape, strict=True)], kind)
    larger[tuple(slice(0, have) for have in array.shape)] = array
    return larger


def add_blocks(blocks: Sequence[Block], shape: tuple[int, int], kind: CountType) -> Block:
    """Return the sum of blocks of at most this shape, in the smallest form; of `kind` where there are none.

    Examples
    --------
    >>> add_blocks([np.ones((1, 2), np.int64), np.ones((2, 1), np.int64)], (2, 2), np.int64).tolist()
    [[2, 1], [1, 0]]
    """
    if len(blocks) == 1 and blocks[0].shape == shape:
        return compact(blocks[0])
    if all(isinstance(block, np.ndarray) for block in blocks) and blocks:
        total: np.ndarray = np.zeros(shape, kind)
        for block in blocks:
            total[: block.shape[0], : block.shape[1]] += block
        return compact(total)
    merged = scipy.sparse.csr_array(shape, dtype=kind)
    for block in blocks:
        sparse = scipy.sparse.csr_array(block)
        sparse.resize(shape)
        merged = merged + sparse
    merged.sum_duplicates()
    return compact(merged)


class CoreCounts:
    """A symmetric matrix of counts of all levels of some columns, that can be laid out anew as columns grow.

    Parameters
    ----------
    columns : columns in the matrix, ascending
    sizes : levels of every column, in the matrix or not
    kind : int64, or float64 for weights
    """

    def __init__(self, columns: Sequence[int], sizes: Sequence[int], kind: CountType) -> None:
        self._kind = kind
        self.columns = tuple(columns)
        self.size = {j: sizes[j] for j in columns}
        ends = np.cumsum([0] + [sizes[j] for j in columns]).tolist()
        self.place = dict(zip(columns, ends, strict=False))
        self.counts = np.zeros((ends[-1], ends[-1]), kind)

    def span(self, j: int) -> slice:
        """Return where a column stands in the matrix."""
        return slice(self.place[j], self.place[j] + self.size[j])

    def arrays(self, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (place, size) as arrays over all columns; a column not in the matrix has size 0."""
        place, size = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
        for j in self.columns:
            place[j], size[j] = self.place[j], self.size[j]
        return place, size

    def add(self, i: int, j: int, block: np.ndarray) -> None:
        """Add the counts of a pair of columns, and their transpose."""
        rows, columns = slice(self.place[i], None), slice(self.place[j], None)
        self.counts[rows, columns][: block.shape[0], : block.shape[1]] += block
        if i != j:
            self.counts[columns, rows][: block.shape[1], : block.shape[0]] += block.T

    def mirroring(self, n_threads: int) -> Iterator[Timed]:
        """Give the tasks that copy what was added above the diagonal below it."""
        n = len(self.counts)
        for start, stop in pairwise(upper_shares(n, n_threads)):
            yield float((stop - start) * (n - start)), partial(loops.mirror, self.counts, start, stop), None

    def diagonals(self) -> Iterator[tuple[int, np.ndarray]]:
        """Give each column with the counts of its levels."""
        for j in self.columns:
            yield j, self.counts[self.span(j), self.span(j)].diagonal()

    def is_laid_out(self, columns: Sequence[int], sizes: Sequence[int]) -> bool:
        """Return whether the matrix is of these columns and sizes already."""
        return tuple(columns) == self.columns and all(sizes[j] == self.size[j] for j in columns)

    def laid_out(self, columns: Sequence[int], sizes: Sequence[int]) -> CoreCounts:
        """Return the same counts for these columns and sizes; what stands outside is left behind (see `others`)."""
        if self.is_laid_out(columns, sizes):
            return self
        new = CoreCounts(columns, sizes, self._kind)
        common = [j for j in columns if j in self.place]
        if common:
            room = {j: min(self.size[j], new.size[j]) for j in common}
            source = np.concatenate([self.place[j] + np.arange(room[j]) for j in common])
            target = np.concatenate([new.place[j] + np.arange(room[j]) for j in common])
            # A column at a time: all of them at once would be one more matrix.
            for j in common:
                rows = slice(self.place[j], self.place[j] + room[j])
                new.counts[new.place[j] : new.place[j] + room[j], target] = self.counts[rows, source]
        return new

    def others(self, kept: Iterable[int]) -> Iterator[tuple[int, int, np.ndarray]]:
        """Give (i, j, counts), i <= j, for the pairs of columns of which one is not kept."""
        kept = set(kept)
        spans = {j: self.span(j) for j in self.columns}
        left = [j for j in self.columns if j not in kept]
        for n, i in enumerate(self.columns):
            rows = self.counts[spans[i]]
            for j in left if i in kept else self.columns[n:]:
                if j >= i:
                    yield i, j, rows[:, spans[j]].copy()

    def blocks(self, kept: Iterable[int]) -> Iterator[tuple[tuple[int, int], Block]]:
        """Give ((i, j), block), i < j, for the pairs of columns of which one is not kept, in the smallest form."""
        kept = set(kept)
        left = [n for n, j in enumerate(self.columns) if j not in kept]
        if not left:
            return
        spans = [self.span(j) for j in self.columns]
        starts = [span.start for span in spans]
        for n, i in enumerate(self.columns):
            rows = self.counts[spans[n]]
            chosen = [m for m in left if m > n] if i in kept else range(n + 1, len(spans))
            # The largest count of each pair in one go: asked for each by itself it costs more than the block.
            whole = self._kind is np.float64 or not rows.size
            most = [] if whole else np.maximum.reduceat(rows.max(axis=0), starts).tolist()
            for m in chosen:
                table = rows[:, spans[m]]
                if table.size > SMALL_CELLS:
                    block = compact(table.copy())
                else:
                    block = table.copy() if whole else table.astype(count_type(most[m]))
                yield (i, self.columns[m]), block


SHORT_STRETCH = 2**13
"""Rows below which a stretch is held back, and how many are held at most."""


class HeldRows:
    """Room for the rows of short stretches, in the order in which they came.

    Examples
    --------
    >>> held = HeldRows(weighted=False)
    >>> for codes in ([0, 1], [2]):
    ...     held.add([np.array(codes, np.uint16)], None, None, 0)
    >>> codes, weights, numbers = held.take()
    >>> codes[0].tolist(), weights, numbers, held.rows
    ([0, 1, 2], None, None, 0)
    """

    def __init__(self, weighted: bool) -> None:
        self.rows = 0
        self._weighted = weighted
        self._codes: list[np.ndarray] = []
        self._weights = np.empty(0)
        self._numbers = np.empty((0, 0))

    @property
    def nbytes(self) -> int:
        """Bytes of codes and numbers; 0 before the first rows."""
        return self._numbers.nbytes + sum(codes.nbytes for codes in self._codes)

    def has_room(self, rows: int) -> bool:
        """Whether so many rows more can be held."""
        return self.rows + rows <= SHORT_STRETCH

    def add(
        self, codes: Sequence[np.ndarray], weights: np.ndarray | None, numbers: np.ndarray | None, n_numbers: int
    ) -> None:
        """Hold some rows; `n_numbers` is how many numbers a row has by now, 0 where it lacks them."""
        if not self._codes:
            self._codes = [np.empty(SHORT_STRETCH, c.dtype) for c in codes]
            self._weights = np.empty(SHORT_STRETCH if self._weighted else 0)
        start, stop = self.rows, self.rows + len(codes[0])
        for j, column in enumerate(codes):
            if column.itemsize > self._codes[j].itemsize:
                self._codes[j] = self._codes[j].astype(column.dtype)
            self._codes[j][start:stop] = column
        if weights is not None:
            self._weights[start:stop] = weights
        if n_numbers:
            self._numbers = grown(self._numbers, (SHORT_STRETCH, n_numbers), np.float64)
            self._numbers[start:stop] = 0.0
            if numbers is not None:
                self._numbers[start:stop, : numbers.shape[1]] = numbers
        self.rows = stop

    def take(self) -> tuple[list[np.ndarray], np.ndarray | None, np.ndarray | None]:
        """Return codes, weights and numbers of the rows held, valid until others are; none are held then."""
        rows, self.rows = self.rows, 0
        return (
            [codes[:rows] for codes in self._codes],
            self._weights[:rows] if self._weighted else None,
            self._numbers[:rows] if self._numbers.size else None,
        )
