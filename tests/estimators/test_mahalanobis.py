"""MahalanobisFeatures and JointTargetEncoder as scikit-learn estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.errors import DataError

ESTIMATORS = [gm.MahalanobisFeatures(), gm.MahalanobisFeatures(structure="krylov"), gm.JointTargetEncoder()]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def frame(rng):
    n = 600
    return pd.DataFrame(
        {
            "city": np.char.add("c", rng.integers(0, 30, n).astype(str)),
            "color": rng.choice(["red", "green", "blue"], n),
            "size": rng.standard_normal(n),
        }
    )


@pytest.fixture
def price(frame, rng):
    city, red = frame["city"].str[1:].astype(int), frame["color"] == "red"
    return city * 0.1 + red + frame["size"] + rng.standard_normal(len(frame))


@pytest.fixture
def label(price):
    return pd.Series(np.array(["low", "mid", "top"])[np.digitize(price, [1.0, 2.5])])


def test_cross_fitting_keeps_a_rows_target_from_its_own_features(frame, price):
    encoder = gm.JointTargetEncoder(ridge=5.0)
    before = encoder.fit_transform(frame, price)
    changed = price.copy()
    changed.iloc[17] += 1e4
    after = encoder.fit_transform(frame, changed)
    # Of `size`, a number, only the slope knows the target, and all rows share it.
    np.testing.assert_allclose(after[17, :2], before[17, :2], rtol=1e-9)
    others = np.delete(np.arange(len(frame)), 17)
    assert np.abs(after[others] - before[others]).max() > 1.0
    leaky = encoder.fit(frame, changed).transform(frame)
    assert np.abs(leaky[17] - before[17]).max() > 1.0


@pytest.mark.parametrize("options", [{}, {"structure": "krylov", "n_components": 2}, {"structure": "columns"}])
def test_cross_fitted_features_mean_what_the_full_fit_means(frame, price, options):
    model = gm.MahalanobisFeatures(**options)
    crossed = model.fit_transform(frame, price)
    plain = model.transform(frame)
    for k in range(plain.shape[1]):
        # Positive and large: neither the sign nor the meaning changes from fold to fold.
        assert np.corrcoef(crossed[:, k], plain[:, k])[0, 1] > 0.75
    np.testing.assert_allclose(plain, clone(model).fit(frame, price).transform(frame), atol=1e-9)


def test_noise_levels_do_not_leak_into_cross_fitted_features(rng):
    n = 1000
    frame = pd.DataFrame({"id": np.char.add("i", rng.integers(0, 500, n).astype(str))})
    y = rng.standard_normal(n)
    model = gm.MahalanobisFeatures(ridge=0.1)
    assert abs(np.corrcoef(model.fit(frame, y).transform(frame)[:, 0], y)[0, 1]) > 0.5
    assert abs(np.corrcoef(model.fit_transform(frame, y)[:, 0], y)[0, 1]) < 0.15


def test_cv_none_is_plain(frame, price):
    model = gm.MahalanobisFeatures(cv=None, ridge=1.0)
    np.testing.assert_array_equal(model.fit_transform(frame, price), model.transform(frame))


def test_a_splitter_gives_the_fold_of_each_row(frame, price):
    folds = KFold(4, shuffle=True, random_state=0)
    model = gm.JointTargetEncoder(ridge=5.0, cv=folds)
    found = model.fit_transform(frame, price)
    for train, test in folds.split(frame):
        alone = gm.JointTargetEncoder(ridge=5.0).fit(frame.iloc[train], price.iloc[train])
        np.testing.assert_allclose(found[test][:, :2], alone.transform(frame.iloc[test])[:, :2], atol=1e-9)
    plain = gm.JointTargetEncoder(ridge=5.0).fit(frame, price).transform(frame)
    np.testing.assert_allclose(found[:, 2], plain[:, 2], atol=1e-9)


@pytest.mark.parametrize("routing", [False, True])
def test_groups_are_routed_to_the_splitter(frame, price, routing):
    groups = np.arange(len(frame)) // 20
    with sklearn.config_context(enable_metadata_routing=routing):
        model = gm.JointTargetEncoder(ridge=5.0, cv=GroupKFold(5))
        direct = model.fit_transform(frame, price, groups=groups)
        if routing:
            piped = make_pipeline(model, Ridge()).fit(frame, price, groups=groups)
            expected = Ridge().fit(direct, price).coef_
            np.testing.assert_allclose(piped[-1].coef_, expected, atol=1e-10)
    changed = price.copy()
    changed.iloc[:20] += 1e3
    again = model.fit_transform(frame, changed, groups=groups)
    np.testing.assert_allclose(again[:20, :2], direct[:20, :2], rtol=1e-9)


def test_overlapping_test_sets_are_refused(frame, price):
    with pytest.raises(DataError, match="exactly one"):
        gm.JointTargetEncoder(cv=ShuffleSplit(3, random_state=0)).fit_transform(frame, price)


def test_moments_paths_and_iterators_have_no_rows_to_cross_fit(frame, price):
    model = gm.MahalanobisFeatures()
    with pytest.raises(DataError, match="Moments have none"):
        model.fit_transform(gm.collect(frame), "size")
    with pytest.raises(DataError, match="transform_file"):
        model.fit_transform("rows.parquet", price)
    with pytest.raises(DataError, match="reads X twice"):
        model.fit_transform(iter([frame]), price)


def test_it_can_be_searched_over(frame, label):
    pipeline = make_pipeline(gm.MahalanobisFeatures(), LogisticRegression())
    grid = {"mahalanobisfeatures__ridge": [1.0, 100.0], "mahalanobisfeatures__n_components": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(frame, label)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("options", [{}, {"structure": "columns"}, {"structure": "krylov"}, {"solver": "sgd"}])
def test_a_saved_model_gives_the_same_features(frame, price, tmp_path, options):
    model = gm.MahalanobisFeatures(**options).fit(frame, price)
    gm.save(model, tmp_path / "model.gm")
    loaded = gm.load(tmp_path / "model.gm")
    np.testing.assert_array_equal(loaded.transform(frame), model.transform(frame))
    assert loaded.statistic_ == model.statistic_
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_every_kind_of_table_gives_the_same_features(frame, price):
    expected = gm.MahalanobisFeatures().fit_transform(frame, price)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_allclose(
            gm.MahalanobisFeatures().fit_transform(table, price.to_numpy()), expected, atol=1e-12
        )


def test_partial_fit_is_fit(frame, price):
    whole = gm.MahalanobisFeatures(ridge=2.0).fit(frame, price)
    parts = gm.MahalanobisFeatures(ridge=2.0)
    for rows in np.array_split(np.arange(len(frame)), 3):
        parts.partial_fit(frame.iloc[rows], price.iloc[rows])
        assert parts.statistic_ > 0
    np.testing.assert_allclose(parts.transform(frame), whole.transform(frame), atol=1e-9)


def test_unseen_levels_sit_at_the_mean_and_are_shown(frame, price):
    encoder = gm.JointTargetEncoder(ridge=1.0).fit(frame, price)
    new = frame.iloc[:2].assign(city=["atlantis", frame["city"].iloc[1]])
    assert encoder.transform(new)[0, 0] == 0.0
    assert encoder.black_swans(new).tolist() == [[True, False, False], [False, False, False]]


def test_inverse_transform_is_the_regression_on_the_features(frame, price):
    model = gm.MahalanobisFeatures(ridge=0.0).fit(frame, price)
    z = model.transform(frame)
    back = model.inverse_transform(z, design=True)
    assert back.shape == (len(frame), len(model.design_names_))
    np.testing.assert_allclose(back.mean(axis=0), model.mean_, atol=1e-9)
    size = frame["size"].to_numpy()
    slope = np.polyfit(z[:, 0], size, 1)
    np.testing.assert_allclose(back[:, -1], np.polyval(slope, z[:, 0]), atol=1e-9)


def test_several_outputs(frame, price, rng):
    y = np.column_stack([price, rng.standard_normal(len(frame)), -price])
    model = gm.MahalanobisFeatures(ridge=1.0).fit(frame, y)
    assert model.n_components_ == 2
    assert model.transform(frame).shape == (len(frame), 2)


def test_influence_functions_of_values(frame, price):
    ranked = gm.MahalanobisFeatures(influence="ranks").fit(frame, price)
    outlying = price.copy()
    outlying.iloc[np.argmax(price)] = 1e9
    assert gm.MahalanobisFeatures(influence="ranks").fit(frame, outlying).statistic_ == pytest.approx(ranked.statistic_)
    curved = gm.MahalanobisFeatures(influence=lambda y: np.column_stack([y, y**2])).fit(frame, price)
    assert curved.n_components_ == 2
    sliced = gm.MahalanobisFeatures(influence="slices", cv=KFold(3)).fit_transform(frame, price)
    assert sliced.shape == (len(frame), 9)


def test_sgd_climbs_most_of_the_way_and_the_printed_gradient_does_not_stop(frame, price):
    exact = gm.MahalanobisFeatures(ridge=0.0).fit(frame, price)
    y = price.to_numpy()

    def reached(model):
        return len(y) * np.corrcoef(model.transform(frame)[:, 0], y)[0, 1] ** 2

    options = {"batch_size": 100, "max_epochs": 60}
    climbed = gm.MahalanobisFeatures(solver="sgd", sgd_options=options).fit(frame, price)
    printed = {**options, "gradient": "printed", "learning_rate": 0.01}
    source = gm.MahalanobisFeatures(solver="sgd", sgd_options=printed).fit(frame, price)
    assert reached(climbed) > 0.9 * exact.statistic_
    assert reached(source) < reached(climbed)
    assert climbed.history_["r2"][-1] > climbed.history_["r2"][0]
    assert source.history_["norm"][-1] > source.history_["norm"][0]


def test_sgd_goes_on_with_new_rows_and_new_levels(frame, price):
    model = gm.MahalanobisFeatures(2, solver="sgd", sgd_options={"batch_size": 50})
    first = frame["city"].str[1:].astype(int) < 20
    model.partial_fit(frame[first], price[first])
    model.partial_fit(frame, price)
    assert model.transform(frame).shape == (len(frame), 2)
    assert len(model.history_["r2"]) == 2


def test_sgd_reads_named_columns_and_classes(frame, label):
    table = frame.assign(label=label == "low")
    model = gm.MahalanobisFeatures(solver="sgd", sgd_options={"max_epochs": 3}).fit(table, "label")
    assert model.transform(table).shape == (len(frame), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "rows"}, "structure is 'canonical', 'columns' or 'krylov'"),
        ({"ridge": -1.0}, "number of rows from 0"),
        ({"ridge": "best"}, "'auto', 'cv'"),
        ({"n_components": 0}, "whole number from 1"),
        ({"structure": "columns", "n_components": 2}, "one feature per source column"),
        ({"solver": "newton"}, "'exact' or 'sgd'"),
        ({"solver": "sgd", "structure": "columns"}, "structure='canonical'"),
        ({"cv": 1}, "number of folds"),
        ({"influence": "squares"}, "'slices', 'ranks' or a function"),
        ({"target_type": "ordinal"}, "target_type is 'auto', 'continuous', 'binary' or 'multiclass'"),
    ],
)
def test_wrong_parameters_are_named(frame, price, options, message):
    with pytest.raises(DataError, match=message):
        gm.MahalanobisFeatures(**options).fit(frame, price)


def test_sgd_takes_weights_as_values_or_by_name(frame, price, rng):
    weight = rng.integers(1, 4, len(frame)).astype(float)
    options = {"solver": "sgd", "sgd_options": {"batch_size": 2000, "max_epochs": 8}}
    given = gm.MahalanobisFeatures(**options).fit(frame, price, sample_weight=weight)
    named = gm.MahalanobisFeatures(**options).fit(frame.assign(weight=weight), price, sample_weight="weight")
    repeated = frame.index.repeat(weight.astype(int))
    rows = gm.MahalanobisFeatures(**options).fit(frame.loc[repeated], price.loc[repeated])
    np.testing.assert_allclose(named.transform(frame), given.transform(frame), atol=1e-12)
    np.testing.assert_allclose(given.transform(frame), rows.transform(frame), atol=1e-7)
    plain = gm.MahalanobisFeatures(**options).fit(frame, price)
    assert np.abs(plain.transform(frame) - given.transform(frame)).max() > 1e-3


def test_ranks_and_slices_count_weights_as_rows(frame, price, rng):
    weight = rng.integers(1, 5, len(frame))
    repeated = frame.index.repeat(weight)
    for influence in ("ranks", "slices"):
        given = gm.MahalanobisFeatures(influence=influence, ridge=1.0).fit(frame, price, sample_weight=weight)
        rows = gm.MahalanobisFeatures(influence=influence, ridge=1.0).fit(frame.loc[repeated], price.loc[repeated])
        assert given.statistic_ == pytest.approx(rows.statistic_, rel=1e-9)
    with pytest.raises(DataError, match="599 values for 600 rows"):
        given.fit(frame, price, sample_weight=weight[1:])


def test_krylov_scores_every_length_on_left_out_folds(frame, price):
    model = gm.MahalanobisFeatures(4, structure="krylov").fit(frame, price)
    assert model.selection_["n_components"].tolist() == [1, 2, 3, 4]
    assert model.r2_cv_ == model.selection_["r2"][-1]
    assert 0 < model.r2_cv_ < model.r2_


def test_sgd_needs_rows(frame, price):
    model = gm.MahalanobisFeatures(solver="sgd")
    with pytest.raises(DataError, match="pass rows"):
        model.fit(gm.collect(frame), "size")
    with pytest.raises(DataError, match="all of y at once"):
        gm.MahalanobisFeatures(influence="ranks").partial_fit(frame, price)


@pytest.mark.parametrize("epochs", [1, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_r2_of_sgd_is_that_of_its_own_features(frame, price, rng, epochs, weighted):
    """From the definition: least squares of the target on the features that `transform` gives."""
    w = rng.integers(1, 4, len(price)).astype(float) if weighted else np.ones(len(price))
    options = {"batch_size": 100, "max_epochs": epochs}
    model = gm.MahalanobisFeatures(2, solver="sgd", sgd_options=options).fit(frame, price, w if weighted else None)

    def assert_described(model, rows, y, w):
        Z = model.transform(rows)
        root = np.sqrt(w)[:, None]
        Zc, yc = root * (Z - w @ Z / w.sum()), (root[:, 0] * (y - w @ y / w.sum()))
        fitted = Zc @ np.linalg.lstsq(Zc, yc, rcond=1e-10)[0]
        np.testing.assert_allclose(model.r2_, 1 - np.square(yc - fitted).sum() / np.square(yc).sum(), atol=1e-9)
        each = np.square(Zc.T @ yc) / np.square(Zc).sum(axis=0) / np.square(yc).sum()
        np.testing.assert_allclose(model.component_r2_, each, atol=1e-9)

    assert_described(model, frame, np.asarray(price, dtype=float), w)
    assert model.r2_ <= gm.MahalanobisFeatures(ridge=0.0).fit(frame, price, w if weighted else None).r2_ + 1e-9
    if not weighted:
        model.partial_fit(frame[:50], price[:50])
        both = np.r_[np.asarray(price, dtype=float), np.asarray(price[:50], dtype=float)]
        assert_described(model, frame.iloc[[*range(len(frame)), *range(50)]], both, np.ones(len(both)))


def test_sgd_for_classes_describes_each_feature(frame, label):
    model = gm.MahalanobisFeatures(solver="sgd", sgd_options={"max_epochs": 3}).fit(frame, label)
    Z = model.transform(frame)
    H = (np.asarray(label)[:, None] == np.unique(label)).astype(float)
    Hc, Zc = H - H.mean(axis=0), Z - Z.mean(axis=0)
    hat = Hc @ np.linalg.pinv(Hc)
    each = np.einsum("ij,ik,kj->j", Zc, hat, Zc) / np.square(Zc).sum(axis=0)
    np.testing.assert_allclose(model.component_r2_, each, atol=1e-9)
    fitted = Zc @ np.linalg.lstsq(Zc, Hc, rcond=1e-10)[0]
    np.testing.assert_allclose(model.r2_, 1 - np.square(Hc - fitted).sum() / np.square(Hc).sum(), atol=1e-9)


def test_the_features_beside_an_identifier_have_names(frame, price):
    marked = frame.assign(key=[f"k{i}" for i in range(len(frame))])
    model = gm.JointTargetEncoder().fit(marked, price)
    assert model.get_feature_names_out().tolist() == frame.columns.tolist()
    assert model.set_output(transform="pandas").transform(marked).columns.tolist() == frame.columns.tolist()
