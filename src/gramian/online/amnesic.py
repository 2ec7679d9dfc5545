"""Principal components without a learning rate: candid covariance-free incremental PCA, for batches and with guard units.

Oja's rule w <- w + eta y (x - y w) turns towards the first component at a rate of eta times the gap of variances, and wanders
by eta times the variance. Which eta is right depends on the units of the data, so the automatic rate of a unit is counted in
its own variance, eta_t = g_t / l with l = |v| and v = l w: the rule becomes a running mean (Weng, Zhang and Hwang 2003),

    v <- (1 - g_t) v + g_t x (x^T v / |v|),        g_t = 1 - (1 - 1/t)^(1 + a), about (1 + a) / t,

whose length is the variance. It changes with the units of x as it should, and has nothing to tune. A row at time s counts s^a:
rows at the start met bad weights, and a > 0 forgets them in time. The authors take a = 2 to 4 for the rule as it stands.

Two things are added.

*Batches.* With Q (k, p) the orthonormal directions and D their variances, b rows X make one update of all units,

    Z = (1 - g) D Q + (g / b) (X Q^T)^T X,        Q, D <- directions and lengths of Z (an SVD),

with g = 1 - (1 - b / t)^(1 + a), what the weights s^a sum to over the last b of t rows. (The published (1 + a) / t exceeds 1
for the first rows.) A fixed point has C Q = D Q: components, without bias from what is left out. Where the mean of the rows
moves by h, the rows before move by -h, and their covariance gains h h^T. Over several epochs in random order Z is a mean of
whole epochs, up to the rise of s^a within each: after E of them about E^-1.5 of the sampling error is left.

*Guard units.* The mean converges like t^-((1 + a) (1 - l_{k+1} / l_k)): variances 10% apart are never told apart. With q more
units than asked for, rotated among each other by the SVD, it is r = l_{k+q+1} / l_k that counts, as in a randomised SVD (Halko,
Martinsson and Tropp 2011, from whom q = 10).

*Row by row.* Where each row makes an update, unit i sees what the units before it leave, x_i = x - sum_{j < i} q_j q_j^T x. The
units are orthogonal only in the limit: v_i is a mean over rows that were deflated by older q_j. So units beyond the rank of the
rows are not zero. They hold what lies between older and newer directions, inside the span of the units before them, and their
lengths and angles say nothing about variances. Nothing is therefore read off the units but their span: with B (m, p) an
orthonormal basis of it and X the b rows of an update, the covariance within it is measured,

    M = (1 - g) (B Q^T) D (B Q^T)^T + B X^T diag(e) X B^T,        sum of e = g,

and units and variances are its eigenvectors (times B) and eigenvalues (the Rayleigh-Ritz step). A unit without variance of its
own then has an eigenvalue of 0 and is dropped, and directions that repeat each other count once.

*Forgetting.* With a factor f per row, the row that has r rows after it weighs f^r, and a row of weight w as w rows:

    e = f^r (1 - f^w) / (1 - f^t),        t the weight of all rows, this sum over all of them being 1.

Both kinds of weights are differences of one function F of time, F(t) = t^(1 + a) or f^-t - 1: the row between s and t counts
(F(t) - F(s)) / F(end). They add up in the same way however the rows are cut into updates and calls.

*Which a.* The weights s^a leave (1 + 2a) / (1 + a)^2 of the sample, and the start is forgotten before the sampling error t^-1/2
where (1 + a) (1 - r) >= 1/2. With a = 1 the standard error is 15% above that of equal weights, and r may be up to 3/4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.online.row_loops import learn_amnesic
from gramian.online.rows import Batch, faded

AMNESIA = 1.0
AMNESIA_OF_AUTHORS = 2.0
"""For CCIPCA row by row as it was published, without guard units."""
GUARDS = 10

FEWEST_ROWS = 256
"""Rows of an update at least, beside which the call itself costs nothing."""

_NEGLIGIBLE = 1e-12
"""Share of the largest variance below which a direction is rounding."""
_SEEDING_ROUNDS = 2
_AT_ONCE = 256
"""Rows that are expanded to all design columns at a time."""


@dataclass(frozen=True, eq=False)
class Amnesic:
    """Directions, and how much has been seen.

    Attributes
    ----------
    directions : (m, p) array
        Orthonormal rows; fewer than asked for while the rows seen have not spanned more.
    variances : (m,) array
        Of the rows along them, divided by their weight.
    weight : float
        Of all rows seen, each time they were seen.
    """

    directions: Array
    variances: Array
    weight: float = 0.0

    @classmethod
    def none(cls, p: int) -> Amnesic:
        """Return no directions over p columns."""
        return cls(np.empty((0, p)), np.empty(0))


def shares_of(weights: Array, before: float, forgetting: float | None = None, amnesia: float = AMNESIA) -> Array:
    """Return g of each row: what it counts, when it is the last, beside all rows up to it.

    Parameters
    ----------
    weights : (n,) array
        Of the rows, in their order.
    before : float
        Weight of the rows before them.
    forgetting : float, optional
        What a row's weight falls to with each later row; without it, rows count by s^a.
    amnesia : float
        The power a.

    Examples
    --------
    >>> shares_of(np.ones(3), 0.0).round(6), shares_of(np.ones(3), 0.0, 0.5).round(6)
    (array([1.      , 0.75    , 0.555556]), array([1.      , 0.666667, 0.571429]))
    >>> float(shares_of(np.ones(1), 1e6, 0.99)[0].round(6))
    0.01
    """
    ends = before + np.cumsum(weights)
    if forgetting is not None:
        rate = np.log(float(forgetting))
        return np.asarray(np.expm1(rate * weights) / np.expm1(rate * ends))
    # The first row has nothing before it: log(0) is minus infinity, and its share 1.
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1((1.0 + amnesia) * np.log1p(-np.minimum(weights / ends, 1.0))))


def share_of(weight: float, before: float, forgetting: float | None = None) -> float:
    """Return g of rows of some weight together, beside those before.

    Examples
    --------
    >>> share_of(1.0, 0.0), round(share_of(1.0, 9.0), 6), round(share_of(2.0, 0.0, 0.99), 6)
    (1.0, 0.19, 1.0)
    """
    return float(shares_of(np.array([weight]), before, forgetting)[0])


def directions_of(Z: Array) -> tuple[Array, Array]:
    """Return orthonormal rows that span those of Z, longest first, and their lengths (an SVD); what is rounding is left out.

    Examples
    --------
    >>> Q, d = directions_of(np.array([[0.0, 3.0, 0.0], [0.0, 0.0, -4.0], [0.0, 0.0, 0.0]]))
    >>> np.abs(Q), d
    (array([[0., 0., 1.],
           [0., 1., 0.]]), array([4., 3.]))
    """
    largest = float(np.abs(Z).max(initial=0.0))
    if not np.isfinite(largest):
        raise DataError("the numbers are too large to learn from; scale the columns first")
    if not largest > 0:
        return Z[:0], np.empty(0)
    # Squares neither overflow nor vanish.
    unit = Z if 1e-100 < largest < 1e100 else Z / largest
    scale = 1.0 if unit is Z else largest
    values, vectors = np.linalg.eigh(unit @ unit.T)
    lengths = np.sqrt(np.maximum(values[::-1], 0.0))
    # The square has half the digits: beyond a ratio of 1e4, the slower way keeps all of them.
    if lengths[-1] > 1e-4 * lengths[0]:
        return (vectors[:, ::-1] / lengths).T @ unit, lengths * scale
    basis, triangle = np.linalg.qr(unit.T)
    turned, lengths, _ = np.linalg.svd(triangle)
    kept = lengths > _NEGLIGIBLE * lengths[0]
    return (basis @ turned[:, kept]).T, lengths[kept] * scale


def rows_of_update(columns: int, entries: float, size: int) -> int:
    """Return how many rows make an update cost no more than their own products with the weights.

    The SVD costs about k^2 p, the products b k for each entry of a row: b = k p / entries rows, and at least 256.

    Examples
    --------
    >>> rows_of_update(500, 500.0, 20), rows_of_update(2000, 20.0, 20)
    (256, 2000)
    """
    return max(FEWEST_ROWS, int(np.ceil(size * columns / max(entries, 1.0))))


def seeded(state: Amnesic, batch: Batch, size: int, rng: np.random.Generator) -> Amnesic:
    """Return a state with up to `size` directions, those that are missing taken from what the others leave of a batch."""
    missing = size - len(state.directions)
    if missing <= 0:
        return state
    Q, w = state.directions, batch.weights[:, None]

    def left(rows: Array) -> Array:
        # Twice, so that what is left is orthogonal to rounding.
        rows = rows - (rows @ Q.T) @ Q
        return rows - (rows @ Q.T) @ Q

    whole = batch.back(np.sqrt(w) * rng.standard_normal((len(batch), min(missing, len(batch)))))
    scale = float(np.abs(whole).max(initial=0.0))
    fresh, lengths = directions_of(left(whole))
    for _ in range(_SEEDING_ROUNDS):
        fresh, lengths = directions_of(left(batch.back(w * batch.outputs(fresh))))
    # What is left of known directions is rounding, not a direction.
    fresh = fresh[lengths > 1e-10 * max(scale**2, float(lengths.max(initial=0.0)))] if len(Q) else fresh
    if not len(fresh):
        return state
    return replace(
        state,
        directions=np.vstack([Q, fresh]),
        variances=np.concatenate([state.variances, np.zeros(len(fresh))]),
    )


def learn_batch(
    state: Amnesic,
    batches: Iterable[Batch],
    size: int,
    *,
    rng: np.random.Generator,
    shift: Array | None = None,
    forgetting: float | None = None,
    anew: bool = False,
) -> Amnesic:
    """Return the state after one update with some rows.

    Parameters
    ----------
    state : Amnesic
    batches : iterable of Batch
        All of them make one update.
    size : int
        Directions wanted, guard units included.
    rng : Generator
        Of the first directions.
    shift : (p,) array, optional
        By how much the mean has moved since the rows before.
    forgetting : float, optional
        What a row's weight falls to with each later row.
    anew : bool
        Take nothing over but the directions: for batches that are all the rows there are.
    """
    total: Array | None = None
    weight = counted = 0.0
    for batch in batches:
        state = seeded(state, batch, size, rng)
        own, counts = float(batch.weights.sum()), batch.weights
        if forgetting is not None and not anew:
            counts, fading = faded(counts, forgetting), forgetting**own
            counted *= fading
            total = None if total is None else fading * total
        part = batch.back(counts[:, None] * batch.outputs(state.directions))
        if total is not None and len(total) < len(part):
            # Directions found meanwhile have met only the rows from then on.
            part[: len(total)] += total
            total = part
        else:
            total = part if total is None else total + part
        weight += own
        counted += float(counts.sum())
    if total is None or not weight > 0:
        return state
    share = 1.0 if anew else share_of(weight, state.weight, forgetting)
    # In place: for rows of few entries these sums over all columns are what an update costs.
    total *= share / counted
    if share < 1:
        total += ((1 - share) * state.variances)[:, None] * state.directions
        if shift is not None:
            total += (1 - share) * np.outer(state.directions @ shift, shift)
    directions, variances = directions_of(total)
    return Amnesic(directions, variances, state.weight + weight)


def learn_rows(
    state: Amnesic,
    batch: Batch,
    size: int,
    *,
    shift: Array | None = None,
    forgetting: float | None = None,
    rotate: bool = True,
) -> Amnesic:
    """Return the state after one update with each row in turn, then, where asked for, rotated among each other.

    Parameters
    ----------
    state : Amnesic
    batch : Batch
        In the order in which its rows are learnt.
    size : int
        Directions wanted.
    shift : (p,) array, optional
        By how much the mean has moved since the rows before.
    forgetting : float, optional
        What a row's weight falls to with each later row.
    rotate : bool
        Whether the units are turned to the eigenvectors of the covariance within their span (see the module). Without, this
        is CCIPCA as it was published.
    """
    vectors = np.zeros((size, len(batch.mean)))
    vectors[: len(state.directions)] = state.variances[:, None] * state.directions
    shares = shares_of(batch.weights, state.weight, forgetting, AMNESIA if rotate else AMNESIA_OF_AUTHORS)
    for start in range(0, len(batch), _AT_ONCE):
        part = batch.part(slice(start, start + _AT_ONCE))
        learn_amnesic(part.expanded(), vectors, shares[start : start + _AT_ONCE])
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > _NEGLIGIBLE * lengths.max(initial=0.0)
    directions, lengths = vectors[kept] / lengths[kept, None], lengths[kept]
    if rotate and len(directions):
        directions, lengths = _rotated(state, directions_of(directions)[0], batch, shares, shift)
    return Amnesic(directions, lengths, state.weight + float(batch.weights.sum()))


def _rotated(state: Amnesic, basis: Array, batch: Batch, shares: Array, shift: Array | None) -> tuple[Array, Array]:
    """Return directions within the span of a basis (m, p), and their variances: those before and those of some rows."""
    # What is left of each row, and of all before the first, once the rows after it have taken their shares.
    left = np.cumprod(np.append(1.0 - shares, 1.0)[::-1])[::-1]
    outputs = batch.outputs(basis)
    covariance = outputs.T @ ((shares * left[1:])[:, None] * outputs)
    if left[0] > 0:
        across = state.directions @ basis.T
        covariance += left[0] * (across.T * state.variances) @ across
        if shift is not None:
            moved = basis @ shift
            covariance += left[0] * np.outer(moved, moved)
    variances, turned = np.linalg.eigh(covariance)
    kept = np.flatnonzero(variances > _NEGLIGIBLE * variances.max(initial=0.0))[::-1]
    return turned[:, kept].T @ basis, variances[kept]
