"""One rule for identifiers, whatever method fits the table: `docs/identifiers.md`, line by line."""

import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.identifiers import FEW_LEVELS, is_identifier
from gramian.errors import DataError
from gramian.moments.advice import identifiers

N = 200

METHODS = [
    gm.PCA(2), gm.Whitening(), gm.FisherDiscriminant(), gm.MahalanobisFeatures(), gm.JointTargetEncoder(),
    gm.DensityEmbedding(), gm.VarianceFilter(), gm.PearsonFilter(), gm.MutualInformationFilter(), gm.IndependenceFilter(),
    gm.RedundancyFilter(), gm.MRMRFilter(), gm.ForwardSelector(), gm.RecursiveEliminator(), gm.LassoSelector(),
    gm.NeuralICA(1), gm.RandomFeatures(5), gm.HebbianPCA(1), gm.LinearAutoencoder(1), gm.ELMClassifier(5), gm.ELMRegressor(5),
    gm.Ridge(), gm.LogisticRegression(alpha=1.0), gm.GLM("gaussian"), gm.AdditiveClassifier(), gm.AdditiveRegressor(),
]  # fmt: skip
FROM_MOMENTS = [m for m in METHODS if getattr(m, "_takes_moments", False) and not isinstance(m, gm.NeuralICA)]


def name_of(method):
    return type(method).__name__


def levels(count, n=N):
    """Text of so many levels, as even as can be."""
    return [f"v{k % count}" for k in range(n)]


def table(rng, n=N, **columns):
    color, size = rng.choice(["red", "green", "blue"], n), rng.standard_normal(n)
    return pd.DataFrame({"color": color, "size": size, **columns, "y": (size + (color == "red") > 0.3).astype(int)})


def found(frame, **options):
    m = gm.collect(frame, **options)
    return sorted(identifiers(m, m.schema.features))


# The boundary


@pytest.mark.parametrize(("n_levels", "expected"), [(99, []), (100, ["id"]), (101, ["id"]), (200, ["id"])])
def test_half_as_many_levels_as_rows_is_the_boundary(rng, n_levels, expected):
    assert found(table(rng, id=levels(n_levels))) == expected


def test_an_odd_number_of_rows_is_halved_exactly():
    assert not is_identifier(50, 101)
    assert is_identifier(51, 101)


@pytest.mark.parametrize("n", [FEW_LEVELS, FEW_LEVELS + 1])
def test_a_table_of_few_rows_stays_usable(rng, n):
    assert found(table(rng, n, id=levels(n, n))) == ([] if n == FEW_LEVELS else ["id"])
    small = pd.DataFrame({"a": ["x", "y", "z"] * 2, "b": [1.0, 2.0, 4.0, 3.0, 7.0, 5.0]})
    assert gm.PCA().fit(small).design_names_ == ["a_x", "a_y", "a_z", "b"]


def test_rows_count_and_weights_do_not(rng):
    frame = table(rng, id=levels(100), other=levels(99), weight=rng.uniform(0.1, 50.0, N))
    assert found(frame, sample_weight="weight") == ["id"]
    m = gm.collect(frame)
    for scaled in (m * 10, m * 0.01):
        assert sorted(identifiers(scaled, scaled.schema.features)) == ["id"]


def test_a_row_of_weight_zero_is_not_a_row(rng):
    frame = table(rng, id=levels(90))
    assert found(frame) == []
    # 100 rows of 90 levels are left.
    assert found(frame, sample_weight=(np.arange(N) < 100).astype(float)) == ["id"]


def test_missing_is_one_level_and_its_rows_count(rng):
    ids = levels(99)
    assert found(table(rng, id=ids)) == []
    # One more level, the missing one, is half of the rows.
    assert found(table(rng, id=[None, *ids[1:]])) == ["id"]
    # Few rows have a value at all, and each another: that they have one is information.
    assert found(table(rng, id=[f"v{k}" if k < 60 else None for k in range(N)])) == []


def test_pooled_levels_are_one_level(rng):
    m = gm.collect(table(rng, id=[f"v{k}" if k < 120 else "often" for k in range(N)]))
    assert list(identifiers(m, m.schema.features)) == ["id"]
    pooled = m.pool(max_levels=100)
    assert len(pooled.levels("id")) == 100
    assert list(identifiers(pooled, pooled.schema.features)) == ["id"]
    pooled = m.pool(max_levels=99)
    assert not identifiers(pooled, pooled.schema.features)
    assert "id_(rare)" in gm.PCA(2).fit(pooled).design_names_


def test_more_rows_make_a_feature_of_it_and_fewer_an_identifier(rng):
    frame = pd.concat([table(rng, id=levels(100)), table(rng, id=levels(100))], ignore_index=True)
    first, second = gm.collect(frame[:N]), gm.collect(frame[N:])
    assert list(identifiers(first, first.schema.features)) == ["id"]
    both = first + second
    assert not identifiers(both, both.schema.features)
    again = both - second
    assert list(identifiers(again, again.schema.features)) == ["id"]


