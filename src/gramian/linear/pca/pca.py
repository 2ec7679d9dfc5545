"""Principal components (the Karhunen-Loeve transform) from moments; MCA and FAMD are the same formula in another metric.

Centred rows x - m are multiplied by a metric D (see `gramian.linear.layout`), and the components V are the leading
eigenvectors of the covariance D S D / (W - ddof). They minimise the squared error of the reconstruction among all
projections of their rank, and that error is what was left out:

    mean |D (x - m) - V V^T D (x - m)|^2 = sum of the dropped eigenvalues          (V^T V = I is part of the problem)

Features are (x - m) D V; the way back is V^T D^-1 and adding the mean. `ddof=1` is scikit-learn's convention, `ddof=0` the
one of the lectures' KLT. With `scale="auto"` on categorical columns, eigenvalues times (W - ddof) / W are those of FAMD, and Q
times those of MCA where all Q columns are categorical.

*More components than the rank.* A number of components is a shape that others rely on, and a fold in which a column happens
to be constant must not change it. Up to min(rows, design columns) components beyond the rank are orthonormal directions
without variance, as in scikit-learn; whitened, their features are 0.

How the eigenpairs are found depends on the shape and the memory: `gramian.linear.scatter.choice` offers representations of the
scatter, and the first that gives as many vectors as are kept is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import fix_signs
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.components import NComponents, check_fits, check_n_components, choose, padded
from gramian.linear.layout import Layout, Scale, centre_of, layout_of, metric_of
from gramian.linear.pca.cross_validation import held_out_curve
from gramian.linear.pca.parallel import noise_thresholds
from gramian.linear.regression.targets import refuse_constant, refuse_identifier, refuse_missing
from gramian.linear.scatter.base import Eigenpairs, Scatter
from gramian.linear.scatter.choice import for_leading_pairs
from gramian.linear.scatter.diagonal import scatter_diagonal
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class PCASolution:
    """Principal components over the design columns, p of them, strongest first.

    Attributes
    ----------
    components : (k, p) array
        Orthonormal rows, in the metric.
    mean : (p,) array
        Of the design columns.
    metric : (p,) array
        What each centred design column is multiplied by before it is rotated.
    explained_variance, explained_variance_ratio : (k,) arrays
        Eigenvalues of the covariance in the metric, and their share of `total_variance`.
    singular_values : (k,) array
        Of the centred data in the metric: sqrt(explained_variance (W - ddof)).
    total_variance : float
        Of all design columns in the metric.
    noise_variance : float
        Mean variance of the directions left out, among those in which rows can differ.
    rank : int
        Directions with variance, in units of each column's own spread. Where only k pairs were sought it is the most that
        rows and columns allow.
    weights : (p, k) array
        Features are `(x - mean) @ weights`.
    inverse : (k, p) array
        The way back: `z @ inverse + mean`.
    selection : dict of arrays
        The curve behind the number of components: one entry a number, `n_components` first, one array a criterion.
    """

    components: Array
    mean: Array
    metric: Array
    explained_variance: Array
    explained_variance_ratio: Array
    singular_values: Array
    total_variance: float
    noise_variance: float
    rank: int
    weights: Array
    inverse: Array
    selection: dict[str, npt.NDArray]


def pca(
    moments: Moments,
    columns: Sequence[str] | None = None,
    *,
    n_components: NComponents = None,
    scale: Scale = "auto",
    whiten: bool = False,
    ddof: float = 1,
    target: str | Sequence[str] | None = None,
    memory_limit: int | None = None,
) -> PCASolution:
    """Return the principal components of the design columns.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature that is not the target.
    n_components : None, int, float, "elbow", "mle", "parallel", "cv" or "cv-target"
        How many to keep; None keeps the rank. See `gramian.linear.components`.
    scale : bool or "auto"
        False: covariance. True: correlation. "auto": covariance where every column is numeric, otherwise unit variance
        for numbers and the chi-squared metric for levels (MCA, FAMD).
    whiten : bool
        Divide each feature by its standard deviation.
    ddof : float
        The scatter is divided by the total weight less this.
    target : str or sequence of str, optional
        Left out of the features; "cv-target" predicts it, by level where it is categorical.
    memory_limit : int, optional
        Bytes that a dense solution may take; by default what the machine has free.

    Raises
    ------
    DataError
        More components than rows or design columns, no column that varies, too few rows, or "cv" without folds.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"x": [1.0, 2.0, 3.0, 2.0], "y": [2.0, 3.0, 5.0, 2.0]}))
    >>> found = pca(m, ddof=0)
    >>> found.explained_variance.round(6), found.components.round(6)[0]
    (array([1.901388, 0.098612]), array([0.471858, 0.881675]))
    """
    check_n_components(n_components)
    targets = [] if target is None else moments.schema.resolve(target)
    if n_components == "cv-target" and not targets:
        raise DataError(
            Argument("n_components", "cv-target"), " needs a target: name the column to predict in ", Argument("y")
        )
    if n_components == "cv-target":
        for name in targets:
            refuse_missing(moments, name)
            refuse_constant(moments, name)
            if moments.kind(name) == "categorical":
                refuse_identifier(moments, name)
    layout = layout_of(moments, columns, without=targets)
    divisor, weight = divisor_of(moments, ddof), float(moments.total_weight)
    check_fits(n_components, moments.n_rows, layout.width)
    mean, diagonal = centre_of(moments, layout), scatter_diagonal(moments, layout)
    metric = metric_of(scale, layout, mean, diagonal, weight)
    scaled = diagonal if metric is None else diagonal * metric * metric
    total = float(scaled.sum())

    def thresholds(pairs: Eigenpairs) -> Array:
        freedom, seen = max(weight - 1, 1.0), min(pairs.rank, pairs.vectors.shape[1])
        noise = noise_thresholds(
            layout, mean, diagonal / divisor, metric, freedom, pairs.values[:seen] / divisor, pairs.vectors
        )
        return np.append(noise, np.full(pairs.rank - seen, noise[-1]))

    def chosen(pairs: Eigenpairs) -> tuple[int, dict[str, Array]]:
        if pairs.rank == 0:
            raise DataError("no column varies, so there is no principal component")
        return choose(
            n_components,
            pairs.values / divisor,
            rank=pairs.rank,
            directions=noise_directions(layout.width, any(layout.categorical), moments.n_rows),
            total=total / divisor,
            weight=weight,
            thresholds=lambda: thresholds(pairs),
            held_out=lambda rule: held_out_curve(
                moments, layout, rule, metric=metric, dimensions=pairs.rank, targets=targets
            ),
        )

    offered = for_leading_pairs(
        moments, layout, metric, diagonal=scaled, n_components=n_components, memory_limit=memory_limit
    )
    pairs, selection = _solve(offered, n_components, chosen)
    return _solution(moments, layout, mean, metric, pairs, total / divisor, divisor, whiten, selection)


def noise_directions(width: int, categorical: bool, n_rows: int) -> int:
    """Return the directions in which rows could have differed, 0 where levels or few rows leave that open."""
    return 0 if categorical or n_rows <= width else width


def _solve(
    offered: Iterable[Scatter], n_components: NComponents, chosen: Callable[[Eigenpairs], tuple[int, dict[str, Array]]]
) -> tuple[Eigenpairs, dict[str, Array]]:
    """Return as many pairs as are chosen, from the first scatter that has them, and the curve behind their number."""
    curves: list[tuple[int, dict[str, Array]]] = []

    def pick(values: Array, rank: int) -> int:
        curves.append(chosen(Eigenpairs(values, np.empty((0, 0)), rank)))
        return curves[-1][0]

    # Noise is judged by the vectors too; and where all are wanted there is nothing to choose.
    asked = None if n_components in (None, "parallel") else pick
    for scatter in offered:
        curves.clear()
        pairs = scatter.eigenpairs(int(n_components) if isinstance(n_components, int | np.integer) else asked)
        k, selection = curves[0] if curves else chosen(pairs)
        if pairs.vectors.shape[1] >= min(k, pairs.rank):
            break
    values, vectors = pairs.values, pairs.vectors
    if k > vectors.shape[1]:
        values, vectors = padded(values, k), _completed(vectors, k)
    return Eigenpairs(values[:k], vectors[:, :k], pairs.rank), selection


def _solution(
    moments: Moments,
    layout: Layout,
    mean: Array,
    metric: Array | None,
    pairs: Eigenpairs,
    total: float,
    divisor: float,
    whiten: bool,
    selection: dict[str, Array],
) -> PCASolution:
    # Beyond the rank eigenvalues are rounding.
    values = np.where(np.arange(len(pairs.values)) < pairs.rank, pairs.values, 0.0)
    variance = values / divisor
    k = len(variance)
    components = np.ascontiguousarray(pairs.vectors.T)
    # Directions in which these rows could differ: with fewer rows than that, their number, as scikit-learn counts.
    left = min(layout.dimensions, moments.n_rows) - k
    rest = total - float(variance.sum())
    # A difference of two sums: below this it is their rounding.
    rest = rest if rest > max(layout.width, 64) * np.finfo(np.float64).eps * total else 0.0
    root = np.sqrt(variance) if whiten else np.ones(k)
    inverse_root = np.divide(1.0, root, out=np.zeros(k), where=root > 0)
    plain, factor = metric is None and not whiten, np.ones(layout.width) if metric is None else metric
    return PCASolution(
        components=components,
        mean=mean,
        metric=factor,
        explained_variance=variance,
        explained_variance_ratio=variance / total,
        singular_values=np.sqrt(values),
        total_variance=total,
        noise_variance=rest / left if left > 0 else 0.0,
        rank=pairs.rank,
        weights=pairs.vectors if plain else pairs.vectors * factor[:, None] * inverse_root,
        inverse=components if plain else components * root[:, None] / factor,
        selection=selection,
    )


def _completed(vectors: Array, k: int) -> Array:
    """Return k orthonormal columns that begin with these."""
    p, n_known = vectors.shape
    more = np.random.default_rng(0).standard_normal((p, k - n_known))
    for _ in range(2):
        more -= vectors @ (vectors.T @ more)
        more = np.linalg.qr(more)[0]
    return np.hstack([vectors, fix_signs(more)])
