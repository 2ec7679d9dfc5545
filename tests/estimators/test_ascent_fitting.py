"""What the ascent reads of an estimator's rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.spine.training import row_weights
from gramian.maps.fitted_design import Design
from gramian.online.ascent import ascent_scale


def test_numbers_are_in_units_of_their_spread_and_levels_as_they_are():
    frame = pd.DataFrame({"c": ["a", "b", "a"], "x": [1.0, 2.0, 6.0], "still": [3.0, 3.0, 3.0]})
    m = gm.collect(frame)
    names = ["c", "x", "still"]
    variance = np.diagonal(m.covariance(names, ddof=0))
    np.testing.assert_allclose(ascent_scale(Design.of(m, names), variance), [1.0, 1.0, frame["x"].std(ddof=0), 1.0])


def test_weights_are_values_or_a_column():
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": [3, 4]})
    assert row_weights(None, 2, frame) is None
    np.testing.assert_array_equal(row_weights([1, 2], 2, frame), [1.0, 2.0])
    np.testing.assert_array_equal(row_weights("w", 2, frame), [3.0, 4.0])
    with pytest.raises(DataError, match="gives its batches once"):
        row_weights("w", 2, iter([frame]))
