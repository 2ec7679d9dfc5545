"""The hidden layers of a fitted machine: columns, labels and their counts, and the fixed map; how two of them combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.design.encoder import Encoder
from gramian.design.schema import Column, Labels, Schema, align
from gramian.engines.collect import choose_engine
from gramian.engines.local import LocalEngine
from gramian.errors import Argument, DataError
from gramian.estimators.spine.estimator import seed_of
from gramian.estimators.spine.training import Training, note_columns
from gramian.moments.advice import identifiers_among
from gramian.moments.value import Moments
from gramian.random.drawing import Drawing
from gramian.random.elm import HiddenEncoder
from gramian.random.features import (
    DrawnWeights,
    GivenWeights,
    RandomMap,
    StructuredWeights,
    Weights,
    bias_of,
    checked_weights,
    level_counts,
    read_labels,
    spread_of,
)

Counts = list[npt.NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Layers:
    """The map of a machine as a function of the labels it knows.

    Attributes
    ----------
    first : Weights
        Of the first layer.
    activation : str or None
    deeper : list of arrays
        Weights of further layers.
    seed : int
        What they were drawn from.
    known : list of Labels
        What given weights belong to.
    """

    first: Weights
    activation: str | None
    deeper: list[Array]
    seed: int
    known: list[Labels]

    def __call__(self, columns: Sequence[Column], labels: Sequence[Labels]) -> RandomMap:
        """Return the map of these columns and labels."""
        return RandomMap.of(self.first, columns, labels, self.activation, self.deeper)


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """What a machine has seen and how it maps it.

    Attributes
    ----------
    schema : Schema
        Features and targets as they were read.
    labels : list of Labels
        Of the categories.
    counts : list of int64 arrays
        Rows of each level.
    map : RandomMap
    layers : Layers
        The map for other labels.
    """

    schema: Schema
    labels: list[Labels]
    counts: Counts
    map: RandomMap
    layers: Layers

    @property
    def columns(self) -> list[Column]:
        """The features."""
        return [column for column in self.schema if not column.target]

    @property
    def targets(self) -> list[str]:
        """Names of the targets."""
        return [column.name for column in self.schema if column.target]

    @classmethod
    def collected(
        cls, estimator: Any, training: Training, *, n_folds: int, before: HiddenLayers | None, final: bool
    ) -> tuple[HiddenLayers, Moments]:
        """Return the layers and the moments of hidden units and targets of some rows.

        Parameters
        ----------
        estimator : ELM
        training : Training
        n_folds : int
        before : HiddenLayers, optional
            Those of earlier rows, whose columns and map are kept.
        final : bool
            Whether these are all the rows, so that it can be told which columns are identifiers. They are then read again
            without them, unless they can be read once only, or weights are given, which are of all columns.
        """
        schema = training.schema(classes=estimator._classes, like=None if before is None else before.schema)
        if before is None:
            origins = [column.origin for column in schema if not column.target]
            note_columns(estimator, origins, named=training.named, library=training.library)
        collected, moments = cls._passed(estimator, training, schema, n_folds, before)
        if final and not getattr(training.table, "one_shot", False) and estimator.hidden_weights is None:
            found = identifiers_among(collected.columns, collected.labels, moments.n_rows)
            if found:
                kept = Schema(tuple(column for column in schema if column.name not in found))
                collected, moments = cls._passed(estimator, training, kept, n_folds, before)
        return collected, moments if training.every_weight in (None, 1) else moments * training.every_weight

    @classmethod
    def _passed(
        cls, estimator: Any, training: Training, schema: Schema, n_folds: int, before: HiddenLayers | None
    ) -> tuple[HiddenLayers, Moments]:
        layers = _planned_layers(estimator, training, schema) if before is None else before.layers
        inner = training.encoder(schema, n_folds, None if before is None else before.families)
        encoder = HiddenEncoder(inner, layers, direct=estimator.direct_links)
        # Values beside rows in partitions cannot be split: such rows are read here.
        beside = bool(training.attached) or training.weights is not None
        engine = LocalEngine() if beside else choose_engine(None, training.table)
        moments = engine.reduce(training.table, encoder).from_library(training.library)
        if isinstance(engine, LocalEngine):
            return cls(schema, encoder.seen(), encoder.counts, encoder.map, layers), moments
        labels, counts = level_counts(engine, training.table, inner)
        return cls(schema, labels, counts, layers(encoder.columns, labels), layers), moments

    def saved(self, moments: Moments) -> dict[str, Any]:
        """Return what a file holds beside parameters and fitted attributes, so that what is loaded goes on from there."""
        return {
            "moments": moments,
            "schema": list(self.schema),
            "counts": list(self.counts),
            "seed": self.layers.seed,
            "known": self.layers.known,
        }

    @classmethod
    def restored(cls, estimator: Any, saved: dict[str, Any], fitted: RandomMap) -> HiddenLayers | None:
        """Return the layers of a machine that was loaded.

        Parameters
        ----------
        estimator : ELM
            With its parameters.
        saved : dict
            What `saved` gave.
        fitted : RandomMap
            The map of the file.

        Returns
        -------
        HiddenLayers or None
            None where the parameters are not those of the fit any more: they do not give the fitted map.
        """
        schema = Schema(tuple(saved["schema"]))
        columns = [column for column in schema if not column.target]
        layers = layers_of(estimator, columns, int(saved["seed"]), list(saved["known"]))
        labels = list(fitted.design.labels)
        counts = [np.asarray(each, dtype=np.int64) for each in saved["counts"]]
        if [len(each) for each in counts] != [len(each) for each in labels]:
            raise DataError("it has not as many counts as levels")
        if not same_maps(layers(columns, labels), fitted):
            return None
        return cls(schema, labels, counts, fitted, layers)

    @property
    def families(self) -> dict[str, str]:
        """The family of each category's labels."""
        names = [column.name for column in self.columns if column.form == "category"]
        return {name: labels.family for name, labels in zip(names, self.labels, strict=True)}

    def _aligned(self, other: HiddenLayers) -> tuple[list[Labels], Counts, Counts]:
        names = [column.name for column in self.columns if column.form == "category"]
        labels: list[Labels] = []
        mine: Counts = []
        theirs: Counts = []
        sides = zip(names, self.labels, other.labels, self.counts, other.counts, strict=True)
        for name, left, right, left_counts, right_counts in sides:
            union, at, other_at = align(left, right, column=name)
            for counts, places, into in ((left_counts, at, mine), (right_counts, other_at, theirs)):
                laid_out = np.zeros(len(union), dtype=np.int64)
                laid_out[places] = counts
                into.append(laid_out)
            labels.append(union)
        return labels, mine, theirs

    def _with(self, labels: list[Labels], counts: Counts) -> HiddenLayers:
        return HiddenLayers(self.schema, labels, counts, self.layers(self.columns, labels), self.layers)

    def __add__(self, other: HiddenLayers) -> HiddenLayers:
        labels, mine, theirs = self._aligned(other)
        counts = [a + b for a, b in zip(mine, theirs, strict=True)]
        alike = [len(each) for each in labels] == [len(each) for each in self.labels]
        return replace(self, labels=labels, counts=counts) if alike else self._with(labels, counts)

    def __sub__(self, other: HiddenLayers) -> HiddenLayers:
        labels, mine, theirs = self._aligned(other)
        left = [a - b for a, b in zip(mine, theirs, strict=True)]
        kept = [counts > 0 for counts in left]
        return self._with(
            [each.keep(mask) for each, mask in zip(labels, kept, strict=True)],
            [counts[mask] for counts, mask in zip(left, kept, strict=True)],
        )

    def refuse_other_map(self, other: HiddenLayers) -> None:
        """Raise where two machines do not map rows alike, so that their moments are of different things."""
        mine = [(column.name, column.form) for column in self.schema]
        theirs = [(column.name, column.form) for column in other.schema]
        if mine != theirs:
            name = next((a[0] for a, b in zip(mine, theirs, strict=False) if a != b), (mine + theirs)[-1][0])
            raise DataError(f"machines of different columns cannot be combined: they differ in {name!r}")
        labels = [align(a, b, column="")[0] for a, b in zip(self.labels, other.labels, strict=True)]
        if not same_maps(*(layers(self.columns, labels) for layers in (self.layers, other.layers))):
            raise DataError(
                "machines of different hidden weights cannot be combined; fit both with the same n_hidden, activation and "
                "random_state, or give both the same hidden_weights"
            )


