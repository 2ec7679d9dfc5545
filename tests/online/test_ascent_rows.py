"""Rows as the ascent reads them."""

import numpy as np
import pandas as pd
import pyarrow as pa

import gramian as gm
from gramian.linear.regression.targets import aim_of
from gramian.maps.projection import Design
from gramian.online.ascent import AscentState, ascent_scale, design_rows, influence_rows, state_over, target_columns
from gramian.tables import open_table


def test_rows_are_the_design_matrix_without_unseen_levels():
    frame = pd.DataFrame({"color": ["red", "blue", "red"], "size": [1.0, 3.0, np.nan]})
    design = Design.of(gm.collect(frame), ["color", "size"])
    rows = design.rows(open_table(frame.assign(color=["red", "pink", "blue"])))
    found = design_rows(design, rows, np.array([1.0, 1.0, 2.0])).toarray()
    np.testing.assert_array_equal(found, [[1.0, 0.0, -0.5], [0.0, 0.0, 0.5], [0.0, 1.0, 0.0]])


def test_functions_are_indicators_or_numbers():
    frame = pd.DataFrame({"kind": ["b", "a", "c"], "sold": [True, False, True], "price": [1.0, 2.0, 4.0]})
    moments = gm.collect(frame)
    names = ["kind", "sold", "price"]
    aim = aim_of(moments, names).one_per_class()
    found = influence_rows(aim, target_columns(frame, names))
    np.testing.assert_array_equal(found, [[0, 1, 0, 1, 1], [1, 0, 0, 0, 2], [0, 0, 1, 1, 4]])


def test_new_levels_start_at_zero():
    before = Design.of(gm.collect(pa.table({"c": ["a", "b"], "x": [1.0, 2.0]})), ["c", "x"])
    after = Design.of(gm.collect(pa.table({"c": ["a", "b", "d"], "x": [1.0, 2.0, 3.0]})), ["c", "x"])
    state = state_over(before, AscentState(np.array([[1.0], [2.0], [3.0]])), after, np.array([1.0, 1.0, 1.0, 10.0]))
    np.testing.assert_array_equal(state.weights[:, 0], [1.0, 2.0, 0.0, 30.0])


def test_a_part_of_a_date_is_read_off_it():
    frame = pd.DataFrame({"when": pd.to_datetime(["2024-01-01 05:00", "2024-05-04 00:00"]), "x": [1.0, 2.0]})
    day, x, month = target_columns(frame, ["when_dayofweek", "x", "when_month"])
    assert (day.to_pylist(), x.to_pylist(), month.to_pylist()) == ([0, 5], [1.0, 2.0], [1, 5])


def test_numbers_are_in_units_of_their_spread_and_levels_as_they_are():
    frame = pd.DataFrame({"c": ["a", "b", "a"], "x": [1.0, 2.0, 6.0], "still": [3.0, 3.0, 3.0]})
    m = gm.collect(frame)
    names = ["c", "x", "still"]
    variance = np.diagonal(m.covariance(names, ddof=0))
    np.testing.assert_allclose(ascent_scale(Design.of(m, names), variance), [1.0, 1.0, frame["x"].std(ddof=0), 1.0])
