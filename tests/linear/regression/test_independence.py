"""The test of independence against its special cases."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gramian as gm
from gramian.errors import DataError


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
    # As plainly dependent as this, by chi-squared too; the tails of the two laws differ.
    assert 0 < found.p_value < 1e-20
    assert found.null == "exact"


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


def rejected(x, y, n, rng, *, draws=15, repeats=60):
    """Return the shares of null tables rejected at 1% and 5%: rows paired anew, which leaves the law as it is."""
    p_values = []
    for _ in range(draws):
        left, right = x(rng, n), y(rng, n)
        names = [f"x{j}" for j in range(len(left))]
        frame = pd.DataFrame(dict(zip(names, left, strict=True)) | {"y": right})
        test = gm.independence_test(gm.collect(frame), names, "y")
        law = test.null_law
        a, b = orthonormal(left), orthonormal([right])
        shuffled = np.concatenate([b[rng.permutation(n)] for _ in range(repeats)], axis=1)
        found = np.square(a.T @ shuffled).sum(axis=0).reshape(repeats, -1).sum(axis=1)
        p_values += [law.upper_tail((n - 1) * value) for value in found]
    return [np.mean(np.array(p_values) < level) for level in (0.01, 0.05)]


def orthonormal(columns):
    parts = [
        c[:, None] if c.dtype.kind == "f" else (c[:, None] == np.unique(c)).astype(float)
        for c in map(np.asarray, columns)
    ]
    centred = np.column_stack(parts) - np.column_stack(parts).mean(axis=0)
    left, values, _ = np.linalg.svd(centred / np.sqrt((centred**2).sum(axis=0)), full_matrices=False)
    return left[:, values > 1e-8 * values[0]]


def zipf(k):
    share = 1 / np.arange(1, k + 1)
    return lambda rng, n: [np.char.add("l", rng.choice(k, n, p=share / share.sum()).astype(str))]


NULLS = {
    "0.5% class, Zipf": (zipf(100), lambda rng, n: np.where(np.arange(n) < 0.005 * n, "odd", "usual"), 2000),
    "2% class, even": (
        lambda rng, n: [np.char.add("l", rng.integers(0, 60, n).astype(str))],
        lambda rng, n: np.where(np.arange(n) < 0.02 * n, "odd", "usual"),
        1000,
    ),
    "lognormal, Zipf": (zipf(60), lambda rng, n: np.exp(rng.standard_normal(n)), 1500),
    "t2, t2": (lambda rng, n: [rng.standard_t(2, n)], lambda rng, n: rng.standard_t(2, n), 3000),
    "1% class, three columns": (
        lambda rng, n: zipf(40)(rng, n) + zipf(25)(rng, n) + [np.exp(rng.standard_normal(n))],
        lambda rng, n: np.where(np.arange(n) < 0.01 * n, "odd", "usual"),
        1500,
    ),
}


@pytest.mark.parametrize("case", NULLS)
def test_null_tables_are_rejected_as_often_as_the_level_says(case, rng):
    x, y, n = NULLS[case]
    at_1, at_5 = rejected(x, y, n, rng)
    # Half to twice nominal, and three standard errors of 900 tables: chi-squared has 5% to 30% at 1% in these.
    assert 0.0 <= at_1 <= 0.02 + 3 * np.sqrt(0.01 / 900)
    assert 0.025 - 3 * np.sqrt(0.05 / 900) <= at_5 <= 0.1 + 3 * np.sqrt(0.05 / 900)


def test_a_rare_class_of_its_own_level_is_found(rng):
    n = 4000
    label = rng.choice(100, n)
    rare = (label == 7) & (rng.random(n) < 0.6)
    frame = pd.DataFrame({"x": np.char.add("l", label.astype(str)), "y": np.where(rare, "odd", "usual")})
    found = gm.independence_test(gm.collect(frame), "x", "y")
    assert 0 < found.p_value < 1e-30


def test_weights_are_repeated_rows(frame, rng):
    weight = rng.integers(1, 4, len(frame))
    a = gm.independence_test(gm.collect(frame, sample_weight=weight.astype(float)), ["color", "size"], "cost")
    b = gm.independence_test(gm.collect(frame.loc[frame.index.repeat(weight)]), ["color", "size"], "cost")
    assert (a.null, b.null) == ("estimated", "estimated")
    assert a.null_variance == pytest.approx(b.null_variance, rel=1e-9)
    assert a.null_skewness == pytest.approx(b.null_skewness, rel=1e-7)
    assert a.p_value == pytest.approx(b.p_value, rel=1e-6)


def test_both_ways_round_the_law_is_the_same(frame):
    m = gm.collect(frame)
    a, b = gm.independence_test(m, "color", "cost"), gm.independence_test(m, "cost", "color")
    assert a.null_variance == pytest.approx(b.null_variance, rel=1e-10)
    assert a.p_value == pytest.approx(b.p_value, rel=1e-6)


def test_the_repr_says_how_the_law_is_known(frame):
    m = gm.collect(frame)
    assert "null='exact'" in repr(gm.independence_test(m, "color", "cost"))
    assert "null='estimated'" in repr(gm.independence_test(m, ["color", "shape"], "cost"))
    assert "null='estimated'" in repr(gm.independence_test(m, "color", ["shape", "cost"]))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_rows_have_a_p_value(n):
    frame = pd.DataFrame({"x": np.char.add("l", (np.arange(n) % 2).astype(str)), "y": np.arange(float(n)) ** 2})
    found = gm.independence_test(gm.collect(frame), "x", "y")
    assert 0 < found.p_value <= 1
    if n == 2:
        assert found.p_value == 1.0


def test_one_row_is_refused_in_a_line():
    with pytest.raises(gm.errors.DataError, match=r"test of independence.*total weight above 1"):
        gm.independence_test(gm.collect(pd.DataFrame({"x": ["a"], "y": [1.0]})), "x", "y")


def test_components_of_a_plain_first_direction_leave_the_rest_to_chance(rng):
    # y = c0 moves x0 alone, so one direction is real: the p-value of the second is not small more often than it should be.
    second = []
    for _ in range(120):
        y = rng.choice(3, 1000, p=[0.5, 0.48, 0.02])
        frame = pd.DataFrame({"a": rng.standard_normal(1000) + (y == 0), "b": np.exp(rng.standard_normal(1000))})
        found = gm.independence_test(gm.collect(frame.assign(y=np.char.add("c", y.astype(str)))), ["a", "b"], "y")
        assert found.component_p_values[0] < 1e-6
        assert (np.diff(found.component_p_values) >= 0).all()
        second.append(found.component_p_values[1])
    # 120 tables: 5% is 6, and 14 would be beyond three standard errors.
    assert sum(p < 0.05 for p in second) <= 14
    assert np.mean(second) > 0.3


@pytest.mark.parametrize("unit", [1e-90, 1e-20, 1e45, 1e60, 1e90])
def test_the_unit_of_a_number_does_not_matter_where_its_powers_fit(frame, unit):
    far = gm.independence_test(gm.collect(frame.assign(cost=unit * frame["cost"])), "color", "cost")
    near = gm.independence_test(gm.collect(frame), "color", "cost")
    assert far.statistic == pytest.approx(near.statistic, rel=1e-6)
    if unit < 1e50:
        assert far.null == "exact"
    # Beyond, skewness or variance are unknown: the p-value is another approximation, and still one.
    assert far.p_value == pytest.approx(near.p_value, rel=1e-6 if 1e-50 < unit < 1e50 else 0.5)


def test_rows_are_to_be_collected_first(frame):
    with pytest.raises(gm.errors.DataError, match=r"independence_test\(\) takes Moments; got DataFrame"):
        gm.independence_test(frame, "color", "cost")


def test_the_columns_may_be_left_out(mixed):
    m = gm.collect(mixed)
    others = [name for name in m.columns if name != "kind"]
    expected = gm.independence_test(m, others, "kind")
    for found in (
        gm.independence_test(m, "kind"),
        gm.independence_test(m, target="kind"),
        gm.independence_test(m, None, "kind"),
        gm.independence_test(m, ["kind"]),
    ):
        assert found.statistic == expected.statistic
        assert found.p_value == expected.p_value
    with pytest.raises(DataError, match=r"independence_test.* needs a target"):
        gm.independence_test(m)
