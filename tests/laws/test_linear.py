"""Identities that the linear solvers must satisfy whatever the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.fisher import fisher
from gramian.linear.pca import pca
from gramian.linear.whitening import whitening

SEEDS = [0, 1, 2]


def table(seed: int, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["rome", "oslo", "lima", "bern"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "plan": np.where(latent + 0.5 * rng.standard_normal(n) > 0, "basic", "plus"),
            "age": rng.integers(18, 60, n),
            "x": latent + 0.3 * rng.standard_normal(n),
            "z": 100 * rng.standard_normal(n) + 1e6,
            "y": np.where(latent > 0.7, "high", np.where(latent > -0.5, "mid", "low")),
        }
    )
    frame.loc[rng.random(n) < 0.05, "x"] = np.nan
    return frame


FEATURES = ["city", "plan", "age", "x", "z"]


def design(frame: pd.DataFrame, m: gm.Moments, columns: list[str]) -> np.ndarray:
    """Return the design matrix of the rows, the way the moments see it."""
    parts = []
    for name in columns:
        if m.kind(name) == "categorical":
            parts += [(frame[name] == level).to_numpy(float) for level in m.levels(name)]
        else:
            parts.append(frame[name].fillna(frame[name].mean()).to_numpy(float))
    return np.column_stack(parts)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("method", ["pca", "cholesky", "zca"])
def test_whitened_rows_have_identity_covariance(seed, ddof, method):
    frame = table(seed)
    m = gm.collect(frame)
    found = whitening(m, FEATURES, method=method, ddof=ddof)
    z = (design(frame, m, FEATURES) - found.mean) @ found.weights
    covariance = np.cov(z.T, ddof=ddof)
    if method == "zca":
        # With one-hot columns p features share `rank` dimensions: the identity there, nothing elsewhere.
        np.testing.assert_allclose(covariance @ covariance, covariance, atol=1e-7)
        assert np.trace(covariance) == pytest.approx(found.rank, abs=1e-6)
    else:
        np.testing.assert_allclose(covariance, np.eye(found.rank), atol=1e-8)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_whitening_can_be_undone(seed):
    frame = table(seed)
    m = gm.collect(frame)
    rows = design(frame, m, FEATURES)
    for method in ("pca", "zca", "cholesky"):
        found = whitening(m, FEATURES, method=method)
        back = (rows - found.mean) @ found.weights @ found.inverse + found.mean
        np.testing.assert_allclose(back, rows, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [False, True, "auto"])
def test_reconstruction_error_is_the_sum_of_dropped_eigenvalues(seed, scale):
    frame = table(seed)
    m = gm.collect(frame)
    rows = design(frame, m, FEATURES)
    whole = pca(m, FEATURES, scale=scale, ddof=0)
    for k in (1, 2, whole.rank - 1):
        found = pca(m, FEATURES, n_components=k, scale=scale, ddof=0)
        back = (rows - found.mean) @ found.weights @ found.inverse
        error = np.square((rows - found.mean - back) * found.metric).sum(axis=1).mean()
        # Sums of 300 squares of which the largest eigenvalue sets the rounding.
        assert error == pytest.approx(whole.explained_variance[k:].sum(), rel=1e-6, abs=1e-11 * whole.total_variance)


@pytest.mark.parametrize("seed", SEEDS)
def test_features_are_uncorrelated_with_the_stated_variances(seed):
    frame = table(seed)
    m = gm.collect(frame)
    found = pca(m, FEATURES)
    z = (design(frame, m, FEATURES) - found.mean) @ found.weights
    np.testing.assert_allclose(np.cov(z.T), np.diag(found.explained_variance), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(z, axis=0), found.singular_values, rtol=1e-9)
    assert found.explained_variance_ratio.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [False, True, "auto"])
def test_rank_deficit_is_the_number_of_categorical_columns(seed, scale):
    m = gm.collect(table(seed))
    columns = ["city", "plan", "y", "x", "age"]
    assert pca(m, columns, scale=scale).rank == len(m.design_names_of(columns)) - 3
    assert whitening(m, columns).rank == len(m.design_names_of(columns)) - 3


@pytest.mark.parametrize("seed", SEEDS)
def test_inertia_of_a_categorical_column_is_its_levels_less_one(seed):
    m = gm.collect(table(seed))
    assert pca(m, ["city", "plan", "x"], ddof=0).total_variance == pytest.approx(3 + 1 + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_of_parts_added_up_give_the_same_solutions(seed):
    frame = table(seed)
    whole = gm.collect(frame)
    parts = gm.merge([gm.collect(frame.iloc[a:b]) for a, b in ((0, 70), (70, 71), (71, 300))])
    order = [parts.design_names_of(FEATURES).index(name) for name in whole.design_names_of(FEATURES)]
    # z has offset 1e6 and spread 100; the anchored sums keep 1e-13 of the spread.
    np.testing.assert_allclose(
        pca(parts, FEATURES).components[:, order], pca(whole, FEATURES).components, rtol=0, atol=1e-9
    )
    one, other = fisher(parts, FEATURES, "y"), fisher(whole, FEATURES, "y")
    np.testing.assert_allclose(one.weights[order], other.weights, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.criterion, other.criterion, rtol=1e-10)
    one, other = whitening(parts, FEATURES, method="zca"), whitening(whole, FEATURES, method="zca")
    np.testing.assert_allclose(one.weights[np.ix_(order, order)], other.weights, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_repeated_rows_and_weights_are_the_same(seed):
    frame = table(seed).drop(columns="x")
    weight = np.random.default_rng(seed).integers(1, 4, len(frame))
    repeated = gm.collect(frame.iloc[np.repeat(np.arange(len(frame)), weight)])
    weighted = gm.collect(frame, sample_weight=weight.astype(float))
    columns = ["city", "plan", "age", "z"]
    np.testing.assert_allclose(
        pca(repeated, columns).explained_variance, pca(weighted, columns).explained_variance, rtol=1e-9
    )
    np.testing.assert_allclose(
        fisher(repeated, columns, "y").criterion, fisher(weighted, columns, "y").criterion, rtol=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_fisher_does_not_change_under_invertible_maps(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 200)
    x = rng.standard_normal((200, 4)) + np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 1, 3, 0]])[y]
    # Of condition 100: the scatter loses twice as many digits.
    mixing = np.linalg.qr(rng.standard_normal((4, 4)))[0] * [0.1, 1, 3, 10]
    plain = pd.DataFrame(x, columns=list("abcd")).assign(y=y)
    turned = pd.DataFrame(x @ mixing + 7, columns=list("abcd")).assign(y=y)
    one, other = fisher(gm.collect(plain), None, "y"), fisher(gm.collect(turned), None, "y")
    np.testing.assert_allclose(one.criterion, other.criterion, rtol=1e-9)
    z = (x - one.mean) @ one.weights
    w = (x @ mixing + 7 - other.mean) @ other.weights
    np.testing.assert_allclose(np.abs(np.sum(z * w, axis=0)), np.sum(z * z, axis=0), rtol=1e-8)
    scores = x @ one.coef.T + one.intercept
    moved = (x @ mixing + 7) @ other.coef.T + other.intercept
    np.testing.assert_allclose(scores, moved, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_are_gaussian_log_posteriors_on_the_axes(seed):
    frame = table(seed)
    m = gm.collect(frame)
    rows = design(frame, m, FEATURES)
    found = fisher(m, FEATURES, "y")
    z = (rows - found.mean) @ found.weights
    centres = (found.class_means - found.mean) @ found.weights
    # Between c classes c - 1 axes hold everything: distances to the class means give the scores, up to a term of the row.
    distances = np.square(z[:, None, :] - centres).sum(axis=2)
    posterior = np.log(found.priors) - distances / 2
    scores = rows @ found.coef.T + found.intercept
    gap = scores - posterior
    np.testing.assert_allclose(gap - gap[:, :1], 0, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_solvers_leave_the_moments_as_they_were(seed):
    """Plain numbers are solved from the scatter that the moments hold, without a copy of it."""
    frame = table(seed)[["z", "y"]].assign(a=np.random.default_rng(seed).standard_normal(300))
    m, before = gm.collect(frame, folds=3), gm.collect(frame, folds=3)
    features = ["z", "a"]
    for n_components in (None, 1, "cv", "parallel"):
        for scale in (False, True):
            pca(m, features, n_components=n_components, scale=scale)
    for method in ("pca", "zca", "cholesky"):
        whitening(m, features, method=method)
    for shrinkage in (None, 0.3, "auto", "cv"):
        fisher(m, features, "y", shrinkage=shrinkage)
    assert m == before
    assert m.folds == before.folds
