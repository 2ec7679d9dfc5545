r"""Weighted passes: the rows of a fit counted again and again, each time with weights that are a function of the row.

A pass of a generalised linear model needs moments with the weights s_i w_i of its rows and a residual beside the design columns
(`gramian.linear.regression.glm`); a robust covariance needs weights u_i^2. Both are ordinary passes, by an encoder that weighs
the rows which another one has encoded, so every engine makes them: local, Dask, Spark.

*Encoded once.* Rows of a local pass are kept as they were encoded the first time (two bytes per value of a category, eight per
number) while they take no more than a quarter of the memory that is free. A pass over them is the counting alone. What does not
fit is read again.

*Signs.* Score sums of clusters, sum u_i x_i over the rows of each, are pair counts of the cluster column with every category,
and sums of numbers by cluster, with the weights u_i. Counters add up weights above zero, so rows of either sign are a fold of
their own, with the weight |u_i|, and the sums are the difference of the two folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import logsumexp

from gramian.arrays.memory import available_memory
from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.design.bins import Bins
from gramian.design.crosses import cell_label, side_texts
from gramian.design.encoder import Encoded, Encoder, LazyRows
from gramian.design.schema import Column, Cross, Labels, Schema, canonical, positions
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached
from gramian.errors import DataError, shown
from gramian.linear.regression.glm import DEVIANCE, LOSS, RESIDUAL, Family
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.algebra.levels import map_levels
from gramian.moments.counting.accumulate import Accumulator
from gramian.moments.value import Moments
from gramian.progress import Progress

SHARE = 4
"""Of the free memory, what the kept rows may take: one part in so many."""

BLOCK_ROWS = 2**15
"""Rows that are weighed at a time: what a row becomes stays in cache between the steps."""

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some rows of a fit, encoded against its design.

    Attributes
    ----------
    rows : Rows
        Codes of the categories, and numbers without missing ones.
    target : (n,) array
        Numbers, or the index of the class, in as few bytes as it takes; a part has floats.
    weights : (n,) array or None
        Given with the rows.
    groups : (n,) array or None
        Codes of the cluster column.
    n_groups : int
    folds : (n,) array or None
    """

    rows: Rows
    target: npt.NDArray[Any]
    weights: Array | None = None
    groups: Codes | None = None
    n_groups: int = 0
    folds: npt.NDArray[np.uint8] | None = None

    def part(self, at: slice) -> Stretch:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[at]
        return Stretch(self.rows.part(at), self.target[at].astype(np.float64, copy=False), weights)


