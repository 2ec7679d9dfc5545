"""Regression against statsmodels and scikit-learn: coefficients, standard errors and tests to 1e-6."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.impute import SimpleImputer

import gramian as gm

sm = pytest.importorskip("statsmodels.api")

CLOSE = {"rtol": 1e-6, "atol": 1e-9}
"""What the contract asks for: both sides solve the same equations, by other factors."""


def table_of(rng: np.random.Generator, n: int = 600) -> pd.DataFrame:
    """Return a table with a structural zero, a nested column, a rare level and missing numbers."""
    city = rng.choice(["bonn", "kiel", "ulm", "jena"], n, p=[0.45, 0.3, 0.2, 0.05])
    shape = np.where(city == "ulm", "rod", rng.choice(["disc", "box", "rod"], n))
    frame = pd.DataFrame(
        {
            "city": city,
            "shape": shape,
            "state": np.where(np.isin(city, ["bonn", "kiel"]), "west", "other"),
            "size": rng.normal(50, 9, n),
            "age": rng.normal(0, 1, n),
        }
    )
    frame.loc[3:40, "age"] = np.nan
    frame["half"] = frame["size"] / 2 + 1
    frame["price"] = (
        3 + 0.2 * frame["size"] + (city == "kiel") - 2.0 * (shape == "box") + rng.normal(0, 1 + (city == "ulm"), n)
    )
    frame["weight"] = rng.integers(1, 4, n).astype(float)
    return frame


FEATURES = ["city", "shape", "state", "size", "age", "half"]


def dummies(frame: pd.DataFrame, weights: np.ndarray | None = None) -> pd.DataFrame:
    """Return the dense design in reference coding, constant first, numbers imputed, without columns that others explain."""
    parts = [pd.Series(1.0, index=frame.index, name="(intercept)")]
    for name in FEATURES:
        if frame[name].dtype.kind == "f":
            known = frame[name].notna()
            mean = np.average(frame.loc[known, name], weights=None if weights is None else weights[known])
            parts.append(frame[name].fillna(mean))
            continue
        for level in sorted(frame[name].unique())[1:]:
            parts.append((frame[name] == level).astype(float).rename(f"{name}_{level}"))
    full = pd.concat(parts, axis=1)
    kept: list[str] = []
    for name in full:
        if np.linalg.matrix_rank(full[[*kept, name]].to_numpy()) > len(kept):
            kept.append(name)
    return full[kept]


def by_name(found: pd.DataFrame) -> pd.DataFrame:
    named = found["column"].where(found["level"].isna(), found["column"] + "_" + found["level"].astype(str))
    return found.set_index(named).dropna(subset=["coefficient"])


def assert_agrees(found: pd.DataFrame, peer, design: pd.DataFrame) -> None:
    mine = by_name(found).loc[list(design)]
    assert len(mine) == len(by_name(found))
    np.testing.assert_allclose(mine["coefficient"], peer.params, **CLOSE)
    np.testing.assert_allclose(mine["std_error"], peer.bse, **CLOSE)


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    return table_of(rng)


class TestLeastSquares:
    def test_coefficients_and_errors(self, frame):
        model = gm.Ridge(alpha=0).fit(frame[[*FEATURES, "price"]], "price")
        design = dummies(frame)
        peer = sm.OLS(frame["price"], design).fit()
        found = model.inference()
        assert_agrees(found, peer, design)
        mine = by_name(found).loc[list(design)]
        np.testing.assert_allclose(mine["p_value"], peer.pvalues, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(mine[["lower", "upper"]], peer.conf_int(), **CLOSE)
        # What others explain has rows without numbers: the nested column, and the number that repeats another.
        assert list(found.loc[found["coefficient"].isna(), "column"]) == ["state", "half"]

    def test_tests_of_whole_columns(self, frame):
        model = gm.Ridge(alpha=0).fit(frame[[*FEATURES, "price"]], "price")
        design = dummies(frame)
        peer = sm.OLS(frame["price"], design).fit()
        anova = model.anova().set_index("column")
        for name in FEATURES:
            own = [k for k, each in enumerate(design) if each == name or each.startswith(f"{name}_")]
            assert anova.loc[name, "df"] == len(own)
            if own:
                test = peer.f_test(np.eye(design.shape[1])[own])
                np.testing.assert_allclose(anova.loc[name, "statistic"], test.fvalue, rtol=1e-6)
                np.testing.assert_allclose(anova.loc[name, "p_value"], test.pvalue, rtol=1e-6, atol=1e-14)

    def test_weights_are_repeated_rows_or_precisions(self, frame):
        weights = frame["weight"].to_numpy()
        design = dummies(frame, weights)
        model = gm.Ridge(alpha=0).fit(frame[FEATURES], frame["price"], weights)
        assert_agrees(model.inference(weights="precision"), sm.WLS(frame["price"], design, weights).fit(), design)
        times = weights.astype(int)
        repeated = sm.OLS(
            np.repeat(frame["price"].to_numpy(), times), np.repeat(design.to_numpy(), times, axis=0)
        ).fit()
        assert_agrees(model.inference(), repeated, design)

    def test_summary_says_what_statsmodels_says(self, frame):
        model = gm.Ridge(alpha=0).fit(frame[[*FEATURES, "price"]], "price")
        peer = sm.OLS(frame["price"], dummies(frame)).fit()
        text = model.summary()
        for value in (
            f"{peer.rsquared:.4f}",
            f"{peer.fvalue:.4g}",
            f"{peer.llf:.5g}",
            f"{peer.aic:.5g}",
            f"{peer.bic:.5g}",
        ):
            assert value in text
        assert "city=bonn" in text
        assert "half" in text.split("Dropped")[1]

    def test_difference_of_two_levels(self, frame):
        model = gm.Ridge(alpha=0, reference={"city": "ulm"}).fit(frame[["city", "size", "price"]], "price")
        found = model.compare_levels("city", "kiel", "jena").iloc[0]
        design = dummies(frame)[["(intercept)", "city_jena", "city_kiel", "city_ulm", "size"]]
        test = sm.OLS(frame["price"], design).fit().t_test([0, -1, 1, 0, 0])
        np.testing.assert_allclose([found["difference"], found["std_error"]], [test.effect[0], test.sd[0, 0]], **CLOSE)


class TestRidge:
    @pytest.mark.parametrize("alpha", [0.3, 20.0])
    def test_equals_scikit_learn_with_every_level(self, frame, alpha):
        weights = frame["weight"].to_numpy()
        filled = frame.assign(
            age=frame["age"].fillna(np.average(frame["age"].dropna(), weights=weights[frame["age"].notna()]))
        )
        dense = pd.get_dummies(filled[FEATURES], dtype=float)
        targets = np.column_stack([frame["price"], -(frame["price"] ** 2)])
        peer = linear_model.Ridge(alpha=alpha).fit(dense, targets, weights)
        model = gm.Ridge(alpha=alpha).fit(frame[FEATURES], targets, weights)
        at = [list(dense).index(name) for name in model.design_names_]
        np.testing.assert_allclose(model.coef_, peer.coef_[:, at], **CLOSE)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, **CLOSE)
        np.testing.assert_allclose(model.predict(frame[FEATURES]), peer.predict(dense), **CLOSE)
        assert model.score(frame[FEATURES], targets) == pytest.approx(peer.score(dense, targets), rel=1e-9)

    def test_missing_numbers_count_as_the_mean(self, frame):
        numbers = frame[["size", "age"]]
        peer = linear_model.Ridge(2.0).fit(SimpleImputer().fit_transform(numbers), frame["price"])
        model = gm.Ridge(2.0).fit(numbers, frame["price"])
        np.testing.assert_allclose(model.coef_, peer.coef_, **CLOSE)


def full_rank(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every one-hot column of the features, numbers imputed, for a penalty to decide between."""
    return pd.get_dummies(frame[FEATURES].assign(age=frame["age"].fillna(frame["age"].mean())), dtype=float)


