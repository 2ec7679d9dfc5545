import numpy as np
import pandas as pd

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import RowScatter


def test_rows_are_the_centred_ones_of_the_columns_asked_for(rng):
    x = rng.standard_normal((12, 700)) + 3
    x[rng.random(x.shape) < 0.1] = np.nan
    m = gm.collect(pd.DataFrame(x).add_prefix("g"))
    names = [f"g{j}" for j in range(699, 99, -1)]
    filled = np.where(np.isnan(x), np.nanmean(x, axis=0), x)[:, ::-1][:, :600]
    found = RowScatter(m, layout_of(m, names)).rows
    # Equal up to a rotation of rows.
    expected = filled - filled.mean(axis=0)
    np.testing.assert_allclose(found.T @ found, expected.T @ expected, atol=1e-10)


def test_columns_of_unlike_variance_keep_their_rank(rng):
    x = rng.standard_normal((9, 600))
    x[:, 0] *= 1e9
    m = gm.collect(x)
    pairs = RowScatter(m, layout_of(m, None)).eigenpairs()
    assert pairs.rank == 8
    centred = x - x.mean(axis=0)
    np.testing.assert_allclose(pairs.values, np.square(np.linalg.svd(centred)[1][:8]), rtol=1e-6)


def test_they_are_few_only_where_all_columns_are_numbers_kept_so(rng):
    frame = pd.DataFrame(rng.standard_normal((30, 600))).add_prefix("g").assign(c=list("ab") * 15)
    m = gm.collect(frame)
    names = [f"g{j}" for j in range(600)]
    assert RowScatter.are_few(m, layout_of(m, names))
    assert not RowScatter.are_few(m, layout_of(m, None))
    assert not RowScatter.are_few(m, layout_of(m, names[:20]))
    few = gm.collect(rng.standard_normal((30, 5)))
    assert not RowScatter.are_few(few, layout_of(few, None))
