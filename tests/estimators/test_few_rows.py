"""One, two or three rows give a result, or one line that says how many it takes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gramian as gm
from gramian.estimators.neighbour_maps import TSNEMap, UMAPMap

NUMBERS = np.array([[0.3, -1.2], [1.5, 0.4], [-0.7, 2.2]])
MIXED = pd.DataFrame({"c": list("aba"), "x": [1.0, 2.0, 4.0]})
VALUES = {"number": np.array([1.5, 2.5, 4.0]), "classes": np.array(["u", "v", "u"])}

ESTIMATORS = [
    *(gm.PCA(rule) for rule in (None, 0.9, "elbow", "mle", "parallel", "cv", "cv-target")),
    gm.PCA(whiten=True),
    gm.PCA(ddof=0),
    *(gm.Whitening(method) for method in ("pca", "zca", "cholesky")),
    *(gm.FisherDiscriminant(shrinkage=s) for s in (None, 0.5, "auto", "cv")),
    *(gm.MahalanobisFeatures(structure=s) for s in ("canonical", "columns", "krylov")),
    gm.MahalanobisFeatures(ridge="cv"),
    gm.MahalanobisFeatures(cv=None),
    gm.MahalanobisFeatures(solver="sgd"),
    gm.MahalanobisFeatures(influence="ranks"),
    gm.JointTargetEncoder(),
    gm.JointTargetEncoder(cv=None),
    gm.DensityEmbedding(),
    gm.DensityEmbedding(contamination=0.1),
    gm.ClassicalMDS(1, metric="euclidean"),
    gm.MDSFDA(metric="euclidean"),
    gm.MDSFDA(metric="euclidean", regularization=0.1),
    TSNEMap(random_state=0),
    UMAPMap(random_state=0),
]

SAYS_HOW_MANY = re.compile(r"n_samples = \d|sample\(s\)|has one object|classes|is for a continuous target")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_give_a_result_or_say_how_many_it_takes(estimator: Any, n: int) -> None:
    tables = [NUMBERS] if hasattr(estimator, "metric") else [NUMBERS, MIXED]
    classes_only = hasattr(estimator, "priors")
    refused = []
    for table in tables:
        for y in [VALUES["classes"]] if classes_only else VALUES.values():
            for method in ("fit", "fit_transform"):
                try:
                    found = getattr(estimator, method)(table[:n], y[:n])
                    found = estimator.transform(table[:n]) if method == "fit" else found
                except ValueError as error:
                    refused.append(str(error))
                    continue
                assert len(found) == n
                assert np.isfinite(found).all()
    for line in refused:
        assert SAYS_HOW_MANY.search(line), line
        assert "\n" not in line
        assert "np." not in line


@pytest.mark.parametrize("estimator", [gm.JointTargetEncoder(cv=None), gm.MahalanobisFeatures(cv=None)])
def test_two_rows_without_cross_fitting_need_no_folds(estimator: Any) -> None:
    found = estimator.fit_transform(MIXED[:2], [1.0, 3.0])
    # A ridge of generalised cross-validation: the rows are told apart, and the larger target has the larger features.
    assert found[0].sum() < found[1].sum()


def test_cross_fitting_two_rows_says_what_to_do() -> None:
    with pytest.raises(gm.errors.DataError, match="cv=None"):
        gm.JointTargetEncoder().fit_transform(MIXED[:2], [1.0, 3.0])


@pytest.mark.parametrize(
    "model",
    [gm.PCA(1), gm.Whitening(), gm.FisherDiscriminant(), gm.MahalanobisFeatures(), gm.DensityEmbedding()],
    ids=str,
)
def test_a_first_batch_of_one_row_is_kept(rng, model):
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    model.partial_fit(X[:1], y[:1])
    for _ in range(2):
        with pytest.raises(gm.errors.DataError):
            model.transform(X)
    model.partial_fit(X[1:], y[1:])
    assert model.moments_.n_rows == 20
    np.testing.assert_allclose(model.transform(X), clone(model).fit(X, y).transform(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [gm.PCA(1), gm.DensityEmbedding()], ids=str)
def test_one_row_alone_is_no_fit(model):
    with pytest.raises(gm.errors.DataError, match="at least 2 rows; got n_samples = 1"):
        model.fit([[1.0, 2.0]])
