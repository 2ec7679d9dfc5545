"""What all selectors share: names, frames, Moments, files, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.errors import ColumnError, DataError, NothingSelectedWarning
from gramian.estimators.selection.selector import best_of

SELECTORS = [
    gm.VarianceFilter(k=2),
    gm.PearsonFilter(2),
    gm.MutualInformationFilter(2),
    gm.IndependenceFilter(k=2),
    gm.RedundancyFilter(),
    gm.MRMRFilter(2),
    gm.ForwardSelector(2),
    gm.RecursiveEliminator(2),
    gm.LassoSelector(k=2),
]
each = pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
SUPERVISED = [s for s in SELECTORS if type(s).__name__ not in ("VarianceFilter", "RedundancyFilter")]


@pytest.fixture
def X(frame):
    return frame.drop(columns="bought")


@each
def test_rows_and_moments_select_alike(selector, frame, X):
    from_rows = clone(selector).fit(X, frame["bought"])
    support, scores = from_rows.get_support(), from_rows.scores_
    again = selector.fit(gm.collect(frame), "bought")
    np.testing.assert_array_equal(again.get_support(), support)
    np.testing.assert_allclose(again.scores_, scores, rtol=1e-9, atol=1e-12)
    by_name = selector.fit(frame, "bought")
    np.testing.assert_array_equal(by_name.get_support(), support)
    assert list(by_name.feature_names_in_) == list(X.columns)


@each
def test_frames_come_back_with_their_columns_untouched(selector, frame, X):
    selector.fit(X, frame["bought"])
    kept = list(selector.get_feature_names_out())
    pd.testing.assert_frame_equal(selector.transform(X), X[kept])
    polars = pl.from_pandas(X)
    assert selector.transform(polars).equals(polars.select(kept))
    arrow = pa.Table.from_pandas(X, preserve_index=False)
    assert selector.transform(arrow).equals(arrow.select(kept))
    # Columns by name, whatever else is there.
    pd.testing.assert_frame_equal(selector.transform(frame[frame.columns[::-1]]), X[kept])


def test_output_follows_set_output(frame, X):
    selector = gm.VarianceFilter(k=2).fit(X).set_output(transform="polars")
    assert isinstance(selector.transform(X), pl.DataFrame)
    selector = gm.VarianceFilter(k=2).fit(X).set_output(transform="pandas")
    assert isinstance(selector.transform(pl.from_pandas(X)), pd.DataFrame)


def test_output_of_another_library_has_no_index(X):
    X = X.set_axis(3 * np.arange(len(X)))
    out = gm.VarianceFilter(k=2).fit(X).set_output(transform="polars").transform(X)
    assert out.width == 2
    assert out.height == len(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_lazy_frame_comes_back_in_the_library_that_is_asked_for(X, library):
    out = gm.VarianceFilter(k=2).fit(X).set_output(transform=library).transform(pl.from_pandas(X).lazy())
    assert type(out).__name__ == "DataFrame"
    assert type(out).__module__.startswith(library)


def test_frames_with_numbers_for_names_come_back_as_they_are(rng):
    X = pd.DataFrame(rng.standard_normal((40, 3)))
    out = gm.PearsonFilter(1).fit(X, X[2]).transform(X)
    pd.testing.assert_frame_equal(out, X[[2]])


def test_rows_given_as_dicts_come_back_as_a_table(X, frame):
    rows = X.head(5).to_dict("records")
    model = gm.PearsonFilter(2).fit(X, frame["bought"])
    kept = list(model.get_feature_names_out())
    assert model.transform(rows).to_pylist() == [{name: row[name] for name in kept} for row in rows]
    assert model.transform(X.head(5).to_dict("list")).to_pylist() == model.transform(rows).to_pylist()


def test_rows_in_several_tables_come_back_as_one(rng):
    X = pd.DataFrame(rng.standard_normal((20, 2)), columns=["a", "b"])
    model = gm.PearsonFilter(1).fit(X, X["b"])
    assert model.transform([X[:15], X[15:]]).to_pydict() == {"b": X["b"].tolist()}


def test_arrays_come_back_as_arrays_of_their_type(rng):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    model = gm.PearsonFilter(2).fit(X, X[:, 0] + X[:, 3])
    out = model.transform(X)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, X[:, [0, 3]])
    np.testing.assert_array_equal(model.inverse_transform(out)[:, [1, 2]], 0.0)


@pytest.mark.parametrize("include", [1.5, [True, False], [None]])
def test_include_takes_names_and_positions_alone(X, include):
    with pytest.raises(DataError, match="include is None or a name or position of a column, or a list of them; got"):
        gm.VarianceFilter(include=include).fit(X)


COUNTED = [s for s in SELECTORS if "k" in s.get_params()]


@pytest.mark.parametrize("selector", COUNTED, ids=lambda s: type(s).__name__)
def test_k_columns_are_kept_whether_or_not_one_is_a_near_identifier(selector, rng):
    X = pd.DataFrame(rng.standard_normal((50, 3)), columns=list("abc"))
    X.insert(0, "id", [f"i{k}" for k in range(50)])
    for k, include in [(2, ["id"]), (3, ["b", "id"]), (4, []), (4, ["id"])]:
        model = clone(selector).set_params(k=k, include=include).fit(X, X["a"] + 0.1 * X["b"])
        assert len(model.get_feature_names_out()) == k
        assert set(include) <= set(model.get_feature_names_out())
    assert list(clone(selector).set_params(k=2).fit(X[["id", "a"]], X["b"]).get_support()) == [True, True]


@each
def test_included_columns_stay(selector, frame, X):
    worst = X.columns[int(np.argmin(selector.fit(X, frame["bought"]).scores_))]
    selector.set_params(include=[worst])
    try:
        model = selector.fit(X, frame["bought"])
    finally:
        selector.set_params(include=None)
    assert worst in model.get_feature_names_out()
    if "k" in selector.get_params():
        assert model.get_support().sum() == 2


@each
def test_models_travel_in_files(selector, frame, X, tmp_path):
    selector.fit(X, frame["bought"])
    gm.save(selector, tmp_path / "m.model")
    again = gm.load(tmp_path / "m.model")
    np.testing.assert_array_equal(again.get_support(), selector.get_support())
    np.testing.assert_array_equal(again.scores_, selector.scores_)
    assert again.path_.equals(selector.path_)
    pd.testing.assert_frame_equal(again.transform(X), selector.transform(X))


def test_files_are_transformed_column_by_column(frame, X, tmp_path):
    model = gm.ForwardSelector(2, include="when").fit(X, frame["bought"])
    X.to_parquet(tmp_path / "x.parquet")
    gm.transform_file(model, tmp_path / "x.parquet", tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), X[list(model.get_feature_names_out())])


def test_a_date_is_selected_as_one(rng):
    when = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 9000, 500), unit="h")
    frame = pd.DataFrame({"noise": rng.standard_normal(500), "when": when})
    y = np.where(when.day_of_week > 4, "weekend", "week")
    for selector in (gm.PearsonFilter(1), gm.MutualInformationFilter(1), gm.ForwardSelector(), gm.LassoSelector(k=1)):
        assert selector.fit(frame, y).get_feature_names_out().tolist() == ["when"]
        assert len(selector.scores_) == 2


def test_partial_fit_adds_rows(frame, X):
    whole = gm.ForwardSelector(3).fit(X, frame["bought"])
    parts = gm.ForwardSelector(3)
    for rows in (slice(0, 200), slice(200, None)):
        parts.partial_fit(X[rows], frame["bought"][rows])
    np.testing.assert_array_equal(parts.get_support(), whole.get_support())
    assert parts.path_["column"].tolist() == whole.path_["column"].tolist()
    pd.testing.assert_frame_equal(parts.transform(X), whole.transform(X))


def test_black_swans_are_shown(frame, X):
    model = gm.VarianceFilter().fit(X)
    odd = X.head(2).assign(color=["red", "violet"])
    swans = model.black_swans(odd)
    assert swans.shape == (2, X.shape[1])
    assert swans[:, 0].tolist() == [False, True]


def test_a_pipeline_learns_from_what_is_left(rng):
    from sklearn.linear_model import LinearRegression

    X = rng.standard_normal((200, 20))
    y = X[:, 5] + 0.1 * rng.standard_normal(200)
    model = make_pipeline(gm.ForwardSelector(1), LinearRegression()).fit(X, y)
    assert model[0].get_support(indices=True).tolist() == [5]
    assert model.score(X, y) > 0.9


def test_the_summary_has_one_row_a_column(frame, X):
    table = gm.IndependenceFilter().fit(X, frame["bought"]).summary()
    assert isinstance(table, pd.DataFrame)
    assert table["column"].tolist() == list(X.columns)
    assert list(table) == ["column", "kept", "score", "p_value"]


# Bad input


@each
def test_more_columns_than_there_are(selector, frame, X):
    if "k" not in selector.get_params():
        return
    k = selector.k
    with pytest.raises(DataError, match="k=9 columns are asked for and there are 6; name at most that many"):
        selector.set_params(k=9).fit(X, frame["bought"])
    selector.set_params(k=k)


@pytest.mark.parametrize("selector", SUPERVISED, ids=lambda s: type(s).__name__)
def test_no_target_where_one_is_needed(selector, X):
    with pytest.raises(DataError, match="needs a target"):
        selector.fit(X)


@each
def test_a_target_that_is_a_feature(selector, frame):
    try:
        with pytest.raises(ColumnError, match="include= names 'bought', which is the target"):
            selector.set_params(include=["bought"]).fit(frame, "bought")
    finally:
        selector.set_params(include=None)


@each
def test_an_unknown_name_to_include(selector, frame, X):
    try:
        with pytest.raises(ColumnError, match=r"include: column 'colour' is not in the table; did you mean 'color'\?"):
            selector.set_params(include="colour").fit(X, frame["bought"])
        with pytest.raises(ColumnError, match="include= names position 7, and there are 6 columns"):
            selector.set_params(include=[7]).fit(X, frame["bought"])
    finally:
        selector.set_params(include=None)


@each
def test_columns_that_are_all_constant(selector):
    frame = pd.DataFrame({"a": [1.0] * 6, "b": ["x"] * 6})
    with pytest.raises(DataError, match="no column varies: each of the 2 columns holds one value"):
        selector.fit(frame, ["u", "v"] * 3)


def test_more_included_than_kept(frame, X):
    with pytest.raises(DataError, match="include= names 2 columns, more than k=1"):
        gm.PearsonFilter(1, include=["color", "size"]).fit(X, frame["bought"])


def test_two_rules_at_once(frame, X):
    with pytest.raises(DataError, match="k and threshold each say how many columns stay; keep one of them"):
        gm.PearsonFilter(1, threshold=0.2).fit(X, frame["bought"])


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "all"])
def test_k_is_a_whole_number(k, frame, X):
    with pytest.raises(DataError, match="k is None"):
        gm.MRMRFilter(k).fit(X, frame["bought"])


def test_moments_have_no_rows_to_transform(frame):
    with pytest.raises(DataError, match="fit_transform needs rows"):
        gm.PearsonFilter(1).fit_transform(gm.collect(frame), "bought")


def test_keeping_nothing_is_told(rng):
    X = rng.standard_normal((100, 3))
    model = gm.IndependenceFilter(1e-9).fit(X, rng.standard_normal(100))
    with pytest.warns(NothingSelectedWarning, match="keeps no column"):
        assert model.transform(X).shape == (100, 0)


def test_the_best_of_equal_values_come_in_order():
    assert best_of(np.array([0.5, 0.5, np.nan, 0.5]), 2, []).tolist() == [True, True, False, False]
    assert best_of(np.array([0.5, 0.5]), 1, [], ties=np.array([0.0, 1.0])).tolist() == [False, True]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_inverse_transform_takes_what_transform_gives(library):
    """A gap or a category in what was selected raised scikit-learn's "Input contains NaN"."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=40)
    color = np.where(size > 0, "red", "blue").astype(object)
    color[3] = None
    frame = pd.DataFrame(
        {"color": color, "size": np.where(np.arange(40) == 5, np.nan, size), "noise": rng.normal(size=40)}
    )
    given = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library](frame)
    model = gm.PearsonFilter(k=2).fit(given, size)
    assert model.get_support().tolist() == [True, True, False]
    back = model.inverse_transform(model.transform(given))
    assert back.shape == (40, 3)
    assert back[:, 0].tolist() == color.tolist()
    np.testing.assert_array_equal(back[:, 1].astype(float), frame["size"])
    assert (back[:, 2] == 0).all()
    numbers = gm.PearsonFilter(k=1).fit(frame[["size", "noise"]], size)
    back = numbers.inverse_transform(numbers.transform(frame[["size", "noise"]]))
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, np.column_stack([frame["size"], np.zeros(40)]))
    with pytest.raises(ValueError, match="1 were selected"):
        numbers.inverse_transform(np.zeros((2, 2)))


@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0], [3.0]], pa.array([1.0, 2.0]), pa.array(["u", None]), pa.array([[1], [2, 3]])]
)
def test_rows_that_are_no_table_are_refused_in_the_words_of_scikit_learn(method, rows, rng):
    model = gm.VarianceFilter(k=2).fit(rng.standard_normal((9, 3)))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        getattr(model, method)(rows)


def test_values_of_nested_lists_come_back_as_they_are():
    rows = [["a", 1, 2.5], ["b", 2, 0.5], ["b", 4, 1.5]]
    out = gm.VarianceFilter(include=[0, 1], k=2).fit(rows).transform(rows)
    assert out.tolist() == [["a", 1], ["b", 2], ["b", 4]]


def test_include_takes_an_array_of_one_position(rng):
    rows = rng.standard_normal((30, 3)) * [3.0, 2.0, 1.0]
    for position in (2, np.array(2), np.array([2])):
        assert gm.VarianceFilter(k=2, include=position).fit(rows).support_.tolist() == [True, False, True]
