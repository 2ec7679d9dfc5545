"""Tables are joined while rows stream, as `Moments.attach` joined them to the moments."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def star(rng) -> dict[str, pa.Table]:
    n = 500
    shop = [None if k == 9 else f"s{k}" for k in rng.integers(0, 10, n)]
    days = [datetime.date(2024, 1 + k, 3) for k in range(7)]
    return {
        "facts": pa.table({"id": np.arange(n), "shop": shop, "item": rng.integers(0, 40, n), "x": rng.normal(size=n)}),
        "shops": pa.table(
            {
                "shop": [*(f"s{k}" for k in range(7)), None],
                "opened": [*days, days[0]],
                "region": pa.array(["n", "s", "n", None, "w", "n", "s", "w"]).dictionary_encode(),
                "unread": [[1]] * 8,
            }
        ),
        "items": pa.table({"item": np.arange(5, 45), "price": rng.normal(size=40)}),
        "regions": pa.table({"region": ["n", "s"], "tax": [0.1, 0.2]}),
    }


@pytest.fixture
def lookup(star) -> dict[str, pa.Table]:
    return {"shop": star["shops"], "item": star["items"], "region": star["regions"]}


@pytest.fixture
def model(star) -> gm.PCA:
    m = gm.collect(star["facts"], exclude="id", categorical="item")
    m = m.attach("shop", star["shops"], exclude="unread").attach("item", star["items"])
    return gm.PCA(3).fit(m.attach("region", star["regions"], keep_key=True))


def joined(star) -> pa.Table:
    shops = star["shops"].drop_columns("unread")
    shops = shops.set_column(2, "region", shops.column("region").cast(pa.string()))
    table = star["facts"].join(shops, "shop").join(star["items"], "item").join(star["regions"], "region")
    return table.sort_by("id")


def test_looked_up_equals_joined(star, lookup, model, tmp_path):
    rows = gm.transform_file(model, star["facts"], tmp_path / "features.parquet", keep=["id", "tax"], lookup=lookup)
    assert rows == 500
    table = pq.read_table(tmp_path / "features.parquet")
    assert table.column("id").to_pylist() == list(range(500))
    assert table.column("tax").to_pylist() == joined(star).column("tax").to_pylist()
    features = np.column_stack([table.column(f"pca{k}") for k in range(3)])
    np.testing.assert_allclose(features, model.transform(joined(star)), atol=1e-12)


def test_any_source_and_small_batches(star, lookup, model, tmp_path):
    pyarrow.csv.write_csv(star["items"], tmp_path / "items.csv")
    whole = gm.transform_stream(model, star["facts"], lookup=lookup).read_all()
    files = {**lookup, "item": tmp_path / "items.csv", "region": star["regions"].to_pylist()}
    batches = star["facts"].to_batches(max_chunksize=7)
    np.testing.assert_allclose(
        np.column_stack(gm.transform_stream(model, batches, lookup=files).read_all().columns),
        np.column_stack(whole.columns),
        rtol=1e-12,
    )


def test_only_columns_that_are_read_are_looked_up(star, lookup, model):
    # A column of the facts that a table has as well is no fault while nobody reads it.
    twice = star["regions"].append_column("id", pa.array([1, 2]))
    assert gm.transform_stream(model, star["facts"], lookup={**lookup, "region": twice}).read_all().num_rows == 500
    with pytest.raises(DataError, match=r"'id' is in .* not known which is meant"):
        gm.transform_stream(model, star["facts"], keep="id", lookup={**lookup, "region": twice})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shp": [{"shp": "a"}]}, "did you mean 'shop'"),
        ({"region": [{"place": "n"}]}, "'region' is not in"),
        ({"item": [{"item": "1", "price": 2.0}]}, "key 'item' holds int64 .* and string in"),
        ({"item": [{"item": 1, "price": 2.0}, {"item": 1, "price": 3.0}]}, "2 rows for 'item' = 1"),
        (None, "takes tables by key"),
    ],
)
def test_mistakes_are_named(star, lookup, model, change, message):
    with pytest.raises(DataError, match=message):
        gm.transform_stream(model, star["facts"], lookup=["shops"] if change is None else {**lookup, **change})


def test_what_no_table_has_is_named(star, lookup, model):
    del lookup["item"]
    with pytest.raises(DataError, match="price"):
        gm.transform_stream(model, star["facts"], lookup=lookup)
