"""Columns move between the narrow matrix and blocks of their own as their levels come and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.moments.state.pair_counts import PairCounts, _same, remap_block


def codes(seed: int, n: int = 5000, wide: int = 3000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"u": rng.integers(0, wide, n), "c": rng.integers(0, 4, n), "d": rng.integers(0, 3, n)}


def collected(data: dict[str, np.ndarray], **arguments) -> gm.Moments:
    return gm.collect(pa.table({k: [f"{k}{i}" for i in v] for k, v in data.items()}), **arguments)


def assert_pairs(m: gm.Moments, data: dict[str, np.ndarray]) -> None:
    """Assert every table of two columns against a plain count."""
    for a in data:
        for b in data:
            if a == b:
                continue
            left = [int(label[1:]) for label in m.levels(a)]
            right = [int(label[1:]) for label in m.levels(b)]
            expected = np.zeros((data[a].max() + 1, data[b].max() + 1), dtype=np.int64)
            np.add.at(expected, (data[a], data[b]), 1)
            np.testing.assert_array_equal(m.crosstab(a, b), expected[np.ix_(left, right)])
            assert expected.sum() == m.crosstab(a, b).sum()


def joined(*parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_wide_and_narrow_columns_are_kept_apart() -> None:
    data = joined(codes(1), {"u": np.arange(3000), "c": np.zeros(3000, int), "d": np.zeros(3000, int)})
    m = collected(data)
    assert m.pairs.narrow == (1, 2)
    assert set(m.pairs.blocks) == {(0, 1), (0, 2)}
    assert_pairs(m, data)


def test_a_column_turns_wide_on_merge() -> None:
    first = {"u": np.arange(1500), "c": np.arange(1500) % 4, "d": np.arange(1500) % 3}
    second = {"u": 1500 + np.arange(1500), "c": np.arange(1500) % 4, "d": np.arange(1500) % 2}
    a, b = collected(first), collected(second)
    assert a.pairs.narrow == (0, 1, 2)
    both = a + b
    assert both.pairs.narrow == (1, 2)
    assert_pairs(both, joined(first, second))
    assert both == collected(joined(first, second))


def test_a_column_turns_narrow_on_subtraction() -> None:
    first = {"u": np.arange(1500), "c": np.arange(1500) % 4, "d": np.arange(1500) % 3}
    second = {"u": 1500 + np.arange(1500), "c": np.arange(1500) % 4, "d": np.arange(1500) % 2}
    rest = collected(joined(first, second)) - collected(second)
    assert rest.pairs.narrow == (0, 1, 2)
    assert_pairs(rest, first)
    assert rest == collected(first)


def test_a_column_turns_narrow_when_pooled() -> None:
    data = joined({k: v % 40 if k == "u" else v for k, v in codes(1).items()}, codes(2, n=6000))
    m = collected(data)
    assert 0 not in m.pairs.narrow
    pooled = m.pool(min_count=50)
    assert 0 in pooled.pairs.narrow
    assert pooled.crosstab("u", "c").sum() == m.n_rows
    np.testing.assert_array_equal(pooled.crosstab("u", "c").sum(axis=0), m.counts("c"))
    kept = [label for label in pooled.levels("u") if label != "(rare)"]
    at = [m.levels("u").index(label) for label in kept]
    np.testing.assert_array_equal(pooled.crosstab("u", "c")[: len(kept)], m.crosstab("u", "c")[at])


def test_many_medium_columns_outgrow_the_matrix() -> None:
    rng = np.random.default_rng(3)
    # Three times 1,800 levels are more than 4,096 in all: the last of them is kept apart.
    data = {name: rng.permutation(np.arange(5400) % 1800) for name in "uvw"}
    m = collected(data)
    assert len(m.pairs.narrow) == 2
    assert_pairs(m, data)
    alone = m.select(["w", "u"])
    assert alone.pairs.narrow == (0, 1)
    assert_pairs(alone, {name: data[name] for name in "wu"})


def test_two_wide_columns_are_sparse() -> None:
    rng = np.random.default_rng(4)
    data = {"u": rng.permutation(4000), "v": rng.permutation(4000)}
    m = collected(data)
    assert sp.issparse(m.pairs.block(0, 1))
    assert m.nbytes < 2**20
    assert_pairs(m, data)
    assert_pairs(m + m, joined(data, data))
    assert_pairs((m + m) - m, data)
    assert_pairs(m.select(["v", "u"]), data)


@pytest.mark.parametrize("weighted", [False, True])
def test_wide_weighted_pairs_travel_through_folds(weighted: bool) -> None:
    data = codes(5, n=6000)
    weights = 1.0 + np.arange(6000) % 3 if weighted else None
    m = collected(data, folds=3, sample_weight=weights)
    assert gm.merge(m.folds).isclose(collected(data, sample_weight=weights))


def test_remapping_adds_levels_that_meet_and_drops_the_rest() -> None:
    block = np.arange(6).reshape(2, 3)
    found = remap_block(block, np.array([0, 0]), np.array([1, -1, 0]), (1, 2))
    np.testing.assert_array_equal(found, [[2 + 5, 0 + 3]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [40, 6000])
def test_several_columns_made_of_one_are_those_of_the_rows(wide: int, weighted: bool, rng: np.random.Generator) -> None:
    """Columns that replace a key, narrow and wide, with dropped levels and beside the key itself: A^T N A."""
    n = 4000
    rows = [rng.integers(0, size, n) for size in (3, wide, 3000)]
    weights = rng.integers(1, 5, n) / 4 if weighted else np.ones(n, dtype=np.int64)

    def counts(codes: list[np.ndarray], sizes: list[int]) -> PairCounts:
        kept = [code >= 0 for code in codes]

        def table(i: int, j: int) -> sp.csr_array:
            both = kept[i] & kept[j]
            cells = (weights[both], (codes[i][both], codes[j][both]))
            return sp.csr_array(sp.coo_array(cells, shape=(sizes[i], sizes[j])))

        own = [
            np.bincount(c[k], weights[k], s).astype(weights.dtype) for c, k, s in zip(codes, kept, sizes, strict=True)
        ]
        whole = [np.bincount(c[k], minlength=s) for c, k, s in zip(codes, kept, sizes, strict=True)]
        pairs = {(i, j): table(i, j) for i in range(len(codes)) for j in range(i + 1, len(codes))}
        return PairCounts.of_blocks(whole, own if weighted else whole, pairs)

    sizes = [5, 2500, 1, 60]
    maps = [rng.integers(-1, size, wide) for size in sizes]
    columns, new_sizes = [1, 0, 1, 2, 1, 1, 1], [wide, 3, sizes[0], 3000, *sizes[1:]]
    full = [None, None, maps[0], None, *maps[1:]]
    moved = counts(rows, [3, wide, 3000]).transform(columns, full, new_sizes)
    codes = [rows[c] if m is None else m[rows[c]] for c, m in zip(columns, full, strict=True)]
    expected = counts(codes, new_sizes)
    assert moved.equals(expected)
    assert {pair: type(block) for pair, block in moved.blocks.items()} == {
        p: type(b) for p, b in expected.blocks.items()
    }
    assert all(block.format == "csr" for block in moved.blocks.values() if sp.issparse(block))


def test_a_column_with_itself_is_diagonal() -> None:
    m = gm.collect(pa.table({"c": ["a", "b", "a"]}))
    table = m.crosstab("c", "c")
    np.testing.assert_array_equal(table, [[2, 0], [0, 1]])
    assert table.dtype == np.int64


def test_answers_are_copies() -> None:
    m = gm.collect(pa.table({"c": ["a", "b", "a"], "d": ["u", "u", "v"]}))
    for answer in (m.counts("c"), m.crosstab("c", "d"), m.covariance(), m.mean()):
        before = answer.copy()
        answer[...] = -1
        assert (before != -1).any()
    assert m == gm.collect(pa.table({"c": ["a", "b", "a"], "d": ["u", "u", "v"]}))
    sparse = m.crosstab("c", "d", sparse=True)
    sparse.data[:] = -1
    assert m.crosstab("c", "d").min() >= 0


@pytest.mark.parametrize(("rtol", "atol"), [(1e-9, 0.0), (1e-2, 0.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.25)])
def test_sparse_blocks_are_close_where_dense_ones_are(rtol: float, atol: float, rng: np.random.Generator) -> None:
    for _ in range(50):
        a = rng.integers(0, 4, (3, 4)) * rng.choice([1.0, 1e3], (3, 4))
        b = a * (1 + rng.choice([0, 1e-10, 5e-3, 0.4], (3, 4))) + rng.choice([0, 0, 0, 0.9], (3, 4))
        expected = np.allclose(a, b, rtol=rtol, atol=atol)
        assert _same(sp.csr_array(a), sp.csr_array(b), exact=False, rtol=rtol, atol=atol) == expected
        assert _same(sp.csr_array(a), b, exact=False, rtol=rtol, atol=atol) == expected


def test_exact_sparse_blocks_differ_by_any_cell() -> None:
    a = sp.csr_array(np.array([[0, 3], [1, 0]]))
    assert _same(a, a.copy(), exact=True)
    assert not _same(a, sp.csr_array(np.array([[0, 3], [1, 1]])), exact=True)


def test_bytes_held_count_weights_of_levels_once() -> None:
    data = codes(1)
    plain, weighted = collected(data).pairs, collected(data, sample_weight=np.ones(5000)).pairs
    levels = sum(plain.sizes)

    def rest(pairs) -> int:
        parts = [getattr(b, name, None) for b in pairs.blocks.values() for name in ("data", "indices", "indptr")]
        blocks = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        dense = sum(b.nbytes for b in pairs.blocks.values() if isinstance(b, np.ndarray))
        return pairs.matrix.nbytes + blocks + dense

    assert plain.nbytes == rest(plain) + 8 * levels
    assert weighted.nbytes == rest(weighted) + 16 * levels
