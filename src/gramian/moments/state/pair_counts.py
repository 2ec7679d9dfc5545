"""Exact counts of every pair of levels, as one value.

For one-hot columns the Gram matrix *is* the table of pair counts: `(X^T X)_ab = #{rows with levels a and b}`. Two
columns of the same source column never meet, so its diagonal blocks are diagonal. Stored here:

- the counts among *narrow* columns as one dense symmetric matrix (a few thousand levels in all), because hundreds of
  small columns make tens of thousands of pairs, and an array each would cost more than the counting;
- every pair with a *wide* column as a block of its own, dense or sparse (distinct pairs only), whichever is smaller.

Whatever happens to levels afterwards (aligning two codebooks, pooling, dropping) is `A^T N A` with a 0/1 matrix `A`
that has one 1 a row at most: `transform` applies it, exactly, in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np
import scipy.sparse as sp

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.moments.state.narrow import Block, block_bytes, compact, narrow_columns, refuse_many_tables, summable


def remap_block(block: Block, row_map: Array, col_map: Array, shape: tuple[int, int]) -> Block:
    """Return `A^T N B` for 0/1 maps given as new codes, -1 where a level is dropped."""
    coo = sp.coo_array(summable(block))
    rows, cols = row_map[coo.coords[0]], col_map[coo.coords[1]]
    kept = (rows >= 0) & (cols >= 0)
    out = sp.csr_array((coo.data[kept], (rows[kept], cols[kept])), shape=shape)
    out.sum_duplicates()
    out.eliminate_zeros()
    return compact(out)


def _pairs_touching(some: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs i < j of `count` columns of which at least one is in `some`."""
    chosen = set(some)
    for k in some:
        yield from ((min(k, j), max(k, j)) for j in range(count) if j > k or j not in chosen)


