"""The compiled loops, one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.moments.counting import loops


@pytest.fixture(params=[0, 1, 2])
def rng(request):
    return np.random.default_rng(request.param)


@pytest.mark.parametrize(("n", "rows", "columns"), [(0, 3, 2), (1, 1, 1), (1000, 1, 6), (5000, 12, 11), (5000, 32, 32)])
def test_radix_sort_sorts_keys_with_their_values(rng, n, rows, columns):
    keys = rng.integers(0, 2**rows, n).astype(np.uint64) << np.uint64(32)
    keys |= rng.integers(0, 2**columns, n).astype(np.uint64)
    values = rng.random(n)
    a, b, x, y = keys.copy(), np.empty_like(keys), values.copy(), np.empty_like(values)
    if loops.radix_sort(a, b, x, y, rows, columns):
        a, x = b, y
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(a, keys[order])
    np.testing.assert_array_equal(x, values[order])


@pytest.mark.parametrize("kind", [np.uint32, np.float64])
def test_merged_runs_equal_the_counts_of_both(rng, kind):
    def run(n):
        keys, counts = np.unique(rng.integers(0, 900, n).astype(np.uint64), return_counts=True)
        return keys, counts.astype(kind)

    for n, m in ((500, 700), (0, 50), (50, 0), (1, 1)):
        a, b = run(n), run(m)
        keys, counts = np.empty(len(a[0]) + len(b[0]), np.uint64), np.empty(len(a[0]) + len(b[0]), kind)
        size = loops.merge_runs(*a, *b, keys, counts)
        expected = np.zeros(900)
        np.add.at(expected, a[0].astype(int), a[1])
        np.add.at(expected, b[0].astype(int), b[1])
        np.testing.assert_array_equal(keys[:size], np.flatnonzero(expected))
        np.testing.assert_array_equal(counts[:size], expected[expected > 0])


def test_run_length_counts_each_key_once():
    keys = np.array([5, 5, 5, 9, 64], np.uint64)
    out, counts = np.empty(5, np.uint64), np.empty(5, np.uint32)
    size = loops.run_length(keys, np.empty(0), out, counts)
    assert out[:size].tolist() == [5, 9, 64]
    assert counts[:size].tolist() == [3, 1, 1]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_sorted_keys_become_csr(rng, kind):
    rows, columns = np.sort(rng.integers(0, 30, 500)), rng.integers(0, 9, 500)
    weights = rng.random(500) if kind is np.float64 else np.empty(0)
    expected = sp.csr_array((weights if len(weights) else np.ones(500, kind), (rows, columns)), shape=(31, 9))
    order = np.lexsort((columns, rows))
    keys = (rows[order].astype(np.uint64) << np.uint64(32)) | columns[order].astype(np.uint64)
    starts, indices, data = np.zeros(32, np.int64), np.empty(500, np.int32), np.empty(500, kind)
    size = loops.compress_keys(keys, weights[order] if len(weights) else weights, starts, indices, data)
    found = sp.csr_array((data[:size], indices[:size], starts), shape=(31, 9))
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-14)
    assert found.has_canonical_format


@pytest.mark.parametrize(("table_kind", "total_kind"), [(np.uint32, np.int64), (np.float64, np.float64)])
@pytest.mark.parametrize(("a", "b"), [([3], [4]), ([2, 3], [4]), ([5], [2, 2, 3]), ([2, 3, 4], [3, 1, 2])])
def test_collapse_sums_over_the_other_members(rng, table_kind, total_kind, a, b):
    table = rng.integers(0, 50, a + b).astype(table_kind)
    capacity = np.array(a + b)
    place = np.cumsum(capacity) - capacity
    total = np.zeros((capacity.sum(), capacity.sum()), total_kind)
    member, zero = np.array([0, len(a), len(a + b)]), np.zeros(1, np.int64)
    flat = table.ravel().copy()
    loops.collapse(flat, zero, zero, zero, zero + 1, member, capacity, place, capacity, total, True)
    assert not flat.any()
    np.testing.assert_array_equal(total, np.triu(total))
    loops.mirror(total, 0, 3)
    loops.mirror(total, 3, len(total))
    np.testing.assert_array_equal(total, total.T)
    for m in range(len(a)):
        for k in range(len(a), len(a + b)):
            others = tuple(d for d in range(len(a + b)) if d not in (m, k))
            block = total[place[m] : place[m] + capacity[m], place[k] : place[k] + capacity[k]]
            np.testing.assert_array_equal(block, table.sum(axis=others))
    assert total.sum() == 2 * len(a) * len(b) * table.sum()


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 5000, 40_000])
def test_planes_count_level_pairs(rng, rows):
    capacity = np.array([2, 4, 1, 3])
    codes = [rng.integers(0, c, rows).astype(np.uint16) for c in capacity]
    top = np.concatenate([[0], np.cumsum(capacity - 1)])
    planes = np.empty((top[-1], (rows + 63) // 64), np.uint64)
    for j, column in enumerate(codes):
        loops.pack_planes(column, capacity[j], planes, top[j])
    gram = np.zeros((top[-1], top[-1]), np.int64)
    loops.count_planes(planes, 0, 2, gram)
    loops.count_planes(planes, 2, int(top[-1]), gram)
    place = np.cumsum(capacity) - capacity
    total = np.zeros((capacity.sum(), capacity.sum()), np.int64)
    for start, stop in ((0, 1), (1, 4)):
        loops.expand_planes(gram, rows, capacity, place, capacity, total, start, stop)
    loops.mirror(total, 0, len(total))
    onehot = np.concatenate([np.eye(c, dtype=np.int64)[x] for c, x in zip(capacity, codes, strict=True)], axis=1)
    np.testing.assert_array_equal(total, onehot.T @ onehot)
