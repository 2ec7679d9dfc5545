"""Factorisation of a stream: codes of each batch with the atoms there are, sums for the atoms, and the atoms from the sums.

For squared error the update of column t of the atoms needs ``A_t = sum_i w_it c_i c_i^T`` (k x k) and ``b_t = sum_i
w_it x_it c_i``: sums over rows. Where everything was observed A is the same for all columns and is kept once; the
first entry that is missing gives each column its own. For the other losses the sums are the two sides of the
multiplicative update, the numerator times the atoms it was made with (Lefevre, Bach & Fevotte 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.sparse.nmf.factorise import Observed, codes_of
from gramian.sparse.nmf.hals import descend_sums
from gramian.sparse.nmf.losses import TINY, exponent, ratio_parts


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
        As in `gramian.sparse.nmf.factorise`.

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
