"""Where a row lies among parts of a table whose sizes are known, or become known."""

from __future__ import annotations

import pytest

from gramian.tables.base import PartRows


@pytest.mark.parametrize(
    ("n_rows", "row", "place"),
    [
        ([3, 2], 0, (0, 0)),
        ([3, 2], 2, (0, 2)),
        ([3, 2], 3, (1, 0)),
        ([3, 2], 5, (2, 0)),
        ([3, 0, 2], 3, (2, 0)),
        ([3, None, 2], 9, (1, 6)),
        ([None], 0, (0, 0)),
    ],
)
def test_a_row_is_come_to_from_the_last_part_whose_beginning_is_known(n_rows, row, place):
    assert PartRows(n_rows).place(row) == place


def test_parts_that_were_read_are_known_and_given_on():
    parts = PartRows([None, None, 4])
    assert parts.total is None
    parts.note(0, 5)
    assert parts.up_to(4) == []
    assert parts.up_to(8) == [5]
    parts.note(1, 0)
    assert parts.up_to(5) == [5, 0]
    assert parts.total == 9
