"""Every export says what the model says: run in its own engine, over rows of every kind."""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from tests.exports.conftest import FEATURES, WORDS, rows_of
from tests.laws.tables import examples

import gramian as gm
from gramian.errors import DataError
from gramian.exports.onnx import to_onnx

EXACT, SINGLE = 1e-12, 1e-5

HIDDEN = ["color", "flag", "small", "size", "skew"]

MODELS = {
    "pca": (lambda rows: gm.PCA(3).fit(rows.select(FEATURES)), ["transform"]),
    "pca of bins": (
        lambda rows: gm.PCA(3).fit(gm.collect(rows.select(FEATURES), bins={"size": 4, "small": 3})),
        ["transform"],
    ),
    "pca of pooled levels": (
        lambda rows: gm.PCA(3).fit(gm.collect(rows.select(FEATURES), categorical=["small"]).pool(min_count=30)),
        ["transform"],
    ),
    "whitening": (lambda rows: gm.Whitening("zca").fit(rows.select(["color", "size"])), ["transform"]),
    "fisher": (
        lambda rows: gm.FisherDiscriminant().fit(rows.select([*FEATURES, "kind"]), "kind"),
        ["transform", "predict", "predict_proba", "decision_function"],
    ),
    "fisher of two": (
        lambda rows: gm.FisherDiscriminant().fit(rows.select([*FEATURES, "bought"]), "bought"),
        ["predict", "predict_proba"],
    ),
    "mahalanobis": (
        lambda rows: gm.MahalanobisFeatures().fit(rows.select([*FEATURES, "kind"]), "kind"),
        ["transform"],
    ),
    "joint encoder": (
        lambda rows: gm.JointTargetEncoder().fit(rows.select([*FEATURES, "price"]), "price"),
        ["transform"],
    ),
    "ridge": (lambda rows: gm.Ridge().fit(rows.select([*FEATURES, "price"]), "price"), ["predict"]),
    "ridge of two targets": (
        lambda rows: gm.Ridge().fit(rows.select([*FEATURES, "price", "claims"]), ("price", "claims")),
        ["predict"],
    ),
    "poisson": (
        lambda rows: gm.GLM(alpha=1.0, exposure="skew").fit(rows.select([*FEATURES, "claims"]), "claims"),
        ["predict"],
    ),
    "logistic": (
        lambda rows: gm.LogisticRegression(alpha=1.0).fit(rows.select([*FEATURES, "bought"]), "bought"),
        ["predict", "predict_proba"],
    ),
    "multinomial": (
        lambda rows: gm.LogisticRegression(alpha=1.0).fit(rows.select(["color", "size", "kind"]), "kind"),
        ["predict", "predict_proba"],
    ),
    "random features": (
        lambda rows: gm.RandomFeatures(5, activation="cos").fit(rows.select(HIDDEN)),
        ["transform"],
    ),
    "structured features": (
        lambda rows: gm.RandomFeatures(5, activation="step", projection="hadamard").fit(rows.select(["size", "skew"])),
        ["transform"],
    ),
    "elm": (
        lambda rows: gm.ELMClassifier((9, 7), direct_links=True).fit(rows.select([*HIDDEN, "kind"]), "kind"),
        ["predict", "predict_proba"],
    ),
    "elm of two": (
        lambda rows: gm.ELMClassifier(9, activation="relu").fit(rows.select([*HIDDEN, "bought"]), "bought"),
        ["predict", "predict_proba"],
    ),
    "elm regressor": (
        lambda rows: gm.ELMRegressor(9, activation="sigmoid").fit(rows.select([*HIDDEN, "price"]), "price"),
        ["predict"],
    ),
    "density": (
        lambda rows: gm.DensityEmbedding(2).fit(rows.select(FEATURES)),
        ["anomaly_score", "predict", "transform"],
    ),
    "walk": (
        lambda rows: gm.DensityEmbedding(method="walk").fit(rows.select(["color", "wide", "flag"])),
        ["anomaly_score"],
    ),
    "crosses": (
        lambda rows: gm.PCA(4).fit(
            gm.collect(rows.select(FEATURES), crosses=[("color", "flag"), ("size", "flag"), ("size", "when_month")])
        ),
        ["transform"],
    ),
    "crosses of pooled levels": (
        lambda rows: gm.PCA(4).fit(
            gm.collect(
                rows.select(["color", "flag", "small", "skew"]),
                categorical=["small"],
                bins={"skew": 5},
                crosses=[("color", "flag"), ("small", "color"), ("skew", "color")],
            ).pool(min_count=30)
        ),
        ["transform"],
    ),
    "density of crosses": (
        lambda rows: gm.DensityEmbedding(2).fit(
            gm.collect(rows.select(["color", "flag", "small", "wide"]), crosses=[("color", "flag"), ("small", "flag")])
        ),
        ["anomaly_score"],
    ),
    "additive": (
        lambda rows: gm.AdditiveRegressor(
            bins=5, crosses=[("color", "flag"), ("size", "wide"), ("small", "skew"), ("when_hour", "flag")]
        ).fit(rows.select([*FEATURES, "price"]), "price"),
        ["predict"],
    ),
    "additive of two": (
        lambda rows: gm.AdditiveClassifier(bins=5, crosses=[("color", "size")]).fit(
            rows.select([*FEATURES, "bought"]), "bought"
        ),
        ["predict", "predict_proba", "decision_function"],
    ),
    "additive of classes": (
        lambda rows: gm.AdditiveClassifier(bins=4, crosses=[("color", "size")]).fit(
            rows.select(["color", "size", "kind"]), "kind"
        ),
        ["predict", "predict_proba", "decision_function"],
    ),
    "selector": (lambda rows: gm.ForwardSelector(k=3).fit(rows.select([*FEATURES, "price"]), "price"), ["transform"]),
    "filter": (lambda rows: gm.VarianceFilter(k=4).fit(rows.select(FEATURES)), ["transform"]),
}
CASES = [(name, method) for name, (_, methods) in MODELS.items() for method in methods]


