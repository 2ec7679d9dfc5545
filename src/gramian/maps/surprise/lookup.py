"""Sums over the values and pairs of values of a row: tables of what levels add, and the loops that look them up.

A look-up takes three loads, two codes and a cell, and processors load two or three words per cycle: that is the floor. So
there are few look-ups, four in one go, and loops run over the rows of a block for one quadruple of tables at a time, so that
these stay in cache and no row's look-up waits for another's.

Small columns are fused: a *group* has one code per combination of its columns' levels, unseen levels included. What its columns
add among themselves is one table by the code of the group, and what two groups add is one table by both codes, the sum
over the pairs of their columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from gramian.arrays.types import Array
from gramian.compiling import kernel

SCRATCH_BYTES = 2**18
"""Codes of the groups for a block of rows: a quarter of a second-level cache."""


_I4, _I8, _F8 = types.int32, types.int64, types.float64
_CODES = (types.uint16, types.uint32)


@kernel(*(
    types.void(code[:, ::1], *[_I8[::1]] * 2, _I8, *[_I8[::1]] * 4, _F8[::1], _I8, _I8, _F8[::1]) for code in _CODES
))  # fmt: skip
def add_tables(  # type: ignore[no-untyped-def]
    codes, group_of, group_stride, n_groups, first, second, begin, stride, cells, start, stop, out
):  # fmt: skip
    """Add to rows `start` to `stop` of `out` what `Tables` hold for `codes` (columns, n)."""
    # One group more, of which every code is 0: what has no second value is looked up with it.
    block = max(SCRATCH_BYTES // (4 * (n_groups + 1)), 256)
    given = np.empty((n_groups + 1, block), np.uint32)
    for at in range(start, stop, block):
        n = min(block, stop - at)
        total = out[at : at + n]
        given[:, :n] = 0
        for k in range(codes.shape[0]):
            column, combined, step = codes[k, at : at + n], given[group_of[k], :n], np.uint32(group_stride[k])
            for i in range(n):
                combined[i] += step * np.uint32(column[i])
        for q in range(0, len(first), 4):
            a, b, c, d = given[first[q]], given[first[q + 1]], given[first[q + 2]], given[first[q + 3]]
            e, f, g, h = given[second[q]], given[second[q + 1]], given[second[q + 2]], given[second[q + 3]]
            in_a, in_b, in_c, in_d = (
                cells[begin[q] :],
                cells[begin[q + 1] :],
                cells[begin[q + 2] :],
                cells[begin[q + 3] :],
            )
            by_a, by_b = np.uint64(stride[q]), np.uint64(stride[q + 1])
            by_c, by_d = np.uint64(stride[q + 2]), np.uint64(stride[q + 3])
            for i in range(n):
                total[i] += (
                    in_a[np.uint64(a[i]) * by_a + np.uint64(e[i])] + in_b[np.uint64(b[i]) * by_b + np.uint64(f[i])]
                ) + (in_c[np.uint64(c[i]) * by_c + np.uint64(g[i])] + in_d[np.uint64(d[i]) * by_d + np.uint64(h[i])])


@kernel(*(
    types.void(code[::1], code[::1], _I8[::1], _I4[::1], *[_F8[::1]] * 3, _F8, _I8, _I8, _F8[::1]) for code in _CODES
))  # fmt: skip
def add_sparse(left, right, indptr, indices, counts, weights, shares, factor, start, stop, out):  # type: ignore[no-untyped-def]
    """Add `factor` log((expected + 1) / (seen + 1)) of a pair of columns, its counts in CSR; nothing for unseen levels."""
    n_left, n_right = len(weights), len(shares)
    for i in range(start, stop):
        u, v = np.int64(left[i]), np.int64(right[i])
        if u >= n_left or v >= n_right:
            continue
        low, high = indptr[u], indptr[u + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < v:
                low = middle + 1
            else:
                high = middle
        seen = counts[low] if low < end and indices[low] == v else 0.0
        out[i] += factor * np.log((weights[u] * shares[v] + 1.0) / (seen + 1.0))


@kernel(*(
    types.void(
        _F8[:, ::1], code[:, ::1], _I8[::1], _I8[::1], _F8[:, ::1], _I8[::1], _I8[::1], _F8[::1], _F8[::1], _F8[::1],
        _I8[::1], _I8[::1], _F8[::1], _F8[::1], _I8, _I8, _F8[::1],
    ) for code in _CODES
))  # fmt: skip
def add_numbers(  # type: ignore[no-untyped-def]
    z, codes, starts, sizes, means, a, b, slope, left, factor, number, category, left_by_level, level_factor,
    start, stop, out,
):  # fmt: skip
    """Add what standardised numbers `z` (n, q) are worth: alone, by edges to numbers, and by edges to categories."""
    q = z.shape[1]
    worth = np.empty(q)
    root, shift = np.sqrt(left), 0.5 * np.log(left)
    level_root, level_shift = np.sqrt(left_by_level), 0.5 * np.log(left_by_level)
    for i in range(start, stop):
        total = 0.0
        for j in range(q):
            square = z[i, j] * z[i, j]
            worth[j] = 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
            if square == square:
                total += worth[j]
        for e in range(len(a)):
            x, y = z[i, a[e]], z[i, b[e]]
            if x == x and y == y:
                term = 2.0 * shift[e] - worth[a[e]] - worth[b[e]]
                for residual in ((y - slope[e] * x) / root[e], (x - slope[e] * y) / root[e]):
                    square = residual * residual
                    term += 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
                total += 0.5 * factor[e] * term
        for e in range(len(number)):
            x, k = z[i, number[e]], category[e]
            u = np.int64(codes[k, i])
            if x == x and u < sizes[k]:
                residual = (x - means[starts[k] + u, number[e]]) / level_root[e]
                square = residual * residual
                near = 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
                total += level_factor[e] * (level_shift[e] + near - worth[number[e]])
        out[i] += total


Ints = npt.NDArray[np.int64]

FUSED_CODES = (96, 48, 24, 12, 1)
"""Columns are fused while their combinations of levels are at most this many: 96 x 96 cells stay in cache."""

CELLS = 2**22
"""Cells that fusing may lead to; the largest limit that stays within is taken."""

AT_ONCE = 4
"""Look-ups that the kernel makes in one go."""


class Tables(NamedTuple):
    """The arguments of `add_tables` after the codes, in their order.

    Attributes
    ----------
    group_of, group_stride : (c,) arrays
        Each column's group, and its stride in the group's code.
    n_groups : int
        The group of this number has code 0 only.
    first, second, begin, stride : (t,) arrays
        Of each table the two groups, where it begins in `cells`, and the cells a code of the first group has.
    cells : array
        The first is 0: tables that fill up the last quadruple point there.
    """

    group_of: Ints
    group_stride: Ints
    n_groups: int
    first: Ints
    second: Ints
    begin: Ints
    stride: Ints
    cells: Array


def lookup_tables(own: Sequence[Array], pairs: Mapping[tuple[int, int], Array], penalty: float) -> Tables:
    """Return the tables for what levels and pairs of levels add.

    Parameters
    ----------
    own : sequence of (levels,) arrays
        What each level adds, one array per column.
    pairs : mapping
        `(j, k)`, j < k: what each pair of levels adds, (levels of j, levels of k).
    penalty : float
        What an unseen level adds: its code is the number of levels.
    """
    rooms = np.array([len(by_level) + 1 for by_level in own], np.int64)
    group_of, strides, widths = _groups(rooms, pairs)
    # Which level of each column the codes of its group stand for.
    levels = [np.arange(widths[g]) // s % room for g, s, room in zip(group_of, strides, rooms, strict=True)]
    alone = [np.zeros(width) for width in widths]
    for column, by_level in enumerate(own):
        alone[group_of[column]] += np.append(by_level, penalty)[levels[column]]
    joint: dict[tuple[int, int], Array] = {}
    for (j, k), table in pairs.items():
        g, h = int(group_of[j]), int(group_of[k])
        if g > h:
            j, k, g, h, table = k, j, h, g, table.T
        roomy = np.zeros((rooms[j], rooms[k]))
        roomy[:-1, :-1] = table
        if g == h:
            alone[g] += roomy[levels[j], levels[k]]
            continue
        if widths[g] != rooms[j]:
            roomy = roomy[levels[j]]
        if widths[h] != rooms[k]:
            roomy = roomy[:, levels[k]]
        if (g, h) in joint:
            joint[g, h] += roomy
        else:
            joint[g, h] = roomy
    n_groups = len(widths)
    parts = [(g, n_groups, 1, table) for g, table in enumerate(alone)]
    parts += [(g, h, widths[h], table) for (g, h), table in sorted(joint.items())]
    fill = -len(parts) % AT_ONCE
    begin = np.cumsum([1, *(table.size for *_, table in parts)], dtype=np.int64)
    return Tables(
        group_of,
        strides,
        n_groups,
        np.array([g for g, *_ in parts] + [n_groups] * fill, np.int64),
        np.array([h for _, h, *_ in parts] + [n_groups] * fill, np.int64),
        np.concatenate([begin[:-1], np.zeros(fill, np.int64)]),
        np.array([stride for *_, stride, _ in parts] + [0] * fill, np.int64),
        np.concatenate([[0.0], *(table.ravel() for *_, table in parts)]),
    )


def _groups(rooms: Ints, pairs: Mapping[tuple[int, int], Array]) -> tuple[Ints, Ints, list[int]]:
    """Return each column's group and stride, and the codes of each group, fused as far as memory allows."""
    groups = _fused(rooms, FUSED_CODES[0])
    for limit in FUSED_CODES[1:]:
        group_of, _, widths = groups
        joined = {frozenset((int(group_of[j]), int(group_of[k]))) for j, k in pairs}
        if sum(math.prod(widths[g] for g in pair) for pair in joined if len(pair) == 2) <= CELLS:
            break
        groups = _fused(rooms, limit)
    return groups


def _fused(rooms: Ints, limit: int) -> tuple[Ints, Ints, list[int]]:
    """Return the groups where combinations may be at most `limit`: the smallest columns are fused first."""
    group_of, strides = np.zeros(len(rooms), np.int64), np.ones(len(rooms), np.int64)
    widths: list[int] = []
    for k in np.argsort(rooms, kind="stable").tolist():
        room = int(rooms[k])
        if widths and widths[-1] * room <= limit:
            strides[k] = widths[-1]
            widths[-1] *= room
        else:
            widths.append(room)
        group_of[k] = len(widths) - 1
    return group_of, strides, widths
