"""Principal components (the Karhunen-Loeve transform) from moments; MCA and FAMD are the same formula in another metric.

Centred rows x - m are multiplied by a metric D (see `gramian.linear.layout`), and the components V are the leading
eigenvectors of the covariance D S D / (W - ddof). They minimise the squared error of the reconstruction among all
projections of their rank, and that error is the variance that was left out:

    mean |D (x - m) - V V^T D (x - m)|^2 = sum of the dropped eigenvalues          (V^T V = I is part of the problem)

Features are (x - m) D V; the way back is V^T D^-1 and adding the mean. `ddof=1` is scikit-learn's convention, `ddof=0` the one
of the lectures' KLT. With `scale="auto"` on categorical columns, eigenvalues times (W - ddof) / W are those of FAMD, and Q
times those of MCA where all Q columns are categorical.

*How.* Which eigensolver is used depends on the shape and the memory: `gramian.linear.scatter.wide` offers representations of
the scatter, and the first that gives as many vectors as are kept is taken. A rule for their number sees the eigenvalues first.

*More components than the rank.* A number of components is a shape that others rely on, and a fold in which a column happens
to be constant must not change it. Up to min(rows, design columns) components beyond the rank are orthonormal directions
without variance, as in scikit-learn; whitened, their features are 0.

**Held-out scores** say how well k components describe rows that were left out. A fold's average of any quadratic function of x
is a function of its mean and covariance alone, so no row is read. Write (m, S) for mean and population covariance of the
training folds, and M for the second moment of the fold *about m*: M = S_fold + (m_fold - m)(m_fold - m)^T. One `eigh` of S = V
diag(l) V^T per fold serves every k.

*"cv"*: whether what source columns *share* along a component comes back on other rows. Along a direction v rows have variance
v^T M v; columns independent of each other would have sum_j v_j^T M_jj v_j there, M_jj the block of column j with itself. The
difference, o = v^T M_off v with M_off the covariances between columns, is what they share. Component i promises t_i, the same
from the training folds (0 where that is negative), and the score of k components is the share of squared o that they predict,

    1 - sum_i (o_i - t_i [i <= k])^2 / sum_i o_i^2 .

A component adds to it where at least half of its promise is kept, and takes from it where it was noise, whose covariances do
not come back.

*Likelihood* stands beside it: with q_i = v_i^T M v_i, the mean log density of a left-out row is

    -1/2 [d log 2 pi + sum_(i<=k) (log l_i + q_i / l_i) + (d - k) log v_k + (tr M - sum_(i<=k) q_i) / v_k].

It asks for the best density of the rows, and there directions of *little* variance count as much as those of much: two columns
of which one follows from the other leave variances near zero, and the fewest components whose isotropic rest can have those is
nearly all of them. By likelihood 411 of 417 is right, and not what components are for.

*"cv-target"*: R^2 of the least-squares prediction of the target from the first k components. Components are uncorrelated on
the training folds, so coefficient i, b_i = v_i^T c / l_i with c the covariance with the target, is the same for every k;
the left-out squared error is M_yy - 2 sum b_i M_iy + sum_ij b_i b_j M_ij, all from second moments. A categorical target
enters by its level indicators, and then 1 - error / baseline is the *Brier skill score* of the least-squares classifier. The
share of right answers is not a function of moments (it depends on the shape of the distribution), so accuracy itself is not
offered here.

The metric is that of all rows: it only sets units. A missing number stands at the training mean
(`gramian.moments.algebra.folds`); for predictions a level that no training row has is the average row, as `transform` has it.

**Probabilistic PCA** (`GaussianModel`): the Gaussian that k components and an isotropic rest describe. In the metric D,
y = D (x - m) has covariance V diag(l) V^T + v (P - V V^T): variances l along the components and v, `noise_variance`, in every
other direction in which rows can differ. P projects onto those: a category's indicators sum to one, so directions D^-1 1 of
its levels are not among them. With d the rank of P and q_i = (V^T y)_i^2

    log p(x) = -1/2 [d log 2 pi + sum_i (log l_i + q_i / l_i) + (d - k) log v + (|y|^2 - sum_i q_i) / v] + sum_j log D_j,

the last sum over the numbers: their density is one of x, in its own units. Levels have no units, and theirs stays one of y. On
all-numeric input this is the model of scikit-learn's PCA. Where nothing is left over (v = 0) the density is that within the
components: rows that lie off their span, further than rounding takes them, have density zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import fix_signs
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.layout import (
    Layout,
    NComponents,
    Scale,
    as_transformed,
    centre_of,
    check_fits,
    choose,
    layout_of,
    metric_of,
    padded,
)
from gramian.linear.parallel import noise_thresholds
from gramian.linear.regression.targets import refuse_constant, refuse_identifier, refuse_missing
from gramian.linear.scatter.dense import Scatter, leading, scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.wide import for_leading_pairs, scatter_of
from gramian.maps.projection import Design, Rows
from gramian.moments.algebra.folds import folds_of
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments

FIRST = 64
"""Eigenvectors that noise is judged by at first; four times as many where all of them stand out, and so on."""


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
        The curve behind the number of components: one entry per number, `n_components` first, one array per criterion.
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
        How many to keep; None keeps the rank. See `gramian.linear.layout`.
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
    total = float(scaled.sum()) / divisor

    def chosen(values: Array, rank: int, vectors: Callable[[int], Array]) -> tuple[int, dict[str, Array]]:
        if rank == 0:
            raise DataError("no column varies, so there is no principal component")
        evidence: dict[str, Array] = {}
        if n_components == "parallel":
            asked, known = FIRST, 0
            while True:
                found = vectors(min(rank, asked))
                known = min(rank, found.shape[1])
                noise = noise_thresholds(
                    layout, mean, diagonal / divisor, metric, max(weight - 1, 1.0), values[:known] / divisor, found
                )
                # It is constant from the first component that does not stand out.
                if known < asked or values[known - 1] / divisor <= noise[-1]:
                    break
                asked *= 4
            evidence = {"noise_threshold": np.append(noise, np.full(rank - known, noise[-1]))}
        elif n_components in ("cv", "cv-target"):
            evidence = held_out_curve(moments, layout, n_components, metric=metric, dimensions=rank, targets=targets)
        directions = noise_directions(layout.width, any(layout.categorical), moments.n_rows)
        return choose(
            n_components, values[:rank] / divisor, evidence, directions=directions, total=total, weight=weight
        )

    given = int(n_components) if isinstance(n_components, int | np.integer) else None
    for scatter in for_leading_pairs(
        moments, layout, metric, diagonal=scaled, n_components=n_components, memory_limit=memory_limit
    ):
        # A rule sees the eigenvalues first, and only the vectors it keeps are found. Noise is judged by some more of them.
        if given is not None or n_components is None:
            pairs = scatter.eigenpairs(given)
            k, selection = chosen(pairs.values, pairs.rank, leading(pairs.vectors))
        else:
            spectrum = scatter.spectrum()
            k, selection = chosen(spectrum.values, spectrum.rank, spectrum.vectors)
            pairs = spectrum.pairs(k)
        if pairs.vectors.shape[1] >= min(k, pairs.rank):
            break
    vectors = _completed(pairs.vectors[:, :k], k)
    # Beyond the rank eigenvalues are rounding.
    values = np.where(np.arange(k) < pairs.rank, padded(pairs.values, k)[:k], 0.0)
    variance = values / divisor
    components = np.ascontiguousarray(vectors.T)
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
        weights=vectors if plain else vectors * factor[:, None] * inverse_root,
        inverse=components if plain else components * root[:, None] / factor,
        selection=selection,
    )


def noise_directions(width: int, categorical: bool, n_rows: int) -> int:
    """Return the number of directions in which rows could differ, 0 where levels or few rows leave that open."""
    return 0 if categorical or n_rows <= width else width


def _completed(vectors: Array, k: int) -> Array:
    """Return k orthonormal columns that begin with these."""
    p, n_known = vectors.shape
    if n_known == k:
        return vectors
    more = np.random.default_rng(0).standard_normal((p, k - n_known))
    for _ in range(2):
        more -= vectors @ (vectors.T @ more)
        more = np.linalg.qr(more)[0]
    return np.hstack([vectors, fix_signs(more)])


def held_out_curve(
    moments: Moments,
    layout: Layout,
    rule: str,
    *,
    metric: Array | None,
    dimensions: int,
    targets: Sequence[str] = (),
) -> dict[str, Array]:
    """Return the held-out score of 1, 2, ... components, and the standard error over folds by which it is judged.

    Parameters
    ----------
    moments : Moments
        With folds.
    layout : Layout
        Of the features.
    rule : {"cv", "cv-target"}
    metric : (p,) array or None
        The factor of each centred design column.
    dimensions : int
        Rank of the covariance of all rows, d above.
    targets : sequence of str
        For "cv-target": columns to predict. The score is the mean of their R^2.
    """
    folds = folds_of(moments, [*layout.columns, *targets])
    if rule == "cv":
        parts = [_scores(train, test, layout, metric, dimensions) for train, test in folds]
        length = _shortest([len(each) for part in parts for each in part], moments)
        shared, likelihood = (np.array([part[j][:length] for part in parts]) for j in (0, 1))
        sizes = np.array([float(moments.folds[k].total_weight) for k in folds.filled])
        return {
            "shared_variance_r2": sizes @ shared / sizes.sum(),
            "shared_variance_r2_se": _standard_error(shared),
            "log_likelihood": sizes @ likelihood / sizes.sum(),
            "log_likelihood_se": _standard_error(likelihood),
        }
    parts = [_squared_errors(train, test, layout, metric, targets) for train, test in folds]
    length = _shortest([error.shape[1] for error, _ in parts], moments)
    errors = np.array([error[:, :length] for error, _ in parts])
    baselines = np.array([baseline for _, baseline in parts])
    pooled = 1.0 - errors.sum(axis=0) / baselines.sum(axis=0)[:, None]
    by_fold = 1.0 - errors / np.where(baselines > 0, baselines, np.nan)[:, :, None]
    return {"r2": pooled.mean(axis=0), "r2_se": _standard_error(np.nan_to_num(by_fold).mean(axis=1))}


def _shortest(lengths: Sequence[int], moments: Moments) -> int:
    """Return how many components every fold can judge, one at least."""
    if min(lengths) < 1:
        raise DataError(
            f"choosing components by cross-validation needs more rows: of n_samples = {moments.n_rows} those outside a fold "
            f"vary in too few directions to judge one; pass a number, or None for the rank"
        )
    return min(lengths)


def _standard_error(table: Array) -> Array:
    return table.std(axis=0, ddof=1) / np.sqrt(len(table)) if len(table) > 1 else np.zeros(table.shape[1])


def _scores(
    train: Moments, test: Moments, layout: Layout, metric: Array | None, dimensions: int
) -> tuple[Array, Array]:
    """Return how much of what columns share in the test rows 1, 2, ... components predict, and those rows' log density."""
    fitted, judged = scatter_of(train, layout, metric), scatter_of(test, layout_of(test, layout.columns), metric)
    pairs = fitted.eigenpairs()
    values, vectors = pairs.values[:dimensions] / fitted.weight, pairs.vectors[:, :dimensions]
    gap = judged.mean - fitted.mean
    seen = judged.variance_along(vectors) / judged.weight + np.square(gap @ vectors)
    own = within_columns(judged, vectors) / judged.weight + _by_column(layout, gap[:, None] * vectors)
    promised = np.maximum(values - within_columns(fitted, vectors) / fitted.weight, 0.0)
    whole = float(judged.diagonal().sum()) / judged.weight + float(gap @ gap)
    return shared_variance_r2(promised, seen - own), ppca_log_likelihood(values, seen, whole, dimensions)