@dataclass(frozen=True, eq=False)
class Reader:
    """What is read of encoded rows: the design, a target, clusters.

    Attributes
    ----------
    design : Design
    fill : (q,) array
        What stands for a missing number.
    target : str
    classes : list or None
        Labels of the target's classes, in order.
    least : (float, bool)
        The least target, and whether it is itself allowed.
    family : str
        What asks for that, for the message.
    exposure : str or None
        A number of the design that is read as its logarithm.
    cluster : str or None
    """

    design: Design
    fill: Array
    target: str
    classes: list[Any] | None = None
    least: tuple[float, bool] = (-np.inf, True)
    family: str = ""
    exposure: str | None = None
    cluster: str | None = None

    def stretch(self, rows: Encoded, labels: Callable[[str], Labels]) -> Stretch:
        """Return the rows of the fit among encoded ones.

        Parameters
        ----------
        rows : Encoded
        labels : callable
            Of a column collected by level, by its name.
        """
        design, n = self.design, rows.n_rows
        codes = np.empty((len(design.categorical), n), dtype=design.code_dtype)
        coded = {name: k for k, name in enumerate(rows.coded)}
        sides: dict[Column, tuple[Codes, pa.Array]] = {}
        for k, (column, known) in enumerate(zip(design.categorical, design.labels, strict=True)):
            if column.name not in coded and isinstance(column.part, Bins | Cross):
                codes[k] = self._derived(column, known, rows, coded, labels, sides)
                continue
            # A column with fewer levels, beside itself, has another name.
            source = column.name if column.name in coded else column.origin
            if source not in coded:
                raise DataError(f"these rows have no categories in column {column.name!r}, as the rows of the fit had")
            of_rows = labels(source)
            place = known.codes(of_rows.values)
            given = rows.codes[coded[source]]
            if (place == np.arange(len(place))).all():
                codes[k] = given
                continue
            place[place < 0] = len(known)
            codes[k] = place.astype(codes.dtype)[given]
            if (codes[k] == len(known)).any():
                level = of_rows.name(int(given[codes[k] == len(known)][0]))
                raise DataError(
                    f"column {column.name!r} holds {level!r}, which no row of the fit had; give the rows of the fit"
                )
        numbers = np.empty((n, len(design.numeric)), order="F")
        for k, column in enumerate(design.numeric):
            values = self.number(rows, coded, labels, column.name)
            values = values - (0.0 if design.offsets is None else float(design.offsets[k]))
            if column.name == self.exposure:
                values = logarithms(values, column.name)
            missing = np.isnan(values)
            numbers[:, k] = np.where(missing, self.fill[k], values) if missing.any() else values
        groups, n_groups = None, 0
        if self.cluster is not None:
            groups = rows.codes[coded[self.cluster]]
            n_groups = rows.n_levels[coded[self.cluster]]
        target = self._target(rows, coded, labels)
        return Stretch(Rows(codes, numbers), target, rows.weights, groups, n_groups, rows.folds)

    def _derived(self, column: Column, known: Labels, rows: Encoded, coded: Any, labels: Any, sides: Any) -> Codes:
        """Return the codes of bins, or of a cross, that the rows were not encoded with."""

        def side(of: Column) -> tuple[Codes, pa.Array]:
            if of not in sides and of.name in coded:
                sides[of] = rows.codes[coded[of.name]], labels(of.name).values
            elif of not in sides:
                assert isinstance(of.part, Bins)
                binned = of.part.of(self.number(rows, coded, labels, of.origin))
                missing = len(binned.dictionary)
                codes = binned.indices.fill_null(missing).to_numpy(zero_copy_only=False)
                sides[of] = codes, pa.concat_arrays([binned.dictionary, pa.nulls(1, binned.dictionary.type)])
            return sides[of]

        if isinstance(column.part, Cross):
            (left, of_left), (right, of_right) = map(side, column.part.sides)
            names = [side_texts(of_left), side_texts(of_right)]
            texts = [cell_label(a, b) for a in names[0] for b in names[1]]
            given: Codes = left.astype(np.int64) * len(names[1]) + right
        else:
            given, values = side(column)
            texts = values.to_pylist()
        place = known.codes(pa.array(texts, pa.large_string()))
        place[place < 0] = len(known.values) if known.rare else len(known)
        return np.asarray(place[given])

    def number(self, rows: Encoded, coded: Mapping[str, int], labels: Callable[[str], Labels], name: str) -> Array:
        """Return a number of encoded rows, NaN where missing."""
        if name in coded:
            offset, values = labels(name).numbers
            return np.asarray((values + offset)[rows.codes[coded[name]]])
        if name not in rows.numeric:
            raise DataError(f"these rows have no column {name!r}, as the rows of the fit had")
        at = rows.numeric.index(name)
        numbers: Any = rows.numbers[:] if isinstance(rows.numbers, LazyRows) else rows.numbers
        column = numbers[:, [at]].toarray()[:, 0] if sp.issparse(numbers) else numbers[:, at]
        offset = rows.offsets[at] if rows.offsets else 0.0
        return np.asarray(column, dtype=np.float64) + offset

    def _target(self, rows: Encoded, coded: Mapping[str, int], labels: Callable[[str], Labels]) -> npt.NDArray[Any]:
        if self.classes is None:
            values = self.number(rows, coded, labels, self.target)
            low, closed = self.least
            if len(values) and (values.min() < low or (not closed and values.min() <= low)):
                wanted = f"{low:g} or more" if closed else f"above {low:g}"
                raise DataError(
                    f"target {self.target.strip('()')!r} holds {values.min():g}, and family {self.family!r} "
                    f"takes numbers {wanted}; correct or leave out those rows"
                )
            return values
        known = labels(self.target)
        index: Any = np.full(len(known) + 1, -1, np.int8 if len(self.classes) < 128 else np.int32)
        for k, code in enumerate(known.codes(canonical(pa.array(self.classes)))):
            index[code] = k
        found = index[rows.codes[coded[self.target]]]
        if (found < 0).any():
            level = known.name(int(rows.codes[coded[self.target]][found < 0][0]))
            raise DataError(f"target {self.target.strip('()')!r} holds {level!r}, a class that no row of the fit had")
        return np.asarray(found)

    def columns(self) -> tuple[Column, ...]:
        """Return the design columns, and the cluster column, as a pass collects them."""
        own = [c if c.form == "category" else c._replace(form="number") for c in self.design.columns]
        cluster = [] if self.cluster is None else [Column(f"({self.cluster})", "category", self.cluster)]
        return (*own, *cluster)


