"""A pair score against its definition, a loop over rows, values and pairs of values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.maps.projection import Rows
from gramian.maps.surprise import score as module
from gramian.maps.surprise.score import energy, normal_score


def test_energy_is_a_square_and_then_a_logarithm_without_a_kink():
    z = np.array([0.0, -1.0, 2.9, 3.0, -4.0, 1e3])
    expected = [v * v / 2 if abs(v) <= 3 else 4.5 * (1 + np.log(v * v / 9)) for v in z]
    np.testing.assert_allclose(energy(z), expected, rtol=1e-14)
    step = 1e-6
    below, above = ((energy(3 + d + step) - energy(3 + d)) / step for d in (-step, 0.0))
    assert below == pytest.approx(above, rel=1e-5)
    assert np.isnan(energy(np.nan))


def test_terms_are_those_of_the_definition_and_add_up_to_the_score(case, pair_score, odd_rows, terms_by_hand):
    for frame in (case.frame.iloc[:40], odd_rows):
        expected = terms_by_hand(pair_score, frame)
        rows = case.encoded(frame)
        np.testing.assert_allclose(pair_score.terms(rows), expected[:, *pair_score.places], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(pair_score.apply_rows(rows), expected.sum(axis=(1, 2)), rtol=1e-10)


def test_parts_in_threads_and_batches_give_what_one_part_gives(case, pair_score, monkeypatch):
    rows = case.encoded()
    whole = pair_score.apply_rows(rows)
    monkeypatch.setattr(module, "BLOCK_ROWS", 7)
    assert np.array_equal(pair_score.apply_rows(rows), whole)
    assert np.array_equal(pair_score.apply([rows.part(slice(0, 100)), rows.part(slice(100, None))]), whole)
    assert pair_score.apply([]).shape == (0,)


def test_numbers_in_a_sparse_matrix_are_the_same_numbers(case, pair_score):
    rows = case.encoded()
    held = Rows(rows.codes, sp.csr_array(rows.numbers))
    assert np.array_equal(pair_score.apply_rows(held), pair_score.apply_rows(rows))
    assert np.array_equal(pair_score.terms(held), pair_score.terms(rows))


def test_levels_alone_and_numbers_alone(case, pair_score, odd_rows, terms_by_hand):
    rows, expected = case.encoded(odd_rows), terms_by_hand(pair_score, odd_rows)
    levels = replace(pair_score, numbers=None)
    np.testing.assert_allclose(levels.apply_rows(rows), expected[:, :3, :3].sum(axis=(1, 2)), rtol=1e-10)
    np.testing.assert_allclose(levels.terms(rows), expected[:, *levels.places], rtol=1e-10)
    assert max(map(max, levels.places)) == 2


def test_skewed_numbers_are_taken_on_their_scale(case, pair_score):
    bend = np.array([0.0, 0.6])
    bent = replace(pair_score, numbers=replace(pair_score.numbers, bend=bend))
    rows = case.encoded()
    z = (rows.numbers - case.facts.centre) / case.facts.scale
    found = bent.standardised(rows)
    np.testing.assert_allclose(found[:, 0], z[:, 0], rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], normal_score(z[:, 1], np.array(0.6)), rtol=1e-10)
    assert np.abs(found[:, 1] - z[:, 1]).max() > 0.1


def test_a_penalty_puts_unseen_levels_above_the_bounds(case, pair_score, odd_rows):
    assert pair_score.with_penalty(None).penalty == 30.0 - -20.0 + 1.0
    assert pair_score.with_penalty(3).penalty == 3.0
    rows = case.encoded(odd_rows)
    n_unseen = case.design.unseen(rows).sum(axis=1)
    assert n_unseen[:4].tolist() == [1, 2, 1, 0]
    gain = pair_score.with_penalty(7.0).apply_rows(rows) - pair_score.with_penalty(2.0).apply_rows(rows)
    np.testing.assert_allclose(gain, 5.0 * n_unseen, atol=1e-9)
    assert pair_score.starts.tolist() == [0, *np.cumsum(pair_score.sizes)[:-1]]
