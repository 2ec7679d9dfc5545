"""What the fit of an additive model reads of its rows, pass by pass: expansions by fold, left-out deviances, cells of pairs.

Rows are encoded once and kept while they take no more than a quarter of the free memory; otherwise each pass reads and encodes
them again. Crosses are looked up from the codes of their two columns (`Reader`), so that no text is read for them. The
predictors of several classes share a pass.

*Sample.* Beside that the first pass keeps evenly spaced rows, `SAMPLE` to twice as many: what needs many steps and no
precision, such as the choice of a ridge, is done on these.

*Folds.* A row is in the fold of the first pass, by its position: what is learned without a fold is judged by the same rows in
every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import copy
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
from gramian.linear.regression.expansion import Expansion
from gramian.linear.regression.glm import Family
from gramian.linear.regression.interaction import LEAST_CURVATURE, add_cells
from gramian.maps.projection import Design, Projection, Rows

BLOCK = 2**16
"""Rows whose cells are added up at a time."""

SAMPLE = 100_000
"""Rows of the sample at least, where there are as many."""


class SamplingEncoder(KeepingEncoder):
    """An encoder that keeps what it has encoded while there is room, and evenly spaced rows in any case.

    Attributes
    ----------
    sample : list of Encoded
        Every so many rows, `SAMPLE` to twice as many; all rows where they are fewer.
    every : int
        The distance between them.
    """

    def __init__(self, inner: Encoder, room: int | None = None) -> None:
        super().__init__(inner, room)
        self.sample: list[Encoded] = []
        self.every = 1
        self._n_seen = 0

    def _made(self, rows: Encoded) -> Encoded:
        at = np.arange(-self._n_seen % self.every, rows.n_rows, self.every)
        self._n_seen += rows.n_rows
        self.sample.append(rows if self.every == 1 else rows.picked(at))
        while (n_sampled := sum(part.n_rows for part in self.sample)) > 2 * SAMPLE:
            self.every *= 2
            starts = np.cumsum([0, *(part.n_rows for part in self.sample)])
            parts = zip(self.sample, starts, strict=False)
            self.sample = [part.picked(np.arange(start % 2, part.n_rows, 2)) for part, start in parts]
            assert sum(part.n_rows for part in self.sample) == -(-n_sampled // 2)
        return super()._made(rows)


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
    keeping: SamplingEncoder | None = None
    every_weight: float | None = None
    n_passes: int = 0
    _known: tuple[Reader, list[Stretch]] | None = field(default=None, init=False)

    def stretches(self, reader: Reader) -> Iterator[Stretch]:
        """Yield the rows as a reader takes them."""
        self.n_passes += 1
        for rows in self._read(reader):
            if self.every_weight in (None, 1):
                yield rows
            else:
                yield replace(rows, weights=np.full(len(rows.target), self.every_weight))

    @property
    def sampled(self) -> FitRows:
        """The sample, whose passes count for themselves; of few rows all of them."""
        assert self.keeping is not None
        few = copy(self)
        few.keeping = copy(self.keeping)
        if self.keeping.every > 1 or self.keeping.kept is None:
            few.keeping.kept, few._known = self.keeping.sample, None
        return few

    @property
    def is_sampled(self) -> bool:
        """Whether the sample is less than all rows."""
        return self.keeping is not None and self.keeping.every > 1

    def sample(self, reader: Reader, names: Sequence[str]) -> dict[str, Array]:
        """Return the values of some numbers in the sample, NaN where missing."""
        if self.keeping is None:
            for _ in self._encoded():
                pass
        assert self.keeping is not None
        found: dict[str, list[Array]] = {name: [] for name in names}
        for rows in self.keeping.sample:
            coded = {name: k for k, name in enumerate(rows.coded)}
            for name in names:
                found[name].append(reader.number(rows, coded, self.keeping.labels, name))
        return {name: np.concatenate(values) for name, values in found.items()}

    def _read(self, reader: Reader) -> Iterator[Stretch]:
        known = self._known
        if known is not None and _begins_with(known[0].design, reader.design):
            count = len(reader.design.categorical)
            for stretch in known[1]:
                yield replace(stretch, rows=Rows(stretch.rows.codes[:count], stretch.rows.numbers))
            return
        kept, done, made = self.keeping is not None and self.keeping.kept is not None, 0, []
        for rows, labels in self._encoded():
            folds = by_position(done, rows.n_rows, self.n_folds, 0) if rows.folds is None else rows.folds
            stretch = replace(reader.stretch(rows, labels), folds=folds)
            done += rows.n_rows
            if kept:
                made.append(stretch)
            yield stretch
        if kept:
            self._known = reader, made

    def _encoded(self) -> Generator[tuple[Encoded, Callable[[str], Labels]], None, None]:
        """Yield the rows as encoded in the first pass, or anew, with the labels of their columns."""
        if self.keeping is not None and self.keeping.kept is not None:
            for rows in self.keeping.kept:
                yield rows, self.keeping.labels
            return
        if self.table.one_shot and self.keeping is not None:
            raise DataError(
                "these rows can be read once only, and are too many to be kept: write them to a file, or pass a list"
            )
        first = self.keeping is None
        encoder = SamplingEncoder(self.fresh()) if first else KeepingEncoder(self.fresh(), 0)
        n_threads = usable_cores(None)
        with (
            ThreadPoolExecutor(n_threads, thread_name_prefix="gramian") as pool,
            one_blas_thread(),
            closing(encoded(self.table, encoder, pool, 0, STRETCH_BYTES // 4)) as parts,
        ):
            for _, rows in parts:
                if rows.n_rows:
                    yield rows, encoder.labels
        if isinstance(encoder, SamplingEncoder):
            self.keeping = encoder


def _begins_with(design: Design, less: Design) -> bool:
    """Whether the first categories of a design are those of another one, its numbers being the same."""
    count = len(less.categorical)
    same = design.categorical[:count] == less.categorical and design.numeric == less.numeric
    return same and all(a is b for a, b in zip(design.labels, less.labels, strict=False))


def response(rows: Stretch, event: int | None) -> Array:
    """Return the target of a predictor: numbers, or whether a row has one class."""
    return rows.target if event is None else (rows.target == event).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ClassNewton(NewtonWeights):
    """`NewtonWeights` of the predictor of one class, against all others; of numbers the same."""

    event: int | None = None

    def __call__(self, rows: Stretch) -> tuple[Array, list[Array]]:
        """Return the weights and the numbers."""
        return super().__call__(replace(rows, target=response(rows, self.event)))


def expansions(
    rows: FitRows,
    reader: Reader,
    columns: Sequence[str],
    family: Family,
    at: Mapping[int, Projection],
    events: Sequence[int | None],
    *,
    by_fold: bool = True,
) -> dict[int, list[Expansion]]:
    """Return the log-likelihood of each fold, or of all rows, to second order about some of the predictors, from one pass."""
    n_folds = rows.n_folds if by_fold else 0
    weighs = [ClassNewton(family, model, n_folds=n_folds, event=events[k]) for k, model in at.items()]
    found = fold_moments(rows.stretches(reader), reader, weighs)
    centre = np.nan_to_num(reader.design.mean)
    return {k: [Expansion.of_pass(part, columns, centre) for part in parts] for k, parts in zip(at, found, strict=True)}


def left_out(
    rows: FitRows,
    reader: Reader,
    family: Family,
    models: Sequence[Sequence[Projection]],
    events: Sequence[int | None],
) -> Array:
    """Return the deviance of all rows under each of several models without their fold, added up over predictors.

    Parameters
    ----------
    models : sequence of sequences of Projection
        Per predictor and fold, to the predictors of all models.
    """
    losses = np.zeros(models[0][0].n_features)
    for part in rows.stretches(reader):
        for fold, at in _by_fold(part, rows.n_folds):
            some = part.rows.part(at)
            given = np.ones(len(some)) if part.weights is None else part.weights[at]
            for k, event in enumerate(events):
                eta, target = models[k][fold].apply_rows(some), response(part, event)[at]
                losses += [given @ family.deviance(target, eta[:, m]) for m in range(len(losses))]
    return losses


def _by_fold(rows: Stretch, n_folds: int) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Yield each fold that some rows are in, and their places."""
    assert rows.folds is not None
    for fold in range(n_folds):
        at = np.flatnonzero(rows.folds == fold)
        if len(at):
            yield fold, at


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
        """Return the sums of the cells of the k-th pair, (levels, levels, 4)."""
        start = self.table[k, 3]
        return sums[start : start + self.shapes[k][0] * self.shapes[k][1]].reshape(*self.shapes[k], 4)


