"""Random weights that belong to a column or a level, whatever else there is.

The weights of a number are drawn by a key made of the seed, the layer and the place of its column; those of a level by that of
its column and a hash of its label. So a level has the same weights in every file, whatever was seen before it and whatever its
code: maps of two parts of the data are one map, and moments of what comes out of them can be added and taken away.

All kinds have mean 0 and variance 1 before they are scaled:

- `"gaussian"`;
- `"uniform"`, between -sqrt(3) and sqrt(3);
- `"sparse"`: 0 but for a share `density`, which is +-sqrt(1 / density) (Achlioptas: a third; Li, Hastie and Church:
  1 / sqrt(p)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.folds import hash_labels, mix
from gramian.parameters import check, number
from gramian.random.kernels import draw_gaussian, draw_uniform

Keys = npt.NDArray[np.uint64]

KINDS = ("gaussian", "uniform", "sparse")
PROJECTIONS = (*KINDS, "hadamard")
"""Every way to draw weights, the structured one (`gramian.random.hadamard`) included."""
THIRD = 1 / 3
_BIAS = 2**32 - 1


def check_drawing(projection: object, scale: Any) -> None:
    """Raise where a projection is none of those there are, or a scale of weights no positive number."""
    check("projection", projection, *PROJECTIONS)
    check("scale", scale, number(above=0))


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
