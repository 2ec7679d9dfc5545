import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.linear.pca import pca
from gramian.linear.scatter import dense


def assert_same(found, expected):
    # Rounding is relative to the largest eigenvalue.
    top = expected.explained_variance[0]
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance, rtol=1e-11, atol=1e-13 * top)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-6 * np.abs(expected.weights).max())
    assert found.total_variance == pytest.approx(expected.total_variance)
    assert found.noise_variance == pytest.approx(expected.noise_variance)


@pytest.mark.parametrize("scale", [False, True, "auto"])
def test_matrix_free_road_equals_dense(mixed, scale):
    m = gm.collect(mixed)
    # Raw, one column of variance 1e8 is the first component; the second still stands well above rounding.
    k = 2 if scale is False else 4
    assert_same(pca(m, n_components=k, scale=scale, memory_limit=1), pca(m, n_components=k, scale=scale))


def test_few_rows_many_levels_road_equals_dense(rng):
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 15, 18).astype(str) for j in range(12)})
    m = gm.collect(frame)
    found = pca(m)
    assert found.components.shape[1] > 4 * m.n_rows
    expected = np.linalg.eigvalsh(m.covariance() * np.outer(found.metric, found.metric))[::-1]
    np.testing.assert_allclose(found.explained_variance, expected[: found.rank], rtol=1e-9)
    assert found.rank == 17


def test_kept_rows_road_equals_dense(rng):
    x = rng.standard_normal((40, 700)) * np.geomspace(0.1, 3, 700)
    x[rng.random(x.shape) < 0.02] = np.nan
    m = gm.collect(x)
    assert m.numbers.rows is not None
    for scale in (False, True):
        found = pca(m, scale=scale)
        matrix = m.covariance() * np.outer(found.metric, found.metric)
        np.testing.assert_allclose(found.explained_variance, np.linalg.eigvalsh(matrix)[::-1][:39], rtol=1e-9)
        np.testing.assert_allclose(
            matrix @ found.components.T, found.components.T * found.explained_variance, atol=1e-8
        )
    some = pca(m, m.columns[10:650])
    assert some.components.shape == (39, 640)


def test_choices_are_the_same_on_every_road(rng):
    x = rng.standard_normal((30, 4)) * [5, 4, 3, 2] @ rng.standard_normal((4, 600)) + rng.standard_normal((30, 600))
    m = gm.collect(x, folds=3)
    for rule in ("elbow", "mle", "parallel", 0.9, 3, "cv"):
        found = pca(m, n_components=rule)
        assert found.components.shape == (len(found.explained_variance), 600)
    assert len(pca(m, n_components="parallel").components) == 4
    assert len(pca(m, n_components="cv").components) == 4


def test_constant_columns_and_never_observed_ones_are_harmless(rng):
    frame = pd.DataFrame(
        {
            "x": rng.standard_normal(50),
            "one": 1.0,
            "none": np.full(50, np.nan),
            "c": ["a"] * 50,
            "y": rng.standard_normal(50),
        }
    )
    m = gm.collect(frame)
    for scale in (False, True, "auto"):
        found = pca(m, scale=scale)
        assert found.rank == 2
        assert np.isfinite(found.weights).all()
        assert np.isfinite(found.inverse).all()
        assert np.isfinite(found.mean).all()
        names = m.design_names_of(["x", "one", "none", "c", "y"])
        still = found.weights[[names.index("one"), names.index("c_a")]]
        np.testing.assert_allclose(still, 0.0, atol=1e-15)


