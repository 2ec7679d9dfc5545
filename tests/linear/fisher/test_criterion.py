"""J of a direction, from rows and from moments."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.fisher import fisher_criterion


def by_pairs(z, y):
    """Mean squared gap of class means over all pairs of rows from different classes, over the squares within."""
    means = {label: z[y == label].mean() for label in np.unique(y)}
    gaps = [(means[y[i]] - means[y[j]]) ** 2 for i in range(len(z)) for j in range(i) if y[i] != y[j]]
    return np.mean(gaps) / sum(np.square(z[y == label] - mean).sum() for label, mean in means.items())


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_mean_squared_gap_over_the_squares_within(rng, classes):
    x, y = rng.standard_normal((40, 3)), rng.integers(0, classes, 40)
    x[:, 0] += y
    w = np.array([1.0, -2.0, 0.5])
    expected = by_pairs(x @ w, y)
    assert fisher_criterion(x, y, w) == pytest.approx(expected, rel=1e-10)
    assert fisher_criterion(x, y, 7 * w) == pytest.approx(expected, rel=1e-10)
    m = gm.collect({"p": x[:, 0], "q": x[:, 1], "r": x[:, 2], "y": y.astype(str)})
    assert fisher_criterion(m, "y", w) == pytest.approx(expected, rel=1e-9)


def test_classes_that_do_not_vary_are_infinitely_apart_and_wrong_shapes_refused(rng):
    x, y = np.array([[1.0], [1.0], [2.0], [2.0]]), ["a", "a", "b", "b"]
    assert fisher_criterion(x, y, [1.0]) == np.inf
    m = gm.collect({"x": x[:, 0], "y": y})
    assert fisher_criterion(m, "y", [1.0]) == np.inf
    with pytest.raises(DataError, match="w has 2 entries"):
        fisher_criterion(m, "y", [1.0, 2.0])
    with pytest.raises(DataError, match="one only"):
        fisher_criterion(x, ["a"] * 4, [1.0])
    with pytest.raises(DataError, match="shapes"):
        fisher_criterion(x, ["a"], [1.0])
