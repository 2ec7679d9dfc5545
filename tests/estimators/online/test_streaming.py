import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import IncrementalPCA

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.online import streaming
from gramian.estimators.online.streaming import stream_fit


class Counts:
    """Notes the size of each call."""

    def __init__(self):
        self.calls = []

    def partial_fit(self, X):
        self.calls.append(X.shape[0])


@pytest.fixture
def X(rng):
    return rng.normal(size=(1000, 3)) * [3.0, 2.0, 1.0]


def test_rows_come_in_stretches_once_an_epoch(X):
    counts = stream_fit(Counts(), X, epochs=2, batch_rows=300)
    assert counts.calls == [300, 300, 300, 100] * 2


def test_the_default_stretch_is_bounded_by_memory(X, monkeypatch):
    monkeypatch.setattr(streaming, "PART_BYTES", 100 * 3 * 8)
    assert stream_fit(Counts(), X).calls == [100] * 10
    # A sparse row counts what it holds.
    thin = sp.csr_array((np.ones(1000), (np.arange(1000), np.zeros(1000, int))), shape=(1000, 500))
    assert stream_fit(Counts(), thin).calls == [300, 300, 300, 100]


def test_files_frames_and_arrays_end_alike(X, tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame[:400].to_parquet(tmp_path / "1.parquet")
    frame[400:].to_parquet(tmp_path / "2.parquet")
    expected = stream_fit(gm.HebbianPCA(), X, batch_rows=256).weights_
    for source in (frame, str(tmp_path / "*.parquet"), [frame[:100], frame[100:]]):
        found = stream_fit(gm.HebbianPCA(), source, batch_rows=256)
        np.testing.assert_allclose(found.weights_, expected, atol=1e-10)


def test_estimators_of_others_are_fitted_too(X):
    theirs = stream_fit(IncrementalPCA(2), X, batch_rows=250)
    assert theirs.n_samples_seen_ == 1000


def test_targets_and_weights_are_columns(X):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=(X[:, 0] > 0).astype(int), w=1.0)
    model = stream_fit(gm.FisherDiscriminant(), frame, y="y", sample_weight="w", batch_rows=100)
    assert model.classes_.tolist() == [0, 1]
    online = stream_fit(gm.HebbianPCA(), frame, y="y", sample_weight="w", batch_rows=100)
    assert online.design_names_ == ["a", "b", "c"]


def test_what_cannot_be_is_refused_first(X):
    with pytest.raises(DataError, match="has no partial_fit"):
        stream_fit(gm.ClassicalMDS(), X)
    with pytest.raises(DataError, match="epochs is a whole number from 1; got 0"):
        stream_fit(gm.HebbianPCA(), X, epochs=0)
    with pytest.raises(DataError, match="can be read only once, and epochs=2"):
        stream_fit(gm.HebbianPCA(), iter([X]), epochs=2)
    with pytest.raises(DataError, match="takes no sample_weight"):
        stream_fit(Counts(), pd.DataFrame(X, columns=list("abc")), sample_weight="a")
    with pytest.raises(DataError, match="no rows"):
        stream_fit(Counts(), X[:0])