def within_columns(scatter: Scatter, vectors: Array) -> Array:
    """Return sum_j v_j^T S_jj v_j along each direction, S_jj the block of source column j with itself.

    For a number that is S_jj v_j^2; the levels of a category, of shares f in the metric D, have W D (diag(f) - f f^T) D.
    """
    layout, metric = scatter.layout, np.ones(scatter.width) if scatter.metric is None else scatter.metric
    squares = np.where(layout.is_level, scatter.weight * scatter.mean * metric, scatter.diagonal())
    level_means = np.where(layout.is_level, scatter.mean, 0.0)[:, None] * vectors
    return squares @ np.square(vectors) - scatter.weight * _by_column(layout, level_means)


def _by_column(layout: Layout, products: Array) -> Array:
    """Return the squares of the sums over the design columns of each source column, added up."""
    return np.square(np.add.reduceat(products, layout.starts, axis=0)).sum(axis=0)


def shared_variance_r2(promised: Array, components: Array) -> Array:
    """Return how much of what columns share along directions the first 1, 2, ... promises predict.

    Examples
    --------
    >>> shared_variance_r2(np.array([2.0, 1.0]), np.array([2.0, 0.0]))
    array([1.  , 0.75])
    """
    whole = float(components @ components)
    return np.cumsum(promised * (2 * components - promised)) / (whole if whole > 0 else 1.0)