def logarithms(values: Array, name: str) -> Array:
    """Return the logarithms of exposures; raise where one is not above 0."""
    if (values <= 0).any():
        raise DataError(f"exposure {name!r} holds {shown(float(values[values <= 0][0]))}; it must be above 0")
    return np.asarray(np.log(values))


@dataclass(frozen=True, eq=False)
class NewtonWeights:
    """The curvature of each row, its residual and its deviance.

    Attributes
    ----------
    family : Family
    projection : Projection
        To the linear predictor.
    kind : {"start", "step", "information"}
    centre : float
        The mean of the target, for "start".
    """

    family: Family
    projection: Projection
    kind: str = "step"
    centre: float = 0.0
    n_folds: int = 0

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return (RESIDUAL, DEVIANCE, LOSS) if self.family.name == "poisson" else (RESIDUAL, DEVIANCE)

    def __call__(self, rows: Stretch) -> tuple[Array, list[Array]]:
        """Return the weights and the numbers."""
        fixed = self.projection.apply_rows(rows.rows)[:, 0]
        eta = self.family.start(rows.target, self.centre) if self.kind == "start" else fixed
        slope, curvature = self.family.slope_and_curvature(rows.target, eta, expected=self.kind != "step")
        curvature = np.maximum(curvature, np.finfo(np.float64).tiny)
        residual = slope / curvature
        if self.kind == "start":
            residual = residual + eta - fixed
        found = [residual, self.family.deviance(rows.target, eta) / curvature]
        loss = self.family.loss(rows.target, eta)
        return curvature, found if loss is None else [*found, loss / curvature]


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """The curvature in the predictors of two classes, with the residual of the first of them and the deviance.

    Attributes
    ----------
    projection : Projection
        To the predictors of all classes but the first.
    first, second : int
        Places among these.
    """

    projection: Projection
    first: int
    second: int
    extras: tuple[str, ...] = (RESIDUAL, DEVIANCE)
    n_folds: int = 0

    def __call__(self, rows: Stretch) -> tuple[Array, list[Array]]:
        """Return the weights and the numbers."""
        eta = np.pad(self.projection.apply_rows(rows.rows), ((0, 0), (1, 0)))
        total = logsumexp(eta, axis=1)
        share = np.exp(eta - total[:, None])
        own, other = share[:, 1 + self.first], share[:, 1 + self.second]
        rest = np.delete(share, 1 + self.first, axis=1).sum(axis=1) if self.first == self.second else other
        weights = np.maximum(own * rest, np.finfo(np.float64).tiny)
        deviance = 2 * (total - np.take_along_axis(eta, rows.target.astype(np.intp)[:, None], axis=1)[:, 0])
        hit = rows.target == 1 + self.first
        # Of the class itself what is left of 1 is the sum of the others.
        residual = np.where(hit, rest, -own) / weights if self.first == self.second else np.zeros(len(own))
        return weights, [residual, deviance / weights]


