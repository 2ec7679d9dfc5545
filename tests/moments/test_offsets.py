"""Moments of large integers counted from an offset, against exact integer arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.moments.advice import LARGE, near_zero

BASE = 2**62
STEPS = np.array([0, 3, 3, 9, 12, 700])


def collected(values: list[int] | np.ndarray, **options: object) -> gm.Moments:
    return gm.collect(pa.table({"big": pa.array(values, pa.int64()), "x": np.arange(len(values)) / 7}), **options)


@pytest.mark.parametrize("numeric", [["big"], []])
def test_offsets_are_noted_and_what_is_left_is_exact(numeric):
    m = collected(BASE + STEPS, numeric=numeric)
    less = near_zero(m)
    assert set(less.offsets) == {"big"}
    offset = less.offsets["big"]
    assert abs(offset) >= LARGE
    left = [Fraction(BASE + int(step)) - Fraction(offset) for step in STEPS]
    mean = sum(left) / len(left)
    # What is left is far below 2^53, so its mean is known to the last digit but one.
    assert less.mean(["big"])[0] == pytest.approx(float(mean), rel=1e-14)
    variance = sum((value - mean) ** 2 for value in left) / (len(left) - 1)
    assert less.covariance(["big"])[0, 0] == pytest.approx(float(variance), rel=1e-13)
    assert less.covariance(["big"])[0, 0] == pytest.approx(m.covariance(["big"])[0, 0], rel=1e-13)
    assert less.mean(["x"])[0] == m.mean(["x"])[0]


def test_moments_without_large_numbers_are_given_back_as_they_are():
    m = collected(STEPS)
    assert near_zero(m) is m
    assert m.offsets == {}


def test_numbers_below_the_limit_and_beyond_integers_have_no_offset():
    for value, noted in ((LARGE / 2, False), (LARGE, True), (-LARGE * 4, True), (1e30, False)):
        m = gm.collect(np.full((3, 1), value))
        assert (near_zero(m).offsets == {"x0": value}) is noted


def test_targets_keep_their_labels_and_folds_lose_the_same_offset():
    m = collected(np.tile(BASE + STEPS, 5), targets="big", folds=3)
    assert near_zero(m, ["big"]) is m
    less = near_zero(m)
    assert [fold.offsets for fold in less.folds] == [less.offsets] * 3
    (kept,), (moved,) = (each.labels for each in (m, less))
    assert [Fraction(v) + Fraction(less.offsets["big"]) for v in moved.to_list()] == kept.to_list()
