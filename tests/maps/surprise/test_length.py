"""Squared lengths against the centred one-hot matrix, written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.maps.projection import Projection, Rows
from gramian.maps.surprise import score as module
from gramian.maps.surprise.score import SquaredLength


@pytest.fixture
def length(case, rng):
    weights = rng.normal(size=(len(case.design.names), 4))
    return SquaredLength(Projection(case.design, weights, np.zeros(4)), case.facts.scale, penalty=1e7)


def parts_by_hand(length, frame):
    """Return z_j of every row and column, (n, columns, features): zero where a level is new or a number is missing."""
    design, weights = length.design, length.projection.weights
    out = np.zeros((len(frame), len(design.columns), weights.shape[1]))
    for j, name in enumerate(frame.columns):
        span = design.spans[name]
        for i, value in enumerate(frame[name]):
            if j < 3:
                levels = design.labels[j].to_list()
                if value in levels:
                    one_hot = np.array([level == value for level in levels], float)
                    out[i, j] = (one_hot - design.mean[span]) @ weights[span]
            elif not np.isnan(value):
                out[i, j] = (value - design.mean[span.start]) * weights[span.start]
    return out


def test_scores_are_squared_lengths_and_terms_share_them_out(case, length, odd_rows):
    # The row that lies 1e11 standard deviations out is beyond the bound.
    frame = odd_rows.drop(index=5)
    rows, parts = case.encoded(frame), parts_by_hand(length, frame)
    unseen = length.penalty * case.design.unseen(rows)
    z = parts.sum(axis=1)
    np.testing.assert_allclose(length.apply_rows(rows), (z**2).sum(axis=1) + unseen.sum(axis=1), rtol=1e-9)
    terms = length.terms(rows)
    assert sorted(zip(*length.places, strict=True)) == [(j, k) for j in range(5) for k in range(j, 5)]
    for i in range(len(rows)):
        for j, k, term in zip(*length.places, terms[i], strict=True):
            expected = (2.0 if j < k else 1.0) * parts[i, j] @ parts[i, k] + (unseen[i, j] if j == k else 0.0)
            assert term == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_no_row_without_an_unseen_level_is_beyond_the_bound(case, length, odd_rows):
    longest = 0.0
    for k in range(3):
        span = case.design.spans[case.design.categorical[k].name]
        table = length.projection.weights[span]
        longest += max(np.linalg.norm(row - case.design.mean[span] @ table) for row in table)
    longest += sum(
        1e3 * scale * np.linalg.norm(length.projection.weights[at])
        for scale, at in zip(length.scale, case.design.number_places, strict=True)
    )
    assert length.bound == pytest.approx(longest**2, rel=1e-12)
    assert length.apply_rows(case.encoded(odd_rows))[5] == length.bound
    assert length.with_penalty(None).penalty == length.bound + 1
    assert length.with_penalty(2).penalty == 2.0


def test_blocks_batches_and_sparse_numbers_give_the_same(case, length, odd_rows, monkeypatch):
    rows = case.encoded(odd_rows.drop(index=5))
    whole = length.apply_rows(rows)
    np.testing.assert_allclose(length.apply([rows.part(slice(0, 5)), rows.part(slice(5, None))]), whole, rtol=1e-12)
    assert length.apply([]).shape == (0,)
    monkeypatch.setattr(module, "BLOCK_CELLS", 12)
    np.testing.assert_allclose(replace(length).apply_rows(rows), whole, rtol=1e-12)
    np.testing.assert_allclose(length.terms(Rows(rows.codes, sp.csr_array(rows.numbers))), length.terms(rows))


@pytest.mark.parametrize("far", [1e4, 1e11, 1e160, 1e300])
def test_terms_of_a_row_beyond_the_bound_add_up_to_its_score(length, case, odd_rows, far):
    rows = case.encoded(odd_rows)
    numbers = np.array(rows.numbers)
    numbers[0], numbers[1, 0] = far, -far
    rows = Rows(rows.codes, numbers)
    terms = length.terms(rows)
    np.testing.assert_allclose(terms.sum(axis=1), length.apply_rows(rows), rtol=1e-9, atol=1e-9)
    assert np.isfinite(terms).all()
