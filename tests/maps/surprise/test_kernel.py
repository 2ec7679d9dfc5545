"""The loops of a score on arguments laid out by hand, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.maps.surprise.score import add_numbers, add_sparse, add_tables


@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_tables_are_looked_up_by_the_codes_of_both_groups(rng, kind):
    """Columns 0 and 2 make group 0 (codes below 6), column 1 group 1 (codes below 4); group 2 has code 0 only."""
    n = 50
    codes = np.array([rng.integers(0, 2, n), rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(kind)
    alone, other, both = rng.normal(size=6), rng.normal(size=4), rng.normal(size=(6, 4))
    cells = np.concatenate([[0.0], alone, other, both.ravel()])
    ints = [np.array(values, np.int64) for values in ([0, 1, 0], [1, 1, 2])]
    places = [np.array(values, np.int64) for values in ([0, 1, 0, 2], [2, 2, 1, 2], [1, 7, 11, 0], [1, 1, 4, 0])]
    out = np.full(n, 0.5)
    add_tables(codes, *ints, 2, *places, cells, 5, n - 3, out)
    for i in range(n):
        g, h = int(codes[0, i]) + 2 * int(codes[2, i]), int(codes[1, i])
        expected = alone[g] + other[h] + both[g, h] if 5 <= i < n - 3 else 0.0
        assert out[i] == pytest.approx(0.5 + expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_sparse_counts_are_found_or_are_zero_and_unseen_levels_add_nothing(rng, kind):
    counts = {(0, 1): 3.0, (0, 6): 2.0, (2, 0): 1.0, (2, 2): 4.0, (2, 3): 9.0, (2, 6): 5.0}
    indptr, indices = np.array([0, 2, 2, 6]), np.array([column for _, column in counts], np.int32)
    weights, shares = rng.uniform(1, 9, 3), rng.uniform(0, 1, 7)
    left, right = (grid.ravel().astype(kind) for grid in np.meshgrid(range(4), range(8)))
    out = np.zeros(len(left))
    stored = np.array(list(counts.values()))
    add_sparse(left, right, indptr, indices, stored, weights, shares, 0.3, 0, len(left) - 1, out)
    for i, (u, v) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        expected = 0.0
        if u < 3 and v < 7 and i < len(left) - 1:
            expected = 0.3 * np.log((weights[u] * shares[v] + 1) / (counts.get((u, v), 0.0) + 1))
        assert out[i] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_numbers_alone_are_worth_their_energy_and_missing_ones_nothing(kind):
    z = np.array([[0.5, -2.0], [np.nan, 3.0], [30.0, np.nan], [np.nan, np.nan], [1.0, 1.0]])
    none, no_ints = np.empty(0), np.empty(0, np.int64)
    codes, out = np.zeros((1, 5), kind), np.ones(5)
    add_numbers(
        z, codes, np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros((1, 2)), no_ints, no_ints, none, none, none,
        no_ints, no_ints, none, none, 0, 4, out,
    )  # fmt: skip
    np.testing.assert_allclose(out, [1 + 0.125 + 2, 1 + 4.5, 1 + 4.5 * (1 + np.log(100)), 1, 1], rtol=1e-14)


def test_edges_of_numbers_are_the_score_of_the_definition(case, pair_score, odd_rows, terms_by_hand):
    rows, t = case.encoded(odd_rows), pair_score.numbers
    z, out = pair_score.standardised(rows), np.zeros(len(rows))
    add_numbers(
        z, rows.codes, pair_score.starts, pair_score.sizes, t.means, t.first, t.second, t.slope, t.left, t.factor,
        t.number, t.category, t.left_by_level, t.level_factor, 0, len(rows), out,
    )  # fmt: skip
    expected = terms_by_hand(pair_score, odd_rows)[:, :, 3:].sum(axis=(1, 2))
    np.testing.assert_allclose(out, expected, rtol=1e-10)
