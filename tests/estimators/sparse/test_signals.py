"""Rows of numbers in every container give the same codes; what is no number is named."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.sparse.signals import numbers_of
from gramian.tables import open_table

NAMES = ["a", "b", "c"]


@pytest.fixture
def rows(rng):
    return rng.random((30, 3))


def containers(rows):
    frame = pd.DataFrame(rows, columns=NAMES)
    return {
        "array": rows,
        "fortran": np.asfortranarray(rows),
        "list": rows.tolist(),
        "sparse": sp.csr_array(rows),
        "pandas": frame,
        "shuffled": frame[["c", "a", "b"]].assign(extra="text"),
        "polars": pl.DataFrame(frame),
        "arrow": pa.Table.from_pandas(frame),
    }


@pytest.mark.parametrize("kind", ["array", "fortran", "list", "sparse", "pandas", "shuffled", "polars", "arrow"])
def test_codes_do_not_depend_on_the_container(rows, kind):
    expected = gm.NMF(2).fit(rows).transform(rows)
    named = kind in ("pandas", "shuffled", "polars", "arrow")
    model = gm.NMF(2).fit(containers(rows)["pandas"] if named else rows)
    np.testing.assert_allclose(model.transform(containers(rows)[kind]), expected, rtol=1e-9)
    if kind != "shuffled":
        np.testing.assert_allclose(gm.NMF(2).fit(containers(rows)[kind]).dictionary_, model.dictionary_, rtol=1e-9)


def test_integers_booleans_and_float32(rng):
    counts = rng.integers(0, 9, size=(20, 3))
    model = gm.VectorQuantizer(2).fit(counts)
    np.testing.assert_array_equal(
        model.transform(counts), gm.VectorQuantizer(2).fit(counts.astype(float)).transform(counts)
    )
    single = counts.astype(np.float32)
    assert model.transform(single).dtype == np.float32
    assert model.inverse_transform(model.transform(single)).dtype == np.float32
    assert gm.VectorQuantizer(2).fit(counts > 4).n_features_in_ == 3


def test_a_named_column_is_no_feature(rows):
    frame = pd.DataFrame(rows, columns=NAMES).assign(label="x")
    model = gm.VectorQuantizer(2).fit(frame, y="label")
    assert model.feature_names_in_.tolist() == NAMES
    weighed = gm.VectorQuantizer(1).fit(frame, y=("label", "a"), sample_weight="b")
    assert weighed.feature_names_in_.tolist() == ["c"]
    np.testing.assert_allclose(weighed.dictionary_[0], np.average(rows[:, 2], weights=rows[:, 1]))


def test_what_is_no_number_is_named(rows):
    frame = pd.DataFrame(rows, columns=NAMES)
    with pytest.raises(ColumnError, match="column 'color' holds"):
        gm.NMF(2).fit(frame.assign(color="red"))
    frame.loc[3, "b"] = np.nan
    with pytest.raises(DataError, match="column 'b' holds NaN in row 3"):
        gm.VectorQuantizer(2).fit(frame)
    with pytest.raises(DataError, match="infinity"):
        gm.VectorQuantizer(2).fit(np.where(rows > 0.9, np.inf, rows))
    with pytest.raises(ColumnError, match="'colour' is not in"):
        gm.NMF(2).fit(pd.DataFrame(rows, columns=NAMES), y="colour")
    with pytest.raises(ColumnError, match="'c'"):
        gm.NMF(2).fit(pd.DataFrame(rows, columns=NAMES)).transform(pd.DataFrame(rows[:, :2], columns=NAMES[:2]))


def test_moments_have_no_rows(rows):
    with pytest.raises(DataError, match="Moments have none"):
        gm.NMF(2).fit(gm.collect(rows))


def test_weights_that_are_no_weights(rows):
    for weights in (np.ones(3), -np.ones(30), np.zeros(30), np.full(30, np.nan)):
        with pytest.raises(DataError, match="sample_weight"):
            gm.VectorQuantizer(2).fit(rows, sample_weight=weights)


def test_errors_and_counts_are_those_of_the_codes(rows):
    model = gm.DictionaryLearner(4, n_nonzero=2, n_epochs=2).fit(rows)
    codes = model.transform(rows)
    np.testing.assert_allclose(
        model.reconstruction_error(rows), np.linalg.norm(rows - codes @ model.dictionary_, axis=1)
    )
    np.testing.assert_array_equal(model.sparsity(rows), np.count_nonzero(codes, axis=1))
    np.testing.assert_allclose(model.inverse_transform(codes), codes @ model.dictionary_)
    with pytest.raises(DataError, match=r"\(n, 4\)"):
        model.inverse_transform(rows)


def test_files_streams_and_set_output(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=NAMES).assign(id=np.arange(30))
    frame.to_parquet(tmp_path / "rows.parquet")
    model = gm.NMF(2).fit(tmp_path / "rows.parquet", y="id")
    gm.transform_file(model, tmp_path / "rows.parquet", tmp_path / "codes.parquet", keep="id")
    out = pd.read_parquet(tmp_path / "codes.parquet")
    assert out.columns.tolist() == ["id", "nmf0", "nmf1"]
    np.testing.assert_allclose(out[["nmf0", "nmf1"]], model.transform(frame), rtol=1e-9)
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == ["nmf0", "nmf1"]
    with pytest.raises(DataError, match="transform_file"):
        gm.NMF(2).fit_transform(tmp_path / "rows.parquet")


def test_columns_are_those_of_the_table():
    assert numbers_of(open_table(np.ones((2, 2))), ["x0", "x1"], "NMF").origins == ["x0", "x1"]


def test_a_value_whose_square_overflows_is_named(rows):
    rows[4, 1] = 1e200
    for model in (gm.NMF(2), gm.VectorQuantizer(2), gm.DictionaryLearner(2)):
        with pytest.raises(DataError, match="column 'x1' holds a value of size 1e"):
            model.fit(rows)
