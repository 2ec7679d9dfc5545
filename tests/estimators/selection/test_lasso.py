import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def table(rng):
    X = rng.standard_normal((300, 12)) * rng.uniform(0.5, 2, 12)
    return X, X[:, 1] - 2 * X[:, 5] + 0.5 * X[:, 7] + rng.standard_normal(300)


def test_a_given_penalty_keeps_what_lasso_keeps(table):
    X, y = table
    peer = Lasso(0.3, tol=1e-10).fit(X, y)
    model = gm.LassoSelector(0.3, scale=False).fit(X, y)
    np.testing.assert_array_equal(model.get_support(), peer.coef_ != 0)
    np.testing.assert_allclose(model.coef_[0], peer.coef_, atol=1e-5)
    assert model.alpha_ == 0.3


def test_the_first_to_enter_are_kept_for_k(table):
    X, y = table
    model = gm.LassoSelector(k=3).fit(X, y)
    assert model.get_support(indices=True).tolist() == [1, 5, 7]
    assert np.isnan(model.alpha_)
    assert gm.LassoSelector(k=12).fit(X, y).get_support().all()
    first = int(np.argmax(model.scores_))
    assert gm.LassoSelector(k=2, include=0).fit(X, y).get_support(indices=True).tolist() == [0, first]


def test_one_standard_error_keeps_fewer(table):
    X, y = table
    best, fewer = gm.LassoSelector().fit(X, y), gm.LassoSelector(rule="1se").fit(X, y)
    assert fewer.alpha_ > best.alpha_
    assert fewer.get_support().sum() <= best.get_support().sum()
    assert best.mse_path_.argmin() == list(best.alphas_).index(best.alpha_)
    assert {"alpha", "column", "size", "cv_score", "cv_error"} == set(best.path_.column_names)


def test_a_category_enters_as_one(frame):
    X = frame.drop(columns=["bought", "when"])
    model = gm.LassoSelector(k=1).fit(X, frame["bought"])
    assert model.get_feature_names_out().tolist() == ["color"]
    given = gm.LassoSelector(0.3).fit(X, frame["bought"])
    spans = {name: [k for k, d in enumerate(given.design_names_) if d.split("_")[0] == name] for name in X}
    for name, kept in zip(X, given.get_support(), strict=True):
        size = np.abs(given.coef_[:, spans[name]]).sum(axis=0)
        assert (size > 0).all() if kept else (size == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha is 'cv' or a number above 0; got -1"),
        ({"l1_ratio": 0}, "l1_ratio is a number above 0 and at most 1; got 0"),
        ({"n_alphas": 0}, "n_alphas is a whole number from 1 to 1000000; got 0"),
        ({"eps": 1.0}, "eps is a number between 0 and 1; got 1.0"),
    ],
)
def test_parameters_are_checked(table, options, message):
    X, y = table
    with pytest.raises(DataError, match=message):
        gm.LassoSelector(**options).fit(X, y)


def test_weights_are_repeated_rows(table, rng):
    X, y = table
    times = rng.integers(1, 4, len(X))
    weighted = gm.LassoSelector(0.2).fit(X, y, sample_weight=times)
    repeated = gm.LassoSelector(0.2).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    assert isinstance(weighted.path_["column"].to_pylist()[0], str)
    assert pd.Series(weighted.scores_).notna().all()


def test_weights_too_small_for_sums_are_refused(table):
    X, y = table
    for target in (y, y > 0):
        with pytest.raises(DataError, match=r"sample weights add up to 1\.48e-321.*multiply the weights by a constant"):
            gm.LassoSelector().fit(X, target, sample_weight=np.full(300, 5e-324))
    # Weights are relative: a small unit is no matter, nor are rows that hardly count beside others.
    model = gm.LassoSelector(k=3).fit(X, y, sample_weight=np.full(300, 1e-305))
    assert model.get_support(indices=True).tolist() == [1, 5, 7]
    few = np.where(np.arange(300) < 200, 1.0, 5e-324)
    np.testing.assert_allclose(
        gm.LassoSelector(k=3).fit(X, y, sample_weight=few).scores_,
        gm.LassoSelector(k=3).fit(X[:200], y[:200]).scores_,
    )
