"""The loop behind the score: for each value of a row, look up what the other values say about it, and add.

With T[t, g] what level g says about level t, the residual of the level t_j that a row holds in column j is

    r_j = sum_k T[t_j, t_k] + sum_q z_q V[t_j, q].

Small columns are fused into one: a group of columns has one code a combination of their levels, and the table holds what
the combination says, the sum over its members. A row then costs one look-up a column and group, not a pair of columns.
"""

from __future__ import annotations

import numpy as np
from numba import types

from gramian.compiling import kernel


def _add_surprise(  # type: ignore[no-untyped-def]
    codes, starts, sizes, group_of, strides, group_starts, table, number_table, numbers, factors, penalty, out
):
    n_columns, n_groups, n_numbers = codes.shape[0], len(group_starts), numbers.shape[1]
    # Four residuals at a time: their sums do not wait for each other. Places to fill up hold an unseen level, worth nothing.
    slots = np.full((n_columns + 3) // 4 * 4, starts[0] + sizes[0], np.int64)
    given = np.empty(n_groups, np.int64)
    for i in range(codes.shape[1]):
        total = 0.0
        for g in range(n_groups):
            given[g] = group_starts[g]
        for k in range(n_columns):
            code = np.int64(codes[k, i])
            slots[k] = starts[k] + code
            given[group_of[k]] += strides[k] * code
            if code == sizes[k]:
                total += penalty
        for j in range(0, len(slots), 4):
            a, b, c, d = slots[j], slots[j + 1], slots[j + 2], slots[j + 3]
            r_a = r_b = r_c = r_d = 0.0
            for g in range(n_groups):
                said = given[g]
                r_a += table[a, said]
                r_b += table[b, said]
                r_c += table[c, said]
                r_d += table[d, said]
            for q in range(n_numbers):
                value = numbers[i, q]
                r_a += number_table[a, q] * value
                r_b += number_table[b, q] * value
                r_c += number_table[c, q] * value
                r_d += number_table[d, q] * value
            r_a, r_b, r_c, r_d = max(r_a, 0.0), max(r_b, 0.0), max(r_c, 0.0), max(r_d, 0.0)
            total += factors[a] * r_a / (1.0 + r_a) + factors[b] * r_b / (1.0 + r_b)
            total += factors[c] * r_c / (1.0 + r_c) + factors[d] * r_d / (1.0 + r_d)
        out[i] += total


def _signature(code: types.Type) -> types.Type:
    floats, whole = types.float64, types.int64
    places = [whole[::1]] * 5
    matrices = [floats[:, ::1]] * 3
    return types.void(types.Array(code, 2, "A"), *places, *matrices, floats[::1], floats, floats[::1])


add_surprise = {
    "uint16": kernel(_signature(types.uint16))(_add_surprise),
    "uint32": kernel(_signature(types.uint32))(_add_surprise),
}
"""By code type: add to `out` (n,) the surprise of the levels in `codes` (columns, n), `penalty` for each one unseen."""
