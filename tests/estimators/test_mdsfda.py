"""MDSFDA: discriminant coordinates from distances, against Fisher's criterion on coordinates that have them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold, cross_val_score

from gramian.errors import DataError, DroppedClassWarning
from gramian.estimators.mdsfda import MDSFDA


@pytest.fixture
def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])[y], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("solver", ["exact", "iterative"])
def test_axes_of_points_in_a_plane_are_those_of_discriminant_analysis(points, solver):
    """Two coordinates for two dimensions: whatever is left of the ridge, they span the plane."""
    X, y = points
    model = MDSFDA(2, regularization=1e-9, saturation=None, solver=solver).fit(cdist(X, X), y)
    peer = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    first = model.embedding_[:, 0]
    assert abs(np.corrcoef(first, peer.transform(X)[:, 0])[0, 1]) == pytest.approx(1, abs=1e-6)
    # The share between classes of the axis' total scatter.
    between = sum((y == k).sum() * (first[y == k].mean() - first.mean()) ** 2 for k in model.classes_)
    assert model.eigenvalues_[0] == pytest.approx(between / ((first - first.mean()) ** 2).sum(), rel=1e-6)
    assert (model.predict(cdist(X, X)) == peer.predict(X)).mean() > 0.95


def test_predictions_are_the_nearest_means_with_their_priors(points):
    X, y = points
    D = cdist(X, X)
    model = MDSFDA(2, regularization=0.01).fit(D, y)
    found = model.predict_proba(D)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.log(found), model.predict_log_proba(D), rtol=1e-9, atol=1e-12)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(D)).all()
    assert model.priors_.tolist() == pytest.approx([1 / 3] * 3)
    assert model.score(D, y) == (model.predict(D) == y).mean()


def test_class_distances_are_mean_distances_between_two_classes(points):
    X, y = points
    D = cdist(X, X)
    found = MDSFDA(2, regularization=0.1).fit(D, y).class_distances_
    for i, a in enumerate("abc"):
        for j, b in enumerate("abc"):
            block = D[np.ix_(y == a, y == b)]
            mean = block.sum() / (block.size - (len(block) if a == b else 0))
            assert found[i, j] == pytest.approx(mean, rel=1e-9)


def test_parameters_come_back_and_a_model_refits_alike(points):
    X, y = points
    model = MDSFDA(1, metric="euclidean", n_landmarks=20, random_state=3)
    again = clone(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(model.fit(X, y).embedding_, again.fit(X, y).embedding_)
    assert model.landmarks_.shape == (20,)
    np.testing.assert_array_equal(model.objects_, X[model.landmarks_])


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"regularization": "often"}, None, "regularization"),
        ({"saturation": -1.0}, None, "saturation"),
        ({"solver": "quick"}, None, "solver"),
        ({"priors": [0.5, 0.5]}, None, "priors"),
        ({}, ["a"] * 60, "class"),
        ({}, ["a"] * 59 + ["b"], "class 'b' has one object"),
        ({}, "y", "names a column, which only the tables of metric='gower' have"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(points, options, y, message):
    X, classes = points
    with pytest.raises(DataError, match=message) as caught:
        MDSFDA(2, **options).fit(cdist(X, X), classes if y is None else y)
    assert "\n" not in str(caught.value)


def test_no_more_coordinates_than_classes_less_one(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    assert MDSFDA(9, metric="levenshtein").fit_transform(texts, y).shape == (90, 2)
    model = MDSFDA(1, metric="levenshtein").fit(texts, y)
    assert model.get_feature_names_out().tolist() == ["mdsfda0"]
    options = {"regularization": model.regularization_, "saturation": model.saturation_}
    whole = MDSFDA(2, metric="levenshtein", **options).fit(texts, y)  # type: ignore[arg-type]
    assert whole.eigenvalues_[0] >= whole.eigenvalues_[1]
    assert abs(np.corrcoef(model.embedding_[:, 0], whole.embedding_[:, 0])[0, 1]) > 1 - 1e-9


def test_embedding_is_in_units_of_the_spread_within_classes(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    model = MDSFDA(metric="levenshtein").fit(texts, y)
    means = np.array([model.embedding_[y == k].mean(axis=0) for k in model.classes_])
    # Training objects are drawn towards their own class: less spread, means farther out.
    assert (np.abs(model.means_) <= np.abs(means) + 1e-9).all()
    spread = np.sqrt(np.mean([model.embedding_[y == k].var(axis=0) for k in model.classes_], axis=0))
    assert (spread < 1.1).all()
    assert model.predict_proba(texts).sum(axis=1) == pytest.approx(1)


def test_priors_move_the_border(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    plain = MDSFDA(metric="levenshtein").fit(texts, y)
    keen = MDSFDA(metric="levenshtein", priors=[0.98, 0.01, 0.01]).fit(texts, y)
    gain = keen.predict_log_proba(texts) - plain.predict_log_proba(texts)
    np.testing.assert_allclose(gain[:, 0] - gain[:, 1], np.log(98), rtol=1e-9)


@pytest.mark.parametrize("saturation", [0.5, "cv"])
def test_saturated_distances_place_new_objects_alike(words: tuple[list[str], np.ndarray], saturation: object) -> None:
    texts, y = words
    model = MDSFDA(metric="levenshtein", saturation=saturation).fit(texts, y)  # type: ignore[arg-type]
    np.testing.assert_allclose(model.transform(texts), model.embedding_, atol=1e-8)
    landmarks = MDSFDA(metric="levenshtein", saturation=saturation, n_landmarks=90).fit(texts, y)  # type: ignore[arg-type]
    np.testing.assert_allclose(landmarks.embedding_, model.embedding_, atol=1e-7)
    if saturation == "cv":
        plain = MDSFDA(metric="levenshtein").fit(texts, y)
        assert model.cv_results_["accuracy"].max() >= plain.cv_results_["accuracy"].max()


@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("metric", ["precomputed", "euclidean"])
def test_classes_of_one_object_are_left_out_where_asked(points, metric, landmarks):
    X, y = points
    y = y.copy().astype(object)
    y[[5, 40]] = "lone", "alone"
    rest = ~np.isin(y, ["lone", "alone"])
    given, without = (cdist(X, X), cdist(X[rest], X[rest])) if metric == "precomputed" else (X, X[rest])
    build = partial(MDSFDA, 2, metric=metric, n_landmarks=landmarks)
    with pytest.raises(DataError, match=r"class 'alone' has one object.*singletons='drop'"):
        build().fit(given, y)
    with pytest.warns(DroppedClassWarning, match="left out: 'alone', 'lone'"):
        model = build(singletons="drop").fit(given, y)
    peer = build().fit(without, y[rest])
    np.testing.assert_allclose(model.embedding_, peer.embedding_, rtol=1e-9)
    assert model.classes_.tolist() == ["a", "b", "c"]
    new = X[:7] + 0.1
    seen, alone = (cdist(new, X), cdist(new, X[rest])) if metric == "precomputed" else (new, new)
    np.testing.assert_allclose(model.transform(seen), peer.transform(alone), rtol=1e-9)
    with pytest.warns(DroppedClassWarning):
        placed = build(singletons="drop").fit_transform(given, y)
    assert placed.shape == (60, 2)
    np.testing.assert_allclose(placed[rest], peer.embedding_, rtol=1e-9)


def test_cross_validation_with_a_rare_class_ends_in_a_number(points):
    X, y = points
    y = y.copy()
    y[[1, 2]] = "r"
    folds = KFold(2, shuffle=True, random_state=1)
    with pytest.warns(DroppedClassWarning):
        scores = cross_val_score(MDSFDA(2, singletons="drop"), cdist(X, X), y, cv=folds, error_score="raise")
    assert np.isfinite(scores).all()


def test_nothing_but_classes_of_one_object_is_refused():
    with pytest.warns(DroppedClassWarning), pytest.raises(DataError, match="every class has one object"):
        MDSFDA(1, singletons="drop").fit(1.0 - np.eye(3), ["a", "b", "c"])
