"""`Detector`: the score, threshold, embedding and reasons of a fitted detector, each computed when it is first asked for.

The moments are all that need be kept, and a file of them is all that need be saved: everything else follows from the counts.

*The embedding* takes directions of least variance first, scaled so that squared length is Mahalanobis distance. Let
S = V diag(l) V^T be the covariance of the design columns, of rank r. Its pseudo-inverse is V_r diag(1/l) V_r^T: the same
eigenvectors, the eigenvalues reciprocal and their order reversed. So the eigenvectors of the inverse covariance, largest
first, are the principal components of S, last first, and one `eigh` of S gives both. The null space (each categorical column
brings one direction, since its levels sum to 1) is cut before, by a tolerance relative to the largest eigenvalue. With

    z = (x - m) V_r diag(l)^-1/2,        |z|^2 = (x - m)^T S^+ (x - m),

where all r features are kept, the squared length of a row is its Mahalanobis distance from the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.linear.components import check_fits, padded
from gramian.linear.density.dependence import Dependence, dependence
from gramian.linear.density.sampling import threshold
from gramian.linear.density.scores import tree_score, walk_score
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.scatter.choice import scatter_of
from gramian.maps.fitted_design import Design
from gramian.maps.projection import Projection
from gramian.maps.surprise.score import PairScore, SquaredLength
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


METHODS = ("trees", "mahalanobis", "walk")


@dataclass(frozen=True, eq=False)
class Detector:
    """A score of odd rows, its threshold, and an embedding.

    Attributes
    ----------
    moments : Moments
    columns : tuple of str
        The features.
    kind : str
        One of `METHODS`.
    penalty : float or None
        What an unseen level adds; None: more than any row without one can score.
    n_components : int or None
        Features of the embedding; None: the rank.
    pair_weight : float
        What pairs of values count in `"trees"`.
    """

    moments: Moments
    columns: tuple[str, ...]
    kind: str
    penalty: float | None
    n_components: int | None
    pair_weight: float = 1.0

    def __post_init__(self) -> None:
        # The embedding is computed when it is first asked for, which is late to hear of this.
        check_fits(self.n_components, self.moments.n_rows, self.layout.width)

    @cached_property
    def layout(self) -> Layout:
        """Where the columns stand among the design columns."""
        return layout_of(self.moments, self.columns)

    @cached_property
    def design(self) -> Design:
        """What is read of a row."""
        return Design.of(self.moments, self.columns)

    @cached_property
    def depends(self) -> Dependence:
        """What every two columns tell about each other."""
        return dependence(self.moments, self.layout)

    @cached_property
    def score(self) -> PairScore | SquaredLength:
        """The score of rows."""
        score: PairScore | SquaredLength
        if self.kind == "mahalanobis":
            score = SquaredLength(self.projection, self.depends.scale)
        elif self.kind == "walk":
            score = walk_score(self.moments, self.columns)
        else:
            score = tree_score(self.moments, self.columns, depends=self.depends, pair_weight=self.pair_weight)
        return score.with_penalty(self.penalty)

    @cached_property
    def threshold(self) -> float:
        """The score beyond which one in a hundred rows of the model lies."""
        return threshold(self.score, self.moments, self.depends)

    @cached_property
    def embedding(self) -> DensitySolution:
        """The eigenvectors of the inverse covariance."""
        return density_embedding(self.moments, self.columns, n_components=self.n_components)

    @cached_property
    def projection(self) -> Projection:
        """Rows to their features in the embedding."""
        projection = self.embedding
        return Projection(self.design, projection.weights, np.zeros(len(projection.components)), projection.inverse)
