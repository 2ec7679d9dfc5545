"""Compiled loops of random maps: numbers drawn by key, and the fast Walsh-Hadamard transform.

*Drawing by key.* The f-th number of a key is a function of (key, f) alone: splitmix64 scrambles `key + (f + 1) golden` to 64
even bits. Nothing is drawn in sequence, so that what belongs to a key does not depend on what else is drawn, or when. Two
uniform numbers u, v make two Gaussian ones, sqrt(-2 log u) cos(2 pi v) and the same with the sine (Box and Muller).

*Hadamard.* With H_1 = (1) and H_2m = [[H_m, H_m], [H_m, -H_m]] the product H x takes m log2 m additions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from gramian.arrays.types import Array
from gramian.compiling import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
_UNIT = 2.0**-53


def writable(array: Array) -> Array:
    """Return an array that compiled loops take: contiguous, and not read-only, which is another type to them."""
    return np.require(array, requirements=["C", "W"])


@njit(inline="always")
def _bits(key, f):  # type: ignore[no-untyped-def]
    state = key + (np.uint64(f) + _ONE) * _GOLDEN
    state = (state ^ (state >> _S30)) * _FIRST
    state = (state ^ (state >> _S27)) * _SECOND
    return state ^ (state >> _S31)


@njit(inline="always")
def _share(bits):  # type: ignore[no-untyped-def]
    # In (0, 1], so that its logarithm is finite.
    return (np.float64(bits >> _S11) + 1.0) * _UNIT


_table = types.void(types.uint64[::1], types.float64[:, ::1])


@kernel(_table)
def draw_gaussian(keys, out):  # type: ignore[no-untyped-def]
    """Fill row i of `out` with standard Gaussian numbers of key i."""
    for i in range(keys.shape[0]):
        for f in range(0, out.shape[1], 2):
            radius = math.sqrt(-2.0 * math.log(_share(_bits(keys[i], f))))
            angle = 2.0 * math.pi * _share(_bits(keys[i], f + 1))
            out[i, f] = radius * math.cos(angle)
            if f + 1 < out.shape[1]:
                out[i, f + 1] = radius * math.sin(angle)


@kernel(_table)
def draw_uniform(keys, out):  # type: ignore[no-untyped-def]
    """Fill row i of `out` with numbers of key i that are uniform on (0, 1]."""
    for i in range(keys.shape[0]):
        for f in range(out.shape[1]):
            out[i, f] = _share(_bits(keys[i], f))


@kernel(types.void(types.float64[:, ::1]))
def hadamard_rows(rows):  # type: ignore[no-untyped-def]
    """Replace each row x by H x, its length a power of two."""
    size = rows.shape[1]
    for i in range(rows.shape[0]):
        half = 1
        while half < size:
            for start in range(0, size, 2 * half):
                for k in range(start, start + half):
                    a, b = rows[i, k], rows[i, k + half]
                    rows[i, k] = a + b
                    rows[i, k + half] = a - b
            half *= 2
