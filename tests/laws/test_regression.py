"""Laws of coefficients and their errors: engines, definitions row by row, coverage of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.regression.ridge import HC

BY_SHOP = {"cluster": "shop"}


@pytest.fixture
def sales(rng) -> pd.DataFrame:
    n = 900
    shop = rng.integers(0, 45, n)
    color = rng.choice(["red", "blue", "green"], n, p=[0.6, 0.3, 0.1])
    size = rng.normal(size=n)
    noise = rng.normal(size=45)[shop] + rng.normal(0, 1 + np.abs(size), n)
    frame = pd.DataFrame(
        {"color": color, "size": size, "count": rng.integers(0, 4, n), "shop": [f"s{k}" for k in shop]}
    )
    frame.loc[10:30, "size"] = np.nan
    frame["price"] = 2 * frame["size"].fillna(0) + (color == "red") + noise
    frame["sold"] = rng.poisson(np.exp(0.2 * frame["size"].fillna(0) + 0.3 * (color == "blue")))
    frame["any"] = frame["sold"] > 1
    return frame


def dense(frame: pd.DataFrame) -> np.ndarray:
    """Return the design in reference coding, constant first."""
    size = frame["size"].fillna(frame["size"].mean())
    return np.column_stack(
        [np.ones(len(frame)), frame["color"] == "green", frame["color"] == "red", size, frame["count"]]
    )


FEATURES = ["color", "size", "count"]


class TestDefinition:
    @pytest.mark.parametrize("errors", HC)
    def test_robust_errors_of_counts_row_by_row(self, sales, errors):
        model = gm.GLM(tol=1e-14).fit(sales[[*FEATURES, "sold"]], "sold")
        X, mean = dense(sales), model.predict(sales)
        bread = np.linalg.inv(X.T @ (mean[:, None] * X))
        left = 1 - mean * np.einsum("ij,jk,ik->i", X, bread, X)
        power, factor = {"HC0": (0, 1), "HC1": (0, len(X) / (len(X) - 5)), "HC2": (1, 1), "HC3": (2, 1)}[errors]
        squares = np.square(sales["sold"].to_numpy() - mean) / left**power
        wanted = factor * bread @ (X.T @ (squares[:, None] * X)) @ bread
        found = model.inference(errors, sales)
        np.testing.assert_allclose(found["std_error"], np.sqrt(np.diag(wanted)), rtol=1e-6)

    def test_errors_in_clusters_row_by_row(self, sales):
        model = gm.LogisticRegression(tol=1e-14).fit(sales[[*FEATURES, "any"]], "any")
        X, p = dense(sales), model.predict_proba(sales)[:, 1]
        bread = np.linalg.inv(X.T @ ((p * (1 - p))[:, None] * X))
        scores = (
            pd.DataFrame((sales["any"].to_numpy() - p)[:, None] * X).groupby(sales["shop"].to_numpy()).sum().to_numpy()
        )
        count, n = len(scores), len(X)
        wanted = count / (count - 1) * (n - 1) / (n - 5) * bread @ scores.T @ scores @ bread
        np.testing.assert_allclose(model.inference(BY_SHOP, sales)["std_error"], np.sqrt(np.diag(wanted)), rtol=1e-6)

    def test_clusters_of_one_row_are_hc1(self, sales):
        model = gm.Ridge(0).fit(sales[[*FEATURES, "price"]], "price")
        alone = sales.assign(shop=[f"row{k}" for k in range(len(sales))])
        one = model.inference(BY_SHOP, alone)["std_error"].to_numpy()
        n = len(sales)
        hc0 = model.inference("HC0", sales)["std_error"].to_numpy()
        np.testing.assert_allclose(one, hc0 * np.sqrt(n / (n - 1) * (n - 1) / (n - 5)), rtol=1e-9)

    def test_anova_and_differences_take_the_same_errors(self, sales):
        model = gm.Ridge(0).fit(sales[[*FEATURES, "price"]], "price")
        for errors in ("HC3", BY_SHOP):
            table = model.inference(errors, sales).set_index("column")
            anova = model.anova(errors, sales).set_index("column")
            np.testing.assert_allclose(anova.loc["size", "statistic"], table.loc["size", "statistic"] ** 2, rtol=1e-9)
            row = model.compare_levels("color", "red", "blue", errors=errors, data=sales).iloc[0]
            red = model.inference(errors, sales).set_index("level").loc["red"]
            np.testing.assert_allclose(row["std_error"], red["std_error"], rtol=1e-9)
        assert "cluster shop" in model.summary(BY_SHOP, sales)


class TestWeights:
    @pytest.mark.parametrize("weights", ["repeats", "precision"])
    @pytest.mark.parametrize("errors", ["HC0", "HC3", BY_SHOP])
    def test_one_weight_for_all_is_the_weight_of_each(self, sales, weights, errors):
        columns, each = [*FEATURES, "price"], np.full(len(sales), 2.5)
        one = gm.Ridge(0).fit(sales[columns], "price", 2.5)
        same = gm.Ridge(0).fit(sales[FEATURES], sales["price"], each)
        np.testing.assert_allclose(
            one.inference(errors, sales, weights=weights)["std_error"],
            same.inference(errors, (sales, sales["price"], each), weights=weights)["std_error"],
            rtol=1e-9,
        )

    def test_models_of_moments_and_sums_read_the_rows_again(self, sales):
        columns = [*FEATURES, "price"]
        whole = gm.Ridge(0).fit(sales[columns], "price")
        wanted = whole.inference("HC3", sales)["std_error"]
        halves = gm.Ridge(0).fit(sales[columns][:400], "price") + gm.Ridge(0).fit(sales[columns][400:], "price")
        collected = gm.Ridge(0).fit(gm.collect(sales[columns]), "price")
        for model in (halves, collected):
            np.testing.assert_allclose(model.inference("HC3", sales)["std_error"], wanted, rtol=1e-9)
        weighed = gm.Ridge(0).fit(gm.collect(sales[columns].assign(w=2.0), sample_weight="w"), "price")
        with pytest.raises(DataError, match="the weights of the fit are not known by name"):
            weighed.inference("HC0", sales)


class TestEngines:
    def test_dask_equals_local(self, sales):
        dd = pytest.importorskip("dask.dataframe")
        far = dd.from_pandas(sales, npartitions=3)
        for model, target in ((gm.Ridge(0), "price"), (gm.GLM(), "sold"), (gm.LogisticRegression(), "any")):
            columns = [*FEATURES, target]
            local = model.fit(sales[columns], target)
            tables = [local.inference(errors, sales) for errors in ("iid", "HC3", BY_SHOP)]
            remote = model.fit(far[columns], target)
            for errors, table in zip(("iid", "HC3", BY_SHOP), tables, strict=True):
                found = pd.DataFrame(remote.inference(errors, far))
                pd.testing.assert_frame_equal(found, table, rtol=1e-8, atol=1e-9, check_dtype=False)

    def test_rows_that_can_be_read_once_are_enough(self, sales):
        model = gm.Ridge(0).fit(sales[[*FEATURES, "price"]], "price")
        parts = (sales[k : k + 300] for k in range(0, 900, 300))
        found = model.inference("HC3", parts)["std_error"]
        np.testing.assert_allclose(found, model.inference("HC3", sales)["std_error"], rtol=1e-9)

    def test_files_equal_frames(self, sales, tmp_path):
        sales.to_csv(tmp_path / "sales.csv", index=False)
        model = gm.Ridge(0).fit(sales[[*FEATURES, "price"]], "price")
        for errors in ("HC2", BY_SHOP):
            np.testing.assert_allclose(
                model.inference(errors, tmp_path / "sales.csv")["std_error"],
                model.inference(errors, sales)["std_error"],
                rtol=1e-9,
            )


def covered(n_times: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the share of 95% intervals that hold the coefficient, of three kinds of data with the errors made for each."""
    hits: dict[str, list[bool]] = {"iid": [], "HC3": [], "cluster": []}
    n, count = 400, 50
    for _ in range(n_times):
        shop = rng.integers(0, count, n)
        color, x = rng.choice(["a", "b", "c"], n), rng.normal(size=n) + rng.normal(size=count)[shop]
        for kind, noise in {
            "iid": rng.normal(size=n),
            "HC3": rng.normal(size=n) * (0.3 + np.abs(x)),
            "cluster": rng.normal(size=count)[shop] + rng.normal(size=n),
        }.items():
            frame = pd.DataFrame({"color": color, "x": x, "y": 1.5 * x + (color == "b") + noise})
            errors = BY_SHOP if kind == "cluster" else kind
            model = gm.Ridge(0).fit(frame, "y")
            row = (
                model.inference(errors, None if kind == "iid" else frame.assign(shop=shop)).set_index("column").loc["x"]
            )
            hits[kind].append(bool(row["lower"] <= 1.5 <= row["upper"]))
    return {kind: float(np.mean(each)) for kind, each in hits.items()}


