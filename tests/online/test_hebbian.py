"""Hebb's, Oja's and Sanger's rules: the exercise of the source, values by hand, and what happens when they diverge."""

import re

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.online.hebbian import LARGEST, Hebbian, first_weights, learn, updated
from gramian.online.schedules import Schedule

POINTS = np.array([[0.0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]])
ETA = Schedule(0.01)


@pytest.fixture
def six(numeric_rows):
    return numeric_rows(POINTS).batch(slice(None), np.array([5.0, 5.0]))


def test_the_batch_exercise_to_six_digits_after_each_epoch(six):
    state = Hebbian(np.array([[-1.0, 0.0]]))
    state = learn(state, [six], rule="oja", mode="batch", schedule=ETA)
    np.testing.assert_allclose(state.weights, [[-1.0, -0.34]], atol=5e-7)
    state = learn(state, [six], rule="oja", mode="batch", schedule=ETA)
    np.testing.assert_allclose(state.weights, [[-0.854344, -0.495973]], atol=5e-7)
    assert state.updates == 2
    for _ in range(200):
        state = learn(state, [six], rule="oja", mode="batch", schedule=ETA)
    np.testing.assert_allclose(state.weights, [[-0.830888, -0.55644]], atol=5e-7)


# By hand, in fractions.
@pytest.mark.parametrize(
    ("rule", "mode", "first", "expected"),
    [
        ("oja", "online", [[-1, 0]], [[-0.9699786745738699, -0.2823227549966141]]),
        ("hebb", "online", [[-1, 0]], [[-1.681134256, -0.416127328]]),
        ("hebb", "batch", [[-1, 0]], [[-1.54, -0.34]]),
        ("sanger", "batch", [[-1, 0], [0, 1]], [[-1.0, -0.34], [0.0, 1.0]]),
        (
            "sanger",
            "online",
            [[-1, 0], [0, 1]],
            [[-0.9699786745738699, -0.2823227549966141], [-0.017988202143374057, 0.9677162735747588]],
        ),
        # An orthonormal basis of everything leaves nothing to learn.
        ("subspace", "online", [[-1, 0], [0, 1]], [[-1, 0], [0, 1]]),
        (
            "subspace",
            "online",
            [[-1, 0.5], [0, 1]],
            [[-1.065584893551403, 0.3986453474957324], [0.10085131234676811, 1.0852468721221316]],
        ),
    ],
)
def test_one_epoch_by_hand(six, rule, mode, first, expected):
    state = learn(Hebbian(np.array(first, dtype=float)), [six], rule=rule, mode=mode, schedule=ETA)
    np.testing.assert_allclose(state.weights, expected, rtol=1e-12, atol=1e-15)
    assert state.updates == (6 if mode == "online" else 1)


def test_a_minibatch_of_all_rows_is_the_batch_and_of_one_row_is_online(rows):
    batch = rows.rows.batch(slice(None), rows.mean)
    first = Hebbian(first_weights(2, rows.X.shape[1], np.random.default_rng(1)))
    rate = Schedule(1e-4)

    def after(mode, parts):
        return learn(first, parts, rule="sanger", mode=mode, schedule=rate).weights

    one_row = [batch.part(slice(i, i + 1)) for i in range(len(batch))]
    np.testing.assert_allclose(after("minibatch", [batch]), after("batch", [batch]), rtol=1e-12)
    np.testing.assert_allclose(after("batch", one_row), after("batch", [batch]), rtol=1e-10)
    np.testing.assert_allclose(after("minibatch", one_row), after("online", [batch]), rtol=1e-9, atol=1e-12)


def test_a_weight_in_batch_mode_is_repeated_rows(rows, numeric_rows):
    repeated = numeric_rows(np.repeat(rows.X, rows.weights.astype(int), axis=0)).batch(slice(None), rows.mean)
    first = Hebbian(first_weights(2, rows.X.shape[1], np.random.default_rng(1)))
    options = {"rule": "subspace", "mode": "batch", "schedule": Schedule(1e-4)}
    found = learn(first, [rows.rows.batch(slice(None), rows.mean)], **options).weights
    np.testing.assert_allclose(found, learn(first, [repeated], **options).weights, rtol=1e-10)


def test_a_schedule_goes_on_where_it_was(six):
    schedule, first = Schedule(0.01, "1/t"), Hebbian(np.array([[-1.0, 0.0]]))
    once = learn(first, [six], rule="oja", mode="batch", schedule=schedule)
    twice = learn(once, [six], rule="oja", mode="batch", schedule=schedule)
    y = six.outputs(once.weights)
    np.testing.assert_allclose(twice.weights, updated(once.weights, six.back(y), y.T @ y, 0.005, "oja"), rtol=1e-14)


def test_hebbs_rule_stops_before_overflow(six):
    state = Hebbian(np.array([[-1.0, 0.0]]))
    for _ in range(100):
        state = learn(state, [six], rule="hebb", mode="batch", schedule=Schedule(10.0))
    assert state.stopped
    assert state.updates < 100
    assert np.isfinite(state.weights).all()
    assert LARGEST < np.abs(state.weights).max() < 1e150


def epochs(count, state, parts, rule, mode, rate):
    for _ in range(count):
        state = learn(state, parts, rule=rule, mode=mode, schedule=Schedule(rate))
    return state


@pytest.mark.parametrize("rule", ["oja", "sanger", "subspace"])
@pytest.mark.parametrize("mode", ["online", "minibatch", "batch"])
def test_divergence_names_the_update_and_a_rate_that_holds(rows, rule, mode):
    batch = rows.rows.batch(slice(None), rows.mean)
    parts = [batch.part(slice(s, s + 40)) for s in range(0, len(batch), 40)]
    k = 1 if rule == "oja" else 2
    first = Hebbian(2.0 * first_weights(k, rows.X.shape[1], np.random.default_rng(2)))
    with pytest.raises(DataError, match=r"learning_rate=50\.0 diverges: at update [\d,]+ ") as caught:
        epochs(30, first, parts, rule, mode, 50.0)
    safe = float(re.search(r"learning_rate=([\d.e-]+) or less does not", str(caught.value)).group(1))
    assert np.abs(epochs(100, first, parts, rule, mode, safe).weights).max() < 3.0