def ppca_log_likelihood(values: Array, seen: Array, whole: float, d: int) -> Array:
    """Return the mean log density of the test rows under probabilistic PCA with 1, 2, ... components.

    The last number is the one beyond which the training rows leave no variance for the noise; where they have all d
    directions it is that number itself, the plain Gaussian.

    Parameters
    ----------
    values, seen : (r,) arrays
        Variances of the training rows along their components, and second moments of the test rows there.
    whole : float
        Trace of the second moments of the test rows.
    d : int
        Directions in which rows differ.
    """
    rank = len(values)
    k = np.arange(1, min(rank, d - 1) + 1) if rank == d else np.arange(1, rank)
    left = np.cumsum(values[::-1])[::-1]
    noise = np.append(left[1:], 0.0)[k - 1] / (d - k)
    kept = np.cumsum(np.log(values) + seen / values)[k - 1]
    rest = np.maximum(whole - np.cumsum(seen)[k - 1], 0.0)
    score = d * np.log(2 * np.pi) + kept + (d - k) * np.log(noise) + rest / noise
    if rank == d:
        score = np.append(score, d * np.log(2 * np.pi) + np.sum(np.log(values) + seen / values))
    return -0.5 * score


def _squared_errors(
    train: Moments, test: Moments, layout: Layout, metric: Array | None, targets: Sequence[str]
) -> tuple[Array, Array]:
    """Return the sums of squared errors of each target for 1, 2, ... components, and of the training mean."""
    pairs, mean = scatter_of(train, layout, metric).eigenpairs(), centre_of(train, layout)
    weights = pairs.vectors if metric is None else pairs.vectors * metric[:, None]
    weights = as_transformed(layout, mean, weights)
    judged, aimed = scatter_of(test, layout_of(test, layout.columns)), layout_of(train, targets)
    coefficients = weights.T @ cross_scatter(train, layout, aimed) / pairs.values[:, None]
    gap, shift = (judged.mean - mean) @ weights, centre_of(test, aimed) - centre_of(train, aimed)
    weight, aimed = judged.weight, layout_of(test, targets)
    aim = weights.T @ cross_scatter(test, judged.layout, aimed) + weight * np.outer(gap, shift)
    seen = judged.along(weights) + weight * np.outer(gap, gap)
    # Component k adds b_k^2 M_kk + 2 b_k sum_(j<k) M_kj b_j to the quadratic form.
    below = np.tril(seen, -1) @ coefficients
    quadratic = np.square(coefficients) * np.diagonal(seen)[:, None] + 2 * coefficients * below
    saved = np.cumsum(quadratic - 2 * coefficients * aim, axis=0)
    start = scatter_diagonal(test, aimed) + weight * np.square(shift)
    per_column = start + saved
    spans = aimed.spans()
    errors = np.array([per_column[:, span].sum(axis=1) for span in spans])
    return errors, np.array([start[span].sum() for span in spans])


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """The model over the design columns.

    Attributes
    ----------
    design : Design
    components : (k, p) array
        Orthonormal, in the metric.
    metric : (p,) array
    variance : (k,) array
    noise : float
    """

    design: Design
    components: Array
    metric: Array
    variance: Array
    noise: float

    def _directions(self) -> Array:
        """Return P."""
        out = np.eye(len(self.metric))
        for column in self.design.categorical:
            span = self.design.spans[column.name]
            never = 1.0 / self.metric[span]
            out[span, span] -= np.multiply.outer(never, never) / (never @ never)
        return out

    def _combined(self, along: Array, beyond: float) -> Array:
        """Return V^T diag(along - beyond) V + beyond P."""
        out = (self.components.T * (along - beyond)) @ self.components
        return out + beyond * self._directions() if beyond else out

    def covariance(self) -> Array:
        """Return the covariance of the design columns, (p, p)."""
        return self._combined(self.variance, self.noise) / np.multiply.outer(self.metric, self.metric)

    def precision(self) -> Array:
        """Return the matrix with which (x - m)^T A (x - m) is the squared length of a row, (p, p)."""
        varies = self.variance > 0
        along = np.divide(1.0, self.variance, out=np.zeros_like(self.variance), where=varies)
        beyond = 1.0 / self.noise if self.noise > 0 else 0.0
        return self._combined(along, beyond) * np.multiply.outer(self.metric, self.metric)

    def log_density(self, rows: Rows, features: Array) -> Array:
        """Return the log density of encoded rows, whose components (x - m) D V are given as well."""
        varies = self.variance > 0
        with np.errstate(over="ignore", invalid="ignore"):
            squares, kept = np.square(features[:, varies]), self.variance[varies]
            out = squares @ (1.0 / kept) + np.log(kept).sum()
            length = self.squared_length(rows)
            if not np.isfinite(out + length).all():
                self.design.refuse_overflow(rows.numbers)
        d = len(kept)
        if self.noise > 0:
            d = len(self.metric) - len(self.design.categorical)
            left = np.maximum(length - squares.sum(axis=1), 0.0)
            out += left / self.noise + (d - len(kept)) * np.log(self.noise)
        elif d < len(self.metric) - len(self.design.categorical):
            out[self._off_support(rows, squares.sum(axis=1))] = np.inf
        units = np.log(self.metric[self.design.number_places]).sum()
        return -0.5 * (out + d * np.log(2 * np.pi)) + units

    def _off_support(self, rows: Rows, explained: Array) -> npt.NDArray[np.bool_]:
        """Whether encoded rows differ where no training row did, by more than rounding; `explained` is sum_i q_i."""
        eps, at = np.finfo(np.float64).eps, self.design.number_places
        grain = eps * np.nan_to_num(np.abs(self.design.mean) * self.metric)
        length = self.squared_length(rows)
        # Squares are subtracted, and no number is closer to its mean than the grain of floating point there.
        slack = max(len(self.metric), 64) * (eps * (length + self.variance.sum()) + grain @ grain)
        # A number that never varied is checked by itself: it may be small beside the others.
        still = at[~self.components[self.variance > 0][:, at].any(axis=0)]
        moved = np.abs(self._numbers(rows)[:, np.isin(at, still)]) > 64 * grain[still]
        return np.asarray((length - explained > slack) | moved.any(axis=1))

    def _numbers(self, rows: Rows) -> Array:
        """Return the numbers of y, missing ones at the mean."""
        at = self.design.number_places
        numbers = rows.numbers if isinstance(rows.numbers, np.ndarray) else rows.numbers.toarray()
        return np.nan_to_num((np.asarray(numbers, dtype=np.float64) - self.design.mean[at]) * self.metric[at])

    def squared_length(self, rows: Rows) -> Array:
        """Return |y|^2 of encoded rows; unseen levels and missing numbers are at the mean."""
        away = self._numbers(rows)
        out = np.einsum("ij,ij->i", away, away)
        for codes, column in zip(rows.codes, self.design.categorical, strict=True):
            span = self.design.spans[column.name]
            share, squared = self.design.mean[span], np.square(self.metric[span])
            table = squared * (1.0 - 2.0 * share) + (squared * np.square(share)).sum()
            out += np.append(table, 0.0)[codes]
        return out
