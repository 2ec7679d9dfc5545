"""Rows of categories and numbers, and the same rows written out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.online.rows import DesignRows


def _numeric(X, weights=None):
    n, p = X.shape
    counted = np.ones(n) if weights is None else weights
    return DesignRows(X, np.empty((n, 0), np.int32), np.arange(p), counted)


@pytest.fixture
def numeric_rows():
    """What makes rows of numbers alone."""
    return _numeric


@pytest.fixture(params=["mixed", "levels", "sparse", "dense"])
def rows(request, rng):
    """Rows in one representation, with what they are when written out: X (n, p), weights, mean."""
    n, sizes = 120, (5, 2, 9)
    weights = rng.integers(1, 4, n).astype(float)
    numbers = rng.normal(size=(n, 2)) * [2.0, 0.5] + np.array([3.0, -1.0])
    if request.param in ("dense", "sparse"):
        X = rng.normal(size=(n, 7)) * (rng.random((n, 7)) < 0.4) * np.arange(1, 8)
        kept = sp.csr_array(X) if request.param == "sparse" else X
        found = _numeric(kept, weights)
    else:
        q = 2 if request.param == "mixed" else 0
        starts = q + np.cumsum([0, *sizes[:-1]])
        levels = np.column_stack([rng.integers(0, size, n) + start for size, start in zip(sizes, starts, strict=True)])
        X = np.zeros((n, q + sum(sizes)))
        X[:, :q] = numbers[:, :q]
        for column in levels.T:
            X[np.arange(n), column] = 1.0
        found = DesignRows(numbers[:, :q], levels.astype(np.int32), np.arange(q), weights)
    return SimpleNamespace(rows=found, X=X, weights=weights, mean=weights @ X / weights.sum(), kind=request.param)
