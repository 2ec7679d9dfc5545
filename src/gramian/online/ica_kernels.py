"""Loops of neural ICA: one update a row."""

from __future__ import annotations

import numpy as np

from gramian.compiling import kernel

TANH, CUBE, Y_TANH = 0, 1, 2

_LARGEST_SHARE = 1.0 / 64.0
"""Of what the rows so far say, that one row may have: its own step is many times as long as the mean of steps."""


_FIRST_ROWS = 128.0
"""Rows that are only looked at, before curvatures are known well enough to be divided by."""


@kernel("int64(float64[:,::1], float64[::1], float64[:,::1], int64[::1], float64)")
def learn_nonlinear(rows, rates, weights, kinds, limit):  # type: ignore[no-untyped-def]
    """Update `weights` (k, k) by rate g(y) (x - W^T g(y))^T with each row; return the row after which one passes `limit`."""
    n, width = rows.shape
    k = weights.shape[0]
    g, left = np.empty(k), np.empty(width)
    for i in range(n):
        left[:] = rows[i]
        for a in range(k):
            y = 0.0
            for j in range(width):
                y += weights[a, j] * rows[i, j]
            g[a] = np.tanh(y) if kinds[a] == 0 else y * y * y if kinds[a] == 1 else y - np.tanh(y)
        for a in range(k):
            for j in range(width):
                left[j] -= g[a] * weights[a, j]
        within = True
        for a in range(k):
            for j in range(width):
                weights[a, j] += rates[i] * g[a] * left[j]
                within = within and abs(weights[a, j]) <= limit
        if not within:
            return i
    return -1


@kernel("void(float64[:,::1], float64[::1], float64[:,::1], float64[:,::1], float64, int64, float64, float64)")
def turn_rows(rows, row_weights, weights, past, seen, code, widest, amnesia):  # type: ignore[no-untyped-def]
    """Turn `weights` (k, k) by the automatic rate with each row; `past` holds kurtosis and curvature of each unit."""
    n, k = rows.shape
    y, g = np.empty(k), np.empty(k)
    step, moved, square = np.zeros((k, k)), np.empty((k, k)), np.empty((k, k))
    for i in range(n):
        if row_weights[i] <= 0.0:
            continue
        seen += row_weights[i]
        share = min(_LARGEST_SHARE, 1.0 - (1.0 - row_weights[i] / seen) ** (1.0 + amnesia))
        for a in range(k):
            total = 0.0
            for j in range(k):
                total += weights[a, j] * rows[i, j]
            y[a] = total
            past[0, a] = (1.0 - share) * past[0, a] + share * (total**4 - 3.0)
            kind = code if code >= 0 else (0 if past[0, a] < 0.0 else 2)
            t = np.tanh(total)
            if kind == 0:
                g[a], slope = t, 1.0 - t * t
            elif kind == 1:
                g[a], slope = total**3, 3.0 * total * total
            else:
                g[a], slope = total - t, t * t
            past[1, a] = (1.0 - share) * past[1, a] + share * (g[a] * total - slope)
        if seen < _FIRST_ROWS:
            continue
        for a in range(k):
            for c in range(a):
                size = max(abs(past[1, a] + past[1, c]), 1e-3)
                turn = share * (g[a] * y[c] - g[c] * y[a]) / size
                turn = min(max(turn, -widest), widest)
                step[a, c], step[c, a] = turn, -turn
        moved[:] = weights
        for a in range(k):
            for j in range(k):
                total = 0.0
                for c in range(k):
                    total += step[a, c] * weights[c, j]
                moved[a, j] += total
        # One step of Newton's towards orthonormal rows: W <- (3 W - W W^T W) / 2.
        for a in range(k):
            for c in range(k):
                total = 0.0
                for j in range(k):
                    total += moved[a, j] * moved[c, j]
                square[a, c] = total
        for a in range(k):
            for j in range(k):
                total = 0.0
                for c in range(k):
                    total += square[a, c] * moved[c, j]
                weights[a, j] = 1.5 * moved[a, j] - 0.5 * total
