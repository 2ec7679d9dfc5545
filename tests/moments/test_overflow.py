"""Values whose square is beyond floating point are refused by the name of their column; smaller ones are not."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm

HUGE = np.finfo(float).max


def with_value(rng, value, width=2):
    rows = rng.standard_normal((90, width))
    rows[3, 1] = value
    return rows


@pytest.mark.parametrize("value", [HUGE, -HUGE, 1e200])
@pytest.mark.parametrize("width", [2, 600])
@pytest.mark.parametrize(
    "source",
    [
        lambda x: x,
        sp.csr_array,
        lambda x: pa.table({f"x{j}": x[:, j] for j in range(x.shape[1])}),
        lambda x: pa.table({f"x{j}": x[:, j] for j in range(x.shape[1])} | {"kind": ["a", "b"] * 45}),
    ],
    ids=["array", "sparse", "table", "mixed"],
)
@pytest.mark.parametrize("folds", [0, 2])
def test_a_value_whose_square_overflows_is_refused_by_name(rng, value, width, source, folds):
    with pytest.raises(gm.errors.DataError, match=r"column 'x1' holds a value beyond about 1e150"):
        gm.collect(source(with_value(rng, value, width)), folds=folds)


@pytest.mark.parametrize("model", [gm.PCA(), gm.Whitening(), gm.MahalanobisFeatures()], ids=str)
def test_no_model_comes_of_such_a_value(rng, model):
    X = with_value(rng, HUGE)
    with pytest.raises(gm.errors.DataError, match="x1"):
        model.fit(X, X[:, 0])


def test_parts_that_are_too_far_apart_are_refused_together(rng):
    low, high = (gm.collect(np.full((5, 1), value)) for value in (-1e200, 1e200))
    with pytest.raises(gm.errors.DataError, match="x0"):
        low + high


def test_squares_that_fit_are_kept(rng):
    assert gm.collect(with_value(rng, 1e140)).covariance()[1, 1] == pytest.approx(1e280 / 90)
