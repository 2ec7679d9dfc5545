import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError


def states_of(model, sequence):
    W, x, out = model.reservoir_.toarray(), np.zeros(model.n_reservoir), []
    for u in sequence:
        x = (1 - model.leak) * x + model.leak * np.tanh(W @ x + model.input_weights_ @ u + model.bias_)
        out.append(x)
    return np.array(out)


@pytest.mark.parametrize("direct", [True, False])
def test_the_readout_is_a_ridge_regression_on_the_states(rng, direct):
    from sklearn.linear_model import Ridge

    u = rng.standard_normal((300, 2))
    target = np.column_stack([np.roll(u[:, 0], 1), u[:, 1] ** 2])
    model = gm.EchoStateRegressor(15, leak=0.6, washout=20, ridge=0.5, direct_links=direct).fit(u, target)
    X = states_of(model, u)
    X = np.hstack([X, u]) if direct else X
    centre, spread = X[20:].mean(axis=0), X[20:].std(axis=0)
    peer = Ridge(alpha=0.5).fit((X[20:] - centre) / spread, target[20:])
    np.testing.assert_allclose(model.predict(u), peer.predict((X - centre) / spread), atol=1e-8)
    assert model.coef_.shape == (2, X.shape[1])


def test_a_forecast_is_its_own_input(rng):
    wave = np.sin(np.arange(300) / 5)
    model = gm.EchoStateRegressor(40, washout=30).fit(wave[:250])
    ahead = model.forecast(6)
    history = wave[:250]
    for k in range(6):
        step = model.predict(history)[-1]
        np.testing.assert_allclose(step, ahead[k], atol=1e-8)
        history = np.append(history, step)
    np.testing.assert_allclose(ahead, wave[250:256], atol=1e-3)
    np.testing.assert_allclose(model.forecast(6, after=wave[:250]), ahead, atol=1e-12)
    both = np.column_stack([wave, np.cos(np.arange(300) / 5)])
    assert gm.EchoStateRegressor(40).fit(both).forecast(3).shape == (3, 2)


def test_a_long_sequence_is_read_in_chunks(rng, monkeypatch):
    from gramian.random.reservoirs import echo_state

    u = rng.standard_normal(500)
    whole = gm.EchoStateRegressor(10, washout=15, ridge=1.0).fit(u, np.roll(u, 2))
    monkeypatch.setattr(echo_state, "CHUNK_STEPS", 13)
    parts = gm.EchoStateRegressor(10, washout=15, ridge=1.0).fit(u, np.roll(u, 2))
    np.testing.assert_allclose(parts.predict(u), whole.predict(u), atol=1e-9)


def test_several_sequences_and_named_targets(rng, tmp_path):
    parts = [rng.standard_normal((t, 1)) for t in (60, 40)]
    targets = [np.roll(part[:, 0], 1) for part in parts]
    model = gm.EchoStateRegressor(10, washout=5).fit(parts, targets)
    assert [p.shape for p in model.predict(parts)] == [(60,), (40,)]
    frame = pd.DataFrame({"u": parts[0][:, 0], "y": targets[0]})
    alone = gm.EchoStateRegressor(10, washout=5).fit(parts[0], targets[0])
    frame.to_parquet(tmp_path / "s.parquet")
    for source in (frame, pa.Table.from_pandas(frame), str(tmp_path / "s.parquet")):
        named = gm.EchoStateRegressor(10, washout=5).fit(source, "y")
        np.testing.assert_allclose(named.predict(frame[["u"]]), alone.predict(parts[0]), atol=1e-9)


def test_what_the_regressor_cannot_do_is_named(rng):
    u = rng.standard_normal(50)
    model = gm.EchoStateRegressor(5).fit(u, u)
    with pytest.raises(DataError, match="fit without a target"):
        model.forecast(3)
    with pytest.raises(DataError, match="50 steps and its target 49"):
        gm.EchoStateRegressor(5).fit(u, u[1:])
    with pytest.raises(DataError, match="2 sequences and 1 targets"):
        gm.EchoStateRegressor(5).fit([u, u[:9]], [u])
    with pytest.raises(DataError, match="has 1 steps, and washout=0 leaves 1 of them; 2 are needed"):
        gm.EchoStateRegressor(5).fit(u[:1])
    with pytest.raises(DataError, match="n_steps is a whole number from 1"):
        gm.EchoStateRegressor(5).fit(u).forecast(0)
    with pytest.raises(DataError, match="ridge is 'auto'"):
        gm.EchoStateRegressor(5, ridge="best").fit(u)
    with pytest.raises(DataError, match="contains NaN or infinity at step 3"):
        gm.EchoStateRegressor(5).fit(np.where(np.arange(50) == 3, np.nan, u))


def test_a_file_is_one_sequence_however_it_is_read(rng, tmp_path):
    wave = pd.DataFrame({"u": np.sin(np.arange(400) / 5)})
    table = pa.Table.from_pandas(wave).to_batches(max_chunksize=37)
    model = gm.EchoStateRegressor(15).fit(wave)
    gm.transform_file(model, table, tmp_path / "out.parquet", method="predict")
    written = pd.read_parquet(tmp_path / "out.parquet").to_numpy()
    np.testing.assert_allclose(written.ravel(), model.predict(wave).ravel(), atol=1e-12)


def test_a_list_of_flat_sequences_is_sequences_of_one_channel():
    wave = np.sin(np.arange(100) / 5)
    one = gm.EchoStateRegressor(9).fit(wave)
    for model in (gm.EchoStateRegressor(9).fit([wave]), gm.EchoStateRegressor(9).fit([wave], [wave])):
        assert model.input_weights_.shape == (9, 1)
        assert model.coef_.ndim == 1
    np.testing.assert_allclose(gm.EchoStateRegressor(9).fit([wave]).predict(wave), one.predict(wave), atol=1e-12)
    for parts, targets in (([wave, wave],) * 2, ((wave, wave), None), ([wave, wave[:60]], None)):
        model = gm.EchoStateRegressor(9).fit(parts, targets)
        assert model.input_weights_.shape == (9, 1)
        assert [found.shape for found in model.predict(parts)] == [part.shape for part in parts]
        assert [found.shape for found in model.predict([np.ones(5)])] == [(5,)]
        np.testing.assert_array_equal(model.predict([np.ones(5)])[0], model.predict(np.ones(5)))
    # Numbers in nested lists are one table, as everywhere: rows are steps.
    assert gm.EchoStateRegressor(9).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 1.0]]).n_features_in_ == 2
