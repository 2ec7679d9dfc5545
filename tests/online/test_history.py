import numpy as np
import pytest

from gramian.online import schedules as history
from gramian.online.schedules import angle_between, as_arrays, batch_components, recorded


def test_entries_are_kept_in_order():
    past = recorded({}, updates=0, weights=np.eye(2))
    past = recorded(past, updates=5, weights=2 * np.eye(2), angle=1.0)
    found = as_arrays(past)
    assert found["updates"].tolist() == [0, 5]
    np.testing.assert_array_equal(found["norms"], [[1, 1], [2, 2]])
    assert found["weights"].shape == (2, 2, 2)


def test_what_is_kept_is_bounded_and_ends_with_the_last(monkeypatch):
    monkeypatch.setattr(history, "MOST_NUMBERS", 40)
    past = {}
    for t in range(1000):
        past = recorded(past, updates=t, weights=np.full((1, 4), float(t)))
        assert past["updates"][-1] == t
        assert sum(part.size for part in past["weights"]) <= 40
    assert len(past["updates"]) >= 5
    assert past["updates"] == [int(part[0, 0]) for part in past["weights"]]


def test_weights_from_before_a_level_was_seen_end_in_zero():
    past = recorded(recorded({}, updates=1, weights=np.ones((1, 2))), updates=2, weights=np.ones((1, 3)))
    np.testing.assert_array_equal(as_arrays(past)["weights"], [[[1, 1, 0]], [[1, 1, 1]]])
    more = as_arrays(recorded(past, updates=3, weights=np.ones((2, 3))))
    assert more["weights"].shape == (3, 2, 3)
    np.testing.assert_array_equal(more["norms"][0], [np.sqrt(2), 0])


def test_the_batch_solution_is_that_of_an_svd(rows):
    batch = rows.rows.batch(slice(None), rows.mean)
    found = batch_components([batch.part(slice(0, 70)), batch.part(slice(70, None))], 2)
    centred = (rows.X - rows.mean) * np.sqrt(rows.weights)[:, None]
    assert angle_between(found, np.linalg.svd(centred)[2][:2]) < 1e-5


@pytest.mark.parametrize("degrees", [1e-7, 1.0, 45.0, 90.0])
def test_angles(degrees):
    a = np.radians(degrees)
    # The second direction is shared; length and sign do not matter.
    weights = np.array([[np.cos(a), np.sin(a), 0.0], [0.0, 0.0, -7.0]])
    assert angle_between(weights, np.array([[1.0, 0, 0], [0, 0, 1]])) == pytest.approx(degrees, rel=1e-6)


def test_weights_that_span_too_little_are_at_a_right_angle():
    assert angle_between(np.zeros((1, 2)), np.eye(2)[:1]) == 90.0
    assert angle_between(np.ones((2, 3)), np.eye(3)[:2]) == 90.0
