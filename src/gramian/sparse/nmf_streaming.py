"""Factorisation of a stream, from sums over batches, and the choice of the ridge.

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

from gramian.arrays.types import Array
from gramian.sparse.nmf import TINY, Observed, codes_of, descend_sums, exponent, factorise, ratio_parts


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
