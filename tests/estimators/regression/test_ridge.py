"""`Ridge` as an estimator: what it takes, what it refuses, what stays after a file, sums and differences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def rent(rng) -> pd.DataFrame:
    n = 300
    city = rng.choice(["bonn", "kiel", "ulm"], n)
    rooms = rng.normal(3, 1, n)
    return pd.DataFrame(
        {
            "city": city,
            "rooms": rooms,
            "old": rng.random(n) < 0.3,
            "rent": 200 * rooms + 50 * (city == "ulm") + rng.normal(0, 30, n),
        }
    )


class TestSums:
    def test_fit_of_merged_moments_is_the_fit_of_the_whole(self, rent):
        halves = gm.collect(rent[:120]) + gm.collect(rent[120:])
        whole = gm.Ridge(0).fit(rent, "rent")
        merged = gm.Ridge(0).fit(halves, "rent")
        np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-10)
        np.testing.assert_allclose(merged.inference()["std_error"], whole.inference()["std_error"], rtol=1e-10)

    def test_models_add_subtract_and_go_on(self, rent):
        a, b = gm.Ridge(0).fit(rent[:120], "rent"), gm.Ridge(0).fit(rent[120:], "rent")
        whole = gm.Ridge(0).fit(rent, "rent")
        np.testing.assert_allclose((a + b).coef_, whole.coef_, rtol=1e-10)
        np.testing.assert_allclose(((a + b) - b).coef_, a.coef_, rtol=1e-9)
        later = gm.Ridge(0).partial_fit(rent[:120], "rent").partial_fit(rent[120:], "rent")
        np.testing.assert_allclose(later.coef_, whole.coef_, rtol=1e-10)
        with pytest.raises(DataError, match="other columns"):
            a + gm.Ridge(0).fit(rent.drop(columns="old"), "rent")

    def test_models_of_different_penalties_do_not_add_up(self, rent):
        one, other = gm.Ridge(1.0).fit(rent, "rent"), gm.Ridge(2.0).fit(rent, "rent")
        for combine in (lambda: one + other, lambda: one - other):
            with pytest.raises(DataError, match=r"alpha=1.0 and alpha=2.0; fit both with the same"):
                combine()

    def test_the_order_of_columns_changes_nothing(self, rent):
        one = gm.Ridge(0).fit(rent, "rent").inference().set_index(["column", "level"])
        other = (
            gm.Ridge(0).fit(rent[["rent", "old", "rooms", "city"]], "rent").inference().set_index(["column", "level"])
        )
        pd.testing.assert_frame_equal(one.sort_index(), other.sort_index(), rtol=1e-9)

    def test_anova_of_two_levels_is_the_square_of_their_t(self, rent):
        model = gm.Ridge(0).fit(rent, "rent")
        t = model.inference().set_index("column").loc["old", "statistic"]
        f = model.anova().set_index("column").loc["old"]
        np.testing.assert_allclose(f["statistic"], t**2, rtol=1e-10)
        np.testing.assert_allclose(f["p_value"], model.inference().set_index("column").loc["old", "p_value"], rtol=1e-8)


class TestPenalty:
    def test_a_penalty_is_chosen_by_either_rule(self, rent):
        for rule, score in (("auto", "gcv"), ("cv", "r2")):
            model = gm.Ridge(rule).fit(rent, "rent")
            assert model.alpha_ in model.selection_["alpha"]
            assert score in model.selection_
            np.testing.assert_allclose(model.coef_, gm.Ridge(model.alpha_).fit(rent, "rent").coef_, rtol=1e-9)

    def test_held_out_scores_are_those_of_refitting(self, rent, collect_in_folds):
        parts = [rent[k::3] for k in range(3)]
        model = gm.Ridge("cv").fit(collect_in_folds(parts), "rent")
        k = len(model.selection_["alpha"]) // 2
        alpha, errors, base = model.selection_["alpha"][k], 0.0, 0.0
        for left_out in range(3):
            rest = pd.concat([part for j, part in enumerate(parts) if j != left_out])
            fitted = gm.Ridge(float(alpha)).fit(rest, "rent")
            errors += np.square(parts[left_out]["rent"] - fitted.predict(parts[left_out])).sum()
            base += np.square(parts[left_out]["rent"] - rest["rent"].mean()).sum()
        np.testing.assert_allclose(model.selection_["r2"][k], 1 - errors / base, rtol=1e-8)

    def test_coefficients_sum_to_zero_over_a_category(self, rent):
        for alpha in (0, 5.0):
            model = gm.Ridge(alpha).fit(rent, "rent")
            assert abs(model.coef_[[name.startswith("city") for name in model.design_names_]].sum()) < 1e-9

    def test_no_errors_after_a_penalty(self, rent):
        with pytest.raises(DataError, match="no p-values after a penalty"):
            gm.Ridge(1.0).fit(rent, "rent").inference()


class TestRows:
    def test_wide_categories_are_eliminated(self, rng):
        n = 30_000
        user = rng.integers(0, 9000, n).astype(str)
        effect = dict(zip(np.unique(user), rng.normal(0, 1, len(np.unique(user))), strict=True))
        x = rng.normal(size=n)
        y = 2 * x + np.array([effect[u] for u in user])
        model = gm.Ridge(0, categorical_features=["user"]).fit(pd.DataFrame({"user": user, "x": x, "y": y}), "y")
        at = model.design_names_.index("x")
        np.testing.assert_allclose(model.coef_[at], 2.0, rtol=1e-8)
        np.testing.assert_allclose(model.predict(pd.DataFrame({"user": user, "x": x})), y, atol=1e-6)

    def test_a_level_never_seen_adds_nothing_and_a_missing_number_is_the_mean(self, rent):
        model = gm.Ridge(0).fit(rent, "rent")
        row = pd.DataFrame({"city": ["mars"], "rooms": [np.nan], "old": [None]})
        np.testing.assert_allclose(model.predict(row), rent["rent"].mean(), rtol=1e-9)
        assert model.black_swans(row).tolist() == [[True, False, True]]

    def test_several_targets_have_names_in_files(self, rent, tmp_path):
        frame = rent.assign(tax=rent["rent"] * 0.1 + rent["old"])
        model = gm.Ridge(0.5).fit(frame, ("rent", "tax"))
        assert model.coef_.shape == (2, 6)
        path = tmp_path / "model"
        gm.save(model, path)
        opened = gm.load(path)
        np.testing.assert_array_equal(opened.predict(frame), model.predict(frame))
        out = tmp_path / "out.parquet"
        gm.transform_file(opened, frame, out, method="predict")
        assert list(pd.read_parquet(out)) == ["prediction_rent", "prediction_tax"]
        with pytest.raises(DataError, match="holds no moments"):
            opened.inference()
        with pytest.raises(DataError, match="one target"):
            gm.Ridge(0).fit(frame, ("rent", "tax")).inference()


class TestBadInput:
    def test_each_has_one_line(self, rent):
        with pytest.raises(DataError, match=r"'rent' is 5\.0 in every row"):
            gm.Ridge().fit(rent.assign(rent=5.0), "rent")
        with pytest.raises(DataError, match="needs numbers, and target 'city' is a category"):
            gm.Ridge().fit(rent, "city")
        few = gm.Ridge(0).fit(rent[:4], "rent")
        with pytest.raises(DataError, match=r"4 rows and [45] coefficients leave nothing"):
            few.inference()
        with pytest.raises(DataError, match="alpha is 'auto', 'cv' or a number from 0"):
            gm.Ridge(-1.0).fit(rent, "rent")
        with pytest.raises(DataError, match="weights is 'repeats' or 'precision'"):
            gm.Ridge(0).fit(rent, "rent").inference(weights="counts")
