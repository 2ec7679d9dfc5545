import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.filters.univariate import variances


def test_numbers_have_the_population_variance_of_observed_values(mixed):
    m = gm.collect(mixed)
    found = variances(m, ["size", "cost", "grade"])
    expected = [np.nanvar(mixed["size"]), mixed["cost"].var(ddof=0), mixed["grade"].var(ddof=0)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_integers_with_missing_values_count_the_observed(rng):
    values = pd.array(rng.integers(0, 5, 60), dtype="Int64")
    values[::7] = pd.NA
    found = variances(gm.collect(pd.DataFrame({"x": values})), ["x"])
    assert found[0] == pytest.approx(np.var([v for v in values if v is not pd.NA]))


def test_a_category_has_the_chance_that_two_rows_differ(mixed):
    share = mixed["color"].value_counts(normalize=True)
    assert variances(gm.collect(mixed), ["color"])[0] == pytest.approx(1 - (share**2).sum())


def test_constants_have_exactly_none():
    frame = pd.DataFrame({"a": [1e8 + 0.1] * 7, "b": ["x"] * 7, "c": [3] * 7, "d": [np.nan] * 7})
    np.testing.assert_array_equal(variances(gm.collect(frame), ["a", "b", "c", "d"]), 0.0)


def test_weights_are_repeated_rows(mixed, rng):
    times = rng.integers(1, 4, len(mixed))
    repeated = gm.collect(mixed.loc[mixed.index.repeat(times)])
    weighted = gm.collect(mixed.assign(w=times), sample_weight="w")
    names = ["color", "grade", "size"]
    np.testing.assert_allclose(variances(weighted, names), variances(repeated, names), rtol=1e-10)
