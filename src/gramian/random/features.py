"""Random features of rows: y = g(V x'), x' the row with a 1 for the bias, V fixed and random or given.

A row x over the design columns (numbers, and one indicator a level) has the net inputs

    V x' = bias + sum over categories of the weights of the row's level + sum over numbers of x_j V_j,

a gather and an addition a category, as in any `Projection` here whose means are 0. So a level that was never seen adds nothing,
and a missing number adds nothing: it counts as 0, the mean of a number that is scaled.

*Scale.* Without an activation weights have variance 1/k, so that squared distances are kept on average (see `dimension`). With
one they have variance s^2/c, c the number of source columns: a category adds one weight a row and a number of unit variance as
much on average, so the net input has a standard deviation of about s whatever the number of columns; the bias has
that of s itself. For `"cos"` the bias is uniform on a circle and features are sqrt(2/k) cos(.). A product of features is then a
mean of 2 cos(w . x + b) cos(w . y + b), whose expectation over b is cos(w . (x - y)), and over independent weights the product
of their characteristic functions at d_j = (x_j - y_j) s / sqrt(c), j the design columns:

    gaussian, hadamard   E[z(x) . z(y)] = prod exp(-d_j^2 / 2) = exp(-s^2 |x - y|^2 / (2 c))
    uniform              prod sin(sqrt(3) d_j) / (sqrt(3) d_j)
    sparse               prod (1 - r + r cos(d_j / sqrt(r))),    r the density

The error of k features is at most about 1 / sqrt(k). The entries of a Hadamard row are not independent, but for `"cos"` in
`RandomFeatures` they are drawn so that the row is standard normal (`gramian.random.hadamard`).

Nothing of this depends on the rows. Further layers take the features of the one before for their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.design.labels import Labels, positions
from gramian.design.schema import Column, Schema
from gramian.errors import DataError
from gramian.maps.frozen_encoder import Design, Rows
from gramian.maps.projection import Projection
from gramian.moments.value import Moments
from gramian.random.activations import activate
from gramian.random.drawing import Drawing
from gramian.random.hadamard import Hadamard

BLOCK_VALUES = 2**21
"""Hidden values that are held at a time where only what comes after them is wanted."""


class Weights(Protocol):
    """Where the weights of a layer come from."""

    @property
    def size(self) -> int:
        """Features."""

    def matrix(self, columns: Sequence[Column], labels: Sequence[Labels]) -> Array:
        """Return the weights of the design columns, (p, size)."""

    def bias(self) -> Array:
        """Return the weights of the input that is always 1, (size,)."""


@dataclass(frozen=True, eq=False)
class RandomWeights:
    """What random weights have in common: how they are drawn, their scale and their bias.

    Attributes
    ----------
    drawing : Drawing
        Its size and seed, and the bias.
    activation : str or None
        Decides scale and bias; see the module.
    scale : float
    n_columns : int
    """

    drawing: Drawing
    activation: str | None
    scale: float
    n_columns: int

    @property
    def size(self) -> int:
        """Features."""
        return self.drawing.size

    @property
    def spread(self) -> float:
        """The standard deviation of the weights."""
        return spread_of(self.activation, self.scale, self.n_columns, self.size)

    def bias(self) -> Array:
        """Return the weights of the input that is always 1, (size,)."""
        return bias_of(self.drawing, self.activation, self.scale)


class DrawnWeights(RandomWeights):
    """Weights drawn by column and label."""

    def matrix(self, columns: Sequence[Column], labels: Sequence[Labels]) -> Array:
        """Return the weights of the design columns, (p, size)."""
        blocks, known = [], iter(labels)
        for place, column in enumerate(columns):
            if column.form == "category":
                blocks.append(self.drawing.levels(place, next(known).values))
            else:
                blocks.append(self.drawing.numbers(place))
        return self.spread * np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class StructuredWeights(RandomWeights):
    """Weights of a Hadamard projection of all design columns.

    Attributes
    ----------
    normal : bool
        Whether the weights of a feature are standard normal, before their scale.
    """

    normal: bool = False

    def projection(self, p: int) -> Hadamard:
        """Return the projection of p design columns."""
        return Hadamard.drawn(p, self.size, self.drawing.seed, normal=self.normal)

    def matrix(self, columns: Sequence[Column], labels: Sequence[Labels]) -> Array:
        """Return the weights of the design columns, (p, size)."""
        p = len(columns) - len(labels) + sum(map(len, labels))
        return self.spread * self.projection(p).weights()


def spread_of(activation: str | None, scale: float, n_columns: int, size: int) -> float:
    """Return the standard deviation of the weights of a layer."""
    return 1 / np.sqrt(size) if activation is None else scale / np.sqrt(n_columns)


def bias_of(drawing: Drawing, activation: str | None, scale: float) -> Array:
    """Return the bias of a layer: none without an activation, an angle for the cosine."""
    if activation is None:
        return np.zeros(drawing.size)
    return drawing.angles() if activation == "cos" else scale * drawing.bias()


class GivenWeights:
    """Weights that are given for the design columns of some labels; other labels have none.

    Parameters
    ----------
    given : (p, k) or (p + 1, k) array
        In the order of the design columns; a last row more is the bias.
    columns, labels
        What the rows of `given` belong to.
    called : str
        The parameter's name, for the message.
    """

    def __init__(self, given: Any, columns: Sequence[Column], labels: Sequence[Labels], *, called: str) -> None:
        p = len(columns) - len(labels) + sum(map(len, labels))
        values = checked_weights(given, called)
        if len(values) not in (p, p + 1):
            raise DataError(
                f"{called} has {len(values)} rows, and there are {p} design columns: give {p} rows, or {p + 1} with the "
                f"bias last"
            )
        self.size = int(values.shape[1])
        self._bias = values[p] if len(values) > p else np.zeros(self.size)
        self._blocks: list[tuple[Labels | None, Array]] = []
        start, known = 0, iter(labels)
        for column in columns:
            own = next(known) if column.form == "category" else None
            stop = start + (1 if own is None else len(own))
            self._blocks.append((own, values[start:stop]))
            start = stop

    def matrix(self, columns: Sequence[Column], labels: Sequence[Labels]) -> Array:
        """Return the weights of the design columns, (p, size)."""
        blocks, asked = [], iter(labels)
        for known, block in self._blocks:
            if known is None:
                blocks.append(block)
                continue
            at = positions(next(asked).values, known.values)
            blocks.append(np.where(at[:, None] >= 0, block[at], 0.0))
        return np.concatenate(blocks)

    def bias(self) -> Array:
        """Return the weights of the input that is always 1, (size,)."""
        return self._bias


def checked_weights(given: Any, called: str) -> Array:
    """Return given weights as a finite matrix."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{called} is a matrix of numbers, a row a design column and the bias last") from None
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise DataError(f"{called} is a matrix of finite numbers; got shape {values.shape}")
    return values


