"""How many components: given a number, a share of variance, or chosen by a criterion.

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

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError

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
    beyond = np.array(
        [
            (r - kept) * np.log(np.maximum(1 / v - 1 / spectrum[:kept], np.finfo(np.float64).eps / v)).sum()
            for kept, v in zip(k, noise, strict=True)
        ]
    )
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
