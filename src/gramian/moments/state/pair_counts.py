"""Exact counts of every pair of levels: one dense matrix for narrow columns, a block for every other pair.

The form of a block, the table of a pair of columns of which one is wide: the one that takes the least memory.

Most counts of such a pair are small: a block has the smallest type that holds the largest of them, int16, int32 or int64,
and float64 for sums of weights. A dense block takes that much a cell. A sparse one (CSR) takes four bytes more for each
pair that occurs, for its column, and next to nothing for the others. Whoever adds counts up widens them first (`summable`).

Exact counts of every pair of levels, as one value.

For one-hot columns the Gram matrix *is* the table of pair counts: `(X^T X)_ab = #{rows with levels a and b}`. Two
columns of the same source column never meet, so its diagonal blocks are diagonal. Stored here:

- the counts among *narrow* columns as one dense symmetric matrix (a few thousand levels in all), because hundreds of
  small columns make tens of thousands of pairs, and an array each would cost more than the counting;
- every pair with a *wide* column as a block of its own, dense or sparse (distinct pairs only), whichever is smaller.

Whatever happens to levels afterwards (aligning two codebooks, pooling, dropping) is `A^T N A` with a 0/1 matrix `A`
that has one 1 a row at most: `transform` applies it, exactly, in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, TypeAlias

import numpy as np

from gramian.arrays import sparse as sp
from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.design.pair_tables import NARROW_TOTAL, narrow_columns, refuse_many_tables

# A block this small stays dense whatever the rows: it costs less than the bookkeeping of a sparse one.
SMALL_CELLS = 2**16
# Cells for each count that is moved, up to which they are added up in a dense block.
DENSE_CELLS = 4


CountType: TypeAlias = type[np.int16] | type[np.int32] | type[np.int64] | type[np.float64]
Block: TypeAlias = Any
"""A numpy array or a `scipy.sparse.csr_array`; scipy comes without types."""


def count_type(most: int) -> CountType:
    """Return the smallest type of a count that is at most so much.

    Examples
    --------
    >>> [count_type(most).__name__ for most in (0, 32_767, 32_768, 2**31)]
    ['int16', 'int16', 'int32', 'int64']
    """
    return np.int16 if most < 2**15 else np.int32 if most < 2**31 else np.int64


def summable(block: Block, *, twice: bool = False) -> Block:
    """Return the block in a type whose sums do not overflow: int64, or the next wider one where only two are added."""
    if block.dtype.kind != "i":
        return block
    return block.astype(np.int32 if twice and block.dtype.itemsize == 2 else np.int64, copy=False)


def block_bytes(block: Block) -> int:
    """Return the bytes that a block takes."""
    if isinstance(block, np.ndarray):
        return int(block.nbytes)
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


def csr_is_smaller(cells: int, entries: int, kind: Any) -> bool:
    """Return whether a block of `kind` is smaller as CSR; blocks of up to 2**16 cells are dense whatever they hold."""
    width = np.dtype(kind).itemsize
    return cells > SMALL_CELLS and (width + 4) * entries < width * cells


def make_csr(data: np.ndarray, indices: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Return a canonical CSR block from parts that are known to be sorted and free of duplicates."""
    if len(indices) < 2**31:
        starts = starts.astype(np.int32)
    block = sp.csr_array((data, indices, starts), shape=shape)
    block.has_canonical_format = True
    return block


def compact(block: Block) -> Block:
    """Return the block in the smallest type and the smaller of its two forms."""
    dense = isinstance(block, np.ndarray)
    if block.dtype.kind == "i" and block.dtype.itemsize > 2:
        values = block if dense else block.data
        # The lowest count too: where something is taken away that was never there, it is below 0.
        most = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        block = block.astype(count_type(most), copy=False)
    cells = block.shape[0] * block.shape[1]
    if not dense:
        return block if csr_is_smaller(cells, block.nnz, block.dtype) else block.toarray()
    if cells <= SMALL_CELLS or not csr_is_smaller(cells, int(np.count_nonzero(block)), block.dtype):
        return block
    return sp.csr_array(block)