def design_of(columns: Sequence[Column], labels: Sequence[Labels]) -> Design:
    """Return a design whose means are 0: an unseen level and a missing number add nothing."""
    names = Moments(schema=Schema(tuple(columns)), labels=tuple(labels)).design_names_of([c.name for c in columns])
    return Design(tuple(columns), tuple(labels), np.zeros(len(names)), tuple(names))


@dataclass(frozen=True, eq=False)
class RandomMap:
    """A fixed map from rows to features, layer by layer.

    Attributes
    ----------
    projection : Projection
        The net inputs of the first layer.
    activation : str or None
    deeper : tuple of (k + 1, k') arrays
        The weights of further layers, the bias last.
    gain : float
        What features of the last layer are multiplied by.
    """

    projection: Projection
    activation: str | None
    deeper: tuple[Array, ...] = ()
    gain: float = 1.0

    @classmethod
    def of(
        cls,
        weights: Weights,
        columns: Sequence[Column],
        labels: Sequence[Labels],
        activation: str | None,
        deeper: Sequence[Array] = (),
        gain: float = 1.0,
    ) -> RandomMap:
        """Return the map of these columns and labels."""
        projection = Projection(design_of(columns, labels), weights.matrix(columns, labels), weights.bias())
        return cls(projection, activation, tuple(deeper), gain)

    @property
    def design(self) -> Design:
        """What is read."""
        return self.projection.design

    @property
    def n_features(self) -> int:
        """Features of the last layer."""
        return int(self.deeper[-1].shape[1]) if self.deeper else self.projection.n_features

    @cached_property
    def _augmented(self) -> Array:
        """The weights of the first layer in the order of the numbers, the bias last."""
        return np.vstack([self.projection.weights, self.projection.offset])

    def fill(self, rows: Rows, out: Array) -> None:
        """Write the features of some encoded rows, (n, k) and float64.

        Complete numbers alone, the usual case of a long pass, are one product of the augmented rows, written where it belongs.
        """
        plain = not self.design.categorical and not self.deeper and isinstance(rows.numbers, np.ndarray)
        if not plain or np.isnan(rows.numbers.sum()):
            out[:] = self.apply_rows(rows)
            return
        augmented = np.ones((len(rows), len(self._augmented)))
        augmented[:, :-1] = rows.numbers
        np.matmul(augmented, self._augmented, out=out)
        activate(self.activation, out)
        if self.gain != 1.0:
            out *= self.gain

    def apply_rows(self, rows: Rows, dtype: Any = np.float64) -> npt.NDArray:
        """Return the features of some encoded rows, (n, k)."""
        features = activate(self.activation, self.projection.apply_rows(rows, dtype))
        for weights in self.deeper:
            features = features @ weights[:-1].astype(dtype, copy=False)
            features += weights[-1].astype(dtype, copy=False)
            activate(self.activation, features)
        if self.gain != 1.0:
            features *= np.asarray(self.gain, dtype=dtype)
        return features

    def apply(self, rows: Iterable[Rows], dtype: Any = np.float64) -> npt.NDArray:
        """Return the features of all rows, (n, k)."""
        parts = [self.apply_rows(part, dtype) for part in rows]
        return np.concatenate(parts) if parts else np.empty((0, self.n_features), dtype=dtype)

    def blocks(self, rows: Rows) -> Iterable[tuple[slice, Array]]:
        """Yield the features of some rows, a few rows at a time, with where they stand."""
        widest = max(self.projection.n_features, self.n_features)
        step = max(1, BLOCK_VALUES // widest)
        for start in range(0, len(rows), step):
            at = slice(start, min(start + step, len(rows)))
            yield at, self.apply_rows(rows.part(at))
