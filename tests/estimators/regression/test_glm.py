"""`GLM` and `LogisticRegression`: sources and engines, starts and separation, files, what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.engines import weighted
from gramian.errors import ColumnError, DataError
from gramian.estimators.regression.glm import SeparationWarning


@pytest.fixture
def visits(rng) -> pd.DataFrame:
    n = 1500
    page = rng.choice(["home", "shop", "blog"], n)
    device = rng.choice([f"d{k}" for k in range(12)], n)
    minutes = rng.gamma(2.0, 2.0, n)
    eta = -1.5 + 0.3 * minutes + (page == "shop") - 0.5 * (device == "d3")
    frame = pd.DataFrame({"page": page, "device": device, "minutes": minutes, "day": rng.integers(0, 5, n)})
    frame.loc[7:60, "minutes"] = np.nan
    frame["bought"] = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    frame["items"] = rng.poisson(np.exp(eta / 2))
    return frame


def models(frame: pd.DataFrame):
    """Return three kinds of model, each with its columns and its target."""
    features = ["page", "device", "minutes", "day"]
    return [
        (gm.LogisticRegression(), [*features, "bought"], "bought"),
        (gm.GLM("poisson", alpha=1.0, offset="day"), [*features, "items"], "items"),
        (gm.LogisticRegression(alpha=2.0), ["minutes", "device", "page"], "page"),
    ]


class TestSources:
    def test_rows_read_again_give_what_kept_rows_give(self, visits, tmp_path, monkeypatch):
        for model, columns, target in models(visits):
            kept = model.fit(visits[columns], target)
            coef, iterations = kept.coef_, kept.n_iter_
            visits[columns].to_parquet(tmp_path / "rows.parquet", row_group_size=200)
            with monkeypatch.context() as patch:
                # No room: every pass reads the file.
                patch.setattr(weighted, "available_memory", lambda: 0)
                read = model.fit(tmp_path / "rows.parquet", target)
            np.testing.assert_allclose(read.coef_, coef, rtol=1e-9, atol=1e-11)
            assert read.n_iter_ == iterations

    def test_dask_equals_local(self, visits):
        dd = pytest.importorskip("dask.dataframe")
        for model, columns, target in models(visits):
            local = model.fit(visits[columns], target).coef_
            names = list(model.design_names_)
            far = model.fit(dd.from_pandas(visits[columns], npartitions=4), target)
            at = [list(far.design_names_).index(name) for name in names]
            np.testing.assert_allclose(far.coef_[..., at], local, rtol=1e-8, atol=1e-10)

    def test_an_iterator_is_kept_or_refused(self, visits, monkeypatch):
        parts = [visits[["page", "minutes", "bought"]][k : k + 300] for k in range(0, 1500, 300)]
        whole = gm.LogisticRegression().fit(visits[["page", "minutes", "bought"]], "bought")
        np.testing.assert_allclose(gm.LogisticRegression().fit(iter(parts), "bought").coef_, whole.coef_, rtol=1e-9)
        monkeypatch.setattr(weighted, "available_memory", lambda: 0)
        with pytest.raises(DataError, match="read once only, and are too many to be kept"):
            gm.LogisticRegression().fit(iter(parts), "bought")

    def test_weights_repeat_rows(self, visits, rng):
        times = rng.integers(0, 3, len(visits))
        repeated = visits.loc[np.repeat(visits.index, times)]
        for model, columns, target in models(visits):
            found = model.fit(visits[columns].assign(w=times), target, "w").coef_
            names = list(model.design_names_)
            other = model.fit(repeated[columns], target)
            at = [list(other.design_names_).index(name) for name in names]
            np.testing.assert_allclose(found, other.coef_[..., at], rtol=1e-8, atol=1e-10)

    def test_one_weight_for_all_is_the_weight_of_each(self, visits):
        columns = ["page", "minutes", "bought"]
        one = gm.LogisticRegression(1.0).fit(visits[columns], "bought", 3.0)
        each = gm.LogisticRegression(1.0).fit(visits[columns], "bought", np.full(len(visits), 3.0))
        np.testing.assert_allclose(one.coef_, each.coef_, rtol=1e-9)

    def test_the_order_of_columns_changes_nothing(self, visits):
        one = gm.LogisticRegression().fit(visits.drop(columns="items"), "bought")
        other = gm.LogisticRegression().fit(visits[["bought", "day", "minutes", "device", "page"]], "bought")
        at = [list(other.design_names_).index(name) for name in one.design_names_]
        np.testing.assert_allclose(other.coef_[:, at], one.coef_, rtol=1e-7, atol=1e-9)

    def test_sparse_and_dense_numbers_are_alike(self, rng):
        import scipy.sparse as sp

        X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.4)
        y = rng.poisson(np.exp(0.3 * X[:, 0]))
        np.testing.assert_allclose(gm.GLM().fit(sp.csr_array(X), y).coef_, gm.GLM().fit(X, y).coef_, rtol=1e-8)


class TestAnswers:
    def test_files_hold_what_predicts(self, visits, tmp_path):
        for model, columns, target in models(visits):
            model.fit(visits[columns], target)
            gm.save(model, tmp_path / "model")
            opened = gm.load(tmp_path / "model")
            np.testing.assert_array_equal(opened.predict(visits), model.predict(visits))
            gm.transform_file(opened, visits[columns], tmp_path / "out.parquet", method="predict")
            assert len(pd.read_parquet(tmp_path / "out.parquet")) == len(visits)
        with pytest.raises(DataError, match="holds no moments"):
            gm.load(tmp_path / "model").inference()

    def test_an_exposure_scales_the_prediction_and_may_be_missing(self, visits):
        frame = visits[["page", "items"]].assign(days=1.0 + visits["day"])
        model = gm.GLM(exposure="days").fit(frame, "items")
        one, two = (model.predict(frame.assign(days=days)) for days in (1.0, 2.0))
        np.testing.assert_allclose(two, 2 * one, rtol=1e-12)
        np.testing.assert_allclose(model.predict(frame.assign(days=np.nan)), one, rtol=1e-12)
        assert "days" not in set(model.inference()["column"])
        with pytest.raises(DataError, match="exposure 'days' holds 0"):
            model.predict(frame.assign(days=0.0))

    @pytest.mark.parametrize("target", ["bought", "page"])
    @pytest.mark.parametrize("alpha", [0.0, 5.0])
    def test_the_deviance_is_that_of_the_probabilities(self, visits, target, alpha):
        frame = visits[["minutes", "items", target]]
        model = gm.LogisticRegression(alpha).fit(frame, target)
        own = model.predict_proba(frame)[np.arange(len(frame)), np.searchsorted(model.classes_, frame[target])]
        assert model.deviance_ == pytest.approx(-2 * np.log(own).sum(), rel=1e-8)

    def test_many_columns_reach_the_optimum(self, rng):
        # More columns than a factor is made for at each step, some of which others nearly or wholly explain.
        n = 6000
        a, x = rng.integers(0, 500, n), rng.normal(size=n)
        frame = pd.DataFrame(
            {"a": a.astype(str), "part": (a // 9).astype(str), "x": x, "near": x + 1e-4 * rng.normal(size=n)}
        )
        y = rng.poisson(np.exp(1 + 0.3 * x + 0.2 * np.sin(a)))
        model = gm.GLM().fit(frame, y)
        mean = model.predict(frame)
        design = np.column_stack([np.ones(n), np.eye(500)[a], np.eye(56)[a // 9], frame[["x", "near"]]])
        unit = np.sqrt(np.maximum(np.square(design).T @ mean, 1e-300))
        score = design.T @ (y - mean) / unit
        values, vectors = np.linalg.eigh((design.T * mean) @ design / np.outer(unit, unit))
        kept = values > 1e-11 * values[-1]
        # What is left to the optimum, in squared standard errors.
        assert (np.square(vectors.T @ score)[kept] / values[kept]).sum() < 1e-10

    def test_few_passes(self, visits):
        assert gm.LogisticRegression().fit(visits.drop(columns="items"), "bought").n_iter_ <= 6
        assert gm.GLM().fit(visits.drop(columns="bought"), "items").n_iter_ <= 7

    @pytest.mark.parametrize("family", ["poisson", "gamma", "tweedie", "gaussian"])
    def test_max_iter_is_the_most_passes_that_are_made(self, visits, family, monkeypatch):
        made: list[str] = []
        moments = weighted.Passes.moments
        monkeypatch.setattr(weighted.Passes, "moments", lambda *given: made.append(given[-1].kind) or moments(*given))
        frame = visits[["page", "minutes"]].assign(cost=visits["items"] + 1.0)
        found = gm.GLM(family).fit(frame, "cost")
        for most in (1, 2, 3, found.n_iter_):
            made.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SeparationWarning)
                model = gm.GLM(family, max_iter=most).fit(frame, "cost")
            assert model.n_iter_ == len(made) <= most
        assert model.deviance_ == pytest.approx(found.deviance_, rel=1e-12)

    def test_an_earlier_model_saves_passes(self, visits):
        for model, columns, target in models(visits):
            plain = model.fit(visits[columns], target)
            coef, passes = plain.coef_, plain.n_iter_
            # A level that the earlier rows lack, and their levels in another order.
            part = visits[::-1][visits["device"][::-1] != "d5"]
            earlier = type(model)(**model.get_params()).fit(part[columns], target)
            warm = model.fit(visits[columns], target, start=earlier)
            np.testing.assert_allclose(warm.coef_, coef, rtol=1e-6, atol=1e-8)
            assert warm.n_iter_ < passes or passes <= 4
            again = model.fit(visits[columns], target, start=plain)
            assert again.n_iter_ <= 2
        with pytest.raises(DataError, match="start is a fitted LogisticRegression; got GLM"):
            gm.LogisticRegression().fit(visits, "bought", start=gm.GLM())

    def test_a_rare_class_and_a_wild_start_converge(self, rng):
        x = rng.normal(size=4000)
        y = (x + rng.normal(size=4000) * 0.3 > 2.5).astype(int)
        odd = rng.choice(["a", "b"], 4000, p=[0.995, 0.005])
        model = gm.LogisticRegression().fit(
            pd.DataFrame({"x": x, "odd": odd, "y": np.where(odd == "b", x > 0, y).astype(int)}), "y"
        )
        assert model.n_iter_ < 15
        heavy = np.minimum(np.exp(rng.normal(0, 2.5, 2000)), 400.0)
        counts = rng.poisson(np.exp(0.02 * heavy))
        assert gm.GLM().fit(heavy[:, None], counts).coef_[0] == pytest.approx(0.02, rel=0.05)


class TestSeparation:
    def test_a_level_of_one_class_is_named(self, visits):
        buys = (visits["bought"] == "yes") & (visits["page"] != "blog")
        # A missing number is the mean of all rows, those of the level among them.
        frame = visits[["page", "minutes"]].fillna(4.0).assign(y=buys.astype(int))
        with pytest.warns(SeparationWarning, match="column 'page', level 'blog': all of its rows have class 0"):
            model = gm.LogisticRegression().fit(frame, "y")
        rest = gm.LogisticRegression().fit(frame[frame["page"] != "blog"], "y")
        np.testing.assert_allclose(
            model.coef_[0, list(model.design_names_).index("minutes")],
            rest.coef_[0, list(rest.design_names_).index("minutes")],
            rtol=1e-5,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gm.LogisticRegression(alpha=0.1).fit(frame, "y")

    def test_a_level_without_one_of_the_classes_is_named(self, visits):
        kinds = np.where(visits["page"] == "blog", "reads", np.where(visits["minutes"] > 3, "reads", "looks"))
        kinds[(visits["bought"] == "yes") & (visits["page"] != "blog")] = "buys"
        frame = visits[["page", "day"]].assign(kind=kinds)
        with pytest.warns(SeparationWarning, match="column 'page', level 'blog': none of its rows has class 'buys'"):
            model = gm.LogisticRegression().fit(frame, "kind")
        assert model.n_iter_ < 20
        found = pd.crosstab(frame["page"], frame["kind"], normalize="index").loc["shop"]
        shown = model.predict_proba(frame[frame["page"] == "shop"]).mean(axis=0)
        np.testing.assert_allclose(shown, found, atol=1e-4)

    def test_a_level_without_counts_is_named(self, visits):
        frame = visits[["page", "minutes"]].assign(y=np.where(visits["page"] == "blog", 0, visits["items"]))
        with pytest.warns(SeparationWarning, match="column 'page', level 'blog': all of its rows have 0"):
            gm.GLM().fit(frame, "y")

    def test_a_number_that_tells_classes_apart_is_named(self, visits):
        frame = visits[["page", "minutes"]].fillna(1.0)
        with pytest.warns(SeparationWarning, match="without error, 'minutes' first"):
            model = gm.LogisticRegression().fit(frame.assign(y=frame["minutes"] > 4), "y")
        with pytest.raises(DataError, match="no finite value and no errors"):
            model.inference()

    @pytest.mark.parametrize("values", [["no", "yes"], ["no", "yes", "never"]])
    def test_a_number_that_tells_some_rows_apart_is_named(self, rng, values):
        # Only where the number is 3 are there rows of more than one class.
        size = rng.integers(0, 7, 300).astype(float) + 1e6
        best = np.where(size > 3 + 1e6, values[1], values[0])
        frame = pd.DataFrame({"size": size, "page": rng.choice(["a", "b"], 300)})
        frame["y"] = np.where(size == 3 + 1e6, rng.choice(values, 300), best)
        with pytest.warns(
            SeparationWarning, match="column 'size': alone or with other columns it tells some rows apart"
        ):
            model = gm.LogisticRegression().fit(frame, "y")
        assert model.n_iter_ < 40

    def test_a_cell_of_two_columns_without_counts_is_told(self, rng):
        frame = pd.DataFrame({"page": rng.choice(["a", "b"], 400), "size": rng.integers(0, 3, 400).astype(float)})
        # On page b every size above 0 has none, and no level alone says so.
        frame["y"] = np.where((frame["page"] == "a") | (frame["size"] == 0), rng.poisson(2, 400), 0)
        frame["both"] = np.where(frame["page"] == "b", frame["size"], 0.0)
        with pytest.warns(SeparationWarning, match="column 'both': alone or with other columns"):
            gm.GLM().fit(frame, "y")

    def test_nearly_separated_rows_are_no_alarm(self, rng):
        # A level with 1 of its 4,000 rows in the other class has a finite coefficient.
        level = np.repeat(["rare", "b"], [4000, 1000])
        y = np.r_[1, np.zeros(3999, int), rng.integers(0, 2, 1000)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = gm.LogisticRegression().fit(pd.DataFrame({"level": level, "y": y}), "y")
        assert model.predict_proba(pd.DataFrame({"level": ["rare"]}))[0, 1] == pytest.approx(1 / 4000, rel=1e-6)


class TestBadInput:
    def test_each_has_one_line(self, visits):
        counts = visits[["page", "minutes", "items"]]
        with pytest.raises(DataError, match="family 'poisson' needs numbers, and target 'bought' holds classes"):
            gm.GLM().fit(visits, "bought")
        with pytest.raises(DataError, match="target 'items' holds -2, and family 'poisson' takes numbers 0 or more"):
            gm.GLM().fit(counts.assign(items=np.where(np.arange(len(counts)) == 9, -2, counts["items"])), "items")
        with pytest.raises(DataError, match="family 'gamma' takes numbers above 0"):
            gm.GLM("gamma").fit(counts, "items")
        with pytest.raises(DataError, match="'items' is 4 in every row"):
            gm.GLM().fit(counts.assign(items=4), "items")
        with pytest.raises(DataError, match="less than 2 classes"):
            gm.LogisticRegression().fit(counts.assign(y="one"), "y")
        with pytest.raises(ColumnError, match="offset='page' is not a column of numbers"):
            gm.GLM(offset="page").fit(counts, "items")
        with pytest.raises(ColumnError, match="offset='items' is the target; name another column"):
            gm.GLM(offset="items").fit(counts, "items")
        with pytest.raises(DataError, match="Moments have none"):
            gm.GLM().fit(gm.collect(counts), "items")
        with pytest.raises(DataError, match="errors are those of two classes"):
            gm.LogisticRegression().fit(visits[["minutes", "page"]], "page").inference()
        with pytest.raises(DataError, match="no p-values after a penalty"):
            gm.GLM(alpha=1.0).fit(counts, "items").inference()
        assert not hasattr(gm.GLM(), "partial_fit")
