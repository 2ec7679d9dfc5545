"""What no matrix of distances can be is refused in one line that says where."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gramian.distances.metrics.metric import as_matrix, check_distances, check_rows
from gramian.errors import DataError

GOOD = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])


def changed(at, value):
    D = GOOD.copy()
    D[at] = value
    return D


def test_distances_pass_and_rounding_too():
    check_distances(GOOD)
    check_distances(changed((0, 1), 1.0 + 1e-9))


@pytest.mark.parametrize(
    ("D", "words"),
    [
        (GOOD[:2], "must be square"),
        (changed((0, 1), np.nan), "NaN at row 0, column 1"),
        (changed((2, 0), np.inf), "infinity at row 2, column 0"),
        (changed((1, 2), -1.0), "holds -1 at row 1, column 2"),
        (changed((0, 1), 5.0), "symmetric"),
        (np.eye(3) + 0.1, "similarities"),
        (np.zeros((0, 0)), "minimum of 1"),
    ],
)
def test_anything_else_is_refused(D, words):
    with pytest.raises(DataError, match=words):
        check_distances(D)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, lambda D: D.tolist(), lambda D: D.astype(object)])
def test_matrices_come_in_any_container(make):
    np.testing.assert_array_equal(as_matrix(make(GOOD), what="it"), GOOD)
    assert as_matrix(GOOD.astype(np.float32), what="it").dtype == np.float32
    assert as_matrix(np.eye(2, dtype=int), what="it").dtype == np.float64


@pytest.mark.parametrize("wrong", [np.zeros(3), np.array([["a"]]), np.array([[1j]]), [[1], [2, 3]]])
def test_what_is_no_matrix_of_numbers_is_refused(wrong):
    with pytest.raises(DataError, match=r"it must be|must be real"):
        as_matrix(wrong, what="it")


def test_rows_give_their_largest_distance_and_count_from_where_they_begin():
    assert check_rows(GOOD, what="it") == 2.0
    with pytest.raises(DataError, match="row 11"):
        check_rows(changed((1, 0), -1.0), what="it", first_row=10)
