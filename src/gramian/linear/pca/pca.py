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

One of these roads is taken, in `_solve` and nowhere else:

- numbers kept as rows R (fewer rows than columns): the eigenvectors U of the small R R^T give V = R^T U / sqrt(l);
- one category wider than all else in the chi-squared metric: exactly, without its levels (`gramian.linear.pca.wide_category`);
- few components of many columns: block Krylov iterations over the moments;
- p^2 fits in memory: `eigh`, of which only the vectors asked for are formed, or its sibling for columns of unlike spread
  (`gramian.linear.scatter.graded`);
- otherwise: Krylov iterations again, which need a number of components to aim at; or, where few rows bound the rank, one
  random block that spans the whole range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_chosen, eigh_descending, fix_signs, relative_rank
from gramian.arrays.memory import available_memory, in_words
from gramian.arrays.types import Array
from gramian.errors import Argument, Call, DataError, PythonOnly
from gramian.linear.components import NComponents, check_fits, check_n_components, choose, padded
from gramian.linear.layout import Layout, Scale, centre_of, layout_of, metric_of
from gramian.linear.pca.cross_validation import held_out_curve
from gramian.linear.pca.parallel import noise_thresholds
from gramian.linear.pca.wide_category import pairs_beside_wide
from gramian.linear.scatter.graded import semidefinite_pairs, unlike
from gramian.linear.scatter.sparse import ScatterOperator
from gramian.linear.scatter.spread import kept_rows, pairs_of_rows, scatter_of
from gramian.linear.solvers.krylov import eigenpairs_of_low_rank, is_settled, leading_eigenpairs
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments

FEW = 64
"""Of more design columns than this many times the components, and than `MANY`, the components come from Krylov iterations."""

MANY = 2500

RESTARTS = 8
"""Restarts after which a matrix is sooner solved whole, where it fits."""


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
    n_samples : int
        Rows behind the moments.
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
    n_samples: int
    weights: Array
    inverse: Array
    selection: dict[str, npt.NDArray]


@dataclass(frozen=True)
class _Pairs:
    """Eigenpairs of the scatter in the metric, undivided."""

    values: Array
    vectors: Array
    metric: Array | None
    total: float
    rank: int
    selection: dict[str, npt.NDArray]


# Eigenvalues of the scatter, its rank and trace, the metric, and the vectors where they are there already -> how many to
# keep, and the curve.
Choice = Callable[[Array, int, float, Array | None, Array | None], tuple[int, dict[str, npt.NDArray]]]


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
    layout = layout_of(moments, columns, without=targets)
    divisor, weight = divisor_of(moments, ddof), float(moments.total_weight)
    check_fits(n_components, moments.n_rows, layout.width)
    mean = centre_of(moments, layout)

    def chosen(
        values: Array, rank: int, total: float, metric: Array | None, vectors: Array | None
    ) -> tuple[int, dict[str, npt.NDArray]]:
        if rank == 0:
            raise DataError("no column varies, so there is no principal component")

        def thresholds() -> Array:
            assert vectors is not None
            variance = ScatterOperator(moments, layout).diagonal() / divisor
            freedom, seen = max(weight - 1, 1.0), min(rank, vectors.shape[1])
            found = noise_thresholds(layout, mean, variance, metric, freedom, values[:seen] / divisor, vectors)
            return np.append(found, np.full(rank - seen, found[-1]))

        return choose(
            n_components,
            values / divisor,
            rank=rank,
            total=total / divisor,
            weight=weight,
            thresholds=thresholds,
            held_out=lambda rule: held_out_curve(
                moments, layout, rule, metric=metric, dimensions=rank, targets=targets
            ),
        )

    found = _solve(moments, layout, mean, n_components, scale, chosen, memory_limit)
    return _solution(moments, layout, mean, found, divisor, whiten)


def _solution(
    moments: Moments, layout: Layout, mean: Array, found: _Pairs, divisor: float, whiten: bool
) -> PCASolution:
    metric = np.ones(layout.width) if found.metric is None else found.metric
    # Beyond the rank eigenvalues are rounding.
    values = np.where(np.arange(len(found.values)) < found.rank, found.values, 0.0)
    variance, total = values / divisor, found.total / divisor
    k = len(variance)
    components = np.ascontiguousarray(found.vectors.T)
    # Directions in which these rows could differ: with fewer rows than that, their number, as scikit-learn counts.
    left = min(layout.dimensions, moments.n_rows) - k
    rest = total - float(variance.sum())
    # A difference of two sums: below this it is their rounding.
    rest = rest if rest > max(layout.width, 64) * np.finfo(np.float64).eps * total else 0.0
    root = np.sqrt(variance) if whiten else np.ones(k)
    inverse_root = np.divide(1.0, root, out=np.zeros(k), where=root > 0)
    plain = found.metric is None and not whiten
    return PCASolution(
        components=components,
        mean=mean,
        metric=metric,
        explained_variance=variance,
        explained_variance_ratio=variance / total,
        singular_values=np.sqrt(values),
        total_variance=total,
        noise_variance=rest / left if left > 0 else 0.0,
        rank=found.rank,
        n_samples=moments.n_rows,
        weights=found.vectors if plain else found.vectors * metric[:, None] * inverse_root,
        inverse=components if plain else components * root[:, None] / metric,
        selection=found.selection,
    )


