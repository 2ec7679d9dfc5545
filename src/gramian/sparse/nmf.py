"""Non-negative factorisation: codes for the atoms, atoms for the codes, in turn, until the loss has settled.

Both halves are the same problem with rows and columns exchanged (exact steps for squared error,
multiplicative ones otherwise), and neither raises the loss. Data are divided by their largest value first:
the losses are homogeneous, so the factors of scaled data are the scaled factors, and no floor depends on a unit.

*Ridge.* Where entries are missing a row may show only entries at which an atom is nearly zero, and least squares then gives
that atom any coefficient. A ridge holds it: ``ridge/(2 p) sum_a ||c_a||^2 ||d_a||^2`` over the k rank-one parts,
added to the loss. For one row it weighs as much as `ridge` more entries of average size at which nothing was found,
so a row of q observed entries shrinks by about q/(q + ridge); it does not change when an atom is scaled and its
coefficients are scaled back.

*Losses* are beta-divergences between entries and their reconstruction. For an entry x, its reconstruction y and its weight w
the loss is ``w d(x, y)`` with

    d(x, y) = (x - y)^2 / 2                     beta = 2, "frobenius"
    d(x, y) = x log(x / y) - x + y              beta = 1, "kullback-leibler"
    d(x, y) = x / y - log(x / y) - 1            beta = 0, "itakura-saito"
    d(x, y) = (x^b + (b - 1) y^b - b x y^(b-1)) / (b (b - 1))   otherwise,

scikit-learn's `beta_loss`. An entry that was not observed has weight 0 and takes no part.

Majorising the convex part of d by Jensen's inequality and the concave part by its tangent gives the multiplicative update

    C <- C * [ ((w x y^(beta-2)) D^T) / ((w y^(beta-1)) D^T) ]^g,   y = C D,

which never raises the loss for g = 1 where 1 <= beta <= 2, 1/(2 - beta) below and 1/(beta - 1) above (Fevotte & Idier 2011).

*The start* is made of the positive parts of singular vectors, or a seeded draw. A singular pair ``s u v^T`` has entries of
both signs; of its two non-negative parts ``u+ v+^T`` and ``u- v-^T`` the heavier is taken (NNDSVD, Boutsidis & Gallopoulos
2008), with zeros raised to the mean so that multiplicative steps can move them. It needs no chance, so that the same data give
the same factors, and a row that is given twice counts as one of weight two. Entries that were not observed are filled with the
mean of their column for this alone.

*Non-negative least squares* for many rows at once takes exact steps in one coefficient after the other (HALS). For a row x
with weights w the loss in its code c is ``1/2 sum_t w_t (x_t - (c D)_t)^2``: quadratic with Gram matrix ``G = D diag(w) D^T``
and linear part ``b = D (w x)``. One coefficient's best value with the others fixed is

    c_a <- max(0, c_a + (b_a - (G c)_a) / G_aa),

so no step raises the loss. Without weights G is the same for all rows. With weights (0 where an entry was not
observed) the rows' Gram matrices are one matrix product: the weights (n x p) times the outer products ``d_t d_t^T``
of the columns of D (p x k^2). The update of D is the same with rows and columns exchanged. Sweeps over a row are
cheap beside the products before them, so several are made while they still pay: until one moves less than a hundredth
of what the first did (Gillis & Glineur 2012).

A ridge adds ``1/2 sum_a ridge_a c_a^2``: ridge_a to G_aa, and nothing else.

*Streams.* Each batch is coded with the atoms there are, added to the sums, and the atoms are solved from the sums. For squared
error the update of column t of the atoms needs ``A_t = sum_i w_it c_i c_i^T`` (k x k) and ``b_t = sum_i w_it x_it c_i``: sums
over rows. Where everything was observed A is the same for all columns and is kept once; the first entry that is missing gives
each column its own. For the other losses the sums are the two sides of the multiplicative update, the numerator times the
atoms it was made with (Lefevre, Bach & Fevotte 2011).

*Which ridge* holds coefficients where entries are missing is judged at observed entries that are hidden from the fit. How much
to hold depends on the table. Where few parts make all of it, least squares is right and any ridge only shrinks; where parts
are many and a row shows little of some, a coefficient without a hold is whatever fits the noise of a few entries. What
observed entries say about this is what a fit without some of them makes of those: a tenth is hidden, at most from a thousand
rows, every ridge is fitted to the rest, and the one of the least squared error at the hidden ones is taken. Rows and columns
keep an entry each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import DataError

SWEEPS = 10
"""Sweeps over a row's coefficients in one iteration, at most; they end sooner where they no longer pay."""

