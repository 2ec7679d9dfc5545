import numpy as np
import pytest

from gramian.maps.surprise_kernels import BLOCK_ROWS, add_surprise
from gramian.maps.surprise_tables import lookup_tables


@pytest.mark.parametrize("levels", [(2, 3, 5, 120, 4, 3, 200, 97), (150, 130), (7,), (300,), (2,) * 9])
@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_look_ups_add_what_every_level_of_a_row_says_about_every_other(levels, kind):
    rng = np.random.default_rng(len(levels))
    sizes = np.array(levels, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]]).astype(np.int64)
    n, s, q, penalty = BLOCK_ROWS + 89, int((sizes + 1).sum()), 2, 50.0
    table, number_table, factors = rng.normal(size=(s, s)), rng.normal(size=(s, q)), rng.random(s)
    for start, size in zip(starts, sizes, strict=True):
        own = slice(start, start + size + 1)
        table[own, own] = np.diag(rng.normal(size=size + 1))
    # One code past the levels is an unseen one.
    codes = np.array([rng.integers(0, size + 1, n) for size in sizes]).astype(kind)
    numbers = rng.normal(size=(n, q))
    out = np.ones(n)
    tables = lookup_tables(table, starts, sizes)
    add_surprise[kind](codes, starts, sizes, *tables, number_table, numbers, factors, penalty, out)

    slots = (starts[:, None] + codes).T
    residuals = np.array([[table[t, row].sum() for t in row] for row in slots])
    residuals += np.einsum("ijq,iq->ij", number_table[slots], numbers)
    damped = np.maximum(residuals, 0) / (1 + np.maximum(residuals, 0))
    expected = 1.0 + (factors[slots] * damped).sum(axis=1) + penalty * (sizes == codes.T).sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_only_columns_too_large_to_fuse_are_paired():
    sizes = np.array([2, 3, 120, 4, 200], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]]).astype(np.int64)
    group_of, _, _, asked, _, pairs, _, both_ways = lookup_tables(np.zeros((334, 334)), starts, sizes)
    assert group_of.tolist() == [0, 0, 1, 2, 3]
    assert pairs.tolist() == [[2, 3], [2, 4], [3, 4]]
    assert both_ways.size == 2 * (121 * 5 + 121 * 201 + 5 * 201)
    assert asked[2].tolist() == [True, True, False, False]
