"""`HebbianPCA`: the exercise, convergence without tuning, drift, and parameters."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.arrays.threads import one_blas_thread
from gramian.errors import DataError, LearningWarning
from gramian.online.schedules import angle_between

POINTS = [[0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]]


def exact(X, k):
    X = X.toarray() if sp.issparse(X) else X
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k]


def test_the_batch_exercise_to_six_digits_after_each_epoch():
    model = gm.HebbianPCA(mode="batch", learning_rate=0.01, n_epochs=2, init=[[-1, 0]]).fit(POINTS)
    np.testing.assert_allclose(model.mean_, [5.0, 5.0])
    expected = [[[-1, 0]], [[-1.0, -0.34]], [[-0.854344, -0.495973]]]
    np.testing.assert_allclose(model.history_["weights"], expected, atol=5e-7)
    np.testing.assert_allclose(model.weights_, expected[-1], atol=5e-7)
    np.testing.assert_allclose(model.history_["norms"], np.linalg.norm(expected, axis=2), atol=5e-7)
    limit = np.array([[-0.830888, -0.55644]])
    for weights, angle in zip(model.history_["weights"], model.history_["angle"], strict=True):
        assert angle == pytest.approx(angle_between(weights, limit), abs=1e-4)
    centred = np.array(POINTS) - 5
    np.testing.assert_allclose(model.transform(POINTS), centred @ model.weights_.T)


def test_the_same_rows_online_are_taken_in_their_order():
    options = {"mode": "online", "learning_rate": 0.01, "n_epochs": 1, "shuffle": False, "init": [[-1, 0]]}
    np.testing.assert_allclose(
        gm.HebbianPCA(**options).fit(POINTS).weights_, [[-0.9699786745738699, -0.2823227549966141]]
    )
    found = gm.HebbianPCA(rule="hebb", **options).fit(POINTS)
    np.testing.assert_allclose(found.weights_, [[-1.681134256, -0.416127328]])


def sparse_table(n=1000, p=1000, k=5):
    """Return counts of words in rows of a few topics: about 5% of the cells are not zero."""
    rng = np.random.default_rng(4)
    words = rng.random((k, p)) * (rng.random((k, p)) < 0.1) * np.linspace(3, 1.5, k)[:, None]
    topics = rng.random((n, k)) * (rng.random((n, k)) < 0.3)
    return sp.csr_array(rng.poisson(0.6 * topics @ words).astype(float))


DATA = {
    "digits": lambda: load_digits().data,
    "wine": lambda: StandardScaler().fit_transform(load_wine().data),
    "sparse": sparse_table,
}


@pytest.fixture(scope="module", params=DATA)
def data(request):
    """A table, and its first ten components."""
    X = DATA[request.param]()
    dense = X.toarray() if sp.issparse(X) else X
    covariance = np.cov(dense.T)
    with one_blas_thread():
        return request.param, X, np.linalg.eigh(covariance)[1][:, ::-1].T[:10]


@pytest.mark.parametrize(
    ("rule", "k"), [("oja", 1), ("sanger", 2), ("subspace", 3), ("ccipca", 5), ("sanger", 10)], ids=str
)
def test_defaults_come_within_a_degree_in_twenty_epochs(data, rule, k):
    name, X, components = data
    if name == "sparse" and k > 5:
        pytest.skip("five topics")
    model = gm.HebbianPCA(k, rule=rule).fit(X)
    assert model.n_epochs_ == 20
    assert angle_between(model.weights_, components[:k]) < 1.0
    np.testing.assert_allclose(model.weights_ @ model.weights_.T, np.eye(k), atol=1e-8)


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_other_modes_need_no_tuning_either(data, mode):
    name, X, components = data
    if name == "sparse" and mode == "online":
        pytest.skip("a thousand columns row by row take seconds")
    assert angle_between(gm.HebbianPCA(2, rule="sanger", mode=mode).fit(X).weights_, components[:2]) < 1.0


def test_ordered_components_have_the_signs_and_variances_of_pca(rng):
    X = rng.normal(size=(3000, 6)) * [5, 4, 3, 2, 1, 0.5]
    found, pca = gm.HebbianPCA(3, rule="sanger").fit(X), gm.PCA(3, ddof=0).fit(X)
    np.testing.assert_allclose(found.weights_, pca.components_, atol=0.01)
    np.testing.assert_allclose(found.explained_variance_, pca.explained_variance_, rtol=0.01)


def turning(n=20_000, p=10, seed=0):
    """Return rows whose first axis turns by 90 degrees from x to y."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, np.pi / 2, n)
    X = rng.normal(size=(n, p))
    first = 5.0 * rng.normal(size=n)
    X[:, 0] += first * np.cos(angle)
    X[:, 1] += first * np.sin(angle)
    return X, np.eye(p)[1:2]


