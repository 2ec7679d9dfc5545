"""The pair counter against brute force, and the laws it promises."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

from gramian.design.pair_tables import narrow_columns
from gramian.errors import MemoryLimitError
from gramian.moments.counting import pair_counter as counting
from gramian.moments.counting import plan
from gramian.moments.counting import sorted_pairs as runs
from gramian.moments.counting.pair_counter import PairCounter
from gramian.moments.counting.sorted_pairs import SparsePair


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def stretch(rng, levels, rows, *, weighted=False, q=0):
    codes = [rng.integers(0, n, rows).astype(np.uint16 if n <= 2**16 else np.uint32) for n in levels]
    weights = rng.random(rows) + 0.1 if weighted else None
    return codes, list(levels), weights, rng.normal(size=(rows, q)) if q else None


def count(stretches, *, n_threads=1, **options):
    weighted = stretches[0][2] is not None
    with ThreadPoolExecutor(n_threads) as pool:
        counter = PairCounter(len(stretches[0][0]), executor=pool, n_threads=n_threads, weighted=weighted, **options)
        for codes, levels, weights, numbers in stretches:
            counter.add(codes, levels, weights=weights, deviations=numbers)
        return counter.result()


def assert_same(x, y, exact):
    # Sums of at most 1e6 positive weights of order one agree to 1e-10 in any order of addition.
    np.testing.assert_allclose(x, y, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-9)


def assert_right(result, stretches):
    """Compare everything with one-hot counting of all rows at once."""
    totals, sums_of = result
    levels = stretches[-1][1]
    columns = range(len(levels))
    codes = [np.concatenate([s[0][j].astype(np.int64) for s in stretches]) for j in columns]
    rows = len(codes[0])
    weighted = stretches[0][2] is not None
    weights = np.concatenate([s[2] for s in stretches]) if weighted else np.ones(rows, np.int64)
    q = max(0 if s[3] is None else s[3].shape[1] for s in stretches)
    numbers = np.zeros((rows, q))
    start = 0
    for s in stretches:
        if s[3] is not None:
            numbers[start : start + len(s[3]), : s[3].shape[1]] = s[3]
        start += len(s[0][0])

    kind = np.float64 if weighted else np.int64
    assert totals.narrow == narrow_columns(levels)
    place = dict(zip(totals.narrow, np.cumsum([0] + [levels[j] for j in totals.narrow]), strict=False))
    span = {j: slice(place[j], place[j] + levels[j]) for j in place}
    assert totals.matrix.dtype == kind
    assert totals.matrix.shape == (sum(levels[j] for j in place),) * 2
    for j in columns:
        assert totals.level_rows[j].dtype == np.int64
        np.testing.assert_array_equal(totals.level_rows[j], np.bincount(codes[j], minlength=levels[j]))
        of_level = np.zeros(levels[j], kind)
        np.add.at(of_level, codes[j], weights)
        assert totals.level_weights[j].dtype == kind
        assert_same(totals.level_weights[j], of_level, not weighted)
        sums = np.zeros((levels[j], q))
        np.add.at(sums, codes[j], numbers)
        assert sums_of[j].shape == sums.shape
        assert_same(sums_of[j], sums, False)
        if j in place:
            assert_same(totals.matrix[span[j], span[j]], np.diag(of_level), not weighted)
    pairs = set(combinations(columns, 2))
    assert set(totals.blocks) == {(i, j) for i, j in pairs if not (i in place and j in place)}
    for i, j in pairs:
        expected = scipy.sparse.csr_array((weights, (codes[i], codes[j])), shape=(levels[i], levels[j]))
        if (i, j) not in totals.blocks:
            assert_same(totals.matrix[span[i], span[j]], expected.toarray(), not weighted)
            assert_same(totals.matrix[span[j], span[i]], expected.toarray().T, not weighted)
            continue
        block, cells = totals.blocks[i, j], levels[i] * levels[j]
        assert block.shape == expected.shape
        # The smallest type that holds the counts; in bytes of a cell, and four more for a pair that occurs.
        size = 8 if weighted else 2 if expected.data.max(initial=0) < 2**15 else 4
        assert block.dtype.itemsize == size
        if cells > 2**16 and (size + 4) * expected.nnz < size * cells:
            assert isinstance(block, scipy.sparse.csr_array)
            np.testing.assert_array_equal(block.indptr, expected.indptr)
            np.testing.assert_array_equal(block.indices, expected.indices)
            assert_same(block.data, expected.data, not weighted)
        else:
            assert isinstance(block, np.ndarray)
            assert_same(block, expected.toarray(), not weighted)


SHAPES = {
    "one column": [5],
    "one constant": [1, 1, 1, 1],
    "booleans": [2] * 40,
    "booleans and threes": [2, 3] * 10,
    "planes beside tables": [2] * 24 + [60, 90],
    "fused": [2, 3, 4, 5, 7, 9, 30, 60],
    "unfused": [400, 500, 300],
    "narrow and wide": [3, 20, 4000, 7],
    "short but not narrow": [2000, 2000, 1900, 2, 50],
    "wide pair": [4, 30_000, 20_000],
    "long": [3, 70_000, 90_000, 12],
    "long first": [150_000, 3, 200, 70_000],
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", SHAPES.values(), ids=SHAPES)
def test_totals_equal_brute_force(rng, levels, weighted):
    stretches = [stretch(rng, levels, rows, weighted=weighted, q=2) for rows in (12_000, 1, 3000, 9000)]
    assert_right(count(stretches), stretches)


@pytest.mark.parametrize(("weighted", "n_threads"), [(False, 3), (True, 1)])
@pytest.mark.parametrize("levels", SHAPES.values(), ids=SHAPES)
def test_totals_survive_growth(levels, weighted, n_threads):
    rng = np.random.default_rng(5)
    stretches, now = [], [1] * len(levels)
    for share, rows in ((0.2, 9000), (0.21, 10), (0.6, 9000), (1.0, 500)):
        now = [max(1, n, int(share * full)) for n, full in zip(now, levels, strict=True)]
        stretches.append(stretch(rng, now, rows, weighted=weighted, q=len(stretches)))
    assert_right(count(stretches, n_threads=n_threads), stretches)


def test_growth_by_single_levels_takes_few_plans(monkeypatch):
    rng = np.random.default_rng(0)
    made = []
    make_plan = counting.make_plan
    monkeypatch.setattr(counting, "make_plan", lambda *a, **k: made.append(1) or make_plan(*a, **k))
    stretches = [stretch(rng, [2, 10 + k, 3 + k // 2], 8500) for k in range(150)]
    assert_right(count(stretches), stretches)
    assert len(made) <= 10


def test_column_moves_to_32_bits(rng):
    stretches = [stretch(rng, levels, 20_000, q=1) for levels in ([5, 60_000, 3], [5, 70_000, 3], [5, 150_000, 3])]
    assert [s[0][1].dtype for s in stretches] == [np.uint16, np.uint32, np.uint32]
    assert_right(count(stretches), stretches)


def test_short_column_may_come_in_32_bits(rng):
    codes, levels, *rest = stretch(rng, [4, 5, 3000, 40], 9000, q=1)
    wide = [([c.astype(np.uint32) for c in codes], levels, *rest)]
    assert_right(count(wide), wide)


@pytest.mark.parametrize("levels", [[3, 40, 5], [2] * 12, [4, 3000, 50_000]], ids=["tables", "planes", "sparse"])
def test_counts_spill_before_the_limit(rng, monkeypatch, levels):
    monkeypatch.setattr(counting, "COUNT_LIMIT", 5000)
    monkeypatch.setattr(runs, "COUNT_LIMIT", 5000)
    stretches = [stretch(rng, levels, rows, q=1) for rows in (12_000, 9000, 40)]
    assert_right(count(stretches), stretches)


def test_no_table_counts_as_many_rows_as_the_limit(rng, monkeypatch):
    monkeypatch.setattr(counting, "COUNT_LIMIT", 5000)
    peaks = []
    settle = PairCounter._settle
    monkeypatch.setattr(
        PairCounter, "_settle", lambda self, stage, n: peaks.append(stage.rows) or settle(self, stage, n)
    )
    count([stretch(rng, [3, 40], 12_000), stretch(rng, [3, 40], 9000)])
    assert sum(peaks) == 21_000
    assert max(peaks) < 5000


@pytest.mark.parametrize("levels", [[7], [3, 50, 400], [2] * 9, [5, 40, 100_000, 3000]], ids=str)
def test_counts_do_not_depend_on_threads(rng, levels):
    stretches = [stretch(rng, levels, 100_000, q=2), stretch(rng, levels, 9000, q=2)]
    one, *others = (count(stretches, n_threads=k) for k in (1, 2, 3))
    assert_right(one, stretches)
    for other in others:
        np.testing.assert_array_equal(one[0].matrix, other[0].matrix)
        for a, b in zip(one[1], other[1], strict=True):
            assert_same(a, b, False)
        for pair, block in one[0].blocks.items():
            assert (abs(block - other[0].blocks[pair])).sum() == 0


def test_expected_rows_change_no_count(rng):
    stretches = [stretch(rng, [3, 50, 5000, 3000], 20_000)]
    for expected in (None, 10, 10**8):
        assert_right(count(stretches, expected_rows=expected), stretches)


def test_stretches_of_one_row(rng):
    stretches = [stretch(rng, [2, 5 + k // 10, 3000], 1, q=1 + (k > 40)) for k in range(80)]
    assert_right(count(stretches), stretches)


def test_codes_may_be_overwritten_after_add():
    rng = np.random.default_rng(0)
    part = stretch(rng, [3, 4], 100)
    kept = ([c.copy() for c in part[0]], *part[1:])
    with ThreadPoolExecutor(1) as pool:
        counter = PairCounter(2, executor=pool, n_threads=1)
        counter.add(part[0], part[1])
        for column in part[0]:
            column[:] = 0
        assert_right(counter.result(), [kept])


@pytest.mark.parametrize("weighted", [False, True])
def test_no_rows_and_no_levels(weighted):
    rng = np.random.default_rng(0)
    empty = stretch(rng, [1, 1, 1], 0, weighted=weighted)
    stretches = [(empty[0], [0, 3, 5000], *empty[2:])]
    assert_right(count(stretches), stretches)


def test_no_columns():
    with ThreadPoolExecutor(1) as pool:
        totals, _ = PairCounter(0, executor=pool, n_threads=1).result()
    assert totals.matrix.shape == (0, 0)
    assert totals.blocks == {}


def test_many_short_columns_beside_narrow_ones(monkeypatch):
    monkeypatch.setattr(plan, "MANY_COLUMNS", 2)
    rng = np.random.default_rng(0)
    stretches = [stretch(rng, [300 + k for k in range(17)], 9000, q=1)]
    assert len(plan.make_plan(tuple(stretches[0][1]), 9000).core) == 17 > len(narrow_columns(stretches[0][1]))
    assert_right(count(stretches), stretches)


def test_reserve_is_asked_before_the_tables_are_made(monkeypatch):
    rng = np.random.default_rng(0)
    asked = []

    def refuse(nbytes):
        asked.append(nbytes)
        raise MemoryLimitError("too much")

    allocated = []
    monkeypatch.setattr(counting.PlanTables, "allocate", lambda self: allocated.append(self))
    with pytest.raises(MemoryLimitError):
        count([stretch(rng, [1000, 1000, 3000], 10_000)], reserve=refuse, expected_rows=10**7)
    assert not allocated
    # Two tables of 1,000 x 3,000 bytes and one of 1,000 x 1,000 uint32 cells at the least.
    assert asked[0] >= 2 * 1000 * 3000 + 4 * 1000 * 1000


def test_reserve_hears_of_sparse_runs():
    rng = np.random.default_rng(0)
    asked = []
    stretches = [stretch(rng, [60_000, 60_000], 20_000) for _ in range(4)]
    count(stretches, reserve=asked.append)
    # Nearly all 80,000 pairs are distinct, at 12 bytes each.
    assert asked[-1] - asked[0] > 12 * 70_000


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_wait_are_sorted_in_runs_and_only_they_count_as_memory(rng, weighted):
    levels, n = (5000, 4000), 2500
    codes = [rng.integers(0, size, 4 * n).astype(np.uint16) for size in levels]
    weights = rng.random(4 * n) if weighted else None
    waiting, runs = SparsePair(weighted), SparsePair(weighted, most_waiting=n)
    for start in range(0, 4 * n, n // 2):
        part = slice(start, start + n // 2)
        for pair in (waiting, runs):
            pair.add(codes[0][part], codes[1][part], levels, None if weights is None else weights[part])
    # Room for millions of rows is made when the second stretch comes; it is no memory before rows are in it.
    assert waiting.nbytes == 4 * n * (16 if weighted else 8)
    expected = scipy.sparse.csr_array((np.ones(4 * n) if weights is None else weights, codes), shape=levels).toarray()
    for pair in (waiting, runs):
        found = pair.block(levels)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
