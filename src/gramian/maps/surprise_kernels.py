"""The loop behind the score: for each value of a row, look up what the other values say about it, and add.

With T[t, g] what level g says about level t, the residual of the level t_j that a row holds in column j is

    r_j = sum_k T[t_j, t_k] + sum_q z_q V[t_j, q].

What a look-up costs is the cache line it touches, so there are few of them. Small columns are fused into one: a *group*
has one code a combination of its columns' levels, and T holds what the combination says, the sum over its members.
Columns too large to fuse say something to each other in both directions, T[a, b] and T[b, a], which lie side by side.
Loops run over the rows of a block for one such pair at a time: no row's look-up waits for another's.
"""

from __future__ import annotations

import numpy as np
from numba import types

from gramian.compiling import kernel

BLOCK_ROWS = 512


def _add_surprise(  # type: ignore[no-untyped-def]
    codes, starts, sizes, group_of, strides, group_starts, asked, table, pairs, pair_starts, both_ways,
    number_table, numbers, factors, penalty, out,
):  # fmt: skip
    n_columns, n_groups, n_numbers = codes.shape[0], len(group_starts), numbers.shape[1]
    width = np.uint64(table.shape[1])
    cells = table.reshape(table.size)
    # 32 bits where they are enough, and loops without branches: the compiler turns those into vector instructions.
    slots = np.empty((n_columns, BLOCK_ROWS), np.uint32)
    given = np.empty((n_groups, BLOCK_ROWS), np.uint32)
    residuals = np.empty((n_columns, BLOCK_ROWS))
    for begin in range(0, codes.shape[1], BLOCK_ROWS):
        n = min(BLOCK_ROWS, codes.shape[1] - begin)
        total = out[begin : begin + n]
        for g in range(n_groups):
            given[g, :n] = group_starts[g]
        for k in range(n_columns):
            column, slot, code_of_group = codes[k, begin : begin + n], slots[k, :n], given[group_of[k], :n]
            first, stride, unseen = np.uint32(starts[k]), np.uint32(strides[k]), np.uint32(sizes[k])
            n_unseen = 0
            for i in range(n):
                code = np.uint32(column[i])
                slot[i] = first + code
                code_of_group[i] += stride * code
                n_unseen += code == unseen
            if n_unseen:
                for i in range(n):
                    total[i] += penalty * (slot[i] == first + unseen)
        for k in range(n_columns):
            slot, r = slots[k, :n], residuals[k, :n]
            r[:] = 0.0
            for g in range(n_groups):
                if asked[k, g]:
                    at = given[g, :n]
                    for i in range(n):
                        r[i] += cells[np.uint64(slot[i]) * width + np.uint64(at[i])]
            for q in range(n_numbers):
                for i in range(n):
                    r[i] += number_table[np.uint64(slot[i]), q] * numbers[begin + i, q]
        for p in range(len(pairs)):
            a, b = pairs[p]
            r_a, r_b, slot_a, slot_b = residuals[a, :n], residuals[b, :n], slots[a, :n], slots[b, :n]
            part = both_ways[pair_starts[p] :]
            row = np.uint64(sizes[b] + 1)
            before = np.uint64(starts[a]) * row + np.uint64(starts[b])
            for i in range(n):
                cell = (np.uint64(slot_a[i]) * row + np.uint64(slot_b[i]) - before) * np.uint64(2)
                r_a[i] += part[cell]
                r_b[i] += part[cell + np.uint64(1)]
        for k in range(n_columns):
            slot, r = slots[k, :n], residuals[k, :n]
            for i in range(n):
                surprise = r[i] if r[i] > 0.0 else 0.0
                total[i] += factors[np.uint64(slot[i])] * (surprise / (1.0 + surprise))


def _signature(code: types.Type) -> types.Type:
    floats, whole = types.float64, types.int64
    return types.void(
        code[:, ::1], *[whole[::1]] * 5, types.boolean[:, ::1], floats[:, ::1], whole[:, ::1], whole[::1],
        floats[::1], floats[:, ::1], floats[:, ::1], floats[::1], floats, floats[::1],
    )  # fmt: skip


add_surprise = {
    "uint16": kernel(_signature(types.uint16))(_add_surprise),
    "uint32": kernel(_signature(types.uint32))(_add_surprise),
}
"""By code type: add to `out` (n,) the surprise of the levels in `codes` (columns, n), `penalty` for each one unseen."""
