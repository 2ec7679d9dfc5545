"""Compiled loops over pairs of objects; single-threaded, free of the interpreter lock."""

from __future__ import annotations

import numpy as np
from numba import types

from gramian.compiling import kernel

_values = types.Array(types.float64, 2, "C", readonly=True)
_offsets = types.Array(types.int64, 1, "C", readonly=True)
_ranges = types.Array(types.float64, 1, "C", readonly=True)


@kernel(
    types.void(_values, _offsets, _values, _offsets, types.float64, types.int64, types.int64, types.float64[:, ::1])
)
def warp(a, a_from, b, b_from, window, first, last, out):  # type: ignore[no-untyped-def]
    """Write the dynamic time warping distances of series first..last-1 of `a` to every series of `b`.

    Series are stacked, one row per moment and one column per channel; series i is rows a_from[i] to a_from[i + 1]. The
    window is the moments by which two series may be shifted, as a number of moments where it is at least 1 and a share of
    the longer series below; it is widened to the difference of the lengths, else no path would exist.
    """
    longest = 0
    for j in range(b_from.size - 1):
        longest = max(longest, b_from[j + 1] - b_from[j])
    channels = a.shape[1]
    before = np.empty(longest + 1)
    now = np.empty(longest + 1)
    for i in range(first, last):
        n = a_from[i + 1] - a_from[i]
        for j in range(b_from.size - 1):
            m = b_from[j + 1] - b_from[j]
            width = np.int64(window) if window >= 1 else np.int64(np.ceil(window * max(n, m)))
            width = max(width, abs(n - m))
            before[: m + 1] = np.inf
            before[0] = 0.0
            for s in range(1, n + 1):
                low = s - width if s - width > 1 else 1
                high = s + width if s + width < m else m
                now[low - 1] = np.inf
                left = np.inf
                at = a_from[i] + s - 1
                for t in range(low, high + 1):
                    cost = 0.0
                    for k in range(channels):
                        gap = a[at, k] - b[b_from[j] + t - 1, k]
                        cost += gap * gap
                    left = cost + min(left, min(before[t], before[t - 1]))
                    now[t] = left
                if high < m:
                    now[high + 1] = np.inf
                before, now = now, before
            out[i - first, j] = np.sqrt(before[m])


@kernel(types.void(_values, _values, _ranges, types.int64, types.int64, types.float64[:, ::1]))
def gower(a, b, ranges, first, last, out):  # type: ignore[no-untyped-def]
    """Write Gower's distances of rows first..last-1 of `a` to every row of `b`.

    A column whose range is NaN is a category: 0 or 1. Others give the difference over the range, at most 1. NaN is
    missing: such a column is left out of a pair, and a pair without any column gets NaN.
    """
    for i in range(first, last):
        for j in range(b.shape[0]):
            total = 0.0
            counted = 0
            for k in range(ranges.size):
                x = a[i, k]
                y = b[j, k]
                if np.isnan(x) or np.isnan(y):
                    continue
                counted += 1
                if np.isnan(ranges[k]):
                    total += x != y
                elif ranges[k] > 0:
                    total += min(1.0, abs(x - y) / ranges[k])
                else:
                    total += x != y
            out[i - first, j] = total / counted if counted else np.nan
