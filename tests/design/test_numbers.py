"""Numbers as float64: gaps, durations, decimals, and integers beyond 2^53 less an offset."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.schema import number_values, offset_for, whole_decimals


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([1, None, 3]), [1, np.nan, 3]),
        (pa.array([1.5, None], pa.float32()), [1.5, np.nan]),
        (pa.array([1500, None], pa.duration("ms")), [1.5, np.nan]),
        (pa.array([Decimal("1.25"), None]), [1.25, np.nan]),
        (pa.array([7, 7, None]).dictionary_encode(), [7, 7, np.nan]),
        (pa.nulls(2), [np.nan, np.nan]),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
def test_numbers_are_floats_and_gaps_nan(column, values):
    np.testing.assert_array_equal(number_values(column), values)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_long_integers_keep_their_digits_less_an_offset(kind):
    base = 2**62 + 1
    column = pa.array([base, base + 1, None, base + 5], kind)
    offset = offset_for([column])
    found = number_values(column, offset)
    assert [None if np.isnan(v) else int(v) + int(offset) for v in found] == [base, base + 1, None, base + 5]


def test_an_offset_is_only_for_what_would_be_rounded():
    assert offset_for([pa.array([1, 2**53])]) == 0
    assert offset_for([pa.array([1.5])]) == 0
    assert offset_for([pa.array([None, None], pa.int64())]) is None
    assert offset_for([pa.array([2**60]), pa.array([2**60 + 2])]) == float(2**60 + 1)


def test_decimals_without_a_fraction_are_integers_where_they_fit():
    assert whole_decimals(pa.array([Decimal(2**63 + 1)], pa.decimal128(25, 0))).type == pa.uint64()
    assert whole_decimals(pa.array([Decimal(-5)], pa.decimal128(25, 0))).to_pylist() == [-5]
    long = pa.array([Decimal(2**70)], pa.decimal128(25, 0))
    assert whole_decimals(long) is long
