"""The labels of one column in code order, and how two columns' labels align.

`Labels` is a value: an Arrow array of distinct labels (null is the missing value, and a label like any other), plus,
where rare levels were pooled, one more level after the last, `(rare)`, and the list of labels that it swallowed. Labels
match by type and value: `1` and `"1"` are different, and a column has labels of one type only.

Alignment never goes through a Python dictionary: Arrow's hash join (`index_in`) serves ten labels and ten million.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.errors import DataError

RARE = "(rare)"
MISSING = "(missing)"

IntArray = npt.NDArray[np.int64]

_FAMILIES = {"text": pa.large_string(), "integer": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}


def label_family(kind: pa.DataType) -> str | None:
    """Return the family of labels an Arrow type belongs to, None where it cannot label a level."""
    if pa.types.is_dictionary(kind):
        return label_family(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_null(kind):
        return "null"
    return None


def canonical(values: pa.Array) -> pa.Array:
    """Return labels in the one Arrow type of their family, NaN as null and -0.0 as 0.0."""
    family = label_family(values.type)
    if family is None:
        raise DataError(f"values of type {values.type} cannot be levels; exclude the column")
    if family == "null":
        return values
    if family == "float":
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        return pa.array(numbers, pa.float64(), from_pandas=True)
    return values.cast(_FAMILIES[family])


def positions(values: pa.Array, among: pa.Array) -> IntArray:
    """Return where each of `values` stands in `among`, -1 where it does not; null matches null."""
    if len(among) == 0 or len(values) == 0:
        return np.full(len(values), -1, dtype=np.int64)
    if values.type != among.type:
        if pa.types.is_null(values.type):
            values = values.cast(among.type)
        elif pa.types.is_null(among.type):
            among = among.cast(values.type)
        else:
            return np.full(len(values), -1, dtype=np.int64)
    found = pc.index_in(values, value_set=among)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _concat(first: pa.Array, second: pa.Array) -> pa.Array:
    if len(second) == 0:
        return first
    if len(first) == 0:
        return second
    if first.type != second.type:
        wider = second.type if pa.types.is_null(first.type) else first.type
        first, second = first.cast(wider), second.cast(wider)
    return pa.concat_arrays([first, second])


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

    def __len__(self) -> int:
        return len(self.values) + self.rare

    @property
    def family(self) -> str:
        """`text`, `integer`, `float`, `boolean`, or `null` where nothing but missing values was seen."""
        for array in (self.values, self.pooled):
            family = label_family(array.type)
            if family not in (None, "null"):
                return str(family)
        return "null"

    @property
    def missing_code(self) -> int | None:
        """The code of the missing level, None where nothing was missing."""
        if self.values.null_count == 0:
            return None
        return int(np.flatnonzero(self.values.is_null().to_numpy(zero_copy_only=False))[0])

    def to_list(self) -> list[Any]:
        """Return the labels as Python values in code order; None is the missing level."""
        return [*self.values.to_pylist(), *([RARE] if self.rare else [])]

    def names(self) -> list[str]:
        """Return the labels as text, `(missing)` for the missing level."""
        return [MISSING if label is None else str(label) for label in self.to_list()]

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return integer labels as float64, NaN for the missing level."""
        return np.asarray(self.values.to_numpy(zero_copy_only=False), dtype=np.float64)

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
        return Labels(values, rare, _concat(self.pooled, self.values.filter(pa.array(gone)))), mapping


def align(left: Labels, right: Labels, *, column: str) -> tuple[Labels, IntArray, IntArray]:
    """Return the union of two columns' labels and the maps from each side's codes to it.

    A label pooled on either side is pooled in the union, so that both sides fold alike.
    """
    if left.family != right.family and "null" not in (left.family, right.family):
        raise DataError(
            f"column {column!r} has {left.family} labels on the left and {right.family} labels on the right; "
            f"labels match by type and value: read the column with one type"
        )
    pooled = _concat(left.pooled, right.pooled.filter(pa.array(positions(right.pooled, left.pooled) < 0)))
    kept_left = left.values.filter(pa.array(positions(left.values, pooled) < 0)) if len(pooled) else left.values
    unseen = positions(right.values, left.values) < 0
    if len(pooled):
        unseen &= positions(right.values, pooled) < 0
    values = _concat(kept_left, right.values.filter(pa.array(unseen)))
    folded = len(pooled) and (len(kept_left) < len(left.values) or bool((positions(right.values, pooled) >= 0).any()))
    union = Labels(values, bool(left.rare or right.rare or folded), pooled)
    return union, _map_into(left, union), _map_into(right, union)


def _map_into(part: Labels, union: Labels) -> IntArray:
    codes = union.codes(part.values) if len(part.values) else np.empty(0, dtype=np.int64)
    return np.append(codes, len(union.values)) if part.rare else codes
