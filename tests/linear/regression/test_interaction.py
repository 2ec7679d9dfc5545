"""The test of a pair from its cells: against its definition over rows."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.linear.regression.interaction import add_cells, adjusted, interaction


def sums_of(codes: np.ndarray, w: np.ndarray, u: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array([[0, 1, shape[1], 0]], dtype=np.int64)
    out = np.zeros((1, shape[0] * shape[1], 4))
    add_cells(codes, pairs, np.zeros(len(w), dtype=np.uint8), np.ones(len(w)), w, u, out)
    e = u / np.sqrt(w)
    return out[0].reshape(*shape, 4), np.array([(e**k).sum() for k in (2, 3, 4, 6)])


def test_statistic_is_what_cells_explain_beyond_both_columns(rng: np.random.Generator) -> None:
    n, shape = 2000, (3, 4)
    codes = np.array([rng.integers(0, k, n) for k in shape], dtype=np.uint16)
    # Curvature is the same within a cell, as the law takes it.
    w = (0.05 + 0.2 * rng.random(shape))[codes[0], codes[1]]
    u = rng.normal(size=n) * np.sqrt(w)
    cells, powers = sums_of(codes, w, u, shape)
    assert cells[..., 0].sum() == n
    found = interaction(cells, powers, n)
    root = np.sqrt(w)
    both = np.column_stack([codes[0] == k for k in range(3)] + [codes[1] == k for k in range(4)]) * root[:, None]
    every = np.column_stack([codes[0] * 4 + codes[1] == k for k in range(12)]) * root[:, None]
    hats = [x @ np.linalg.pinv(x, rcond=1e-9) for x in (every, both)]
    hat, e = hats[0] - hats[1], u / root
    assert found.df == round(float(np.trace(hat))) == 6
    expected = (n - 1) * float(e @ hat @ e) / float(e @ e)
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    assert found.gain == pytest.approx((expected - 6) / n, rel=1e-9)


def test_p_value_is_that_of_permuted_residuals(rng: np.random.Generator) -> None:
    n, shape = 600, (2, 3)
    codes = np.array([rng.integers(0, k, n) for k in shape], dtype=np.uint16)
    w = np.ones(n)
    # One residual in fifty holds most of the variance: chi-squared would be wrong.
    e = np.where(rng.random(n) < 0.02, 8.0, 0.3) * rng.normal(size=n)
    found = interaction(*sums_of(codes, w, e, shape), n)
    drawn = []
    for _ in range(2000):
        drawn.append(interaction(*sums_of(codes, w, rng.permutation(e), shape), n).statistic)
    for share in (0.5, 0.9, 0.95):
        at = np.quantile(drawn, share)
        cells, powers = sums_of(codes, w, e, shape)
        # The same law at another statistic: slopes scaled until the statistic is that quantile.
        factor = np.sqrt(at / found.statistic)
        cells[..., 2] *= factor
        p = interaction(cells, powers, n).p_value
        # 2000 draws: two standard errors are 0.022 at the median and 0.01 at 95%.
        assert p == pytest.approx(1 - share, abs=0.03)


def test_cells_of_few_rows_are_left_out() -> None:
    rows = np.full((3, 3), 50.0)
    rows[0, 0] = 5
    cells = np.stack([rows, rows / 4, np.zeros((3, 3))], axis=2)
    cells[0, 0, 2] = 100.0
    found = interaction(cells, np.array([400.0, 0.0, 400.0, 400.0]), 405)
    assert (found.n_cells, found.df) == (8, 3)
    assert found.statistic == pytest.approx(0, abs=1e-9)


def test_rates_are_those_of_benjamini_and_hochberg(rng: np.random.Generator) -> None:
    p = rng.random(40) ** 3
    rates = adjusted(p)
    for k in range(40):
        bound = min(min(p[j] * 40 / (p <= p[j]).sum() for j in range(40) if p[j] >= p[k]), 1.0)
        assert rates[k] == pytest.approx(bound)
