"""The loops over rows, against the rules written out with numpy."""

import numpy as np
import pytest

from gramian.online import row_loops
from gramian.online.amnesic import shares_of
from gramian.online.hebbian import RULES

NEVER = 1e300


def one_by_one(rows, weights, rates, rule):
    """Return the weights after the rule as it is printed: dw_i = eta y_i (x - what the rule subtracts)."""
    W = weights.copy()
    for x, rate in zip(rows, rates, strict=True):
        y = W @ x
        subtracted = np.zeros_like(W)
        for i in range(len(W)):
            units = {"hebb": [], "oja": [i], "sanger": range(i + 1), "subspace": range(len(W))}[rule]
            for j in units:
                subtracted[i] += y[j] * W[j]
        W = W + rate * y[:, None] * (x - subtracted)
    return W


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [1e-4, 1e-2])
def test_each_row_makes_the_update_of_the_rule(rows, rng, rule, rate):
    k = 1 if rule in ("hebb", "oja") else 3
    batch = rows.rows.batch(slice(None), rows.mean)
    first = 0.3 * rng.normal(size=(k, rows.X.shape[1]))
    rates = rate * rng.random(len(batch))
    expected = one_by_one(rows.X - rows.mean, first, rates, rule)
    if batch.dense:
        found = first.copy()
        assert row_loops.learn_dense(batch.expanded(), found, rates, RULES[rule], NEVER) == -1
    else:
        columns = np.array(first.T, order="C")
        assert row_loops.learn_sparse(*batch.entries(), batch.mean, columns, rates, RULES[rule], NEVER) == -1
        found = columns.T
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("rule", ["oja", "sanger", "subspace"])
def test_a_step_that_cannot_be_undone_is_made_in_full(rows, rule):
    # With eta y^2 near 1 the factor of the old weights is near 0.
    if rows.kind in ("dense", "sparse"):
        pytest.skip("rows of categories only")
    k = 1 if rule == "oja" else 2
    centred = rows.X - rows.mean
    first = np.zeros((k, rows.X.shape[1]))
    first[:, :k] = np.eye(k)
    batch = rows.rows.batch(slice(0, 30), rows.mean)
    rates = np.full(30, 1e-3)
    y = first @ centred[0]
    rates[0] = 1.0 / (y @ y if rule == "subspace" else y[0] ** 2)
    columns = np.array(first.T, order="C")
    row_loops.learn_sparse(*batch.entries(), batch.mean, columns, rates, RULES[rule], NEVER)
    expected = one_by_one(centred[:30], first, rates, rule)
    np.testing.assert_allclose(columns.T, expected, atol=1e-9 * np.abs(expected).max())


def test_the_row_at_which_weights_pass_the_limit_is_reported():
    rows = np.full((10, 1), 2.0)
    weights = np.ones((1, 1))
    # Hebb: each row multiplies the weight by 1 + 4 eta = 5.
    assert row_loops.learn_dense(rows, weights, np.ones(10), row_loops.HEBB, 100.0) == 2
    assert weights[0, 0] == 125.0


def test_nan_counts_as_passing_the_limit():
    weights = np.ones((1, 2))
    assert row_loops.learn_dense(np.array([[1.0, np.nan]]), weights, np.ones(1), row_loops.OJA, NEVER) == 0


def test_levels_are_gathered_and_scattered(rng):
    levels = np.array([[0, 3], [1, 3], [0, 2]], np.int32)
    one_hot = np.zeros((3, 4))
    one_hot[np.arange(3)[:, None], levels] = 1
    columns, values = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    out, back = np.zeros((3, 2)), np.zeros((4, 2))
    row_loops.gather_levels(levels, columns, out)
    row_loops.scatter_levels(levels, values, back)
    np.testing.assert_allclose(out, one_hot @ columns)
    np.testing.assert_allclose(back, one_hot.T @ values)


def test_ccipca_is_its_recursion(rng):
    rows, amnesia, k = rng.normal(size=(30, 4)) * [3.0, 2.0, 1.0, 0.5], 2.0, 3
    expected = np.zeros((k, 4))
    for n, x in enumerate(rows, start=1):
        u, share = x.copy(), 1 - (1 - 1 / n) ** (1 + amnesia)
        for i in range(min(k, n)):
            if i == n - 1:
                # The first residual that reaches a unit; as long as the variance along it.
                expected[i] = share * np.linalg.norm(u) * u
                break
            v = expected[i]
            expected[i] = v = (1 - share) * v + share * u * (u @ v) / np.linalg.norm(v)
            u = u - (u @ v) * v / (v @ v)
    found = np.zeros((k, 4))
    row_loops.learn_amnesic(rows, found, shares_of(np.ones(30), 0.0, None, amnesia))
    np.testing.assert_allclose(found, expected, atol=1e-12)
