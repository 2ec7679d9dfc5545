import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError


def test_variance_above_a_threshold():
    frame = pd.DataFrame({"a": [0.0, 2.0, 0.0, 2.0], "b": ["x", "x", "x", "y"], "c": [1.0] * 4})
    assert gm.VarianceFilter(0.5).fit(frame).get_support().tolist() == [True, False, False]
    assert gm.VarianceFilter(0.5, include="c").fit(frame).get_support().tolist() == [True, False, True]
    with pytest.raises(DataError, match="threshold is a variance from 0; got -1"):
        gm.VarianceFilter(-1).fit(frame)


def test_correlations_by_threshold_level_or_number(rng):
    X = rng.standard_normal((400, 6))
    y = X[:, 2] - 0.5 * X[:, 4] + 0.5 * rng.standard_normal(400)
    assert gm.PearsonFilter(threshold=0.7).fit(X, y).get_support(indices=True).tolist() == [2]
    assert gm.PearsonFilter(alpha=1e-6).fit(X, y).get_support(indices=True).tolist() == [2, 4]
    model = gm.PearsonFilter(2).fit(X, y)
    assert model.get_support(indices=True).tolist() == [2, 4]
    assert model.scores_[2] > 0 > model.scores_[4]


def test_the_measures_of_textbooks_are_there_for_the_asking(frame):
    X = frame.drop(columns="bought").assign(id=[f"i{k}" for k in range(len(frame))])
    plain = gm.PearsonFilter(1, correction=None, categorical_features=["id"]).fit(X, frame["bought"])
    assert plain.get_feature_names_out().tolist() == ["id"]
    assert gm.PearsonFilter(1).fit(X, frame["bought"]).get_feature_names_out().tolist() == ["color"]


def test_information_above_a_threshold(frame):
    X = frame.drop(columns="bought")
    assert gm.MutualInformationFilter(threshold=0.05).fit(X, frame["bought"]).get_feature_names_out() == ["color"]
    with pytest.raises(DataError, match="correction is 'held-out', 'chance', 'miller-madow' or None; got 'bayes'"):
        gm.MutualInformationFilter(correction="bayes").fit(X, frame["bought"])


def test_independence_by_each_control(rng):
    X = rng.standard_normal((500, 30))
    y = X[:, 0] + 0.16 * X[:, 1] + rng.standard_normal(500)
    kept = {c: gm.IndependenceFilter(0.05, control=c).fit(X, y).get_support() for c in ("bonferroni", "fdr", "none")}
    assert all(support[0] for support in kept.values())
    assert kept["bonferroni"].sum() <= kept["fdr"].sum() <= kept["none"].sum()
    model = gm.IndependenceFilter(0.05, control="bonferroni").fit(X, y)
    np.testing.assert_allclose(model.adjusted_p_values_, np.minimum(30 * model.p_values_, 1))
    # Under independence the statistic is its mean on average.
    assert model.scores_[2:].mean() == pytest.approx(1.0, abs=0.6)


def test_p_values_beyond_floats_are_told_apart_by_the_statistic(rng):
    X = rng.standard_normal((3000, 3))
    y = X @ [3.0, 2.0, 1.0] + 1e-3 * rng.standard_normal(3000)
    model = gm.IndependenceFilter(k=1).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert model.get_support(indices=True).tolist() == [0]
