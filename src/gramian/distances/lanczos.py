"""The Gram matrix's large eigenvalues without the matrix: block Lanczos over stretches of rows of the distances.

For more objects than one decomposition can serve, the space spanned by ``R, G R, G^2 R, ...`` from random columns R soon
holds the eigenvectors of large |w|, and those are what the regularised problem sees: a direction counts by
|w| / (|w| + r), and r is a few hundredths of the largest. With Q an orthonormal basis and ``Q' G Q = V diag(t) V'``, the
objects get the features ``x = g Q V diag(sign(t) / sqrt(|t|))``. The space must not grow from the class labels: held-out
scores would then have seen them. Each step reads D once, by stretches, so D may be memory-mapped float32; beside it the
memory is 2 n k floats. With k = n - 1 nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.centring import centre_weights, gram, gram_product, mean_squares
from gramian.distances.landmarks import FeatureMap

DIMENSIONS = 512
"""Dimensions of the space. Classes far apart need few; on words of eight languages, where small eigenvalues count, 256 cost
two points of held-out accuracy against the exact solution, so the exact one is taken as long as it can be."""

FORMED_BYTES = 2**28
"""Up to this size G is formed once; beyond, each product squares and centres stretches of D anew."""

COLUMNS = 32
"""Random columns to start from: with many, few readings of D; with few, larger powers of G."""

SMALLEST = 1e-6
"""Ritz values below this share of the largest are rounding."""


def krylov_map(
    D: Any, rng: np.random.Generator, *, n_dimensions: int = DIMENSIONS
) -> tuple[FeatureMap, npt.NDArray[np.float64]]:
    """Return a feature map over all objects, and their features.

    Parameters
    ----------
    D : (n, n) array
        Distances, possibly memory-mapped, or anything that gives rows of them; products are in their type.
    rng : Generator
    n_dimensions : int
    """
    n = len(D)
    dtype = D.dtype
    if D.nbytes <= FORMED_BYTES:
        G, means = gram(D)
        product: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = G.__matmul__
    else:
        means = mean_squares(D)
        product = partial(gram_product, D, means)
    block = rng.standard_normal((n, COLUMNS)).astype(dtype)
    basis: list[npt.NDArray[Any]] = []
    images: list[npt.NDArray[Any]] = []
    limit = min(n_dimensions, n - 1)
    while (size := sum(part.shape[1] for part in basis)) < limit:
        block = _orthonormal(block - block.mean(axis=0), basis)[:, : limit - size]
        if block.shape[1] == 0:
            break
        basis.append(block)
        images.append(product(block))
        block = images[-1]
    Q, GQ = np.column_stack(basis).astype(np.float64), np.column_stack(images).astype(np.float64)
    T = Q.T @ GQ
    values, V = np.linalg.eigh((T + T.T) / 2)
    size_of = np.abs(values)
    kept = size_of > SMALLEST * size_of.max()
    turn = V[:, kept] * (np.sign(values[kept]) / np.sqrt(size_of[kept]))
    return FeatureMap(means, centre_weights(Q @ turn), values[::-1]), GQ @ turn


def _orthonormal(block: npt.NDArray[Any], basis: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an orthonormal basis of the part of the block outside the basis; directions that are rounding are dropped."""
    norms = np.linalg.norm(block, axis=0)
    block = block[:, norms > 0] / norms[norms > 0]
    for _ in range(2):  # once leaves rounding times the growth of the block, twice does not
        for part in basis:
            block = block - part @ (part.T @ block)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    left = left[:, values > 100 * np.finfo(block.dtype).eps * max(1.0, values.max(initial=0.0))]
    for part in basis:
        left = left - part @ (part.T @ left)
    return left / np.linalg.norm(left, axis=0) if left.shape[1] else left
