"""Extreme learning machines: moments of hidden units in one streamed pass, which the readout is solved from.

With h = g(V x') the hidden units of a row (`gramian.random.features`), the least-squares weights of the outputs are a
function of the moments of (h, y), which is what this package collects, adds, subtracts and splits into folds. So the pass here
is the ordinary one, with an encoder that shows the hidden units in place of the columns: they are computed a chunk at a time by
the thread that adds the chunk up, and no matrix of rows by units is ever held.

Levels are counted beside, so that a difference of two machines knows the levels that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.encoder import Encoded, Encoder, LazyRows
from gramian.design.schema import Column, Labels, Schema
from gramian.errors import DataError
from gramian.maps.projection import Rows, refuse_infinite
from gramian.random.features import RandomMap

Counts = npt.NDArray[np.int64]

HIDDEN = "(hidden)"
"""What the columns of hidden units are called, with their number."""


def hidden_names(count: int) -> list[str]:
    """Return the names of hidden units as columns."""
    return [f"{HIDDEN}{k}" for k in range(count)]


class HiddenRows(LazyRows):
    """The hidden units of some rows and the numbers beside them, computed when they are asked for.

    Parameters
    ----------
    layers : RandomMap
    rows : Rows
    beside : (n, e) array
        Numbers that follow the hidden units.
    """

    def __init__(self, layers: RandomMap, rows: Rows, beside: Array) -> None:
        self._map, self._encoded, self._beside = layers, rows, beside
        self.shape = (len(rows), layers.n_features + beside.shape[1])

    def _fill(self, part: Any, out: Array) -> None:
        units = self._map.n_features
        self._map.fill(self._encoded.part(part), out[:, :units])
        out[:, units:] = self._beside[part]


class HiddenEncoder(Encoder):
    """An encoder whose numbers are the hidden units of the rows that another one encodes.

    Parameters
    ----------
    inner : Encoder
        Of the features, as categories and numbers, and of the targets; a fresh one.
    layers : callable
        `layers(columns, labels)` gives the map for the labels seen so far.
    direct : bool
        Whether the features stand beside the hidden units, to be linked to the outputs too.
    """

    def __init__(
        self, inner: Encoder, layers: Callable[[Sequence[Column], Sequence[Labels]], RandomMap], *, direct: bool
    ) -> None:
        super().__init__(**inner.asked())
        self._layers, self._direct = layers, direct
        self.wrap = partial(HiddenEncoder, layers=layers, direct=direct)
        self.columns = [column for column in inner.schema if not column.target]
        self._class_columns = [column.origin for column in inner.schema if column.target and column.by_level]
        self._categories = [column.name for column in self.columns if column.form == "category"]
        self.counts: list[Counts] = [np.zeros(0, dtype=np.int64) for _ in self._categories]
        self.map = layers(self.columns, [Labels(pa.nulls(0)) for _ in self._categories])

    @property
    def schema(self) -> Schema:
        """The hidden units, the features where they are linked directly, and the targets."""
        units = [Column(name, "number", name) for name in hidden_names(self.map.n_features)]
        return Schema((*units, *(c for c in self._columns if self._direct or c.target)))

    def looks_at(self, types: pa.Schema) -> list[str]:
        """Return the source columns whose indices are followed by nothing but a codebook, which looks at each of them."""
        return [name for name in super().looks_at(types) if name not in self._class_columns]

    def encode(
        self, batches: Sequence[pa.RecordBatch], *, weights: Array | None = None, executor: Executor | None = None
    ) -> Encoded:
        """Return consecutive batches as one stretch."""
        for batch in batches:
            for name in self._class_columns:
                if name in batch.schema.names:
                    refuse_fractions(batch.column(name), f"column {name!r}")
        return self._hidden(super().encode(batches, weights=weights, executor=executor))

    def encode_array(self, values: Any, *, weights: Array | None = None) -> Encoded:
        """Return rows of an array, whose columns are all numbers, as one stretch."""
        return self._hidden(super().encode_array(values, weights=weights))

    def seen(self) -> list[Labels]:
        """Return the labels of each category that some row had."""
        return [self.labels(name, len(count)) for name, count in zip(self._categories, self.counts, strict=True)]

    def _hidden(self, values: Encoded) -> Encoded:
        at = {name: k for k, name in enumerate(values.coded)}
        codes = [values.codes[at[name]] for name in self._categories]
        sizes = [values.n_levels[at[name]] for name in self._categories]
        if sizes != [len(labels) for labels in self.map.design.labels]:
            known = [self.labels(name, size) for name, size in zip(self._categories, sizes, strict=True)]
            self.map = self._layers(self.columns, known)
        for k, (column, size) in enumerate(zip(codes, sizes, strict=True)):
            met = np.bincount(column, minlength=size)
            met[: len(self.counts[k])] += self.counts[k]
            self.counts[k] = met
        numbers = _given(values)
        place = {name: k for k, name in enumerate(values.numeric)}
        own = [place[c.name] for c in self.columns if c.form != "category"]
        features = numbers if own == list(range(len(place))) else numbers[:, own]
        refuse_infinite(features, [values.numeric[k] for k in own])
        schema = self.schema
        beside = [place[name] for name in schema.numbers[self.map.n_features :]]
        coded = schema.coded
        kind = np.uint16 if all(column.dtype == np.uint16 for column in codes) else np.uint32
        stacked: Any = np.array(codes, dtype=kind).reshape(len(codes), values.n_rows)
        extra = numbers[:, beside]
        extra = extra.toarray() if sp.issparse(extra) else np.ascontiguousarray(extra, dtype=np.float64)
        return Encoded(
            n_rows=values.n_rows,
            coded=coded,
            numeric=schema.numbers,
            codes=[values.codes[at[name]] for name in coded],
            n_levels=[values.n_levels[at[name]] for name in coded],
            numbers=HiddenRows(self.map, Rows(stacked, features), extra),
            weights=values.weights,
            folds=values.folds,
            left_out=values.left_out,
        )


def refuse_fractions(values: pa.Array, called: str) -> None:
    """Raise where class labels are fractions: scikit-learn's rule of what cannot be a class.

    Examples
    --------
    >>> refuse_fractions(pa.array([1.0, 2.5]), "y")
    Traceback (most recent call last):
    gramian.errors.DataError: Unknown label type: continuous. y holds 2.5, a fraction; use ELMRegressor (elm-regressor)
    """
    distinct = values.dictionary if isinstance(values, pa.DictionaryArray) else values
    if not pa.types.is_floating(distinct.type):
        return
    numbers = distinct.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
    fractions = numbers[np.isfinite(numbers) & (numbers != np.floor(numbers))]
    if len(fractions):
        raise DataError(
            f"Unknown label type: continuous. {called} holds {float(fractions[0])!r}, a fraction; "
            f"use ELMRegressor (elm-regressor)"
        )


def _given(values: Encoded) -> Any:
    """Return the numbers of a stretch as they were given, what was taken off long integers put back."""
    numbers = values.numbers[:] if isinstance(values.numbers, LazyRows) else values.numbers
    return numbers[:] + np.array(values.offsets) if any(values.offsets) else numbers
