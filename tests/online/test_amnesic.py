"""Components without a rate: fixed points, scale, the moving mean, few rows, and forgetting."""

import numpy as np
import pytest

from gramian.online.amnesic import AMNESIA, GUARDS, Amnesic, directions_of, learn_batch, learn_rows, seeded, share_of
from gramian.online.schedules import angle_between


def components(X, weights, k):
    centred = (X - weights @ X / weights.sum()) * np.sqrt(weights)[:, None]
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    return vt[:k], s[:k] ** 2 / weights.sum()


def learnt(batches, p, size, **options):
    state = Amnesic.none(p)
    for batch in batches:
        state = learn_batch(state, [batch], size, rng=np.random.default_rng(0), **options)
    return state


def test_directions_are_orthonormal_and_ordered(rng):
    Z = rng.normal(size=(6, 40)) * np.logspace(0, -9, 6)[:, None]
    Q, d = directions_of(Z)
    assert len(Q) == 6
    # Singular values a billion times smaller than the first are known to its rounding.
    np.testing.assert_allclose(Q @ Q.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(d, np.linalg.svd(Z, compute_uv=False), rtol=1e-6)


def test_what_is_rounding_is_no_direction(rng):
    Z = np.outer([1.0, 2.0, 3.0], rng.normal(size=5))
    assert len(directions_of(Z)[0]) == 1
    assert len(directions_of(np.zeros((3, 5)))[0]) == 0


def test_the_components_are_a_fixed_point(rows):
    k = 3
    exact, variances = components(rows.X, rows.weights, k)
    batch = rows.rows.batch(slice(None), rows.mean)
    state = learn_batch(Amnesic(exact, variances, 50.0), [batch], k, rng=np.random.default_rng(0))
    assert angle_between(state.directions, exact) < 1e-6
    np.testing.assert_allclose(state.variances, variances, rtol=1e-10)
    assert state.weight == 50.0 + rows.weights.sum()


def test_all_rows_as_one_update_are_a_power_step(rows):
    p, size = rows.X.shape[1], 6
    batch = rows.rows.batch(slice(None), rows.mean)
    parts = [batch.part(slice(s, s + 50)) for s in range(0, len(batch), 50)]
    state = Amnesic.none(p)
    for _ in range(60):
        state = learn_batch(state, parts, size, rng=np.random.default_rng(0), anew=True)
    exact, variances = components(rows.X, rows.weights, 3)
    # 60 steps, at a ratio of the fourth to the seventh variance of at most 0.8.
    assert angle_between(state.directions[:3], exact) < 1e-3
    np.testing.assert_allclose(state.variances[:3], variances, rtol=1e-8)


def test_units_change_what_comes_out_as_they_should(rows, numeric_rows):
    def found(scale):
        centred = rows.X - rows.mean
        batch = numeric_rows(scale * centred, rows.weights).batch(slice(None), np.zeros(rows.X.shape[1]))
        return learnt([batch.part(slice(s, s + 30)) for s in range(0, 120, 30)], rows.X.shape[1], 4)

    one, large = found(1.0), found(1e8)
    np.testing.assert_allclose(large.directions, one.directions, atol=1e-7)
    np.testing.assert_allclose(large.variances, 1e16 * one.variances, rtol=1e-8)


def test_a_moved_mean_gives_the_covariance_of_all_rows(rng, numeric_rows):
    # All directions are kept and every row counts once: what is left is the exact covariance.
    A, B = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)) + np.array([5.0, -3.0, 1.0])
    whole = np.vstack([A, B])
    before, after = A.mean(axis=0), whole.mean(axis=0)
    exact, variances = components(A, np.ones(30), 3)
    batch = numeric_rows(B).batch(slice(None), after)
    # So much weight that the share is that of 20 in 50 rows: (t / (t + b))^(1 + a) = 0.6.
    kept = 0.6 ** (1 / (1 + AMNESIA))
    weight = 20 * kept / (1 - kept)
    state = learn_batch(
        Amnesic(exact, variances, weight), [batch], 3, rng=np.random.default_rng(0), shift=after - before
    )
    mapped = (state.directions.T * state.variances) @ state.directions
    expected = np.cov(whole.T, ddof=0) @ exact.T @ exact
    np.testing.assert_allclose(np.linalg.svd(mapped)[1], np.linalg.svd(expected)[1], rtol=1e-10)


def test_rows_that_span_little_leave_room_for_those_that_follow(rng, numeric_rows):
    X = rng.normal(size=(5, 8))
    rows = numeric_rows(X)
    state = learnt([rows.batch(slice(i, i + 1), np.zeros(8)) for i in range(5)], 8, 6)
    assert len(state.directions) == 5
    np.testing.assert_allclose(state.directions @ state.directions.T, np.eye(5), atol=1e-10)
    inside = np.linalg.qr(X.T)[0].T
    assert angle_between(state.directions, inside) < 1e-5


def test_rows_without_variance_give_no_directions(numeric_rows):
    rows = numeric_rows(np.ones((10, 3))).batch(slice(None), np.ones(3))
    state = learnt([rows, rows], 3, 2)
    assert state.directions.shape == (0, 3)
    assert len(seeded(state, rows, 2, np.random.default_rng(0)).directions) == 0


@pytest.mark.parametrize("by_row", [False, True])
def test_close_variances_are_told_apart_by_guard_units(rng, numeric_rows, by_row):
    # The second is 5% below the first, and the thirteenth far below.
    scale = np.concatenate([np.sqrt([1.0, 0.95, 0.9]), np.full(17, 0.3)])
    X = np.linalg.qr(rng.normal(size=(2000, 20)))[0] * scale
    X = X - X.mean(axis=0)
    exact = np.linalg.svd(X, full_matrices=False)[2][:1]
    rows = numeric_rows(X)

    def angle(size):
        state, order = Amnesic.none(20), np.random.default_rng(0)
        for _ in range(10):
            at = order.permutation(2000)
            for s in range(0, 2000, 100):
                batch = rows.batch(at[s : s + 100], np.zeros(20))
                state = learn_rows(state, batch, size) if by_row else learn_batch(state, [batch], size, rng=order)
        return angle_between(state.directions[:1], exact)

    assert angle(1 + GUARDS) < 1.0
    assert angle(1) > 2.0


def test_shares():
    assert share_of(10.0, 0.0, None) == 1.0
    # Weights 1, 2, ..., 100 (less a half): the last ten of them over all.
    weights = np.arange(100) + 0.5
    assert share_of(10.0, 90.0, None) == pytest.approx(weights[90:].sum() / weights.sum())
    assert share_of(10.0, 1e9, 0.99) == pytest.approx(1 - 0.99**10)


def test_forgetting_follows_rows_that_turn(rng, numeric_rows):
    old, new = rng.normal(size=(3000, 4)) * [3, 1, 1, 1], rng.normal(size=(3000, 4)) * [1, 3, 1, 1]
    batches = [
        numeric_rows(part[s : s + 50]).batch(slice(None), np.zeros(4))
        for part in (old, new)
        for s in range(0, 3000, 50)
    ]
    second = np.array([[0.0, 1.0, 0.0, 0.0]])
    kept = learnt(batches, 4, 2)
    forgot = learnt(batches, 4, 2, forgetting=0.99)
    assert angle_between(forgot.directions[:1], second) < 10
    assert kept.variances[0] < forgot.variances[0]