def remap_block(block: Block, row_map: Array, col_map: Array, shape: tuple[int, int]) -> Block:
    """Return `A^T N B` for 0/1 maps given as new codes, -1 where a level is dropped."""
    coo = sp.coo_array(block)
    return _added_up(row_map[coo.coords[0]], col_map[coo.coords[1]], coo.data, shape)


def _added_up(rows: Array, cols: Array, data: Array, shape: tuple[int, int]) -> Block:
    """Return the block of some counts at their new codes, those of one cell added; -1 drops a count."""
    kept = (rows >= 0) & (cols >= 0)
    if not kept.all():
        rows, cols, data = rows[kept], cols[kept], data[kept]
    data = summable(data)
    if shape[0] * shape[1] <= max(SMALL_CELLS, DENSE_CELLS * len(data)):
        # Adding in place takes no sorting.
        cells = np.zeros(shape[0] * shape[1], dtype=data.dtype)
        np.add.at(cells, rows * shape[1] + cols, data)
        return compact(cells.reshape(shape))
    kind = np.int32 if max(*shape, len(data)) < 2**31 else np.int64
    out = sp.csr_array((data, (rows.astype(kind), cols.astype(kind))), shape=shape)
    out.sum_duplicates()
    out.eliminate_zeros()
    return compact(out)


@kernel(
    "void(int64[::1], int32[::1], int64[::1], int64[:, ::1], int64[:, ::1])",
    "void(int64[::1], int32[::1], float64[::1], int64[:, ::1], float64[:, ::1])",
)
def _add_rows(starts, indices, data, codes, out):  # type: ignore[no-untyped-def]
    """Add every CSR row to the rows of `out` that its codes name, -1 for none."""
    for row in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            code = codes[row, c]
            if code >= 0:
                for at in range(starts[row], starts[row + 1]):
                    out[code, indices[at]] += data[at]


@kernel("void(int64[::1], int64[:, ::1], int64[:, ::1])", "void(float64[::1], int64[:, ::1], float64[:, ::1])")
def _add_meetings(weights, codes, out):  # type: ignore[no-untyped-def]
    """Add the weight of every row to the cells of `out` in which two of its codes meet, -1 for none."""
    for row in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            code = codes[row, c]
            if code >= 0:
                for d in range(codes.shape[1]):
                    if codes[row, d] >= 0:
                        out[code, codes[row, d]] += weights[row]


def meetings(weights: Array, codes: Array, width: int) -> Array:
    """Return the weights of all pairs of codes in one row, (width, width), given the codes of several columns, -1 for none."""
    out = np.zeros((width, width), dtype=np.float64 if weights.dtype.kind == "f" else np.int64)
    _add_meetings(np.ascontiguousarray(weights, dtype=out.dtype), codes, out)
    return out


