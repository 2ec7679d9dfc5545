"""Fisher's discriminant against scikit-learn's linear discriminant analysis."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.covariance import oas
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.fixes import parse_version

import gramian as gm
from gramian.linear.fisher import fisher

pytestmark = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="svd of scikit-learn 1.8 divides by the rows less the classes, its other solvers and 1.9 by the rows",
)


def table(loader):
    data = loader()
    frame = pd.DataFrame(data.data).add_prefix("f")
    frame["label"] = data.target
    return data.data, data.target, gm.collect(frame)


def probabilities(found, x):
    scores = x @ found.coef.T + found.intercept
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def in_units_within(x, y):
    """Return columns over their standard deviation within classes: there the peer's identity is the diagonal."""
    labels, codes = np.unique(y, return_inverse=True)
    return x / (x - np.array([x[y == label].mean(axis=0) for label in labels])[codes]).std(axis=0)


def assert_same_features(z, expected, rtol):
    """Up to the sign of each feature."""
    signs = np.sign(np.sum(z * expected, axis=0))
    np.testing.assert_allclose(z * signs, expected, atol=rtol * np.abs(expected).max())


LOADERS = [load_iris, load_wine, load_breast_cancer]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
def test_axes_and_decisions_equal_the_peer(loader, solver):
    x, y, m = table(loader)
    peer = LinearDiscriminantAnalysis(solver=solver).fit(x, y)
    found = fisher(m, None, "label")
    assert found.classes == peer.classes_.tolist()
    np.testing.assert_allclose(found.class_means, peer.means_, rtol=1e-12)
    np.testing.assert_allclose(found.priors, peer.priors_, rtol=1e-12)
    np.testing.assert_allclose(probabilities(found, x), peer.predict_proba(x), atol=1e-7)
    np.testing.assert_array_equal(np.argmax(x @ found.coef.T + found.intercept, axis=1), peer.predict(x))
    if solver != "lsqr":
        # breast cancer's within-class covariance has condition 1e11: "eigen" loses as many digits.
        expected = peer.transform(x)
        # "eigen" does not centre its features, though they are about the same mean.
        assert_same_features((x - found.mean) @ found.weights, expected - expected.mean(axis=0), 1e-6)
        np.testing.assert_allclose(found.explained_variance_ratio, peer.explained_variance_ratio_, atol=1e-8)


@pytest.mark.parametrize("loader", LOADERS)
def test_decision_function_of_two_classes_equals_the_peer(loader):
    x, y, _ = table(loader)
    x, y = x[y < 2], y[y < 2]
    m = gm.collect(pd.DataFrame(x).add_prefix("f").assign(label=y))
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(x, y)
    found = fisher(m, None, "label")
    scores = x @ found.coef.T + found.intercept
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], peer.decision_function(x), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("amount", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("solver", ["eigen", "lsqr"])
def test_shrunk_decisions_equal_the_peer(amount, solver):
    x, y, m = table(load_wine)
    scaled = in_units_within(x, y)
    peer = LinearDiscriminantAnalysis(solver=solver, shrinkage=amount).fit(scaled, y)
    np.testing.assert_allclose(
        probabilities(fisher(m, None, "label", shrinkage=amount), x), peer.predict_proba(scaled), atol=1e-8
    )


def test_priors_enter_axes_and_decisions_as_in_svd():
    x, y, m = table(load_wine)
    priors = [0.2, 0.7, 0.1]
    peer = LinearDiscriminantAnalysis(priors=priors).fit(x, y)
    found = fisher(m, None, "label", priors=priors)
    np.testing.assert_allclose(probabilities(found, x), peer.predict_proba(x), atol=1e-9)
    np.testing.assert_allclose(found.mean, peer.xbar_)
    assert_same_features((x - found.mean) @ found.weights, peer.transform(x), 1e-9)


def test_singular_within_scatter_equals_svd():
    x, y, m = table(load_digits)
    peer = LinearDiscriminantAnalysis(tol=1e-6).fit(x, y)
    found = fisher(m, None, "label")
    np.testing.assert_array_equal(np.argmax(x @ found.coef.T + found.intercept, axis=1), peer.predict(x))
    np.testing.assert_allclose(probabilities(found, x), peer.predict_proba(x), atol=1e-6)
    assert_same_features((x - found.mean) @ found.weights, peer.transform(x), 1e-7)


def test_more_columns_than_rows_equals_svd():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 8)
    x = rng.standard_normal((24, 50)) + y[:, None] * rng.standard_normal(50) / 3
    m = gm.collect(pd.DataFrame(x).add_prefix("f").assign(label=y))
    peer = LinearDiscriminantAnalysis().fit(x, y)
    found = fisher(m, None, "label")
    assert found.rank == 21
    np.testing.assert_allclose(probabilities(found, x), peer.predict_proba(x), atol=1e-7)
    assert_same_features((x - found.mean) @ found.weights, peer.transform(x), 1e-8)


