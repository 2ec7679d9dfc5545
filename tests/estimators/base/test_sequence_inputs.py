import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.base.sequence_inputs import matrix_of


def test_columns_of_a_table_are_matched_by_name(rng):
    frame = pd.DataFrame(rng.standard_normal((4, 3)), columns=["a", "b", "y"])
    for X in (frame, pa.Table.from_pandas(frame)):
        model = gm.EchoStateFeatures(5)
        rows, target = matrix_of(model, X, "y", reset=True)
        np.testing.assert_array_equal(rows, frame[["a", "b"]])
        np.testing.assert_array_equal(target, frame["y"])
        assert model.feature_names_in_.tolist() == ["a", "b"]
        assert model.n_features_in_ == 2
    turned = pa.Table.from_pandas(frame[["b", "a"]])
    np.testing.assert_array_equal(matrix_of(model, turned, reset=False)[0], frame[["a", "b"]])
    for X in (frame, pa.Table.from_pandas(frame)):
        with pytest.raises(DataError, match="column 'z' is not in"):
            matrix_of(gm.EchoStateFeatures(5), X, "z", reset=True)


def test_gaps_are_named():
    table = pa.table({"a": [1.0, None], "b": [1.0, 2.0]})
    with pytest.raises(DataError, match="column 'a' has missing values"):
        matrix_of(gm.EchoStateFeatures(5), table, reset=True)


def test_a_target_that_is_only_left_out_may_be_text():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 1.5], "label": ["x", "y"]})
    for X in (frame, pa.Table.from_pandas(frame)):
        model = gm.EchoStateFeatures(5).fit(X, "label")
        assert model.n_features_in_ == 2
        assert model.transform(X if X is not frame else frame[["a", "b"]]).shape == (2, 5)
