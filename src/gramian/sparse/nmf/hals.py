"""Non-negative least squares for many rows at once: exact steps in one coefficient after the other (HALS).

For a row x with weights w the loss in its code c is ``1/2 sum_t w_t (x_t - (c D)_t)^2``: quadratic with Gram matrix
``G = D diag(w) D^T`` and linear part ``b = D (w x)``. One coefficient's best value with the others fixed is

    c_a <- max(0, c_a + (b_a - (G c)_a) / G_aa),

so no step raises the loss. Without weights G is the same for all rows. With weights (0 where an entry was not
observed) the rows' Gram matrices are one matrix product: the weights (n x p) times the outer products ``d_t d_t^T``
of the columns of D (p x k^2). The update of D is the same with rows and columns exchanged. Sweeps over a row are
cheap beside the products before them, so several are made while they still pay: until one moves less than a hundredth
of what the first did (Gillis & Glineur 2012).

A ridge adds ``1/2 sum_a ridge_a c_a^2``: ridge_a to G_aa, and nothing else.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.compiling import kernel

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