def test_numbers_kept_by_level_are_numbers(rng):
    frame = table(rng, 60, code=np.arange(60), price=np.linspace(0, 1, 60))
    assert found(frame) == []
    assert "code" in gm.PCA(2).fit(frame).design_names_


def test_parts_of_a_date_are_features(rng):
    # 24 hours in 30 rows.
    frame = table(rng, 30, when=pd.date_range("2026-01-01", periods=30, freq="h"))
    assert found(frame) == []


def test_dictionaries_are_text(rng):
    frame = table(rng, id=pd.Categorical(levels(100)))
    assert found(frame) == ["id"]
    assert found(pa.Table.from_pandas(frame)) == ["id"]


# What methods do


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_every_method_sets_an_identifier_aside_and_says_so_in_one_line(method, rng, caplog):
    frame = table(rng, id=levels(100), date=pd.date_range("1990-01-01", periods=N).astype(str))
    with caplog.at_level(logging.INFO, "gramian"):
        model = method.fit(frame, "y")
    (line,) = [record.getMessage() for record in caplog.records if "set aside" in record.getMessage()]
    assert "'id' (100 levels), 'date' (200 levels)" in line
    assert "categorical=['id', 'date']" in line
    assert "categorical_features=['id', 'date']" in line
    assert "'date' reads as dates" in line
    assert model.design_.origins == ["color", "size"]
    assert not any("id_" in name or "date" in name for name in model.design_.names)
    # The columns are not needed for new rows.
    rows = frame[["size", "color"]][:5]
    for name in ("transform", "predict", "anomaly_score"):
        if hasattr(model, name):
            np.testing.assert_array_equal(
                np.asarray(getattr(model, name)(rows)), np.asarray(getattr(model, name)(frame[:5]))
            )
    assert model.black_swans(frame[:5].assign(id="never seen")).sum() == 0


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_the_model_is_the_one_without_the_column(method, rng):
    frame = table(rng, id=levels(150))
    with_it, without = method.fit(frame, "y").design_, method.fit(frame.drop(columns="id"), "y").design_
    assert with_it.names == without.names
    np.testing.assert_array_equal(with_it.mean, without.mean)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_a_column_that_is_named_stays(method, rng, caplog):
    frame = table(rng, 60, id=levels(30, 60))
    model = method.set_params(categorical_features=["id", "color"])
    try:
        with caplog.at_level(logging.INFO, "gramian"):
            assert model.fit(frame, "y").design_.origins == ["color", "size", "id"]
    finally:
        method.set_params(categorical_features="from_dtype")
    assert "set aside" not in caplog.text


@pytest.mark.parametrize("method", FROM_MOMENTS, ids=name_of)
def test_moments_remember_what_was_named(method, rng, tmp_path):
    frame = table(rng, 60, id=levels(30, 60))
    plain, named = gm.collect(frame, folds=3), gm.collect(frame, folds=3, categorical=["id"])
    assert method.fit(plain, "y").design_.origins == ["color", "size"]
    named.save(tmp_path / "named.moments")
    halves = [gm.collect(frame[:40], categorical=["id"], folds=3), gm.collect(frame[40:], folds=3)]
    for moments in (named, gm.Moments.load(tmp_path / "named.moments"), plain.as_categorical("id"), gm.merge(halves)):
        assert method.fit(moments, "y").design_.origins == ["color", "size", "id"]
    # To be named changes nothing of what was counted.
    assert plain == named


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_identifiers_alone_are_an_error_that_says_what_to_do(method, rng):
    frame = pd.DataFrame({"a": levels(N), "b": levels(100), "y": rng.choice([0, 1], N)})
    with pytest.raises(
        DataError, match=r"every column has at least half as many levels as there are rows \(200\)"
    ) as error:
        method.fit(frame, "y")
    assert "categorical=['a', 'b']" in str(error.value)


def test_columns_of_arrays_go_by_position(rng):
    X = np.array([[f"u{k}", "ab"[k % 2], float(k % 7)] for k in range(60)], dtype=object)
    model = gm.PCA(2).fit(X)
    assert model.n_features_in_ == 3
    assert model.design_.origins == ["x1", "x2"]
    np.testing.assert_allclose(model.transform(X), gm.PCA(2).fit(X[:, 1:]).transform(X[:, 1:]))
    assert model.black_swans(X).shape == (60, 3)
    kept = gm.VarianceFilter().fit(X)
    assert kept.get_support().tolist() == [False, True, True]
    assert kept.transform(X).shape == (60, 2)
    with pytest.raises(ValueError, match="3 features"):
        model.transform(X[:, 1:])


