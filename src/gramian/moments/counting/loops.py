"""Compiled loops of pairs that are kept by the cells that are filled: sorting, merging and gathering them.

Compiled loops of the pair counter: each single-threaded, free of the GIL, and with explicit signatures.

Everything here works on flat arrays with explicit strides. A *unit* is one column, or several fused into one
code in mixed radix, the first member being the slowest digit:

    code = ((x_0 * cap_1 + x_1) * cap_2 + x_2) ...

A joint table ``T[a, b]`` of units A and B determines every pair of their members, because a marginal is a sum:
``N[x_i = r, y_j = s]`` is the sum of ``T[a, b]`` over the ``a`` whose digit i is r and the ``b`` whose digit j is
s. Summing over the slowest digit leaves the table of the other digits, so all marginals together cost about two
additions a cell (`collapse`), each over contiguous memory: cheaper than a product with a 0/1 matrix.

Booleans and their like need no table. With one bit plane for each level but the first, ``N[r, s]`` is the number
of ones in ``plane_r & plane_s``, and the first level is what remains of each margin (`expand_planes`).
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from gramian.compiling import kernel

# mypy: disable-error-code="no-untyped-def, assignment"


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


# mypy: disable-error-code="no-untyped-def, assignment"


U32_ONE = np.uint32(1)
# Of a type of their own: a literal 0 would have the functions it is given to compiled once more.
NONE, ONE = np.int64(0), np.int64(1)
WORD_BLOCK = 512
TILE = 32


@intrinsic
def _ones(typing_context, word):
    """Number of ones in a 64-bit word, as the processor's own instruction."""

    def emit(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@kernel("void(uint16[::1], uint16[::1], uint16, int64, int64)")
def fuse(code, column, capacity, start, stop):
    """Append one member as the fastest digit: ``code = code * capacity + column`` over ``start:stop``."""
    code, column = code[start:stop], column[start:stop]
    for i in range(code.size):
        code[i] = code[i] * capacity + column[i]


@kernel("void(uint16[:, ::1], int64, int64, int64[::1], int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1])")
def count_pairs(codes, start, stop, chosen, first, second, table, offset, stride):
    """Count rows ``start:stop`` of each chosen pair of units into its part of the table."""
    for p in chosen:
        # Slices that start at 0: an index whose sign is unknown costs a check a row.
        a = codes[first[p], start:stop]
        b = codes[second[p], start:stop]
        part = table[offset[p] :]
        s = np.uint32(stride[p])
        for i in range(a.size):
            part[np.uint64(np.uint32(a[i]) * s + np.uint32(b[i]))] += U32_ONE


@kernel(
    "void(uint16[:, ::1], int64, int64, int64[::1], int64[::1], int64[::1], float64[::1], int64[::1],"
    " int64[::1], float64[::1])"
)
def weigh_pairs(codes, start, stop, chosen, first, second, table, offset, stride, weights):
    """Add the weights of rows ``start:stop`` of each chosen pair of units into its part of the table."""
    for p in chosen:
        a = codes[first[p], start:stop]
        b = codes[second[p], start:stop]
        w = weights[start:stop]
        part = table[offset[p] :]
        s = np.uint32(stride[p])
        for i in range(a.size):
            part[np.uint64(np.uint32(a[i]) * s + np.uint32(b[i]))] += w[i]


@kernel("void(uint16[::1], uint32[::1], int64, int64, int64, int64, uint32[::1])")
def count_long(a, b, stride_a, stride_b, start, stop, part):
    """Count one pair of columns, one of them with 32-bit codes."""
    a, b = a[start:stop], b[start:stop]
    for i in range(a.size):
        part[np.uint64(np.uint64(a[i]) * np.uint64(stride_a) + np.uint64(b[i]) * np.uint64(stride_b))] += U32_ONE


@kernel("void(uint16[::1], uint32[::1], int64, int64, int64, int64, float64[::1], float64[::1])")
def weigh_long(a, b, stride_a, stride_b, start, stop, part, weights):
    """Add the weights of one pair of columns, one of them with 32-bit codes."""
    a, b, weights = a[start:stop], b[start:stop], weights[start:stop]
    for i in range(a.size):
        cell = np.uint64(np.uint64(a[i]) * np.uint64(stride_a) + np.uint64(b[i]) * np.uint64(stride_b))
        part[cell] += weights[i]


@kernel(
    "UniTuple(int64, 2)(uint16[::1], uint16[::1], int64, int64, int64, uint8[::1], uint64[::1])",
    "UniTuple(int64, 2)(uint16[::1], uint32[::1], int64, int64, int64, uint8[::1], uint64[::1])",
)
def count_bytes(a, b, stride_a, stride_b, start, part, notes):
    """Count rows from ``start`` on, noting each cell that wraps to 0; return the row reached and how many notes."""
    size = 0
    x, y = a[start:], b[start:]
    for i in range(x.size):
        cell = np.uint64(np.uint64(x[i]) * np.uint64(stride_a) + np.uint64(y[i]) * np.uint64(stride_b))
        count = np.uint8(part[cell] + np.uint8(1))
        part[cell] = count
        if count == np.uint8(0):
            notes[size] = cell
            size += 1
            if size == notes.size:
                return start + i + 1, size
    return a.size, size


@njit(nogil=True, error_model="numpy")
def _add_line(target, to, source, start, length):
    """Add ``length`` cells of one array to cells of another (or of itself, further on)."""
    x, y = target[to : to + length], source[start : start + length]
    for c in range(length):
        x[c] += y[c]


@njit(nogil=True, error_model="numpy")
def _place(block, stride, top, left, rows, columns, total, row, column, upper):
    """Add ``rows`` x ``columns`` cells of a flat block, from (top, left) on, to ``total`` at (row, column).

    With ``upper`` what would lie below the diagonal is added transposed, above it.
    """
    if not upper or row < column:
        for r in range(rows):
            x = total[row + r, column : column + columns]
            y = block[(top + r) * stride + left : (top + r) * stride + left + columns]
            for c in range(x.size):
                x[c] += y[c]
        return
    for r0 in range(0, rows, TILE):
        r1 = min(r0 + TILE, rows)
        # In tiles, because the cells of a row of the block lie a whole row of ``total`` apart.
        for c in range(columns):
            x = total[column + c, row + r0 : row + r1]
            at = (top + r0) * stride + left + c
            for r in range(x.size):
                x[r] += block[at + r * stride]


@kernel(
    "void(uint32[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[:, ::1], boolean)",
    "void(float64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], float64[:, ::1], boolean)",
)
def collapse(table, chosen, offset, first, second, member, capacity, place, size, total, upper):
    """Add the marginals of each chosen table to ``total``, and empty the table.

    Members of unit u are ``member[u]:member[u + 1]``, each with a capacity (its radix), a place (its first row in
    ``total``, or its first column where it stands in the second unit) and a size (levels written). With
    ``upper`` blocks are written above the diagonal of ``total`` only: `mirror` writes the others.
    """
    for p in chosen:
        a0, a1 = member[first[p]], member[first[p] + 1]
        b0, b1 = member[second[p]], member[second[p] + 1]
        rows, levels_a = ONE, NONE
        for m in range(a0, a1):
            rows *= capacity[m]
            levels_a += capacity[m]
        columns, levels_b = ONE, NONE
        for m in range(b0, b1):
            columns *= capacity[m]
            levels_b += capacity[m]
        whole = table[offset[p] : offset[p] + rows * columns]
        block = whole
        if a1 - a0 > 1:
            # What numpy zeroes takes a fifth of a second longer to compile.
            block = np.empty(levels_a * columns, table.dtype)
            for c in range(block.size):
                block[c] = 0
            top = NONE
            for m in range(a0, a1):
                rows //= capacity[m]
                span = rows * columns
                for level in range(capacity[m]):
                    for r in range(rows):
                        _add_line(block, (top + level) * columns, whole, level * span + r * columns, columns)
                # What is left after summing over this digit is folded onto the first of its slices.
                for level in range(1, capacity[m]):
                    _add_line(whole, NONE, whole, level * span, span)
                top += capacity[m]
        if b1 - b0 > 1:
            slim, block = block, np.empty(levels_a * levels_b, table.dtype)
            for r in range(levels_a):
                line = slim[r * columns : (r + 1) * columns]
                length, left = columns, r * levels_b
                for m in range(b0, b1):
                    length //= capacity[m]
                    for level in range(capacity[m]):
                        s = line[level * length]
                        for c in range(level * length + 1, (level + 1) * length):
                            s += line[c]
                        block[left + level] = s
                    for level in range(1, capacity[m]):
                        _add_line(line, NONE, line, level * length, length)
                    left += capacity[m]
        top = NONE
        for m in range(a0, a1):
            left = NONE
            for k in range(b0, b1):
                _place(block, levels_b, top, left, size[m], size[k], total, place[m], place[k], upper)
                left += capacity[k]
            top += capacity[m]
        whole[:] = 0


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1])",
    "void(float64[::1], int64[::1], int64[::1], int64[::1], float64[:, ::1])",
)
def collapse_own(counts, capacity, place, size, total):
    """Add the pairs within one unit to ``total``, from the unit's own histogram."""
    k = capacity.size
    digit = np.empty(k, np.int64)
    for code in range(counts.size):
        value = counts[code]
        if value != 0:
            rest = code
            for m in range(k - 1, -1, -1):
                digit[m] = rest % capacity[m]
                rest //= capacity[m]
            for m in range(k):
                for j in range(k):
                    if digit[m] < size[m] and digit[j] < size[j]:
                        total[place[m] + digit[m], place[j] + digit[j]] += value


