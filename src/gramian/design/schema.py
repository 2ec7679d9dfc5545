"""The columns of a design: numbers as float64, the labels of categories, and what each source column became.

Numeric columns as float64, whole numbers beyond 2^53 less an offset that is taken off before they are rounded.

The labels of one column in code order, and how two columns' labels align.

`Labels` is a value: an Arrow array of distinct labels (null is the missing value, and a label like any other), plus,
where rare levels were pooled, one more level after the last, `(rare)`, and the list of labels that it swallowed. Labels
match by type and value: `1` and `"1"` are different, and a column has labels of one type only. Numbers are one type here:
1 and 1.0 are the same label, because a single missing value turns a column of integers into one of floats.

Alignment never goes through a Python dictionary: Arrow's hash join (`index_in`) serves ten labels and ten million.

The columns of a design: what each source column became, and how it is collected.

A column is collected in one of three *forms*: by level (`category`), by level but read as a number (`integer`: at most
`MAX_INTEGER_LEVELS` distinct values, so nothing is lost by keeping the levels), or as plain sums (`number`). To a user
there are two *kinds*: `integer` and `number` are both numeric.

One name per design column: a number's own, and for a level `<column>_<label>`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays.threads import cached_property
from gramian.design.bins import Bins
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly, type_words, unknown_column


def number_values(column: pa.Array, offset: float = 0.0) -> npt.NDArray[np.float64]:
    """Return a numeric column less an offset as float64, NaN where missing; durations in seconds.

    The offset is a whole number; it is taken off integers before they become floats.
    """
    if pa.types.is_duration(column.type):
        ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        return number_values(column.cast(pa.int64())) / ticks - offset
    column = _plain(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if offset and pa.types.is_integer(column.type):
        return _less(column, offset)
    if column.type != pa.float64():
        column = pc.cast(column, pa.float64(), safe=False)
    values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    return values - offset if offset else values


def _less(column: pa.Array, offset: float) -> npt.NDArray[np.float64]:
    """Return integers less an offset: exactly where the difference fits into 62 bits, and to rounding beyond."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    whole = column.fill_null(0).cast(pa.uint64() if pa.types.is_uint64(column.type) else pa.int64())
    values = whole.to_numpy(zero_copy_only=False)
    rough = values.astype(np.float64) - offset
    # Modulo 2^64, in which a small difference is itself whatever the two numbers are.
    exact = (values.view(np.uint64) - np.uint64(int(offset) % 2**64)).view(np.int64)
    out = np.where(np.abs(rough) < 2.0**62, exact.astype(np.float64), rough)
    out[missing] = np.nan
    return out


