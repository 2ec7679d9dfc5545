"""Blocks side by side, written once."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.linear.scatter.wide import side_by_side


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_blocks_of_any_kind_stand_side_by_side(rng, index):
    tables = [rng.integers(0, 3, (40, k)) * (rng.random((40, k)) < 0.4) for k in (3, 1, 6)]
    tables[1] = tables[1] * 0.5
    blocks = [sp.csr_array(tables[0]), tables[1], sp.csr_array(tables[2])]
    for block in (blocks[0], blocks[2]):
        block.indptr, block.indices = block.indptr.astype(index), block.indices.astype(index)
    found = side_by_side(blocks, 40)
    np.testing.assert_array_equal(found.toarray(), np.hstack(tables))
    assert found.has_sorted_indices
    assert found.indices.dtype == np.int32


def test_unsorted_blocks_are_sorted():
    block = sp.csr_array((np.array([1, 2]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    found = side_by_side([block, np.array([[3]])], 1)
    np.testing.assert_array_equal(found.indices, [0, 1, 2])
    np.testing.assert_array_equal(found.data, [2.0, 1.0, 3.0])


def test_no_blocks_are_an_empty_matrix():
    assert side_by_side([], 4).shape == (4, 0)