def _sum_by_code(values: Array, codes: Array, size: int) -> Array:
    out = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    kept = codes >= 0
    np.add.at(out, codes[kept], values[kept])
    return out


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts per level and per pair of levels of the columns collected by level.

    Attributes
    ----------
    level_rows : list of int64 arrays
        Rows of each level, a column each.
    level_weights : list of arrays
        Their weights: the same arrays where no weights were given, float64 otherwise.
    narrow : tuple of int
        The columns whose pairs are in `matrix`, ascending: `narrow_columns` of the level counts.
    matrix : (P, P) array
        Pair counts among the levels of the narrow columns, stacked in order.
    blocks : dict
        `(i, j)`, i < j, with at least one wide column: the pair's own table, in the form `block_forms` gives it.
    """

    level_rows: list[Array] = field(default_factory=list)
    level_weights: list[Array] = field(default_factory=list)
    narrow: tuple[int, ...] = ()
    matrix: Array = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    blocks: dict[tuple[int, int], Block] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """Number of levels, a column each."""
        return [len(rows) for rows in self.level_rows]

    @property
    def weighted(self) -> bool:
        """Whether the counts are sums of weights."""
        return self.matrix.dtype.kind == "f"

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held = {id(array): array.nbytes for array in (*self.level_rows, *self.level_weights)}
        return int(self.matrix.nbytes + sum(held.values()) + sum(map(block_bytes, self.blocks.values())))

    def offsets(self) -> dict[int, int]:
        """Return where each narrow column starts in `matrix`."""
        return {j: span.start for j, span in self._spans.items()}

    @cached_property
    def _spans(self) -> dict[int, slice]:
        """Where each narrow column lies in `matrix`: kept, as a table is asked for half a million times in wide tables."""
        stops = np.cumsum([len(self.level_rows[j]) for j in self.narrow], dtype=np.int64).tolist()
        return {j: slice(a, b) for j, a, b in zip(self.narrow, [0, *stops], stops, strict=False)}

    def block(self, i: int, j: int) -> Block:
        """Return the table of columns i and j, levels of i in rows."""
        if i == j:
            own = self.level_weights[i]
            return sp.csr_array(sp.diags_array(own, dtype=own.dtype))
        if (min(i, j), max(i, j)) in self.blocks:
            stored = self.blocks[min(i, j), max(i, j)]
            return stored if i < j else stored.T.tocsr() if sp.issparse(stored) else stored.T
        return self.matrix[self._spans[i], self._spans[j]]

    def transform(self, columns: Sequence[int], maps: Sequence[Array | None], sizes: Sequence[int]) -> PairCounts:
        """Return the counts of `columns` alone, in that order, each with its levels mapped to new codes.

        Parameters
        ----------
        columns : sequence of int
            Old column numbers, in the new order.
        maps : sequence
            For each of them the new code of every old level, -1 to drop it; None keeps codes as they are.
        sizes : sequence of int
            For each of them the new number of levels.
        """
        old_sizes = self.sizes
        same = all(m is None for m in maps) and list(columns) == list(range(len(old_sizes)))
        if same and self.narrow == narrow_columns(list(sizes)):
            return self
        full = [np.arange(old_sizes[c]) if m is None else m for c, m in zip(columns, maps, strict=True)]
        level_rows = [_sum_by_code(self.level_rows[c], m, s) for c, m, s in zip(columns, full, sizes, strict=True)]
        level_weights = level_rows
        if self.weighted:
            level_weights = [
                _sum_by_code(self.level_weights[c], m, s) for c, m, s in zip(columns, full, sizes, strict=True)
            ]
        refuse_many_tables(sizes)
        narrow = narrow_columns(list(sizes))
        starts = np.cumsum([0, *(sizes[k] for k in narrow)])
        start_of = {k: int(starts[position]) for position, k in enumerate(narrow)}
        matrix = np.zeros((int(starts[-1]), int(starts[-1])), dtype=self.matrix.dtype)

        was_narrow = set(self.narrow)
        stayed = [k for k in narrow if columns[k] in was_narrow]
        self._move_narrow(
            [columns[k] for k in stayed], [full[k] for k in stayed], [start_of[k] for k in stayed], matrix
        )

        blocks: dict[tuple[int, int], Block] = {}
        kept = set(stayed)
        apart = [k for k in range(len(columns)) if k not in kept]
        for k in apart:
            if k in start_of:
                at = start_of[k] + np.arange(sizes[k])
                matrix[at, at] = level_weights[k]
        for i, j in _pairs_touching(apart, len(columns)):
            a, b = columns[i], columns[j]
            old = self.block(a, b)
            unchanged = maps[i] is None and maps[j] is None
            new = compact(old) if unchanged else remap_block(old, full[i], full[j], (sizes[i], sizes[j]))
            if i in start_of and j in start_of:
                dense = new.toarray() if sp.issparse(new) else new
                a, b = start_of[i], start_of[j]
                matrix[a : a + sizes[i], b : b + sizes[j]] = dense
                matrix[b : b + sizes[j], a : a + sizes[i]] = dense.T
            else:
                blocks[i, j] = new
        return PairCounts(level_rows, level_weights, narrow, matrix, blocks)

    def _move_narrow(self, columns: list[int], maps: list[Array], starts: list[int], out: Array) -> None:
        """Write the mapped counts among `columns`, all narrow before and after, into `out`."""
        if not columns:
            return
        at, sizes = self.offsets(), self.sizes
        old = np.concatenate([at[c] + np.arange(sizes[c]) for c in columns])
        new = np.concatenate([np.where(m >= 0, start + m, -1) for m, start in zip(maps, starts, strict=True)])
        old, new = old[new >= 0], new[new >= 0]
        counts = self.matrix[np.ix_(old, old)]
        if len(np.unique(new)) == len(new):
            out[np.ix_(new, new)] = counts
            return
        fold = sp.csr_array((np.ones(len(new), dtype=counts.dtype), (new, np.arange(len(new)))), (len(out), len(new)))
        out += fold @ (fold @ counts).T

    def _combine(self, other: PairCounts, sign: int) -> PairCounts:
        level_rows = [a + sign * b for a, b in zip(self.level_rows, other.level_rows, strict=True)]
        level_weights = level_rows
        if self.weighted or other.weighted:
            level_weights = [a + sign * b for a, b in zip(self.level_weights, other.level_weights, strict=True)]
            level_weights = [np.asarray(w, dtype=np.float64) for w in level_weights]
        blocks = {pair: _combined(mine, other.blocks[pair], sign) for pair, mine in self.blocks.items()}
        matrix = self.matrix + other.matrix if sign > 0 else self.matrix - other.matrix
        return PairCounts(level_rows, level_weights, self.narrow, matrix, blocks)

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the counts of both, whose levels are already the same."""
        return self._combine(other, 1)

    @staticmethod
    def total(parts: Sequence[PairCounts]) -> PairCounts:
        """Return the counts of all, whose levels are already the same: the matrices are read once each.

        One block is added up after the other, so that beside the parts and their sum no more than one is there twice.
        """
        matrix = np.empty(parts[0].matrix.shape, np.result_type(*(part.matrix for part in parts)))
        for tile in row_blocks(matrix, CACHED_BYTES):
            matrix[tile] = parts[0].matrix[tile]
            for part in parts[1:]:
                matrix[tile] += part.matrix[tile]
        none = np.zeros((0, 0), dtype=matrix.dtype)
        blocks = {pair: reduce(_combined, (part.blocks[pair] for part in parts)) for pair in parts[0].blocks}
        return replace(
            reduce(add, (replace(part, matrix=none, blocks={}) for part in parts)), matrix=matrix, blocks=blocks
        )

    def __sub__(self, other: PairCounts) -> PairCounts:
        """Return the counts without those of `other`, whose levels are already the same."""
        return self._combine(other, -1)

    def scale(self, factor: float) -> PairCounts:
        """Return the counts with every weight multiplied; rows stay rows."""
        weights = [w * float(factor) for w in self.level_weights]
        blocks = {pair: block * float(factor) for pair, block in self.blocks.items()}
        return PairCounts(self.level_rows, weights, self.narrow, self.matrix * float(factor), blocks)

    def lowest_pair(self) -> tuple[float, tuple[int, int], tuple[int, int]] | None:
        """Return the smallest count below 0 with the (column, level) it belongs to on either side, None where there is none.

        Counts fall below 0 only where something was taken away that was never there.
        """
        lowest: list[tuple[float, tuple[int, int], tuple[int, int]]] = []
        if self.matrix.size and self.matrix.min() < 0:
            owner = [(j, level) for j in self.narrow for level in range(self.sizes[j])]
            a, b = np.unravel_index(int(self.matrix.argmin()), self.matrix.shape)
            lowest.append((float(self.matrix[a, b]), owner[int(a)], owner[int(b)]))
        for (i, j), block in self.blocks.items():
            coo = sp.coo_array(block)
            if coo.nnz and coo.data.min() < 0:
                at = int(coo.data.argmin())
                lowest.append((float(coo.data[at]), (i, int(coo.coords[0][at])), (j, int(coo.coords[1][at]))))
        return min(lowest, default=None)

    def clip(self) -> PairCounts:
        """Return the counts without the negative dust that rounding leaves of weights."""
        blocks: dict[tuple[int, int], Block] = {}
        for pair, block in self.blocks.items():
            if sp.issparse(block):
                block = block.copy()
                block.data = np.maximum(block.data, 0)
                block.eliminate_zeros()
                blocks[pair] = block
            else:
                blocks[pair] = np.maximum(block, 0)
        weights = [np.maximum(w, 0) for w in self.level_weights]
        return PairCounts(self.level_rows, weights, self.narrow, np.maximum(self.matrix, 0), blocks)

    def equals(self, other: PairCounts) -> bool:
        """Whether every count is the same, levels being in the same order."""
        if self.sizes != other.sizes or self.weighted != other.weighted:
            return False
        if not all(map(np.array_equal, self.level_rows, other.level_rows)):
            return False
        if not all(map(np.array_equal, self.level_weights, other.level_weights)):
            return False
        if not np.array_equal(self.matrix, other.matrix):
            return False
        return all(_same(block, other.blocks[pair], exact=True) for pair, block in self.blocks.items())

    def isclose(self, other: PairCounts, rtol: float) -> bool:
        """Whether rows are equal and weights agree to a share `rtol` of the largest."""
        if self.sizes != other.sizes or not all(map(np.array_equal, self.level_rows, other.level_rows)):
            return False
        atol = rtol * max([float(np.max(w, initial=0)) for w in self.level_weights], default=0.0)
        if not np.allclose(self.matrix, other.matrix, rtol=rtol, atol=atol):
            return False
        return all(
            _same(block, other.blocks[pair], exact=False, rtol=rtol, atol=atol) for pair, block in self.blocks.items()
        )


def _combined(mine: Block, theirs: Block, sign: int = 1) -> Block:
    """Return the sum of two blocks of one pair, or their difference, in the smallest form."""
    mine, theirs = summable(mine, twice=True), summable(theirs, twice=True)
    if sp.issparse(mine) != sp.issparse(theirs):
        mine, theirs = sp.csr_array(mine), sp.csr_array(theirs)
    total = mine + theirs if sign > 0 else mine - theirs
    if sp.issparse(total):
        total = sp.csr_array(total)
        total.eliminate_zeros()
        total.sort_indices()
    return compact(total)


def _same(a: Block, b: Block, *, exact: bool, rtol: float = 0.0, atol: float = 0.0) -> bool:
    if not sp.issparse(a) and not sp.issparse(b):
        return bool(np.array_equal(a, b) if exact else np.allclose(a, b, rtol=rtol, atol=atol))
    other = sp.csr_array(b)
    difference = abs(sp.csr_array(a) - other)
    if exact:
        return bool(difference.count_nonzero() == 0)
    # As `np.allclose`: |a - b| <= atol + rtol |b| in every cell, those stored on one side only included.
    return bool(((difference - rtol * abs(other)).data <= atol).all())
