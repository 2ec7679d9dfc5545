"""From record batches to encoded rows: the fold of each row, its codes, its numbers and its weight.

Which fold a row belongs to: by position, or by a seeded hash of a column's value.

By position, every fold occurs once in each k consecutive rows, in an order drawn from the seed and the number of that
group of k, so folds have equal sizes and do not depend on batches. By value, rows that share it share the fold, and the
fold is the same wherever the value is met: in another file, on another machine, with another engine. Whole numbers hash
alike whether they arrive as integers or as floats, because a file with one missing value turns the former into the latter.

Encoded rows as the counters take them: a code array a by-level column and the numbers, a matrix or one still to be copied.

Copying a matrix of numbers costs as much as reading it, so rows of a fold, or with columns beside them that came from
elsewhere, are put together by whoever adds them up, a chunk at a time and while it is in cache (`LazyRows`).

From record batches to encoded stretches: codebooks grow, numbers and attached columns are read, folds are dealt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays import sparse as sp
from gramian.arrays.types import Array
from gramian.design import kernels
from gramian.design.codebook import (
    Codebook,
    Codes,
    IntegerCodebook,
    OutsideDictionary,
    TooManyLevels,
    as_indices,
    code_dtype,
)
from gramian.design.kinds import is_date, is_number, read_sources
from gramian.design.pair_tables import crowded
from gramian.design.schema import Column, Form, Labels, Schema, canonical, label_family, number_values, offset_for
from gramian.errors import Argument, ColumnError, DataError, Message, type_words
from gramian.parameters import check, whole
from gramian.tables.schemas import offsets_and_letters

MAX_FOLDS = 255
_MISSING = np.uint64(0x6D697373696E67)


def check_folds(folds: int) -> int:
    """Return the number of folds, 0 for none."""
    check("folds", folds, 0, whole(2, MAX_FOLDS))
    return int(folds)


def by_position(first_row: int, n_rows: int, folds: int, seed: int) -> npt.NDArray[np.uint8]:
    """Return the folds of `n_rows` consecutive rows, the first of them at `first_row` of the source."""
    out = np.empty(n_rows, dtype=np.uint8)
    kernels.draw_folds(first_row, folds, mix(np.array([seed], dtype=np.int64).view(np.uint64), 0)[0], out)
    return out


def by_value(column: pa.Array, folds: int, seed: int, *, name: str) -> npt.NDArray[np.uint8]:
    """Return the fold of every row from its value in one column."""
    if label_family(column.type) is None and not is_date(column.type):
        raise ColumnError(
            Argument("fold_by", name),
            f" holds {type_words(column.type)}, which have no value to hash; name another column",
        )
    indices, dictionary = as_indices(column)
    hashes = np.append(hash_labels(dictionary, seed), mix(np.array([_MISSING]), seed))
    entry_folds = (hashes % np.uint64(folds)).astype(np.uint8)
    indices = indices.fill_null(len(dictionary)) if indices.null_count else indices
    return entry_folds[np.asarray(indices.to_numpy(zero_copy_only=False))]


def hash_labels(labels: pa.Array, seed: int) -> npt.NDArray[np.uint64]:
    """Return 64 even bits a label, the same wherever the label is met; missing labels hash alike."""
    if is_date(labels.type):
        labels = labels.cast(pa.timestamp("us") if not pa.types.is_time(labels.type) else pa.time64("us")).cast(
            pa.int64()
        )
    family = label_family(labels.type)
    if family == "text":
        hashes = np.empty(len(labels), dtype=np.uint64)
        kernels.hash_text(*offsets_and_letters(labels.cast(pa.large_string())), hashes)
        hashes = mix(hashes, seed)
    elif family in ("number", "boolean"):
        labels = canonical(labels)
        hashes = mix(_bits(labels), seed)
    else:
        hashes = mix(np.full(len(labels), _MISSING), seed)
    if labels.null_count:
        hashes[labels.is_null().to_numpy(zero_copy_only=False)] = mix(np.array([_MISSING]), seed)[0]
    return hashes


def _bits(labels: pa.Array) -> npt.NDArray[np.uint64]:
    """Return 64 bits a label, the same for a whole number in every type."""
    if not pa.types.is_floating(labels.type):
        kind = pa.uint64() if pa.types.is_uint64(labels.type) else pa.int64()
        return np.ascontiguousarray(labels.cast(kind).fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)
    values = labels.fill_null(0.0).to_numpy(zero_copy_only=False)
    signed = (values == np.rint(values)) & (np.abs(values) < 2.0**63)
    large = (values == np.rint(values)) & (values >= 2.0**63) & (values < 2.0**64)
    bits = np.where(signed, np.where(signed, values, 0.0).astype(np.int64).view(np.uint64), values.view(np.uint64))
    return np.where(large, np.where(large, values, 0.0).astype(np.uint64), bits)


def mix(bits: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Scramble 64 bits (splitmix64), so that the remainder by a small k is even."""
    with np.errstate(over="ignore"):
        state = bits + np.uint64(0x9E3779B97F4A7C15) * np.uint64((2 * seed + 1) % 2**64)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


