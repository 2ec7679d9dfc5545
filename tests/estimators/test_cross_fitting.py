"""The parts of cross-fitting: folds from a splitter, rows taken, each row by the projection of its fold."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.cross_fitting import features_by_fold, fold_projections, folds_of_splitter, take_rows
from gramian.linear.mahalanobis import mahalanobis
from gramian.moments.algebra.folds import folds_of
from gramian.tables import open_table


def test_every_row_is_in_the_fold_whose_test_set_holds_it():
    x, groups = np.zeros((12, 2)), np.repeat([0, 1, 2], 4)
    found = folds_of_splitter(GroupKFold(3), x, None, groups)
    assert all(len(set(found[groups == g])) == 1 for g in range(3))
    assert sorted(set(found)) == [0, 1, 2]


def test_test_sets_must_cover_every_row_once():
    x = np.zeros((12, 2))
    with pytest.raises(DataError, match="overlap"):
        folds_of_splitter(ShuffleSplit(4, test_size=0.5, random_state=0), x, None, None)
    with pytest.raises(DataError, match="leave rows out"):
        folds_of_splitter(ShuffleSplit(1, test_size=0.5, random_state=0), x, None, None)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, lambda t: pa.Table.from_pydict(t), lambda t: np.column_stack([*t.values()])]
)
def test_rows_are_taken_from_any_table(make):
    table = make({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    found = take_rows(table, np.array([2, 0]))
    values = found.to_pandas().to_numpy() if isinstance(found, pa.Table) else np.asarray(found)
    np.testing.assert_array_equal(values, [[3.0, 6.0], [1.0, 4.0]])


def test_rows_of_a_sparse_matrix_are_taken():
    found = take_rows(sp.coo_array(np.eye(3)), np.array([1]))
    np.testing.assert_array_equal(found.toarray(), [[0.0, 1.0, 0.0]])


def test_each_row_takes_the_projection_of_its_fold(rng):
    n = 200
    frame = pd.DataFrame({"c": rng.choice(["x", "y", "z"], n), "v": rng.standard_normal(n)})
    m = gm.collect(frame.assign(t=rng.standard_normal(n)), targets="t", folds=4)
    found = mahalanobis(m, ["c", "v"], ["t"], structure="columns", ridge=2.0)
    projections = fold_projections(found, folds_of(m), ["c", "v"])
    fold_of = rng.integers(0, 4, n)
    design = projections[0].design
    mixed = features_by_fold(design.rows(open_table(frame)), projections, fold_of, 4)
    for k in range(4):
        alone = projections[k].apply(design.rows(open_table(frame)))
        np.testing.assert_array_equal(mixed[fold_of == k], alone[fold_of == k])


def test_a_column_that_no_fold_shows_stays_at_the_mean(rng):
    # Two levels of one row each: cross-fitted they are unseen, and the plain value would be beyond all that was learned from.
    n = 1000
    frame = pd.DataFrame({"utility": "all", "size": rng.standard_normal(n), "shape": rng.choice(["box", "rod"], n)})
    y = frame["size"].to_numpy() + rng.standard_normal(n)
    frame.loc[[3, 700], "utility"] = ["some", "none"]
    y[[3, 700]] -= 50.0
    encoder = gm.JointTargetEncoder(ridge=3.0)
    assert np.abs(encoder.fit(frame, y).transform(frame)[3, 0]) > 5.0
    crossed = encoder.fit_transform(frame, y)
    assert np.abs(crossed[:, 0]).max() < 0.1
    after = encoder.transform(frame)
    np.testing.assert_array_equal(after[:, 0], 0.0)
    np.testing.assert_allclose(after[:, 1:], encoder.fit(frame, y).transform(frame)[:, 1:], atol=1e-12)
    model = make_pipeline(gm.JointTargetEncoder(), StandardScaler(), Ridge()).fit(frame, y)
    assert np.abs(model.predict(frame)).max() < 10.0
    # With two rows of a level in different folds there is something to learn from.
    frame.loc[[4, 5, 6], "utility"] = "some"
    encoder.fit_transform(frame, y)
    assert np.abs(encoder.transform(frame)[3, 0]) > 1.0


def test_an_unknown_argument_is_named():
    with pytest.raises(TypeError, match="'weights'"):
        gm.JointTargetEncoder(cv=KFold(2)).fit_transform(np.eye(4), [1.0, 2.0, 3.0, 4.0], weights=None)
