"""Explanations share a score out: what every row has is the mean over the training rows, and shares add up."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.maps.projection import Projection
from gramian.maps.surprise import explain as module
from gramian.maps.surprise.explain import EVERY_ROW, OTHER, REST, Wording, explanation, usual_terms
from gramian.maps.surprise.score import SquaredLength
from gramian.tables import open_table


@pytest.fixture(params=["pairs", "length"])
def score(request, case, pair_score):
    if request.param == "pairs":
        return pair_score
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(len(case.design.names), 4))
    return SquaredLength(Projection(case.design, weights, np.zeros(4)), case.facts.scale, penalty=1e4)


def test_usual_terms_are_means_over_the_training_rows(case, score):
    """No training row has a number, or a residual, three standard deviations out: there all terms are squares."""
    terms = score.terms(case.encoded())
    found = usual_terms(score, case.moments, case.facts)
    expected = terms.mean(axis=0)
    assert len(found) == len(set(zip(*map(tuple, score.places), strict=True)))
    # Relative to the sizes of what is averaged.
    assert (np.abs(found - expected) <= 1e-9 * np.abs(terms).mean(axis=0) + 1e-12).all()
    assert np.count_nonzero(found) >= 10


@pytest.mark.parametrize("top", [0, 2, 100])
@pytest.mark.parametrize("cells", [2**22, 60])
def test_reasons_are_the_largest_striking_terms_above_the_usual(case, score, odd_rows, top, cells, monkeypatch):
    monkeypatch.setattr(module, "CELLS", cells)
    if isinstance(score, SquaredLength):
        # The row that lies 1e11 standard deviations out: its terms have 22 digits more than what they leave.
        odd_rows = odd_rows.drop(index=5)
    usual = usual_terms(score, case.moments, case.facts)
    rows = case.encoded(odd_rows)
    striking = Wording(case.design, case.moments, case.facts).striking(rows, *score.places)
    terms, totals = score.terms(rows), score.apply_rows(rows)
    found = explanation(score, case.moments, case.facts, open_table(odd_rows), top)
    columns = {name: np.asarray(found[name]).tolist() for name in ("row", "columns", "contribution", "text")}
    at = 0
    for i in range(len(odd_rows)):
        worth = sorted((terms[i] - usual)[striking[i]], reverse=True)
        expected = [value for value in worth if value > 0][:top]
        n = len(expected) + 2
        assert columns["row"][at : at + n] == [i] * n
        shares = columns["contribution"][at : at + n]
        assert shares[:-2] == pytest.approx(expected, rel=1e-9)
        assert columns["text"][at + n - 2 : at + n] == [EVERY_ROW, OTHER]
        assert shares[-2] == pytest.approx(usual.sum(), rel=1e-9)
        assert sum(shares) == pytest.approx(totals[i], rel=1e-9)
        assert not set(columns["text"][at : at + n - 2]) & set(REST)
        at += n
    assert at == len(columns["row"])


def test_an_unseen_level_is_the_first_reason_and_its_value_is_told(case, pair_score, odd_rows):
    found = explanation(pair_score, case.moments, case.facts, open_table(odd_rows.iloc[:1]), 1)
    assert np.asarray(found["text"]).tolist()[0] == "a=new: never seen in 240 rows"
    assert np.asarray(found["seen"]).tolist()[0] == 0