SETTLED = 1e-20
"""Squared move of a sweep, relative to the first, at which the codes of new rows have settled."""


@dataclass(frozen=True)
class Factors:
    """What a factorisation found.

    Attributes
    ----------
    codes : (n, k) array
    atoms : (k, p) array
    history : array
        The loss at the start and after each iteration.
    """

    codes: Array
    atoms: Array
    history: Array


@dataclass(frozen=True)
class Observed:
    """Entries, and how much each counts.

    Attributes
    ----------
    values : (n, p) array
        0 where not observed.
    weights : (n, p) array or None
        0 where not observed; None where all count alike.
    """

    values: Array
    weights: Array | None

    @classmethod
    def of(cls, values: Array, entry_weight: Any = None, *, beta: float = 2.0) -> Observed:
        """Return entries checked for this loss: NaN is not observed, and no entry is negative.

        Examples
        --------
        >>> Observed.of(np.array([[1.0, np.nan]])).weights
        array([[1., 0.]])
        """
        values = np.array(values, dtype=np.float64, order="C")
        missing = np.isnan(values)
        weights = None
        if entry_weight is not None:
            weights = np.array(entry_weight, dtype=np.float64, order="C")
            if weights.shape != values.shape:
                raise DataError(
                    f"entry_weight has shape {weights.shape} and X {values.shape}; give one weight per entry"
                )
            if not np.isfinite(weights).all() or (weights < 0).any():
                raise DataError("entry_weight holds a negative value, NaN or infinity; weights are numbers from 0")
        if missing.any():
            weights = np.ones_like(values) if weights is None else weights
            weights[missing] = 0.0
            values[missing] = 0.0
        if (values < 0).any():
            row, column = np.argwhere(values < 0)[0]
            raise DataError(
                f"Negative values in data passed to NMF: row {row}, column {column} holds {values[row, column]:g}, and a "
                f"sum of non-negative parts is never negative; shift the column or leave it out"
            )
        counted = np.ones(values.shape, dtype=bool) if weights is None else weights > 0
        if beta <= 0 and (counted & (values == 0)).any():
            row, column = np.argwhere(counted & (values == 0))[0]
            raise DataError(
                f"row {row}, column {column} is zero, where a beta_loss of at most 0 ('itakura-saito') is infinite; use "
                f"'kullback-leibler', or NaN where nothing was observed"
            )
        return cls(values, weights)

    def require_rows(self) -> None:
        """Raise for a row without an observed entry."""
        if self.weights is not None:
            empty = np.flatnonzero(~self.weights.any(axis=1))
            if len(empty):
                raise DataError(f"row {empty[0]} has no observed value; leave it out")

    def require_columns(self, names: Any = None) -> None:
        """Raise for a column without an observed entry."""
        if self.weights is not None:
            empty = np.flatnonzero(~self.weights.any(axis=0))
            if len(empty):
                name = repr(str(names[empty[0]])) if names is not None else str(empty[0])
                raise DataError(f"column {name} has no observed value; leave it out")


