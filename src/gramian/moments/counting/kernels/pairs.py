# mypy: disable-error-code="no-untyped-def, assignment"
"""Compiled loops of pairs that are kept by the cells that are filled: sorting, merging and gathering them."""

from __future__ import annotations

import numpy as np
from numba import njit

from gramian.compiling import kernel


@kernel("boolean(uint64[::1], uint64[::1], float64[::1], float64[::1], int64, int64)")
def radix_sort(keys, spare, values, spare_values, row_bits, column_bits):
    """Sort keys ``row << 32 | column``, values along; true where the sorted keys ended up in the spare arrays.

    Least digit first, digits of at most 11 bits of the column, then of the row: 4 to 5 ns a key for 500,000 keys of 27 to 36
    bits (numpy's sort: 47).
    """
    source, target, x, y = keys, spare, values, spare_values
    swapped = False
    for place, bits in ((0, column_bits), (32, row_bits)):
        passes = max(1, (bits + 10) // 11)
        width = np.uint64((bits + passes - 1) // passes)
        mask = (np.uint64(1) << width) - np.uint64(1)
        heads = np.empty(np.int64(mask) + 1, np.int64)
        for p in range(passes):
            shift = np.uint64(place) + np.uint64(p) * width
            heads[:] = 0
            for i in range(source.size):
                heads[np.uint64((source[i] >> shift) & mask)] += 1
            top = 0
            for d in range(heads.size):
                heads[d], top = top, top + heads[d]
            for i in range(source.size):
                d = np.uint64((source[i] >> shift) & mask)
                target[np.uint64(heads[d])] = source[i]
                if x.size:
                    y[np.uint64(heads[d])] = x[i]
                heads[d] += 1
            source, target, x, y = target, source, y, x
            swapped = not swapped
    return swapped


@njit(nogil=True, error_model="numpy")
def _run_from(keys, values, start):
    """Return where the run of equal keys from ``start`` on ends, and the sum of its values."""
    stop, total = start, 0.0
    while stop < keys.size and keys[stop] == keys[start]:
        if values.size:
            total += values[stop]
        stop += 1
    return stop, total


@kernel(
    "int64(uint64[::1], float64[::1], uint64[::1], uint32[::1])",
    "int64(uint64[::1], float64[::1], uint64[::1], float64[::1])",
)
def run_length(keys, values, out, counts):
    """Write each distinct sorted key once, with its count or sum of values; return how many there are."""
    size, i = 0, 0
    while i < keys.size:
        key, start = keys[i], i
        i, total = _run_from(keys, values, start)
        out[size] = key
        counts[size] = total if values.size else i - start
        size += 1
    return size


@kernel(
    "int64(uint64[::1], float64[::1], int64[::1], int32[::1], int16[::1])",
    "int64(uint64[::1], float64[::1], int64[::1], int32[::1], int32[::1])",
    "int64(uint64[::1], float64[::1], int64[::1], int32[::1], int64[::1])",
    "int64(uint64[::1], float64[::1], int64[::1], int32[::1], float64[::1])",
)
def compress_keys(keys, values, starts, indices, data):
    """Write sorted keys ``row << 32 | column`` as CSR, each with its count or sum of values; return how many there are.

    ``starts`` comes in zero, one longer than rows.
    """
    size, i = 0, 0
    while i < keys.size:
        key, start = keys[i], i
        i, total = _run_from(keys, values, start)
        starts[(key >> np.uint64(32)) + np.uint64(1)] += 1
        indices[size] = np.int32(key & np.uint64(0xFFFFFFFF))
        data[size] = total if values.size else i - start
        size += 1
    for r in range(1, starts.size):
        starts[r] += starts[r - 1]
    return size


@kernel(
    "int64(uint64[::1], uint32[::1], uint64[::1], uint32[::1], uint64[::1], uint32[::1])",
    "int64(uint64[::1], float64[::1], uint64[::1], float64[::1], uint64[::1], float64[::1])",
)
def merge_runs(keys_a, counts_a, keys_b, counts_b, keys, counts):
    """Merge two sorted runs, adding the counts of equal keys; return the length of the merged run."""
    i, j, size = 0, 0, 0
    while i < keys_a.size and j < keys_b.size:
        x, y = keys_a[i], keys_b[j]
        keys[size] = min(x, y)
        # Arithmetic in place of branches: which run is next cannot be predicted.
        from_a, from_b = np.int64(x <= y), np.int64(y <= x)
        counts[size] = counts_a[i] * from_a + counts_b[j] * from_b
        i += from_a
        j += from_b
        size += 1
    while i < keys_a.size:
        keys[size], counts[size] = keys_a[i], counts_a[i]
        i, size = i + 1, size + 1
    while j < keys_b.size:
        keys[size], counts[size] = keys_b[j], counts_b[j]
        j, size = j + 1, size + 1
    return size


@kernel("void(uint64[::1], int64[::1], int32[::1])")
def split_keys(keys, starts, indices):
    """Write the CSR indices of sorted keys ``row << 32 | column``; ``starts`` comes in zero, one longer than rows."""
    for i in range(keys.size):
        starts[np.uint64(keys[i] >> np.uint64(32)) + np.uint64(1)] += 1
        indices[i] = np.int32(keys[i] & np.uint64(0xFFFFFFFF))
    for r in range(1, starts.size):
        starts[r] += starts[r - 1]


@kernel(
    "void(uint8[::1], int64, int64, int64, int64[::1], int32[::1], int16[::1])",
    "void(uint32[::1], int64, int64, int64, int64[::1], int32[::1], int16[::1])",
    "void(uint8[::1], int64, int64, int64, int64[::1], int32[::1], int32[::1])",
    "void(uint32[::1], int64, int64, int64, int64[::1], int32[::1], int32[::1])",
    "void(uint8[::1], int64, int64, int64, int64[::1], int32[::1], int64[::1])",
    "void(uint32[::1], int64, int64, int64, int64[::1], int32[::1], int64[::1])",
    "void(float64[::1], int64, int64, int64, int64[::1], int32[::1], float64[::1])",
)
def compress(table, stride, rows, columns, starts, indices, data):
    """Write the filled cells of a table as CSR; the outputs have room for one entry more than there are."""
    size = np.uint64(0)
    for r in range(rows):
        line = table[r * stride : r * stride + columns]
        for c in range(columns):
            # Written whether filled or not, kept only where filled: no branch to mispredict.
            indices[size] = c
            data[size] = line[c]
            size += np.uint64(line[c] != 0)
        starts[r + 1] = size


@kernel(
    "void(int64[::1], int32[::1], int16[::1], int64[::1], int64[::1], int64[::1])",
    "void(int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], int64[::1])",
    "void(int64[::1], int32[::1], int64[::1], int64[::1], int64[::1], int64[::1])",
)
def add_to_cells(starts, indices, data, rows, columns, more):
    """Add to cells of a CSR block, all of which are filled."""
    for k in range(rows.size):
        low, high = starts[rows[k]], starts[rows[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < columns[k]:
                low = middle + 1
            else:
                high = middle
        data[low] += more[k]
