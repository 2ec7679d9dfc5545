import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.moments.crosstabs import Pairwise

from ..brute import basis, expanded, random_problem


@pytest.mark.parametrize("seed", range(4))
def test_entries_are_sums_of_squared_canonical_correlations(seed):
    frame, _ = random_problem(np.random.default_rng(seed), missing=True)
    frame["count"] = np.random.default_rng(seed).integers(0, 5, len(frame))
    m = gm.collect(frame)
    pairs = Pairwise(m, list(frame.columns))
    spaces = [basis(expanded(frame, [name])) for name in frame]
    for j, a in enumerate(spaces):
        np.testing.assert_allclose(pairs.squares(j), [np.square(a.T @ b).sum() for b in spaces], atol=1e-10)
    np.testing.assert_array_equal(pairs.ranks, [a.shape[1] for a in spaces])


def test_sparse_pairs_are_counted_alike(rng):
    wide = pd.DataFrame({f"w{k}": [f"v{v}" for v in rng.integers(0, 3000, 6000)] for k in range(2)})
    m = gm.collect(wide)
    table = pd.crosstab(wide["w0"], wide["w1"]).to_numpy().astype(float)
    expected = (table**2 / np.outer(table.sum(axis=1), table.sum(axis=0))).sum() - 1
    assert Pairwise(m, ["w0", "w1"]).squares(0)[1] == pytest.approx(expected, rel=1e-9)


def test_constants_go_with_nothing(mixed):
    pairs = Pairwise(gm.collect(mixed.assign(flat=1.0, same="x")), ["flat", "same", "color"])
    np.testing.assert_array_equal(pairs.squares(0), 0.0)
    np.testing.assert_array_equal(pairs.squares(1), 0.0)
