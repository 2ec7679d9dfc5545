"""Random weights that belong to a column or a level, whatever else there is; and the fast Walsh-Hadamard transform.

*Drawing by key.* The f-th number of a key is a function of (key, f) alone: splitmix64 scrambles `key + (f + 1) golden` to 64
even bits. Nothing is drawn in sequence, so that what belongs to a key does not depend on what else is drawn, or when. Two
uniform numbers u, v make two Gaussian ones, sqrt(-2 log u) cos(2 pi v) and the same with the sine (Box and Muller).

*Hadamard.* With H_1 = (1) and H_2m = [[H_m, H_m], [H_m, -H_m]] the product H x takes m log2 m additions.

*Weights.* The weights of a number are drawn by a key made of the seed, the layer and the place of its column; those of a level
by that of its column and a hash of its label. So a level has the same weights in every file, whatever was seen before it and
whatever its code: maps of two parts of the data are one map, and moments of what comes out of them can be added and taken
away.

All kinds have mean 0 and variance 1 before they are scaled:

- `"gaussian"`;
- `"uniform"`, between -sqrt(3) and sqrt(3);
- `"sparse"`: 0 but for a share `density`, which is +-sqrt(1 / density) (Achlioptas: a third; Li, Hastie and Church:
  1 / sqrt(p)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.design.encoder import hash_labels, mix

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


Keys = npt.NDArray[np.uint64]

KINDS = ("gaussian", "uniform", "sparse")
PROJECTIONS = (*KINDS, "hadamard")
"""Every way to draw weights, the structured one (`gramian.random.features`) included."""
THIRD = 1 / 3
_BIAS = 2**32 - 1


@dataclass(frozen=True)
class Drawing:
    """Where the weights of one layer come from.

    Attributes
    ----------
    kind : {"gaussian", "uniform", "sparse"}
    size : int
        Features.
    seed : int
    layer : int
    density : float
        Share of sparse weights that are not 0.
    """

    kind: str
    size: int
    seed: int
    layer: int = 0
    density: float = THIRD

    def _keys(self, places: npt.ArrayLike) -> Keys:
        at = np.atleast_1d(np.asarray(places, dtype=np.uint64))
        return mix(at + np.uint64((self.layer + 1) << 32), self.seed)

    def numbers(self, places: npt.ArrayLike) -> Array:
        """Return the weights of the numbers at these places among the columns, (places, size)."""
        return self._weights(self._keys(places))

    def levels(self, place: int, labels: pa.Array) -> Array:
        """Return the weights of the levels of the category at a place, (levels, size)."""
        if not len(labels):
            return np.empty((0, self.size))
        return self._weights(mix(hash_labels(labels, self.seed) ^ self._keys(place)[0], self.seed))

    def bias(self) -> Array:
        """Return the weights of the input that is always 1, (size,)."""
        return self.numbers(_BIAS)[0]

    def angles(self) -> Array:
        """Return a bias uniform on a circle, (size,)."""
        out = np.empty((1, self.size))
        draw_uniform(self._keys(_BIAS), out)
        return 2 * np.pi * out[0]

    def _weights(self, keys: Keys) -> Array:
        out = np.empty((len(keys), self.size))
        if self.kind == "gaussian":
            draw_gaussian(np.ascontiguousarray(keys), out)
            return out
        draw_uniform(np.ascontiguousarray(keys), out)
        if self.kind == "uniform":
            return np.sqrt(12.0) * (out - 0.5)
        # One uniform number decides whether a weight is there, and which half of that share it falls into, its sign.
        size = 1 / np.sqrt(self.density)
        return np.where(out > self.density, 0.0, np.where(out > self.density / 2, -size, size))