@pytest.mark.parametrize("whiten", [False, True])
def test_components_beyond_the_rank_have_no_variance(mixed, rng, whiten):
    tables = {
        "levels": (mixed[["color", "shape"]], 4, 6),
        "constant": (pd.DataFrame(rng.standard_normal((30, 3))).assign(one=1.0), 3, 4),
        "rows": (rng.standard_normal((10, 600)), 9, 10),
        "unlike": (np.hstack([rng.standard_normal((30, 2)) * [1e-9, 1e3], np.ones((30, 1))]), 2, 3),
    }
    for name, (table, rank, k) in tables.items():
        found = pca(gm.collect(table), n_components=k, whiten=whiten)
        assert found.components.shape[0] == len(found.explained_variance) == found.weights.shape[1] == k, name
        assert found.rank == rank, name
        np.testing.assert_allclose(found.components @ found.components.T, np.eye(k), atol=1e-10, err_msg=name)
        assert (found.explained_variance[:rank] > 0).all(), name
        assert (found.explained_variance[rank:] == 0).all(), name
        assert np.isfinite(found.weights).all(), name
        assert np.isfinite(found.inverse).all(), name
        if whiten:
            assert (found.weights[:, rank:] == 0).all(), name


def test_more_components_than_rows_or_design_columns_are_refused(mixed, rng):
    with pytest.raises(DataError, match=r"n_components=7 must be between 1 and min\(n_samples, n_features\)=6"):
        pca(gm.collect(mixed[["color", "shape"]]), n_components=7)
    with pytest.raises(DataError, match="10 rows and 600 design columns"):
        pca(gm.collect(rng.standard_normal((10, 600))), n_components=11)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite", "ignore:invalid value")
def test_a_column_constant_in_one_fold_does_not_end_a_grid_search(rng):
    from sklearn.model_selection import GridSearchCV, KFold

    x = rng.standard_normal((60, 4))
    x[:40, 3] = 0.0
    search = GridSearchCV(gm.PCA(), {"n_components": [2, 3, 4]}, cv=KFold(3), error_score="raise").fit(x)
    # Rows that differ where the training rows did not have no density, unless some of it is noise.
    np.testing.assert_array_equal(np.isneginf(search.cv_results_["mean_test_score"]), [False, True, True])
    assert search.best_params_ == {"n_components": 2}


@pytest.mark.parametrize("ratio", [1e7, 1e9, 1e12])
def test_rank_is_counted_in_units_of_each_column(rng, ratio):
    x = rng.standard_normal((200, 4)) @ (np.eye(4) + 0.3 * rng.standard_normal((4, 4)))
    unit = np.array([1.0, ratio, np.sqrt(ratio), 1.0])
    found = pca(gm.collect(x * unit))
    assert found.rank == len(found.components) == 4
    # The determinant is that of the well-scaled columns times the units.
    logs = np.linalg.slogdet(np.cov(x.T))[1] + 2 * np.log(unit).sum()
    np.testing.assert_allclose(np.log(found.explained_variance).sum(), logs, rtol=1e-10)
    z = (x * unit - found.mean) @ found.weights
    np.testing.assert_allclose(np.cov((z / np.sqrt(found.explained_variance)).T), np.eye(4), atol=1e-3 * ratio / 1e12)
    dependent = np.column_stack([x * unit, (x * unit)[:, 0] + (x * unit)[:, 3]])
    assert pca(gm.collect(dependent)).rank == 4


def test_rank_in_units_of_each_column_with_fewer_rows_than_columns(rng):
    x = rng.standard_normal((12, 600)) * np.geomspace(1e-5, 1e5, 600)
    assert gm.collect(x).numbers.rows is not None
    found = pca(gm.collect(x))
    assert found.rank == 11
    np.testing.assert_allclose(found.explained_variance, np.linalg.svd(x - x.mean(0))[1][:11] ** 2 / 11, rtol=1e-8)


@pytest.fixture(scope="module")
def one_wide_column():
    rng = np.random.default_rng(5)
    n = 12_000
    wide = rng.integers(0, 1400, n)
    return gm.collect(
        pd.DataFrame(
            {
                "a": (wide * 7 % 13 + rng.integers(0, 3, n)).astype(str),
                "id": wide.astype(str),
                "size": wide % 17 + rng.standard_normal(n),
                "b": rng.integers(0, 9, n).astype(str),
            }
        )
    )