def same_maps(first: RandomMap, second: RandomMap) -> bool:
    """Whether two maps of the same labels have the same weights, to what the logarithms of two machines may differ by."""
    if first.activation != second.activation or len(first.deeper) != len(second.deeper):
        return False
    a, b = ([m.projection.weights, m.projection.offset, *m.deeper] for m in (first, second))
    return all(u.shape == v.shape and np.allclose(u, v, rtol=1e-12, atol=1e-15) for u, v in zip(a, b, strict=True))


def _planned_layers(estimator: Any, training: Training, schema: Schema) -> Layers:
    """Return the map of a machine, having read the labels that given weights belong to."""
    columns = [column for column in schema if not column.target]
    coded = Schema(tuple(column for column in columns if column.form == "category"))
    known: list[Labels] = []
    if estimator.hidden_weights is not None and len(coded):
        known, _ = read_labels(training.table, Encoder(coded))
    return layers_of(estimator, columns, seed_of(estimator.random_state), known)


def layers_of(estimator: Any, columns: Sequence[Column], seed: int, known: list[Labels]) -> Layers:
    """Return the map of a machine as a function of the labels it knows.

    Parameters
    ----------
    estimator : ELM
        Its parameters.
    columns : sequence of Column
        The features.
    seed : int
    known : list of Labels
        Of each category, where weights are given: what their rows belong to.
    """
    activation, scale = estimator.activation, float(estimator.scale)
    given = estimator.hidden_weights
    first: Weights
    if given is not None:
        matrices = list(given) if isinstance(given, list | tuple) and len(given) and np.ndim(given[0]) == 2 else [given]
        first = GivenWeights(matrices[0], columns, known, called="hidden_weights")
        deeper = [checked_weights(matrix, f"hidden_weights[{k}]") for k, matrix in enumerate(matrices[1:], 1)]
    else:
        sizes = [int(size) for size in estimator._sizes()]
        if estimator.projection == "hadamard":
            if any(column.form == "category" for column in columns):
                raise DataError(
                    Argument("projection", "hadamard"),
                    " needs the number of levels before the rows are read; use 'gaussian', 'uniform' or 'sparse' "
                    "for tables with categories",
                )
            first = StructuredWeights(Drawing("gaussian", sizes[0], seed), activation, scale, len(columns))
        else:
            first = DrawnWeights(Drawing(estimator.projection, sizes[0], seed), activation, scale, len(columns))
        deeper = [_deeper_drawn(estimator, seed, k, sizes) for k in range(1, len(sizes))]
    _refuse_mismatch([first.size, *(w.shape[1] for w in deeper)], [len(w) - 1 for w in deeper])
    return Layers(first, activation, deeper, seed, known)


def _deeper_drawn(estimator: Any, seed: int, layer: int, sizes: list[int]) -> Array:
    kind = "gaussian" if estimator.projection == "hadamard" else estimator.projection
    drawing = Drawing(kind, sizes[layer], seed, layer)
    weights = spread_of(estimator.activation, estimator.scale, sizes[layer - 1], sizes[layer]) * drawing.numbers(
        np.arange(sizes[layer - 1])
    )
    return np.vstack([weights, bias_of(drawing, estimator.activation, estimator.scale)])


def _refuse_mismatch(sizes: list[int], takes: list[int]) -> None:
    for layer, (size, taken) in enumerate(zip(sizes, takes, strict=False), 1):
        if size != taken:
            raise DataError(
                f"hidden_weights[{layer}] has {taken + 1} rows, and layer {layer - 1} has {size} units: give {size + 1} rows, "
                f"the bias last"
            )