def test_forgetting_follows_what_batch_pca_averages_over():
    X, end = turning()
    model = gm.stream_fit(gm.HebbianPCA(forgetting=0.997), X, batch_rows=500)
    assert angle_between(model.weights_, end) < 5
    assert angle_between(gm.PCA(1).fit(X).components_, end) > 30
    assert angle_between(gm.stream_fit(gm.HebbianPCA(), X, batch_rows=500).weights_, end) > 10


def test_forgetting_moves_the_mean(rng):
    X = np.vstack([rng.normal(size=(3000, 2)), rng.normal(size=(3000, 2)) + 10.0])
    model = gm.HebbianPCA(forgetting=0.99).partial_fit(X)
    np.testing.assert_allclose(model.mean_, [10.0, 10.0], atol=0.5)


def weighted_components(X, weights, k):
    """Return mean, components and variances of rows that count by some weights, from the definition."""
    mean = weights @ X / weights.sum()
    centred = X - mean
    values, vectors = np.linalg.eigh(centred.T @ (weights[:, None] * centred) / weights.sum())
    return mean, vectors[:, ::-1][:, :k].T, values[::-1][:k]


@pytest.mark.parametrize("mode", ["minibatch", "online", "batch"])
@pytest.mark.parametrize("calls", [1, 7, 100, 900])
def test_a_row_weighs_forgetting_to_the_rows_after_it_whatever_the_calls(rng, mode, calls):
    X = rng.normal(size=(900, 4)) * [4, 3, 2, 1] + np.linspace(0, 9, 900)[:, None]
    # Guard units make up for all four columns: what is learnt is the whole covariance.
    model = gm.HebbianPCA(2, rule="sanger", mode=mode, forgetting=0.99)
    for start in range(0, 900, calls):
        model.partial_fit(X[start : start + calls])
    mean, components, variances = weighted_components(X, 0.99 ** np.arange(900)[::-1], 2)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-6)
    assert angle_between(model.weights_, components) < 1e-3


@pytest.mark.parametrize("mode", ["minibatch", "online"])
def test_forgetting_takes_a_weight_for_repeated_rows(rng, mode):
    X, weights = rng.normal(size=(60, 3)) * [3, 2, 1] + 5.0, rng.integers(1, 4, 60)
    first = gm.HebbianPCA(3, rule="sanger", mode=mode, forgetting=0.9)
    other = gm.HebbianPCA(3, rule="sanger", mode=mode, forgetting=0.9)
    first.partial_fit(X, sample_weight=weights)
    other.partial_fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(first.mean_, other.mean_, rtol=1e-9)
    np.testing.assert_allclose(first.explained_variance_, other.explained_variance_, rtol=1e-6)


def test_rows_of_fit_are_remembered_as_long_as_those_of_partial_fit(rng):
    old, new = rng.normal(size=(20_000, 2)), rng.normal(size=(200, 2)) + 10.0
    model = gm.HebbianPCA(forgetting=0.99, n_epochs=1).fit(old)
    np.testing.assert_allclose(model.mean_, old.mean(axis=0), atol=1e-12)
    # Of 100 rows that are remembered, 0.99^200 = 13% are old ones.
    np.testing.assert_allclose(model.partial_fit(new).mean_, [8.7, 8.7], atol=0.3)