@kernel(
    "void(uint16[:, ::1], int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1])",
    "void(uint32[:, ::1], int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1])",
)
def add_quadratic_form(codes, starts, numbers, places, form, side, out):  # type: ignore[no-untyped-def]
    """Add x^T M x + x^T v to `out`, x the design columns of each row: a level per category, and numbers at their places."""
    for i in range(out.size):
        total = 0.0
        for c in range(codes.shape[0]):
            a = starts[c] + codes[c, i]
            total += side[a, 0] + form[a, a]
            for d in range(c):
                total += 2 * form[a, starts[d] + codes[d, i]]
            for j in range(places.size):
                total += 2 * form[a, places[j]] * numbers[i, j]
        for j in range(places.size):
            x = numbers[i, j]
            total += x * (side[places[j], 0] + form[places[j], places[j]] * x)
            for h in range(j):
                total += 2 * form[places[j], places[h]] * x * numbers[i, h]
        out[i] += total


@dataclass(frozen=True, eq=False)
class ErrorWeights:
    """The squared score of each row, its leverage taken into account; or the scores themselves, for sums over clusters.

    Attributes
    ----------
    family : Family
    projection : Projection
        To the linear predictor.
    power : int
        Of 1 - h, by which squared scores are divided: 0 (HC0, HC1), 1 (HC2) or 2 (HC3).
    form, side, constant : (p, p) array, (p, 1) array, float
        Of the leverage, see `gramian.linear.regression.inference`; for power 0 not looked at.
    signed : bool
        Whether the scores themselves are asked for.
    precision : bool
        Whether weights given with the rows are precisions, so that a score has its weight squared too.
    every : float
        The weight of all rows, given as one number.
    """

    family: Family
    projection: Projection
    power: int = 0
    form: Array | None = None
    side: Array | None = None
    constant: float = 0.0
    signed: bool = False
    precision: bool = False
    every: float = 1.0
    extras: tuple[str, ...] = ()

    @property
    def n_folds(self) -> int:
        """Scores of either sign are a fold of their own."""
        return 2 if self.signed else 0

    def __call__(self, rows: Stretch) -> tuple[Array, list[Array]]:
        """Return the weights; those given with the rows come on top."""
        eta = self.projection.apply_rows(rows.rows)[:, 0]
        slope, curvature = self.family.slope_and_curvature(rows.target, eta)
        if self.signed:
            return slope, []
        given = np.full(len(slope), self.every if self.precision else 1.0)
        if self.precision and rows.weights is not None:
            given *= rows.weights
        left = np.ones(len(slope))
        if self.power:
            left -= curvature * given * self.leverages(rows.rows)
        # A row that nothing else speaks for is met exactly.
        fine = left > 1e-10
        return np.where(fine, np.square(slope) * given / np.where(fine, left, 1.0) ** self.power, 0.0), []

    def leverages(self, rows: Rows) -> Array:
        """Return x^T M x + x^T v + c of each row."""
        assert self.form is not None
        design = self.projection.design
        starts = np.array([design.spans[c.name].start for c in design.categorical], dtype=np.int64)
        out = np.full(len(rows), self.constant)
        numbers = np.require(rows.numbers, np.float64, ["C", "W"])
        add_quadratic_form(
            rows.codes, starts, numbers, design.number_places.astype(np.int64), self.form, self.side, out
        )
        return out


Weigh = NewtonWeights | ClassWeights | ErrorWeights
"""What a pass makes of rows: their weights, numbers beside the design columns, and two folds where weights have signs."""


