import logging

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.hidden_readout import HiddenReadout


def test_outputs_are_solved_for_when_they_are_asked_for(rng):
    X = rng.standard_normal((50, 2))
    model = gm.ELMRegressor(5).partial_fit(X, X[:, 0])
    assert isinstance(model, HiddenReadout)
    assert "coef_" not in vars(model)
    first = model.coef_
    assert "coef_" in vars(model)
    model.partial_fit(X[:10], X[:10, 1])
    assert "coef_" not in vars(model)
    assert not np.allclose(model.coef_, first)


def test_a_failed_fit_leaves_nothing_and_a_failed_batch_what_was_there(rng):
    X = rng.standard_normal((50, 2))
    model = gm.ELMClassifier(5).fit(X, X[:, 0] > 0)
    before = model.predict_proba(X)
    with pytest.raises(DataError):
        model.partial_fit([[np.inf, 1.0]], [True])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(DataError):
        model.fit(X, np.ones(50, dtype=int))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_target_is_needed(rng):
    with pytest.raises(DataError, match="needs a target"):
        gm.ELMRegressor(5).fit(rng.standard_normal((5, 2)))


def test_cv_needs_rows_outside_each_fold_and_auto_does_not(rng):
    X = rng.standard_normal((3, 2))
    with pytest.raises(DataError, match="takes 2 at least"):
        gm.ELMRegressor(5, ridge="cv").fit(X[:2], [0.0, 1.0])
    assert gm.ELMRegressor(5).fit(X, [0.0, 1.0, 2.0]).ridge_ > 0
    chosen = gm.ELMRegressor(5, ridge="cv").fit(rng.standard_normal((40, 2)), rng.standard_normal(40))
    assert set(chosen.selection_) == {"ridge", "r2", "r2_se"}


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_a_fit_to_an_identifier_is_refused_and_a_stream_may_begin_so(rng):
    X, names = rng.standard_normal((30, 2)), [f"i{k}" for k in range(30)]
    with pytest.raises(DataError, match="has 30 classes in 30 rows, 30 of them of one row"):
        gm.ELMClassifier(5).fit(X, names)
    model = gm.ELMClassifier(5).partial_fit(X, names)
    assert model.predict(X[:1])[0] in names
    model.partial_fit(X, names)
    assert len(model.classes_) == 30


@pytest.mark.parametrize("far", [20.0, 60.0, 300.0])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_saturated_units_have_no_weight_so_a_row_alone_has_its_output_in_a_batch(rng, caplog, activation, far):
    X = rng.standard_normal((60, 3)) + far
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    with caplog.at_level(logging.INFO, logger="gramian"):
        model = gm.ELMRegressor(200, activation=activation, random_state=0).fit(X, y)
        together = model.predict(X)
    alone = [model.predict(row[None])[0] for row in X]
    np.testing.assert_allclose(alone, together, atol=1e-7 * y.std(), rtol=0)
    units = model.hidden_layer(X)
    flat = units.std(axis=0) < 1e-8 * np.sqrt((units**2).mean(axis=0))
    assert 0 < flat.sum() < 200
    assert not model.coef_[flat].any()
    assert "of 200 hidden units are saturated" in caplog.text


def test_where_all_units_are_saturated_outputs_are_means(rng):
    X, y = rng.standard_normal((90, 2)) + 1e6, rng.standard_normal(90) + 5
    np.testing.assert_allclose(gm.ELMRegressor(20, random_state=0).fit(X, y).predict(X), y.mean())
    classes = np.repeat(["a", "b", "c"], [60, 20, 10])
    model = gm.ELMClassifier(20, random_state=0).fit(X, classes)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[60 / 90, 20 / 90, 10 / 90]])
    linked = gm.ELMRegressor(20, direct_links=True, ridge=0.0, random_state=0).fit(X, X[:, 1])
    np.testing.assert_allclose(linked.predict(X), X[:, 1])
