"""How well coordinates keep distances, and how far classes lie apart: figures that say what an embedding is worth.

Kruskal's stress-1 compares the distances d_ij that were given with those of the coordinates, e_ij:

    stress = sqrt( sum_{i<j} (d_ij - e_ij)^2 / sum_{i<j} d_ij^2 )

0 where every distance is kept; it never exceeds 1 for coordinates that are a projection, whose distances are at most d. Of
many objects a sample is enough: `some_objects` are at even steps, so that the figure is the same in every run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array

SAMPLED = 400
"""Objects between which distances are compared: 79,800 pairs."""


def some_objects(n: int, most: int = SAMPLED) -> npt.NDArray[np.int64]:
    """Return the positions of at most `most` of n objects, at even steps.

    Examples
    --------
    >>> some_objects(3), some_objects(10, 4)
    (array([0, 1, 2]), array([0, 2, 5, 7]))
    """
    k = min(n, most)
    return np.arange(k) * n // max(k, 1)


def stress(D: Array, Z: Array) -> float:
    """Return Kruskal's stress-1 of coordinates Z against distances D; NaN where all distances are 0.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> D = np.linalg.norm(X[:, None] - X, axis=2)
    >>> stress(D, X), round(stress(D, X[:, :1]), 3)
    (0.0, 0.632)
    """
    D, Z = np.asarray(D, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    squares = np.square(Z).sum(axis=1)
    embedded = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0))
    np.fill_diagonal(embedded, 0.0)
    given = float(np.square(D).sum())
    return float(np.sqrt(np.square(D - embedded).sum() / given)) if given > 0 else float("nan")


def class_distances(D: Array, codes: npt.NDArray[np.int64], n_classes: int) -> npt.NDArray[np.float64]:
    """Return the mean distance between objects of every two classes, (c, c); within a class over pairs of two objects.

    NaN for a class of no object, and within a class of one.

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
    >>> class_distances(D, np.array([0, 0, 1]), 2)
    array([[1. , 4.5],
           [4.5, nan]])
    """
    member = np.eye(n_classes)[codes]
    counts = member.sum(axis=0)
    pairs = np.outer(counts, counts) - np.diag(counts)
    sums = member.T @ np.asarray(D, dtype=np.float64) @ member
    return np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)