LONG_ROW = 16
"""Numbers a row from which rows of a fold are worth copying one by one."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Some consecutive rows, ready to be counted.

    Attributes
    ----------
    n_rows : int
    coded, numeric : tuple of str
        The by-level and the plain numeric columns, in order; they change when an integer column folds into a number.
    codes : list of arrays
        uint16 or uint32, a by-level column each.
    n_levels : list of int
        Levels of each of them so far.
    numbers : (n, p) array, LazyRows or CSR array
        NaN where missing.
    weights : (n,) array or None
    folds : (n,) uint8 array or None
    offsets : tuple of float
        What was taken off each number, empty for nothing.
    left_out : int
        Rows that stood among these and have no target.
    """

    n_rows: int
    coded: tuple[str, ...]
    numeric: tuple[str, ...]
    codes: list[Codes]
    n_levels: list[int]
    numbers: Any
    weights: Array | None = None
    folds: npt.NDArray[np.uint8] | None = None
    offsets: tuple[float, ...] = ()
    left_out: int = 0

    def picked(self, at: npt.NDArray[np.integer]) -> Encoded:
        """Return some of the rows."""
        return replace(
            self,
            n_rows=len(at),
            codes=[column[at] for column in self.codes],
            numbers=_take_rows(self.numbers, at),
            weights=None if self.weights is None else self.weights[at],
            folds=None if self.folds is None else self.folds[at],
            left_out=0,
        )

    def by_fold(self, n_folds: int, executor: Executor) -> list[Encoded]:
        """Return the rows of each fold: reordered once, in the threads of a pool, then sliced."""
        assert self.folds is not None
        order, ends = np.empty(len(self.folds), np.int32), np.empty(n_folds + 1, np.int64)
        kernels.order_by_fold(self.folds, ends, order)
        # Long rows are copied by those who add them up, a chunk at a time.
        picked = not sp.issparse(self.numbers) and self.numbers.shape[1] >= LONG_ROW
        taken = None if picked else executor.submit(_take_rows, self.numbers, order)
        codes = list(executor.map(_pick, self.codes, [order] * len(self.codes)))
        weights = None if self.weights is None else self.weights[order]
        return [
            Encoded(
                n_rows=int(stop - start),
                coded=self.coded,
                numeric=self.numeric,
                codes=[column[start:stop] for column in codes],
                n_levels=self.n_levels,
                numbers=PickedRows(self.numbers, order[start:stop]) if taken is None else taken.result()[start:stop],
                weights=None if weights is None else weights[start:stop],
                offsets=self.offsets,
                # They are in no fold; the sum over the folds has to count them once.
                left_out=0 if fold else self.left_out,
            )
            for fold, (start, stop) in enumerate(pairwise(ends))
        ]


