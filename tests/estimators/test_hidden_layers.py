import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.hidden_layers import HiddenLayers


@pytest.fixture
def layers():
    frame = pd.DataFrame({"color": ["a", "b", "a"], "size": [0.0, 1.0, 2.0]})
    other = pd.DataFrame({"color": ["c", "b"], "size": [0.0, 1.0]})
    found = [gm.ELMRegressor(4).fit(rows, rows["size"])._state for rows in (frame, other)]
    assert all(isinstance(each, HiddenLayers) for each in found)
    return found


def test_counts_add_up_by_label_and_levels_without_rows_go(layers):
    a, b = layers
    both = a + b
    assert both.labels[0].to_list() == ["a", "b", "c"]
    assert both.counts[0].tolist() == [2, 2, 1]
    back = both - b
    assert back.labels[0].to_list() == ["a", "b"]
    assert back.counts[0].tolist() == [2, 1]
    np.testing.assert_array_equal(back.map.projection.weights, a.map.projection.weights)


def test_the_same_map_is_not_refused_whatever_labels_were_seen(layers):
    a, b = layers
    a.refuse_other_map(b)
    numbers = gm.ELMRegressor(4, categorical_features=["color"]).fit(
        pd.DataFrame({"color": [1, 2], "size": [0.0, 1.0]}), [0.0, 1.0]
    )
    texts = gm.ELMRegressor(4).fit(pd.DataFrame({"color": ["1", "2"], "size": [0.0, 1.0]}), [0.0, 1.0])
    with pytest.raises(DataError, match="text labels on the left and integer labels on the right"):
        texts + numbers
