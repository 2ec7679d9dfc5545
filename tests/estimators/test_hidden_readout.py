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