class LazyRows:
    """Rows of numbers that are written, as float64, where and when they are asked for.

    A subclass says in `_fill` how; `numpy.take` and slices work as on a matrix.

    Attributes
    ----------
    shape : tuple of int
    """

    dtype = np.dtype(np.float64)
    shape: tuple[int, int]

    def _fill(self, part: Any, out: Array) -> None:
        """Write the rows of a slice, or at an array of places."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Array:
        return self.copied(part, np.empty((self._count(part), self.shape[1])))

    def copied(self, part: Any, room: Array) -> Array:
        """Return some of the rows, in the first columns of `room`."""
        out = room[: self._count(part), : self.shape[1]]
        self._fill(part, out)
        return out

    def take(
        self, rows: npt.NDArray[np.integer], axis: int = 0, out: Array | None = None, mode: str = "raise"
    ) -> Array:
        """Return some rows; `numpy.take` finds this."""
        return self[rows] if out is None else self.copied(rows, out)

    def _count(self, part: Any) -> int:
        return len(range(*part.indices(len(self)))) if isinstance(part, slice) else len(part)


class PickedRows(LazyRows):
    """Some rows of a matrix."""

    def __init__(self, values: Any, rows: npt.NDArray[np.int32]) -> None:
        self._values, self._rows = values, rows
        self.shape = (len(rows), values.shape[1])

    def _fill(self, part: Any, out: Array) -> None:
        if self._values.dtype != out.dtype:
            out[:] = np.take(self._values, self._rows[part], axis=0)
            return
        # In mode "raise" numpy would take them into memory of its own first.
        np.take(self._values, self._rows[part], axis=0, out=out, mode="clip")


class SideBySide(LazyRows):
    """The rows of a matrix and, right of them, those of another.

    Examples
    --------
    >>> SideBySide(np.array([[1, 2], [3, 4]]), np.array([[0.5], [0.25]]))[1:]
    array([[3.  , 4.  , 0.25]])
    """

    def __init__(self, left: npt.NDArray, right: npt.NDArray) -> None:
        self._left, self._right = left, right
        self.shape = (len(left), left.shape[1] + right.shape[1])

    def _fill(self, part: Any, out: Array) -> None:
        width = self._left.shape[1]
        out[:, :width] = self._left[part]
        out[:, width:] = self._right[part]


def _take_rows(numbers: Any, rows: npt.NDArray[np.integer]) -> Any:
    return numbers[rows] if sp.issparse(numbers) else np.take(numbers, rows, axis=0)


def _pick(codes: Codes, rows: npt.NDArray[np.int32]) -> Codes:
    out = np.empty(len(rows), dtype=codes.dtype)
    kernels.pick(codes, rows, out)
    return out


TARGET_MISSING: ContextVar[str] = ContextVar("target_missing", default="drop")
"""What becomes of rows without a target where nobody says: see `missing_targets`."""
#: Arrays of fewer rows than this, on average, are joined before they are encoded.
_SHORT_ROWS = 256
_LEAVE_OUT = Argument("target_missing", "drop")


@contextmanager
def missing_targets(how: str) -> Iterator[None]:
    """Within the block, rows without a target are left out (`"drop"`) or refused (`"raise"`) by whoever does not say."""
    check("target_missing", how, "drop", "raise")
    before = TARGET_MISSING.set(how)
    try:
        yield
    finally:
        TARGET_MISSING.reset(before)


_TEXT_CODES = [pa.dictionary(pa.int32(), text) for text in (pa.string(), pa.large_string())]


def digest(values: Array) -> str:
    """Return a fingerprint of an array.

    Examples
    --------
    >>> digest(np.array([1.0])) == digest(np.array([1.0])), digest(np.array([1.0])) == digest(np.array([2.0]))
    (True, False)
    """
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


class EncoderState(NamedTuple):
    """How far an encoder has come: all that the codes and the folds of the next rows depend on.

    Attributes
    ----------
    row : int
        Rows encoded, those of weight 0 among them.
    forms : dict of str
        How each column is collected by now.
    offsets : dict of float
        What is taken off each number.
    labels : dict of Labels
        Of each column collected by level, in code order.
    """

    row: int
    forms: dict[str, Form]
    offsets: dict[str, float]
    labels: dict[str, Labels]


class Encoder:
    """Turns record batches into `Encoded` stretches, growing a codebook a by-level column.

    Parameters
    ----------
    schema : Schema
        The columns to collect; a column collected as `integer` turns into a `number` when it shows too many values, or when
        all columns together need too many tables of pairs.
    weight_column, fold_column : str or None
        Source columns to read weights and folds from.
    n_folds, seed : int
        Number of folds (0: none) and the seed of their order or hash.
    attached : mapping, optional
        Columns that are not in the source but given beside it, one value per row: a target passed as an array.
    families : mapping, optional
        Of the labels that categories must have, where they are known.
    weights : array, optional
        One weight per row, where they are not a column.
    target_missing : {"drop", "raise"}, optional
        What becomes of rows in which a target column is missing; by default what `missing_targets` says.
    """

    wrap: Callable[[Encoder], Encoder] | None = None
    """What makes an encoder like this of a fresh one of its columns, where it makes more of rows than these; it can travel."""

    def __init__(
        self,
        schema: Schema,
        *,
        weight_column: str | None = None,
        fold_column: str | None = None,
        n_folds: int = 0,
        seed: int = 0,
        attached: Mapping[str, pa.Array] | None = None,
        families: Mapping[str, str] | None = None,
        weights: Array | None = None,
        target_missing: str | None = None,
    ) -> None:
        self._columns = schema
        self.target_missing = TARGET_MISSING.get() if target_missing is None else target_missing
        self.families = dict(families or {})
        self.attached = dict(attached or {})
        self.weight_column, self.fold_column = weight_column, fold_column
        self.n_folds, self.seed = n_folds, seed
        self.weights = weights
        self._row = 0
        self._offsets: dict[str, float] = {}
        self._books: dict[str, Codebook | IntegerCodebook] = {
            c.name: IntegerCodebook() if c.form == "integer" or isinstance(c.part, str) else Codebook()
            for c in schema
            if c.by_level
        }

    @property
    def schema(self) -> Schema:
        """The columns that rows become."""
        return self._columns

    def asked(self) -> dict[str, Any]:
        """Return what a fresh encoder was made with: what makes another of the same columns."""
        named = "weight_column", "fold_column", "n_folds", "seed", "attached", "families", "weights", "target_missing"
        return {"schema": self._columns, **{name: getattr(self, name) for name in named}}

    @property
    def source_columns(self) -> list[str]:
        """The source columns that must be read."""
        extra = [name for name in (self.weight_column, self.fold_column if self.n_folds else None) if name]
        origins = (origin for c in self._columns for origin in c.origins if origin not in self.attached)
        return list(dict.fromkeys([*origins, *extra]))

    def looks_at(self, types: pa.Schema) -> list[str]:
        """Return the source columns whose indices are followed by nothing but a codebook, which looks at each of them."""
        known = dict(zip(types.names, types.types, strict=True))
        elsewhere = (o for c in self._columns if c.form != "category" or c.crossed for o in c.origins)
        others = {self.weight_column, self.fold_column, *elsewhere}
        origins = [c.origin for c in self._columns if c.origin in known and c.origin not in others]
        return [name for name in origins if known[name] in _TEXT_CODES]

    @property
    def weighted(self) -> bool:
        """Whether rows count by a weight, from a column or beside the table."""
        return self.weight_column is not None or self.weights is not None

    @property
    def nbytes(self) -> int:
        """Bytes that the codebooks hold, with a copy of the largest, as it grows, or in the end the labels of all."""
        books = self._books.values()
        largest = max((book.nbytes for book in books), default=0)
        return sum(book.nbytes for book in books) + max(largest, sum(book.label_bytes for book in books))

    def widest(self) -> tuple[str, int] | None:
        """Return the by-level column that has shown the most levels, and how many; None where there is no such column."""
        sizes = {name: len(self._books[name]) for name in self._columns.coded}
        return max(sizes.items(), key=lambda item: item[1], default=None)

    def labels(self, name: str, n_levels: int | None = None) -> Labels:
        """Return the first `n_levels` labels of a by-level column, or all of them."""
        return Labels(self._books[name].labels().values.slice(0, n_levels))

    def settings(self) -> dict[str, Any]:
        """Return what the encoder was asked for, as JSON, by the names that `collect` gives it."""
        return {
            "columns": [[c.name, c.form, c.stored()["part"], c.target] for c in self._columns],
            "sample_weight": self.weight_column,
            "folds": self.n_folds,
            "fold_by": self.fold_column,
            "random_state": self.seed if self.n_folds else None,
            "like": self.families,
            "weights": None if self.weights is None else digest(self.weights),
            "attached": {name: [len(values), str(values.type)] for name, values in self.attached.items()},
            "target_missing": self.target_missing if any(column.target for column in self._columns) else None,
        }

    def state(self) -> EncoderState:
        """Return how far the encoder has come."""
        labels = {name: self._books[name].labels() for name in self._columns.coded}
        return EncoderState(self._row, {c.name: c.form for c in self._columns}, dict(self._offsets), labels)

    def resume(self, state: EncoderState) -> None:
        """Go on from a state of another encoder, made alike; this one is fresh.

        Raises
        ------
        DataError
            Where that cannot be a state of such an encoder.
        """
        fine = set(state.forms) == set(self._columns.names) and set(state.offsets) <= set(self._columns.names)
        for column in self._columns if fine else ():
            form = state.forms[column.name]
            fine = fine and (form == column.form or (column.form, form) == ("integer", "number"))
            self._columns = self._columns.with_form(column.name, form)
        if not fine or set(state.labels) != set(self._columns.coded):
            raise DataError("the columns are others")
        for name, labels in state.labels.items():
            book = self._books[name]
            # Texts seen in this order for the first time get these codes.
            book.encode(labels.values)
            if not book.labels().values.equals(labels.values):
                raise DataError(f"column {name!r} cannot have these labels")
        self._row, self._offsets = state.row, dict(state.offsets)

    def encode(
        self, batches: Sequence[pa.RecordBatch], *, weights: Array | None = None, executor: Executor | None = None
    ) -> Encoded:
        """Return consecutive batches as one stretch.

        Parameters
        ----------
        batches : sequence of RecordBatch
        weights : array, optional
            Weights of these rows where they are not a column.
        executor : Executor, optional
            Columns are encoded in its threads, one task each.
        """
        if self.weight_column is not None:
            weights = weights_of(batches, self.weight_column)
        ends = np.cumsum([0, *(batch.num_rows for batch in batches)])
        kept, weights, folds, beside, left_out = self._counted(int(ends[-1]), weights, batches)
        if kept is not None:
            batches = [batch.filter(pa.array(kept[a:b])) for batch, a, b in zip(batches, ends, ends[1:], strict=False)]

        sides: list[dict[Any, pa.Array]] = [{} for _ in batches]

        def encode_column(column: Column) -> Any:
            if column.origin in beside:
                return self._encode_column(column, [(beside[column.origin],)])
            arrays = [tuple(map(batch.column, column.origins)) for batch in batches]
            return self._encode_column(column, arrays, sides)

        encoded = (map if executor is None else executor.map)(encode_column, self._columns.columns)
        values = self._folded(dict(zip(self._columns.names, encoded, strict=True)))
        integers = [column.name for column in self._columns if column.form == "integer" and not column.target]
        if crowded(integers, [len(self._books[name]) for name in self._columns.coded]):
            self._columns = self._columns.with_form(integers, "number")
            values |= {name: encode_column(self._columns[name]) for name in integers}
        coded, numeric = self._columns.coded, self._columns.numbers
        n_rows = sum(batch.num_rows for batch in batches)
        numbers = np.empty((n_rows, len(numeric)), order="C" if len(numeric) <= 8 else "F")
        for k, name in enumerate(numeric):
            numbers[:, k] = values[name]
        return Encoded(
            n_rows=n_rows,
            coded=coded,
            numeric=numeric,
            codes=[values[name] for name in coded],
            n_levels=[len(self._books[name]) for name in coded],
            numbers=numbers,
            weights=weights,
            folds=folds,
            offsets=tuple(self._offsets.get(name, 0.0) for name in numeric),
            left_out=left_out,
        )

    def encode_array(self, values: npt.NDArray | sp.csr_array, *, weights: Array | None = None) -> Encoded:
        """Return rows of an array, whose columns are all numbers, as one stretch.

        Attached columns come after the array's own.
        """
        kept, weights, folds, beside, _ = self._counted(values.shape[0], weights)
        values = values if kept is None else values[kept]
        attached = [column for column in self._columns if column.origin in beside]
        extra = self._folded({c.name: self._encode_column(c, [(beside[c.origin],)]) for c in attached})
        coded = [name for name in extra if self._columns[name].by_level]
        numbers = [extra[name] for name in extra if name not in coded]
        if numbers:
            right = np.column_stack(numbers)
            values = sp.csr_array(sp.hstack([values, right])) if sp.issparse(values) else SideBySide(values, right)
        return Encoded(
            n_rows=values.shape[0],
            coded=tuple(coded),
            numeric=tuple(name for name in self._columns.names if name not in coded),
            codes=[extra[name] for name in coded],
            n_levels=[len(self._books[name]) for name in coded],
            numbers=values,
            weights=weights,
            folds=folds,
            offsets=tuple(self._offsets.get(name, 0.0) for name in self._columns.names if name not in coded),
        )

    def _folded(self, encoded: dict[str, Any]) -> dict[str, Any]:
        """Return encoded columns; integers of too many levels, which came as numbers, are numbers from here on."""
        integers = [name for name in encoded if self._columns[name].form == "integer"]
        numbers = [name for name in integers if encoded[name].dtype == np.float64]
        self._columns = self._columns.with_form(numbers, "number")
        return encoded

    def _counted(
        self, n_rows: int, weights: Array | None, batches: Sequence[pa.RecordBatch] = ()
    ) -> tuple[npt.NDArray[np.bool_] | None, Array | None, Array | None, dict[str, pa.Array], int]:
        """Return which of the next rows count (None: all), weights, folds and attached values, and how many lack a target."""
        folds, beside = self._folds(batches, n_rows), self._beside(n_rows)
        self._row += n_rows
        if weights is not None:
            weights = check_weights(weights, self.weight_column)
        kept, left_out = self._kept(batches, beside, weights, n_rows)
        if kept is not None:
            weights, folds = (None if each is None else each[kept] for each in (weights, folds))
            beside = {name: values.filter(pa.array(kept)) for name, values in beside.items()}
        return kept, weights, folds, beside, left_out

    def _kept(
        self,
        batches: Sequence[pa.RecordBatch],
        beside: Mapping[str, pa.Array],
        weights: Array | None,
        n_rows: int,
    ) -> tuple[npt.NDArray[np.bool_] | None, int]:
        """Return which rows count, None for all of them, and how many do not because a target is missing.

        A weight is a number of repetitions: rows repeated zero times were not seen, and may lack a target.
        """
        kept = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
        n_seen = int(np.count_nonzero(kept))
        for origin in dict.fromkeys(column.origin for column in self._columns if column.target):
            given = origin in beside
            missing = missing_among([beside[origin]] if given else [batch.column(origin) for batch in batches])
            if missing is None or not (missing & kept).any():
                continue
            if given or self.target_missing == "raise":
                count = int(np.count_nonzero(missing & kept))
                what = f"target column {origin!r} has missing values, {count:,} among {n_seen:,} rows; "
                step: list[Any] = ["drop those rows first: every row needs a target"]
                raise ColumnError(
                    what, *(step if given else ["fill them in, or leave those rows out with ", _LEAVE_OUT])
                )
            kept &= ~missing
        left = int(np.count_nonzero(kept))
        return (None if left == n_rows else kept), n_seen - left

    def _beside(self, n_rows: int) -> dict[str, pa.Array]:
        """Return the attached values of the next rows."""
        for name, values in self.attached.items():
            if self._row + n_rows > len(values):
                raise DataError(f"{name.strip('()')} has {len(values)} values, and the table has more rows")
        return {name: values.slice(self._row, n_rows) for name, values in self.attached.items()}

    def check_complete(self) -> None:
        """Raise where attached columns have more values than rows were read."""
        for name, values in self.attached.items():
            if len(values) != self._row:
                raise DataError(f"{name.strip('()')} has {len(values)} values, and the table has {self._row} rows")

    def _folds(self, batches: Sequence[pa.RecordBatch], n_rows: int) -> npt.NDArray[np.uint8] | None:
        if not self.n_folds:
            return None
        if self.fold_column is None:
            return by_position(self._row, n_rows, self.n_folds, self.seed)
        name = self.fold_column
        parts = [by_value(batch.column(name), self.n_folds, self.seed, name=name) for batch in batches]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)

    def _encode_column(
        self, column: Column, sources: list[tuple[pa.Array, ...]], sides: list[dict[Any, pa.Array]] | None = None
    ) -> Any:
        """Return codes or numbers of what each batch has in the source columns; `sides` keeps those of crosses."""
        family = self.families.get(column.name, "null")
        if not column.crossed and sum(len(each[0]) for each in sources) < _SHORT_ROWS * (len(sources) - 1):
            sources = [(array,) for array in _as_one([array for (array,) in sources])]
        asked = Message(Argument("like"), " or the rows before ask for")
        arrays = [
            read_sources(each, column, family, asked=asked, known=sides[k] if sides and column.crossed else None)
            for k, each in enumerate(sources)
        ]
        if column.form == "number":
            return self._numbers(column, arrays)
        book = self._books[column.name]
        try:
            parts = [book.encode(array) for array in arrays]
        except TooManyLevels:
            return self._numbers(column, arrays)
        except OutsideDictionary as error:
            raise OutsideDictionary(f"column {column.origin!r} is damaged: {error}; write it again") from error
        except (pa.ArrowException, DataError) as error:
            raise DataError(f"column {column.origin!r} cannot be encoded: {error}") from error
        return _join(parts, code_dtype(len(book)))

    def _numbers(self, column: Column, arrays: list[pa.Array]) -> Array:
        """Return numbers less the offset of their column, which the first rows that have any decide."""
        if column.name not in self._offsets:
            offset = offset_for(arrays)
            if offset is not None:
                self._offsets[column.name] = offset
        offset = self._offsets.get(column.name, 0.0)
        return np.asarray(_join([number_values(array, offset) for array in arrays], np.float64))


def _as_one(arrays: list[pa.Array]) -> list[pa.Array]:
    """Return many short arrays as one, where none of them is damaged: each costs more to hand over than to encode."""
    try:
        whole = pa.chunked_array(arrays)
        # Dictionaries are made one by following the indices.
        whole.validate(full=True)
        return [whole.unify_dictionaries().combine_chunks()]
    except (pa.ArrowException, TypeError):
        return arrays


def _join(parts: list[Any], dtype: Any) -> Any:
    if len(parts) == 1 and parts[0].dtype == dtype:
        return parts[0]
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype=dtype)


def missing_among(arrays: Sequence[pa.Array]) -> npt.NDArray[np.bool_] | None:
    """Return where values are null or NaN, None where none is."""
    parts = []
    for array in arrays:
        entries = None
        if isinstance(array, pa.DictionaryArray):
            # An entry may itself be missing.
            entries, array = missing_among([array.dictionary]), array.indices
        if array.null_count or pa.types.is_floating(array.type):
            parts.append(pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False))
        else:
            parts.append(np.zeros(len(array), dtype=bool))
        if entries is not None:
            # Indices that lead outside are refused by the codebook.
            parts[-1] |= entries.take(array.fill_null(0).to_numpy(zero_copy_only=False), mode="clip")
    return np.concatenate(parts) if any(part.any() for part in parts) else None


def weights_of(batches: Sequence[pa.RecordBatch], name: str) -> Array:
    """Return the column of weights in some batches; raise where it does not hold numbers."""
    arrays = [batch.column(name) for batch in batches]
    for array in arrays:
        if not is_number(array.type) or (pa.types.is_null(array.type) and len(array)):
            raise ColumnError(f"weight column {name!r} holds {type_words(array.type)}; weights must be numbers")
    return _join([number_values(array) for array in arrays], np.float64)


def check_weights(weights: Array, name: str | None) -> Array:
    """Return weights as the kernels want them; raise where one is missing, negative or infinite."""
    called = "sample_weight" if name is None else f"weight column {name!r}"
    if np.isnan(weights).any():
        raise ColumnError(f"{called} has missing values; every row needs a weight (0 leaves it out)")
    if (weights < 0).any():
        raise ColumnError(f"{called} has a negative value ({weights[weights < 0][0]}); weights are 0 or more")
    if np.isinf(weights).any():
        raise ColumnError(f"{called} has an infinite value; weights are finite")
    return np.require(weights, np.float64, ["C", "W"])
