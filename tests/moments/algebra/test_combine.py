"""Adding and taking away, where counts reach what an integer of 64 bits holds, and where nothing is to be aligned."""

from __future__ import annotations

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.moments.algebra.combine import MOST_ROWS, add, add_alike, alike, take_away


@pytest.fixture
def one() -> gm.Moments:
    return gm.collect(pa.table({"color": ["red"], "shape": ["round"]}))


def doubled(moments: gm.Moments, times: int) -> gm.Moments:
    for _ in range(times):
        moments = add(moments, moments)
    return moments


def test_counts_are_exact_up_to_the_last_row_that_fits(one):
    half = doubled(one, 62)
    most = half
    for step in range(61, -1, -1):
        most = add(most, doubled(one, step))
    assert most.n_rows == MOST_ROWS == 2**63 - 1
    assert most.crosstab("color", "shape").tolist() == [[MOST_ROWS]]
    with pytest.raises(DataError, match=r"cannot add: .* rows are more than the 9,223,372,036,854,775,807"):
        add(most, one)
    with pytest.raises(DataError, match="cannot add"):
        gm.merge([half, half])
    assert take_away(most, half).counts("color").tolist() == [2**62 - 1]


def test_parts_with_the_same_levels_add_up_without_being_aligned(one):
    other = gm.collect(pa.table({"color": ["red", "red"], "shape": ["round", "round"]}))
    third = gm.collect(pa.table({"color": ["blue"], "shape": ["round"]}))
    assert alike([one, other])
    assert not alike([one, third])
    assert add_alike([one, other, other]) == add(add(one, other), other)
