"""What the fit of an additive model reads of its rows, pass by pass: expansions by fold, left-out deviances, cells of pairs.

Rows are encoded once and kept while they take no more than a quarter of the free memory; otherwise each pass reads and encodes
them again. Crosses are looked up from the codes of their two columns (`Reader`), so that no text is read for them.

A row is in the fold of the first pass, by its position: what is learned without a fold is judged by the same rows in every
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.design.encoder import Encoded, Encoder, by_position
from gramian.design.schema import Labels
from gramian.engines.local import STRETCH_BYTES, encoded
from gramian.engines.weighted import KeepingEncoder, NewtonWeights, Reader, Stretch, fold_moments
from gramian.errors import DataError
from gramian.linear.regression.additive import Expansion
from gramian.linear.regression.glm import Family
from gramian.linear.regression.interaction import LEAST_CURVATURE, add_cells
from gramian.maps.projection import Design, Projection

BLOCK = 2**16
"""Rows whose cells are added up at a time."""


@dataclass(eq=False)
class FitRows:
    """The rows of a fit.

    Attributes
    ----------
    table : table
    fresh : callable
        Gives a fresh encoder of its columns.
    n_folds : int
    keeping : KeepingEncoder or None
        Of the first pass, where it was made already.
    every_weight : float or None
        The weight of all rows.
    n_passes : int
        Made so far.
    """

    table: Any
    fresh: Callable[[], Encoder]
    n_folds: int
    keeping: KeepingEncoder | None = None
    every_weight: float | None = None
    n_passes: int = 0
    _known: tuple[Reader | None, list[Stretch]] = field(default=(None, []), init=False)

    def stretches(self, reader: Reader, event: int | None = None) -> Iterator[Stretch]:
        """Yield the rows as a reader takes them; with an event, the target is whether a row has that class."""
        self.n_passes += 1
        for rows in self._read(reader):
            target = rows.target if event is None else (rows.target == event).astype(np.float64)
            weights = rows.weights
            if self.every_weight not in (None, 1):
                weights = np.full(len(target), self.every_weight)
            yield replace(rows, target=target, weights=weights)

    def sample(self, reader: Reader, names: Sequence[str]) -> dict[str, Array]:
        """Return the values of some numbers in the first rows, NaN where missing."""
        with closing(self._encoded()) as parts:
            rows, labels = next(parts)
        coded = {name: k for k, name in enumerate(rows.coded)}
        return {name: reader.number(rows, coded, labels, name) for name in names}

    @property
    def _kept(self) -> list[Encoded] | None:
        return None if self.keeping is None else self.keeping.kept

    def _read(self, reader: Reader) -> Iterator[Stretch]:
        if self._known[0] is reader:
            yield from self._known[1]
            return
        kept, done, made = self._kept is not None, 0, []
        for rows, labels in self._encoded():
            folds = by_position(done, rows.n_rows, self.n_folds, 0)
            stretch = replace(reader.stretch(rows, labels), folds=folds)
            done += rows.n_rows
            if kept:
                made.append(stretch)
            yield stretch
        if kept:
            self._known = reader, made

    def _encoded(self) -> Generator[tuple[Encoded, Callable[[str], Labels]], None, None]:
        """Yield the rows as encoded in the first pass, or anew, with the labels of their columns."""
        if self._kept is not None:
            assert self.keeping is not None
            for rows in self._kept:
                yield rows, self.keeping.labels
            return
        if self.table.one_shot and self.keeping is not None:
            raise DataError(
                "these rows can be read once only, and are too many to be kept: write them to a file, or pass a list"
            )
        encoder = KeepingEncoder(self.fresh(), None if self.keeping is None else 0)
        n_threads = usable_cores(None)
        with (
            ThreadPoolExecutor(n_threads, thread_name_prefix="gramian") as pool,
            one_blas_thread(),
            closing(encoded(self.table, encoder, pool, 0, STRETCH_BYTES // 4)) as parts,
        ):
            for _, rows in parts:
                if rows.n_rows:
                    yield rows, encoder.labels
        self.keeping = encoder


def level_counts(rows: FitRows, reader: Reader) -> list[Array]:
    """Return how many rows each level of the categories of a design has."""
    sizes = [len(labels) for labels in reader.design.labels]
    counts = [np.zeros(size) for size in sizes]
    for part in rows.stretches(reader):
        for k, size in enumerate(sizes):
            counts[k] += np.bincount(part.rows.codes[k], minlength=size)[:size]
    return counts


def expansions(
    rows: FitRows, reader: Reader, columns: Sequence[str], family: Family, at: Projection, event: int | None
) -> list[Expansion]:
    """Return the log-likelihood of each fold to second order about a predictor, from one pass."""
    weigh = NewtonWeights(family, at, n_folds=rows.n_folds)
    parts = fold_moments(rows.stretches(reader, event), reader, weigh)
    centre = np.nan_to_num(reader.design.mean)
    return [Expansion.of(part, columns, centre) for part in parts]


def left_out(
    rows: FitRows, reader: Reader, family: Family, models: Sequence[Projection], event: int | None
) -> tuple[Array, Array]:
    """Return deviances (folds, models) of rows under models without their fold, and the weight of each fold.

    Parameters
    ----------
    models : sequence of Projection
        Per fold, to the predictors of all models.
    """
    losses = np.zeros((rows.n_folds, models[0].n_features))
    weights = np.zeros(rows.n_folds)
    for part, at, fold in _by_fold(rows.stretches(reader, event), rows.n_folds):
        eta = models[fold].apply_rows(part.rows.part(at))
        given = np.ones(len(eta)) if part.weights is None else part.weights[at]
        for k in range(eta.shape[1]):
            losses[fold, k] += given @ family.deviance(part.target[at], eta[:, k])
        weights[fold] += given.sum()
    return losses, weights


def _by_fold(stretches: Iterator[Stretch], n_folds: int) -> Iterator[tuple[Stretch, npt.NDArray[np.intp], int]]:
    for part in stretches:
        for fold in range(n_folds):
            assert part.folds is not None
            at = np.flatnonzero(part.folds == fold)
            if len(at):
                yield part, at, fold


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of categories of a design, and where their cells stand in one array.

    Attributes
    ----------
    names : list of pairs of str
    shapes : list of pairs of int
    table : (pairs, 4) array
        Place of the first and of the second column, levels of the second, first cell.
    n_cells : int
    """

    names: list[tuple[str, str]]
    shapes: list[tuple[int, int]]
    table: npt.NDArray[np.int64]
    n_cells: int

    @classmethod
    def of(cls, design: Design, names: Sequence[tuple[str, str]]) -> Pairs:
        """Return pairs by the names of the columns in a design."""
        place = {column.name: k for k, column in enumerate(design.categorical)}
        shapes = [(len(design.labels[place[a]]), len(design.labels[place[b]])) for a, b in names]
        starts = np.cumsum([0, *(m * n for m, n in shapes)])
        rows = [
            [place[a], place[b], shape[1], start] for (a, b), shape, start in zip(names, shapes, starts, strict=False)
        ]
        return cls(list(names), shapes, np.array(rows, dtype=np.int64).reshape(-1, 4), int(starts[-1]))

    def cells(self, sums: Array, k: int) -> Array:
        """Return the sums of the cells of the k-th pair, (levels, levels, 3)."""
        start = self.table[k, 3]
        return sums[start : start + self.shapes[k][0] * self.shapes[k][1]].reshape(*self.shapes[k], 3)


