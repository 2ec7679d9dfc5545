"""Values as JSON has them."""

from __future__ import annotations

import datetime
import json

import numpy as np

from gramian.reporting.values import number, numbers, text


def test_numbers_are_rounded_and_finite_or_none() -> None:
    assert numbers([1.23456789, np.inf, np.nan, 2]) == [1.235, None, None, 2]
    assert number(np.int64(12345678)) == 12345678
    json.dumps(numbers(np.array([1, 2])), allow_nan=False)


def test_labels_are_texts_of_bearable_length() -> None:
    assert text(datetime.datetime(2025, 1, 2, 3, 4)) == "2025-01-02 03:04:00"
    assert text(float("nan")) == text(None) == "(missing)"
    assert text("é" * 81) == "é" * 79 + "…"