def cell_sums(
    rows: FitRows,
    reader: Reader,
    pairs: Pairs,
    family: Family,
    models: Sequence[Sequence[Projection]],
    events: Sequence[int | None],
    curvatures: Sequence[float],
) -> tuple[list[Array], list[Array]]:
    """Return, per predictor, the sums in the cells of all pairs by fold, and the sums of e^2, e^3, e^4 and e^6 by fold.

    Of classes the first of these is its expectation. The sums in cells are of rows, curvature, slope and weight. Models are per
    predictor and fold, and without the fold; `curvatures` are the mean ones of a row.
    See `gramian.linear.regression.interaction`.
    """
    out = [np.zeros((rows.n_folds, pairs.n_cells, 4)) for _ in events]
    powers = [np.zeros((rows.n_folds, 4)) for _ in events]
    chunks = np.array_split(np.arange(len(pairs.table)), min(len(pairs.table), 4 * usable_cores(None)))
    for part in rows.stretches(reader):
        assert part.folds is not None
        given = np.ones(len(part.target)) if part.weights is None else part.weights
        for k, event in enumerate(events):
            eta = np.empty(len(part.target))
            for fold, at in _by_fold(part, rows.n_folds):
                eta[at] = models[k][fold].apply_rows(part.rows.part(at))[:, 0]
            slope, curvature = family.slope_and_curvature(response(part, event), eta)
            curvature = np.maximum(curvature, LEAST_CURVATURE * curvatures[k]) * given
            slope = slope * given
            e = slope / np.sqrt(curvature)
            square = given if family.known_dispersion else np.square(e)
            for j, values in enumerate((square, e**3, e**4, e**6)):
                powers[k][:, j] += np.bincount(part.folds, values, minlength=rows.n_folds)[: rows.n_folds]
            for start in range(0, len(e), BLOCK):
                at_rows = slice(start, start + BLOCK)
                codes: Any = np.ascontiguousarray(part.rows.codes[:, at_rows])
                sides = part.folds[at_rows], given[at_rows], curvature[at_rows], slope[at_rows]
                in_threads(_adding(codes, pairs.table, sides, out[k]), chunks)
    return out, powers


def _adding(codes: Any, table: Any, sides: tuple[Any, ...], out: Array) -> Callable[[Any], None]:
    # Cells of different pairs are different, so that threads do not meet.
    return lambda some: add_cells(codes, np.ascontiguousarray(table[some]), *sides, out)
