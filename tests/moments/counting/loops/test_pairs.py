"""Compiled loops over sorted pairs against numpy on the same rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.moments.counting import loops as pairs


def keys_of(rng, n=4000, rows=3000, columns=70_000):
    first, second = rng.integers(0, rows, n), rng.integers(0, columns, n)
    # Many rows alike, so that runs are longer than one.
    first[n // 2 :], second[n // 2 :] = first[: n - n // 2] // 50, second[: n - n // 2] // 9000
    return (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64), first, second


@pytest.mark.parametrize("weighted", [False, True])
def test_keys_are_sorted_and_runs_counted(rng, weighted):
    keys, first, second = keys_of(rng)
    values = rng.random(len(keys)) if weighted else np.empty(0)
    sorted_keys, spare, kept, spare_values = keys.copy(), np.empty_like(keys), values.copy(), np.empty_like(values)
    swapped = pairs.radix_sort(sorted_keys, spare, kept, spare_values, 12, 17)
    found, along = (spare, spare_values) if swapped else (sorted_keys, kept)
    np.testing.assert_array_equal(found, np.sort(keys))
    if weighted:
        np.testing.assert_array_equal(along, values[np.argsort(keys, kind="stable")])

    distinct, inverse = np.unique(keys, return_inverse=True)
    expected = np.bincount(inverse, values if weighted else None)
    out, counts = np.empty_like(keys), np.empty(len(keys), np.float64 if weighted else np.uint32)
    size = pairs.run_length(found, along, out, counts)
    np.testing.assert_array_equal(out[:size], distinct)
    np.testing.assert_allclose(counts[:size], expected, rtol=1e-12)

    table = sp.csr_array((values if weighted else np.ones(len(keys)), (first, second)), shape=(3000, 70_000))
    table.sum_duplicates()
    starts, indices = np.zeros(3001, np.int64), np.empty(len(keys), np.int32)
    data = np.empty(len(keys), np.float64 if weighted else np.int32)
    assert pairs.compress_keys(found, along, starts, indices, data) == size
    np.testing.assert_array_equal(starts, table.indptr)
    np.testing.assert_array_equal(indices[:size], table.indices)
    np.testing.assert_allclose(data[:size], table.data, rtol=1e-12)
    again, columns = np.zeros(3001, np.int64), np.empty(size, np.int32)
    pairs.split_keys(out[:size].copy(), again, columns)
    np.testing.assert_array_equal(again, starts)
    np.testing.assert_array_equal(columns, indices[:size])


def test_runs_merge_and_equal_keys_add_up(rng):
    parts = [np.unique(rng.integers(0, 500, n).astype(np.uint64), return_counts=True) for n in (300, 40)]
    (a, count_a), (b, count_b) = parts
    keys, counts = np.empty(len(a) + len(b), np.uint64), np.empty(len(a) + len(b), np.uint32)
    size = pairs.merge_runs(a, count_a.astype(np.uint32), b, count_b.astype(np.uint32), keys, counts)
    expected = np.bincount(np.concatenate([a, b]).astype(int), np.concatenate([count_a, count_b]), 500)
    np.testing.assert_array_equal(keys[:size], np.flatnonzero(expected))
    np.testing.assert_array_equal(counts[:size], expected[expected > 0])


def test_tables_become_their_filled_cells_and_these_can_grow(rng):
    table = (rng.integers(0, 3, (20, 32)) * (rng.random((20, 32)) < 0.2)).astype(np.uint32)
    rows, columns = 18, 30
    part = sp.csr_array(table[:rows, :columns])
    starts = np.zeros(rows + 1, np.int64)
    indices, data = np.empty(part.nnz + 1, np.int32), np.empty(part.nnz + 1, np.int64)
    pairs.compress(table.reshape(-1), 32, rows, columns, starts, indices, data)
    np.testing.assert_array_equal(starts, part.indptr)
    np.testing.assert_array_equal(indices[:-1], part.indices)
    np.testing.assert_array_equal(data[:-1], part.data)
    at = [np.array(each, np.int64) for each in np.nonzero(table[:rows, :columns])]
    more = rng.integers(1, 9, len(at[0]))
    pairs.add_to_cells(starts, indices, data, *at, more)
    np.testing.assert_array_equal(data[:-1], table[:rows, :columns][tuple(at)] + more)
