import numpy as np
import pytest

from gramian.arrays.linalg import definite_inverse, eigh_descending, eigh_values_first, fix_signs, relative_rank


def spd(rng, p):
    x = rng.standard_normal((2 * p, p)) * np.exp(rng.standard_normal(p))
    return x.T @ x


@pytest.mark.parametrize("p", [1, 2, 3, 8, 60])
@pytest.mark.parametrize("share", [0.1, 0.5, None])
def test_eigh_descending_solves_the_eigenproblem(rng, p, share):
    a = spd(rng, p)
    k = None if share is None else max(1, int(share * p))
    values, vectors = eigh_descending(a, k)
    assert vectors.shape == (p, k or p)
    assert (np.diff(values) <= 0).all()
    # Backward stability: residuals are a few ulps of the norm.
    scale = np.linalg.norm(a)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-13 * p * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k or p), atol=1e-12)


def test_all_values_come_with_few_vectors(rng):
    a = spd(rng, 40)
    values, leading = eigh_values_first(a)
    vectors = leading(int((values > values.mean()).sum()))
    whole, _ = eigh_descending(a)
    np.testing.assert_allclose(values, whole, rtol=1e-10)
    assert vectors.shape[1] == (whole > whole.mean()).sum()


def test_the_matrix_is_kept_unless_it_may_be_overwritten(rng):
    a = spd(rng, 20)
    before = a.copy()
    eigh_descending(a)
    eigh_descending(a, 2)
    np.testing.assert_array_equal(a, before)


def test_sign_rule_takes_the_first_of_tied_entries():
    vectors = np.array([[0.5, -0.5], [-0.5 - 1e-15, 0.5 + 1e-15], [0.1, 0.1]])
    fixed = fix_signs(vectors)
    assert fixed[0, 0] > 0
    assert fixed[0, 1] > 0


def test_rank_is_relative_to_the_largest_value():
    values = np.array([1.0, 1e-3, 1e-17])
    assert relative_rank(values) == relative_rank(1e-30 * values) == relative_rank(1e30 * values) == 2
    assert relative_rank(np.zeros(3)) == 0


@pytest.mark.parametrize("p", [1, 2, 3, 60])
def test_definite_inverse_is_the_inverse_and_symmetric(p):
    x = np.random.default_rng(p).normal(size=(4 * p, p)) * 10.0 ** np.arange(p).clip(max=4)
    a = x.T @ x
    kept = a.copy()
    inverse = definite_inverse(a)
    assert (inverse == inverse.T).all()
    assert (a == kept).all()
    np.testing.assert_allclose(inverse @ a, np.eye(p), atol=1e-8)


def test_definite_inverse_refuses_what_is_not_definite():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        definite_inverse(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("value", [2.5, 0.0, -1.0])
def test_a_matrix_of_one_number_has_that_eigenvalue(value):
    values, vectors = eigh_descending(np.array([[value]]))
    assert values.tolist() == [value]
    assert vectors.tolist() == [[1.0]]