def factorise(
    data: Observed,
    n_atoms: int,
    *,
    beta: float = 2.0,
    row_weights: Array | None = None,
    init: str | Array = "svd",
    max_iter: int = 200,
    tol: float = 1e-4,
    ridge: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Factors:
    """Return non-negative codes and atoms whose product is near the data where they were observed.

    Parameters
    ----------
    data : Observed
    n_atoms : int
    beta : float
        Of the loss (see the top of this module).
    row_weights : (n,) array, optional
        How often each row counts.
    init : "svd", "random" or (k, p) array
        Where the atoms begin.
    max_iter : int
    tol : float
        Fall of the loss in an iteration, relative to the loss, at which to stop.
    ridge : float
        Counted in entries of a row; for squared error.
    rng : Generator
        For `"random"`.

    Notes
    -----
    Squared error costs O(n p k) an iteration where everything was observed and O(n p k^2) otherwise; the other losses cost
    O(n p k).

    Examples
    --------
    >>> X = np.outer([1.0, 2.0, 3.0], [4.0, 0.0, 5.0])
    >>> hidden = X.copy()
    >>> hidden[2, 2] = np.nan
    >>> found = factorise(Observed.of(hidden), 1, tol=0)
    >>> (found.codes @ found.atoms)[2, 2].round(3)
    np.float64(15.0)
    """
    scale = float(data.values.max(initial=0.0))
    scale = scale if scale > 0 else 1.0
    values, weights = data.values / scale, data.weights
    joint = weights
    if row_weights is not None:
        joint = (np.ones(values.shape) if weights is None else weights) * row_weights[:, None]
    if isinstance(init, str):
        rng = np.random.default_rng(0) if rng is None else rng
        svd = init == "svd"
        codes, atoms = (
            singular_start(values, weights, row_weights, n_atoms) if svd else random_start(values, n_atoms, rng)
        )
    else:
        atoms = np.array(init, dtype=np.float64, order="C") / scale
        codes = codes_of(Observed(values, weights), atoms, beta=beta, ridge=ridge)
    flipped = np.ascontiguousarray(values.T)
    flipped_weights = None if joint is None else np.ascontiguousarray(joint.T)
    share, counts = ridge / values.shape[1], np.ones(len(values)) if row_weights is None else row_weights

    def loss() -> float:
        held = 0.5 * share * float(counts @ np.square(codes) @ np.square(atoms).sum(axis=1)) if share else 0.0
        return divergence(values, joint, codes @ atoms, beta) + held

    losses = [loss()]
    for _ in range(max_iter):
        if beta == 2:
            held = share * np.square(atoms).sum(axis=1)
            descend_rows(values, weights, atoms, codes, sweeps=SWEEPS, ridge=held)
            columns, across = np.ascontiguousarray(atoms.T), np.ascontiguousarray(codes.T)
            held = share * (np.square(across) @ counts)
            if row_weights is not None and weights is None:
                # Scaled by the roots of their weights rows count as often as they should, and one Gram matrix serves all.
                roots = np.sqrt(row_weights)
                descend_rows(flipped * roots, None, across * roots, columns, sweeps=SWEEPS, ridge=held)
            else:
                descend_rows(flipped, flipped_weights, across, columns, sweeps=SWEEPS, ridge=held)
            atoms = np.ascontiguousarray(columns.T)
        else:
            codes = multiply(codes, *ratio_parts(values, weights, codes @ atoms, atoms, beta), beta)
            made = (codes @ atoms).T
            parts = ratio_parts(flipped, flipped_weights, made, np.ascontiguousarray(codes.T), beta)
            atoms = multiply(atoms.T, *parts, beta).T
        losses.append(loss())
        if losses[-2] - losses[-1] <= tol * losses[-1]:
            break
    history = np.array(losses) * scale**beta
    return Factors(codes, np.ascontiguousarray(atoms) * scale, history)


def codes_of(
    data: Observed, atoms: Array, *, beta: float = 2.0, ridge: float = 0.0, max_iter: int = 2000, tol: float = 1e-7
) -> Array:
    """Return the non-negative codes of rows over atoms that are given, (n, k).

    Parameters
    ----------
    data : Observed
    atoms : (k, p) array
    beta : float
    ridge : float
        Counted in entries of a row; for squared error.
    max_iter : int
        Steps of the multiplicative update, at most; squared error is solved until it has settled.
    tol : float
        Change of a coefficient in a step, relative to the largest, at which those steps stop.

    Examples
    --------
    >>> codes_of(Observed.of(np.array([[2.0, np.nan]])), np.array([[1.0, 1.0]]))
    array([[2.]])
    """
    n, k = len(data.values), len(atoms)
    if beta == 2:
        codes = np.zeros((n, k))
        held = ridge / atoms.shape[1] * np.square(atoms).sum(axis=1)
        descend_rows(data.values, data.weights, atoms, codes, sweeps=10_000, pays=SETTLED, ridge=held)
        return codes
    # Begin where the sum of each reconstruction is that of its row: a scale that multiplicative steps keep.
    total = data.values.sum(axis=1)
    made = atoms.sum(axis=0) if data.weights is None else (data.weights > 0) @ atoms.sum(axis=0)
    reach = made.sum() if data.weights is None else made
    codes = np.repeat((total / np.where(reach > 0, reach, 1.0))[:, None], k, axis=1)
    for _ in range(max_iter):
        after = multiply(codes, *ratio_parts(data.values, data.weights, codes @ atoms, atoms, beta), beta)
        still = np.abs(after - codes).max(initial=0.0) <= tol * after.max(initial=0.0)
        codes = after
        if still:
            break
    return codes


LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}
"""The exponent of each loss that has a name."""

