"""Distances between texts and sequences of symbols, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.distances.metrics.sequences import SCORERS, StringMetric
from gramian.errors import MissingPackageError

WORDS = ["Smith", "Smyth", "Schmidt", "Jones", "Johnson", "", "Müller", "Mueller"]


def edits(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, z in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != z)))
    return row[-1]


def test_levenshtein_counts_edits() -> None:
    found = pairwise_distances(WORDS, metric="levenshtein")
    np.testing.assert_array_equal(found, [[edits(a, b) for b in WORDS] for a in WORDS])
    np.testing.assert_allclose(pairwise_distances(WORDS, metric="levenshtein", power=0.5), np.sqrt(found))


@pytest.mark.parametrize("metric", ["levenshtein", "indel", "hamming", "jaro", "jaro_winkler", "osa"])
def test_one_list_or_two_and_any_threads_agree(metric: str) -> None:
    found = pairwise_distances(WORDS, metric=metric)
    np.testing.assert_array_equal(pairwise_distances(WORDS, WORDS, metric=metric, n_jobs=1), found)
    np.testing.assert_array_equal(found, found.T)
    assert (found.diagonal() == 0).all()


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_texts_come_in_any_container(make: object) -> None:
    found = pairwise_distances(make(WORDS), metric="levenshtein")  # type: ignore[operator]
    np.testing.assert_array_equal(found, pairwise_distances(WORDS, metric="levenshtein"))


def test_sequences_of_symbols_are_texts() -> None:
    states = [["work", "work", "school"], ["school", "work", "school"], ["jobless"]]
    letters = ["wws", "sws", "j"]
    for metric in ("levenshtein", "indel", "hamming"):
        np.testing.assert_array_equal(
            pairwise_distances(states, metric=metric), pairwise_distances(letters, metric=metric)
        )


def test_absent_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rapidfuzz", None)
    with pytest.raises(MissingPackageError, match="pip install"):
        pairwise_distances(["a"], metric="levenshtein")


def test_normalized_distances_lie_between_0_and_1():
    for name in SCORERS:
        metric = StringMetric(name, {"normalized": True})
        found = metric.block(WORDS, WORDS, 1)
        assert found.min() == 0
        assert found.max() <= 1
