"""r, eta and V with their tests, against scipy and definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gramian as gm
from gramian.selection.filters.univariate import correlations
from gramian.selection.problem import problem_of


@pytest.fixture
def frame(mixed):
    mixed["y"] = mixed["grade"] - (mixed["color"] == "red") + np.linspace(-1, 1, len(mixed)) ** 3
    return mixed.drop(columns="size")


def found(frame, columns, target, **options):
    return correlations(problem_of(gm.collect(frame), columns, [target], **options))


def test_two_numbers_have_pearsons_r_with_its_sign_and_test(frame):
    got = found(frame.assign(minus=-frame["cost"]), ["cost", "grade", "minus"], "y")
    for k, values in enumerate((frame["cost"], frame["grade"], -frame["cost"])):
        expected = stats.pearsonr(values, frame["y"])
        assert got.plain[k] == pytest.approx(expected.statistic, rel=1e-9)
        assert got.p_values[k] == pytest.approx(expected.pvalue, rel=1e-7)
    assert got.measures == ["r", "r", "r"]


def test_a_number_and_a_category_have_the_correlation_ratio_and_anova(frame):
    groups = [part["y"] for _, part in frame.groupby("color")]
    between = sum(len(g) * (g.mean() - frame["y"].mean()) ** 2 for g in groups)
    eta2 = between / ((frame["y"] - frame["y"].mean()) ** 2).sum()
    for got in (found(frame, ["color"], "y"), found(frame, ["y"], "color")):
        assert got.plain[0] == pytest.approx(np.sqrt(eta2), rel=1e-9)
        assert got.p_values[0] == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-7)
        n = len(frame)
        assert got.beyond_chance[0] ** 2 == pytest.approx(1 - (1 - eta2) * (n - 1) / (n - 3), rel=1e-9)
        assert got.measures == ["eta"]


@pytest.mark.parametrize("weighted", [False, True])
def test_beyond_chance_is_adjusted_r2_whatever_the_kind_of_the_column(mixed, rng, weighted):
    # Numbers, two levels and three on one scale: of each the regression of y on its design columns.
    y = 0.3 * (mixed["color"] == "red") + rng.standard_normal(len(mixed))
    frame = mixed[["color", "cost"]].assign(
        flag=np.where(mixed["color"] == "red", "on", "off"), noise=rng.random(400), y=y
    )
    w = rng.integers(1, 4, len(frame)) if weighted else np.ones(len(frame), dtype=int)
    rows = frame.loc[frame.index.repeat(w)]
    m = gm.collect(frame.assign(w=w), sample_weight="w")
    got = correlations(problem_of(m, ["color", "cost", "flag", "noise"], ["y"]))
    n = len(rows)
    for k, name in enumerate(["color", "cost", "flag", "noise"]):
        x = np.column_stack([np.ones(n), pd.get_dummies(rows[[name]], drop_first=True).to_numpy(float)])
        left = rows["y"] - x @ np.linalg.lstsq(x, rows["y"], rcond=None)[0]
        r2 = 1 - np.square(left).sum() / np.square(rows["y"] - rows["y"].mean()).sum()
        adjusted = 1 - (1 - r2) * (n - 1) / (n - x.shape[1])
        assert np.square(got.beyond_chance[k]) == pytest.approx(max(adjusted, 0.0), abs=1e-9)
        assert got.plain[k] ** 2 == pytest.approx(r2, abs=1e-9)


def test_two_categories_have_cramers_v_and_chi_squared(frame):
    table = pd.crosstab(frame["shape"], frame["kind"])
    got = found(frame, ["shape"], "kind")
    assert got.plain[0] == pytest.approx(stats.contingency.association(table, method="cramer"), rel=1e-9)
    assert got.p_values[0] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, rel=1e-7)
    assert got.measures == ["V"]


def test_several_numbers_as_target_have_the_f_of_a_regression(frame, rng):
    # One number against two: Pillai's F is that of the regression of the number on both, exactly.
    frame["z"] = rng.standard_normal(len(frame)) + 0.2 * frame["grade"]
    got = correlations(problem_of(gm.collect(frame), ["grade"], ["y", "z"]))
    Z = np.column_stack([np.ones(len(frame)), frame["y"], frame["z"]])
    left = frame["grade"] - Z @ np.linalg.lstsq(Z, frame["grade"], rcond=None)[0]
    r2 = 1 - np.square(left).sum() / np.square(frame["grade"] - frame["grade"].mean()).sum()
    n = len(frame)
    assert got.plain[0] == pytest.approx(np.sqrt(r2), rel=1e-9)
    assert got.p_values[0] == pytest.approx(stats.f.sf(r2 / 2 / ((1 - r2) / (n - 3)), 2, n - 3), rel=1e-7)
    assert got.measures == ["canonical"]


def test_an_identifier_goes_with_nothing_beyond_chance(frame):
    frame["id"] = [f"i{k}" for k in range(len(frame))]
    m = gm.collect(frame)
    for target in ("y", "kind"):
        got = correlations(problem_of(m, ["id", "color"], [target]))
        assert got.plain[0] == pytest.approx(1.0)
        assert got.beyond_chance[0] == 0.0
        assert got.p_values[0] > 0.1
        assert got.beyond_chance[1] > 0.1


def test_constants_have_no_correlation_and_no_evidence(frame):
    got = found(frame.assign(flat=2.0, same="x"), ["flat", "same", "color"], "y")
    np.testing.assert_array_equal(got.plain[:2], 0.0)
    np.testing.assert_array_equal(got.p_values[:2], 1.0)


def test_a_perfect_relation_has_p_value_zero_and_correlation_one(frame):
    got = found(frame.assign(copy=3 * frame["y"]), ["copy"], "y")
    assert got.plain[0] == pytest.approx(1.0)
    assert got.p_values[0] < 1e-200
