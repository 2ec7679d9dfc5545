"""How much to shrink: the oracle formula from its definition, and the same from rows as from a matrix."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.class_moments import class_moments
from gramian.linear.fisher import PATH, cross_validated_shrinkage, oas_intensity, oas_shrinkage


def inside(x, y):
    return x - np.array([x[y == label].mean(axis=0) for label in y])


@pytest.mark.parametrize("p", [4, 600])
def test_the_intensity_is_that_of_the_within_class_correlations(rng, p):
    """By matrix, and by the eigenvalues of few rows."""
    n = 45
    y = np.arange(n) % 3
    x = rng.standard_normal((n, p)) * np.exp(rng.standard_normal(p)) + y[:, None]
    x[:, 1] += x[:, 0]
    m = gm.collect(pd.DataFrame(x).add_prefix("x").assign(y=y.astype(str)))
    correlation = np.corrcoef(inside(x, y).T)
    alpha, mu = np.square(correlation).mean(), 1.0
    expected = min(1.0, (alpha + mu**2) / ((n - 3 + 1) * (alpha - mu**2 / p)))
    assert oas_shrinkage(class_moments(m, None, "y")) == pytest.approx(expected, rel=1e-9)


def test_uncorrelated_columns_are_shrunk_all_the_way():
    assert oas_intensity(5.0, p=5, n=1000) == 1.0
    assert oas_intensity(25.0, p=5, n=1000) < 0.003


def test_the_choice_is_the_best_of_the_path(rng):
    y = rng.integers(0, 2, 200)
    x = rng.standard_normal((200, 30)) + 0.3 * y[:, None]
    m = gm.collect(pd.DataFrame(x).add_prefix("x").assign(y=y.astype(str)), folds=4)
    amount, curve = cross_validated_shrinkage(m, class_moments(m, None, "y"))
    np.testing.assert_array_equal(curve["shrinkage"], PATH)
    assert amount == PATH[int(np.argmax(curve["r2"]))] > 0
    assert (curve["r2_se"] > 0).all()
