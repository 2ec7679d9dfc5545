"""Bins of numbers: which one a value is in, and edges from a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.design.bins import LEAST_ROWS, Bins, quantile_bins

FLOATS = st.floats(-1e9, 1e9) | st.sampled_from([0.0, -0.0, 0.1, 1e-300, -1e300])


def bin_by_definition(bins: Bins, value: float) -> str | None:
    """Return the label of a value by comparing it with one edge after the other."""
    if np.isnan(value):
        return None
    names = bins.names
    if value in bins.own:
        return names[len(bins.edges) + 1 + bins.own.index(value)]
    return names[sum(edge <= value for edge in bins.edges)]


@given(st.lists(FLOATS, unique=True, max_size=6), st.lists(FLOATS, unique=True, max_size=3), st.lists(FLOATS))
def test_a_value_is_in_the_bin_of_the_definition(edges: list[float], own: list[float], values: list[float]) -> None:
    bins = Bins(tuple(sorted(edges)), tuple(sorted(own)))
    values = [*values, *edges, *own, np.nan, np.inf, -np.inf]
    assert bins.of(np.array(values)).to_pylist() == [bin_by_definition(bins, value) for value in values]


@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), max_size=400), st.integers(2, 20))
def test_quantile_bins_hold_what_they_promise(values: list[float], most: int) -> None:
    sample = np.array(values)
    bins = quantile_bins(sample, most)
    if bins is None:
        assert len(set(values)) < 3
        return
    assert bins.valid
    assert len(bins.names) <= most + 1
    distinct, counts = np.unique(sample, return_counts=True)
    if len(distinct) > most:
        assert set(bins.own) == set(distinct[counts > len(sample) / most])
        rest = sample[~np.isin(sample, bins.own)]
        assert len(bins.edges) < max(2, len(rest) // LEAST_ROWS + 1)
        # No interval between two edges is without rows.
        inside = np.histogram(rest, [-np.inf, *bins.edges, np.inf])[0]
        assert len(rest) == 0 or (inside > 0).all()


def test_intervals_hold_equally_many_rows(rng: np.random.Generator) -> None:
    values = rng.normal(size=16_000)
    bins = quantile_bins(values, 16)
    counts = np.histogram(values, [-np.inf, *bins.edges, np.inf])[0]
    assert np.abs(counts - 1000).max() <= 1


def test_a_frequent_value_has_a_bin_of_its_own(rng: np.random.Generator) -> None:
    values = np.where(rng.random(5000) < 0.9, 0.0, rng.exponential(size=5000))
    bins = quantile_bins(values)
    assert bins.own == (0.0,)
    assert len(bins.edges) == 14


@pytest.mark.parametrize(
    ("edges", "own"), [((2.0, 1.0), ()), ((1.0, 1.0), ()), ((np.nan,), ()), ((1,), ()), ([1.0], ()), ((), (np.inf,))]
)
def test_bins_of_no_meaning_are_not_valid(edges: tuple, own: tuple) -> None:
    assert not Bins(edges, own).valid