def test_intervals_hold_the_truth_as_often_as_they_say(rng):
    # Of 100 samples the standard error of a share is 0.022; `covered(1000)` was between 0.93 and 0.97.
    assert all(0.88 <= share <= 1.0 for share in covered(100, rng).values())


class TestBadInput:
    def test_each_has_one_line(self, sales):
        model = gm.Ridge(0).fit(sales[[*FEATURES, "price"]], "price")
        with pytest.raises(
            DataError, match="errors='HC3' needs the residuals of the rows; give the rows of the fit with data="
        ):
            model.inference("HC3")
        with pytest.raises(DataError, match=r"errors is 'iid', 'HC0', 'HC1', 'HC2', 'HC3' or .*; got 'HC9'"):
            model.inference("HC9", sales)
        with pytest.raises(DataError, match="cluster column 'shop' has one cluster"):
            model.inference(BY_SHOP, sales.assign(shop="s"))
        with pytest.raises(DataError, match="cluster column 'shop' has missing values"):
            model.inference(BY_SHOP, sales.assign(shop=sales["shop"].where(sales["shop"] != "s3")))
        with pytest.raises(DataError, match="column 'shops' is not in data; did you mean 'shop'"):
            model.inference({"cluster": "shops"}, sales)
        with pytest.raises(DataError, match="data has 899 rows with a target and a weight, and the fit had 900"):
            model.inference("HC0", sales[1:])
        with pytest.raises(DataError, match="column 'color' holds 'pink', which no row of the fit had"):
            model.inference("HC0", sales.assign(color=["pink", *sales["color"][1:]]))
        by_values = gm.Ridge(0).fit(sales[FEATURES], sales["price"], np.ones(len(sales)))
        with pytest.raises(DataError, match="the target of the fit was given as values"):
            by_values.inference("HC0", sales)
        with pytest.raises(DataError, match="the weights of the fit are not known by name"):
            by_values.inference("HC0", (sales, sales["price"]))