class TestGLM:
    @pytest.fixture
    def counts(self, frame, rng) -> pd.DataFrame:
        mean = np.exp(0.3 * (frame["city"] == "kiel") + 0.2 * frame["age"].fillna(0))
        return frame.assign(
            claims=rng.poisson(mean * frame["size"] / 40),
            cost=rng.gamma(2.0, mean),
            pure=np.where(rng.random(len(frame)) < 0.4, 0.0, rng.gamma(2.0, mean)),
        )

    def test_binomial(self, frame):
        y = np.where(frame["price"] > frame["price"].median(), "high", "low")
        model = gm.LogisticRegression().fit(frame[FEATURES], y)
        design = dummies(frame)
        peer = sm.GLM((y == "low").astype(float), design, family=sm.families.Binomial()).fit(tol=1e-14)
        assert_agrees(model.inference(), peer, design)
        np.testing.assert_allclose(model.deviance_, peer.deviance, rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(frame[FEATURES])[:, 1], peer.fittedvalues, rtol=1e-6)
        assert f"{peer.aic:.5g}" in model.summary()

    def test_poisson_with_exposure_and_weights(self, counts):
        weights = counts["weight"].to_numpy()
        design = dummies(counts, weights).drop(columns="size")
        names = ["city", "shape", "state", "age"]
        model = gm.GLM(exposure="size").fit(counts[[*names, "size"]], counts["claims"], weights)
        peer = sm.GLM(
            counts["claims"], design, family=sm.families.Poisson(), exposure=counts["size"], freq_weights=weights
        ).fit(tol=1e-14)
        assert_agrees(model.inference(), peer, design)
        np.testing.assert_allclose(model.deviance_, peer.deviance, rtol=1e-8)
        assert f"{peer.llf:.5g}" in model.summary()
        np.testing.assert_allclose(model.predict(counts), peer.fittedvalues, rtol=1e-6)
        logged = counts[names].assign(size=np.log(counts["size"]))
        again = gm.GLM(offset="size").fit(logged, counts["claims"], weights)
        np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize(("family", "column"), [("gamma", "cost"), ("tweedie", "pure"), ("gaussian", "price")])
    @pytest.mark.parametrize("weights", ["repeats", "precision"])
    def test_families_with_a_dispersion(self, counts, family, column, weights):
        given = counts["weight"].to_numpy()
        design = dummies(counts, given)
        model = gm.GLM(family, power=1.6).fit(counts[FEATURES], counts[column], given)
        log = sm.families.links.Log()
        law = {
            "gamma": sm.families.Gamma(log),
            "tweedie": sm.families.Tweedie(log, var_power=1.6),
            "gaussian": sm.families.Gaussian(),
        }[family]
        # Fisher scoring of the peer converges by a factor a step.
        kind = {"repeats": "freq_weights", "precision": "var_weights"}[weights]
        peer = sm.GLM(counts[column], design, family=law, **{kind: given}).fit(tol=1e-15, maxiter=200)
        assert_agrees(model.inference(weights=weights), peer, design)
        np.testing.assert_allclose(model.deviance_, peer.deviance, rtol=1e-8)

    @pytest.mark.parametrize("alpha", [0.2, 7.0])
    def test_penalised_logistic_regression_is_that_of_scikit_learn(self, frame, alpha):
        dense = full_rank(frame)
        for y in (
            frame["price"] > frame["price"].median(),
            pd.qcut(frame["price"], 4, labels=list("abcd")).astype(str),
        ):
            # Newton's method on both sides: scikit-learn's default stops earlier.
            peer = linear_model.LogisticRegression(C=1 / alpha, solver="newton-cholesky", tol=1e-12, max_iter=1000)
            peer.fit(dense, y)
            model = gm.LogisticRegression(alpha).fit(frame[FEATURES], y)
            at = [list(dense).index(name) for name in model.design_names_]
            np.testing.assert_allclose(model.coef_, peer.coef_[:, at], **CLOSE)
            np.testing.assert_allclose(model.intercept_, peer.intercept_, **CLOSE)
            np.testing.assert_allclose(
                model.predict_proba(frame[FEATURES]), peer.predict_proba(dense), rtol=1e-6, atol=1e-12
            )

    def test_penalised_poisson_regression_is_that_of_scikit_learn(self, counts):
        dense = full_rank(counts)
        peer = linear_model.PoissonRegressor(alpha=0.02, solver="newton-cholesky", tol=1e-12).fit(
            dense, counts["claims"]
        )
        # scikit-learn divides by the number of rows.
        model = gm.GLM(alpha=0.02 * len(counts)).fit(counts[FEATURES], counts["claims"])
        at = [list(dense).index(name) for name in model.design_names_]
        np.testing.assert_allclose(model.coef_, peer.coef_[at], rtol=1e-6, atol=1e-8)
        score = peer.score(dense, counts["claims"])
        np.testing.assert_allclose(model.score(counts[FEATURES], counts["claims"]), score, rtol=1e-8)


