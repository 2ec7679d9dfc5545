import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import gramian as gm
from gramian.linear.fisher import PATH, _errors_along_path
from gramian.linear.layout import layout_of
from gramian.linear.pca import pca
from gramian.moments.algebra.folds import folds_of


def tables(rng, n=240, p=5):
    x = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 10
    frame = pd.DataFrame(x, columns=list("abcde"))
    frame["y"] = x[:, 0] - 2 * x[:, 2] + rng.standard_normal(n)
    frame["k"] = np.where(x[:, 1] + rng.standard_normal(n) > 10, "u", np.where(x[:, 2] > 10, "v", "w"))
    return frame, [frame.iloc[i::4] for i in range(4)]


FEATURES = list("abcde")


def test_held_out_likelihood_is_that_of_the_rows(rng, collect_in_folds):
    frame, parts = tables(rng)
    found = pca(collect_in_folds(parts), FEATURES, n_components="cv")
    expected = np.zeros(5)
    for i, part in enumerate(parts):
        train = pd.concat(parts[:i] + parts[i + 1 :])[FEATURES].to_numpy()
        values, vectors = np.linalg.eigh(np.cov(train.T, ddof=0))
        values, vectors = values[::-1], vectors[:, ::-1]
        for k in range(1, 6):
            noise = values[k:].mean() if k < 5 else 0.0
            spectrum = np.where(np.arange(5) < k, values, noise)
            density = multivariate_normal(train.mean(axis=0), (vectors * spectrum) @ vectors.T)
            expected[k - 1] += density.logpdf(part[FEATURES].to_numpy()).sum()
    # The same sums, of rows there and of moments here.
    np.testing.assert_allclose(found.selection["log_likelihood"], expected / len(frame), rtol=1e-10)
    # Four components and the noise are the same Gaussian as five.
    assert expected[4] == pytest.approx(expected[3], rel=1e-12)


@pytest.mark.parametrize("target", ["y", "k"])
def test_held_out_r2_is_that_of_the_rows(rng, collect_in_folds, target):
    frame, parts = tables(rng)
    found = pca(collect_in_folds(parts), FEATURES, n_components="cv-target", target=target)
    levels = sorted(frame["k"].unique())
    aims = [np.atleast_2d((p["k"].to_numpy()[:, None] == levels).T.astype(float)).T for p in parts]
    aims = aims if target == "k" else [p["y"].to_numpy()[:, None] for p in parts]
    error, baseline = np.zeros(5), 0.0
    for i, part in enumerate(parts):
        train = pd.concat(parts[:i] + parts[i + 1 :])[FEATURES].to_numpy()
        aim = np.concatenate(aims[:i] + aims[i + 1 :])
        centre, level = train.mean(axis=0), aim.mean(axis=0)
        vectors = np.linalg.eigh(np.cov(train.T))[1][:, ::-1]
        for k in range(1, 6):
            fit = np.linalg.lstsq((train - centre) @ vectors[:, :k], aim - level, rcond=None)[0]
            predicted = level + (part[FEATURES].to_numpy() - centre) @ vectors[:, :k] @ fit
            error[k - 1] += np.square(aims[i] - predicted).sum()
        baseline += np.square(aims[i] - level).sum()
    np.testing.assert_allclose(found.selection["r2"], 1 - error / baseline, rtol=1e-8, atol=1e-10)
    assert len(found.components) == np.argmin(error) + 1


def test_held_out_scores_survive_levels_that_a_fold_never_saw(collect_in_folds):
    parts = [
        pd.DataFrame({"c": ["a", "b", "a", "b"], "x": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 0.5, 2.0, 1.0]}),
        pd.DataFrame({"c": ["b", "a", "new", "b"], "x": [2.0, 1.0, 0.0, 7.0], "y": [0.5, 1.5, 1.0, 0.0]}),
        pd.DataFrame({"c": ["b", "b", "a", "a"], "x": [3.0, 2.5, 0.5, 1.0], "y": [0.0, 0.5, 1.5, 3.0]}),
    ]
    m = collect_in_folds(parts)
    for rule in ("cv", "cv-target"):
        found = pca(m, n_components=rule, target="y")
        assert all(np.isfinite(column).all() for column in found.selection.values())


