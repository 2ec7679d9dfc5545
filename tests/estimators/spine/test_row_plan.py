import datetime

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine.training import read, target_outputs


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "color": ["a", "b", "a"],
            "year": [2001, 2002, 2001],
            "when": [datetime.date(2026, 1, 1)] * 3,
            "y": [0.5, 1.5, 2.5],
        }
    )


def forms(plan):
    return {column.name: (column.form, column.target) for column in plan}


def test_integers_are_numbers_dates_are_categories_and_targets_are_what_is_asked(frame):
    model = gm.RandomFeatures()
    training = read(model, frame, "y", targets=target_outputs)
    assert forms(training.schema()) == {
        "color": ("category", False),
        "year": ("number", False),
        "when_dayofweek": ("category", False),
        "when_month": ("category", False),
        "y": ("number", True),
    }
    assert forms(training.schema(classes=True))["y"] == ("category", True)
    model.set_params(categorical_features=["year"])
    assert forms(read(model, frame).schema())["year"] == ("category", False)


def test_later_rows_are_read_like_the_first(frame):
    model = gm.ELMRegressor(5).fit(frame, "y")
    with pytest.raises(DataError, match="column 'color'"):
        model.partial_fit(frame.drop(columns="color"), "y")
    more = frame.assign(year=[2001.5, 2000.0, 1999.0])
    model.partial_fit(more[["when", "y", "year", "color"]], "y")
    expected = gm.ELMRegressor(5).fit(pd.concat([frame, more]), "y")
    np.testing.assert_allclose(model.predict(frame), expected.predict(frame), atol=1e-9)


def test_what_is_not_there_is_named(frame):
    model = gm.ELMRegressor(5)
    with pytest.raises(ColumnError, match="did you mean 'year'"):
        model.fit(frame, "years")
    with pytest.raises(ColumnError, match="column 'w' is not in"):
        model.fit(frame, "y", sample_weight="w")
    with pytest.raises(DataError, match="one value a row"):
        model.fit(frame, "y", sample_weight=np.ones((3, 1)))
    with pytest.raises(DataError, match="no feature columns"):
        model.fit(frame[["y"]], "y")
    with pytest.raises(DataError, match="every sample weight is zero"):
        model.fit(frame, "y", sample_weight=np.zeros(3))