@pytest.mark.parametrize("p", [600, 7000])
def test_gene_expression_equals_svd(p):
    """72 samples of thousands of columns on scales of their own: never a p x p matrix on either side."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 24)
    x = rng.standard_normal((72, p)) * rng.gamma(2.0, 1.0, p) + np.eye(3)[y] @ rng.standard_normal((3, p)) / 3
    peer = LinearDiscriminantAnalysis().fit(x, y)
    found = gm.FisherDiscriminant().fit(x, y)
    fresh = rng.standard_normal((40, p))
    np.testing.assert_allclose(found.predict_proba(fresh), peer.predict_proba(fresh), atol=1e-9)
    assert_same_features(found.transform(fresh), peer.transform(fresh), 1e-10)
    np.testing.assert_allclose(found.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9)


def test_categories_equal_svd_on_one_hot_columns():
    rng = np.random.default_rng(5)
    n = 500
    y = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.5, y.astype(str), rng.choice(list("0123"), n)),
            "b": rng.choice(list("pqr"), n),
            "c": np.where(y > 1, rng.choice(list("st"), n), rng.choice(list("tuv"), n)),
        }
    )
    m = gm.collect(frame.assign(label=y))
    one_hot = OneHotEncoder(categories=[m.levels(c) for c in frame], sparse_output=False).fit_transform(frame)
    peer = LinearDiscriminantAnalysis().fit(one_hot, y)
    found = fisher(m, None, "label")
    np.testing.assert_allclose(probabilities(found, one_hot), peer.predict_proba(one_hot), atol=1e-9)
    assert_same_features((one_hot - found.mean) @ found.weights, peer.transform(one_hot), 1e-9)


def test_oas_intensity_equals_the_peer_on_rows_within_classes():
    x, y, m = table(load_wine)
    inside = x - np.array([x[y == c].mean(axis=0) for c in range(3)])[y]
    _, expected = oas(inside / inside.std(axis=0), assume_centered=True)
    # The peer divides by n + 1 rows; three class means take three of them.
    n = len(x)
    assert fisher(m, None, "label", shrinkage="auto").shrinkage == pytest.approx(expected * (n + 1) / (n - 3 + 1))


def currencies(rng):
    """Three countries as classes, one of them with a currency of its own; channels and amounts that depend on the country."""
    n = 900
    y = rng.choice(["DE", "FR", "UK"], n)
    usual = np.where(y == "DE", rng.choice(list("aab"), n), rng.choice(list("bcd"), n))
    return y, pd.DataFrame(
        {
            "currency": np.where(y == "UK", "GBP", np.where(rng.random(n) < 0.3 + 0.3 * (y == "FR"), "EUR", "USD")),
            "channel": np.where(rng.random(n) < 0.5, usual, rng.choice(list("abcd"), n)),
            "card": rng.choice(list("pqr"), n),
            "amount": rng.lognormal(size=n) + 0.3 * (y == "UK"),
        }
    )


def one_class_has_a_level(rng):
    frame = pd.DataFrame(rng.choice(list("xyz"), (200, 3)), columns=list("abc"))
    return (frame["a"] == "x").to_numpy(), frame


@pytest.mark.parametrize("table", [currencies, one_class_has_a_level])
@pytest.mark.parametrize("seed", range(4))
def test_levels_of_one_class_only_score_as_svd_does(table, seed):
    y, frame = table(np.random.default_rng(seed))
    one_hot = pd.get_dummies(frame).to_numpy(float)
    model, peer = gm.FisherDiscriminant().fit(frame, y), LinearDiscriminantAnalysis().fit(one_hot, y)
    assert model.score(frame, y) == peer.score(one_hot, y)
    np.testing.assert_allclose(model.predict_proba(frame), peer.predict_proba(one_hot), atol=1e-9)


@pytest.mark.parametrize("solver", ["eigen", "lsqr"])
@pytest.mark.parametrize("seed", range(3))
def test_shrunk_levels_of_one_class_only_score_as_the_peer(solver, seed):
    y, frame = currencies(np.random.default_rng(seed))
    # GBP is constant within each class and has no unit there; its opposite, EUR or USD, says the same.
    one_hot = pd.get_dummies(frame).drop(columns="currency_GBP").to_numpy(float)
    one_hot = in_units_within(one_hot, y)
    model = gm.FisherDiscriminant(shrinkage=0.1).fit(frame, y)
    peer = LinearDiscriminantAnalysis(solver=solver, shrinkage=0.1).fit(one_hot, y)
    np.testing.assert_allclose(model.predict_proba(frame), peer.predict_proba(one_hot), atol=1e-9)


def test_regular_columns_within_classes_equal_eigen_where_one_level_each_is_left_out():
    """Levels in all classes: leaving out one of each column is the only dependence, and "eigen" needs none."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 600)
    frame = pd.DataFrame(
        {"a": rng.choice(list("pqrs"), 600), "b": rng.choice(list("uvw"), 600), "x": y + rng.random(600)}
    )
    model = gm.FisherDiscriminant().fit(frame, y)
    regular = pd.get_dummies(frame, drop_first=True).to_numpy(float)
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(regular, y)
    np.testing.assert_allclose(model.predict_proba(frame), peer.predict_proba(regular), atol=1e-9)
