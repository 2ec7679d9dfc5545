"""Target values as the columns they are collected under."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from gramian.errors import DataError
from gramian.estimators.base.moments_estimator import TARGET
from gramian.estimators.base.targets import derived_targets, target_outputs


def test_one_output_has_one_name_and_several_have_numbers():
    assert list(target_outputs([1.0, 2.0])) == [TARGET]
    with pytest.warns(DataConversionWarning):
        assert list(target_outputs(np.array([[1.0], [2.0]]))) == [TARGET]
    for y in (np.ones((3, 2)), pd.DataFrame({"a": [1.0] * 3, "b": [2.0] * 3})):
        assert list(target_outputs(y)) == [f"{TARGET}0", f"{TARGET}1"]


def test_functions_are_of_single_values():
    y = {TARGET: pa.array([10.0, 30.0, 20.0, 20.0])}
    np.testing.assert_allclose(derived_targets(y, "ranks")[TARGET], [0.125, 0.875, 0.5, 0.5])
    np.testing.assert_array_equal(derived_targets(y, "slices")[TARGET], [1, 8, 5, 5])
    powers = derived_targets(y, lambda v: np.column_stack([v, v**2]))
    np.testing.assert_array_equal(powers[f"{TARGET}1"], [100.0, 900.0, 400.0, 400.0])


def test_a_weight_ranks_as_rows():
    found = derived_targets({TARGET: pa.array([1.0, 2.0, 3.0])}, "ranks", np.array([2.0, 1.0, 1.0]))[TARGET]
    rows = derived_targets({TARGET: pa.array([1.0, 1.0, 2.0, 3.0])}, "ranks")[TARGET]
    np.testing.assert_allclose(found, np.asarray(rows)[[0, 2, 3]])


def test_what_cannot_be_ranked_is_named():
    with pytest.raises(DataError, match="continuous target"):
        derived_targets({TARGET: pa.array(["a", "b"])}, "ranks")
    with pytest.raises(DataError, match="1 values for 2 rows"):
        derived_targets({TARGET: pa.array([1.0, 2.0])}, "ranks", np.ones(1))
