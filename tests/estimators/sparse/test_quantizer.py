"""`VectorQuantizer`: the nearest mean, in memory and in a stream."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.sparse.dictionary import VectorQuantizer


def test_a_code_is_the_nearest_atom(rng):
    rows = rng.normal(size=(200, 3))
    model = VectorQuantizer(5).fit(rows)
    nearest = ((rows[:, None] - model.dictionary_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.transform(rows), np.eye(5)[nearest])
    np.testing.assert_array_equal(model.inverse_transform(model.transform(rows)), model.dictionary_[nearest])
    assert model.inertia_ == pytest.approx(np.square(model.reconstruction_error(rows)).sum(), rel=1e-6)
    np.testing.assert_array_equal(model.uses_, np.bincount(nearest, minlength=5))


def test_a_stream(rng, tmp_path):
    rows = rng.normal(size=(300, 2)) + 8 * rng.integers(0, 2, size=(300, 1))
    model = VectorQuantizer(2)
    for batch in np.array_split(rows, 4):
        model.partial_fit(batch)
    assert model.uses_.sum() == 300
    cell = (rows[:, 0] + rows[:, 1] > 8).astype(int)
    means = np.array([rows[cell == j].mean(axis=0) for j in (0, 1)])
    np.testing.assert_allclose(model.dictionary_[np.argsort(model.dictionary_[:, 0])], means, rtol=1e-9)
    gm.save(model, tmp_path / "vq.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "vq.model").transform(rows), model.transform(rows))


def test_fewer_rows_than_atoms():
    with pytest.raises(DataError, match="n_samples = 2"):
        VectorQuantizer(3).fit([[0.0], [1.0]])
    np.testing.assert_array_equal(VectorQuantizer(1).fit([[3.0, 4.0]]).dictionary_, [[3.0, 4.0]])


def test_it_predicts_and_scores_as_k_means_does(rng, tmp_path):
    X, weights = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    model = gm.VectorQuantizer(5).fit(X)
    peer = KMeans(5, n_init=1, random_state=0).fit(X)
    peer.cluster_centers_ = model.dictionary_
    distances = np.square(X[:, None] - model.dictionary_).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.transform(X).argmax(axis=1))
    assert model.score(X) == pytest.approx(-distances.min(axis=1).sum())
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert model.score(X, sample_weight=weights) == pytest.approx(peer.score(X, sample_weight=weights))
    gm.save(model, tmp_path / "vq.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "vq.model").predict(X.astype(np.float32)), model.predict(X))
