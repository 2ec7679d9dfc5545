import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def table(rng):
    X = rng.standard_normal((400, 10))
    return X, X[:, 6] - 0.7 * X[:, 2] + 0.2 * X[:, 8] + rng.standard_normal(400)


@pytest.mark.parametrize("selector", [gm.ForwardSelector("cv"), gm.RecursiveEliminator("cv")])
def test_cross_validation_finds_about_what_matters(selector, table):
    X, y = table
    model = selector.fit(X, y)
    assert {2, 6} <= set(model.get_support(indices=True))
    scores = model.n_selected_cv_
    assert model.get_support().sum() == int(np.argmax(scores))
    fewer = type(selector)("cv", rule="1se").fit(X, y)
    assert fewer.get_support().sum() <= model.get_support().sum()
    assert np.isfinite([v for v in model.path_["cv_score"].to_pylist() if v is not None]).all()


def test_moments_without_folds_name_collect(table):
    X, y = table
    m = gm.collect(np.column_stack([X, y]))
    for selector in (gm.ForwardSelector("cv"), gm.RecursiveEliminator("cv"), gm.LassoSelector()):
        with pytest.raises(DataError, match=r"needs moments with folds: collect\(folds=5\)"):
            selector.fit(m, "x10")
    folded = gm.collect(np.column_stack([X, y]), folds=5)
    assert {2, 6} <= set(gm.ForwardSelector("cv").fit(folded, "x10").get_support(indices=True))


def test_elimination_ranks_like_rfe(table):
    X, y = table
    model = gm.RecursiveEliminator(3).fit(X, y)
    assert sorted(model.ranking_) == [1, 1, 1, 2, 3, 4, 5, 6, 7, 8]
    assert model.path_["column"].to_pylist()[0] == f"x{int(np.argmax(model.ranking_))}"


def test_several_targets_share_the_columns(table, rng):
    X, y = table
    Y = np.column_stack([y, X[:, 0] + rng.standard_normal(400)])
    assert set(gm.ForwardSelector(3).fit(X, Y).get_support(indices=True)) == {0, 2, 6}
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=[*[f"v{k}" for k in range(10)], "a", "b"])
    named = gm.ForwardSelector(3).fit(frame, ("a", "b"))
    assert set(named.get_feature_names_out()) == {"v0", "v2", "v6"}


def test_a_near_identifier_stays_out_unless_named(table, rng):
    X, y = table
    frame = pd.DataFrame(X).rename(columns=lambda k: f"v{k}").assign(id=[f"i{k // 2}" for k in range(400)])
    for selector in (gm.ForwardSelector(), gm.ForwardSelector("cv"), gm.RecursiveEliminator(), gm.LassoSelector()):
        assert "id" not in selector.fit(frame, y).get_feature_names_out()
    assert "id" in gm.ForwardSelector(3, include="id").fit(frame, y).get_feature_names_out()
    # Asked for all of them, it is the last.
    assert gm.ForwardSelector(11).fit(frame, y).get_support().all()
    assert gm.RecursiveEliminator(11).fit(frame, y).get_support().all()


def test_identifiers_alone_are_refused(rng):
    frame = pd.DataFrame({"a": [f"i{k}" for k in range(40)], "b": [f"j{k // 2}" for k in range(40)]})
    for selector in (gm.ForwardSelector(1), gm.RecursiveEliminator(1), gm.LassoSelector(k=1)):
        with pytest.raises(DataError, match=r"every column has at least half as many levels as there are rows \(40\)"):
            selector.fit(frame[["a"]], rng.standard_normal(40))


def test_two_stops_are_refused(table):
    X, y = table
    with pytest.raises(DataError, match="k='cv' and alpha each say where to stop"):
        gm.ForwardSelector("cv", alpha=0.1).fit(X, y)
    with pytest.raises(DataError, match="rule is 'best' or '1se'"):
        gm.ForwardSelector(rule="2se").fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_matter_only_together_are_found(seed):
    # Each alone is hardly related to the target, so the first step has no positive score.
    rng = np.random.default_rng(seed)
    u = rng.normal(size=200)
    a = u + 0.05 * rng.normal(size=200)
    X = np.c_[a, u, rng.normal(size=(200, 3))]
    y = (a - u) * 20 + 0.1 * rng.normal(size=200)
    model = gm.ForwardSelector("cv").fit(X, y)
    assert {0, 1} <= set(model.get_support(indices=True))
    assert len(model.n_selected_cv_) == 6
    assert model.n_selected_cv_.max() > 0.95


def test_models_are_compared_up_to_half_as_many_directions_as_rows(rng):
    X = rng.standard_normal((40, 60))
    scores = gm.ForwardSelector("cv").fit(X, rng.standard_normal(40)).n_selected_cv_
    assert 20 <= len(scores) - 1 <= 39
    assert np.isfinite(scores).all()


def test_a_category_of_half_as_many_levels_as_rows_is_set_aside(rng):
    n = 42
    effect = rng.standard_normal(21)
    half = np.arange(n) % 21
    frame = pd.DataFrame({"half": [f"h{k}" for k in half], "x": rng.standard_normal(n)})
    y = effect[half] + 0.5 * frame["x"]
    for selector in (
        gm.ForwardSelector(),
        gm.ForwardSelector("cv"),
        gm.ForwardSelector(1),
        gm.RecursiveEliminator(1),
        gm.LassoSelector(),
        gm.LassoSelector(k=1),
    ):
        assert "half" not in selector.fit(frame, y).get_feature_names_out()


def test_the_ranking_of_forward_steps_begins_at_one_and_ends_with_the_worst(rng):
    X = rng.standard_normal((400, 6))
    y = 3 * X[:, 4] - 2 * X[:, 1] + 0.3 * X[:, 2] + rng.standard_normal(400)
    # From the definition: the order in which least squares would take all of them in.
    inside, left = [], list(range(6))
    while left:
        errors = [np.linalg.lstsq(np.column_stack([np.ones(400), X[:, [*inside, j]]]), y)[1][0] for j in left]
        inside.append(left.pop(int(np.argmin(errors))))
    everything = gm.ForwardSelector(6).fit(X, y)
    assert [everything.ranking_[j] for j in inside] == [1, 2, 3, 4, 5, 6]
    model = gm.ForwardSelector(2).fit(X, y)
    assert sorted(model.ranking_) == [1, 2, 3, 4, 5, 6]
    assert [model.ranking_[j] for j in inside[:3]] == [1, 2, 3]
    assert model.ranking_[~model.get_support()].min() > model.ranking_[model.get_support()].max()
    left_out = np.flatnonzero(~model.get_support())
    np.testing.assert_array_equal(np.argsort(model.ranking_[left_out]), np.argsort(-model.scores_[left_out]))


def test_near_identifiers_rank_last(rng):
    frame = pd.DataFrame(
        {"id": [f"k{i}" for i in range(120)], "x": rng.standard_normal(120), "z": rng.standard_normal(120)}
    )
    y = frame["x"] + 0.1 * rng.standard_normal(120)
    assert gm.ForwardSelector(1).fit(frame, y).ranking_.tolist() == [3, 1, 2]
    assert gm.ForwardSelector(3).fit(frame, y).get_support().all()
