"""A design that grows: new levels start at 0, and the mean of parts is the mean of all."""

import numpy as np
import pyarrow as pa

from gramian.design.schema import Column
from gramian.online.rows import DesignRows, RunningDesign, carried_over, with_levels, with_rows

COLUMNS = (Column("c", "category", "c"), Column("x", "number", "x"), Column("d", "category", "d"))


def batch(c, x, d):
    return pa.record_batch(
        {"c": pa.array(c, pa.string()), "x": pa.array(x, pa.float64()), "d": pa.array(d, pa.string())}
    )


def after(seen, part, forgetting=None):
    seen = with_levels(seen, part)
    return with_rows(seen, DesignRows.of(seen.design, [seen.design.encode(part)]), forgetting)


FIRST = batch(["a", "b", "a"], [1.0, None, 5.0], ["u", "u", None])
SECOND = batch(["c", "a"], [6.0, 8.0], ["v", "u"])


def test_levels_come_in_order_of_first_sight():
    seen = with_levels(with_levels(RunningDesign.nothing(COLUMNS), FIRST), SECOND)
    assert list(seen.design.names) == ["c_a", "c_b", "c_c", "x", "d_u", "d_(missing)", "d_v"]
    assert with_levels(seen, SECOND) is seen


def test_the_mean_of_parts_is_the_mean_of_all():
    seen = after(after(RunningDesign.nothing(COLUMNS), FIRST), SECOND)
    np.testing.assert_allclose(seen.design.mean, [0.6, 0.2, 0.2, 5.0, 0.6, 0.2, 0.2])
    np.testing.assert_allclose(seen.weights, [5, 5, 5, 4, 5, 5, 5])
    assert seen.total == 5


def test_forgotten_rows_count_less():
    seen = after(after(RunningDesign.nothing(COLUMNS), FIRST, forgetting=0.5), SECOND, forgetting=0.5)
    # Rows a, b, a, c, a at 1/16, 1/8, 1/4, 1/2 and 1; the second has no x.
    np.testing.assert_allclose(seen.design.mean[0], (1 / 16 + 1 / 4 + 1) / (31 / 16))
    np.testing.assert_allclose(seen.design.mean[3], (1 / 16 + 5 / 4 + 6 / 2 + 8) / (29 / 16))
    assert seen.total == 31 / 16


def test_weights_go_on_where_their_columns_are():
    old = with_levels(RunningDesign.nothing(COLUMNS), FIRST).design
    new = with_levels(RunningDesign(old, np.zeros(len(old.mean))), SECOND).design
    values = np.arange(1.0, 6.0)[None] * [[1.0], [10.0]]
    expected = np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0])
    np.testing.assert_array_equal(carried_over(old, new, values), [expected, 10 * expected])
    assert carried_over(new, new, expected) is expected
