r"""The largest eigenvalue that noise alone would show: Horn's parallel analysis as a formula.

Horn compares the spectrum with that of data whose source columns are independent of one another but otherwise alike, and
keeps the components that stand out. His null needs no simulation. Over the n - 1 directions of centred rows each source
column is a positive semi-definite matrix A_j whose spectrum is *known*, since independence leaves a column as it is:
eigenvalues t of its own block of the covariance, zeros otherwise. Independent columns turn these matrices at random against
each other, and the spectrum of their sum is then the free convolution of the spectra. With w_j(g) the solution of

    g = (1 - r_j/n) / w + (1/n) sum_i 1 / (w - t_ji)            r_j the rank, n the degrees of freedom: rows less one

the sum has its upper edge at the minimum over g > 0 of

    K(g) = 1/g + sum_j [w_j(g) - 1/g],

and its largest eigenvalue fluctuates about the edge by (K''(g)/2)^(1/3) n^(-2/3) times a Tracy-Widom variable (real case). The
threshold is its 95 % point, the usual choice for Horn's rule. Special cases:

- a column of L levels in the chi-squared metric of MCA and FAMD is a projector of rank L - 1, a number of variance t is t
  times one of rank 1: with a = r/n and u = t g the bracket is t [(u - 1) + sqrt((u + 1)^2 - 4 u (1 - a))] / (2u);
- two categories: 1 + sqrt(a (1 - b)) + sqrt(b (1 - a)), the edge of Wachter's law of canonical correlations;
- d numbers of unit variance, d/n = c: the brackets sum to c / (1 - g), the Marchenko-Pastur edge (1 + sqrt c)^2;
- numbers in their own units (`scale=False`): each keeps its own variance. What stands out is then *shared* variance: a column
  of large variance that is independent of the others is a component, but there is nothing to see in it beyond itself.

*Few columns.* The fluctuation is asymptotic. In the real case the edge is that of slightly fewer dimensions, as for Wishart
matrices (Ma 2012): half a one for each side of a rectangle, hence 1 for two columns; 3/2 for more, where a symmetric matrix
of independent entries has variance 2 on its diagonal, and this one none.

*Later components.* A strong component adds to the variances of the columns it loads on and so would hide weaker ones behind a
raised threshold. Therefore component k is judged against the null of what the first k - 1 have left (deflation): each source
column's block less sum l_i v_i v_i^T over them, and the whole times s / (s - k + 1), s = min(d, n), because what is left of
the noise varies in that many directions of s. The first that does not stand out ends the row.

*Rare levels* are not turned at random: they sit on few rows, and add to the noise of components. In the chi-squared metric the
cell of levels u and v of two columns holds (N_uv - n_u n_v / n) / sqrt(n_u n_v): variance 1/n under independence whatever the
levels, but with few rows hardly ever anything, and then much. Two things follow.

*The edge moves.* The fourth cumulant of a cell is 1 / (n n_u n_v), that of a Poisson count. For a symmetric matrix whose rows
have variances that sum to 1 and fourth cumulants that sum to x, the trace of the resolvent solves 1 + z m + m^2 + x m^4 = 0 in
place of the semicircle's (Lee and Schnelli 2018), so that the edge lies at the minimum over m of 1/m + m + x m^3 in place of
1/m + m. With blocks of unlike size the term added to K is dF/dM, F = 1/4 sum_jk C_jk m_j^2 m_k^2 and M = sum_j r_j m_j, where
m_j is the resolvent at a level of column j and C_jk the sum of the cumulants of a pair of columns. Where all levels of a
column have equally many rows, however few, random partitions of the rows are free (as random permutations are) and nothing
moves: C counts what the cumulants exceed those of even margins by.

*Single rows stand out.* A row whose levels are rare in several columns at once is a component of its own, with eigenvalue Q
where it alone has each of its Q levels. Take a row away from the sum of all x_i x_i^T, x_i its entries 1/sqrt(n_u): what is
left has the resolvent of the noise, at level u of column j

    h_u = 1 / (z - (z / w_j) (1 - 1/n_u)),

w_j above at K = z, as one of the n_u rows that tie the level to the others is gone. The row makes an
eigenvalue above z where sum_j h_u / n_u >= 1. Levels of different columns are independent under the null, so the expected
number of such rows is n times the upper tail of a sum of Q independent terms, each with the distribution of its column's
margin: a convolution, no simulation.

References
----------
Horn 1965; Wachter 1980; Voiculescu 1986; Johnstone 2001; Ma 2012; Dobriban and Owen, Deterministic parallel analysis, 2019;
Lee and Schnelli, Local law and Tracy-Widom limit for sparse random matrices, Probab. Theory Relat. Fields 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr
from scipy.stats import gamma

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.linear.layout import Layout

LEVEL = 0.05
"""Share of null tables whose largest eigenvalue may exceed the threshold."""

_TRACY_WIDOM = gamma(46.446, loc=-9.84801, scale=0.186054)
"""The Tracy-Widom distribution of real symmetric matrices, as a shifted gamma (Chiani 2014), to 1e-3 of its tail."""


@dataclass(frozen=True, eq=False)
class Spectra:
    """The eigenvalues of each source column's covariance, and how often each occurs.

    Attributes
    ----------
    values, times : (m, w) arrays
        One row per source column. A column of fewer than w distinct eigenvalues is filled up with values of 0 times.

    Examples
    --------
    >>> Spectra.of([(np.array([2.0]), np.ones(1)), (np.array([1.0, 3.0]), np.array([4.0, 1.0]))]).top
    array([2., 3.])
    """

    values: Array
    times: Array

    @classmethod
    def of(cls, blocks: Sequence[tuple[Array, Array]]) -> Spectra:
        """Return the spectra of columns, given as eigenvalues and how often each occurs."""
        out = np.zeros((2, len(blocks), max((len(values) for values, _ in blocks), default=1)))
        for j, block in enumerate(blocks):
            out[:, j, : len(block[0])] = block
        return cls(out[0], out[1])

    @cached_property
    def top(self) -> Array:
        """The largest eigenvalue of each column."""
        return self.values.max(axis=1)

    def varying(self) -> Spectra:
        """Return the columns that vary."""
        varies = self.top > 0
        return Spectra(self.values[varies], self.times[varies])

    def fewer(self) -> Spectra:
        """Return the columns with the dimensions that few columns lack, see the top of the module."""
        missing = 1.0 if len(self.values) == 2 else 1.5
        return Spectra(self.values, self.times * max(1.0 - missing / float(self.times.sum()), 0.25))


@dataclass(frozen=True)
class Edge:
    """Where the noise ends, how far its largest eigenvalue strays from there, and the g of the minimum."""

    value: float
    spread: float
    g: float

    def quantile(self, level: float) -> float:
        """Return what the largest eigenvalue exceeds in a share `level` of null tables."""
        return self.value + self.spread * float(_TRACY_WIDOM.isf(level))

    def exceeded(self, value: float) -> float:
        """Return the share of null tables whose largest eigenvalue exceeds `value`."""
        return (
            float(_TRACY_WIDOM.sf((value - self.value) / self.spread)) if self.spread > 0 else float(value < self.value)
        )


class FreeSum:
    """The columns' spectra, ready for w_j(g).

    Parameters
    ----------
    spectra : Spectra
    n : float
        Degrees of freedom.
    """

    def __init__(self, spectra: Spectra, n: float) -> None:
        self.ranks, self.tops = spectra.times.sum(axis=1), spectra.top
        # Numbers alike in variance are one term, many times over.
        table = np.stack([spectra.values, spectra.times], axis=1)
        alike, self.which, self.often = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        self.values, self.share = alike[:, 0], alike[:, 1] / n
        self.top = self.values.max(axis=1)
        self.at_top = np.where(self.values == self.top[:, None], self.share, 0.0).sum(axis=1)
        self.single = (self.share > 0).sum(axis=1) == 1

    def brackets(self, g: float) -> Array:
        """Return w_j(g) - 1/g of each block, in the order in which they were given."""
        return self._distinct(g)[self.which.reshape(-1)]

    def __call__(self, g: float) -> float:
        """Return K(g)."""
        return 1.0 / g + float(self.often @ self._distinct(g))

    def _distinct(self, g: float) -> Array:
        t, a = self.top, self.at_top
        u = t * g
        # Of two forms of the root the one without cancellation for a small share.
        out = 2 * t * a / ((1 - u) + np.sqrt(np.square(u - 1) + 4 * u * a))
        if self.single.all():
            return out
        values, share = self.values[~self.single], self.share[~self.single]
        rest = 1.0 - share.sum(axis=1)
        # Newton's method on a falling convex function, from a point before the root: it comes from one side.
        w = np.maximum(t[~self.single] + a[~self.single] / g, 1.0 / g)
        for _ in range(100):
            apart = w[:, None] - values
            pull = np.divide(share, apart, out=np.zeros_like(share), where=share > 0)
            slope = rest / w**2 + np.divide(pull, apart, out=np.zeros_like(share), where=share > 0).sum(axis=1)
            step = (rest / w + pull.sum(axis=1) - g) / slope
            w = w + step
            if np.all(np.abs(step) <= 1e-14 * w):
                break
        out[~self.single] = w - 1.0 / g
        return out


def noise_edge(spectra: Spectra, n: float, cumulants: Array | None = None) -> Edge:
    """Return the upper edge of the sum of independent columns of these spectra.

    Parameters
    ----------
    spectra : Spectra
    n : float
        Degrees of freedom.
    cumulants : (q, q) array, optional
        Of the last q columns, which have rare levels, see the top of this module.

    Examples
    --------
    The Marchenko-Pastur edge of unit variances at one column to four rows is (1 + 1/2)^2, up to terms of 1/n:

    >>> ones = np.ones((10_000, 1))
    >>> round(noise_edge(Spectra(ones, ones), 40_000).value, 3)
    2.25

    And two categories of 31 levels in 300 rows have Wachter's, 1 + 2 sqrt(a (1 - a)) with a = 30/300:

    >>> round(noise_edge(Spectra(np.ones((2, 1)), np.full((2, 1), 30.0)), 300).value, 6)
    1.6
    """
    top = float(spectra.top.max(initial=0.0))
    if top <= 0:
        return Edge(0.0, 0.0, 1.0)
    free = FreeSum(Spectra(spectra.values / top, spectra.times), n)

    def transform(log_g: float) -> float:
        g = float(np.exp(log_g))
        return free(g) if cumulants is None else free(g) + _added(free, g, cumulants)

    minimum = minimize_scalar(transform, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-9})
    g, h = float(np.exp(minimum.x)), 1e-3
    curvature = transform(np.log(g * (1 + h))) - 2 * transform(np.log(g)) + transform(np.log(g * (1 - h)))
    curvature = max(curvature, 0.0) / np.square(g * h)
    return Edge(top * float(minimum.fun), top * float(np.cbrt(curvature / 2)) * n ** (-2.0 / 3.0), g / top)


def _added(free: FreeSum, g: float, cumulants: Array) -> float:
    """Return dF/dM at g, the term that rare levels add to K."""

    def parts(at: float) -> tuple[float, float]:
        brackets = free.brackets(at)
        w = brackets + 1.0 / at
        m = w / ((1.0 / at + brackets.sum()) * (w - free.tops))
        squares = np.square(m[-len(cumulants) :])
        return 0.25 * float(squares @ cumulants @ squares), float(free.ranks @ m)

    (f0, m0), (f1, m1) = parts(g * (1 - 1e-3)), parts(g * (1 + 1e-3))
    return (f1 - f0) / (m1 - m0)


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
    null = NullColumns(layout, mean, variance, metric, values, vectors)
    out = np.empty(len(values))
    ratio = 1.0
    for k, value in enumerate(values):
        left = null.spectra(k)
        sample = min(null.dimensions, n)
        left = Spectra(left.values * (sample / max(sample - k, 1.0)), left.times)
        edge = null_edge(left, n)
        if k == 0 and metric is not None:
            plain = edge.quantile(LEVEL)
            ratio = _with_rare_levels(null, left, edge, n) / plain if plain > 0 else 1.0
        # Rounding of a spectrum in which a whole column, or all of them together, are the largest there can be.
        out[k:] = ratio * edge.quantile(LEVEL) * (1 + 1e-9)
        if value <= out[k]:
            break
    return out


def null_edge(spectra: Spectra, n: float) -> Edge:
    """Return the edge as few columns have it, see the top of the module."""
    varying = spectra.varying()
    top = float(varying.top.max(initial=0.0))
    if len(varying.top) < 2:
        # One column is its own null.
        return Edge(top, 0.0, 1.0)
    edge = noise_edge(varying.fewer(), n)
    return edge if edge.value >= top else Edge(top, edge.spread, edge.g)


def _with_rare_levels(null: NullColumns, spectra: Spectra, edge: Edge, n: float) -> float:
    """Return the first threshold where some levels have few rows."""
    counts = [np.rint(share * (n + 1)) for share in null.shares]
    counts = [each[each > 0] for each in counts]
    if len(counts) < 2:
        return edge.quantile(LEVEL)
    few = spectra.varying().fewer()
    moved = noise_edge(few, n, excess_cumulants(counts, n))
    start = moved.quantile(LEVEL)
    most = float(spectra.top.sum())
    free = FreeSum(few, n)

    def excess(z: float) -> float:
        # The branch of g below the minimum, where K falls from infinity.
        log_g = brentq(lambda x: free(float(np.exp(x))) - z, np.log(edge.g) - 30, np.log(edge.g))
        g = float(np.exp(log_g))
        brackets = free.brackets(g)
        categorical, rest = brackets[-len(counts) :] + 1.0 / g, float(brackets[: -len(counts)].sum())
        return rare_levels_share(counts, categorical, z, rest, n + 1) + moved.exceeded(z) - LEVEL

    if start >= most or excess(most) > 0:
        return max(most, start)
    return float(brentq(excess, start, most, xtol=1e-4 * edge.spread)) if excess(start) > 1e-4 else start


class NullColumns:
    """The covariance blocks of the source columns, and what a number of components leaves of them.

    Parameters
    ----------
    layout, mean, variance, metric, values, vectors
        As for `noise_thresholds`.
    """

    def __init__(
        self, layout: Layout, mean: Array, variance: Array, metric: Array | None, values: Array, vectors: Array
    ) -> None:
        factor = np.ones(layout.width) if metric is None else metric
        loads = vectors[:, : len(values)] * np.sqrt(np.maximum(values, 0.0))
        number = ~layout.is_level
        self._alone = (variance * np.square(factor))[number]
        self._taken = np.cumsum(np.square(loads[number]), axis=1)
        parts = zip(layout.spans(), layout.categorical, strict=True)
        spans = [span for span, is_one in parts if is_one and int((mean[span] > 0).sum()) > 1]
        self.shares = [mean[span] for span in spans]
        # The divisor is hidden in the variances: they are share (1 - share) times W / (W - ddof).
        ratios = [float(variance[span].sum() / (mean[span] * (1 - mean[span])).sum()) for span in spans]
        self._levels = [
            _Levels(mean[span], factor[span], ratio, loads[span]) for span, ratio in zip(spans, ratios, strict=True)
        ]
        self.dimensions = int((self._alone > 0).sum()) + sum(int((s > 0).sum()) - 1 for s in self.shares)

    def spectra(self, k: int) -> Spectra:
        """Return the spectrum of each source column's block after k components, numbers first."""
        alone = self._alone - self._taken[:, k - 1] if k else self._alone
        of_levels = Spectra.of([each.block(k) for each in self._levels])
        values, times = np.zeros((2, len(alone), of_levels.values.shape[1]))
        values[:, 0], times[:, 0] = np.maximum(alone, 0.0), 1.0
        return Spectra(np.concatenate([values, of_levels.values]), np.concatenate([times, of_levels.times]))


