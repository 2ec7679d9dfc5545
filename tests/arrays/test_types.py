"""Arrays of labels keep whole numbers exactly."""

from __future__ import annotations

import pytest

from gramian.arrays.types import exact_array


@pytest.mark.parametrize("values", [[2**63, -1], [1, 2], [2**63 + 1, 2**64 - 1], [-(2**63), 2**63 - 1]])
def test_integers_keep_their_digits(values):
    assert [int(value) for value in exact_array(values)] == values


def test_other_labels_are_as_numpy_has_them():
    assert exact_array([0.5, 1]).tolist() == [0.5, 1.0]
    assert exact_array(["a", "b"]).dtype.kind == "U"
