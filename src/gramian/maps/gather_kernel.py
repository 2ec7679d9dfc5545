"""The loop that applies a projection to codes: gather a row of weights a column and add, never a one-hot matrix.

For row i the features of the categorical columns are `sum_c T_c[code_ic]`: with the tables of all columns stacked into
one, that is one addition of k numbers a column. The row's sum stays in cache until it is written, once.
"""

from __future__ import annotations

from numba import types

from gramian.compiling import kernel


def _gather_add(codes, starts, table, out):  # type: ignore[no-untyped-def]
    n_columns, n_features = codes.shape[0], table.shape[1]
    for i in range(codes.shape[1]):
        for c in range(n_columns):
            row = starts[c] + codes[c, i]
            for f in range(n_features):
                out[i, f] += table[row, f]


def _signature(code: types.Type, value: types.Type) -> types.Type:
    return types.void(code[:, ::1], types.int64[::1], value[:, ::1], value[:, ::1])


gather_add = {
    ("uint16", "float64"): kernel(_signature(types.uint16, types.float64))(_gather_add),
    ("uint16", "float32"): kernel(_signature(types.uint16, types.float32))(_gather_add),
    ("uint32", "float64"): kernel(_signature(types.uint32, types.float64))(_gather_add),
    ("uint32", "float32"): kernel(_signature(types.uint32, types.float32))(_gather_add),
}
"""By code and value type: add to `out` (n, k) the weights of `codes` (columns, n) in `table`, column c from row `starts[c]`."""
