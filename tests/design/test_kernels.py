"""Compiled loops over columns, against plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.codebook import as_indices
from gramian.design.kernels import draw_folds, order_by_fold


@pytest.mark.parametrize("first", [0, 1, 7, 8, 13])
def test_booleans_are_indices_from_any_bit_on(rng, first):
    truth = rng.integers(0, 2, 100).astype(np.uint8)
    packed = np.packbits(np.concatenate([rng.integers(0, 2, first).astype(np.uint8), truth]), bitorder="little")
    column = pa.Array.from_buffers(pa.bool_(), first + 100, [None, pa.py_buffer(packed.tobytes())])[first:]
    indices, labels = as_indices(column)
    np.testing.assert_array_equal(indices, truth)
    assert labels.to_pylist() == [False, True]


def test_every_fold_occurs_once_in_so_many_rows_wherever_one_begins():
    whole = np.empty(600, dtype=np.uint8)
    draw_folds(0, 5, 7, whole)
    assert all(sorted(group) == [0, 1, 2, 3, 4] for group in whole.reshape(-1, 5).tolist())
    later = np.empty(100, dtype=np.uint8)
    draw_folds(333, 5, 7, later)
    np.testing.assert_array_equal(later, whole[333:433])
    other = np.empty(600, dtype=np.uint8)
    draw_folds(0, 5, 8, other)
    assert (other != whole).any()


def test_rows_are_ordered_by_fold_and_stay_in_order():
    folds = np.array([2, 0, 1, 0, 2], dtype=np.uint8)
    ends, out = np.empty(4, dtype=np.int64), np.empty(5, dtype=np.int32)
    order_by_fold(folds, ends, out)
    assert out.tolist() == [1, 3, 2, 0, 4]
    assert ends.tolist() == [0, 2, 3, 5]
