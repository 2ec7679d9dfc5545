"""Everything that a detector computes follows from its moments, each thing when it is first asked for."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
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
    assert len(found.facts.centre) == 3


def test_nothing_is_solved_before_it_is_asked_for(mixed, monkeypatch):
    m = gm.collect(mixed)
    monkeypatch.setattr("gramian.linear.density.detector.density_embedding", lambda *_, **__: pytest.fail("solved"))
    found = Detector(m, tuple(mixed.columns), "trees", 3.0, None)
    assert found.score.penalty == 3.0
    with pytest.raises(DataError, match="n_components"):
        Detector(m, tuple(mixed.columns), "trees", None, 1000)
