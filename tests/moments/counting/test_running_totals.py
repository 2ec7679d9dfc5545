import numpy as np
import scipy.sparse as sp

from gramian.moments.counting.running_totals import CoreCounts, add_blocks, grown


def test_arrays_grow_and_keep_what_they_hold():
    first = grown(None, (2, 2), np.int64)
    first[:] = [[1, 2], [3, 4]]
    larger = grown(first, (1, 3), np.int64)
    assert larger.tolist() == [[1, 2, 0], [3, 4, 0]]
    assert grown(larger, (2, 1), np.int64) is larger


def test_blocks_of_all_forms_and_sizes_add_up(rng):
    dense = [rng.integers(0, 5, shape) for shape in ((3, 4), (5, 2), (5, 4))]
    expected = np.zeros((5, 4), np.int64)
    for block in dense:
        expected[: block.shape[0], : block.shape[1]] += block
    for blocks in (dense, [sp.csr_array(dense[0]), dense[1], sp.csr_array(dense[2])]):
        found = add_blocks(blocks, (5, 4), np.int64)
        np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, expected)
    empty = add_blocks([], (5, 4), np.int64)
    assert empty.shape == (5, 4)
    assert empty.sum() == 0


def test_counts_survive_being_laid_out_anew(rng):
    sizes = [2, 3, 9, 2]
    counts = CoreCounts([0, 1, 3], sizes, np.int64)
    blocks = {(i, j): rng.integers(0, 9, (sizes[i], sizes[j])) for i, j in [(0, 1), (0, 3), (1, 3)]}
    for (i, j), block in blocks.items():
        counts.add(i, j, block)
    own = np.diag([4, 5])
    counts.add(0, 0, own)
    np.testing.assert_array_equal(counts.counts, counts.counts.T)
    assert next(d.tolist() for _, d in counts.diagonals()) == [4, 5]
    larger = counts.laid_out([0, 1], [2, 5, 9, 2])
    np.testing.assert_array_equal(larger.counts[larger.span(0), larger.span(1)][:, :3], blocks[0, 1])
    assert not larger.counts[larger.span(0), larger.span(1)][:, 3:].any()
    left = {(i, j): block for i, j, block in counts.others([0, 1])}
    assert set(left) == {(0, 3), (1, 3), (3, 3)}
    np.testing.assert_array_equal(left[1, 3], blocks[1, 3])
    assert counts.laid_out([0, 1, 3], sizes) is counts
    place, size = counts.arrays(4)
    assert (place.tolist(), size.tolist()) == ([0, 2, 0, 5], [2, 3, 0, 2])
