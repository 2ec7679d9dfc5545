"""Features of Spark frames on a stand-in: schemas before any job, rows in order. Real Spark is in tests/laws/test_spark.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError

frames = pytest.importorskip("gramian.engines.spark", reason="pyspark is not installed")


@pytest.fixture
def rows(mixed: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(mixed, preserve_index=False).cast(
        pa.schema(
            [("color", pa.string()), ("shape", pa.string()), ("grade", pa.int64()), ("size", pa.float64()),
             ("cost", pa.float64()), ("kind", pa.string())]
        )
    )  # fmt: skip


@pytest.fixture
def frame(rows: pa.Table, spark_stand_in: Any) -> Any:
    return spark_stand_in([rows.slice(0, 150), rows.slice(0, 0), rows.slice(150)])


def types_of(frame: Any) -> list[str]:
    return [field.dataType.simpleString() for field in frame.schema.fields]


def test_every_method_of_rows_gives_the_columns_it_gives_here(rows: pa.Table, frame: Any) -> None:
    model = gm.FisherDiscriminant().fit(rows, "kind")
    for method, kind in {"transform": "double", "predict_proba": "double", "predict": "string"}.items():
        lazy = getattr(model, method)(frame)
        assert set(types_of(lazy)) == {kind}
        found = pa.concat_tables(lazy.parts)
        here = np.asarray(getattr(model, method)(rows)).reshape(rows.num_rows, -1)
        for k, column in enumerate(found.columns):
            assert column.to_pylist() == here[:, k].tolist()
    swans = model.black_swans(frame)
    assert types_of(swans) == ["boolean"] * 5
    assert swans.columns == ["color", "shape", "grade", "size", "cost"]


def test_columns_that_stay_keep_their_types(rows: pa.Table, frame: Any) -> None:
    selector = gm.VarianceFilter(threshold=0.0).fit(rows)
    lazy = selector.transform(frame)
    assert lazy.columns == [str(name) for name in selector.get_feature_names_out()]
    assert types_of(lazy) == [types_of(frame)[frame.columns.index(name)] for name in lazy.columns]
    assert pa.concat_tables(lazy.parts).equals(rows.select(lazy.columns))


def test_kept_columns_come_first_and_floats_may_be_short(rows: pa.Table, frame: Any) -> None:
    from gramian.estimators.spine.outputs import RowMethod

    method = RowMethod(gm.PCA(n_components=2).fit(rows), "transform")
    lazy = frames.map_frame(frame, method, method.names, keep=["kind"], dtype=np.dtype("float32"))
    assert lazy.columns == ["kind", "pca0", "pca1"]
    assert types_of(lazy) == ["string", "float", "float"]
    assert pa.concat_tables(lazy.parts)["kind"].to_pylist() == rows["kind"].to_pylist()


def test_what_a_model_lacks_is_told_before_any_job(rows: pa.Table, spark_stand_in: Any) -> None:
    model = gm.PCA(n_components=2).fit(rows)
    with pytest.raises(ColumnError, match="column 'cost' is not in a Spark frame"):
        model.transform(spark_stand_in([rows.drop(["cost"])]))


def test_executors_write_parquet_alone(frame: Any) -> None:
    with pytest.raises(DataError, match=r"cannot write 'x\.csv'.*ends in \.parquet"):
        frames.write_parquet(frame, "x.csv")


def test_a_model_travels_as_its_file(rows: pa.Table) -> None:
    import pickle

    from gramian.estimators.spine.outputs import RowMethod

    model = gm.PCA(n_components=2).fit(rows)
    sent = pickle.dumps(RowMethod(model, "transform"))
    assert b"gramian.estimators.pca" not in sent
    again = pickle.loads(sent)
    np.testing.assert_array_equal(again(rows), model.transform(rows))
    assert pickle.loads(sent)._model is again._model
