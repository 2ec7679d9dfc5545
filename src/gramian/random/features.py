r"""Random features of rows: y = g(V x'), x' the row with a 1 for the bias, V fixed and random or given.

A row x over the design columns (numbers, and one indicator per level) has the net inputs

    V x' = bias + sum over categories of the weights of the row's level + sum over numbers of x_j V_j,

a gather and an addition per category, as in any `Projection` here whose means are 0. So a level that was never seen adds
nothing, and a missing number adds nothing: it counts as 0, the mean of a number that is scaled. Nothing of this depends on the
rows. Further layers take the features of the one before for their numbers.

*Activations* g of the net input:

- `None`: the net input itself;
- `"tanh"`, `"sigmoid"`, `"relu"`;
- `"step"`: the linear threshold unit, 1 where the net input is at least 0 and 0 elsewhere;
- `"cos"`: with Gaussian weights and a bias uniform on a circle, random Fourier features: products of two rows' features
  estimate a Gaussian kernel (Rahimi and Recht, 2007).

*Scale.* Without an activation weights have variance 1/k, so that squared distances are kept on average (see `least_dimension`).
With one they have variance s^2/c, c the number of source columns: a category adds one weight per row and a number of unit
variance as much on average, so the net input has a standard deviation of about s whatever the number of columns; the bias has
that of s itself. For `"cos"` the bias is uniform on a circle and features are sqrt(2/k) cos(.). A product of features is then a
mean of 2 cos(w . x + b) cos(w . y + b), whose expectation over b is cos(w . (x - y)), and over independent weights the product
of their characteristic functions at d_j = (x_j - y_j) s / sqrt(c), j the design columns:

    gaussian, hadamard   E[z(x) . z(y)] = prod exp(-d_j^2 / 2) = exp(-s^2 |x - y|^2 / (2 c))
    uniform              prod sin(sqrt(3) d_j) / (sqrt(3) d_j)
    sparse               prod (1 - r + r cos(d_j / sqrt(r))),    r the density

The error of k features is at most about 1 / sqrt(k). The entries of a Hadamard row are not independent, but for `"cos"` in
`RandomFeatures` they are drawn so that the row is standard normal.

*Structured projections* take three rounds of random signs and a Hadamard transform. With q the power of two at or above p, H
the q x q Hadamard matrix and D random diagonal matrices of signs,

    B = q^-1 H D_1 H D_2 H D_3

is sqrt(q) times an orthogonal matrix whose entries are close to independent standard Gaussian ones (one round would do for
distances; three make each entry a sum of many signs: Yu et al., 2016). k rows of independent such blocks, drawn without
replacement within a block, are the weights: 3 q log2 q additions per block where a dense product takes p q multiplications, and
at k = q = p lengths are kept exactly.

*Normal rows.* All rows of B have the length sqrt(q), and few columns leave few directions: four at q = 2. A kernel that
is the mean of cos(w . (x - y)) asks for w standard normal. With g standard normal in place of the signs D_1, row i is

    b_i = q^-1 h_i diag(g) (H D_2 H D_3),        h_i the row of H, of signs; the last factor q times an orthogonal matrix,

so h_i diag(g) is standard normal and so is b_i, an orthogonal image of it, for every q. Its length |g| is common to the block.
Dividing by |g| leaves a direction uniform on the sphere; a length of its own for each row, chi-distributed with q degrees
of freedom, makes the row standard normal again, and rows of a block independent in length (Le, Sarlos and Smola, 2013).
The first p of q entries of a standard normal row are standard normal.

*How many dimensions* keep all distances between n rows: the Johnson-Lindenstrauss bound. Projected to k dimensions by
independent weights of mean 0 and variance 1/k, a squared distance is multiplied by a random factor of mean 1. For Gaussian
weights that factor times k is chi-squared, and a Chernoff bound gives

    P(factor outside [1 - e, 1 + e]) <= 2 exp(-k (e^2/2 - e^3/3) / 2),

the same for weights +-1 and sparse ones (Achlioptas, 2003). With k = 4 log(n) / (e^2/2 - e^3/3) that is 2 / n^2 for one pair,
so that of the n (n - 1) / 2 pairs fewer than one is expected outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit

from gramian.arrays.threads import cached_property, usable_cores
from gramian.arrays.types import Array
from gramian.design.encoder import Encoder
from gramian.design.schema import Column, Labels, Schema, align, positions
from gramian.errors import DataError
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.value import Moments
from gramian.random.drawing import Drawing, hadamard_rows
from gramian.tables import ArrayTable, ArrowTable

Matrix = npt.NDArray[np.floating]


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": lambda net, out: np.maximum(net, 0, out=out),
    "step": lambda net, out: np.greater_equal(net, 0, out=out, casting="unsafe"),
    "cos": np.cos,
}

ACTIVATIONS = (None, *_FUNCTIONS)
"""Every activation there is."""


def activate(activation: str | None, net: Matrix) -> Matrix:
    """Return the net inputs with the activation applied to each, in place.

    Examples
    --------
    >>> activate("step", np.array([[-0.5, 0.0, 2.0]]))
    array([[0., 1., 1.]])
    """
    if activation is not None:
        _FUNCTIONS[activation](net, out=net)
    return net


ROUNDS = 3
FAST = 512
"""Columns from which the transform takes less time than the product with the weights as a matrix."""


@dataclass(frozen=True, eq=False)
class Hadamard:
    """A structured projection of p columns to k features of unit variance.

    Attributes
    ----------
    p : int
        Columns.
    signs : (blocks, 3, q) array
        D_1, D_2 and D_3 of each block; for normal rows D_1 is g, scaled to the length sqrt(q).
    chosen : (k,) array
        The rows that are kept, of all blocks one after the other.
    lengths : (k,) array, optional
        What the rows that are kept are multiplied by.
    """

    p: int
    signs: Array
    chosen: npt.NDArray[np.intp]
    lengths: Array | None = None

    @classmethod
    def drawn(cls, p: int, k: int, seed: int, *, normal: bool = False) -> Hadamard:
        """Return a projection drawn from a seed; each row standard normal where asked for."""
        q = 1 << max(0, int(p - 1).bit_length())
        blocks = -(-k // q)
        rng = np.random.default_rng([seed, 0x48])
        signs = rng.integers(0, 2, (blocks, ROUNDS, q)) * 2.0 - 1.0
        last = np.sort(rng.permutation(q)[: k - (blocks - 1) * q]) + (blocks - 1) * q
        chosen = np.concatenate([np.arange((blocks - 1) * q), last]).astype(np.intp)
        if not normal:
            return cls(p, signs, chosen)
        g = rng.standard_normal((blocks, q))
        signs[:, 0] = np.sqrt(q) * g / np.linalg.norm(g, axis=1, keepdims=True)
        return cls(p, signs, chosen, np.sqrt(rng.chisquare(q, k) / q))

    def apply(self, rows: Array) -> Array:
        """Return the features of rows, (n, k), before any scale."""
        q = self.signs.shape[2]
        parts = []
        for signs in self.signs:
            work = np.zeros((len(rows), q))
            work[:, : self.p] = rows
            for k in reversed(range(ROUNDS)):
                work *= signs[k]
                hadamard_rows(work)
            parts.append(work / q)
        features = np.concatenate(parts, axis=1)[:, self.chosen]
        return features if self.lengths is None else features * self.lengths

    def weights(self) -> Array:
        """Return the projection as a matrix, (p, k)."""
        return self.apply(np.eye(self.p))


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
        raise DataError(f"{called} must be a matrix of numbers, one row per design column and the bias last") from None
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise DataError(f"{called} must be a matrix of finite numbers; got shape {values.shape}")
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
    """

    projection: Projection
    activation: str | None
    deeper: tuple[Array, ...] = ()

    @classmethod
    def of(
        cls,
        weights: Weights,
        columns: Sequence[Column],
        labels: Sequence[Labels],
        activation: str | None,
        deeper: Sequence[Array] = (),
    ) -> RandomMap:
        """Return the map of these columns and labels."""
        projection = Projection(design_of(columns, labels), weights.matrix(columns, labels), weights.bias())
        return cls(projection, activation, tuple(deeper))

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

    def apply_rows(self, rows: Rows, dtype: Any = np.float64) -> npt.NDArray:
        """Return the features of some encoded rows, (n, k)."""
        features = activate(self.activation, self.projection.apply_rows(rows, dtype))
        for weights in self.deeper:
            features = features @ weights[:-1].astype(dtype, copy=False)
            features += weights[-1].astype(dtype, copy=False)
            activate(self.activation, features)
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