TINY = 1e-300
"""Added to denominators that may be zero where the numerator is too."""


def divergence(values: Array, weights: Array | None, made: Array, beta: float) -> float:
    """Return the weighted loss of a reconstruction.

    Parameters
    ----------
    values, made : (n, p) arrays
    weights : (n, p) array, optional
    beta : float

    Examples
    --------
    >>> divergence(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]), np.array([[3.0, 9.0]]), 2.0)
    2.0
    """
    if beta == 2:
        each = 0.5 * np.square(values - made)
    else:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if beta == 1:
                each = np.where(values > 0, values * np.log(values / made), 0.0) - values + made
            elif beta == 0:
                ratio = values / made
                each = ratio - np.log(ratio) - 1
            else:
                powered = np.power(made, beta - 1)
                each = np.power(values, beta) + (beta - 1) * powered * made - beta * values * powered
                each /= beta * (beta - 1)
    if weights is None:
        return float(each.sum())
    return float((weights * np.where(weights > 0, each, 0.0)).sum())


def exponent(beta: float) -> float:
    """Return the power of the multiplicative step under which no loss rises."""
    if beta < 1:
        return 1 / (2 - beta)
    return 1.0 if beta <= 2 else 1 / (beta - 1)


def ratio_parts(values: Array, weights: Array | None, made: Array, basis: Array, beta: float) -> tuple[Array, Array]:
    """Return numerator and denominator of the multiplicative update, (n, k) each.

    Parameters
    ----------
    values, made : (n, p) arrays
    weights : (n, p) array, optional
    basis : (k, p) array
    beta : float
    """
    made = np.maximum(made, TINY)
    if beta == 1:
        up, down = values / made, np.ones_like(made)
    elif beta == 2:
        up, down = values, made
    else:
        down = np.power(made, beta - 1)
        up = values * (down / made)
    if weights is not None:
        up, down = weights * up, weights * down
    return up @ basis.T, down @ basis.T


def multiply(factors: Array, up: Array, down: Array, beta: float) -> Array:
    """Return factors after one multiplicative step; where nothing was observed they stay."""
    step = np.where(down > 0, up / np.maximum(down, TINY), 1.0)
    power = exponent(beta)
    return np.asarray(factors * (step if power == 1 else np.power(step, power)))


