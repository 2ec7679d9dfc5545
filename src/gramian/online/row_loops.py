"""Loops over rows: one update per row for the rules, and sums over the levels of rows.

A rule takes weights W (k, p) and a row x to T W + t x^T, with y = W x and

    hebb        T = I                      t = eta y
    oja         T = 1 - eta y^2            t = eta y          (k = 1)
    sanger      T = I - eta tril(y y^T)    t = eta y
    subspace    T = I - eta y y^T          t = eta y

A row of categories is x = s - m: few entries s, and the mean. Written out, every update would touch all p columns, through
m and through T. So the loop keeps W = A U + b m^T with A (k, k) and b (k,), for which the update is

    A <- T A,    b <- T b - t,    U <- U + (A^-1 t) s^T,

and y = A (U s - U m) + b (m s - m m) needs the columns of s alone, with U m kept beside. A is lower triangular but for
"subspace", where Sherman and Morrison give A^-1 (T^-1 = I + eta y y^T / (1 - eta y^T y)). What A and b hold is multiplied
out after as many rows as it costs, and wherever A would become too small to be divided by.
"""

from __future__ import annotations

import numpy as np

from gramian.compiling import kernel

HEBB, OJA, SANGER, SUBSPACE = 0, 1, 2, 3

_SMALL = 1e-3


@kernel("int64(float64[:,::1], float64[:,::1], float64[::1], int64, float64)")
def learn_dense(rows, weights, rates, rule, limit):  # type: ignore[no-untyped-def]
    """Update `weights` (k, p) with each of the centred `rows` in turn.

    Returns the first row after which a weight exceeds `limit` or is no number, where the loop ends; -1 where there is none.
    """
    n, p = rows.shape
    k = weights.shape[0]
    y, left = np.empty(k), np.empty(p)
    for i in range(n):
        left[:] = rows[i]
        for a in range(k):
            total = 0.0
            for j in range(p):
                total += weights[a, j] * left[j]
            y[a] = total
        if rule == 3:
            for a in range(k):
                for j in range(p):
                    left[j] -= y[a] * weights[a, j]
        within = True
        for a in range(k):
            if rule == 1 or rule == 2:
                for j in range(p):
                    left[j] -= y[a] * weights[a, j]
            pull = rates[i] * y[a]
            largest = 0.0
            for j in range(p):
                weights[a, j] += pull * left[j]
                largest = max(largest, abs(weights[a, j]))
                # A comparison with NaN is false, and max() may drop it.
                within = within and weights[a, j] == weights[a, j]
            within = within and largest <= limit
        if not within:
            return i
    return -1