def test_a_stream_takes_a_column_in_when_it_stops_being_an_identifier(rng, caplog):
    frame = table(rng, id=levels(40))
    model = gm.PCA(2)
    with caplog.at_level(logging.INFO, "gramian"):
        model.partial_fit(frame[:50])
        assert "id_v0" not in model.design_names_
        assert caplog.text.count("set aside") == 1
        model.partial_fit(frame[50:])
        assert "id_v0" in model.design_names_
        assert caplog.text.count("set aside") == 1
    whole = gm.PCA(2).fit(frame)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)
    assert model.feature_names_in_.tolist() == whole.feature_names_in_.tolist()


def test_a_stream_may_begin_with_identifiers_alone(rng):
    frame = pd.DataFrame({"a": levels(30), "b": levels(25)})
    model = gm.PCA(1).partial_fit(frame[:30])
    with pytest.raises(DataError, match="every column has"):
        model.transform(frame)
    assert model.partial_fit(frame[30:]).transform(frame).shape == (N, 1)


def test_models_without_the_column_travel(rng, tmp_path):
    frame = table(rng, id=levels(N))
    for model in (gm.PCA(2), gm.DensityEmbedding(), gm.ForwardSelector(1)):
        model.fit(frame, "y")
        gm.save(model, tmp_path / "m.model")
        again = gm.load(tmp_path / "m.model")
        np.testing.assert_array_equal(np.asarray(again.transform(frame)), np.asarray(model.transform(frame)))
        assert again.feature_names_in_.tolist() == ["color", "size", "id"]


def test_moments_still_count_it(rng):
    m = gm.collect(table(rng, id=levels(N)))
    assert len(m.levels("id")) == N
    assert m.crosstab("id", "color").sum() == N


def test_rank_columns_measures_it_and_gives_it_no_place(rng, caplog):
    frame = table(rng, id=levels(N))
    with caplog.at_level(logging.INFO, "gramian"):
        ranked = gm.rank_columns(frame, "y").set_index("column")
    assert caplog.text.count("column 'id' (200 levels) is set aside") == 1
    assert set(ranked.index) == {"color", "size", "id"}
    for name in ("p_value", "q_value", "mrmr", "forward", "lasso", "redundancy", "explained_by"):
        assert pd.isna(ranked.loc["id", name])
    assert ranked.loc["id", "variance"] == pytest.approx(1 - 1 / N)
    plain = gm.rank_columns(frame.drop(columns="id"), "y").set_index("column")
    pd.testing.assert_frame_equal(ranked.loc[plain.index], plain, check_dtype=False)
    with pytest.raises(DataError, match="every column has"):
        gm.rank_columns(frame[["id", "y"]], "y")


def test_selectors_score_it_as_no_candidate(rng):
    frame = table(rng, id=levels(N))
    frame["y"] = frame["size"] + 0.1 * rng.standard_normal(N)
    model = gm.ForwardSelector().fit(frame, "y")
    assert model.get_support().tolist() == [False, True, False]
    assert model.scores_[2] == -np.inf
    assert model.p_values_[2] == 1.0
    assert gm.RecursiveEliminator().fit(frame, "y").ranking_[2] == 3
    assert gm.IndependenceFilter().fit(frame, "y").adjusted_p_values_[2] == 1.0
    assert gm.RedundancyFilter().fit(frame, "y").explained_by_[2] == ""
    assert gm.PearsonFilter(include="id").fit(frame, "y").get_support().tolist() == [False, True, True]


def test_preview_suspects_by_the_same_rule(rng):
    frame = table(rng, id=levels(100), nearly=levels(99), gaps=[None, *levels(99)[1:]])
    assert gm.preview(frame).suspected_ids == ["id", "gaps"]
    assert found(frame) == ["gaps", "id"]
    assert gm.preview(frame, categorical=["id"]).suspected_ids == ["gaps"]


def test_gower_distances_of_models_leave_it_out(rng, caplog):
    frame = table(rng, 60, id=levels(30, 60)).drop(columns="y")
    with caplog.at_level(logging.INFO, "gramian"):
        model = gm.ClassicalMDS(2, metric="gower").fit(frame)
    (line,) = [text for text in caplog.messages if "set aside" in text]
    assert "'id' (30 levels)" in line
    without = gm.ClassicalMDS(2, metric="gower").fit(frame.drop(columns="id"))
    np.testing.assert_allclose(model.embedding_, without.embedding_, atol=1e-12)
    np.testing.assert_allclose(
        model.transform(frame[:5].assign(id="new")), without.transform(frame[:5].drop(columns="id"))
    )
    few = table(rng, 60, id=levels(29, 60)).drop(columns="y")
    caplog.clear()
    gm.ClassicalMDS(2, metric="gower").fit(few)
    assert not caplog.messages
    with pytest.raises(DataError, match="no columns are left to measure by"):
        gm.ClassicalMDS(2, metric="gower").fit(frame[["id"]])
    alone = gm.pairwise_distances(frame[["id"]], metric="gower")
    assert set(np.unique(alone)) == {0.0, 1.0}
