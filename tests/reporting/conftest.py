"""One table of payments, its moments, the models fitted from them, and new rows with values nobody has seen."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

import gramian as gm

from .payments import payments


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    table = payments(6000, n_odd=0)
    features = table.drop(["odd"])
    moments = gm.collect(features, folds=3)
    models = {
        "pca": gm.PCA(6).fit(moments, y="fraud"),
        "fisher": gm.FisherDiscriminant().fit(moments, y="fraud"),
        "mahalanobis": gm.MahalanobisFeatures().fit(moments, y="fraud"),
        "density": gm.DensityEmbedding().fit(moments, y="fraud"),
    }
    new = payments(3000, seed=5)
    currency = new["currency"].to_pylist()
    currency[7] = currency[70] = "XBT"
    currency[700] = "DOGE"
    new = new.set_column(new.column_names.index("currency"), "currency", pa.array(currency))
    every = [moments, *models.values()]
    return SimpleNamespace(table=table, features=features, moments=moments, models=models, every=every, new=new)
