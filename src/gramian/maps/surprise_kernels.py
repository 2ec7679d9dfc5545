"""The loop behind the score: for each value of a row, look up what the other values say about it, and add.

With T[t, g] what level g says about level t, the residual of the level t_j that a row holds in column j is

    r_j = sum_k T[t_j, t_k] + sum_q z_q V[t_j, q].

A look-up takes two loads, the code and the cell, and processors load two or three words a cycle: that is the floor, and
so there are few look-ups, four in one go. Small columns are fused: a *group* has one code a combination of its columns'
levels, and the table holds what the combination says, the sum over its members. Loops run over the rows of a block for
one asked column at a time, so that its part of the table stays in cache, and no row's look-up waits for another's.
"""

from __future__ import annotations

import numpy as np
from numba import types

from gramian.compiling import kernel

SCRATCH_BYTES = 2**18
"""Codes of the groups for a block of rows: a quarter of a second-level cache."""


def _add_surprise(  # type: ignore[no-untyped-def]
    codes, sizes, group_of, strides, first_codes, asked, begins, widths, table, starts, number_table, factors,
    numbers, penalty, first, stop, out,
):  # fmt: skip
    n_columns, n_constant = codes.shape[0], len(first_codes)
    block = max(SCRATCH_BYTES // (4 * n_constant), 256)
    given = np.empty((n_constant, block), np.uint32)
    residuals = np.empty(block)
    for begin in range(first, stop, block):
        n = min(block, stop - begin)
        total = out[begin : begin + n]
        for g in range(n_constant):
            given[g, :n] = first_codes[g]
        for k in range(n_columns):
            column, combined = codes[k, begin : begin + n], given[group_of[k], :n]
            stride, unseen = np.uint32(strides[k]), np.uint32(sizes[k])
            n_unseen = 0
            for i in range(n):
                code = np.uint32(column[i])
                combined[i] += stride * code
                n_unseen += code == unseen
            if n_unseen:
                for i in range(n):
                    total[i] += penalty * (np.uint32(column[i]) == unseen)
        r = residuals[:n]
        for k in range(n_columns):
            column, cells, width = codes[k, begin : begin + n], table[begins[k] :], np.uint64(widths[k])
            r[:] = 0.0
            for q in range(0, asked.shape[1], 4):
                a, b = given[asked[k, q], :n], given[asked[k, q + 1], :n]
                c, d = given[asked[k, q + 2], :n], given[asked[k, q + 3], :n]
                for i in range(n):
                    row = np.uint64(column[i]) * width
                    r[i] += (cells[row + np.uint64(a[i])] + cells[row + np.uint64(b[i])]) + (
                        cells[row + np.uint64(c[i])] + cells[row + np.uint64(d[i])]
                    )
            for q in range(numbers.shape[1]):
                for i in range(n):
                    r[i] += number_table[np.uint64(starts[k] + column[i]), q] * numbers[begin + i, q]
            # Without a look-up in it, this loop becomes vector instructions: ten divisions a row are dear one by one.
            for i in range(n):
                surprise = max(r[i], 0.0)
                r[i] = surprise / (1.0 + surprise)
            weights = factors[starts[k] :]
            for i in range(n):
                total[i] += weights[np.uint64(column[i])] * r[i]


def _signature(code: types.Type) -> types.Type:
    floats, whole = types.float64, types.int64
    return types.void(
        code[:, ::1], *[whole[::1]] * 4, whole[:, ::1], whole[::1], whole[::1], floats[::1], whole[::1], floats[:, ::1],
        floats[::1], floats[:, ::1], floats, whole, whole, floats[::1],
    )  # fmt: skip


add_surprise = {
    "uint16": kernel(_signature(types.uint16))(_add_surprise),
    "uint32": kernel(_signature(types.uint32))(_add_surprise),
}
"""By code type: add to rows `first` to `stop` of `out` (n,) the surprise of the levels in `codes` (columns, n), and
`penalty` for each one unseen."""