def deficient(rng, kind):
    """Return a table whose design has fewer dimensions than columns, and that design as plain numbers."""
    X = rng.normal(size=(1500, 4)) @ rng.normal(size=(4, 4))
    if kind == "constant":
        X = np.column_stack([X, np.full(1500, 7.3)])
    elif kind == "nearly constant":
        X = np.column_stack([X, 1e-5 * rng.normal(size=1500)])
    elif kind == "repeated":
        X = np.column_stack([X, X[:, 0] - X[:, 1], X[:, 2]])
    if kind != "categories":
        return X, X
    a = rng.choice(3, 1500, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(1500) < 0.4, a, rng.choice(4, 1500))
    frame = pd.DataFrame({"a": np.array(list("uvw"))[a], "b": np.array(list("wxyz"))[b], "n": 0.6 * X[:, 0]})
    return frame, None


@pytest.mark.parametrize("kind", ["constant", "nearly constant", "repeated", "categories"])
def test_columns_that_repeat_others_do_not_turn_components_learnt_online(rng, kind):
    table, design = deficient(rng, kind)
    model = gm.HebbianPCA(3, rule="sanger", mode="online").fit(table)
    if design is None:
        dummies = pd.get_dummies(table, columns=["a", "b"])[model.design_names_]
        design = dummies.to_numpy(dtype=float)
    _, components, variances = weighted_components(design, np.ones(len(design)), 3)
    for found, wanted in zip(model.weights_, components, strict=True):
        assert angle_between(found[None], wanted[None]) < 0.25
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-3)
    for same in (design, sp.csr_array(design)):
        other = gm.HebbianPCA(3, rule="sanger", mode="online").fit(same)
        np.testing.assert_allclose(other.weights_, model.weights_, atol=1e-8)


def test_units_beyond_the_rank_are_zero_online(rng):
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 5))
    model = gm.HebbianPCA(4, rule="sanger", mode="online").fit(X)
    np.testing.assert_array_equal(model.weights_[2:], 0.0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(rng, scale):
    X = rng.normal(size=(500, 4)) * [4, 3, 2, 1] + 10.0
    one, other = gm.HebbianPCA(2, rule="sanger").fit(X), gm.HebbianPCA(2, rule="sanger").fit(scale * X)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-8)
    np.testing.assert_allclose(other.explained_variance_, scale**2 * one.explained_variance_, rtol=1e-8)


def test_a_far_offset_costs_nothing_but_its_rounding(rng):
    X = rng.normal(size=(500, 3)) * [3, 2, 1]
    near, far = gm.HebbianPCA(2, rule="sanger").fit(X), gm.HebbianPCA(2, rule="sanger").fit(X + 1e8)
    # Rows at 1e8 are rounded to 1.5e-8.
    np.testing.assert_allclose(far.weights_, near.weights_, atol=1e-6)


