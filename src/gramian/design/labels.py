"""The labels of one column in code order, and how two columns' labels align.

`Labels` is a value: an Arrow array of distinct labels (null is the missing value, and a label like any other), plus,
where rare levels were pooled, one more level after the last, `(rare)`, and the list of labels that it swallowed. Labels
match by type and value: `1` and `"1"` are different, and a column has labels of one type only. Numbers are one type here:
1 and 1.0 are the same label, because a single missing value turns a column of integers into one of floats.

Alignment never goes through a Python dictionary: Arrow's hash join (`index_in`) serves ten labels and ten million.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.caching import cached_property
from gramian.design.numbers import number_values, offset_for, whole_decimals
from gramian.errors import DataError

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
    raise DataError(f"{first.type} and {second.type} have no type in common that holds these labels exactly")


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
