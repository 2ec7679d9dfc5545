"""The largest eigenvalue that noise alone would show: Horn's parallel analysis as a formula.

Horn compares the spectrum with that of data whose source columns are independent of one another but otherwise alike, and
keeps the components that stand out. His null needs no simulation. Let H be the spectrum of the *null covariance*, which has
each source column's own block and zeros elsewhere: t_1, ..., t_d. For n rows the largest sample eigenvalue lies at

    mu = 1/c + (1/n) sum t_i / (1 - t_i c),    1/c^2 = (1/n) sum t_i^2 / (1 - t_i c)^2,    0 < c < 1 / max t,

and fluctuates about it by n^(-2/3) sigma, sigma^3 = 1/c^3 + (1/n) sum (t_i / (1 - t_i c))^3, times a Tracy-Widom variable. The
threshold is its 95 % point, the usual choice for Horn's rule. For equal t it is the Marchenko-Pastur edge
t (1 + sqrt(d/n))^2.

The null spectrum by metric: a number gives its variance (1 when scaled). A categorical column of L levels gives, in the
chi-squared metric of MCA and FAMD, L - 1 ones, because its block is a projector; so there the classical edge holds with
d = numbers + sum (L - 1). In other metrics it gives the eigenvalues of diag(f) - f f^T, scaled. Levels of a handful of
rows have heavier tails than the formula knows of: pool them first.

A strong component adds to the variances of the columns it loads on and so would hide weaker ones behind a raised threshold.
Therefore component k is judged against the null of what the first k - 1 have left (deflation): each source column's block
less sum l_i v_i v_i^T over them, and the whole times s / (s - k + 1), s = min(d, n), because what is left of the noise
varies in that many directions of s.

References
----------
Horn 1965; Johnstone 2001; El Karoui 2007; Dobriban and Owen, Deterministic parallel analysis, JRSS B 2019.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from gramian.linear.layout import Layout

Array = npt.NDArray[np.float64]

TRACY_WIDOM_95 = 0.9793
"""The 95 % point of the Tracy-Widom distribution of real symmetric matrices."""


def noise_thresholds(
    layout: Layout,
    mean: Array,
    variance: Array,
    metric: Array | None,
    n: float,
    values: Array,
    vectors: Array,
) -> Array:
    """Return what each component must exceed, given those before it; constant from the first that does not.

    Parameters
    ----------
    layout : Layout
    mean, variance : (p,) arrays
        Of the design columns, before the metric; the variance with the divisor of the spectrum to be judged.
    metric : (p,) array or None
        The factor of each centred design column.
    n : float
        Degrees of freedom of the covariance: rows less one.
    values, vectors : (r,) and (p, at least r) arrays
        Its eigenpairs, descending.
    """
    factor = np.ones(layout.width) if metric is None else metric
    number = ~layout.is_level
    alone = (variance * np.square(factor))[number]
    spans = [span for span, categorical in zip(layout.spans(), layout.categorical, strict=True) if categorical]
    blocks = [_block(mean[span], variance[span], factor[span]) for span in spans]
    d = int((alone > 0).sum()) + sum(max(int((mean[span] > 0).sum()) - 1, 0) for span in spans)
    sample = min(d, n)
    out = np.empty(len(values))
    for k, value in enumerate(values):
        spectrum = np.concatenate([alone, *(np.linalg.eigvalsh(block) for block in blocks)])
        out[k:] = noise_threshold(np.maximum(spectrum, 0.0) * (sample / max(sample - k, 1.0)), n)
        if value <= out[k]:
            break
        alone = alone - value * np.square(vectors[number, k])
        parts = [vectors[span, k] for span in spans]
        blocks = [block - value * np.outer(v, v) for block, v in zip(blocks, parts, strict=True)]
    return out


def _block(share: Array, variance: Array, factor: Array) -> Array:
    """Return the covariance of the levels of one column in the metric."""
    # The divisor is hidden in the variances: they are share (1 - share) times W / (W - ddof).
    spread = float((share * (1 - share)).sum())
    ratio = float(variance.sum()) / spread if spread > 0 else 0.0
    return (np.diag(share) - np.outer(share, share)) * np.outer(factor, factor) * ratio


def noise_threshold(spectrum: Array, n: float, quantile: float = TRACY_WIDOM_95) -> float:
    """Return the sample eigenvalue that noise with this population spectrum exceeds in one case of twenty.

    Parameters
    ----------
    spectrum : (d,) array
        Eigenvalues of the null covariance.
    n : float
        Degrees of freedom of the sample covariance: rows less one.
    quantile : float
        Of the Tracy-Widom distribution; 0 gives the edge itself.

    Examples
    --------
    The Marchenko-Pastur edge of 100 columns of unit variance and 400 rows is (1 + 1/2)^2:

    >>> round(noise_threshold(np.ones(100), 400, quantile=0), 6)
    2.25
    """
    top = float(spectrum.max(initial=0.0))
    if top <= 0:
        return 0.0
    t = spectrum / top

    def slope(c: float) -> float:
        return 1.0 - float(np.square(c * t / (1.0 - c * t)).sum()) / n

    # The slope falls from 1 at c = 0 to minus infinity at c = 1; at 1 - 1/(2 sqrt n) the largest term alone exceeds n.
    c = float(brentq(slope, 0.0, 1.0 - 0.5 / (np.sqrt(n) + 1.0), xtol=1e-14))
    pull = t / (1.0 - c * t)
    edge = 1.0 / c + float(pull.sum()) / n
    spread = np.cbrt(1.0 / c**3 + float((pull**3).sum()) / n)
    return float(top * (edge + quantile * spread * n ** (-2.0 / 3.0)))
