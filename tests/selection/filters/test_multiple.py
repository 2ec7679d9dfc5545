import numpy as np
import pytest
from scipy.stats import false_discovery_control

from gramian.selection.filters.univariate import adjusted


def test_the_false_discovery_rate_is_scipys(rng):
    p = rng.random(50) ** 3
    np.testing.assert_allclose(adjusted(p, "fdr"), false_discovery_control(p), rtol=1e-12)


def test_bonferroni_multiplies_by_the_number_of_tests():
    np.testing.assert_allclose(adjusted([0.01, 0.4], "bonferroni"), [0.02, 0.8])


def test_none_leaves_p_values_alone():
    np.testing.assert_array_equal(adjusted([0.2, 0.1], "none"), [0.2, 0.1])


@pytest.mark.parametrize("control", ["fdr", "bonferroni", "none"])
def test_no_tests_have_no_p_values(control):
    assert adjusted([], control).shape == (0,)
