import numpy as np
import pytest

from gramian.linear.solvers import eigenpairs_of_low_rank, leading_eigenpairs


@pytest.mark.parametrize("decay", [0.5, 0.03])
def test_leading_pairs_equal_eigh(rng, decay):
    p, k = 200, 4
    q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    spectrum = np.exp(-decay * np.arange(p))
    a = (q * spectrum) @ q.T
    values, vectors, _ = leading_eigenpairs(lambda v: a @ v, p, k)
    # Eigenvalue errors are of the order of the squared residual, 1e-22, so rounding decides.
    np.testing.assert_allclose(values, spectrum[:k], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(vectors * q[:, :k], axis=0)), 1.0, rtol=1e-9)


def test_the_same_seed_gives_the_same_bits(rng):
    x = rng.standard_normal((80, 50))
    a = x.T @ x
    first, second = (leading_eigenpairs(lambda v: a @ v, 50, 3) for _ in range(2))
    np.testing.assert_array_equal(first[1], second[1])


def test_low_rank_is_exact_in_one_block(rng):
    x = rng.standard_normal((12, 200))
    x -= x.mean(axis=0)
    a = x.T @ x
    values, vectors = eigenpairs_of_low_rank(lambda v: a @ v, 200, 11)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a)[::-1][:11], rtol=1e-11)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-11 * values[0])


@pytest.mark.parametrize(
    "spectrum",
    [
        np.repeat([3.0, 0.0], [50, 2950]) * np.linspace(1.0, 0.3, 3000),
        np.repeat([2.0, 1.0], [300, 2700]),
        np.append([3.0, 2.0], np.ones(500)),
        np.ones(400),
        np.zeros(400),
        np.linspace(1.0, 0.0, 40),
    ],
    ids=["low rank", "two values", "a plain", "the identity", "nothing", "few columns"],
)
@pytest.mark.parametrize("k", [1, 10, 30])
def test_a_space_that_is_soon_complete_gives_orthonormal_pairs(spectrum, k):
    values, vectors, _ = leading_eigenpairs(lambda v: spectrum[:, None] * v, len(spectrum), k)
    np.testing.assert_allclose(values, np.sort(spectrum)[::-1][:k], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(spectrum[:, None] * vectors, vectors * values, atol=1e-8)


def test_crowded_values_take_few_products():
    spectrum, columns = np.linspace(3.0, 2.0, 3000), []

    def apply(v):
        columns.append(v.shape[1])
        return spectrum[:, None] * v

    values, *_ = leading_eigenpairs(apply, 3000, 10)
    np.testing.assert_allclose(values, spectrum[:10], rtol=1e-12)
    # Without keeping more than is wanted at a restart it takes 5,000.
    assert sum(columns) < 2500
