"""Where each source column stands among the design columns, the metric in which components are sought, and means of levels.

The *metric* is one factor per centred design column. For a number of population variance s^2 and a level of share f:

    scale=False    1                 1                  covariance: scikit-learn's PCA
    scale=True     1/s               1/sqrt(f (1 - f))  correlation: every design column to unit variance
    scale="auto"   1/s               1/sqrt(f)          FAMD, and MCA where every column is categorical

The last is the chi-squared metric. In it the block of one categorical column is D^-1/2 (D - f f^T) D^-1/2 = I - r r^T with
r = sqrt(f): a projector of rank L - 1. So each number brings inertia 1, each column of L levels brings L - 1, and all of
its directions count alike. With Q categorical columns and no numbers the eigenvalues are Q times those of the
correspondence analysis of the indicator table, since that divides the table by n Q.

Both scales are of the population (no `ddof`), as in StandardScaler and in FAMD: `ddof` divides the scatter afterwards.

*Means over the levels* of each category are taken for whole blocks of design columns at once. A loop over columns costs more
than the arithmetic where there are dozens of small ones; `reduceat` sums all spans in one call.

How many components: given a number, a share of variance, or chosen by a criterion.

Every choice looks at the spectrum l_1 >= ... >= l_r of the covariance (r its rank) and gives a number with the curve it
was read from.

- **share s in (0, 1)**: the fewest components whose share of the total variance exceeds s.
- **"elbow"**: the point of the scree plot furthest below the chord from its first to its last point, both axes scaled to
  [0, 1]. The elbow is the first point of the flat part, so the components *before* it are kept.
- **"mle"**: Minka's (2000) Laplace approximation to the evidence of probabilistic PCA, as scikit-learn's. With lhat_j = l_j
  for j <= k and v = mean(l_(k+1..r)) beyond, n rows and Z = sum over i <= k, i < j of
  log[(l_i - l_j)(1/lhat_j - 1/lhat_i) n], the log evidence of k is log p(U) - n/2 sum log l_i - n (r-k)/2 log v
  + (m+k)/2 log 2 pi - Z/2 - k/2 log n, where m = r k - k (k+1)/2. The double sum is split at k so that every k together
  costs O(r^2). Numbers that repeat each other, a constant among them, leave directions without any noise: v is then 0
  for k = r, the evidence of r infinite, and the rank is kept, as by scikit-learn. Directions that levels cannot take (they
  exclude each other, and columns may be nested) or that too few rows leave empty say nothing of the noise and are left out.
- **"parallel"**: Horn's parallel analysis without the simulation, see `gramian.linear.parallel`. At least one component is
  kept, also where none exceeds its threshold: a transformer has to return something. The curve shows it.
- **"cv"**, **"cv-target"**: the variance that columns share, or the fit of a target, on left-out rows, from fold moments: see
  `gramian.linear.pca`.

References
----------
Minka, Automatic choice of dimensionality for PCA, NIPS 2000. Satopaa et al., Finding a "kneedle" in a haystack, 2011.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.errors import Argument, ColumnError, DataError
from gramian.moments.covariance import mean as design_mean
from gramian.moments.value import Moments

Scale = bool | str


@dataclass(frozen=True)
class Layout:
    """Source columns and their spans of design columns.

    Attributes
    ----------
    columns : list of str
        Source columns, in order.
    sizes : list of int
        Design columns of each.
    forms : list of str
        How each is collected: "category", or "integer" and "number", which have one design column.
    """

    columns: list[str]
    sizes: list[int]
    forms: list[str]

    @cached_property
    def categorical(self) -> list[bool]:
        """Whether each source column is a category."""
        return [form == "category" for form in self.forms]

    @cached_property
    def plain(self) -> bool:
        """Whether every column is a plain number, none of them kept by level."""
        return all(form == "number" for form in self.forms)

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> list[int]:
        """First design column of each source column."""
        return np.cumsum([0, *self.sizes[:-1]]).tolist() if self.sizes else []

    @property
    def widest(self) -> tuple[str, int]:
        """The source column of the most design columns, and how many these are."""
        return max(zip(self.columns, self.sizes, strict=True), key=lambda each: each[1])

    def spans(self) -> list[slice]:
        """Return the design columns of each source column."""
        return [slice(start, start + size) for start, size in zip(self.starts, self.sizes, strict=True)]

    @cached_property
    def categories(self) -> list[str]:
        """Names of the categories."""
        return [name for name, is_one in zip(self.columns, self.categorical, strict=True) if is_one]

    @cached_property
    def category_spans(self) -> list[slice]:
        """The design columns of each category."""
        return [span for span, is_one in zip(self.spans(), self.categorical, strict=True) if is_one]

    def without(self, names: Collection[str]) -> Layout:
        """Return the layout of the other columns."""
        kept = [k for k, name in enumerate(self.columns) if name not in names]
        return Layout([self.columns[k] for k in kept], [self.sizes[k] for k in kept], [self.forms[k] for k in kept])

    @cached_property
    def is_level(self) -> npt.NDArray[np.bool_]:
        """Which design columns are levels."""
        return np.repeat(np.asarray(self.categorical, dtype=bool), self.sizes)

    @property
    def dimensions(self) -> int:
        """Directions in which rows can differ: one less than its levels for each categorical column."""
        return self.width - sum(self.categorical)


def layout_of(moments: Moments, columns: Sequence[str] | None, *, without: Sequence[str] = ()) -> Layout:
    """Return the layout of `columns`, by default of every feature but those in `without`.

    Raises
    ------
    ColumnError
        Where a column is not there, is asked for twice, or is a target of the same fit.
    """
    names = moments.schema.features_beside(without) if columns is None else moments.schema.resolve(columns)
    both = [name for name in names if name in without]
    if both:
        raise ColumnError(f"column {both[0]!r} is the target, it cannot be a feature as well; leave it out of columns")
    if not names:
        raise DataError("there is no column to work on: every column is a target or excluded")
    forms: list[str] = [moments.schema[name].form for name in names]
    levels = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    sizes = [levels[name] if form == "category" else 1 for name, form in zip(names, forms, strict=True)]
    return Layout(names, sizes, forms)


def centre_of(moments: Moments, layout: Layout) -> Array:
    """Return the mean of each design column, 0 for a number of which nothing was ever observed."""
    return np.nan_to_num(design_mean(moments, layout.columns), nan=0.0)


def metric_of(scale: Scale, layout: Layout, mean: Array, diagonal: Array, weight: float) -> Array | None:
    """Return the factor of each centred design column, None where all are 1.

    Parameters
    ----------
    scale : bool or "auto"
    layout : Layout
    mean : (p,) array
        Of the design columns: a level's share.
    diagonal : (p,) array
        The scatter of each design column, undivided.
    weight : float
        Total weight.

    Notes
    -----
    A column that does not vary has factor 1: centred it is zero whatever it is multiplied by.
    """
    if scale is False or (scale == "auto" and not any(layout.categorical)):
        return None
    squared = diagonal / weight
    if scale == "auto":
        squared = np.where(layout.is_level, mean, squared)
    varies = (diagonal > 0) & (squared > 0)
    return np.where(varies, 1.0 / np.sqrt(np.where(varies, squared, 1.0)), 1.0)


class LevelMeans:
    """Weighted means over spans of rows; rows outside every span have mean zero.

    Parameters
    ----------
    spans : sequence of slices
        In order and apart from each other.
    width : int
        Number of rows.
    weights : (width,) array, optional
        Shares that sum to one over each span; by default all rows of a span count alike.

    Examples
    --------
    >>> means = LevelMeans([slice(0, 2)], 3)
    >>> means.removed(np.array([[1.0], [3.0], [5.0]])).ravel()
    array([-1.,  1.,  5.])
    """

    def __init__(self, spans: Sequence[slice], width: int, weights: Array | None = None) -> None:
        inside = np.zeros(width)
        for span in spans:
            inside[span] = 1.0 / max(span.stop - span.start, 1) if weights is None else weights[span]
        self._inside = inside[:, None]
        edges = {0, *(span.start for span in spans), *(span.stop for span in spans)}
        self._starts = np.array(sorted(edge for edge in edges if edge < width), dtype=np.intp)
        self._sizes = np.diff(np.append(self._starts, width))

    def removed(self, v: Array) -> Array:
        """Return a (width, k) block less the means of its columns."""
        if not len(v):
            return v.copy()
        means = np.add.reduceat(self._inside * v, self._starts, axis=0)
        return v - np.repeat(means, self._sizes, axis=0)


def as_transformed(layout: Layout, mean: Array, weights: Array) -> Array:
    """Return weights (p, k) with mean zero over each category, and zero for levels without rows.

    The levels of a category sum to one, so adding a constant to their weights changes nothing once centred. With this choice
    of it a level that no row had is worth what the average row is, as `transform` has it.

    Parameters
    ----------
    layout : Layout
    mean : (p,) array
        Of the design columns: a level's share.
    weights : (p, k) array
    """
    out = LevelMeans(layout.category_spans, layout.width, mean).removed(weights)
    out[layout.is_level & (mean == 0)] = 0.0
    return out


Rule = Literal["elbow", "mle", "parallel", "cv", "cv-target"]
NComponents = int | float | Rule | None

RULES: tuple[str, ...] = get_args(Rule)


def check_fits(n_components: object, n_rows: int, width: int) -> None:
    """Raise where a whole number of components is more than rows or design columns."""
    most = min(n_rows, width)
    if isinstance(n_components, int | np.integer) and n_components > most:
        raise DataError(
            Argument("n_components", n_components),
            f" must be between 1 and min(n_samples, n_features)={most}: there are {n_rows:,} rows and "
            f"{width:,} design columns",
        )


def padded(components: Array, k: int) -> Array:
    """Return an array with zeros behind its last axis up to k: where fewer components than asked for have a say.

    Examples
    --------
    >>> padded(np.array([3.0, 1.0]), 3)
    array([3., 1., 0.])
    """
    missing = max(k - components.shape[-1], 0)
    return np.pad(components, [(0, 0)] * (components.ndim - 1) + [(0, missing)]) if missing else components


def choose(
    n_components: NComponents,
    spectrum: Array,
    evidence: Mapping[str, Array],
    *,
    directions: int,
    total: float,
    weight: float,
) -> tuple[int, dict[str, npt.NDArray]]:
    """Return how many components to keep, and the curve behind that number: one entry per number of components.

    Parameters
    ----------
    n_components : None, int, float or str
    spectrum : (rank,) array
        Positive eigenvalues of the covariance, descending.
    evidence : mapping of arrays
        What a rule needs beside the spectrum: for "parallel" the `noise_threshold` of each component; for "cv" and
        "cv-target" the held-out curve, arrays of equal length, of which the first is the score that decides.
    directions : int
        In which these rows could differ; for "mle". 0 where that is not known.
    total : float
        Total variance.
    weight : float
        Number of rows behind the spectrum.
    """
    rank = len(spectrum)
    curve: dict[str, npt.NDArray] = {
        "n_components": np.arange(1, rank + 1),
        "explained_variance": spectrum.copy(),
        "cumulative_ratio": np.cumsum(spectrum) / total,
        **evidence,
    }
    if n_components is None:
        return rank, curve
    if n_components == "elbow":
        curve["elbow_depth"] = elbow_depth(spectrum)
        return max(int(np.argmax(curve["elbow_depth"])), 1), curve
    if n_components == "mle":
        curve["log_evidence"] = minka_log_evidence(spectrum, weight, directions)
        return int(np.argmax(curve["log_evidence"])) + 1, curve
    if n_components == "parallel":
        below = spectrum <= curve["noise_threshold"]
        return max(int(np.argmax(below)) if below.any() else rank, 1), curve
    if isinstance(n_components, str):
        length = min(len(column) for column in curve.values())
        curve = {name: column[:length] for name, column in curve.items()}
        best = curve[next(iter(evidence))]
        # The fewest among equals.
        return int(np.argmax(best >= best.max() - 1e-10 * abs(best.max()))) + 1, curve
    if isinstance(n_components, float | np.floating):
        # Strictly above the share, as scikit-learn; rounding may leave the last sum a hair below it.
        return min(int(np.searchsorted(curve["cumulative_ratio"], n_components, side="right")) + 1, rank), curve
    return int(n_components), curve


def elbow_depth(spectrum: Array) -> Array:
    """Return how far each point of the scree plot lies below the chord from the first to the last.

    Examples
    --------
    >>> elbow_depth(np.array([9.0, 8.0, 1.0, 0.5, 0.0])).round(2).tolist()
    [0.0, -0.14, 0.39, 0.19, 0.0]
    """
    if len(spectrum) < 3 or spectrum[0] <= spectrum[-1]:
        return np.zeros(len(spectrum))
    height = (spectrum - spectrum[-1]) / (spectrum[0] - spectrum[-1])
    return 1.0 - np.linspace(0.0, 1.0, len(spectrum)) - height


def minka_log_evidence(spectrum: Array, n: float, directions: int = 0) -> Array:
    """Return the log evidence of 1, 2, ..., r components; minus infinity for r, where no direction is left for noise.

    Parameters
    ----------
    spectrum : (r,) array
        Positive eigenvalues of the covariance, descending.
    n : float
        Number of rows.
    directions : int
        In which rows could have differed. Where they are more than r the noise of r components is 0 and its evidence infinite.
    """
    r = len(spectrum)
    out = np.full(r, np.inf if directions > r else -np.inf)
    if r < 2:
        return np.zeros(r) if directions <= r else out
    k = np.arange(1, r)
    logs = np.log(spectrum)
    # Summed from the small end: the tail would drown in the rounding of a difference.
    noise = np.cumsum(spectrum[::-1])[::-1][1:] / (r - k)
    uniform = np.cumsum(gammaln((r - k + 1) / 2) - np.log(np.pi) * (r - k + 1) / 2) - k * np.log(2.0)
    m = r * k - k * (k + 1) / 2
    # Equal eigenvalues would give log 0: their difference is held at rounding.
    floor = np.finfo(np.float64).eps * spectrum[0]
    upper = np.triu(np.ones((r, r), dtype=bool), 1)
    gaps = np.maximum(spectrum[:, None] - spectrum[None, :], floor)
    differences = np.where(upper, np.log(gaps), 0.0)
    # log(1/l_j - 1/l_i) = log(l_i - l_j) - log l_i - log l_j, among the components kept.
    among = np.where(upper, differences - logs[:, None] - logs[None, :], 0.0)
    beyond = [
        (r - kept) * np.log(np.maximum(1 / v - 1 / spectrum[:kept], np.finfo(np.float64).eps / v)).sum()
        for kept, v in zip(k, noise, strict=True)
    ]
    hessian = np.cumsum(differences.sum(axis=1))[:-1] + np.cumsum(among.sum(axis=0))[:-1] + beyond + m * np.log(n)
    out[:-1] = (
        uniform
        - n / 2 * np.cumsum(logs)[:-1]
        - n * (r - k) / 2 * np.log(noise)
        + (m + k) / 2 * np.log(2 * np.pi)
        - hessian / 2
        - k / 2 * np.log(n)
    )
    return out