def matrices_formed(monkeypatch):
    """Return a list that is given the width of every matrix of a scatter from now on."""
    widths, formed = [], dense.matrix_of

    def noted(moments, layout, metric):
        matrix = formed(moments, layout, metric)
        widths.append(len(matrix))
        return matrix

    monkeypatch.setattr(dense, "matrix_of", noted)
    return widths


@pytest.mark.parametrize("rule", [1, 5, "parallel", "elbow", 0.003])
def test_a_wide_category_is_left_out_of_the_matrix_and_changes_nothing(one_wide_column, monkeypatch, rule):
    fast = pca(one_wide_column, n_components=rule)
    widths = matrices_formed(monkeypatch)
    pca(one_wide_column, n_components=rule)
    assert all(width < fast.components.shape[1] // 2 for width in widths)
    monkeypatch.undo()
    monkeypatch.setattr("gramian.linear.scatter.wide.WIDE", 10**9)
    slow = pca(one_wide_column, n_components=rule)
    assert slow.rank == fast.rank
    assert_same(fast, slow)
    np.testing.assert_allclose(fast.components @ fast.components.T, np.eye(len(fast.components)), atol=1e-9)
    for name, column in slow.selection.items():
        np.testing.assert_allclose(fast.selection[name], column, rtol=1e-8, atol=1e-8)


def test_few_components_of_many_columns_are_iterated(one_wide_column, monkeypatch):
    expected = pca(one_wide_column, n_components=4, scale=True)
    monkeypatch.setattr("gramian.linear.scatter.wide.MANY", 100)
    widths = matrices_formed(monkeypatch)
    assert_same(pca(one_wide_column, n_components=4, scale=True), expected)
    assert not widths


def test_tables_in_which_nothing_varies_or_too_few_rows_are_refused():
    with pytest.raises(DataError, match="no column varies"):
        pca(gm.collect(np.ones((5, 3))))
    with pytest.raises(DataError, match="n_samples=1"):
        pca(gm.collect(np.ones((1, 3))))


def test_the_target_is_no_feature(mixed):
    m = gm.collect(mixed)
    assert pca(m, target="kind").components.shape[1] == len(m.design_names) - 3
    with pytest.raises(ColumnError, match="'kind' is the target"):
        pca(m, ["kind", "size"], target="kind")


@pytest.mark.parametrize("rule", [None, 0.9, "mle"])
def test_without_room_for_a_matrix_a_whole_number_of_components_is_asked_for(mixed, rule):
    m = gm.collect(mixed)
    with pytest.raises(DataError, match=f"n_components={rule!r} ask for a whole number"):
        pca(m, n_components=rule, memory_limit=1000)
    assert len(pca(m, n_components=2, memory_limit=1000).components) == 2


def test_moments_are_left_as_they_were(mixed):
    m = gm.collect(mixed, folds=3)
    before = gm.collect(mixed, folds=3)
    for rule in (None, 2, "cv", "parallel"):
        pca(m, n_components=rule)
        pca(m, ["size", "cost"], n_components=1 if rule == 2 else rule)
    assert m == before


def test_the_way_back_undoes_the_features(mixed):
    m = gm.collect(mixed[["color", "shape", "cost"]])
    for whiten in (False, True):
        found = pca(m, whiten=whiten)
        back = found.weights @ found.inverse
        # All components kept: the identity on every direction in which rows can differ.
        scatter = m.covariance()
        np.testing.assert_allclose(scatter @ back, scatter, rtol=1e-9, atol=1e-6)


def test_whitened_features_have_unit_variance(mixed):
    m = gm.collect(mixed)
    found = pca(m, whiten=True, n_components=3)
    np.testing.assert_allclose(found.weights.T @ m.covariance() @ found.weights, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("size", [1e-155, 1e-140, 1e140])
def test_numbers_beside_a_category_may_be_tiny_or_huge(rng, size):
    values, kind = rng.normal(size=50), rng.choice(["a", "b"], 50)
    fitted = [
        gm.PCA().fit(pd.DataFrame({"x": values * unit, "kind": kind})).explained_variance_ for unit in (1.0, size)
    ]
    np.testing.assert_allclose(fitted[0], fitted[1], rtol=1e-6)