@pytest.fixture(scope="session")
def model_of(training):
    return cache(lambda name: MODELS[name][0](training))


@pytest.mark.parametrize(("name", "method"), CASES)
class TestAgreement:
    def test_polars(self, name, method, model_of, later):
        assert gm.check_export(model_of(name), gm.to_polars(model_of(name), method), later) <= EXACT

    @pytest.mark.parametrize(("dialect", "lookups"), [("duckdb", "inline"), ("sqlite", "tables")])
    def test_sql(self, name, method, dialect, lookups, model_of, later):
        export = gm.to_sql(model_of(name), "t", dialect, method=method, lookups=lookups)
        assert gm.check_export(model_of(name), export, later) <= EXACT

    def test_postgres(self, name, method, model_of, postgres):
        # PostgreSQL has no text with the character 0; the labels of the fit that have one cannot occur there.
        rows = rows_of(3, 120, unseen=True, words=[word for word in WORDS if "\0" not in word])
        export = gm.to_sql(model_of(name), "t", "postgres", method=method)
        assert gm.check_export(model_of(name), export, rows, connection=postgres) <= EXACT

    def test_onnx(self, name, method, model_of, later):
        for dtype, most in (("float32", SINGLE), ("float64", EXACT)):
            assert (
                gm.check_export(model_of(name), gm.to_onnx(model_of(name), dtype=dtype, method=method), later) <= most
            )


class TestPolarsModes:
    def test_lazy_and_streaming_equal_eager(self, model_of, later):
        for name, method in (("pca", "transform"), ("density", "anomaly_score"), ("multinomial", "predict_proba")):
            expressions, frame = gm.to_polars(model_of(name), method), pl.from_arrow(later)
            eager = frame.select(expressions)
            # Plans add up in another order.
            plan = frame.lazy().select(expressions)
            newer = tuple(map(int, pl.__version__.split(".")[:2])) >= (1, 25)
            for planned in (
                plan.collect(),
                plan.collect(engine="streaming") if newer else plan.collect(streaming=True),
            ):
                assert planned.columns == eager.columns
                for one, other in zip(planned, eager, strict=True):
                    np.testing.assert_allclose(one, other, rtol=EXACT, atol=EXACT)

    def test_categoricals_are_text(self, model_of, later):
        frame = pl.from_arrow(later)
        other = frame.with_columns(pl.col("color", "wide").cast(pl.Categorical))
        expressions = gm.to_polars(model_of("pca"))
        assert other.select(expressions).equals(frame.select(expressions))


LABELS = st.text(st.characters(codec="utf-8", categories=["L", "P", "S", "Z", "Cc"]), max_size=3)


@st.composite
def tables(draw):
    """Two tables of one kind: to fit, and to transform."""
    labels = draw(st.lists(LABELS, min_size=2, max_size=6, unique=True))
    others = [*labels, draw(LABELS)]
    moment = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
        lambda t: t.replace(microsecond=0)
    )
    number = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))

    def table(words, n):
        some = st.none()
        return pa.table({
            "label": draw(st.lists(st.sampled_from(words) | some, min_size=n, max_size=n)),
            "code": draw(st.lists(st.integers(-3, 3) | some, min_size=n, max_size=n)),
            "flag": draw(st.lists(st.booleans() | some, min_size=n, max_size=n)),
            "when": draw(st.lists(moment | some, min_size=n, max_size=n)),
            "number": draw(st.lists(number | some, min_size=n, max_size=n)),
        }, pa.schema([("label", pa.string()), ("code", pa.int64()), ("flag", pa.bool_()), ("when", pa.timestamp("us")),
                      ("number", pa.float64())]))  # fmt: skip

    return table(labels, 12), table(others, 6)


