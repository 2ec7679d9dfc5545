"""The density embedding: directions of least variance first, scaled so that squared length is Mahalanobis distance.

Let S = V diag(l) V^T be the covariance of the design columns, of rank r. Its pseudo-inverse is V_r diag(1/l) V_r^T:
the same eigenvectors, the eigenvalues reciprocal and their order reversed. So the eigenvectors of the inverse
covariance, largest first, are the principal components of S, last first, and one `eigh` of S gives both. The null
space (each categorical column brings one direction, since its levels sum to 1) is cut before, by a tolerance relative
to the largest eigenvalue. With

    z = (x - m) V_r diag(l)^-1/2,        |z|^2 = (x - m)^T S^+ (x - m),

where all r features are kept, the squared length of a row is its Mahalanobis distance from the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.components import check_fits, padded
from gramian.linear.layout import centre_of, layout_of
from gramian.linear.scatter.choice import scatter_of
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class DensitySolution:
    """An embedding of p design columns in k features, those of least variance first.

    Attributes
    ----------
    components : (k, p) array
        Orthonormal eigenvectors of the inverse covariance, zeros beyond the rank.
    precision_eigenvalues : (k,) array
        Eigenvalues of the inverse covariance, descending.
    weights : (p, k) array
        Features are `(x - mean) @ weights`.
    inverse : (k, p) array
        The way back: `z @ inverse + mean`, exact for training rows where all features are kept.
    mean : (p,) array
        Of the design columns.
    rank : int
        Of the covariance.
    """

    components: Array
    precision_eigenvalues: Array
    weights: Array
    inverse: Array
    mean: Array
    rank: int


def density_embedding(
    moments: Moments, columns: Sequence[str] | None = None, *, n_components: int | None = None, ddof: float = 1
) -> DensitySolution:
    """Return the embedding in which the bulk of the rows is one lump and rare combinations lie far out.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.
    n_components : int, optional
        Features kept, those of least variance; by default the rank, and beyond it features that are always zero.
    ddof : float
        The covariance divides by the total weight less this.

    Raises
    ------
    DataError
        Where more components are asked for than there are rows or design columns.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "red", "red", "blue"], "size": ["S", "S", "L", "L"]}))
    >>> found = density_embedding(m)
    >>> found.rank, found.weights.shape
    (2, (4, 2))
    >>> np.allclose(found.weights.T @ m.covariance() @ found.weights, np.eye(2))
    True
    """
    layout = layout_of(moments, columns)
    check_fits(n_components, moments.n_rows, layout.width)
    divisor = divisor_of(moments, ddof)
    pairs = scatter_of(moments, layout).eigenpairs()
    values, vectors, rank = pairs.values, pairs.vectors, pairs.rank
    kept = rank if n_components is None else n_components
    values, vectors = values[::-1][:kept] / divisor, padded(vectors[:, ::-1][:, :kept], kept)
    deviation, precision = padded(np.sqrt(values), kept), padded(1.0 / values, kept)
    return DensitySolution(
        components=np.ascontiguousarray(vectors.T),
        precision_eigenvalues=precision,
        weights=vectors * np.sqrt(precision),
        inverse=np.ascontiguousarray((vectors * deviation).T),
        mean=centre_of(moments, layout),
        rank=rank,
    )