def test_all_columns_may_be_components_and_constant_ones_add_nothing(rng):
    X = np.column_stack([rng.normal(size=(300, 3)) * [3, 2, 1], np.full(300, 7.0)])
    model = gm.HebbianPCA(4, rule="sanger").fit(X)
    np.testing.assert_allclose(model.weights_[:3] @ model.weights_[:3].T, np.eye(3), atol=1e-8)
    np.testing.assert_array_equal(model.weights_[3], 0.0)
    np.testing.assert_allclose(model.weights_[:, 3], 0.0, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


def test_hebbs_rule_warns_and_keeps_finite_weights():
    with pytest.warns(LearningWarning, match=r"after [\d,]+ updates a weight passed 1e\+100, and learning stopped"):
        model = gm.HebbianPCA(rule="hebb", mode="online", learning_rate=10.0, n_epochs=50).fit(POINTS)
    assert np.isfinite(model.weights_).all()
    assert model.n_epochs_ < 50
    # It stops within an epoch, some rows after the last whole one.
    assert angle_between(model.weights_, exact(np.array(POINTS, float), 1)) < 15


def test_hebbs_automatic_rate_grows_by_at_most_e_an_epoch(rng):
    X = rng.normal(size=(200, 3)) * [3, 1, 1]
    norms = gm.HebbianPCA(rule="hebb").fit(X).history_["norms"][:, 0]
    growth = norms[1:] / norms[:-1]
    assert (growth <= np.e).all()
    assert growth[-1] > 1.5


def test_divergence_is_reported():
    with pytest.raises(
        DataError, match=r"learning_rate=5\.0 diverges: at update \d+ .*learning_rate=0.0062 or less does not"
    ):
        gm.HebbianPCA(mode="batch", learning_rate=5.0).fit(POINTS)
    gm.HebbianPCA(mode="batch", learning_rate=0.0062).fit(POINTS)


def test_tol_stops_once_variance_no_longer_rises(rng):
    X = rng.normal(size=(300, 3)) * [3, 1, 1]
    model = gm.HebbianPCA(mode="batch", tol=1e-6, n_epochs=50).fit(X)
    assert model.n_epochs_ < 20
    assert angle_between(model.weights_, exact(X, 1)) < 0.1


def test_the_angle_is_known_where_it_is_cheap(rng):
    assert "angle" in gm.HebbianPCA().fit(rng.normal(size=(50, 100))).history_
    wide = gm.HebbianPCA(n_epochs=2).fit(rng.normal(size=(50, 500)))
    assert "angle" not in wide.history_
    assert wide.reference_ is None


def test_one_seed_gives_one_result(rng):
    X = rng.normal(size=(2000, 8))
    one, same, other = (gm.HebbianPCA(n_epochs=1, random_state=seed).fit(X).weights_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_it_works_in_a_pipeline_with_frames():
    frame = load_wine(as_frame=True).data
    pipe = make_pipeline(StandardScaler(), gm.HebbianPCA(2, rule="sanger")).set_output(transform="pandas")
    out = pipe.fit_transform(frame)
    assert list(out.columns) == ["hebbianpca0", "hebbianpca1"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "delta"}, "rule is 'hebb', 'oja', 'sanger', 'subspace' or 'ccipca'; got 'delta'"),
        ({"mode": "epoch"}, "mode is 'minibatch', 'online' or 'batch'; got 'epoch'"),
        ({"n_components": 0}, "n_components is a whole number from 1; got 0"),
        ({"n_components": 2}, "rule='oja' learns one component, and n_components=2; use rule='sanger'"),
        ({"learning_rate": "fast"}, "learning_rate is 'auto' or a number above 0; got 'fast'"),
        ({"learning_rate": -1}, "learning_rate is 'auto' or a number above 0; got -1"),
        ({"rule": "ccipca", "learning_rate": 0.1}, "rule='ccipca' has no learning rate"),
        ({"schedule": "1/t"}, "schedule='1/t' needs a number as learning_rate"),
        (
            {"learning_rate": 0.1, "schedule": "cosine"},
            "schedule is 'constant', '1/t' or 'robbins-monro'; got 'cosine'",
        ),
        ({"forgetting": 1.0}, "forgetting is None or a number between 0 and 1; got 1.0"),
        ({"forgetting": 0.001}, "to lose that much write 0.999"),
        ({"init": [[1, 2, 3]]}, r"init has shape \(1, 3\); it is \(n_components, design columns\) = \(1, 2\)"),
        ({"init": [[1, np.nan]]}, "init holds NaN"),
        ({"tol": -1}, "tol is None or a number from 0"),
        ({"n_epochs": 0}, "n_epochs is a whole number from 1"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters, message):
    with pytest.raises(DataError, match=message):
        gm.HebbianPCA(**parameters).fit(POINTS)
