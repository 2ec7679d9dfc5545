"""Gathering weights by codes against a loop over rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.maps.projection import gather_add


@pytest.mark.parametrize(("codes_of", "values_of"), gather_add)
@pytest.mark.parametrize("sizes", [(3, 1, 70), (5,), ()])
def test_weights_of_every_code_are_added_to_what_is_there(rng, codes_of, values_of, sizes):
    n, k = 17, 4
    codes = np.array([rng.integers(0, size, n) for size in sizes], dtype=codes_of).reshape(len(sizes), n)
    starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    # Whole numbers: their sums are exact in either precision, in any order.
    table = rng.integers(-50, 50, (sum(sizes), k)).astype(values_of)
    out = rng.integers(-5, 5, (n, k)).astype(values_of)
    expected = out.tolist()
    for i in range(n):
        for c in range(len(sizes)):
            for f in range(k):
                expected[i][f] += float(table[starts[c] + codes[c, i], f])
    gather_add[codes_of, values_of](codes, starts, table, out)
    assert out.tolist() == expected


def test_other_types_are_refused():
    with pytest.raises(TypeError):
        gather_add["uint16", "float64"](
            np.zeros((1, 2), np.int16), np.zeros(1, np.int64), np.zeros((1, 1)), np.zeros((2, 1))
        )