def _weighed(weigh: Weigh, rows: Stretch, reader: Reader) -> Encoded:
    """Return a stretch as the counters take it."""
    n, q = len(rows.rows), rows.rows.numbers.shape[1]
    weights = np.empty(n)
    extras = np.empty((n, len(weigh.extras)), order="F")

    def some(start: int) -> None:
        at = slice(start, start + BLOCK_ROWS)
        part = rows.part(at)
        found, beside = weigh(part)
        weights[at] = found if part.weights is None else found * part.weights
        for k, values in enumerate(beside):
            extras[at, k] = values

    in_threads(some, range(0, n, BLOCK_ROWS))
    folds = None
    if weigh.n_folds and getattr(weigh, "signed", False):
        folds = (weights < 0).astype(np.uint8)
        np.abs(weights, out=weights)
    elif weigh.n_folds:
        folds = rows.folds
    width = q + extras.shape[1]
    numbers = np.empty((n, width), order="C" if width <= 8 else "F")
    numbers[:, :q] = rows.rows.numbers
    numbers[:, q:] = extras
    columns = reader.columns()
    sizes = [len(labels) for labels in reader.design.labels]
    return Encoded(
        n_rows=n,
        coded=tuple(c.name for c in columns if c.form == "category"),
        numeric=(*(c.name for c in columns if c.form != "category"), *weigh.extras),
        codes=[*rows.rows.codes, *([] if rows.groups is None else [rows.groups])],
        n_levels=[*sizes, *([] if rows.groups is None else [rows.n_groups])],
        numbers=numbers,
        weights=weights,
        folds=folds,
    )


def _schema(reader: Reader, weigh: Weigh) -> Schema:
    return Schema((*reader.columns(), *(Column(name, "number", name) for name in weigh.extras)))


class FurtherEncoder(Encoder):
    """An encoder that makes something further of the rows which another one has encoded."""

    def _made(self, rows: Encoded) -> Encoded:
        raise NotImplementedError

    def encode(
        self, batches: Sequence[pa.RecordBatch], *, weights: Array | None = None, executor: Executor | None = None
    ) -> Encoded:
        """Return consecutive batches as one stretch."""
        return self._made(super().encode(batches, weights=weights, executor=executor))

    def encode_array(self, values: Any, *, weights: Array | None = None) -> Encoded:
        """Return rows of an array, whose columns are all numbers, as one stretch."""
        return self._made(super().encode_array(values, weights=weights))


class WeightedEncoder(FurtherEncoder):
    """An encoder of the rows of a fit with weights of their own.

    Parameters
    ----------
    inner : Encoder
        Of the columns that are read; a fresh one.
    reader : Reader
    weigh : Weigh
    """

    def __init__(self, inner: Encoder, *, reader: Reader, weigh: Weigh) -> None:
        super().__init__(**inner.asked())
        self._reader, self._weigh = reader, weigh
        self.wrap = partial(WeightedEncoder, reader=reader, weigh=weigh)
        # Two folds where weights have signs.
        self.n_folds = weigh.n_folds
        self._known = dict(zip((c.name for c in reader.design.categorical), reader.design.labels, strict=True))

    @property
    def schema(self) -> Schema:
        """The design columns and what is collected beside them."""
        return _schema(self._reader, self._weigh)

    @property
    def weighted(self) -> bool:
        """Every row has a weight."""
        return True

    def looks_at(self, types: pa.Schema) -> list[str]:
        """Return no column: every one is looked at here."""
        return []

    def labels(self, name: str, n_levels: int | None = None) -> Labels:
        """Return the labels of a category: those of the fit, or of the cluster column so far."""
        if name in self._known:
            return self._known[name]
        return super().labels(str(self._reader.cluster), n_levels)

    def _made(self, rows: Encoded) -> Encoded:
        return _weighed(self._weigh, self._reader.stretch(rows, super().labels), self._reader)


class KeepingEncoder(FurtherEncoder):
    """An encoder that keeps what it has encoded, until that takes too much memory.

    Attributes
    ----------
    kept : list of Encoded or None
        None where it took too much.
    n_kept : int
        Rows that passed while there was room; none where the rows were encoded elsewhere.
    """

    def __init__(self, inner: Encoder, room: int | None = None) -> None:
        super().__init__(**inner.asked())
        self.kept: list[Encoded] | None = []
        self.n_kept = 0
        self._left = available_memory() // SHARE if room is None else room

    def _made(self, rows: Encoded) -> Encoded:
        if self.kept is not None:
            width = sum(codes.itemsize for codes in rows.codes) + 8 * len(rows.numeric) + 16
            self._left -= rows.n_rows * width
            self.n_kept += rows.n_rows
            self.kept = [*self.kept, rows] if self._left >= 0 else None
        return rows

    def stretches(self, reader: Reader) -> list[Stretch] | None:
        """Return the kept rows as a reader takes them; they are kept no longer."""
        if self.kept is None:
            return None
        waiting, self.kept = self.kept[::-1], None
        return [reader.stretch(waiting.pop(), self.labels) for _ in range(len(waiting))]


