"""Dask arrays with their target in another one, and the way back from lazy features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gramian as gm
from gramian.errors import DataError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def test_arrays_of_rows_and_of_targets_are_fitted_together():
    """An array has no names to put the target under: it was refused, and told to be a column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=90) > 0).astype(int)
    dX, dy = da.from_array(X, chunks=(25, 2)), da.from_array(y, chunks=40)
    for model in (gm.FisherDiscriminant(), gm.PearsonFilter(k=1), gm.MahalanobisFeatures(ridge=1.0)):
        expected = clone(model).fit(X, y)
        found = clone(model).fit(dX, dy)
        assert not hasattr(found, "feature_names_in_")
        np.testing.assert_allclose(found.transform(X), expected.transform(X), rtol=1e-8, atol=1e-10)
        assert isinstance(found.transform(dX), da.Array)
    two = gm.FisherDiscriminant().partial_fit(dX[:50], dy[:50]).partial_fit(dX[50:], dy[50:, None])
    np.testing.assert_allclose(two.coef_, gm.FisherDiscriminant().fit(X, y).coef_, rtol=1e-8)
    kept = dX[:, 0] > -10
    unknown = dX[kept], dy.rechunk(25)[kept]
    assert gm.FisherDiscriminant().fit(*unknown).classes_.tolist() == [0, 1]
    with pytest.raises(DataError, match="one value per row"):
        gm.FisherDiscriminant().fit(dX, dy[:80])
    with pytest.raises(DataError, match="cannot be matched to rows in partitions"):
        gm.FisherDiscriminant().fit(dX, y)


def test_inverse_transform_of_lazy_features_is_lazy():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "c": rng.choice(["u", "v"], 60)})
    numbers = frame[["a", "b"]]
    for rows in (numbers, frame):
        model = gm.PCA(2).fit(rows)
        features = model.transform(rows)
        expected = model.inverse_transform(features)
        lazy = model.inverse_transform(da.from_array(features, chunks=(25, 2)))
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), np.asarray(expected))
        named = dd.from_pandas(pd.DataFrame(features, columns=["p", "q"], index=range(100, 160)), npartitions=3)
        lazy = model.inverse_transform(named)
        assert isinstance(lazy, dd.DataFrame)
        back = lazy.compute()
        assert list(back.columns) == list(rows.columns)
        assert back.index.tolist() == list(range(100, 160))
        np.testing.assert_array_equal(back.to_numpy(), np.asarray(expected))
        design = model.inverse_transform(named, design=True).compute()
        np.testing.assert_array_equal(design.to_numpy(), model.inverse_transform(features, design=True))
        assert design.shape[1] == len(model.design_names_)
