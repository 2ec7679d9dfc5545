import numpy as np
import pytest

from gramian.maps.surprise_kernels import SCRATCH_BYTES, add_surprise
from gramian.maps.surprise_tables import lookup_tables


@pytest.mark.parametrize("levels", [(2, 3, 5, 120, 4, 3, 200, 97), (150, 130), (7,), (300,), (2,) * 9])
@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_look_ups_add_what_every_level_of_a_row_says_about_every_other(levels, kind):
    rng = np.random.default_rng(len(levels))
    sizes = np.array(levels, np.int64)
    starts = np.cumsum(sizes) - sizes
    n, s, q, penalty = SCRATCH_BYTES // 12 + 89, int(sizes.sum()) + 1, 2, 50.0
    table, number_table, factors = rng.normal(size=(s, s)), rng.normal(size=(s, q)), rng.random(s)
    for start, size in zip(starts, sizes, strict=True):
        own = slice(start, start + size)
        table[own, own] = np.diag(rng.normal(size=size))
    # The last slot is that of unseen levels, whose code is one past the others.
    table[-1], table[:, -1], number_table[-1], factors[-1] = 0.0, 0.0, 0.0, 0.0
    codes = np.array([rng.integers(0, size + 1, n) for size in sizes]).astype(kind)
    numbers = rng.normal(size=(n, q))
    out = np.ones(n)
    tables = lookup_tables(table, number_table, factors, sizes)
    for first, stop in ((0, 3), (3, n - 2)):
        add_surprise[kind](codes, *tables, numbers, penalty, first, stop, out)

    unseen = codes == sizes[:, None]
    slots = np.where(unseen, s - 1, starts[:, None] + codes).T
    residuals = sum(table[slots, slots[:, [k]]] for k in range(len(sizes)))
    residuals += np.einsum("ijq,iq->ij", number_table[slots], numbers)
    damped = np.maximum(residuals, 0) / (1 + np.maximum(residuals, 0))
    expected = 1.0 + (factors[slots] * damped).sum(axis=1) + penalty * unseen.sum(axis=0)
    np.testing.assert_allclose(out[:-2], expected[:-2], rtol=1e-12)
    # Rows that were not asked for stay as they are.
    assert (out[-2:] == 1.0).all()


def test_the_smallest_columns_are_fused_and_the_widest_needs_no_table_with_itself():
    sizes = np.array([2, 200, 3, 120, 4], np.int64)
    tables = lookup_tables(np.zeros((330, 330)), np.zeros((330, 0)), np.zeros(330), sizes)
    _, group_of, strides, first_codes, asked, begins, widths, cells, *_ = tables
    assert group_of.tolist() == [0, 2, 0, 1, 0]
    assert strides.tolist() == [1, 1, 3, 1, 12]
    # After the cells of a level itself and of nothing: 60 combinations, 121 levels, and the widest.
    assert first_codes.tolist() == [2, 62, 183, 0, 1]
    assert widths.tolist() == [384, 183, 384, 384, 384]
    assert asked.tolist() == [[0, 1, 2, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 3, 2, 4], [0, 1, 2, 4]]
    assert cells.size == (widths * (sizes + 1)).sum()
    assert begins.tolist() == [0, 3 * 384, *(3 * 384 + 201 * 183 + np.array([0, 4, 125]) * 384)]
