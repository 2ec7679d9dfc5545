"""Everything that a detector computes follows from its moments, each thing when it is first asked for."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.density import sampling, spanning
from gramian.linear.density.detector import METHODS, Detector


@pytest.mark.parametrize("kind", METHODS)
def test_it_answers_as_the_estimator_that_holds_it(mixed, kind):
    m = gm.collect(mixed)
    found = Detector(m, tuple(mixed.columns), kind, None, None)
    model = gm.DensityEmbedding(method=kind).fit(mixed)
    rows = next(iter(found.design.rows(gm.tables.opening.open_table(mixed))))
    np.testing.assert_allclose(found.score.apply_rows(rows), model.anomaly_score(mixed), rtol=1e-9)
    np.testing.assert_allclose(found.projection.apply_rows(rows), model.transform(mixed), atol=1e-9)
    assert np.isfinite(found.threshold)
    assert len(found.depends.centre) == 3


def test_nothing_is_solved_before_it_is_asked_for(mixed, monkeypatch):
    m = gm.collect(mixed)
    monkeypatch.setattr("gramian.linear.density.detector.density_embedding", lambda *_, **__: pytest.fail("solved"))
    found = Detector(m, tuple(mixed.columns), "trees", 3.0, None)
    assert found.score.penalty == 3.0
    with pytest.raises(DataError, match="n_components"):
        Detector(m, tuple(mixed.columns), "trees", None, 1000)


def test_of_many_columns_with_few_rows_scores_add_up(rng, monkeypatch):
    monkeypatch.setattr(spanning, "ALL_TREES", 20)
    monkeypatch.setattr(sampling, "ALL_TREES", 20)
    frame = pd.DataFrame(rng.standard_normal((40, 30)) + rng.standard_normal((40, 1))).rename(columns=str)
    frame["kind"] = rng.choice(["a", "b"], 40)
    model = gm.DensityEmbedding().fit(frame)
    scores = model.anomaly_score(frame)
    # About one clean row in a hundred is odd.
    assert (model.predict(frame) == -1).sum() <= 4
    shares = model.explain(frame).groupby("row")["contribution"].sum()
    np.testing.assert_allclose(shares, scores, rtol=1e-9)
    n_edges = len(model._detector.score.places[0]) - 31
    assert n_edges == 30