class _Levels:
    """One category: its covariance in the metric, and its share of the components."""

    def __init__(self, share: Array, factor: Array, ratio: float, loads: Array) -> None:
        self._present = share > 0
        self._share, self._factor = share[self._present], factor[self._present]
        self._ratio, self._loads = ratio, loads[self._present]
        # In the chi-squared metric it is a projector, and what k directions leave of it has the spectrum of a k x k matrix.
        self._projector = np.allclose(np.square(self._factor) * self._share, 1.0, rtol=1e-9)
        self._gram = self._loads.T @ self._loads if self._projector else None

    def block(self, k: int) -> tuple[Array, Array]:
        rank = len(self._share) - 1
        if self._gram is not None and k <= rank:
            inner = np.linalg.eigvalsh(self._ratio * np.eye(k) - self._gram[:k, :k])
            return _block(np.append(inner, self._ratio), np.append(np.ones(k), rank - k))
        centred = np.diag(self._share) - np.outer(self._share, self._share)
        loads = self._loads[:, :k]
        matrix = centred * np.outer(self._factor, self._factor) * self._ratio - loads @ loads.T
        spectrum = np.asarray(np.linalg.eigvalsh(matrix)[1:], dtype=np.float64)
        return _block(spectrum, np.ones(rank))


def _block(values: Array, times: Array) -> tuple[Array, Array]:
    kept = (values > 0) & (times > 0)
    return (values[kept], times[kept]) if kept.any() else (np.zeros(1), np.ones(1))


