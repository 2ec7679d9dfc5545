"""The test of independence against its special cases."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gramian as gm


@pytest.fixture
def frame(rng):
    n = 500
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.standard_normal(n) + 0.3 * (color == "red")
    return pd.DataFrame(
        {"color": color, "shape": rng.choice(["disc", "box"], n), "size": size, "cost": size + rng.standard_normal(n)}
    )


def test_two_numbers_give_the_squared_correlation(frame):
    found = gm.independence_test(gm.collect(frame), "size", "cost")
    r = np.corrcoef(frame["size"], frame["cost"])[0, 1]
    assert found.statistic == pytest.approx((len(frame) - 1) * r**2, rel=1e-12)
    assert found.df == 1
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 1), rel=1e-10)


def test_two_categories_give_pearsons_chi_squared(frame):
    found = gm.independence_test(gm.collect(frame), "color", "shape")
    table = pd.crosstab(frame["color"], frame["shape"])
    pearson = stats.chi2_contingency(table, correction=False)
    n = len(frame)
    assert found.statistic == pytest.approx(pearson.statistic * (n - 1) / n, rel=1e-10)
    assert found.df == pearson.dof


def test_a_number_and_classes_give_the_correlation_ratio(frame):
    found = gm.independence_test(gm.collect(frame), "size", "color")
    means = frame.groupby("color")["size"].transform("mean")
    ratio = np.square(means - frame["size"].mean()).sum() / np.square(frame["size"] - frame["size"].mean()).sum()
    assert found.statistic == pytest.approx((len(frame) - 1) * ratio, rel=1e-10)
    assert (found.rank_x, found.rank_y) == (1, 2)


def test_it_is_symmetric_for_mixed_blocks(frame):
    m = gm.collect(frame)
    one, other = ["color", "size"], ["shape", "cost"]
    a, b = gm.independence_test(m, one, other), gm.independence_test(m, other, one)
    assert a.statistic == pytest.approx(b.statistic, rel=1e-10)
    assert a.df == b.df == 6
    np.testing.assert_allclose(a.correlations, b.correlations, atol=1e-10)


def test_component_tests_start_with_the_whole_and_shrink(frame):
    found = gm.independence_test(gm.collect(frame), ["size", "cost"], "color")
    assert found.component_statistics[0] == pytest.approx(found.statistic)
    assert found.component_df.tolist() == [4, 1]
    assert found.component_statistics[1] < found.component_statistics[0]


def test_columns_of_small_integers_are_numbers(rng):
    frame = pd.DataFrame({"x": rng.integers(0, 5, 100), "y": rng.integers(0, 3, 100)})
    found = gm.independence_test(gm.collect(frame), "x", "y")
    assert found.statistic == pytest.approx(99 * np.corrcoef(frame["x"], frame["y"])[0, 1] ** 2, rel=1e-10)


def test_by_default_every_other_column_is_tested(frame):
    m = gm.collect(frame)
    whole = gm.independence_test(m, None, "cost")
    assert whole.rank_x == 4
    assert whole.statistic == pytest.approx(gm.independence_test(m, ["color", "shape", "size"], "cost").statistic)
