import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.reservoirs.sequence_features import matrix_of


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


@pytest.mark.parametrize("container", [lambda t: t, lambda t: t.to_pandas(), lambda t: t.to_pydict()])
@pytest.mark.parametrize("direct_links", [True, False])
def test_a_table_without_the_names_of_fit_needs_as_many_columns(rng, container, direct_links):
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    model = gm.EchoStateRegressor(5, direct_links=direct_links, random_state=0).fit(X, y)
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(model.predict(container(pa.table(columns))), model.predict(X))
    del columns["b"]
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="X has 2 features, but EchoStateRegressor is expecting 3"),
    ):
        model.predict(container(pa.table(columns)))


@pytest.mark.parametrize("values", [["u", "v"], [{}, {}], pd.period_range("2024-01", periods=2, freq="M"), [1.0, None]])
def test_a_named_target_that_is_no_number_is_refused_by_its_name(values):
    frame = pd.DataFrame({"a": [1.0, 2.0], "t": values})
    with pytest.raises(DataError, match="column 't'"):
        matrix_of(gm.EchoStateRegressor(5), frame, "t", reset=True)


def test_a_target_whose_name_two_columns_have_is_refused():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "t", "t"])
    with pytest.raises(DataError, match="column 't' is asked for twice"):
        matrix_of(gm.EchoStateRegressor(5), frame, "t", reset=True)