@given(tables())
@examples(12)
def test_any_table_gives_the_same(pair):
    first, second = pair
    moments = gm.collect(
        first,
        categorical=["code"],
        bins={"number": [-10.0, 0.5, 1000.0]},
        crosses=[("label", "flag"), ("code", "number"), ("when_month", "flag")],
    )
    try:
        models = [
            (gm.PCA(2, scale=True).fit(moments), "transform"),
            (gm.DensityEmbedding(2).fit(moments), "anomaly_score"),
        ]
    except DataError:
        return  # Nothing varies.
    for model, method in models:
        exports = [
            gm.to_polars(model, method),
            gm.to_sql(model, "t", "duckdb", method=method),
            gm.to_sql(model, "t", "sqlite", method=method),
            gm.to_onnx(model, dtype="float64", method=method),
        ]
        assert max(gm.check_export(model, export, second) for export in exports) <= EXACT
        assert gm.check_export(model, gm.to_onnx(model, method=method), second) <= SINGLE


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    labels = [f"item {k}'s" for k in range(100_000)]
    rows = pa.table({"item": labels, "size": rng.normal(size=100_000)})
    rows = rows.append_column("y", pa.array(rng.normal(size=100_000)))
    model = gm.Ridge(categorical_features=["item"]).fit(rows, "y")
    return model, pa.table({"item": ["item 5's", "new", None, *labels[::20_000]], "size": [0.5] * 8})


class TestSize:
    def test_a_column_of_a_hundred_thousand_levels(self, wide):
        model, rows = wide
        for export in (
            gm.to_polars(model, "predict"),
            gm.to_sql(model, "t", method="predict"),
            gm.to_sql(model, "t", "sqlite", method="predict", lookups="tables"),
            gm.to_onnx(model, dtype="float64", method="predict"),
        ):
            assert gm.check_export(model, export, rows) <= EXACT

    def test_a_sum_of_two_thousand_terms(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 1990))
        rows = pa.table({f"x{k}": column for k, column in enumerate(X.T)})
        model = gm.Ridge().fit(rows, X[:, 0])
        for export in (
            gm.to_polars(model, "predict"),
            gm.to_sql(model, "t", method="predict"),
            gm.to_sql(model, "t", "sqlite", method="predict"),
            gm.to_onnx(model, dtype="float64", method="predict"),
        ):
            assert gm.check_export(model, export, rows) <= EXACT

    def test_two_thousand_outputs(self):
        rng = np.random.default_rng(0)
        rows = pa.table({"color": rng.choice(["red", "blue", "green"], 60), "size": rng.normal(size=60)})
        model = gm.RandomFeatures(2000, activation="tanh").fit(rows)
        for export in (gm.to_polars(model), gm.to_sql(model, "t"), gm.to_onnx(model, dtype="float64")):
            assert gm.check_export(model, export, rows) <= EXACT


class TestRefusals:
    @pytest.mark.parametrize(
        "export", [gm.to_polars, lambda model, method: gm.to_sql(model, "t", method=method), to_onnx]
    )
    def test_what_is_no_formula_says_so_in_one_line(self, export, model_of):
        call = export if export is not to_onnx else lambda model, method: to_onnx(model, method=method)
        for model, method in (
            (gm.NMF(1).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]), "transform"),
            (model_of("fisher"), "predict_log_proba"),
            (model_of("pca"), "score_samples"),
        ):
            with pytest.raises(DataError, match=f"{method} of {type(model).__name__} cannot be exported") as error:
                call(model, method)
            assert "\n" not in str(error.value)

    def test_a_cross_without_its_columns_says_so_in_one_line(self, training):
        moments = gm.collect(training.select(["color", "flag", "size"]), crosses=[("color", "flag"), ("size", "flag")])
        for features, column in (("color & flag", "color"), ("size & flag", "flag"), ("size & flag=False", "flag")):
            model = gm.PCA(1).fit(moments.select([features, "size"]))
            with pytest.raises(DataError, match=f"cannot be exported yet: column '{column}' is not a category"):
                gm.to_polars(model)

    def test_a_method_that_a_model_lacks_is_answered_by_those_it_has(self, model_of):
        with pytest.raises(DataError, match=r"no method 'transform'; export method='predict'$"):
            gm.to_polars(model_of("additive"))
        with pytest.raises(DataError, match="export method='predict' or predict_proba, decision_function"):
            gm.to_sql(model_of("additive of two"), "t")
        with pytest.raises(NotFittedError):
            gm.to_onnx(gm.AdditiveRegressor())

    def test_a_graph_of_another_program_is_not_compared(self, model_of, later):
        graph = gm.to_onnx(model_of("pca"))
        del graph.metadata_props[:]
        with pytest.raises(DataError, match="not written by to_onnx"):
            gm.check_export(model_of("pca"), graph, later)

    def test_a_wrong_export_is_found(self, model_of, later, training):
        other = gm.PCA(3).fit(training.select(FEATURES).slice(0, 100))
        assert gm.check_export(model_of("pca"), gm.to_polars(other), later) > 1e-3
        assert gm.check_export(model_of("pca"), gm.to_sql(other, "t"), later) > 1e-3
        assert gm.check_export(model_of("pca"), gm.to_onnx(other), later) > 1e-3
