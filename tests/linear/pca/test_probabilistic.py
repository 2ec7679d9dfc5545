"""Probabilistic PCA over categories and mixed tables, against the Gaussian written out over the design columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import gramian as gm
from gramian.errors import DataError
from gramian.linear.pca import GaussianModel


def one_hot(frame, model):
    """The design columns of rows, centred, in the metric."""
    parts = []
    for name in frame.columns:
        if name in "ab":
            levels = model.moments_.levels(name)
            parts.append(np.column_stack([(frame[name] == level).to_numpy(float) for level in levels]))
        else:
            parts.append(frame[[name]].to_numpy())
    return (np.hstack(parts) - model.mean_) * model.metric_


def table(rng, n=300):
    size = rng.standard_normal(n) * 40
    return pd.DataFrame(
        {
            "a": np.where(size > 0, "x", rng.choice(["x", "y", "z"], n)),
            "size": size,
            "b": rng.choice(["u", "v"], n),
            "cost": size + rng.standard_normal(n),
        }
    )


@pytest.mark.parametrize("scale", ["auto", True, False])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_density_is_the_gaussian_of_the_design_columns(rng, scale, whiten, k):
    frame = table(rng)
    model = gm.PCA(k, scale=scale, whiten=whiten).fit(frame)
    y = one_hot(frame, model)
    # Five directions in which rows can differ: 3 - 1 and 2 - 1 levels, and two numbers.
    values, vectors = np.linalg.eigh(np.cov(y.T))
    values, vectors = values[::-1][:5], vectors[:, ::-1][:, :5]
    v = values[k:].mean() if k < 5 else 0.0
    variances = np.where(np.arange(5) < k, values, v)
    z = y @ vectors
    expected = -0.5 * (np.square(z) / variances + np.log(2 * np.pi * variances)).sum(axis=1)
    expected += np.log(model.metric_[model.projection_.design.number_places]).sum()
    np.testing.assert_allclose(model.score_samples(frame), expected, rtol=1e-9, atol=1e-9)
    assert model.score(frame) == pytest.approx(expected.mean(), rel=1e-9)
    scaled = (vectors * variances) @ vectors.T
    unit = np.multiply.outer(model.metric_, model.metric_)
    np.testing.assert_allclose(model.get_covariance() * unit, scaled, atol=1e-9 * values[0])
    x = y / model.metric_
    np.testing.assert_allclose(
        np.einsum("ij,jk,ik->i", x, model.get_precision(), x), (np.square(z) / variances).sum(axis=1), rtol=1e-8
    )


def test_unseen_levels_and_missing_numbers_sit_at_the_mean(rng):
    model = gm.PCA(2).fit(table(rng))
    odd = pd.DataFrame({"a": ["new"], "size": [np.nan], "b": ["new"], "cost": [np.nan]}, dtype=object)
    odd = odd.astype({"size": float, "cost": float})
    values = np.append(model.explained_variance_, np.full(3, model.noise_variance_))
    at_mean = -0.5 * np.log(2 * np.pi * values).sum()
    at_mean += np.log(model.metric_[model.projection_.design.number_places]).sum()
    assert model.score_samples(odd)[0] == pytest.approx(at_mean)


def test_a_grid_search_over_categories_needs_no_scoring(rng):
    search = GridSearchCV(gm.PCA(), {"n_components": [1, 2, 3]}, cv=3, error_score="raise").fit(table(rng))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_model_read_from_a_file_scores_alike(rng, tmp_path):
    frame = table(rng)
    model = gm.PCA(2).fit(frame)
    gm.save(model, tmp_path / "pca.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "pca.model").score_samples(frame), model.score_samples(frame))


@pytest.mark.parametrize("big", [1.0, 1e8])
@pytest.mark.parametrize("level", [0.0, 0.1, 1e12])
def test_rows_off_the_support_have_density_zero(rng, big, level):
    X = np.c_[rng.standard_normal((20, 2)) * [1, big], np.full(20, level)]
    model = gm.PCA(2).fit(X)
    on = model.score_samples(X)
    assert np.isfinite(on).all()
    # Within the components the density is that of the two columns that vary.
    np.testing.assert_allclose(on, gm.PCA(2).fit(X[:, :2]).score_samples(X[:, :2]), rtol=1e-9)
    assert np.isneginf(model.score_samples(X + np.array([0, 0, 1]))).all()


def test_a_combination_that_never_varied_is_off_the_support(rng):
    x = rng.standard_normal(50)
    X = np.c_[x, 2 * x, rng.standard_normal(50)] + 1e6
    for k in (None, 2, 3):
        model = gm.PCA(k).fit(X)
        assert np.isfinite(model.score_samples(X)).all()
        assert np.isneginf(model.score_samples(X + np.array([0, 1e-3, 0]))).all()


def test_levels_that_follow_one_another_bound_the_support(rng):
    a = rng.choice(["x", "y", "z"], 100)
    frame = pd.DataFrame({"a": a, "b": np.where(a == "x", "u", "v"), "size": rng.standard_normal(100)})
    model = gm.PCA().fit(frame)
    assert np.isfinite(model.score_samples(frame)).all()
    strange = pd.DataFrame({"a": ["x"], "b": ["v"], "size": [0.0]})
    assert np.isneginf(model.score_samples(strange)).all()


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite", "ignore:invalid value")
def test_a_grid_search_on_noise_does_not_choose_the_most_components(rng):
    X = rng.standard_normal((20, 40))
    grid = {"n_components": [1, 5, 10, 15]}
    found = GridSearchCV(gm.PCA(), grid, error_score="raise").fit(X).cv_results_["mean_test_score"]
    assert np.isneginf(found[-1])
    assert np.isfinite(found[:3]).all()


def test_covariance_and_precision_are_inverse_to_each_other(rng):
    frame = table(rng)
    model = gm.PCA(2).fit(frame[["size", "cost"]].assign(more=rng.standard_normal(300)))
    found = GaussianModel(
        model.projection_.design, model.components_, model.metric_, model.explained_variance_, model.noise_variance_
    )
    np.testing.assert_allclose(found.covariance() @ found.precision(), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.covariance(), model.get_covariance())


@pytest.mark.parametrize("value", [1e155, -1e200, 1.7e308])
def test_a_row_too_far_for_floating_point_is_refused_by_column(rng, value):
    for model in (gm.PCA(1), gm.PCA()):
        model.fit(pd.DataFrame(rng.normal(size=(30, 3)), columns=list("uvw")))
        rows = pd.DataFrame({"u": [0.0, 0.0], "v": [0.0, value], "w": [np.nan, 0.0]})
        with pytest.raises(DataError, match="column 'v' holds"):
            model.score_samples(rows)
        assert np.isfinite(model.score_samples(rows.assign(v=1e100))).all()
