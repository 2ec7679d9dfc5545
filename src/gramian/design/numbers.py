"""Numeric columns as float64, whole numbers beyond 2^53 less an offset that is taken off before they are rounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


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
