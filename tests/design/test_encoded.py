from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gramian.design.encoder import LONG_ROW, Encoded, LazyRows, PickedRows, SideBySide

LEFT = np.arange(40.0).reshape(10, 4)
RIGHT = -np.arange(20.0).reshape(10, 2)
WHOLE = np.hstack([LEFT, RIGHT])


@pytest.mark.parametrize("kind", ["float64", "float32", "int16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_matrices_side_by_side_are_one(kind, order):
    both = SideBySide(LEFT.astype(kind, order=order), RIGHT)
    assert both.shape == WHOLE.shape
    assert len(both) == 10
    places = np.array([7, 0, 7])
    for part in (slice(None), slice(2, 5), slice(8, 20), slice(5, 5), places):
        np.testing.assert_array_equal(both[part], WHOLE[part])
    np.testing.assert_array_equal(np.take(both, places, axis=0), WHOLE[places])


@pytest.mark.parametrize("values", [WHOLE, WHOLE.astype("float32"), SideBySide(LEFT, RIGHT)])
def test_rows_are_written_where_there_is_room(values):
    rows = PickedRows(values, np.array([9, 3, 3, 0, 5], dtype=np.int32))
    room = np.full((4, 8), np.nan)
    out = rows.copied(slice(1, 4), room)
    assert np.shares_memory(out, room)
    np.testing.assert_array_equal(out, WHOLE[[3, 3, 0]])
    assert np.isnan(room[3:]).all()
    assert np.isnan(room[:, 6:]).all()


def test_a_subclass_says_how():
    with pytest.raises(NotImplementedError):
        LazyRows()._fill(slice(None), WHOLE)


@pytest.mark.parametrize("width", [LONG_ROW - 2, LONG_ROW + 2])
def test_folds_hold_their_rows(width):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(30, width - 1)), rng.normal(size=(30, 1))
    folds = rng.integers(0, 3, 30).astype(np.uint8)
    codes = rng.integers(0, 5, 30).astype(np.uint16)
    rows = Encoded(30, ("c",), ("x",) * width, [codes], [5], SideBySide(left, right), np.arange(30.0), folds)
    with ThreadPoolExecutor(1) as pool:
        for fold, part in enumerate(rows.by_fold(3, pool)):
            np.testing.assert_array_equal(part.numbers[:], np.hstack([left, right])[folds == fold])
            np.testing.assert_array_equal(part.codes[0], codes[folds == fold])
            np.testing.assert_array_equal(part.weights, np.arange(30.0)[folds == fold])