@kernel("void(uint16[::1], int64, uint64[:, ::1], int64)")
def pack_planes(column, capacity, planes, top):
    """Write the bit planes of levels 1 .. capacity-1 of one column to ``planes[top:]``."""
    n = column.size
    for level in range(1, capacity):
        plane = planes[top + level - 1]
        for w in range(n // 64):
            part = column[w * 64 : w * 64 + 64]
            word = np.uint64(0)
            for i in range(64):
                word |= np.uint64(part[i] == level) << np.uint64(i)
            plane[w] = word
        if n % 64:
            word = np.uint64(0)
            for i in range(n // 64 * 64, n):
                word |= np.uint64(column[i] == level) << np.uint64(i % 64)
            plane[n // 64] = word


@kernel("void(uint64[:, ::1], int64, int64, int64[:, ::1])")
def count_planes(planes, start, stop, gram):
    """Add ``popcount(plane_i & plane_j)`` for planes i in ``start:stop`` and j >= i, in blocks that stay in cache."""
    p, words = planes.shape
    for low in range(0, words, WORD_BLOCK):
        high = min(words, low + WORD_BLOCK)
        for i in range(start, stop):
            a = planes[i, low:high]
            for j in range(i, p):
                b = planes[j, low:high]
                s = np.uint64(0)
                for k in range(high - low):
                    s += _ones(a[k] & b[k])
                gram[i, j] += np.int64(s)


@kernel("void(int64[:, ::1], int64, int64)", "void(float64[:, ::1], int64, int64)")
def mirror(total, start, stop):
    """Copy what stands above the diagonal below it, for columns ``start:stop`` of what is copied."""
    n = total.shape[0]
    # In tiles: a column of ``total`` touches a page a cell.
    for r0 in range(start, stop, TILE):
        r1 = min(r0 + TILE, stop)
        for c0 in range(r0, n, TILE):
            c1 = min(c0 + TILE, n)
            for c in range(c0, c1):
                x = total[c]
                for r in range(r0, min(r1, c)):
                    x[r] = total[r, c]


@kernel("void(int64[:, ::1], int64, int64[::1], int64[::1], int64[::1], int64[:, ::1], int64, int64)")
def expand_planes(gram, rows, capacity, place, size, total, start, stop):
    """Add the level pairs of plane-counted columns ``start:stop`` with those after them to the upper half of ``total``.

    The first level of each column is what remains. Columns stand in ``total`` in their order.
    """
    columns = capacity.size
    top = np.zeros(columns + 1, np.int64)
    largest = 1
    for m in range(columns):
        top[m + 1] = top[m] + capacity[m] - 1
        largest = max(largest, capacity[m])
    # The diagonal is a page a cell: read once.
    own = np.empty(top[columns], np.int64)
    for i in range(top[columns]):
        own[i] = gram[i, i]
    block = np.empty((largest, largest), np.int64)
    for m in range(start, stop):
        for k in range(m, columns):
            if m < k and capacity[m] == 2 and capacity[k] == 2 and size[m] == 2 and size[k] == 2:
                # Thousands of columns of two levels have millions of pairs.
                a, b, both = own[top[m]], own[top[k]], gram[top[m], top[k]]
                row, at = place[m], place[k]
                total[row, at] += rows - a - b + both
                total[row, at + 1] += b - both
                total[row + 1, at] += a - both
                total[row + 1, at + 1] += both
                continue
            corner = rows
            for r in range(1, capacity[m]):
                block[r, 0] = own[top[m] + r - 1]
                corner -= block[r, 0]
            for c in range(1, capacity[k]):
                block[0, c] = own[top[k] + c - 1]
                corner -= block[0, c]
            for r in range(1, capacity[m]):
                for c in range(1, capacity[k]):
                    i, j = top[m] + r - 1, top[k] + c - 1
                    value = gram[i, j] if i <= j else gram[j, i]
                    block[r, c] = value
                    block[r, 0] -= value
                    block[0, c] -= value
                    corner += value
            block[0, 0] = corner
            for r in range(size[m]):
                for c in range(size[k]):
                    total[place[m] + r, place[k] + c] += block[r, c]


@kernel(
    "void(uint16[::1], float64[:, ::1], int64, int64, float64[:, ::1])",
    "void(uint32[::1], float64[:, ::1], int64, int64, float64[:, ::1])",
)
def add_sums(code, numbers, start, stop, sums):
    """Add rows ``start:stop`` of the numbers to the row of ``sums`` of their code."""
    q = numbers.shape[1]
    code, numbers = code[start:stop], numbers[start:stop]
    if q == 1:
        for i in range(code.size):
            sums[np.uint64(code[i]), 0] += numbers[i, 0]
    elif q == 2:
        for i in range(code.size):
            c = np.uint64(code[i])
            sums[c, 0] += numbers[i, 0]
            sums[c, 1] += numbers[i, 1]
    else:
        for i in range(code.size):
            line, row = sums[np.uint64(code[i])], numbers[i]
            for k in range(q):
                line[k] += row[k]