def least_dimension(n_rows: int, eps: float = 0.1) -> int:
    """Return the number of dimensions at which all squared distances between rows are kept to a share `eps`.

    Examples
    --------
    >>> least_dimension(1_000_000, 0.5), least_dimension(1_000_000, 0.1)
    (664, 11842)
    """
    e = float(eps)
    return max(1, int(np.ceil(4 * np.log(max(n_rows, 2)) / (e**2 / 2 - e**3 / 3) - 1e-9)))


Counts = list[npt.NDArray[np.int64]]


class Maps(Protocol):
    """A place where a function of each batch of a table is computed: any engine."""

    def map(self, table: ArrowTable, function: Callable[[pa.RecordBatch], Any], *, columns: list[str]) -> Iterator[Any]:
        """Yield the function of each batch, in order."""


def read_labels(table: ArrowTable | ArrayTable, encoder: Encoder) -> tuple[list[Labels], int]:
    """Return the labels of each category in order of first sight, and the number of rows read.

    Parameters
    ----------
    table : table
    encoder : Encoder
        Of the categories alone; its codebooks grow.
    """
    arrow = table.as_arrow() if isinstance(table, ArrayTable) else table
    n_rows = 0
    with ThreadPoolExecutor(usable_cores(None)) as pool:
        for batch in arrow.batches(encoder.source_columns):
            encoder.encode([batch], executor=pool)
            n_rows += batch.num_rows
    return [encoder.labels(column.name) for column in encoder.schema], n_rows