GRID = 512
"""Steps to one in which the terms are convolved."""

SCATTER = 0.04
"""Standard deviation of such a sum by what the other rows of the levels happen to be (in simulated tables)."""


def excess_cumulants(counts: Sequence[Array], n: float) -> Array:
    """Return C, the fourth cumulants of the cells of each pair of columns, summed, less those of even margins.

    Parameters
    ----------
    counts : sequence of arrays
        Rows of each level, one array per column.
    n : float
        Degrees of freedom.

    Examples
    --------
    >>> excess_cumulants([np.full(10, 100.0), np.full(20, 50.0)], 1000.0)
    array([[0., 0.],
           [0., 0.]])
    """
    # The sums differ from level to level, and the edge goes by the larger of them: means weighted by themselves.
    uneven = np.array([np.sqrt(len(each) * np.square(1.0 / each).sum()) for each in counts])
    even = np.array([np.square(float(len(each))) / each.sum() for each in counts])
    out = (np.multiply.outer(uneven, uneven) - np.multiply.outer(even, even)) / n
    np.fill_diagonal(out, 0.0)
    return out


def rare_levels_share(counts: Sequence[Array], inner: Array, z: float, rest: float, n_rows: float) -> float:
    """Return how many single rows are expected to make an eigenvalue above z, under independence.

    Parameters
    ----------
    counts : sequence of arrays
        Rows of each level, one array per column.
    inner : array
        w_j of each of these columns at z.
    z : float
    rest : float
        What the numbers add to z: they are spread over all rows.
    n_rows : float
    """
    # Beyond the last point a row passes for certain.
    top = GRID + int(np.ceil(8 * SCATTER * GRID))
    sums = np.zeros(top + 1)
    sums[0] = 1.0
    for each, w in zip(counts, inner, strict=True):
        n_u, levels = np.unique(each, return_counts=True)
        at = np.minimum(w / (z * (n_u * (w - 1.0) + 1.0)) * GRID, top)
        share = n_u * levels / n_rows
        low = np.minimum(at.astype(np.intp), top - 1)
        term = np.bincount(low, share * (low + 1 - at), top + 1) + np.bincount(low + 1, share * (at - low), top + 1)
        whole = np.convolve(sums, term)
        sums = whole[: top + 1]
        sums[top] += whole[top + 1 :].sum()
    beyond = np.arange(top + 1) / GRID + rest / z - 1.0
    return float(n_rows * (sums @ ndtr(beyond / SCATTER)))
