import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.maps import projection as module
from gramian.maps.projection import Design, Projection
from gramian.tables import open_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    n = 500
    return pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), n),
            "b": rng.choice([f"level {k}" for k in range(40)], n),
            "u": np.where(rng.random(n) < 0.1, np.nan, rng.normal(1e6, 1, n)),
            "v": rng.normal(size=n),
        }
    )


def one_hot(design, frame):
    """Return the centred design matrix, missing and unseen at the mean."""
    columns, labels = [], iter(design.labels)
    for column in design.columns:
        values = frame[column.name]
        span = design.spans[column.name]
        if column.form == "category":
            levels = next(labels).to_list()
            block = np.column_stack([values == level for level in levels]).astype(float) - design.mean[span]
            block[~values.isin(levels).to_numpy()] = 0
            columns.append(block)
        else:
            columns.append((values - design.mean[span][0]).fillna(0).to_numpy()[:, None])
    return np.hstack(columns)


def make(frame, k=5):
    m = gm.collect(frame)
    design = Design.of(m, m.columns)
    rng = np.random.default_rng(2)
    return Projection(design, rng.normal(size=(len(design.names), k)), rng.normal(size=k))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block_rows", [64, 2**15])
def test_gather_and_add_equals_the_product_with_a_one_hot(frame, monkeypatch, dtype, block_rows):
    monkeypatch.setattr(module, "BLOCK_ROWS", block_rows)
    projection = make(frame)
    rows = frame.assign(a=frame["a"].where(frame.index != 3, "never seen"))
    expected = one_hot(projection.design, rows) @ projection.weights + projection.offset
    found = projection.apply(projection.design.rows(open_table(rows)), dtype)
    assert found.dtype == dtype
    # float32 keeps 24 bits of each of the terms that are added.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if dtype is np.float64 else 1e-5)


def test_wide_columns_use_wide_codes():
    n = 70_000
    frame = pd.DataFrame({"id": [f"user {k}" for k in range(n)], "x": np.arange(n, dtype=float)})
    m = gm.collect(frame)
    design = Design.of(m, ["id"])
    weights = np.arange(n, dtype=float)[:, None]
    projection = Projection(design, weights, np.zeros(1))
    found = projection.apply(design.rows(open_table(frame[["id"]])))
    np.testing.assert_allclose(found[:, 0], weights[:, 0] - weights.mean(), rtol=1e-9)


def test_the_way_back_undoes_a_square_projection(frame):
    m = gm.collect(frame[["v", "u"]])
    design = Design.of(m, ["v", "u"])
    weights = np.array([[2.0, 1.0], [0.0, 3.0]])
    projection = Projection(design, weights, np.array([5.0, -1.0]), np.linalg.inv(weights))
    clean = frame[["v", "u"]].dropna()
    features = projection.apply(design.rows(open_table(clean)))
    np.testing.assert_allclose(projection.to_design(features), clean.to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("value", [1e307, 1.7e308, -1.7e308])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_beyond_floating_point_are_refused_by_column(value, dtype):
    rng = np.random.default_rng(3)
    model = gm.Whitening().fit(pd.DataFrame(rng.normal(size=(40, 3)) * 1e-3, columns=list("abc")))
    rows = np.zeros((5, 3))
    rows[2, 1] = value
    rows[3, 2] = np.nan
    new = pd.DataFrame(rows, columns=list("abc"))
    with pytest.raises(DataError, match=r"column 'b' holds .*e\+30[78], too large"):
        model.transform(new)
    with pytest.raises(DataError, match="column 'b' holds"):
        model.projection_.apply(model.design_.rows(open_table(new)), dtype)
    new.loc[2, "b"] = 1e30
    assert np.isfinite(model.transform(new)).all()


def test_tables_of_many_features_stay_bounded_and_give_the_same(monkeypatch, rng):
    frame = pd.DataFrame({f"c{j}": [f"v{k}" for k in rng.integers(0, 3, 60)] for j in range(12)})
    m = gm.collect(frame)
    design = Design.of(m, list(frame.columns))
    weights = rng.standard_normal((len(design.names), 40))
    expected = one_hot(design, frame) @ weights + 1.0
    for most in (2**24, 2**14, 1):
        monkeypatch.setattr(module, "FUSED_CELLS", most)
        projection = Projection(design, weights, np.ones(40))
        table = projection._fused[2]
        # Never less than one row a level and one for what is unseen.
        assert table.size <= max(most, 12 * 4 * 40)
        found = projection.apply(design.rows(open_table(frame)))
        np.testing.assert_allclose(found, expected, atol=1e-12)