def singular_start(
    values: Array, weights: Array | None, row_weights: Array | None, n_atoms: int
) -> tuple[Array, Array]:
    """Return codes (n, k) and atoms (k, p) from the leading singular vectors.

    Parameters
    ----------
    values : (n, p) array
        0 where not observed.
    weights : (n, p) array, optional
    row_weights : (n,) array, optional
    n_atoms : int
        Those beyond the rank begin as the mean of the rows.

    Examples
    --------
    >>> codes, atoms = singular_start(np.outer([1.0, 2.0], [3.0, 4.0]), None, None, 1)
    >>> (codes @ atoms).round(6)
    array([[3., 4.],
           [6., 8.]])
    """
    filled = values
    if weights is not None:
        total = weights.sum(axis=0)
        means = (weights * values).sum(axis=0) / np.where(total > 0, total, 1.0)
        filled = np.where(weights > 0, values, means)
    scaled = filled if row_weights is None else filled * np.sqrt(row_weights)[:, None]
    right, sizes = _right_vectors(scaled, n_atoms)
    # Left vectors of the rows as they are: a row's weight is how often it counts, not how long it is.
    left = filled @ right / np.where(sizes > 0, sizes, 1.0)
    n, p = values.shape
    mean = float(np.average(filled.mean(axis=1), weights=row_weights))
    codes = np.full((n, n_atoms), np.sqrt(mean / n_atoms))
    atoms = np.full((n_atoms, p), np.sqrt(mean / n_atoms))
    importance = np.ones(n) if row_weights is None else row_weights
    for j in range(len(sizes)):
        u, v = left[:, j], right[:, j]
        if j == 0:
            # Of a non-negative matrix the first pair has one sign (Perron and Frobenius), up to rounding.
            u, v = np.abs(u), np.abs(v)
        ups, vps, ums, vms = np.maximum(u, 0), np.maximum(v, 0), np.maximum(-u, 0), np.maximum(-v, 0)
        plus, minus = _length(ups, importance) * _length(vps), _length(ums, importance) * _length(vms)
        if plus == 0 and minus == 0:
            continue
        u, v, size = (ups, vps, plus) if plus >= minus else (ums, vms, minus)
        scale = np.sqrt(sizes[j] * size)
        codes[:, j] = scale * u / _length(u, importance)
        atoms[j] = scale * v / _length(v)
    codes[codes < 1e-9 * codes.max(initial=0.0)] = 0.0
    atoms[atoms < 1e-9 * atoms.max(initial=0.0)] = 0.0
    level = mean / max(1.0, n_atoms)
    codes[codes == 0] = np.sqrt(level) * 1e-1
    atoms[atoms == 0] = np.sqrt(level) * 1e-1
    return np.ascontiguousarray(codes), np.ascontiguousarray(atoms)


