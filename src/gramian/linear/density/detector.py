"""Scores of odd rows from counts alone: spanning trees, and random walks.

**`method="trees"`** is the mean over spanning trees of -log p_tree. A tree over the columns is a model with the exact margins:
p_tree(x) = prod_j p(u_j) prod_{jk in tree} lift(u_j, u_k), the best of which Chow and Liu find. Which tree is best is seldom
clear, so all of them speak, each with the product of its edges' squared mutual informations for a weight. The mean over trees
of a sum over edges is a sum over all pairs of columns with the probability rho_jk of an edge to be in the tree (see
`spanning`, `dependence`):

    score(x) = sum_j s[u_j] - sum_{j<k} rho_jk log lift[u_j, u_k] + numbers,
    s[u] = -log(n_u / n),      lift[u, v] = (n_uv + 1) / (n_u n_v / n + 1).

The lift is the posterior mean of a Gamma(1, 1) lift under Poisson counts: a pair expected 0.01 times and seen once is no
lift of a hundred. What numbers add is in `gramian.maps.surprise.score`. There are two constants: the power of the mutual
information, and the one row that is added. Nothing is inverted: a pair of wide columns costs its distinct pairs.

With S(x) the first sum and the numbers alone, the rarity of values, `pair_weight` makes the family S + weight (score - S):
every term of a pair is multiplied by it.

**`method="walk"`** follows coupled biased random walks (Pang, Cao and Chen, IJCAI 2016). The bias of a level u of column j is
b_u = (1 - n_u / n_mode + 1 - n_mode / n) / 2, n_mode the count of the most frequent level of the column. A walk over all
levels goes from u to a level v of another column in proportion to b_v p(u | v) = b_v n_uv / n_v, and with probability 1 -
alpha anywhere. Where it is often found is odd: levels that are rare for their column and keep company with such. With pi the
distribution of the walk, started evenly and followed until no entry moves by more than the tolerance, the weight of a column
is rho_j = sum_{u in j} pi_u and

    score(x) = sum_j rho_j pi[u_j]:

one number per level. In matrices, with N the pair counts of different columns, the step is pi <- (1 - alpha) / p + alpha g *
(N (pi / (N g))), g = b / n_v. Constants are the published ones. A missing value is a level like any other; numbers are no
levels and add nothing.

`Detector`: the score, threshold, embedding and reasons of a fitted detector, each computed when it is first asked for.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.threads import cached_property, each_block
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.density.dependence import Dependence, dependence
from gramian.linear.density.sampling import threshold
from gramian.linear.density.spanning import tree_edges
from gramian.linear.layout import Layout, centre_of, check_fits, layout_of, padded
from gramian.linear.scatter.wide import scatter_of
from gramian.maps.projection import Design, Projection
from gramian.maps.surprise.score import FARTHEST, NumberTerms, PairScore, SparsePair, SquaredLength, energy
from gramian.moments import covariance as dense
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments

PRIOR_ROWS = 1.0
"""Rows added to the count and to the expectation of a pair."""

LEAST_PROBABILITY = 1e-12
"""An edge below this adds less to a score than its rounding."""


def tree_score(
    moments: Moments,
    columns: Sequence[str] | None = None,
    *,
    depends: Dependence | None = None,
    pair_weight: float = 1.0,
) -> PairScore:
    """Return the score of rows: the mean over spanning trees of their negative log likelihood.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.
    depends : Dependence, optional
        Of these columns, where it is known already.
    pair_weight : float
        What pairs say is multiplied by this: 0 leaves the rarity of values alone, 1 is the mean over trees.

    Notes
    -----
    Time and memory grow with the distinct pairs of levels; O(m^3) for m columns comes on top. Of more than 1,000 columns the
    best tree speaks alone (`gramian.linear.density.spanning.ALL_TREES`), in O(m^2).

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"city": ["Bonn"] * 9 + ["Oslo"] * 9, "tongue": ["de"] * 9 + ["no"] * 8 + ["de"]})
    >>> found = tree_score(gm.collect(table))
    >>> scores = found.apply(map(found.design.encode, table.to_batches()))
    >>> int(scores.argmax())
    17
    """
    layout = layout_of(moments, columns)
    depends = dependence(moments, layout) if depends is None else depends
    design = Design.of(moments, layout.columns)
    n = float(moments.total_weight)
    at = [moments.coded_at[column.name] for column in design.categorical]
    weights = [np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in at]
    own = tuple(np.log(n / np.where(weight > 0, weight, n)) for weight in weights)
    c = len(at)
    first, second, chance = tree_edges(depends.weights, LEAST_PROBABILITY)
    if pair_weight == 0:
        first, second, chance = first[:0], second[:0], chance[:0]
    chance = chance * pair_weight
    rho, inner = np.zeros((c, c)), second < c
    rho[first[inner], second[inner]] = rho[second[inner], first[inner]] = chance[inner]
    low, high = 0.0, sum(float(by_level.max(initial=0.0)) for by_level in own)
    pairs: dict[tuple[int, int], Array] = {}
    sparse_pairs: dict[tuple[int, int], SparsePair] = {}
    narrow = _narrow_tables(moments, at, weights, rho)
    for j, k in np.argwhere(np.triu(rho)).tolist():
        factor = float(rho[j, k])
        if (j, k) in narrow:
            table, bottom, top = narrow[j, k]
            pairs[j, k] = table
        else:
            block = moments.pairs.block(at[j], at[k])
            if sp.issparse(block):
                # Of the pairs that occur and, by the most frequent levels, of those that do not.
                sparse_pairs[j, k] = _sparse_pair(block, weights[j], weights[k] / n, factor)
                bottom = -factor * float(np.log1p(block.data.max(initial=0)))
                top = factor * float(np.log1p(weights[j].max(initial=0.0) * weights[k].max(initial=0.0) / n))
            else:
                pairs[j, k] = _surprise(block, weights[j], weights[k] / n, partial(_always, factor))
                bottom, top = float(pairs[j, k].min()), float(pairs[j, k].max())
        low, high = low + min(bottom, 0.0), high + max(top, 0.0)
    numbers = None
    if design.numeric:
        numbers = _number_terms(depends, (first, second, chance), c)
        below, above = _number_bounds(numbers)
        low, high = low + below, high + above
    return PairScore(design, own, pairs, sparse_pairs, numbers, (low, high))


def _always(factor: float, _: slice) -> float:
    return factor


def _surprise(counts: npt.NDArray, weights: Array, shares: Array, rho: Callable[[slice], Any]) -> Array:
    """Return -rho log lift of every pair of levels, rho given by rows."""
    out = np.empty(counts.shape)

    def fill(tile: slice) -> None:
        expected = np.multiply.outer(weights[tile], shares)
        np.log((expected + PRIOR_ROWS) / (counts[tile] + PRIOR_ROWS), out=out[tile])
        out[tile] *= rho(tile)

    each_block(fill, out)
    return out


def _narrow_tables(
    moments: Moments, at: list[int], weights: list[Array], rho: Array
) -> dict[tuple[int, int], tuple[Array, float, float]]:
    """Return the tables of the pairs of narrow columns that have an edge, each with its least and largest entry.

    All of them are computed at once: hundreds of columns make tens of thousands of small tables.
    """
    pairs, n = moments.pairs, float(moments.total_weight)
    offsets = pairs.offsets()
    narrow = [j for j, k in enumerate(at) if k in offsets]
    if not narrow or not rho[np.ix_(narrow, narrow)].any():
        return {}
    sizes = [len(weights[j]) for j in narrow]
    slots = pairs.slots(at[j] for j in narrow)
    stacked = np.concatenate([weights[j] for j in narrow])
    of_column = np.repeat(np.arange(len(narrow)), sizes)
    inner = rho[np.ix_(narrow, narrow)]
    # rho of a level's column with the column of each level: a row a column, taken a tile of levels at a time.
    by_level = inner[:, of_column]

    counts = pairs.matrix[dense.grid(slots, slots)]
    table = _surprise(counts, stacked, stacked / n, lambda tile: by_level[of_column[tile]])
    starts = np.cumsum([0, *sizes[:-1]])
    least = np.minimum.reduceat(np.minimum.reduceat(table, starts, axis=1), starts, axis=0)
    most = np.maximum.reduceat(np.maximum.reduceat(table, starts, axis=1), starts, axis=0)
    spans = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    return {
        (narrow[a], narrow[b]): (table[spans[a], spans[b]], float(least[a, b]), float(most[a, b]))
        for a, b in np.argwhere(np.triu(inner)).tolist()
    }


def _sparse_pair(block: sp.csr_array, weights: Array, shares: Array, factor: float) -> SparsePair:
    if not block.has_sorted_indices:
        block = block.sorted_indices()
    # Compiled loops take arrays that can be written, which those of a memory map are not.
    indices = np.require(block.indices, np.int32, ["C", "W"])
    return SparsePair(
        block.indptr.astype(np.int64), indices, block.data.astype(np.float64), np.array(weights), shares, factor
    )  # fmt: skip


def _number_terms(depends: Dependence, edges: tuple[npt.NDArray, npt.NDArray, Array], c: int) -> NumberTerms:
    q = len(depends.scale)
    of_numbers, to_levels = edges[0] >= c, (edges[0] < c) & (edges[1] >= c)
    (first, second), factor = (each[of_numbers] - c for each in edges[:2]), edges[2][of_numbers]
    category, number, level_factor = edges[0][to_levels], edges[1][to_levels] - c, edges[2][to_levels]
    means = np.concatenate([np.empty((0, q)), *depends.level_means])
    return NumberTerms(
        depends.centre,
        depends.scale,
        depends.bend,
        first.astype(np.int64),
        second.astype(np.int64),
        depends.correlation[first, second],
        depends.left[first, second],
        factor,
        number.astype(np.int64),
        category.astype(np.int64),
        depends.left_by_level[category, number],
        level_factor,
        means,
    )


def _number_bounds(terms: NumberTerms) -> tuple[float, float]:
    """Return the least and the most that numbers can add."""
    far = float(energy(FARTHEST))
    slack = 2.0 * FARTHEST
    low = np.concatenate([
        terms.factor * (0.5 * np.log(terms.left) - far),
        terms.level_factor * (0.5 * np.log(terms.left_by_level) - far),
    ])  # fmt: skip
    high = np.concatenate([
        terms.factor * (0.5 * np.log(terms.left) + energy(slack / np.sqrt(terms.left))),
        terms.level_factor * (0.5 * np.log(terms.left_by_level) + energy(slack / np.sqrt(terms.left_by_level))),
    ])  # fmt: skip
    return float(np.minimum(low, 0.0).sum()), float(np.maximum(high, 0.0).sum()) + len(terms.scale) * far


DAMPING = 0.95
TOLERANCE = 1e-3
MOST_STEPS = 100


def walk_score(moments: Moments, columns: Sequence[str] | None = None) -> PairScore:
    """Return the score of rows by coupled biased random walks.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.

    Raises
    ------
    DataError
        Where no column is categorical.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> found = walk_score(gm.collect(pa.table({"a": ["x", "x", "x", "y"], "b": ["p", "p", "q", "q"]})))
    >>> [by_level.round(3).tolist() for by_level in found.own]
    [[0.071, 0.179], [0.051, 0.199]]
    """
    layout = layout_of(moments, columns)
    design = Design.of(moments, layout.columns)
    at = [moments.coded_at[column.name] for column in design.categorical]
    if not at:
        raise DataError(
            Argument("method", "walk"),
            " walks over levels, and no column is categorical; name some in categorical_features, or take ",
            Argument("method", "trees"),
        )
    n = float(moments.total_weight)
    weights = [np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in at]
    starts = np.cumsum([0, *(len(weight) for weight in weights)])
    stacked = np.concatenate(weights)
    bias = np.concatenate([1.0 - 0.5 * (weight / weight.max() + weight.max() / n) for weight in weights])
    pi = _walk(_pair_counts(moments, at, starts), bias / np.where(stacked > 0, stacked, 1.0))
    own = tuple(pi[start:stop] * pi[start:stop].sum() for start, stop in pairwise(starts))
    return PairScore(design, own, {}, {}, None, (0.0, float(sum(by_level.max() for by_level in own))))


def _walk(times: Callable[[Array], Array], gain: Array) -> Array:
    """Return the distribution of the walk, given the product of the pair counts with a vector, and g."""
    outflow = times(gain)
    p = len(gain)
    pi = np.full(p, 1.0 / p)
    for _ in range(MOST_STEPS):
        # A level from which no step leads, since nothing beside it is ever odd, keeps nothing and passes nothing on.
        spread = np.divide(pi, outflow, out=np.zeros(p), where=outflow > 0)
        after = (1.0 - DAMPING) / p + DAMPING * gain * times(spread)
        moved = float(np.abs(pi - after).max())
        pi = after
        if moved <= TOLERANCE:
            break
    return np.asarray(pi / pi.sum())


def _pair_counts(moments: Moments, at: list[int], starts: npt.NDArray[np.intp]) -> Callable[[Array], Array]:
    """Return the product of the pair counts of different columns with a vector over their levels."""
    pairs = moments.pairs
    offsets = pairs.offsets()
    narrow = [j for j, k in enumerate(at) if k in offsets]
    spans = [slice(int(a), int(b)) for a, b in pairwise(starts)]
    inner, places = np.zeros((0, 0)), np.zeros(0, np.intp)
    if narrow:
        slots = pairs.slots(at[j] for j in narrow)
        places = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in narrow])
        inner = np.array(pairs.matrix[dense.grid(slots, slots)], dtype=np.float64)
        # Levels of one column never meet but themselves.
        np.fill_diagonal(inner, 0.0)
    blocks = [
        (spans[i], spans[j], sp.csr_array(pairs.block(at[i], at[j]), dtype=np.float64))
        for j in range(len(at))
        for i in range(j)
        if at[i] not in offsets or at[j] not in offsets
    ]

    def times(vector: Array) -> Array:
        out = np.zeros(len(vector))
        out[places] = inner @ vector[places]
        for rows, cols, block in blocks:
            out[rows] += block @ vector[cols]
            out[cols] += block.T @ vector[rows]
        return out

    return times


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