def stacked(maps: Sequence[Array], sizes: Sequence[int]) -> tuple[Array, list[slice]]:
    """Return the codes of columns of these sizes side by side, those of one after those of another, and where they are."""
    stops = list(accumulate(sizes))
    spans = [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
    codes = [np.where(codes >= 0, codes + span.start, -1) for codes, span in zip(maps, spans, strict=True)]
    return np.ascontiguousarray(np.stack(codes, axis=1), dtype=np.int64), spans


def _added_by_row(block: Any, some: Sequence[int], maps: Sequence[Array], sizes: Sequence[int]) -> dict[int, Array]:
    """Return, for each of some columns, the CSR rows of a block added up by its codes, where that is mostly filled.

    The rows are gone through once for all of the columns: the attributes of a key share what is read of it.
    """
    width = block.shape[1]
    room = max(SMALL_CELLS, DENSE_CELLS * block.nnz)
    chosen = [k for k in some if sizes[k] * width <= room]
    starts, indices = block.indptr.astype(np.int64, copy=False), block.indices.astype(np.int32, copy=False)
    data = block.data.astype(np.float64 if block.dtype.kind == "f" else np.int64, copy=False)
    out: dict[int, Array] = {}
    while chosen:
        count = max(1, int(np.searchsorted(np.cumsum([sizes[k] * width for k in chosen]), room, side="right")))
        now, chosen = chosen[:count], chosen[count:]
        codes, spans = stacked([maps[k] for k in now], [sizes[k] for k in now])
        total = np.zeros((spans[-1].stop, width), dtype=data.dtype)
        _add_rows(starts, indices, data, codes, total)
        out |= {k: total[span] for k, span in zip(now, spans, strict=True)}
    return out


def _pairs_touching(some: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs i < j of `count` columns of which at least one is in `some`."""
    chosen = set(some)
    for k in some:
        yield from ((min(k, j), max(k, j)) for j in range(count) if j > k or j not in chosen)


def sum_by_code(values: Array, codes: Array, size: int) -> Array:
    """Return rows of an array added up at their new codes; -1 drops a row."""
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

    @classmethod
    def of_blocks(
        cls, level_rows: list[Array], level_weights: list[Array], tables: Mapping[tuple[int, int], Block]
    ) -> PairCounts:
        """Return the counts whose pairs i < j are given one by one."""
        out = cls._bare(level_rows, level_weights, level_weights[0].dtype if level_weights else np.int64)
        for pair, block in tables.items():
            out._put(pair, block)
        return replace(out, blocks={pair: compact(block) for pair, block in out.blocks.items()})

    @classmethod
    def _bare(cls, level_rows: list[Array], level_weights: list[Array], kind: Any) -> PairCounts:
        """Return the counts of levels and of each level with itself, the pairs of columns yet to be put in."""
        sizes = [len(rows) for rows in level_rows]
        refuse_many_tables(sizes)
        narrow = narrow_columns(sizes)
        matrix = np.diag(np.concatenate([np.zeros(0, kind), *(level_weights[k] for k in narrow)]))
        return cls(level_rows, level_weights, narrow, matrix)

    def _put(self, pair: tuple[int, int], block: Block) -> None:
        """Put the counts of two columns i < j where they belong."""
        spans = [self._spans[k] for k in pair if k in self._spans]
        if len(spans) < 2:
            self.blocks[pair] = block
            return
        dense = block.toarray() if sp.issparse(block) else block
        self.matrix[spans[0], spans[1]] = dense
        self.matrix[spans[1], spans[0]] = dense.T

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

    def slots(self, columns: Iterable[int]) -> Array:
        """Return the rows of `matrix` that are levels of some narrow columns, one column after another."""
        spans = [self._spans[k] for k in columns]
        return np.concatenate([np.arange(span.start, span.stop) for span in spans] or [np.zeros(0, dtype=np.intp)])

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

    def expanded(
        self, expand: Mapping[int, Array], places: Mapping[int, Sequence[int]], width: int
    ) -> Iterator[tuple[int, int | None, Array]]:
        """Yield what the pair counts are once the levels of some columns are added up.

        Parameters
        ----------
        expand : mapping
            Of each such column, the (levels, 1 or 2) factors of its levels.
        places : mapping
            Where its sums stand among `width` ones.

        Yields
        ------
        i : int
        j : int or None
            A column that keeps its levels; None for the sums of pairs of those that do not.
        sums : (levels of j, 1 or 2) array, or (width, width) array
        """
        total = np.zeros((width, width))
        for k, factors in expand.items():
            total[np.ix_(places[k], places[k])] += (factors * self.level_weights[k][:, None]).T @ factors
        together = [k for k in self.narrow if k in expand]
        if together:
            # Those in the matrix at once: a thousand columns have half a million pairs.
            at, to = self.slots(together), np.concatenate([places[k] for k in together])
            factors = sp.block_diag([expand[k] for k in together], format="csr")
            seen = (factors.T @ self.matrix[at]).T
            own = factors.T @ seen[at]
            start = 0
            for k in together:
                stop = start + len(places[k])
                # A column has met itself above.
                own[start:stop, start:stop] = 0.0
                for j, span in self._spans.items() if len(together) < len(self.narrow) else ():
                    if j not in expand:
                        yield k, j, seen[span, start:stop]
                start = stop
            total[np.ix_(to, to)] += own
        for (i, j), block in self.blocks.items():
            if i in expand and j in expand:
                pair = expand[i].T @ (block @ expand[j])
                total[np.ix_(places[i], places[j])] += pair
                total[np.ix_(places[j], places[i])] += pair.T
            elif j in expand:
                yield j, i, block @ expand[j]
            elif i in expand:
                yield i, j, block.T @ expand[i]
        yield -1, None, total

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
        of_levels = [self.level_rows, self.level_weights] if self.weighted else [self.level_rows]
        moved = [[sum_by_code(own[c], m, s) for c, m, s in zip(columns, full, sizes, strict=True)] for own in of_levels]
        out = self._bare(moved[0], moved[-1], self.matrix.dtype)
        was_narrow = set(self.narrow)
        stayed = [k for k in out.narrow if columns[k] in was_narrow]
        starts = [out._spans[k].start for k in stayed]
        self._move_narrow([columns[k] for k in stayed], [full[k] for k in stayed], starts, out.matrix)
        kept = set(stayed)
        # One column may be there several times, each time with other codes: what is stored of a pair is read once for all.
        of_one: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for i, j in _pairs_touching([k for k in range(len(columns)) if k not in kept], len(columns)):
            of_one.setdefault((min(columns[i], columns[j]), max(columns[i], columns[j])), []).append((i, j))
        for pair, wanted in of_one.items():
            for i, j, new in self._moved(pair, wanted, columns, maps, full, sizes):
                out._put((i, j), compact(new))
        return out

    def _moved(
        self,
        pair: tuple[int, int],
        wanted: list[tuple[int, int]],
        columns: Sequence[int],
        maps: Sequence[Array | None],
        full: Sequence[Array],
        sizes: Sequence[int],
    ) -> Iterator[tuple[int, int, Block]]:
        """Yield the new table of each wanted pair of columns that were those of one old pair."""
        a, b = pair
        mapped = sorted({k for both in wanted for k in both if maps[k] is not None})
        added: dict[int, Array] = {}
        if a == b:
            few = sorted(mapped, key=sizes.__getitem__)
            few = few[: int(np.searchsorted(np.cumsum([sizes[k] for k in few]), NARROW_TOTAL, side="right"))]
            if few:
                codes, spans = stacked([full[k] for k in few], [sizes[k] for k in few])
                own, at = meetings(self.level_weights[a], codes, spans[-1].stop), dict(zip(few, spans, strict=True))
        elif len({columns[k] for k in mapped}) == 1:
            rows = self.block(a, b) if columns[mapped[0]] == a else self.block(a, b).T
            added = _added_by_row(sp.csr_array(rows), mapped, full, sizes)
        for i, j in wanted:
            if not {i, j} & set(mapped):
                yield i, j, self.block(columns[i], columns[j])
            elif a == b and i in few and j in few:
                yield i, j, np.ascontiguousarray(own[at[i], at[j]])
            elif a == b:
                # Levels of one column meet themselves alone.
                yield i, j, _added_up(full[i], full[j], self.level_weights[a], (sizes[i], sizes[j]))
            elif i in added:
                yield i, j, added[i]
            elif j in added:
                yield i, j, np.ascontiguousarray(added[j].T)
            else:
                stored = self.block(a, b) if columns[i] == a else self.block(a, b).T
                yield i, j, remap_block(stored, full[i], full[j], (sizes[i], sizes[j]))

    def _move_narrow(self, columns: list[int], maps: list[Array], starts: list[int], out: Array) -> None:
        """Write the mapped counts among `columns`, all narrow before and after, into `out`."""
        if not columns:
            return
        at, sizes = self.offsets(), self.sizes
        old = np.concatenate([at[c] + np.arange(sizes[c]) for c in columns])
        new = np.concatenate([np.where(m >= 0, start + m, -1) for m, start in zip(maps, starts, strict=True)])
        old, new = old[new >= 0], new[new >= 0]
        distinct = np.unique(new)
        if len(distinct) == len(new):
            out[np.ix_(new, new)] = self.matrix[np.ix_(old, old)]
            return
        # One column may be there several times, each time with other codes.
        fold = sp.csr_array((np.ones(len(new), dtype=out.dtype), (new, old)), (len(out), len(self.matrix)))
        out[np.ix_(distinct, distinct)] = (fold @ (fold @ self.matrix).T)[np.ix_(distinct, distinct)]

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
        mine, theirs = ([*each.level_rows, *each.level_weights, each.matrix] for each in (self, other))
        blocks = ((block, other.blocks[pair]) for pair, block in self.blocks.items())
        return all(map(np.array_equal, mine, theirs)) and all(_same(a, b, exact=True) for a, b in blocks)

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