def cell_sums(
    rows: FitRows,
    reader: Reader,
    pairs: Pairs,
    family: Family,
    models: Sequence[Projection],
    event: int | None,
    mean_curvature: float,
) -> tuple[Array, Array]:
    """Return rows, curvature and slope in the cells of all pairs by fold, and the sums of e^2, e^3, e^4 and e^6 by fold.

    Predictors are of models without the fold; see `gramian.linear.regression.interaction`.
    """
    out = np.zeros((rows.n_folds, pairs.n_cells, 3))
    powers = np.zeros((rows.n_folds, 4))
    chunks = np.array_split(np.arange(len(pairs.table)), min(len(pairs.table), 4 * usable_cores(None)))
    for part in rows.stretches(reader, event):
        assert part.folds is not None
        eta = np.empty(len(part.target))
        for fold in range(rows.n_folds):
            at = np.flatnonzero(part.folds == fold)
            eta[at] = models[fold].apply_rows(part.rows.part(at))[:, 0] if len(at) else 0.0
        slope, curvature = family.slope_and_curvature(part.target, eta)
        curvature = np.maximum(curvature, LEAST_CURVATURE * mean_curvature)
        if part.weights is not None:
            slope, curvature = slope * part.weights, curvature * part.weights
        e = slope / np.sqrt(curvature)
        for k, power in enumerate((2, 3, 4, 6)):
            powers[:, k] += np.bincount(part.folds, e**power, minlength=rows.n_folds)[: rows.n_folds]
        for start in range(0, len(e), BLOCK):
            at_rows = slice(start, start + BLOCK)
            codes: Any = np.ascontiguousarray(part.rows.codes[:, at_rows])
            folds, w, u = part.folds[at_rows], curvature[at_rows], slope[at_rows]
            in_threads(_adding(codes, pairs.table, folds, w, u, out), chunks)
    return out, powers


def _adding(codes: Any, table: Any, folds: Any, w: Array, u: Array, out: Array) -> Callable[[Any], None]:
    # Cells of different pairs are different, so that threads do not meet.
    return lambda some: add_cells(codes, np.ascontiguousarray(table[some]), folds, w, u, out)