def test_shrinkage_path_scores_are_those_of_the_rows(rng, collect_in_folds):
    _, parts = tables(rng)
    m = collect_in_folds([part.drop(columns="y") for part in parts])
    train, test = folds_of(m, [*FEATURES, "k"]).split(0)
    errors, baseline = _errors_along_path(train, test, layout_of(m, FEATURES), "k")

    rows, left_out = pd.concat(parts[1:]), parts[0]
    levels = m.levels("k")
    x, aim = rows[FEATURES].to_numpy(), (rows["k"].to_numpy()[:, None] == levels).astype(float)
    held, goal = left_out[FEATURES].to_numpy(), (left_out["k"].to_numpy()[:, None] == levels).astype(float)
    means = np.array([x[aim[:, c] == 1].mean(axis=0) for c in range(3)])
    within = np.cov((x - aim @ means).T, ddof=0)
    gaps = (means - x.mean(axis=0)).T
    for i in (0, 8, len(PATH) - 1):
        target = np.diag(np.diagonal(within))
        axes = np.linalg.solve((1 - PATH[i]) * within + PATH[i] * target, gaps)
        fit = np.linalg.lstsq((x - x.mean(axis=0)) @ axes, aim - aim.mean(axis=0), rcond=1e-8)[0]
        predicted = aim.mean(axis=0) + (held - x.mean(axis=0)) @ axes @ fit
        assert errors[i] == pytest.approx(np.square(goal - predicted).sum(), rel=1e-8)
    assert baseline == pytest.approx(np.square(goal - aim.mean(axis=0)).sum())


def test_shared_variance_is_that_of_the_rows(rng, collect_in_folds):
    n = 400
    factor = rng.standard_normal(n)
    x = np.column_stack([factor + rng.standard_normal(n), 2 * factor + rng.standard_normal(n), rng.standard_normal(n)])
    codes = np.arange(n) % 4
    parts = [pd.DataFrame(x[codes == k], columns=list("abc")) for k in range(4)]
    found = pca(collect_in_folds(parts), n_components="cv")
    scores = []
    for k in range(4):
        train, test = x[codes != k], x[codes == k]
        vectors = np.linalg.eigh(np.cov(train.T))[1][:, ::-1]
        second = (test - train.mean(0)).T @ (test - train.mean(0)) / len(test)
        first = np.cov(train.T, ddof=0)
        o, t = (np.array([v @ (m - np.diag(np.diag(m))) @ v for v in vectors.T]) for m in (second, first))
        t = np.maximum(t, 0)
        scores.append(
            [1 - np.square(o - np.where(np.arange(3) < j, t, 0)).sum() / np.square(o).sum() for j in (1, 2, 3)]
        )
    np.testing.assert_allclose(found.selection["shared_variance_r2"], np.mean(scores, axis=0), rtol=1e-9)
    assert len(found.components) == 1


@pytest.mark.parametrize("seed", range(3))
def test_cv_keeps_what_is_shared_and_not_what_only_describes_the_rows(seed):
    # Two columns of which one follows from the other leave variances near zero, which likelihood spends components on.
    rng = np.random.default_rng(seed)
    n = 3000
    latent = rng.integers(0, 3, n)
    columns = {f"q{j}": np.where(rng.random(n) < 0.5, latent, rng.integers(0, 6, n)).astype(str) for j in range(6)}
    columns["again"] = columns["q0"]
    found = pca(gm.collect(pd.DataFrame(columns), folds=5), n_components="cv")
    assert len(found.components) <= 8
    assert int(np.argmax(found.selection["log_likelihood"])) + 1 > 20
    noise = pd.DataFrame({f"q{j}": rng.integers(0, 12, n).astype(str) for j in range(6)})
    assert len(pca(gm.collect(noise, folds=5), n_components="cv").components) == 1


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_too_few_rows_for_folds_are_one_line(n_rows):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError) as failed:
        gm.PCA("cv").fit(rng.normal(size=(n_rows, 2)))
    assert "\n" not in str(failed.value)