def count_rows(table: ArrowTable | ArrayTable) -> int:
    """Return the number of rows, reading one column where it is not known beforehand."""
    if table.n_rows is not None:
        return table.n_rows
    if isinstance(table, ArrayTable):
        return sum(chunk.shape[0] for chunk in table.chunks())
    return sum(batch.num_rows for batch in table.batches(table.schema.names[:1]))


def level_counts(engine: Maps, table: ArrowTable | ArrayTable, encoder: Encoder) -> tuple[list[Labels], Counts]:
    """Return the labels of each category in order of first sight, and how many rows have each: of rows that count.

    Parameters
    ----------
    engine : Maps
    table : table
        In partitions: nothing is given beside its rows.
    encoder : Encoder
        Of categories, numbers and targets.
    """
    categories = [column for column in encoder.schema if column.form == "category" and not column.target]
    if not categories:
        return [], []
    schema = Schema((*categories, *(column for column in encoder.schema if column.target)))
    made = partial(
        Encoder,
        schema,
        weight_column=encoder.weight_column,
        families=encoder.families,
        target_missing=encoder.target_missing,
    )
    names = [column.name for column in categories]
    labels = [Labels(pa.nulls(0)) for _ in names]
    counts: Counts = [np.zeros(0, dtype=np.int64) for _ in names]
    arrow = table.as_arrow() if isinstance(table, ArrayTable) else table
    for part in engine.map(arrow, partial(_levels, made, names), columns=made().source_columns):
        for k, (more, met) in enumerate(part):
            labels[k], at, other_at = align(labels[k], more, column=names[k])
            total = np.zeros(len(labels[k]), dtype=np.int64)
            total[at] = counts[k]
            total[other_at] += met
            counts[k] = total
    return labels, counts


def _levels(made: Callable[[], Encoder], names: list[str], batch: pa.RecordBatch) -> list[tuple[Labels, Any]]:
    """Return the labels of one batch, and how many of its rows that count have each."""
    encoder = made()
    encoded = encoder.encode([batch])
    at = {name: k for k, name in enumerate(encoded.coded)}
    sizes = [encoded.n_levels[at[name]] for name in names]
    return [
        (encoder.labels(name, size), np.bincount(encoded.codes[at[name]], minlength=size))
        for name, size in zip(names, sizes, strict=True)
    ]
