"""The mini-batch ascent: its gradient, the printed one, and where each ends up."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.online.ascent import AscentOptions, ascend, distance_and_gradient, initial_state, one_epoch


@pytest.fixture
def batch(rng):
    codes = rng.integers(0, [4, 6, 3], (80, 3))
    x = np.hstack([np.eye(k)[codes[:, j]] for j, k in enumerate((4, 6, 3))])
    y = x @ rng.standard_normal(13) + rng.standard_normal(80)
    return x, y[:, None], rng.standard_normal((13, 3))


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("functions", [1, 3])
def test_gradient_matches_finite_differences(batch, rng, ridge, functions):
    x, y, weights = batch
    h = y if functions == 1 else np.column_stack([y, y**2, rng.standard_normal(80)])
    _, slope = distance_and_gradient(x, h, weights, gradient="exact", ridge=ridge)
    numeric, step = np.zeros_like(weights), 1e-6
    for at in np.ndindex(*weights.shape):
        moved = [weights.copy(), weights.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        up, down = (distance_and_gradient(x, h, w, gradient="exact", ridge=ridge)[0] for w in moved)
        numeric[at] = (up - down) / (2 * step)
    np.testing.assert_allclose(slope, numeric, atol=1e-6 * np.abs(numeric).max())


def test_exact_gradient_is_the_stated_formula(batch):
    x, y, weights = batch
    xc, yc = x - x.mean(axis=0), y[:, 0] - y.mean()
    z = xc @ weights
    g, variance = xc.T @ yc, yc.var()
    q = np.linalg.solve(z.T @ z * variance, z.T @ yc)
    expected = 2 * np.outer(g - variance * xc.T @ (z @ q), q)
    _, slope = distance_and_gradient(x, y, weights, gradient="exact", ridge=0.0)
    np.testing.assert_allclose(slope, expected, atol=1e-10 * np.abs(expected).max())


def test_printed_gradient_is_the_sources(batch):
    x, y, weights = batch
    b, ridge, target = len(x), 1e-3, y[:, 0]
    projected = x @ weights
    expected_z = projected.sum(axis=0) * target.sum() / b
    spread = projected - projected.sum(axis=0) / b
    variance = (target**2).sum() / b - (target.sum() / b) ** 2
    v = spread.T @ spread * variance + ridge * np.eye(3)
    delta = projected.T @ target - expected_z
    factor = 2.0 * np.linalg.inv(v) @ delta
    along = x.T @ target - x.T @ np.ones(b) * target.sum() / b
    value, slope = distance_and_gradient(sp.csr_array(x), y, weights, gradient="printed", ridge=ridge)
    assert value == pytest.approx(delta @ np.linalg.inv(v) @ delta, rel=1e-10)
    np.testing.assert_allclose(slope, np.outer(along, factor), atol=1e-10 * np.abs(slope).max())


def test_printed_gradient_is_wrong_by_a_good_part(batch):
    x, y, weights = batch
    _, right = distance_and_gradient(x, y, weights, gradient="exact", ridge=0.0)
    _, printed = distance_and_gradient(x, y, weights, gradient="printed", ridge=0.0)
    assert np.linalg.norm(printed - right) > 0.2 * np.linalg.norm(right)


def test_printed_steps_stay_rank_one_along_the_cross_scatter(batch):
    x, y, _ = batch
    options = AscentOptions(gradient="printed", learning_rate=0.01, batch_size=80, max_epochs=30, patience=30)
    start = initial_state(13, 3, options)
    moved = ascend(start, sp.csr_array(x), y, options).weights - start.weights
    g = (x - x.mean(axis=0)).T @ (y - y.mean())
    assert np.linalg.matrix_rank(moved, tol=1e-8 * np.linalg.norm(moved)) == 1
    cosine = np.abs(g[:, 0] @ moved[:, 0]) / np.linalg.norm(g) / np.linalg.norm(moved[:, 0])
    assert cosine == pytest.approx(1.0, abs=1e-9)


def test_full_batches_climb_to_the_optimum(rng):
    n = 1000
    codes = rng.integers(0, [3, 4], (n, 2))
    x = np.hstack([np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]])
    y = x @ np.array([1.0, 0.0, -1.0, 0.5, 0.0, 0.3, -0.6]) + 0.5 * rng.standard_normal(n)
    xc, yc = x - x.mean(axis=0), y - y.mean()
    best = 1 - np.square(yc - xc @ np.linalg.lstsq(xc, yc, rcond=None)[0]).sum() / np.square(yc).sum()
    options = AscentOptions(batch_size=n, max_epochs=400, tol=1e-9, learning_rate=2.0)
    state = ascend(initial_state(7, 1, options), sp.csr_array(x), y[:, None], options)
    assert state.history["r2"][-1] == pytest.approx(best, abs=2e-3)
    assert len(state.history["r2"]) <= 400
    assert state.steps == len(state.history["r2"])


def test_an_epoch_does_not_change_the_state_it_is_given(batch):
    x, y, _ = batch
    options = AscentOptions(batch_size=20)
    state = initial_state(13, 2, options)
    before = state.weights.copy()
    again = [one_epoch(state, sp.csr_array(x), y, options).weights for _ in range(2)]
    np.testing.assert_array_equal(state.weights, before)
    np.testing.assert_array_equal(*again)
    assert state.history["r2"] == []


@pytest.mark.parametrize("gradient", ["exact", "printed"])
def test_a_weight_counts_as_rows_of_the_batch(batch, rng, gradient):
    x, y, weights = batch
    counted = rng.integers(0, 4, len(x))
    repeated = np.repeat(np.arange(len(x)), counted)
    a = distance_and_gradient(x, y, weights, gradient=gradient, ridge=0.1, row_weights=counted.astype(float))
    b = distance_and_gradient(x[repeated], y[repeated], weights, gradient=gradient, ridge=0.1)
    assert a[0] == pytest.approx(b[0], rel=1e-10)
    np.testing.assert_allclose(a[1], b[1], atol=1e-10 * np.abs(b[1]).max())


def test_a_weighted_ascent_is_that_of_repeated_rows(batch, rng):
    x, y, _ = batch
    counted = rng.integers(1, 4, len(x))
    repeated = np.repeat(np.arange(len(x)), counted)
    options = AscentOptions(batch_size=len(repeated), max_epochs=5, patience=9)
    start = initial_state(13, 2, options)
    a = ascend(start, sp.csr_array(x), y, options, counted.astype(float))
    b = ascend(start, sp.csr_array(x[repeated]), y[repeated], options)
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-9 * np.abs(b.weights).max())
    np.testing.assert_allclose(a.history["r2"], b.history["r2"], rtol=1e-10)


def test_options_are_checked():
    with pytest.raises(DataError, match="'exact' or 'printed'"):
        AscentOptions(gradient="momentum")
    with pytest.raises(DataError, match="batch_size"):
        AscentOptions(batch_size=1)
    with pytest.raises(DataError, match="one influence function"):
        distance_and_gradient(np.eye(4), np.eye(4)[:, :2], np.ones((4, 1)), gradient="printed", ridge=0.1)
