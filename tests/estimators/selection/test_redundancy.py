import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def table(rng):
    x = rng.standard_normal((300, 3))
    frame = pd.DataFrame({"weak": x[:, 0] + x[:, 1], "strong": x[:, 0] + 0.9 * x[:, 1], "other": x[:, 2]})
    return frame, (x[:, 0] + 0.5 * x[:, 1]).ravel() + 0.01 * rng.standard_normal(300)


def test_of_two_alike_the_one_that_goes_with_the_target_stays(table):
    X, y = table
    assert gm.RedundancyFilter().fit(X).get_feature_names_out().tolist() == ["weak", "other"]
    model = gm.RedundancyFilter().fit(X, y)
    assert model.get_feature_names_out().tolist() == ["strong", "other"]
    assert model.explained_by_[0] == "strong"
    assert model.path_["column"].tolist()[0] == "strong"


def test_included_columns_are_looked_at_first(table):
    X, y = table
    assert gm.RedundancyFilter(include="weak").fit(X, y).get_feature_names_out().tolist() == ["weak", "other"]


def test_measures_have_names(table):
    X, y = table
    with pytest.raises(DataError, match="measure is 'correlation', 'canonical' or 'uncertainty'; got 'vif'"):
        gm.RedundancyFilter(measure="vif").fit(X, y)
    with pytest.raises(DataError, match="threshold is a number from 0 to 1; got 2"):
        gm.RedundancyFilter(2).fit(X, y)


def test_mrmr_takes_what_is_new(table):
    X, y = table
    model = gm.MRMRFilter(2).fit(X.assign(noise=np.cos(np.arange(300))), y + X["other"])
    assert set(model.get_feature_names_out()) == {"strong", "other"}
    assert model.ranking_.tolist().count(0) == 2
    assert model.path_["column"].tolist()[0] in ("strong", "other")


def test_mrmr_keeps_half_by_default(table):
    X, y = table
    assert gm.MRMRFilter().fit(X, y).get_support().sum() == 1
    assert gm.MRMRFilter(scheme="quotient").fit(X, y).get_support().sum() == 1
    with pytest.raises(DataError, match="scheme is 'difference' or 'quotient'"):
        gm.MRMRFilter(scheme="ratio").fit(X, y)


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_an_identifier_does_not_enter_before_a_relevant_column(scheme, rng):
    x = rng.standard_normal(200)
    frame = pd.DataFrame({"id": [f"i{k}" for k in range(200)], "a": x, "b": x + 0.05 * rng.standard_normal(200)})
    model = gm.MRMRFilter(2, scheme=scheme).fit(frame, x + 0.2 * rng.standard_normal(200))
    assert model.get_feature_names_out().tolist() == ["a", "b"]


def test_columns_without_relevance_stay_only_where_they_are_asked_for(rng):
    x = rng.standard_normal(300)
    frame = pd.DataFrame(
        {"empty": [None] * 300, "constant": 1.0, "noise": rng.standard_normal(300), "x": x, "z": ["a"] * 300}
    )
    y = x + rng.standard_normal(300)
    assert list(gm.MRMRFilter().fit(frame, y).get_feature_names_out()) == ["x"]
    assert gm.MRMRFilter(3).fit(frame, y).get_support().sum() == 3


@pytest.mark.parametrize("measure", ["correlation", "canonical", "uncertainty"])
def test_the_earlier_of_a_pair_stays_however_rows_are_added_up(measure):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((90, 3))
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "a_too": 2 * X[:, 0] + 1})
        frame["y"] = np.where(X[:, 0] + X[:, 2] > 0, "yes", np.where(X[:, 1] > 1, "no", "maybe"))
        for m in (gm.collect(frame), gm.collect(frame[:40]) + gm.collect(frame[40:])):
            assert list(gm.RedundancyFilter(measure=measure).fit(m, "y").get_feature_names_out()) == ["a", "b"]
            assert list(gm.PearsonFilter(1).fit(m, "y").get_feature_names_out()) != ["a_too"]
            assert list(gm.MutualInformationFilter(1).fit(m, "y").get_feature_names_out()) != ["a_too"]
            ranked = list(gm.rank_columns(m, "y", ["pearson", "independence"])["column"])
            assert ranked.index("a") < ranked.index("a_too")


def test_relevance_and_redundancy_are_corrected_alike(rng):
    # Both from the tables, less twice what permutations of one column show on average.
    n = 400
    a = rng.integers(0, 12, n)
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(n) < 0.4, a, rng.integers(0, 12, n)), "y": a // 4})
    frame = frame.astype(str)
    path = gm.MRMRFilter(2).fit(frame[["a", "b"]], frame["y"]).path_columns_

    def counted(x, y):
        return np.bincount(12 * x + y, minlength=144).reshape(12, 12).astype(float)

    def correlation(one, other):
        x, y = (frame[name].astype(int).to_numpy() for name in (one, other))
        table = counted(x, y)
        shares = table / n
        expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        seen = table > 0
        plain = (shares[seen] * np.log(shares[seen] / expected[seen])).sum()
        drawn = []
        for _ in range(400):
            some = counted(x, rng.permutation(y)) / n
            drawn.append((some[some > 0] * np.log(some[some > 0] / expected[some > 0])).sum())
        return np.sqrt(1 - np.exp(-2 * (plain - 2 * np.mean(drawn))))

    assert path["column"] == ["a", "b"]
    # Means of 400 permutations.
    assert path["relevance"][1] == pytest.approx(correlation("b", "y"), abs=0.01)
    assert path["redundancy"][1] == pytest.approx(correlation("b", "a"), abs=0.01)
