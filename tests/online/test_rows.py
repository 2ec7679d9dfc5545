"""Batches of rows do what the written-out matrix does, however they are kept."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from gramian.design.schema import Column, Labels
from gramian.maps.projection import Design, Rows
from gramian.online.rows import DesignRows


def test_means_are_those_of_the_matrix(rows):
    mean, seen = rows.rows.means(rows.X.shape[1])
    np.testing.assert_allclose(mean, rows.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(seen, rows.weights.sum())


def test_products_are_those_of_the_centred_matrix(rows, rng):
    centred, order = rows.X - rows.mean, rng.permutation(len(rows.X))[:50]
    batch = rows.rows.batch(order, rows.mean)
    W, Y = rng.normal(size=(3, rows.X.shape[1])), rng.normal(size=(50, 3))
    np.testing.assert_allclose(batch.outputs(W), centred[order] @ W.T, atol=1e-12)
    np.testing.assert_allclose(batch.back(Y), Y.T @ centred[order], atol=1e-12)
    np.testing.assert_allclose(batch.expanded(), centred[order], atol=1e-12)
    np.testing.assert_allclose(batch.squares(), (centred[order] ** 2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(batch.weights, rows.weights[order])
    np.testing.assert_allclose(batch.part(slice(10, 20)).expanded(), centred[order[10:20]], atol=1e-12)


def test_entries_are_the_rows_as_csr(rows):
    batch = rows.rows.batch(slice(None), rows.mean)
    data, indices, ends = batch.entries()
    whole = sp.csr_array((data, indices, ends), shape=rows.X.shape).toarray() - batch.mean
    np.testing.assert_allclose(whole, rows.X - rows.mean, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_numbers_sit_at_the_mean_of_those_there_are(numeric_rows, rng, sparse):
    X = rng.normal(size=(40, 3)) + np.array([5.0, 0.0, 0.0])
    X[rng.random(X.shape) < 0.3] = np.nan
    weights = rng.integers(1, 3, 40).astype(float)
    found = numeric_rows(sp.csr_array(X) if sparse else X, weights)
    mean, seen = found.means(3)
    there = ~np.isnan(X)
    expected = (weights[:, None] * np.where(there, X, 0.0)).sum(axis=0) / (weights @ there)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(seen, weights @ there)
    centred = np.where(there, X - expected, 0.0)
    np.testing.assert_allclose(found.batch(slice(None), mean).expanded(), centred, atol=1e-12)


def test_a_column_without_a_value_has_mean_zero(numeric_rows):
    mean, seen = numeric_rows(np.array([[1.0, np.nan], [2.0, np.nan]])).means(2)
    np.testing.assert_array_equal(mean, [1.5, 0.0])
    np.testing.assert_array_equal(seen, [2.0, 0.0])


def test_a_large_offset_costs_no_digits(numeric_rows, rng):
    X = rng.integers(-8, 8, (1000, 2)) / 8.0
    mean, _ = numeric_rows(X + 1e8).means(2)
    # Deviations are exact here, so that what is left is the rounding of the mean itself.
    np.testing.assert_allclose(mean, 1e8 + X.mean(axis=0), rtol=2e-16)


def test_parts_are_joined_and_rows_of_weight_zero_left_out():
    columns = (Column("c", "category", "c"), Column("x", "number", "x"))
    design = Design(columns, (Labels(pa.array(["a", "b"])),), np.zeros(3), ("c_a", "c_b", "x"))
    parts = [
        Rows(np.array([[0, 1]], np.uint16), np.array([[1.0], [2.0]])),
        Rows(np.array([[1]], np.uint16), np.array([[4.0]])),
    ]
    found = DesignRows.of(design, parts, np.array([1.0, 0.0, 3.0]))
    expanded = found.batch(slice(None), np.zeros(3)).expanded()
    np.testing.assert_array_equal(expanded, [[1.0, 0.0, 1.0], [0.0, 1.0, 4.0]])
    np.testing.assert_array_equal(found.weights, [1.0, 3.0])
