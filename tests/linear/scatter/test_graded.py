"""Eigenpairs of columns whose variances differ by any factor: each right in units of its own."""

import numpy as np
import pytest

from gramian.linear.scatter.dense import (
    correlation_of,
    pairs_of_unlike_rows,
    pivoted_factor,
    semidefinite_pairs,
    singular_pairs,
    unlike,
)


@pytest.mark.parametrize("p", [6, 230])
def test_units_change_neither_the_rank_nor_what_is_found(rng, p):
    x = rng.standard_normal((3 * p, p))
    x[:, 1] = x[:, 0] - x[:, 2]
    units = np.logspace(0, 12, p)
    scaled = x * units
    values, vectors = semidefinite_pairs(scaled.T @ scaled)
    assert len(values) == p - 1
    # Along each vector in units of the columns, S v = l v to rounding of the column, not of the largest eigenvalue.
    left, right = (scaled.T @ scaled) @ vectors, vectors * values
    size = np.sqrt(np.square(scaled).sum(axis=0))[:, None] * np.sqrt(values)
    # Of many columns the product itself is rounded by what cancels in it.
    assert p > 100 or (np.abs(left - right) <= 1e-9 * size).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(p - 1), atol=1e-9)


def test_small_columns_are_seen_beside_large_ones():
    values, vectors = semidefinite_pairs(np.array([[1e18, 0.0, 0.0], [0.0, 2e-6, 1e-6], [0.0, 1e-6, 2e-6]]))
    np.testing.assert_allclose(values, [1e18, 3e-6, 1e-6], rtol=1e-12)
    np.testing.assert_allclose(np.abs(vectors[1:, 1:]), np.full((2, 2), np.sqrt(0.5)), rtol=1e-12)


def test_rows_and_matrix_give_the_same(rng):
    rows = rng.standard_normal((5, 12)) * np.logspace(0, 7, 12)
    values, vectors = pairs_of_unlike_rows(rows)
    assert len(values) == 5
    np.testing.assert_allclose(values, np.square(np.linalg.svd(rows)[1]), rtol=1e-6)
    np.testing.assert_allclose(
        (rows @ vectors).T @ (rows @ vectors) / np.sqrt(np.outer(values, values)), np.eye(5), atol=1e-8
    )


def test_a_factor_with_pivots_is_one_of_the_correlations(rng):
    x = rng.standard_normal((50, 4))
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.zeros(50)])
    correlation = correlation_of(x.T @ x)
    factor, order = pivoted_factor(correlation)
    assert factor.shape == (6, 4)
    np.testing.assert_allclose(factor @ factor.T, correlation[np.ix_(order, order)], atol=1e-12)
    assert np.diagonal(correlation).round(12).tolist() == [1, 1, 1, 1, 1, 0]


def test_singular_pairs_and_what_is_unlike(rng):
    factor = np.asfortranarray(rng.standard_normal((7, 3)))
    values, left, right = singular_pairs(factor.copy(order="F"))
    np.testing.assert_allclose((left * np.sqrt(values)) @ right.T, factor, atol=1e-12)
    assert not unlike(np.array([1.0, 0.0, 1e7]))
    assert unlike(np.array([1.0, 1e9]))