@dataclass(eq=False)
class Passes:
    """The rows of a fit, to be counted with one weight after the other.

    Attributes
    ----------
    table : table
        Read again by each pass where the rows are not kept.
    attached : dict
        Target values given beside it.
    options : CollectOptions
    keeping : KeepingEncoder or None
        What the first pass kept.
    every_weight : float or None
        The weight of all rows, given as one number.
    """

    table: Any
    attached: Mapping[str, pa.Array]
    options: CollectOptions
    keeping: KeepingEncoder | None = None
    every_weight: float | None = None
    _kept: list[Stretch] | None = None

    def moments(self, reader: Reader, weigh: Weigh) -> Moments:
        """Return the moments of the rows with weights; the reader is the same for every pass."""
        if self.keeping is not None:
            self._kept, self.keeping = self.keeping.stretches(reader), None
        if self._kept is not None:
            ((moments,),) = fold_moments(self._kept, reader, [weigh], sum(len(rows.rows) for rows in self._kept))
        elif getattr(self.table, "one_shot", False):
            raise DataError(
                "these rows can be read once only, and are too many to be kept: write them to a file, or pass a list"
            )
        else:
            moments = self.read(reader, weigh)
        return moments if self.every_weight in (None, 1) else moments * float(self.every_weight or 1)

    def read(self, reader: Reader, weigh: Weigh) -> Moments:
        """Return the moments of a pass that reads the rows, without `every_weight`."""
        wrap = partial(WeightedEncoder, reader=reader, weigh=weigh)
        return _in_design_order(collect_attached(self.table, self.attached, self.options, wrap), reader.design)


def fold_moments(
    stretches: Iterable[Stretch], reader: Reader, weighs: Sequence[Weigh], n_rows: int | None = None
) -> list[list[Moments]]:
    """Return, for each way to weigh rows, the moments of each fold, of all rows where there are no folds, from one pass.

    Levels are those of the design.
    """
    known = dict(zip((c.name for c in reader.design.categorical), reader.design.labels, strict=True))
    n_threads = usable_cores(None)
    with (
        ThreadPoolExecutor(n_threads, thread_name_prefix="gramian") as pool,
        one_blas_thread(),
        Progress(None, n_rows, what="pass") as shown_,
    ):
        counters = [
            [
                Accumulator(
                    _schema(reader, weigh),
                    executor=pool,
                    n_threads=n_threads,
                    weighted=True,
                    expected_rows=None if n_rows is None else n_rows // max(weigh.n_folds, 1),
                    reserve=lambda who, nbytes: None,
                )
                for _ in range(max(weigh.n_folds, 1))
            ]
            for weigh in weighs
        ]
        for rows in stretches:
            for weigh, of_folds in zip(weighs, counters, strict=True):
                made = _weighed(weigh, rows, reader)
                parts = [made] if made.folds is None else made.by_fold(weigh.n_folds, pool)
                for counter, part in zip(of_folds, parts, strict=True):
                    counter.add(part)
            shown_.advance(len(rows.rows))
        return [[counter.finish(lambda name, size: known[name]) for counter in of_folds] for of_folds in counters]


def _in_design_order(moments: Moments, design: Design) -> Moments:
    """Return moments whose levels are those of a design, in its order."""
    changes = {}
    known = dict(zip((c.name for c in design.categorical), design.labels, strict=True))
    for k, (name, labels) in enumerate(zip(moments.coded, moments.labels, strict=True)):
        if name in known:
            place = positions(labels.values, known[name].values)
            if len(place) != len(known[name]) or (place != np.arange(len(place))).any():
                changes[k] = (known[name], place)
    return replace(map_levels(moments, changes), folds=tuple(_in_design_order(fold, design) for fold in moments.folds))
