"""Cross-validated scores and choices from moments are those of refits on rows, missing numbers imputed at training means.

Categories with a level that only one fold has, numbers with missing values (one of them observed in a single fold), an integer
by level with missing values, weights. Everything below `refits` is rows and explicit design matrices.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.fisher import fisher
from gramian.linear.mahalanobis import mahalanobis
from gramian.linear.pca import pca

NUMBERS = ["size", "cost", "grade", "once"]
FEATURES = ["color", "shape", *NUMBERS]


def rows_of(seed: int) -> list[pd.DataFrame]:
    """Return the rows of four folds."""
    rng = np.random.default_rng(seed)
    n = 200
    size = rng.standard_normal(n)
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "shape": np.where(size + rng.standard_normal(n) > 0.5, "box", rng.choice(["disc", "rod"], n)),
            "size": size,
            "cost": 20 + 3 * size + 2 * rng.standard_normal(n),
            "grade": pd.array(np.round(size + 2 * rng.standard_normal(n)), dtype="Int64"),
            "once": np.nan,
            "y": 2 * size + rng.standard_normal(n),
            "kind": np.where(size + 0.7 * rng.standard_normal(n) > 0.6, "u", rng.choice(["v", "w"], n)),
            "w": rng.gamma(3.0, size=n),
        }
    )
    for name in ("size", "cost", "grade"):
        frame.loc[rng.random(n) < 0.2, name] = pd.NA if name == "grade" else np.nan
    parts = [frame.iloc[k::4].copy() for k in range(4)]
    # Means of the folds differ, so that it matters whose mean is filled in.
    parts[1]["size"] += 1.5
    parts[2].iloc[:6, 0] = "only here"
    parts[3]["once"] = rng.standard_normal(50) + 100
    return parts


@dataclass
class Fold:
    """Training and left-out rows as design matrices."""

    x: np.ndarray
    new: np.ndarray
    w: np.ndarray
    new_w: np.ndarray
    train: pd.DataFrame
    test: pd.DataFrame

    def centred(self):
        """Return both about the training means, a level that no training row has at the mean of its column."""
        mean = self.w @ self.x / self.w.sum()
        return self.x - mean, self.new - mean


def filled(frame, levels, means):
    columns = [(frame[name].to_numpy() == level).astype(float) for name in levels for level in levels[name]]
    for name in NUMBERS:
        x = frame[name].astype(float).to_numpy()
        columns.append(np.where(np.isnan(x), means[name], x) if name in means else np.zeros(len(x)))
    return np.column_stack(columns)


def observed_means(frame, w):
    out = {}
    for name in NUMBERS:
        x = frame[name].astype(float).to_numpy()
        seen = ~np.isnan(x)
        if seen.any():
            out[name] = np.average(x[seen], weights=w[seen])
    return out


def refits(parts, m, weighted, *, unseen_at_mean):
    """Yield the folds."""
    levels = {name: m.levels(name) for name in ("color", "shape")}
    for k, test in enumerate(parts):
        train = pd.concat([part for j, part in enumerate(parts) if j != k])
        w, new_w = ((rows["w"] if weighted else rows["w"] ** 0).to_numpy() for rows in (train, test))
        means = observed_means(train, w)
        x, new = filled(train, levels, means), filled(test, levels, means)
        if unseen_at_mean:
            start = 0
            for name, labels in levels.items():
                strange = ~test[name].isin(train[name]).to_numpy()
                span = slice(start, start + len(labels))
                new[strange, span] = w @ x[:, span] / w.sum()
                start += len(labels)
        yield Fold(x, new, w, new_w, train, test)


def collected(parts, weighted):
    options = {"sample_weight": "w"} if weighted else {"exclude": "w"}
    folds = [gm.collect(part, numeric=["once"], **options) for part in parts]
    return replace(gm.merge(folds), folds=tuple(folds))


def aims(fold, target, m):
    labels = [None] if target == "y" else sorted(m.levels("kind"))
    out = []
    for rows in (fold.train, fold.test):
        own = [rows["y"]] if target == "y" else [rows["kind"] == label for label in labels]
        out.append(np.column_stack(own).astype(float))
    mean = fold.w @ out[0] / fold.w.sum()
    return out[0] - mean, out[1] - mean


def whole_of(parts, m, weighted):
    """Return the design matrix of all rows at their own means, and the weights."""
    frame = pd.concat(parts)
    w = (frame["w"] if weighted else frame["w"] ** 0).to_numpy()
    x = filled(frame, {name: m.levels(name) for name in ("color", "shape")}, observed_means(frame, w))
    return x - w @ x / w.sum(), w @ x / w.sum(), w


def metric_of(parts, m, weighted):
    x, mean, w = whole_of(parts, m, weighted)
    variance = w @ np.square(x) / w.sum()
    is_level = np.arange(len(mean)) < len(mean) - len(NUMBERS)
    return 1 / np.sqrt(np.where(is_level, mean, variance))


def spectrum(x, w):
    values, vectors = np.linalg.eigh((x * w[:, None]).T @ x / w.sum())
    kept = values[::-1] > 1e-10 * values[-1]
    return values[::-1][kept], vectors[:, ::-1][:, kept]


def off_diagonal(matrix, sizes):
    out, start = matrix.copy(), 0
    for size in sizes:
        out[start : start + size, start : start + size] = 0.0
        start += size
    return out


@pytest.fixture(params=[(seed, weighted) for seed in (0, 1) for weighted in (False, True)], ids=str)
def case(request):
    seed, weighted = request.param
    parts = rows_of(seed)
    return parts, collected(parts, weighted), weighted


def test_components_by_what_columns_share(case):
    parts, m, weighted = case
    found = pca(m, FEATURES, n_components="cv")
    metric = metric_of(parts, m, weighted)
    x, _, w = whole_of(parts, m, weighted)
    d = len(spectrum(x * metric, w)[0])
    assert found.rank == d
    sizes = [len(m.levels("color")), len(m.levels("shape")), 1, 1, 1, 1]
    shared, likelihood, fold_weights = [], [], []
    for fold in refits(parts, m, weighted, unseen_at_mean=False):
        train, new = (each * metric for each in fold.centred())
        values, vectors = spectrum(train, fold.w)
        covariance = (train * fold.w[:, None]).T @ train / fold.w.sum()
        second = (new * fold.new_w[:, None]).T @ new / fold.new_w.sum()
        t, o = (
            np.einsum("ij,ij->j", vectors, off_diagonal(matrix, sizes) @ vectors) for matrix in (covariance, second)
        )
        k = np.arange(1, len(values) + 1)
        promised = np.where(np.arange(len(t)) < k[:, None], np.maximum(t, 0), 0)
        shared.append(1 - np.square(o - promised).sum(axis=1) / np.square(o).sum())
        # The mean over rows of the log density, row by row.
        along = np.square(new @ vectors)
        densities = []
        for kept in range(1, len(values)):
            noise = values[kept:].sum() / (d - kept)
            off = np.square(new).sum(axis=1) - along[:, :kept].sum(axis=1)
            inside = np.log(values[:kept]).sum() + along[:, :kept] @ (1 / values[:kept])
            each = -0.5 * (d * np.log(2 * np.pi) + inside + (d - kept) * np.log(noise) + off / noise)
            densities.append(np.average(each, weights=fold.new_w))
        likelihood.append(densities)
        fold_weights.append(fold.new_w.sum())
    length = min(map(len, [*shared, *likelihood]))
    for name, scores in (("shared_variance_r2", shared), ("log_likelihood", likelihood)):
        expected = np.average([each[:length] for each in scores], axis=0, weights=fold_weights)
        np.testing.assert_allclose(found.selection[name][:length], expected, rtol=1e-8, atol=1e-10)
    best = np.average([each[:length] for each in shared], axis=0, weights=fold_weights)
    assert len(found.components) == int(np.argmax(best)) + 1


@pytest.mark.parametrize("target", ["y", "kind"])
def test_components_by_what_they_predict(case, target):
    parts, m, weighted = case
    found = pca(m, FEATURES, n_components="cv-target", target=target)
    metric = metric_of(parts, m, weighted)
    errors, baseline = [], 0.0
    for fold in refits(parts, m, weighted, unseen_at_mean=True):
        train, new = (each * metric for each in fold.centred())
        aim, judged = aims(fold, target, m)
        vectors = spectrum(train, fold.w)[1]
        root = np.sqrt(fold.w)[:, None]
        by_number = []
        for k in range(1, vectors.shape[1] + 1):
            fit = np.linalg.lstsq(root * (train @ vectors[:, :k]), root * aim, rcond=None)[0]
            left = judged - new @ vectors[:, :k] @ fit
            by_number.append(fold.new_w @ np.square(left).sum(axis=1))
        errors.append(by_number)
        baseline += fold.new_w @ np.square(judged).sum(axis=1)
    length = min(map(len, errors))
    score = 1 - np.sum([each[:length] for each in errors], axis=0) / baseline
    np.testing.assert_allclose(found.selection["r2"], score[: len(found.selection["r2"])], rtol=1e-8, atol=1e-10)
    assert len(found.components) == int(np.argmax(score)) + 1


def test_shrinkage_of_the_discriminant(case):
    parts, m, weighted = case
    found = fisher(m, FEATURES, "kind", shrinkage="cv")
    path = found.selection["shrinkage"]
    errors, baseline = np.zeros(len(path)), 0.0
    for fold in refits(parts, m, weighted, unseen_at_mean=True):
        train, new = fold.centred()
        aim, judged = aims(fold, "kind", m)
        classes = fold.train["kind"].to_numpy()
        inside = train.copy()
        for label in np.unique(classes):
            at = classes == label
            inside[at] -= fold.w[at] @ train[at] / fold.w[at].sum()
        within = (inside * fold.w[:, None]).T @ inside
        unit = np.sqrt(np.where(np.diagonal(within) > 1e-9, np.diagonal(within), np.inf))
        root = np.sqrt(fold.w)[:, None]
        for j, amount in enumerate(path):
            shrunk = (1 - amount) * within / np.outer(unit, unit) + amount * np.diag(np.isfinite(unit).astype(float))
            inverse = np.linalg.pinv(shrunk, rcond=1e-10, hermitian=True) / np.outer(unit, unit)
            axes = inverse @ (train * fold.w[:, None]).T @ aim
            fit = np.linalg.lstsq(root * (train @ axes), root * aim, rcond=1e-7)[0]
            errors[j] += fold.new_w @ np.square(judged - new @ axes @ fit).sum(axis=1)
        baseline += fold.new_w @ np.square(judged).sum(axis=1)
    # A shrinkage of 1e-4 leaves null directions at a condition of 1e4, squared in the fit.
    np.testing.assert_allclose(found.selection["r2"], 1 - errors / baseline, atol=1e-7)
    assert found.shrinkage == path[int(np.argmin(errors))]


@pytest.mark.parametrize("target", ["y", "kind"])
def test_ridge(case, target):
    parts, m, weighted = case
    found = mahalanobis(m, FEATURES, [target], ridge="cv")
    ridges = found.selection["ridge"]
    errors, baseline = np.zeros(len(ridges)), 0.0
    for fold in refits(parts, m, weighted, unseen_at_mean=True):
        train, new = fold.centred()
        aim, judged = aims(fold, target, m)
        scatter, cross = (train * fold.w[:, None]).T @ train, (train * fold.w[:, None]).T @ aim
        is_level = np.arange(len(scatter)) < len(scatter) - len(NUMBERS)
        variance = np.diagonal(scatter) / fold.w.sum()
        # A number that no training row shows is 0 in every row.
        unit = np.where(is_level | (variance == 0), 1.0, variance)
        for j, ridge in enumerate(ridges):
            fit = np.linalg.solve(scatter + ridge * np.diag(unit), cross)
            errors[j] += fold.new_w @ np.square(judged - new @ fit).sum(axis=1)
        baseline += fold.new_w @ np.square(judged).sum(axis=1)
    np.testing.assert_allclose(found.selection["r2"], 1 - errors / baseline, rtol=1e-8, atol=1e-10)
    assert found.ridge == ridges[int(np.argmin(errors))]
