"""`DensityEmbedding` as an estimator: scikit-learn's manners, thresholds, files, words."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.density import UncalibratedWarning
from gramian.storage import container

BEFORE = ("n_components", "method", "contamination", "black_swan_penalty", "categorical_features")
"""Parameters that were there before `score` was renamed `method`."""


def exceptions(estimator: gm.DensityEmbedding) -> dict[str, str]:
    """Return the checks that the detector cannot pass, with the reason."""
    clean = "no row of three round blobs is as odd as one in a hundred rows of the normal law with their moments"
    checks = ("check_outliers_train", "check_outliers_fit_predict")
    return dict.fromkeys(checks, clean) if estimator.contamination == "auto" else {}


@parametrize_with_checks(
    [
        gm.DensityEmbedding(),
        # A share of rows is flagged: the checks of outliers hold, which the default is excused from.
        gm.DensityEmbedding(n_components=1, contamination=0.1),
        gm.DensityEmbedding(method="mahalanobis"),
    ],
    expected_failed_checks=exceptions,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    n = 1000
    receiver = rng.choice(["Acme", "Bolt", "Cafe"], n, p=[0.5, 0.3, 0.2])
    currency = np.where(receiver == "Bolt", "JPY", "EUR")
    currency = np.where((rng.random(n) < 0.02) & (receiver == "Cafe"), "JPY", currency)
    return pd.DataFrame({"receiver": receiver, "currency": currency, "channel": rng.choice(["web", "app"], n)})


def test_words_name_the_pair_that_was_never_seen(frame):
    model = gm.DensityEmbedding().fit(frame)
    odd = pd.DataFrame({"receiver": ["Acme"], "currency": ["JPY"], "channel": ["web"]})
    reasons = model.explain(odd)
    n_acme, n_jpy = (frame["receiver"] == "Acme").sum(), (frame["currency"] == "JPY").sum()
    first = reasons.iloc[0]
    assert first["text"] == f"receiver=Acme with currency=JPY: seen 0 times, expected {n_acme * n_jpy / 1000:.3g}"
    assert (first["columns"], first["values"], first["seen"]) == ("receiver & currency", "Acme & JPY", 0.0)
    assert list(reasons.columns) == ["row", "columns", "values", "contribution", "seen", "expected", "text"]


def test_words_name_what_is_new_and_how_far_a_number_lies_out(rng):
    size = rng.normal(10.0, 1.0, 400)
    table = pa.table(
        {"color": rng.choice(["red", "blue"], 400), "size": size, "weight": 2 * size + rng.normal(size=400)}
    )
    model = gm.DensityEmbedding().fit(table)
    weight = table["weight"].to_numpy()
    mean, spread = weight.mean(), weight.std()
    odd = pa.table({"color": ["mauve", "red"], "size": [10.0, 10.0], "weight": [20.0, 60.0]})
    texts = model.explain(odd, top=1)["text"].to_pylist()
    assert texts[0] == "color=mauve: never seen in 400 rows"
    assert texts[3] == f"weight=60: {(60 - mean) / spread:.3g} standard deviations above the mean, {mean:.3g}"
    assert model.predict(odd).tolist() == [-1, -1]


def flights(rng: np.random.Generator, n: int = 3000) -> pd.DataFrame:
    """Return destinations with distances that vary by the airport one starts from, and a small one that is always 160 away."""
    place = rng.choice(["LAX", "ORD", "ATL", "BOS"], n)
    distance = pd.Series({"LAX": 2475.0, "ORD": 740.0, "ATL": 760.0, "BOS": 190.0})[place].to_numpy() + rng.normal(
        0, 9, n
    )
    frame = pd.DataFrame({"dest": place, "carrier": rng.choice(["AA", "UA", "DL"], n), "distance": distance.round(1)})
    frame.loc[:5, ["dest", "distance"]] = ["PVD", 160.0]
    return frame


def test_a_value_that_every_row_of_its_level_has_is_no_reason(rng):
    frame = flights(rng)
    model = gm.DensityEmbedding().fit(frame)
    odd = pd.DataFrame({"dest": ["PVD", "PVD"], "carrier": ["AA", "AA"], "distance": [160.0, 2475.0]})
    reasons = model.explain(odd, top=6)
    agrees, differs = (reasons[(reasons["row"] == i) & (reasons["columns"] == "dest & distance")] for i in (0, 1))
    assert agrees.empty
    assert differs["text"].tolist() == ["dest=PVD with distance=2,475: expected about 160, the mean of 6 rows"]
    np.testing.assert_allclose(differs["expected"], 160.0)
    scores = model.anomaly_score(odd)
    np.testing.assert_allclose(reasons.groupby("row")["contribution"].sum(), scores, rtol=1e-9)


def test_words_say_always_where_counts_tell_it(rng):
    frame = flights(rng).assign(distance=lambda f: (f["distance"] / 200).round().astype(int) * 200)
    frame.loc[:5, "distance"] = 160
    frame.loc[6] = ["XNA", "AA", 1140]
    odd = pd.DataFrame({"dest": ["PVD", "XNA"], "carrier": ["AA", "AA"], "distance": [2400, 200]})
    for fitted in (frame, frame.assign(distance=frame["distance"] + 1e-9 * (frame["dest"] == "BOS"))):
        texts = (
            gm.DensityEmbedding().fit(fitted).explain(odd.astype({"distance": fitted["distance"].dtype}), top=6)["text"]
        )
        assert "dest=XNA with distance=200: 1 row, always 1,140" in texts.tolist()
        by_level = fitted["distance"].dtype.kind == "i"
        assert ("dest=PVD with distance=2,400: 6 rows, always 160" in texts.tolist()) == by_level


def test_words_rank_a_number_whose_values_are_counted(rng):
    # 3,000 days of 0 to 20, 22 of them below 0.
    days = np.concatenate([rng.binomial(20, 0.5, 2978), -rng.integers(1, 20, 22)])
    frame = pd.DataFrame({"days": days, "kind": rng.choice(list("ab"), 3000)})
    model = gm.DensityEmbedding().fit(frame)
    odd = pd.DataFrame({"days": [-1, -40, 60], "kind": ["a", "b", "a"]})
    reasons = model.explain(odd, top=1)["text"].tolist()[::3]
    below = int((days <= -1).sum())
    assert reasons == [
        f"days=-1: lower than all but {below} of 3,000 rows",
        "days=-40: lower than all 3,000 rows",
        "days=60: higher than all 3,000 rows",
    ]


def test_words_on_a_skewed_number_are_on_the_scale_of_its_score(rng):
    amount = rng.lognormal(3.0, 0.8, 5000)
    frame = pd.DataFrame({"amount": amount, "kind": rng.choice(list("ab"), 5000)})
    model = gm.DensityEmbedding().fit(frame)
    reason = model.explain(pd.DataFrame({"amount": [900.0], "kind": ["a"]}), top=1).iloc[0]
    far, middle = re.fullmatch(
        r"amount=900: (\S+) standard deviations above the middle, (\S+), on a logarithmic scale", reason["text"]
    ).groups()
    # Of a lognormal number: the logarithm is normal about that of the median.
    assert float(middle) == pytest.approx(np.exp(3.0), rel=0.1)
    assert float(far) == pytest.approx((np.log(900) - 3.0) / 0.8, rel=0.15)
    assert reason["expected"] == pytest.approx(float(middle), rel=0.01)


def test_a_value_that_many_rows_undercut_is_not_the_oddest(rng):
    n = 6104
    delay = rng.normal(-6.0, 15.0, n) + np.where(rng.random(n) < 0.25, rng.exponential(45.0, n), 0.0)
    delay[0] = 1272.0
    frame = pd.DataFrame({"delay": delay.round(1), "carrier": rng.choice(["AA", "UA", "DL"], n)})
    for rows in (frame, frame[1:]):
        model = gm.DensityEmbedding().fit(rows)
        early = rows.sort_values("delay").iloc[[22]].assign(carrier="AA")
        late = rows.sort_values("delay").iloc[[-1]].assign(carrier="AA")
        assert model.anomaly_score(early)[0] < model.anomaly_score(late)[0]
        # 22 rows of 6,104: a number that normal numbers undercut as often is worth this much.
        assert model.anomaly_score(early)[0] - model.anomaly_score(early.assign(delay=-6.0))[0] < 0.5 * 2.69**2 + 3.0


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_explanations_come_in_the_library_of_the_input(frame, convert):
    X = convert(frame)
    table = gm.DensityEmbedding().fit(X).explain(X[:2])
    assert type(table) is type(X)


def test_share_of_rows_is_pointed_out(frame, rng):
    frame["amount"] = rng.gamma(2.0, 10.0, len(frame))
    model = gm.DensityEmbedding(contamination=0.03).fit(frame)
    assert (model.predict(frame) == -1).sum() == 30
    np.testing.assert_array_equal(model.fit_predict(frame), model.predict(frame))
    np.testing.assert_array_equal(model.predict(frame) == -1, model.decision_function(frame) < 0)


def test_a_share_needs_rows_and_says_which_method_takes_them(frame):
    with pytest.warns(UncalibratedWarning, match=r"calibrate\(X\)"):
        model = gm.DensityEmbedding(contamination=0.05).fit(gm.collect(frame))
    assert model.anomaly_score(frame).shape == (1000,)
    for call in (model.predict, model.decision_function):
        with pytest.raises(DataError, match="calibrate"):
            call(frame)
    model.calibrate(frame)
    assert model.offset_ == gm.DensityEmbedding(contamination=0.05).fit(frame).offset_


def test_a_budget_of_alerts_sets_the_threshold(frame, rng):
    frame["amount"] = rng.gamma(2.0, 10.0, len(frame))
    model = gm.DensityEmbedding().fit(gm.collect(frame))
    assert (model.calibrate(frame, alerts=20).predict(frame) == -1).sum() == 20
    assert (model.calibrate(frame, alerts=5, per_rows=100).predict(frame) == -1).sum() == 50
    share = gm.DensityEmbedding(contamination=0.02).fit(frame)
    assert model.calibrate(frame, alerts=20).offset_ == share.offset_
    for wrong, words in (
        ({"alerts": 5000}, "all of the 1,000 rows"),
        ({"per_rows": 10}, "goes with"),
        ({"alerts": 0}, "alerts"),
    ):
        with pytest.raises(ValueError, match=words):
            model.calibrate(frame, **wrong)


def test_explanations_follow_the_rows_and_not_the_training(frame):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    assert isinstance(gm.DensityEmbedding().fit(arrow).explain(frame[:2]), pd.DataFrame)
    assert isinstance(gm.DensityEmbedding().fit(frame).explain(arrow[:2]), pa.Table)


def test_weights_count_as_repeated_rows(frame, rng):
    weights = rng.integers(0, 4, len(frame))
    frame["amount"] = rng.gamma(2.0, 10.0, len(frame))
    repeated = frame.loc[np.repeat(np.arange(len(frame)), weights)]
    options = {"contamination": 0.05}
    weighted = gm.DensityEmbedding(**options).fit(frame, sample_weight=weights)
    named = gm.DensityEmbedding(**options).fit(frame.assign(w=weights.astype(float)), sample_weight="w")
    plain = gm.DensityEmbedding(**options).fit(repeated)
    for model in (weighted, named):
        np.testing.assert_allclose(model.anomaly_score(frame), plain.anomaly_score(frame), rtol=1e-9)
        np.testing.assert_allclose(model.offset_, plain.offset_, rtol=1e-9)


def test_a_label_can_be_named_and_is_no_feature(frame):
    model = gm.DensityEmbedding().fit(frame, y="channel")
    assert list(model.feature_names_in_) == ["receiver", "currency"]
    assert model.predict(frame).shape == (1000,)


def test_penalty_is_a_parameter(frame):
    unseen = frame.iloc[:1].assign(receiver="Zoo")
    usual = frame.iloc[:1]
    model = gm.DensityEmbedding(black_swan_penalty=0.0).fit(frame)
    assert model.anomaly_score(unseen)[0] < 1.0 + model.anomaly_score(frame).max()
    assert model.explain(unseen, top=1)["contribution"].iloc[0] >= 0.0
    model = gm.DensityEmbedding(black_swan_penalty=100.0).fit(frame)
    assert model.anomaly_score(unseen)[0] >= 100.0 > model.anomaly_score(usual)[0]


def test_files_are_scored_as_rows_are(frame, tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame.to_parquet(path)
    model = gm.DensityEmbedding(contamination=0.1).fit(path)
    assert gm.transform_file(model, path, out, method="anomaly_score", keep="receiver") == 1000
    read = pq.read_table(out)
    assert read.column_names == ["receiver", "anomaly_score"]
    np.testing.assert_array_equal(read["anomaly_score"].to_numpy(), model.anomaly_score(frame))
    assert model.offset_ == gm.DensityEmbedding(contamination=0.1).fit(frame).offset_
    gm.transform_file(model, path, out, method="predict")
    np.testing.assert_array_equal(pq.read_table(out)["prediction"].to_numpy(), model.predict(frame))


@pytest.mark.parametrize("numbers", [False, True])
def test_a_saved_model_scores_explains_and_embeds_alike(frame, rng, tmp_path, numbers):
    if numbers:
        frame["amount"] = rng.gamma(2.0, 10.0, len(frame))
    model = gm.DensityEmbedding(n_components=2).fit(frame)
    gm.save(model, tmp_path / "model.gm")
    again = gm.load(tmp_path / "model.gm")
    odd = frame.iloc[:20].assign(receiver="Zoo")
    for X in (frame, odd):
        np.testing.assert_array_equal(again.anomaly_score(X), model.anomaly_score(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.explain(odd).equals(model.explain(odd))


def test_the_embedding_waits_until_it_is_asked_for_also_after_loading(frame, tmp_path, monkeypatch):
    model = gm.DensityEmbedding().fit(frame)
    with monkeypatch.context() as patch:
        patch.setattr("gramian.linear.density.detector.density_embedding", None)
        model.predict(frame)
        model.explain(frame[:3])
        gm.save(model, tmp_path / "model.gm")
        again = gm.load(tmp_path / "model.gm")
        again.predict(frame)
    assert again.transform(frame).shape == (1000, again.n_components_) == (1000, 4)
    np.testing.assert_array_equal(again.components_, model.components_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"contamination": 0.7}, "contamination"),
        ({"contamination": "high"}, "contamination"),
        ({"black_swan_penalty": -1.0}, "black_swan_penalty"),
        ({"method": "length"}, "method"),
        ({"dependence": -1.0}, "dependence"),
        ({"dependence": 2.0, "method": "walk"}, "dependence=2.0 applies to method='trees' only"),
        ({"n_components": 50}, "must be between 1 and min"),
    ],
)
def test_bad_parameters_are_named(frame, options, words):
    with pytest.raises(DataError, match=words):
        gm.DensityEmbedding(**options).fit(frame)


def test_what_has_no_rows_is_refused(frame):
    moments = gm.collect(frame)
    with pytest.raises(DataError, match="rows"):
        gm.DensityEmbedding().fit_predict(moments)
    with pytest.raises(DataError, match="auto"):
        gm.DensityEmbedding().fit(moments).calibrate(frame)
    with pytest.raises(DataError, match="top"):
        gm.DensityEmbedding().fit(moments).explain(frame, top=0)


def test_columns_that_do_not_vary_and_single_columns_are_no_trouble(rng):
    for table in ({"a": ["x"] * 5}, {"a": ["x", "y"] * 5}, {"a": ["x"] * 6, "b": [1.0] * 6}, {"b": [None, 1.0, 2.0]}):
        model = gm.DensityEmbedding().fit(pa.table(table))
        scores = model.anomaly_score(pa.table(table))
        assert np.isfinite(scores).all()
        assert np.isfinite(model.offset_)
    assert model.explain(pa.table({"b": [None, 9.0]}))["row"].to_pylist()[-1] == 1


@pytest.mark.parametrize("method", ["trees", "mahalanobis", "walk"])
def test_score_is_the_mean_of_the_rows_and_searches_choose_by_it(frame, method):
    model = gm.DensityEmbedding(method=method).fit(frame)
    assert model.score(frame) == pytest.approx(float(model.score_samples(frame).mean()), rel=1e-12)
    assert model.score(frame, np.zeros(len(frame))) == model.score(frame)
    assert make_pipeline(gm.DensityEmbedding(method=method)).fit(frame).score(frame) == pytest.approx(
        model.score(frame)
    )
    rows = frame.assign(currency=np.where(np.arange(len(frame)) == 0, "GBP", frame["currency"]))
    search = GridSearchCV(
        gm.DensityEmbedding(method=method), {"black_swan_penalty": [50.0, 0.0]}, error_score="raise", cv=3
    )
    assert search.fit(rows).best_params_ == {"black_swan_penalty": 0.0}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_files_from_before_the_parameter_was_renamed_load(frame, tmp_path):
    model = gm.DensityEmbedding(method="mahalanobis").fit(frame)
    gm.save(model, tmp_path / "new.model")
    tensors, header = container.read(tmp_path / "new.model")
    parameters = json.loads(header["parameters"])["dict"]
    # The parameter was called `score`, and there were none of those that came later.
    old = {("score" if key == "method" else key): parameters[key] for key in BEFORE}
    container.write(tmp_path / "old.model", tensors, {**header, "parameters": json.dumps({"dict": old})})
    again = gm.load(tmp_path / "old.model")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.anomaly_score(frame), model.anomaly_score(frame))


def test_files_are_told_the_call_that_takes_them(tmp_path):
    model = gm.DensityEmbedding().fit(pa.table({"a": ["x", "y", "x"], "b": ["u", "u", "v"]}))
    with pytest.raises(DataError, match=r"anomaly_score takes rows in memory; .*method='anomaly_score'\)"):
        model.anomaly_score(tmp_path / "rows.csv")
    with pytest.raises(DataError, match="gramian detect --explain"):
        model.explain("rows.csv")