@kernel(
    "int64(float64[::1], int32[::1], int64[::1], float64[::1], float64[:,::1], float64[::1], int64, float64)",
)
def learn_sparse(data, indices, ends, mean, columns, rates, rule, limit):  # type: ignore[no-untyped-def]
    """As `learn_dense`, for CSR rows less `mean`; `columns` (p, k) are the weights, transposed.

    Weights are looked at when they are multiplied out, so that the row reported may be some rows late.
    """
    p, k = columns.shape
    n = len(ends) - 1
    A, inverse, b = np.eye(k), np.eye(k), np.zeros(k)
    along, y, t, g = np.zeros(k), np.empty(k), np.empty(k), np.empty(k)
    square = 0.0
    for j in range(p):
        square += mean[j] * mean[j]
        for a in range(k):
            along[a] += columns[j, a] * mean[j]
    spent = 0
    for i in range(n):
        start, stop = ends[i], ends[i + 1]
        g[:] = -along
        overlap = 0.0
        for at in range(start, stop):
            value, j = data[at], indices[at]
            overlap += value * mean[j]
            for a in range(k):
                g[a] += value * columns[j, a]
        rate = rates[i]
        for a in range(k):
            total = b[a] * (overlap - square)
            for c in range(k):
                total += A[a, c] * g[c]
            y[a] = total
            t[a] = rate * total
        smallest = 1.0
        if rule == 3:
            length = 0.0
            for a in range(k):
                length += y[a] * t[a]
            smallest = 1.0 - length
        elif rule != 0:
            for a in range(k):
                smallest = min(smallest, 1.0 - y[a] * t[a])
        spent += stop - start + 1
        if smallest < _SMALL:
            # T cannot be undone: this row is added to the weights as they are.
            for c in range(p):
                for a in range(k):
                    g[a] = b[a] * mean[c]
                    for d in range(k):
                        g[a] += A[a, d] * columns[c, d]
                for a in range(k):
                    last = k - 1 if rule == 3 else a
                    back = 0.0
                    for d in range(last + 1):
                        back += y[d] * g[d]
                    columns[c, a] = g[a] - t[a] * (back + mean[c])
            for at in range(start, stop):
                for a in range(k):
                    columns[indices[at], a] += t[a] * data[at]
            A[:] = np.eye(k)
            b[:] = 0.0
            spent = p * k
        else:
            if rule != 0:
                # A <- T A and b <- T b, with T = I - rate (y y^T, or its lower triangle).
                for c in range(k + 1):
                    back = 0.0
                    if rule == 3:
                        for d in range(k):
                            back += y[d] * (A[d, c] if c < k else b[d])
                    for a in range(k):
                        held = A[a, c] if c < k else b[a]
                        if rule != 3:
                            back += y[a] * held
                        if c < k:
                            A[a, c] = held - t[a] * back
                        else:
                            b[a] = held - t[a] * back
            if rule == 3:
                # A^-1 <- A^-1 T^-1, then A^-1 t.
                for a in range(k):
                    back = 0.0
                    for d in range(k):
                        back += inverse[a, d] * y[d]
                    back *= rate / smallest
                    for c in range(k):
                        inverse[a, c] += back * y[c]
                for a in range(k):
                    total = 0.0
                    for c in range(k):
                        total += inverse[a, c] * t[c]
                    g[a] = total
            else:
                for a in range(k):
                    total = t[a]
                    for c in range(a):
                        total -= A[a, c] * g[c]
                    g[a] = total / A[a, a]
            for a in range(k):
                b[a] -= t[a]
                along[a] += g[a] * overlap
            for at in range(start, stop):
                for a in range(k):
                    columns[indices[at], a] += g[a] * data[at]
        weakest = 1.0
        for a in range(k):
            weakest = min(weakest, abs(A[a, a]))
        if spent >= p * k or weakest < _SMALL or i == n - 1:
            largest = 0.0
            along[:] = 0.0
            for j in range(p):
                for a in range(k):
                    g[a] = columns[j, a]
                for a in range(k):
                    total = b[a] * mean[j]
                    for c in range(k):
                        total += A[a, c] * g[c]
                    columns[j, a] = total
                    along[a] += total * mean[j]
                    size = abs(total)
                    if not size <= largest:
                        largest = size
            A[:] = np.eye(k)
            inverse[:] = A
            b[:] = 0.0
            spent = 0
            if not largest <= limit:
                return i
    return -1


@kernel("void(float64[:,::1], float64[:,::1], float64[::1])")
def learn_amnesic(rows, vectors, shares):  # type: ignore[no-untyped-def]
    """Update `vectors` (k, p), each as long as its variance, with each of the centred `rows` in turn (CCIPCA).

    `shares` holds what each row counts beside all rows up to it. A unit that is zero takes the first residual that reaches it.
    """
    n, p = rows.shape
    k = vectors.shape[0]
    x = np.empty(p)
    for i in range(n):
        x[:] = rows[i]
        share = shares[i]
        for a in range(k):
            square, product = 0.0, 0.0
            for j in range(p):
                square += vectors[a, j] * vectors[a, j]
                product += vectors[a, j] * x[j]
            if square == 0.0:
                size = 0.0
                for j in range(p):
                    size += x[j] * x[j]
                size = np.sqrt(size)
                for j in range(p):
                    vectors[a, j] = x[j] * size * share
                break
            pull = share * product / np.sqrt(square)
            square, product = 0.0, 0.0
            for j in range(p):
                vectors[a, j] = (1.0 - share) * vectors[a, j] + pull * x[j]
                square += vectors[a, j] * vectors[a, j]
                product += vectors[a, j] * x[j]
            if square > 0.0:
                for j in range(p):
                    x[j] -= product / square * vectors[a, j]


@kernel("void(int32[:,::1], float64[:,::1], float64[:,::1])")
def gather_levels(levels, columns, out):  # type: ignore[no-untyped-def]
    """Add to `out` (n, k) the `columns` (p, k) of the levels (n, c) of each row."""
    n, width = levels.shape
    k = columns.shape[1]
    for i in range(n):
        for c in range(width):
            j = levels[i, c]
            for a in range(k):
                out[i, a] += columns[j, a]


@kernel("void(int32[:,::1], float64[:,::1], float64[:,::1])")
def scatter_levels(levels, values, out):  # type: ignore[no-untyped-def]
    """Add the `values` (n, k) of each row to `out` (p, k) at each of its levels (n, c)."""
    n, width = levels.shape
    k = values.shape[1]
    for i in range(n):
        for c in range(width):
            j = levels[i, c]
            for a in range(k):
                out[j, a] += values[i, a]