def offset_for(columns: Sequence[pa.Array]) -> float | None:
    """Return a whole number near the middle of integers that float64 would round, 0 for others, None where there are none."""
    long = [
        column for column in map(_plain, columns) if pa.types.is_integer(column.type) and column.type.bit_width == 64
    ]
    ends = [(end["min"], end["max"]) for end in (pc.min_max(column).as_py() for column in long)]
    ends = [end for end in ends if end[0] is not None]
    if not ends:
        return None if all(column.null_count == len(column) for column in columns) else 0.0
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    return float((low + high) // 2) if max(abs(low), abs(high)) > 2**53 else 0.0


def _plain(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary, whole decimals as integers."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return whole_decimals(column)


def whole_decimals(column: pa.Array) -> pa.Array:
    """Return decimals without a fraction as integers where they fit into 64 bits, everything else as it is."""
    if pa.types.is_decimal(column.type) and column.type.scale <= 0:
        for kind in (pa.int64(), pa.uint64()):
            try:
                return column.cast(kind)
            except pa.ArrowInvalid:
                continue
    return column


RARE = "(rare)"
MISSING = "(missing)"

IntArray = npt.NDArray[np.int64]

_NUMBERS = (pa.int64(), pa.uint64(), pa.float64())
"""Types of labels that are numbers, in order of preference."""


def label_family(kind: pa.DataType) -> str | None:
    """Return the family of labels an Arrow type belongs to, None where it cannot label a level."""
    if pa.types.is_dictionary(kind):
        return label_family(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_null(kind):
        return "null"
    return None


def canonical(values: pa.Array) -> pa.Array:
    """Return labels in the one Arrow type of their kind, NaN as null and -0.0 as 0.0."""
    values = whole_decimals(values)
    kind = values.type
    family = label_family(kind)
    if family is None:
        raise DataError(f"values of type {kind} cannot be levels; exclude the column")
    if family == "text":
        return values.cast(pa.large_string())
    if family != "number":
        return values
    if pa.types.is_integer(kind):
        large = pa.types.is_uint64(kind) and len(values) and (pc.max(values).as_py() or 0) >= 2**63
        return values.cast(pa.uint64() if large else pa.int64())
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    return pa.array(numbers, pa.float64(), from_pandas=True)


def _exactly(values: pa.Array, kind: pa.DataType) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Return canonical numbers in another type of numbers, and which of them are the same number there."""
    if values.type == kind:
        return values, np.ones(len(values), dtype=bool)
    absent = values.is_null().to_numpy(zero_copy_only=False)
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    low, high = (-(2.0**63), 2.0**63) if pa.types.is_signed_integer(kind) else (0.0, 2.0**64)
    if pa.types.is_floating(kind):
        cast = numbers.astype(np.float64)
        # 2^63 - 1 as a float is 2^63, which has no way back.
        back = np.where(cast < (2.0**63 if pa.types.is_signed_integer(values.type) else 2.0**64), cast, 0.0)
        same = back.astype(numbers.dtype) == numbers
    elif pa.types.is_floating(values.type):
        same = (numbers == np.rint(numbers)) & (numbers >= low) & (numbers < high)
        cast = np.where(same, numbers, 0.0).astype(kind.to_pandas_dtype())
    else:
        same = numbers >= 0 if pa.types.is_signed_integer(values.type) else numbers < 2**63
        cast = np.where(same, numbers, 0).astype(kind.to_pandas_dtype())
    return pa.array(cast, kind, mask=absent), same


def positions(values: pa.Array, among: pa.Array) -> IntArray:
    """Return where each of `values` stands in `among`, -1 where it does not; null matches null, and 1 matches 1.0."""
    out = np.full(len(values), -1, dtype=np.int64)
    if len(among) == 0 or len(values) == 0:
        return out
    same = np.ones(len(values), dtype=bool)
    if values.type != among.type:
        if values.null_count == len(values):
            values = pa.nulls(len(values), among.type)
        elif among.null_count == len(among):
            among = pa.nulls(len(among), values.type)
        elif values.type in _NUMBERS and among.type in _NUMBERS:
            values, same = _exactly(values, among.type)
        else:
            # Types apart, only the missing value can match.
            same = values.is_null().to_numpy(zero_copy_only=False)
            values = pa.nulls(len(values), among.type)
    places = pc.fill_null(pc.index_in(values, value_set=among), -1).to_numpy(zero_copy_only=False)
    out[same] = places[same]
    return out


def join_labels(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the labels of both arrays, one after the other, in a type that holds all of them."""
    if len(second) == 0:
        return first
    if len(first) == 0:
        return second
    if first.type != second.type:
        first, second = _in_one_type(first, second)
    return pa.concat_arrays([first, second])


def _in_one_type(first: pa.Array, second: pa.Array) -> tuple[pa.Array, pa.Array]:
    if first.null_count == len(first):
        return pa.nulls(len(first), second.type), second
    if second.null_count == len(second):
        return first, pa.nulls(len(second), first.type)
    if first.type in _NUMBERS and second.type in _NUMBERS:
        for kind in _NUMBERS:
            (a, same_a), (b, same_b) = _exactly(first, kind), _exactly(second, kind)
            if same_a.all() and same_b.all():
                return a, b
    kinds = " and ".join(type_words(each.type) for each in (first, second))
    raise DataError(f"{kinds} have no type in common that holds these labels exactly")


def label_text(label: Any) -> str:
    """Return a label as text: `(missing)` for None, whole numbers alike whether they arrived as integers or as floats.

    Examples
    --------
    >>> label_text(3.0), label_text(3), label_text(2.5), label_text(None)
    ('3', '3', '2.5', '(missing)')
    """
    if label is None:
        return MISSING
    if isinstance(label, float) and label.is_integer() and abs(label) < 2.0**64:
        return str(int(label))
    return str(label)


def _to_bytes(labels: pa.Array) -> bytes:
    batch = pa.record_batch([labels], names=["labels"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def _from_bytes(stored: bytes) -> pa.Array:
    with pa.ipc.open_stream(stored) as stream:
        return stream.read_next_batch().column(0)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of one column.

    Attributes
    ----------
    values : pyarrow.Array
        Distinct labels in code order, in canonical type; null stands for missing.
    rare : bool
        Whether one more level, `(rare)`, follows the last of them.
    pooled : pyarrow.Array
        Labels that `(rare)` swallowed; they are known, not unseen.
    """

    values: pa.Array
    rare: bool = False
    pooled: pa.Array = field(default_factory=lambda: pa.nulls(0))

    def __getstate__(self) -> dict[str, Any]:
        # Bytes, because what rebuilds an object from its attributes (skops for one) cannot rebuild an Arrow array.
        return {"values": _to_bytes(self.values), "rare": self.rare, "pooled": _to_bytes(self.pooled)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, _from_bytes(value) if isinstance(value, bytes) else value)

    def __len__(self) -> int:
        return len(self.values) + self.rare

    @property
    def family(self) -> str:
        """`text`, `number`, `boolean`, or `null` where nothing but missing values was seen."""
        for array in (self.values, self.pooled):
            if array.null_count < len(array):
                return str(label_family(array.type))
        return "null"

    @property
    def words(self) -> str:
        """What an error message calls the labels: `text labels`, `integer labels`."""
        if self.family != "number":
            return f"{self.family} labels"
        return "float labels" if pa.types.is_floating(self.values.type) else "integer labels"

    @property
    def missing_code(self) -> int | None:
        """The code of the missing level, None where nothing was missing."""
        if self.values.null_count == 0:
            return None
        return int(np.flatnonzero(self.values.is_null().to_numpy(zero_copy_only=False))[0])

    def to_list(self) -> list[Any]:
        """Return the labels as Python values in code order; None is the missing level, `(rare)` the pooled one.

        Where a value is called `(rare)` itself, the pooled level is `(rare) (2)`.
        """
        return [*self.values.to_pylist(), *([self._apart(RARE)] if self.rare else [])]

    def names(self) -> list[str]:
        """Return the labels as text, no two of them alike: `(missing)`, or `(missing) (2)`, for the missing level."""
        names = [label_text(label) for label in self.to_list()]
        if self.missing_code is not None:
            names[self.missing_code] = self._apart(MISSING)
        return names

    def column(self) -> pa.Array:
        """Return the labels in code order in one Arrow type, null for the missing level: text where some were pooled."""
        if not self.rare:
            return self.values
        return pa.array([None if label is None else label_text(label) for label in self.to_list()], pa.large_string())

    def name(self, code: int) -> str:
        """Return one of `names`, without writing out a million others."""
        if code == len(self.values):
            return self._apart(RARE)
        label = self.values[code].as_py()
        return self._apart(MISSING) if label is None else label_text(label)

    def _apart(self, name: str) -> str:
        """Return a name of our own making, numbered where a value has it already."""
        unique, k = name, 1
        while label_family(self.values.type) == "text" and pc.index(self.values, unique).as_py() >= 0:
            k += 1
            unique = f"{name} ({k})"
        return unique

    @cached_property
    def numbers(self) -> tuple[float, npt.NDArray[np.float64]]:
        """An offset, 0 where float64 holds the labels as they are, and the labels less that, NaN for the missing level."""
        offset = offset_for([self.values]) or 0.0
        values = number_values(self.values, offset)
        values.flags.writeable = False
        return offset, values

    def codes(self, values: pa.Array) -> IntArray:
        """Return the code of each of `values`: -1 where unseen, the code of `(rare)` where pooled."""
        values = canonical(values)
        codes = positions(values, self.values)
        if len(self.pooled):
            swallowed = positions(values, self.pooled) >= 0
            codes[swallowed] = len(self.values) if self.rare else -1
        return codes

    def keep(self, mask: npt.NDArray[np.bool_]) -> Labels:
        """Return the labels whose levels are kept."""
        size = len(self.values)
        return Labels(self.values.filter(pa.array(mask[:size])), bool(self.rare and mask[size]), self.pooled)

    def pool(self, swallow: npt.NDArray[np.bool_]) -> tuple[Labels, IntArray]:
        """Fold the levels of `swallow` into `(rare)`; return the labels left and the map from old codes to new."""
        size = len(self.values)
        gone = np.asarray(swallow[:size], dtype=bool)
        rare = self.rare or bool(gone.any())
        values = self.values.filter(pa.array(~gone))
        mapping = np.full(len(self), len(values), dtype=np.int64)
        mapping[:size][~gone] = np.arange(len(values))
        return Labels(values, rare, join_labels(self.pooled, self.values.filter(pa.array(gone)))), mapping


def align(left: Labels, right: Labels, *, column: str) -> tuple[Labels, IntArray, IntArray]:
    """Return the union of two columns' labels and the maps from each side's codes to it.

    A label pooled on either side is pooled in the union, so that both sides fold alike.
    """
    if left.family != right.family and "null" not in (left.family, right.family):
        raise DataError(
            f"column {column!r} has {left.words} on the left and {right.words} on the right; "
            f"labels match by type and value: read the column with one type"
        )
    try:
        return _aligned(left, right)
    except DataError as error:
        raise DataError(f"column {column!r}: {error}; read the column with one type") from None


def _aligned(left: Labels, right: Labels) -> tuple[Labels, IntArray, IntArray]:
    pooled = join_labels(left.pooled, right.pooled.filter(pa.array(positions(right.pooled, left.pooled) < 0)))
    kept_left = left.values.filter(pa.array(positions(left.values, pooled) < 0)) if len(pooled) else left.values
    unseen = positions(right.values, left.values) < 0
    if len(pooled):
        unseen &= positions(right.values, pooled) < 0
    values = join_labels(kept_left, right.values.filter(pa.array(unseen)))
    folded = len(pooled) and (len(kept_left) < len(left.values) or bool((positions(right.values, pooled) >= 0).any()))
    union = Labels(values, bool(left.rare or right.rare or folded), pooled)
    return union, _map_into(left, union), _map_into(right, union)


def _map_into(part: Labels, union: Labels) -> IntArray:
    codes = union.codes(part.values) if len(part.values) else np.empty(0, dtype=np.int64)
    return np.append(codes, len(union.values)) if part.rare else codes


Form = Literal["category", "integer", "number"]
DatePart = Literal["dayofweek", "month", "hour"]
DATE_PARTS: tuple[DatePart, ...] = get_args(DatePart)

MAX_INTEGER_LEVELS = 64


class Column(NamedTuple):
    """One collected column.

    Attributes
    ----------
    name : str
        The column's own name; for a part of a date, `<origin>_<part>`.
    form : {"category", "integer", "number"}
        How it is collected.
    origin : str
        The source column it was read from.
    part : {"dayofweek", "month", "hour"}, Bins, Cross, Slope or None
        Which part of a date it is, the bins of a number, or what it is made of together with another column.
    target : bool
        Whether it may only be a target, never a feature.
    named : bool
        Whether the user said that it is a category; it is then a feature however many levels it has
        (`gramian.design.identifiers`).
    """

    name: str
    form: Form
    origin: str
    part: DatePart | Bins | Cross | Slope | None = None
    target: bool = False
    named: bool = False

    @property
    def origins(self) -> tuple[str, ...]:
        """The source columns it is read from: `origin`, and of a cross another one."""
        if isinstance(self.part, Cross):
            return self.part.left.origin, self.part.right.origin
        return (self.origin, self.part.by.origin) if isinstance(self.part, Slope) else (self.origin,)

    @property
    def crossed(self) -> bool:
        """Whether it is made of two columns."""
        return isinstance(self.part, Cross | Slope)

    @property
    def kind(self) -> Literal["categorical", "numeric"]:
        """What the column is to a user."""
        return "categorical" if self.form == "category" else "numeric"

    @property
    def by_level(self) -> bool:
        """Whether its levels are counted (categories and small integers)."""
        return self.form != "number"

    def stored(self) -> dict[str, Any]:
        """Return what a file holds of the column: `named` only where it is, so that earlier versions read the others."""
        known = {field: value for field, value in self._asdict().items() if field != "named" or value}
        return known | ({"part": self.part.stored()} if isinstance(self.part, Bins | Cross | Slope) else {})

    @classmethod
    def restored(cls, description: Mapping[str, Any]) -> Column:
        """Return a column that was stored."""
        part: Any = description.get("part")
        if isinstance(part, Mapping):
            made: dict[str, Any] = {
                name: cls.restored(each) if isinstance(each, Mapping) else each for name, each in part.items()
            }
            part = Cross(**made) if "left" in part else Slope(**made) if "by" in part else Bins.restored(part)
        return cls(**{**description, "part": part})

    @property
    def valid(self) -> bool:
        """Whether each field is of its kind."""
        known = self.form in ("category", "integer", "number")
        known = known and all(isinstance(each, str) for each in (self.name, self.origin))
        known = known and all(isinstance(each, bool) for each in (self.target, self.named))
        own = isinstance(self.part, Bins | Cross | Slope)
        return known and (self.part.valid if own else self.part in (None, *DATE_PARTS))  # type: ignore[union-attr]


@dataclass(frozen=True)
class Cross:
    """Two categories read as one; see `gramian.design.crosses`."""

    left: Column
    right: Column

    @property
    def valid(self) -> bool:
        """Whether both are categories and neither is a cross itself."""
        return all(isinstance(c, Column) and c.valid and c.form == "category" and not c.crossed for c in self.sides)

    @property
    def sides(self) -> tuple[Column, Column]:
        """The two."""
        return self.left, self.right

    def stored(self) -> dict[str, Any]:
        """Return the cross as JSON."""
        return {"left": self.left.stored(), "right": self.right.stored()}


@dataclass(frozen=True)
class Slope:
    """A number less a constant within one level of a category, 0 in the others; see `gramian.design.crosses`."""

    by: Column
    level: str
    centre: float

    @property
    def valid(self) -> bool:
        """Whether it is of a category, and the constant a number."""
        fine = isinstance(self.by, Column) and self.by.valid and self.by.form == "category" and not self.by.crossed
        return fine and isinstance(self.level, str) and isinstance(self.centre, float) and math.isfinite(self.centre)

    def stored(self) -> dict[str, Any]:
        """Return the slope as JSON."""
        return {"by": self.by.stored(), "level": self.level, "centre": self.centre}


@dataclass(frozen=True)
class Schema:
    """The columns in order; looks names up and says what is nearest when one is not there."""

    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise ColumnError(f"column {column.name!r} appears twice; rename one of them or exclude it")
            seen.add(column.name)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            raise unknown_column(name, self.names, where="these moments") from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """Every column's name, in order."""
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[str]:
        """The names of the columns that are not reserved as targets."""
        return [column.name for column in self.columns if not column.target]

    def features_beside(self, targets: Collection[str]) -> list[str]:
        """Return the features without some targets, bins and crosses of a target, and what a target is the bins or a cross of.

        Examples
        --------
        >>> bins = Column("age_bin", "category", "age", Bins((18.0,)))
        >>> schema = Schema((Column("age", "number", "age"), bins, Column("paid", "number", "paid")))
        >>> schema.features_beside(["age"]), schema.features_beside(["paid"])
        (['paid'], ['age', 'age_bin'])
        """
        same = {origin: self[name].part for name in targets if name in self for origin in self[name].origins}

        def repeats(column: Column) -> bool:
            parts = [part for origin in column.origins if origin in same for part in (column.part, same[origin])]
            return any(isinstance(part, Bins | Cross | Slope) for part in parts)

        return [c.name for c in self.columns if not (c.target or c.name in targets or repeats(c))]

    @cached_property
    def coded(self) -> tuple[str, ...]:
        """The names of the columns whose levels are counted."""
        return tuple([column.name for column in self.columns if column.form != "number"])

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns that are added up as numbers."""
        return tuple([column.name for column in self.columns if column.form == "number"])

    def resolve(self, names: str | Iterable[str]) -> list[str]:
        """Return column names for `names`, where a date's source name stands for its parts.

        Examples
        --------
        >>> schema = Schema((Column("when_month", "category", "when", "month"), Column("age", "number", "age")))
        >>> schema.resolve(["age", "when"])
        ['age', 'when_month']
        """
        asked = [names] if isinstance(names, str) else list(names)
        if asked == self.names:
            return list(self.names)
        resolved: dict[str, None] = {}
        for name in asked:
            # The schema's own text, whatever kind of text was asked with.
            matching = [self[name].name] if name in self else [c.name for c in self.columns if c.origin == name]
            if not matching:
                raise unknown_column(name, self.names, where="these moments")
            for one in matching:
                if one in resolved:
                    raise ColumnError(f"column {one!r} is asked for twice")
                resolved[one] = None
        return list(resolved)

    def take(self, names: Sequence[str]) -> Schema:
        """Return the schema of `names` alone, in that order."""
        return Schema(tuple(self[name] for name in names))

    def with_form(self, names: str | Iterable[str], form: Form) -> Schema:
        """Return the schema with one column, or several, collected in another form."""
        chosen = {names} if isinstance(names, str) else set(names)
        if not chosen:
            return self
        return Schema(tuple(c._replace(form=form) if c.name in chosen else c for c in self.columns))

    def with_named(self, names: Iterable[str], named: bool = True) -> Schema:
        """Return the schema with a note that the user named some columns as categories."""
        chosen = set(names)
        return Schema(tuple(c._replace(named=named) if c.name in chosen else c for c in self.columns))


def reconcile(left: Schema, right: Schema) -> Schema:
    """Return the schema under which two sets of moments can be added, in the left one's order.

    An integer that one side has folded into a number is folded on the other side too. A column that may only be a
    target on one side is one on both.
    """
    missing = [name for name in left.names if name not in right]
    extra = [name for name in right.names if name not in left]
    if missing or extra:
        name, side = (missing[0], "right") if missing else (extra[0], "left")
        raise DataError(
            f"moments of different columns cannot be combined: {name!r} is missing on the {side}; ",
            "take it as missing there with ",
            Call("merge", missing="fill"),
            PythonOnly(", ", Call("select"), " the common columns first"),
            ", or collect both with ",
            Argument("like"),
        )
    right_of = {column.name: column for column in right}
    columns = []
    for mine in left:
        other = right_of[mine.name]
        if mine.kind != other.kind:
            raise DataError(
                f"moments of different kinds cannot be combined: column {mine.name!r} is {mine.kind} on the left "
                f"and {other.kind} on the right; collect both with ",
                Argument("like"),
                PythonOnly(", or use ", Call("as_categorical"), " on both"),
            )
        if mine.part != other.part:
            raise DataError(
                f"moments of different {'crosses' if mine.crossed else 'bins'} cannot be combined: column {mine.name!r} has "
                f"other {'parts' if mine.crossed else 'edges'} on the left than on the right; collect both with ",
                Argument("like"),
            )
        form: Form = mine.form if mine.form == other.form else "number"
        columns.append(mine._replace(form=form, target=mine.target or other.target, named=mine.named or other.named))
    return Schema(tuple(columns))


def names_of_design(columns: Iterable[Column], labels: Iterable[Labels]) -> list[str]:
    """Return the names of the design columns of some columns, those of categories with their labels in order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = [Column("color", "category", "color"), Column("age", "number", "age")]
    >>> names_of_design(columns, [Labels(pa.array(["red", None]))])
    ['color_red', 'color_(missing)', 'age']
    """
    names: list[str] = []
    left = iter(labels)
    for column in columns:
        if column.form == "category":
            names += [f"{column.name}_{label}" for label in next(left).names()]
        else:
            names.append(column.name)
    return disambiguated(names)


def disambiguated(names: list[str]) -> list[str]:
    """Return the names with a number after those that stood before; `a_b` may be a column and a level."""
    if len(set(names)) == len(names):
        return names
    taken, out = set(names), []
    seen: set[str] = set()
    for name in names:
        unique, k = name, 1
        while unique in seen or (k > 1 and unique in taken):
            k += 1
            unique = f"{name} ({k})"
        seen.add(unique)
        out.append(unique)
    return out
