import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, EchoStateWarning


@pytest.fixture
def sequences(rng):
    return [np.cumsum(rng.standard_normal((t, 2)), axis=0) / 10 for t in (40, 1, 25, 33)]


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_features_do_not_depend_on_order_batch_or_container(sequences, pool):
    model = gm.EchoStateFeatures(20, pool=pool).fit(sequences)
    whole = model.transform(sequences)
    assert whole.shape == (4, 20)
    np.testing.assert_array_equal(model.transform(sequences[::-1]), whole[::-1])
    for k, part in enumerate(sequences):
        np.testing.assert_array_equal(model.transform([part]), whole[k : k + 1])
    same = [part[:25] for k, part in enumerate(sequences) if k != 1]
    np.testing.assert_array_equal(model.transform(np.stack(same)), model.transform(same))


def test_rows_are_sequences_of_one_channel(rng, tmp_path):
    X = rng.standard_normal((5, 30))
    frame = pd.DataFrame(X, columns=[f"t{k}" for k in range(30)])
    expected = gm.EchoStateFeatures(10).fit(X).transform(X)
    listed = gm.EchoStateFeatures(10).fit([row[:, None] for row in X])
    np.testing.assert_array_equal(listed.transform([row[:, None] for row in X]), expected)
    for rows in (frame, pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(gm.EchoStateFeatures(10).fit(rows).transform(rows), expected)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    model = gm.EchoStateFeatures(10).fit(str(tmp_path / "rows.parquet"))
    gm.transform_file(model, str(tmp_path / "rows.parquet"), tmp_path / "out.parquet")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out.parquet").to_numpy(), expected)


def test_every_step_or_a_model_per_sequence(sequences):
    long = [part for part in sequences if len(part) > 3]
    steps = gm.EchoStateFeatures(20, pool=None, washout=2).fit_transform(long)
    assert [part.shape for part in steps] == [(38, 20), (23, 20), (31, 20)]
    assert gm.EchoStateFeatures(20, pool=None).fit_transform(np.zeros((3, 7, 2))).shape == (3, 7, 20)
    model = gm.EchoStateFeatures(20, pool="model").fit(long)
    assert model.transform(long).shape == (3, 42)
    assert len(model.get_feature_names_out()) == 42
    with pytest.raises(DataError, match="sequence 1 has 1 steps"):
        model.transform(sequences)


def test_a_radius_of_one_or_more_warns(rng):
    with pytest.warns(EchoStateWarning, match=r"spectral_radius=1\.2 is 1 or more"):
        gm.EchoStateFeatures(5, spectral_radius=1.2).fit(rng.standard_normal((2, 9)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.EchoStateFeatures(5, spectral_radius=0.99).fit(rng.standard_normal((2, 9)))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"n_reservoir": 0}, "n_reservoir is a whole number from 1"),
        ({"spectral_radius": -0.1}, "spectral_radius is a number from 0"),
        ({"leak": 0.0}, "leak is a number above 0 and at most 1"),
        ({"leak": 1.5}, "leak is a number above 0 and at most 1"),
        ({"input_scaling": np.nan}, "input_scaling is a number above 0"),
        ({"washout": 1.5}, "washout is a whole number from 0"),
        ({"pool": "max"}, "pool is 'last', 'mean', 'model' or None"),
        ({"activation": "sin"}, "activation is 'tanh', 'relu' or None"),
        ({"connectivity": 0}, "connectivity is a whole number from 1"),
        ({"washout": 40}, "washout=40 leaves 0"),
    ],
)
def test_bad_parameters_are_named(sequences, parameters, said):
    with pytest.raises(DataError, match=said):
        gm.EchoStateFeatures(**parameters).fit(sequences)


def test_other_sequences_than_those_of_fit_are_named(sequences, rng):
    model = gm.EchoStateFeatures(5).fit(sequences)
    with pytest.raises(DataError, match="sequence 0 has 1 channels, and 2 are expected"):
        model.transform([np.ones((4, 1))])
    with pytest.raises(DataError, match="rows of a table"):
        model.transform(rng.standard_normal((3, 4)))
    with pytest.raises(DataError, match="Moments have none"):
        gm.EchoStateFeatures(5).fit(gm.collect(rng.standard_normal((3, 4))))


def test_an_exploding_reservoir_says_so():
    model = gm.EchoStateFeatures(20, activation=None, spectral_radius=0.9).fit(np.ones((2, 10)))
    model._values = model._values * 10
    with pytest.raises(DataError, match="exploded"):
        model.transform([np.ones((900, 1))])


def test_a_model_file_answers_to_the_bit(sequences, tmp_path):
    model = gm.EchoStateFeatures(12).fit(sequences)
    gm.save(model, tmp_path / "e.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "e.model").transform(sequences), model.transform(sequences))
    wave = np.sin(np.arange(200) / 4)
    regressor = gm.EchoStateRegressor(12).fit(wave)
    gm.save(regressor, tmp_path / "r.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "r.model").forecast(9), regressor.forecast(9))


# The regressor


@pytest.mark.parametrize("estimator", [gm.EchoStateFeatures, gm.EchoStateRegressor, gm.LiquidStateFeatures])
@pytest.mark.parametrize("nothing", [[], ()])
def test_no_sequences_are_named(estimator, nothing):
    with pytest.raises(DataError, match=r"^0 sample\(s\) while a minimum of 1 is required: there are no sequences$"):
        estimator(10).fit(nothing)
