"""Weighted Gram matrices of sparse rows, for many ridges in one sweep."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.linear.scatter.wide import Groups


@pytest.fixture
def pairs(rng):
    table = rng.integers(0, 4, (300, 9)) * (rng.random((300, 9)) < 0.3)
    table[7] = 0
    return sp.csr_array(table.astype(float))


@pytest.mark.parametrize("counts", ["few distinct", "all distinct"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_each_ridge_has_its_own_gram(pairs, rng, counts, index):
    weight = rng.integers(1, 5, 300).astype(float) if counts == "few distinct" else rng.random(300) + 0.5
    weight[7] = 0.0
    pairs.indptr, pairs.indices = pairs.indptr.astype(index), pairs.indices.astype(index)
    ridges = np.array([0.0, 0.5, 30.0])
    found = Groups(weight).grams(pairs, ridges)
    dense = pairs.toarray()
    for amount, lower in zip(ridges, found, strict=True):
        factor = np.divide(1.0, weight + amount, out=np.zeros(300), where=weight + amount > 0)
        np.testing.assert_allclose(np.tril(lower), np.tril((dense.T * factor) @ dense), atol=1e-10)


def test_equal_weights_share_the_work(pairs):
    together, apart = np.ones(300), np.linspace(1, 2, 300)
    assert Groups(together).cost(pairs, 8) < 0.3 * Groups(apart).cost(pairs, 8)
