"""Probabilistic PCA over categories and mixed tables, against the Gaussian written out over the design columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import gramian as gm


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
