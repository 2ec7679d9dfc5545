"""A number of components beyond the rank, within what rows, columns and target could have: features that are always zero."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

import gramian as gm


@pytest.fixture
def rows(rng):
    """Of the folds in order, the first leaves the second column constant."""
    y = rng.integers(0, 3, 90)
    return np.c_[rng.normal(size=90) + y, np.r_[np.ones(30), np.zeros(60)]], y


def models():
    return [
        gm.FisherDiscriminant(),
        gm.MahalanobisFeatures(target_type="multiclass"),
        gm.DensityEmbedding(),
        gm.DensityEmbedding(method="mahalanobis"),
        gm.PCA(),
    ]


@pytest.mark.parametrize("model", models(), ids=str)
def test_features_beyond_the_rank_are_zero(rows, model):
    X, y = rows
    X, y = X[30:], y[30:]
    one = model.set_params(n_components=1).fit(X, y).transform(X)
    two = model.set_params(n_components=2).fit(X, y).transform(X)
    np.testing.assert_allclose(two, np.c_[one, np.zeros(len(X))], rtol=1e-12)
    assert len(model.get_feature_names_out()) == 2
    with pytest.raises(gm.errors.DataError, match="n_components=3"):
        model.set_params(n_components=3).fit(X, y).transform(X)


def test_what_describes_a_feature_beyond_the_rank_is_zero(rows):
    X, y = rows
    X, y = X[30:], y[30:]
    fisher = gm.FisherDiscriminant(2).fit(X, y)
    assert fisher.criterion_.shape == fisher.explained_variance_ratio_.shape == (2,)
    assert fisher.criterion_[1] == fisher.explained_variance_ratio_[1] == 0
    assert gm.MahalanobisFeatures(2, target_type="multiclass").fit(X, y).component_r2_[1] == 0
    density = gm.DensityEmbedding(2).fit(X)
    assert density.precision_eigenvalues_[1] == 0
    np.testing.assert_allclose(density.inverse_transform(density.transform(X)), X, atol=1e-12)


def scored(model, X, y=None):
    return float(np.square(model.transform(X)).sum())


@pytest.mark.parametrize("model", models(), ids=str)
def test_a_grid_search_goes_beyond_the_rank_of_a_fold(rows, model):
    grid = {"n_components": [1, 2]}
    search = GridSearchCV(model, grid, cv=KFold(3), scoring=scored, error_score="raise").fit(*rows)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
