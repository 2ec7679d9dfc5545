"""Fixed maps do not depend on how rows arrive: machines add up, subtract and stream like the moments behind them."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError

# Predictions are reproducible to 1e-8 standard deviations of the target at every ridge that is tried (see random/readout).
CLOSE = 1e-8


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def rows(rng):
    n = 900
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "blue", "green", "rare"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "far": 1e6 + rng.standard_normal(n),
            "size": rng.standard_t(2, n),
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
        }
    )
    frame["far"] -= 1e6
    y = np.where(frame["color"] == "red", 1.0, 0.0) + np.tanh(frame["size"]) + 0.1 * rng.standard_normal(n)
    return frame, y.to_numpy()


MACHINES = {
    "auto": {"n_hidden": 60},
    "cv": {"n_hidden": 60, "ridge": "cv"},
    "direct": {"n_hidden": 40, "direct_links": True},
    "layers": {"n_hidden": (30, 20), "activation": "relu"},
    "wide": {"n_hidden": 520, "ridge": 1.0},
}


@pytest.mark.parametrize("parameters", MACHINES.values(), ids=MACHINES)
def test_chunks_sums_and_differences_equal_the_whole(rows, parameters):
    frame, y = rows
    first = 10 if parameters.get("ridge") == "cv" else 1
    parts = [slice(0, first), slice(first, 350), slice(350, None)]

    def fitted(at):
        return gm.ELMRegressor(**parameters).fit(frame[at], y[at])

    whole, streamed = fitted(slice(None)), gm.ELMRegressor(**parameters)
    for at in parts:
        streamed.partial_fit(frame[at], y[at])
    a, b, c = map(fitted, parts)
    summed, back = a + b + c, (a + b + c) - c
    spread = y.std()
    if parameters.get("ridge") != "cv":  # Folds go by position in each chunk.
        np.testing.assert_allclose(streamed.predict(frame), whole.predict(frame), atol=CLOSE * spread)
        np.testing.assert_allclose(summed.predict(frame), whole.predict(frame), atol=CLOSE * spread)
        front = slice(0, 350)
        np.testing.assert_allclose(back.predict(frame), fitted(front).predict(frame), atol=CLOSE * spread)
    np.testing.assert_allclose(summed.predict(frame), streamed.predict(frame), atol=CLOSE * spread)
    np.testing.assert_allclose(back.predict(frame), (a + b).predict(frame), atol=CLOSE * spread)
    assert summed.ridge_ == streamed.ridge_
    assert sorted(summed.design_names_) == sorted(whole.design_names_)


def test_a_difference_forgets_levels_that_only_the_part_had(rows):
    frame, y = rows
    odd = frame.head(20).assign(color="violet")
    a, b = gm.ELMRegressor(20).fit(frame, y), gm.ELMRegressor(20).fit(odd, y[:20])
    back = (a + b) - b
    assert back.design_names_ == a.design_names_
    np.testing.assert_allclose(back.predict(odd), a.predict(odd), atol=CLOSE * y.std())
    assert back.black_swans(odd)[:, 0].all()


def test_classes_that_one_side_never_saw(rows):
    frame, y = rows
    labels = np.array(["low", "high"])[(y > 1).astype(int)]
    labels[:5] = "odd"
    whole = gm.ELMClassifier(30).fit(frame, labels)
    a, b = gm.ELMClassifier(30).fit(frame[:300], labels[:300]), gm.ELMClassifier(30).fit(frame[300:], labels[300:])
    assert b.classes_.tolist() == ["high", "low"]
    both = a + b
    assert both.classes_.tolist() == ["high", "low", "odd"]
    np.testing.assert_allclose(both.predict_proba(frame), whole.predict_proba(frame), atol=CLOSE)
    np.testing.assert_allclose((both - a).predict_proba(frame), b.predict_proba(frame), atol=CLOSE)


def test_machines_that_map_differently_do_not_add(rows):
    frame, y = rows
    a = gm.ELMRegressor(20).fit(frame, y)
    for other in ({"random_state": 1}, {"n_hidden": 21}, {"activation": "relu"}, {"scale": 2.0}):
        with pytest.raises(DataError, match="different hidden weights"):
            a + gm.ELMRegressor(**{"n_hidden": 20, **other}).fit(frame, y)
    with pytest.raises(DataError, match="direct_links"):
        a + gm.ELMRegressor(20, direct_links=True).fit(frame, y)
    with pytest.raises(DataError, match="different columns"):
        a - gm.ELMRegressor(20).fit(frame[["color", "far"]], y)
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(DataError, match="no rows"):
        a - a


def test_the_order_of_rows_and_of_levels_does_not_matter(rows, rng):
    frame, y = rows
    order = rng.permutation(len(frame))
    a, b = gm.ELMRegressor(40).fit(frame, y), gm.ELMRegressor(40).fit(frame.iloc[order], y[order])
    np.testing.assert_allclose(a.predict(frame), b.predict(frame), atol=CLOSE * y.std())
    one, other = gm.RandomFeatures(5).fit(frame), gm.RandomFeatures(5).fit(frame.iloc[order])
    np.testing.assert_allclose(one.transform(frame), other.transform(frame), atol=1e-12)
