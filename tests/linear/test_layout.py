"""Where source columns stand among the design columns, and the metric of each."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.linear.layout import centre_of, layout_of, metric_of


def test_spans_follow_the_columns(mixed):
    m = gm.collect(mixed)
    found = layout_of(m, ["size", "color", "grade", "shape"])
    assert found.forms == ["number", "category", "integer", "category"]
    assert found.spans() == [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 8)]
    assert found.categories == ["color", "shape"]
    assert found.category_spans == [slice(1, 4), slice(5, 8)]
    assert found.is_level.tolist() == [False, True, True, True, False, True, True, True]
    assert (found.width, found.dimensions, found.plain) == (8, 6, False)
    assert found.without(["color"]).columns == ["size", "grade", "shape"]
    assert layout_of(m, ["cost", "size"]).plain


def test_columns_that_cannot_be_features_are_named(mixed):
    m = gm.collect(mixed)
    assert "kind" not in layout_of(m, None, without=["kind"]).columns
    with pytest.raises(ColumnError, match="'kind' is the target"):
        layout_of(m, ["kind"], without=["kind"])
    with pytest.raises(DataError, match="no column to work on"):
        layout_of(m.select(["kind"]), None, without=["kind"])


@pytest.mark.parametrize("scale", [False, True, "auto"])
def test_the_metric_makes_variances_or_inertias_one(mixed, design, scale):
    m = gm.collect(mixed)
    columns = ["color", "size", "grade", "cost"]
    layout, x = layout_of(m, columns), design(mixed, m, columns)
    mean = centre_of(m, layout)
    np.testing.assert_allclose(mean, m.mean(columns))
    metric = metric_of(scale, layout, mean, np.square(x).sum(axis=0), len(x))
    if scale is False:
        assert metric is None
        return
    inertia = np.square(x * metric).mean(axis=0)
    np.testing.assert_allclose(inertia[3:], 1.0)
    # All levels of unit variance; or the whole category an inertia of one less than its levels.
    expected = 3 if scale is True else 2
    assert inertia[:3].sum() == pytest.approx(expected)


def test_what_never_varies_or_was_never_seen_does_no_harm():
    m = gm.collect(np.array([[1.0, np.nan, 2.0], [1.0, np.nan, 4.0]]))
    layout = layout_of(m, None)
    assert centre_of(m, layout).tolist() == [1.0, 0.0, 3.0]
    assert metric_of(True, layout, centre_of(m, layout), np.array([0.0, 0.0, 2.0]), 2.0).tolist() == [1.0, 1.0, 1.0]