def random_start(values: Array, n_atoms: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return codes and atoms of seeded half-normal entries whose product has the mean of the values."""
    n, p = values.shape
    scale = np.sqrt(float(values.mean()) / n_atoms)
    return scale * np.abs(rng.normal(size=(n, n_atoms))), scale * np.abs(rng.normal(size=(n_atoms, p)))


def _right_vectors(rows: Array, count: int) -> tuple[Array, Array]:
    """Return leading right singular vectors as columns and the singular values, above rounding."""
    n, p = rows.shape
    if p <= n:
        squares, right = eigh_descending(rows.T @ rows, min(count, p))
    else:
        squares, left = eigh_descending(rows @ rows.T, min(count, n))
        right = rows.T @ left
        right /= np.maximum(np.linalg.norm(right, axis=0), np.finfo(np.float64).tiny)
    kept = squares > 1e-14 * max(float(squares[0]), 0.0)
    return right[:, kept], np.sqrt(squares[kept])


def _length(vector: Array, weights: Array | None = None) -> float:
    return float(np.sqrt(np.sum(np.square(vector) if weights is None else weights * np.square(vector))))


BLOCK_BYTES = 2**22
"""Bytes of the Gram matrices of a block of rows: they are made and used while they are in cache."""

PAYS = 0.01
"""Squared move of a sweep, relative to the first, from which another one pays."""


def descend_rows(
    values: Array,
    weights: Array | None,
    basis: Array,
    factors: Array,
    *,
    sweeps: int,
    pays: float = PAYS,
    ridge: Array | None = None,
) -> None:
    """Improve the codes of rows in place: the loss of each falls or stays.

    Parameters
    ----------
    values : (n, p) array
        0 where not observed.
    weights : (n, p) array, optional
    basis : (k, p) array
    factors : (n, k) array
        The codes, changed in place.
    sweeps : int
        Over the coefficients of a row, at most.
    pays : float
        See `PAYS`.
    ridge : (k,) array, optional

    Examples
    --------
    >>> codes = np.zeros((1, 2))
    >>> descend_rows(np.array([[2.0, -1.0]]), None, np.eye(2), codes, sweeps=5)
    >>> codes
    array([[2., 0.]])
    """
    n, p = values.shape
    k = len(basis)
    added = np.zeros(k) if ridge is None else np.ascontiguousarray(ridge, dtype=np.float64)
    if weights is None:
        linear = values @ basis.T
        gram = np.ascontiguousarray((basis @ basis.T)[None])
        step = max(256, -(-n // 8))

        def shared(start: int) -> None:
            rows = slice(start, start + step)
            _sweep(np.ascontiguousarray(linear[rows]), gram, factors[rows], added, sweeps, pays)

        in_threads(shared, range(0, n, step))
        return
    columns = np.ascontiguousarray(basis.T)
    outer = (columns[:, :, None] * columns[:, None, :]).reshape(p, k * k)
    step = max(1, BLOCK_BYTES // (8 * k * k))

    def own(start: int) -> None:
        rows = slice(start, start + step)
        grams = (weights[rows] @ outer).reshape(-1, k, k)
        linear = (weights[rows] * values[rows]) @ columns
        _sweep(linear, grams, factors[rows], added, sweeps, pays)

    with one_blas_thread():
        in_threads(own, range(0, n, step))


def descend_sums(
    linear: Array, grams: Array, factors: Array, *, sweeps: int, pays: float = PAYS, ridge: Array | None = None
) -> None:
    """Improve the codes of rows in place from their linear parts (n, k) and Gram matrices (n or 1, k, k)."""
    added = np.zeros(linear.shape[1]) if ridge is None else np.ascontiguousarray(ridge, dtype=np.float64)
    _sweep(np.ascontiguousarray(linear), np.ascontiguousarray(grams), factors, added, sweeps, pays)


@kernel("void(float64[:,::1], float64[:,:,::1], float64[:,::1], float64[::1], int64, float64)")
def _sweep(linear, grams, factors, ridge, sweeps, pays):  # type: ignore[no-untyped-def]
    n, k = linear.shape
    slopes = np.empty(k)
    for i in range(n):
        gram = grams[i if len(grams) > 1 else 0]
        code = factors[i]
        slopes[:] = linear[i]
        for a in range(k):
            value = code[a]
            if value != 0:
                row = gram[a]
                for b in range(k):
                    slopes[b] -= value * row[b]
                slopes[a] -= value * ridge[a]
        first = 0.0
        for sweep in range(sweeps):
            moved = 0.0
            for a in range(k):
                own = gram[a, a] + ridge[a]
                if own <= 0:
                    # Nothing was observed where this atom has weight: any coefficient is as good, and it stays.
                    continue
                new = max(0.0, code[a] + slopes[a] / own)
                step = new - code[a]
                if step != 0:
                    code[a] = new
                    row = gram[a]
                    for b in range(k):
                        slopes[b] -= step * row[b]
                    slopes[a] -= step * ridge[a]
                    moved += step * step * own
            if sweep == 0:
                first = moved
            if moved <= pays * first:
                break


@dataclass(frozen=True)
class FactorSums:
    """What atoms are solved from.

    Attributes
    ----------
    up : (p, k) array
        Linear parts, or numerators.
    down : (1 or p, k, k) array, or (p, k)
        Gram matrices, or denominators.
    rows : float
        How many rows, by weight.
    """

    up: Array
    down: Array
    rows: float


def add_batch(
    atoms: Array,
    sums: FactorSums | None,
    data: Observed,
    *,
    beta: float = 2.0,
    ridge: float = 0.0,
    row_weights: Array | None = None,
) -> tuple[Array, FactorSums]:
    """Return atoms that have also seen a batch, and the sums behind them.

    Parameters
    ----------
    atoms : (k, p) array
    sums : FactorSums, optional
        Of what was seen before.
    data : Observed
    beta, ridge, row_weights
        As in `gramian.sparse.nmf`.

    Examples
    --------
    >>> rows = np.outer([1.0, 2.0], [3.0, 4.0])
    >>> atoms, sums = add_batch(np.array([[3.0, 4.0]]), None, Observed.of(rows))
    >>> atoms, sums.rows
    (array([[3., 4.]]), 2.0)
    """
    n, p = data.values.shape
    k = len(atoms)
    counts = np.ones(n) if row_weights is None else row_weights
    codes = codes_of(data, atoms, beta=beta, ridge=ridge)
    weights = None if data.weights is None else data.weights * counts[:, None]
    rows = float(counts.sum()) + (0.0 if sums is None else sums.rows)
    if beta == 2:
        counted = codes * counts[:, None]
        if weights is None:
            up, down = data.values.T @ counted, (codes.T @ counted)[None]
        else:
            outer = (codes[:, :, None] * codes[:, None, :]).reshape(n, k * k)
            up, down = (weights * data.values).T @ codes, (weights.T @ outer).reshape(p, k, k)
        if sums is not None:
            up, down = up + sums.up, down + sums.down
        columns = np.ascontiguousarray(atoms.T)
        mean = down.mean(axis=0)
        descend_sums(up, down, columns, sweeps=100, pays=1e-12, ridge=ridge / p * np.diag(mean))
        return np.ascontiguousarray(columns.T), FactorSums(up, down, rows)
    ones = np.repeat(counts[:, None], p, axis=1) if weights is None else weights
    up, down = ratio_parts(data.values.T, np.ascontiguousarray(ones.T), (codes @ atoms).T, codes.T, beta)
    power = exponent(beta)
    up = up * np.power(atoms.T, 1 / power)
    if sums is not None:
        up, down = up + sums.up, down + sums.down
    ratio = np.where(down > 0, up / np.maximum(down, TINY), 0.0)
    return np.ascontiguousarray(np.power(ratio, power).T), FactorSums(up, down, rows)


RIDGES = (0.0, 0.01, 0.1, 1.0)
"""What is tried, in entries of a row."""

ROWS = 1000
SHARE = 0.1
ROUNDS = 200
"""Iterations of each trial, at most."""


def choose_ridge(data: Observed, n_atoms: int, *, row_weights: Array | None = None, init: Any = "svd") -> float:
    """Return the ridge for squared error whose fit is nearest to entries it did not see; 0 where no entry is missing.

    Parameters
    ----------
    data : Observed
    n_atoms : int
    row_weights, init
        As in `factorise`.

    Examples
    --------
    >>> X = np.outer([1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 1.0, 5.0, 2.0])
    >>> X[2, 2] = np.nan
    >>> choose_ridge(Observed.of(X), 1), choose_ridge(Observed.of(np.nan_to_num(X)), 1)
    (0.0, 0.0)
    """
    if data.weights is None or data.weights.all():
        return 0.0
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(data.values))[:ROWS])
    values, weights = data.values[rows], data.weights[rows]
    counts = None if row_weights is None else row_weights[rows]
    # Columns that none of these rows shows have nothing to say.
    shown = weights.any(axis=0)
    values, weights = np.ascontiguousarray(values[:, shown]), np.ascontiguousarray(weights[:, shown])
    hidden = _hidden(weights > 0, rng)
    if not hidden.any():
        return RIDGES[-1]
    rest = Observed(np.where(hidden, 0.0, values), np.where(hidden, 0.0, weights))
    start = init if isinstance(init, str) else np.ascontiguousarray(init[:, shown])
    joint = weights if counts is None else weights * counts[:, None]
    errors = []
    for ridge in RIDGES:
        rng = np.random.default_rng([0, 1])
        factors = factorise(rest, n_atoms, row_weights=counts, init=start, max_iter=ROUNDS, ridge=ridge, rng=rng)
        left = values - factors.codes @ factors.atoms
        errors.append(float((joint * np.square(left))[hidden].sum()))
    return RIDGES[int(np.argmin(errors))]


def _hidden(observed: Array, rng: np.random.Generator) -> Array:
    """Return a tenth of the observed entries to hide, at least one where that leaves one in its row and column."""
    left_of_rows, left_of_columns = observed.sum(axis=1), observed.sum(axis=0)
    hidden = np.zeros(observed.shape, dtype=bool)
    at = np.argwhere(observed)
    wanted = max(1, int(SHARE * len(at)))
    for i, t in at[rng.permutation(len(at))]:
        if left_of_rows[i] > 1 and left_of_columns[t] > 1:
            hidden[i, t] = True
            left_of_rows[i] -= 1
            left_of_columns[t] -= 1
            wanted -= 1
            if not wanted:
                break
    return hidden
