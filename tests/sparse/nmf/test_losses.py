"""Losses against scikit-learn's, entry by entry, and steps that never raise them."""

import pytest
from sklearn.decomposition._nmf import _beta_divergence

from gramian.sparse.nmf import divergence, exponent, multiply, ratio_parts

BETAS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


@pytest.mark.parametrize("beta", BETAS)
def test_the_loss_is_scikit_learns(rng, beta):
    values, codes, atoms = rng.random((7, 5)) + 0.1, rng.random((7, 2)), rng.random((2, 5))
    expected = _beta_divergence(values, codes, atoms, beta)
    assert divergence(values, None, codes @ atoms, beta) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("beta", BETAS)
def test_weights_count_entries(rng, beta):
    values, made = rng.random((4, 3)) + 0.1, rng.random((4, 3)) + 0.1
    weights = rng.integers(0, 3, size=(4, 3)).astype(float)
    each = sum(
        weights[i, j] * divergence(values[i : i + 1, j : j + 1], None, made[i : i + 1, j : j + 1], beta)
        for i in range(4)
        for j in range(3)
    )
    values[weights == 0] = 0.0
    assert divergence(values, weights, made, beta) == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_no_multiplicative_step_raises_the_loss(rng, beta):
    values, codes, atoms = rng.random((9, 6)) + 0.05, rng.random((9, 3)) + 0.1, rng.random((3, 6)) + 0.1
    weights = rng.random((9, 6)) * (rng.random((9, 6)) < 0.8)
    before = divergence(values, weights, codes @ atoms, beta)
    for _ in range(20):
        codes = multiply(codes, *ratio_parts(values, weights, codes @ atoms, atoms, beta), beta)
        after = divergence(values, weights, codes @ atoms, beta)
        assert after <= before * (1 + 1e-12)
        before = after


def test_exponents_under_which_no_loss_rises():
    assert exponent(0.0) == 0.5
    assert exponent(3.0) == 0.5