class TestRobustErrors:
    @pytest.fixture
    def data(self, frame, rng) -> pd.DataFrame:
        customer = rng.choice([f"k{j}" for j in range(40)], len(frame))
        return frame.assign(
            customer=customer, price=frame["price"] + np.char.str_len(customer.astype(str)) * rng.normal(size=600)
        )

    @pytest.mark.parametrize("errors", ["HC0", "HC1", "HC2", "HC3"])
    def test_least_squares_whatever_the_variances(self, data, errors):
        model = gm.Ridge(alpha=0).fit(data[[*FEATURES, "price"]], "price")
        design = dummies(data)
        peer = sm.OLS(data["price"], design).fit(cov_type=errors)
        assert_agrees(model.inference(errors, data), peer, design)
        weights = data["weight"].to_numpy()
        design = dummies(data, weights)
        model = gm.Ridge(alpha=0).fit(data[FEATURES], data["price"], weights)
        again = (data, data["price"], weights)
        peer = sm.WLS(data["price"], design, weights).fit(cov_type=errors)
        assert_agrees(model.inference(errors, again, weights="precision"), peer, design)
        times = weights.astype(int)
        repeated = sm.OLS(np.repeat(data["price"].to_numpy(), times), np.repeat(design.to_numpy(), times, axis=0))
        assert_agrees(model.inference(errors, again), repeated.fit(cov_type=errors), design)

    def test_least_squares_in_clusters(self, data):
        by_customer = {"cluster": "customer"}
        groups = pd.factorize(data["customer"])[0]
        model = gm.Ridge(alpha=0).fit(data[[*FEATURES, "price"]], "price")
        design = dummies(data)
        peer = sm.OLS(data["price"], design).fit(cov_type="cluster", cov_kwds={"groups": groups})
        assert_agrees(model.inference(by_customer, data), peer, design)
        # The cluster may be a column of the model too.
        own = sm.OLS(data["price"], design).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(data["city"])[0]})
        assert_agrees(model.inference({"cluster": "city"}, data), own, design)
        weights = data["weight"].to_numpy()
        design = dummies(data, weights)
        peer = sm.WLS(data["price"], design, weights).fit(cov_type="cluster", cov_kwds={"groups": groups})
        model = gm.Ridge(alpha=0).fit(data[[*FEATURES, "price", "weight"]], "price", "weight")
        assert_agrees(model.inference(by_customer, data, weights="precision"), peer, design)

    @pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.SpecificationWarning")
    @pytest.mark.parametrize("family", ["binomial", "poisson", "gamma", "tweedie"])
    def test_generalised_models(self, data, rng, family):
        weights = data["weight"].to_numpy()
        design = dummies(data, weights)
        mean = np.exp(0.3 * (data["city"] == "kiel") + 0.2 * data["age"].fillna(0))
        log = sm.families.links.Log()
        y, law, model = {
            "binomial": ((rng.random(600) < mean / 4).astype(int), sm.families.Binomial(), gm.LogisticRegression()),
            "poisson": (rng.poisson(mean), sm.families.Poisson(), gm.GLM()),
            "gamma": (rng.gamma(2.0, mean), sm.families.Gamma(log), gm.GLM("gamma")),
            "tweedie": (
                np.where(rng.random(600) < 0.3, 0.0, rng.gamma(2.0, mean)),
                sm.families.Tweedie(log, var_power=1.5),
                gm.GLM("tweedie"),
            ),
        }[family]
        model.fit(data[FEATURES], np.asarray(y), weights)
        groups = pd.factorize(data["customer"])[0]
        for kind, called in (("freq_weights", "repeats"), ("var_weights", "precision")):
            peer = sm.GLM(np.asarray(y), design, family=law, **{kind: weights})
            robust = peer.fit(tol=1e-15, maxiter=200, cov_type="HC0")
            again = (data, np.asarray(y), weights)
            assert_agrees(model.inference("HC0", again, weights=called), robust, design)
            if called == "precision":
                # The peer's factor counts rows.
                clustered = peer.fit(tol=1e-15, maxiter=200, cov_type="cluster", cov_kwds={"groups": groups})
                assert_agrees(model.inference({"cluster": "customer"}, again, weights=called), clustered, design)
