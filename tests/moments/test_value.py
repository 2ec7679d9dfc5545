from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError

TABLE = pa.table(
    {"c": ["a", "b", None, "a"], "k": [1, 2, 2, 1], "x": [0.5, None, 2.5, 1.0], "y": [True, False, True, True]}
)


@pytest.fixture
def moments() -> gm.Moments:
    return gm.collect(TABLE, targets="y")


def test_a_value_cannot_be_changed(moments: gm.Moments) -> None:
    with pytest.raises(AttributeError):
        moments.n_rows = 5
    with pytest.raises(TypeError):
        hash(moments)


def test_equality_is_up_to_the_order_of_levels_and_columns() -> None:
    a = gm.collect(pa.table({"c": ["a", "b"], "d": ["u", "v"]}))
    b = gm.collect(pa.table({"d": ["v", "u"], "c": ["b", "a"]}))
    assert a == b
    assert a.isclose(b)


@pytest.mark.parametrize(
    "other",
    [
        {"c": ["a", "b"], "x": [1.0, 2.5]},
        {"c": ["a", "a"], "x": [1.0, 2.0]},
        {"c": ["b", "a"], "x": [1.0, 2.0]},
        {"c": ["a", "z"], "x": [1.0, 2.0]},
        {"c": ["a", None], "x": [1.0, 2.0]},
        {"c": ["a", "b"], "x": [1.0, None]},
        {"c": ["a", "b"], "z": [1.0, 2.0]},
        {"c": ["a", "b", "b"], "x": [1.0, 2.0, 2.0]},
    ],
    ids=["number", "counts", "pairing", "label", "missing level", "missing number", "name", "rows"],
)
def test_different_moments_differ(other: dict) -> None:
    one = gm.collect(pa.table({"c": ["a", "b"], "x": [1.0, 2.0]}))
    found = gm.collect(pa.table(other))
    assert one != found
    assert not one.isclose(found)


def test_moments_differ_from_other_things(moments: gm.Moments) -> None:
    assert moments != 3
    assert moments != gm.Moments.empty()


def test_isclose_reads_a_folded_integer_as_the_number_it_is() -> None:
    table = pa.table({"k": [1, 2, 2, 5]})
    assert gm.collect(table).isclose(gm.collect(table, numeric="k"))
    assert gm.collect(table) != gm.collect(table, numeric="k")


def test_mean_and_covariance_leave_targets_out(moments: gm.Moments) -> None:
    assert len(moments.mean()) == moments.covariance().shape[0] == len(moments.design_names) == 5
    assert moments.covariance("y").shape == (2, 2)
    assert moments.mean(["y"]).sum() == 1.0


def test_numbers_have_no_levels(moments: gm.Moments) -> None:
    for ask in (moments.levels, moments.counts, moments.as_categorical):
        with pytest.raises(ColumnError, match="'x'"):
            ask("x")
    with pytest.raises(ColumnError, match="'x'"):
        moments.crosstab("c", "x")


def test_without_fold_wants_a_fold(moments: gm.Moments) -> None:
    with pytest.raises(DataError, match="folds=5"):
        moments.without_fold(0)
    folded = gm.collect(TABLE, folds=2)
    for wrong in (2, -1):
        with pytest.raises(DataError, match="fold"):
            folded.without_fold(wrong)
    assert folded.without_fold(0).n_rows == folded.folds[1].n_rows


@pytest.mark.parametrize(
    "arguments", [{}, {"min_count": 0}, {"max_levels": 0}, {"min_count": 1.5}, {"max_levels": True}]
)
def test_pool_wants_whole_numbers(moments: gm.Moments, arguments: dict) -> None:
    with pytest.raises(DataError, match=r"min_count|max_levels"):
        moments.pool(**arguments)


def test_merge_takes_moments_only(moments: gm.Moments) -> None:
    with pytest.raises(DataError, match="str"):
        gm.merge([moments, "b.moments"])


def test_drop_of_every_column_still_knows_its_rows(moments: gm.Moments) -> None:
    nothing = moments.drop(moments.columns)
    assert nothing.columns == []
    assert nothing.n_rows == 4


def test_select_wants_each_column_once(moments: gm.Moments) -> None:
    with pytest.raises(ColumnError, match="twice"):
        moments.select(["c", "c"])


def test_ddof_is_taken_from_the_weight(moments: gm.Moments) -> None:
    np.testing.assert_allclose(moments.covariance(ddof=0) * 4, moments.covariance(ddof=1) * 3)
    with pytest.raises(DataError, match="ddof"):
        moments.covariance(ddof=4)


def test_moments_of_no_rows_have_no_mean(moments: gm.Moments) -> None:
    nothing = moments - moments
    with pytest.raises(DataError, match="no rows"):
        nothing.mean()
    with pytest.raises(DataError):
        nothing.covariance()
    assert "0 rows" in repr(nothing)
    assert "0 rows" in str(nothing.summary())


def test_nbytes_counts_folds() -> None:
    m = gm.collect(TABLE, folds=2)
    assert m.nbytes == gm.collect(TABLE).nbytes + sum(fold.nbytes for fold in m.folds)


def test_repr_says_what_was_seen(moments: gm.Moments) -> None:
    assert "4 rows" in repr(moments)
    assert "weight 8" in repr(moments * 2)
    assert "<table" in moments._repr_html_()


def test_a_correlation_beyond_one_is_refused_and_never_clipped() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 2))
    found, refused = [], []
    for _ in range(20):
        wild = gm.collect(rng.normal(size=(50, 1)) * [1e8, 2e8])
        rest = (gm.collect(x) + wild) - wild
        try:
            found.append(rest.correlation())
        except ValueError as error:
            refused.append(str(error))
    # What is left of x is rounding: it is refused, or it happens to be below 1; never cut to 1.
    assert refused
    assert all("'x0' and 'x1'" in text for text in refused)
    assert all(abs(c[0, 1]) < 1 or np.isnan(c[0, 1]) for c in found)


def test_names_of_numpy_are_shown_as_plain_text():
    m = gm.collect(TABLE)
    for ask in (lambda: m.as_categorical(np.array(["x"])), lambda: m.crosstab(np.str_("c"), np.str_("x"))):
        with pytest.raises(gm.errors.ColumnError) as error:
            ask()
        assert "np.str_" not in str(error.value)
