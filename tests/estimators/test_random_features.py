import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def frame(rng):
    n = 120
    return pd.DataFrame(
        {"color": rng.choice(["red", "blue", None], n), "size": rng.standard_normal(n), "year": rng.integers(0, 5, n)}
    )


def test_every_container_gives_the_same(frame, tmp_path):
    expected = gm.RandomFeatures(9).fit_transform(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    for X in (pl.from_pandas(frame), table, table.to_batches(max_chunksize=50), frame.to_numpy(dtype=object)):
        np.testing.assert_allclose(gm.RandomFeatures(9).fit_transform(X), expected, atol=1e-12)
    model = gm.RandomFeatures(9).fit(str(tmp_path / "rows.parquet"))
    np.testing.assert_allclose(model.transform(frame), expected, atol=1e-12)
    gm.transform_file(model, str(tmp_path / "rows.parquet"), tmp_path / "out.parquet")
    written = pd.read_parquet(tmp_path / "out.parquet")
    assert written.columns[0] == "randomfeatures0"
    np.testing.assert_allclose(written.to_numpy(), expected, atol=1e-12)


def test_sparse_rows_and_dense_rows_agree(rng):
    X = sp.csr_array(rng.random((40, 30)) * (rng.random((40, 30)) < 0.2))
    model = gm.RandomFeatures(8, activation="tanh").fit(X)
    np.testing.assert_allclose(model.transform(X), model.transform(X.toarray()), atol=1e-12)


def test_columns_are_matched_by_name_and_kept_apart_from_targets(frame):
    model = gm.RandomFeatures(4).set_output(transform="pandas").fit(frame.assign(y=1.0), "y")
    assert model.feature_names_in_.tolist() == ["color", "size", "year"]
    assert model.design_names_ == [f"color_{level}" for level in levels(frame)] + ["size", "year"]
    turned = model.transform(frame[["year", "color", "size"]].assign(extra=0))
    pd.testing.assert_frame_equal(turned, model.transform(frame))
    with pytest.raises(DataError, match="'size'"):
        model.transform(frame[["color", "year"]])


def levels(frame):
    return ["(missing)" if pd.isna(v) else v for v in dict.fromkeys(frame["color"])]


def test_float32_in_float32_out(rng):
    X = rng.standard_normal((30, 5)).astype(np.float32)
    for activation in (None, "tanh", "cos"):
        model = gm.RandomFeatures(6, activation=activation).fit(X)
        found = model.transform(X)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, model.transform(X.astype(np.float64)), atol=1e-5)


def test_a_model_file_answers_to_the_bit(frame, tmp_path, rng):
    for model in (
        gm.RandomFeatures(5, activation="cos").fit(frame),
        gm.RandomFeatures(600, projection="hadamard").fit(rng.standard_normal((10, 600))),
    ):
        gm.save(model, tmp_path / "m.model")
        X = frame if model.n_features_in_ == 3 else rng.standard_normal((4, 600))
        np.testing.assert_array_equal(gm.load(tmp_path / "m.model").transform(X), model.transform(X))


def test_one_row_one_column():
    assert gm.RandomFeatures(3).fit_transform([[2.0]]).shape == (1, 3)
    assert gm.RandomFeatures(3, projection="hadamard").fit_transform([["a"]]).shape == (1, 3)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"n_components": 0}, "n_components is 'auto' or a whole number from 1"),
        ({"n_components": "some"}, "n_components is 'auto' or a whole number from 1"),
        ({"activation": "elu"}, "activation is None, 'tanh'"),
        ({"projection": "dct"}, "projection is 'gaussian', 'uniform', 'sparse' or 'hadamard'"),
        ({"density": 0.0}, "density is 'auto' or a share above 0"),
        ({"density": "low"}, "density is 'auto' or a share above 0"),
        ({"scale": -1.0}, "scale is a number above 0"),
        ({"eps": 2.0}, "eps is a number between 0 and 1"),
        ({"n_components": "auto"}, "needs .* dimensions"),
    ],
)
def test_bad_parameters_are_named(frame, parameters, said):
    with pytest.raises(DataError, match=said):
        gm.RandomFeatures(**parameters).fit(frame)


def test_moments_have_no_rows(frame):
    with pytest.raises(DataError, match="Moments have none"):
        gm.RandomFeatures(3).fit(gm.collect(frame))


def test_an_infinite_number_is_named(frame):
    model = gm.RandomFeatures(3).fit(frame)
    frame.loc[2, "size"] = np.inf
    with pytest.raises(DataError, match="column 'size' holds an infinite value"):
        model.transform(frame)
