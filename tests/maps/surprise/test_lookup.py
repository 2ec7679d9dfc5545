"""Fused tables look up what every level and pair of levels adds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gramian.maps.surprise import score as lookup
from gramian.maps.surprise.score import SCRATCH_BYTES, add_tables, lookup_tables


@pytest.mark.parametrize("levels", [(2, 3, 5, 120, 4, 3, 200, 97), (150, 130), (7,), (300,), (2,) * 9])
@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_look_ups_add_what_levels_and_pairs_add(levels, kind):
    rng = np.random.default_rng(len(levels))
    own = [rng.normal(size=size) for size in levels]
    # Every third pair adds nothing, and has no table.
    chosen = [pair for at, pair in enumerate(itertools.combinations(range(len(levels)), 2)) if at % 3]
    pairs = {(j, k): rng.normal(size=(levels[j], levels[k])) for j, k in chosen}
    n, penalty = SCRATCH_BYTES // 12 + 89, 50.0
    codes = np.array([rng.integers(0, size + 1, n) for size in levels]).astype(kind)
    out = np.ones(n)
    tables = lookup_tables(own, pairs, penalty)
    for first, stop in ((0, 3), (3, n - 2)):
        add_tables(codes, *tables, first, stop, out)

    expected = np.ones(n)
    for j, by_level in enumerate(own):
        expected += np.append(by_level, penalty)[codes[j]]
    for (j, k), table in pairs.items():
        roomy = np.zeros((levels[j] + 1, levels[k] + 1))
        roomy[:-1, :-1] = table
        expected += roomy[codes[j], codes[k]]
    np.testing.assert_allclose(out[:-2], expected[:-2], rtol=1e-11)
    # Rows that were not asked for stay as they are.
    assert (out[-2:] == 1.0).all()


def test_the_smallest_columns_are_fused_and_pairs_without_a_table_are_not_looked_up():
    levels = (2, 200, 3, 120, 4)
    own = [np.zeros(size) for size in levels]
    tables = lookup_tables(own, {(0, 2): np.zeros((2, 3)), (1, 3): np.zeros((200, 120))}, 0.0)
    assert tables.group_of.tolist() == [0, 2, 0, 1, 0]
    assert tables.group_stride.tolist() == [1, 1, 3, 1, 12]
    # What each of three groups adds alone, then the one pair of groups that has a table.
    assert list(zip(tables.first.tolist(), tables.second.tolist(), strict=True)) == [(0, 3), (1, 3), (2, 3), (1, 2)]
    assert tables.cells.size == 1 + 60 + 121 + 201 + 121 * 201


def test_columns_are_fused_less_where_tables_would_be_large(monkeypatch):
    own = [np.zeros(2)] * 40
    pairs = {pair: np.zeros((2, 2)) for pair in itertools.combinations(range(40), 2)}
    assert lookup_tables(own, pairs, 0.0).n_groups == 10
    monkeypatch.setattr(lookup, "CELLS", 20_000)
    tables = lookup_tables(own, pairs, 0.0)
    assert tables.n_groups == 20
    assert tables.cells.size < 20_000