def _solve(
    moments: Moments,
    layout: Layout,
    mean: Array,
    n_components: NComponents,
    scale: Scale,
    chosen: Choice,
    memory_limit: int | None,
) -> _Pairs:
    """Return the eigenpairs by the road that fits the shape and the memory."""
    p, weight = layout.width, float(moments.total_weight)
    rows = kept_rows(moments, layout)
    if rows is not None:
        diagonal = np.einsum("ij,ij->j", rows, rows)
        metric = metric_of(scale, layout, mean, diagonal, weight)
        return _from_rows(rows, metric, float(diagonal.sum()), chosen)
    allowed = available_memory() if memory_limit is None else memory_limit
    # The matrix, its vectors, and what `eigh` works in.
    needed = 4 * 8 * p * p
    bound = min(moments.n_rows - 1, layout.dimensions)
    operator = ScatterOperator(moments, layout)
    diagonal = operator.diagonal()
    metric = metric_of(scale, layout, mean, diagonal, weight)
    operator = operator.scaled(metric)
    scaled = diagonal if metric is None else diagonal * np.square(metric)
    total = float(scaled.sum())
    low_rank = bound < p // 4 and 4 * 8 * p * bound <= allowed
    most = int(n_components) if isinstance(n_components, int | np.integer) else None
    if n_components is not None and not low_rank:
        wide = pairs_beside_wide(moments, layout, metric, most, lambda v, rank, w: chosen(v, rank, total, metric, w))
        if wide is not None:
            return _Pairs(wide.values, wide.vectors, metric, total, wide.rank, wide.selection)
    # Iterations compare with the largest eigenvalue, and would not see columns far below it.
    if most is not None and p > max(MANY, FEW * most) and not low_rank and not unlike(scaled):
        found = _few(operator, most, bound, total, metric, chosen, max_restarts=RESTARTS)
        if found is not None:
            return found
    if needed <= allowed and not low_rank:
        scatter = scatter_of(moments, layout)
        shared = scatter is moments.numbers.scatter
        if metric is not None:
            scatter = np.multiply(scatter, metric, out=None if shared else scatter)
            scatter *= metric[:, None]
        return _from_matrix(scatter, n_components, metric, chosen, overwrite=metric is not None or not shared)
    if low_rank:
        values, vectors = eigenpairs_of_low_rank(operator.__matmul__, p, bound)
        rank = relative_rank(values, size=p)
        return _kept(values, vectors, metric, total, rank, chosen)
    if most is None:
        raise DataError(
            f"{p:,} design columns are too many for a dense solution ({in_words(needed)}, and {in_words(allowed)} are "
            "allowed), and the matrix-free one finds a given number of components: instead of ",
            Argument("n_components", n_components),
            " ask for a whole number, such as ",
            Argument("n_components", 20),
            PythonOnly("; or ", Call("pool"), " rare levels first"),
        )
    found = _few(operator, most, bound, total, metric, chosen)
    assert found is not None
    return found


def _few(
    operator: ScatterOperator,
    n_components: int,
    bound: int,
    total: float,
    metric: Array | None,
    chosen: Choice,
    *,
    max_restarts: int | None = None,
) -> _Pairs | None:
    """Return the leading pairs by Krylov iterations; None where so many restarts did not bring them."""
    p, k = operator.shape[0], min(n_components, bound)
    limit = {} if max_restarts is None else {"max_restarts": max_restarts}
    values, vectors = leading_eigenpairs(operator.__matmul__, p, k, **limit)
    if max_restarts is not None and not is_settled(operator.__matmul__, values, vectors):
        return None
    rank = relative_rank(values, size=p)
    return _kept(values, vectors, metric, total, bound if rank == k else rank, chosen)


def _kept(values: Array, vectors: Array, metric: Array | None, total: float, rank: int, chosen: Choice) -> _Pairs:
    """Return as many pairs as are chosen, with directions without variance where those are more than there are."""
    k, selection = chosen(values, rank, total, metric, vectors)
    if k > len(values):
        values, vectors = padded(values, k), _completed(vectors, k)
    return _Pairs(values[:k], vectors[:, :k], metric, total, rank, selection)


def _completed(vectors: Array, k: int) -> Array:
    """Return k orthonormal columns that begin with these."""
    p, found = vectors.shape
    more = np.random.default_rng(0).standard_normal((p, k - found))
    for _ in range(2):
        more -= vectors @ (vectors.T @ more)
        more = np.linalg.qr(more)[0]
    return np.hstack([vectors, fix_signs(more)])


def _from_matrix(
    scatter: Array,
    n_components: NComponents,
    metric: Array | None,
    chosen: Choice,
    *,
    overwrite: bool,
) -> _Pairs:
    total = float(np.trace(scatter))
    if unlike(np.diagonal(scatter)):
        values, vectors = semidefinite_pairs(scatter, overwrite=overwrite)
        return _kept(values, vectors, metric, total, len(values), chosen)
    if n_components is None or n_components == "parallel":
        values, vectors = eigh_descending(scatter, overwrite=overwrite)
        return _kept(values, vectors, metric, total, relative_rank(values), chosen)
    curves = []

    def pick(values: Array) -> int:
        k, selection = chosen(values, relative_rank(values), total, metric, None)
        curves.append(selection)
        return k

    values, vectors = eigh_chosen(scatter, pick, overwrite=overwrite)
    return _Pairs(values[: vectors.shape[1]], vectors, metric, total, relative_rank(values), curves[0])


def _from_rows(
    rows: Array,
    metric: Array | None,
    total: float,
    chosen: Choice,
) -> _Pairs:
    if metric is not None:
        rows = rows * metric
        total = float(np.einsum("ij,ij->", rows, rows))
    values, vectors = pairs_of_rows(rows)
    return _kept(values, vectors, metric, total, len(values), chosen)
