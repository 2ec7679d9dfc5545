"""Orthogonal matching pursuit: the atom nearest to the residual, then all coefficients anew, atom by atom.

Let S be the atoms chosen so far and P the projection on their span. The next atom q is the one of largest ``|d_q.r|`` for the
residual ``r = x - P x``. Batch OMP (Rubinstein, Zibulevsky & Elad 2008) never forms r: with ``u_s`` the part of the s-th atom
orthogonal to those before it, of unit length, and ``v_s = D u_s``,

    v_s = (G_q - sum_t v_t[q] v_t) / sqrt(pivot),   pivot = G_qq - sum_t v_t[q]^2,

every atom's correlation with the residual falls by ``a_s v_s`` where ``a_s = (d_q.r) / sqrt(pivot)``, the squared error falls
by ``a_s^2``, and ``L[s, t] = v_t[q_s]`` is the Cholesky factor of the chosen atoms' Gram matrix, so that the code is the
solution of ``L^T y = a``. A step reads one row of G and the s vectors before it, which stay in the first cache.

The non-negative variant chooses the atom of largest ``d_q.r`` and solves least squares under ``y >= 0`` on S by coordinate
descent; it stops where no atom correlates positively with the residual.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.sparse.atoms import coded, require_unit


def omp(
    signals: Array,
    atoms: Array,
    *,
    n_nonzero: int,
    tol: float | None = None,
    positive: bool = False,
) -> Array:
    """Return codes of at most `n_nonzero` atoms by orthogonal matching pursuit, (n, k).

    Parameters
    ----------
    signals : (n, p) array
    atoms : (k, p) array
        Of unit length.
    n_nonzero : int
        Atoms per signal, at most.
    tol : float, optional
        Squared error at which a signal is done.
    positive : bool
        Coefficients are not negative.

    Notes
    -----
    O(n (p k + k m^2)) for m atoms per signal.

    References
    ----------
    Y. C. Pati, R. Rezaiifar, P. S. Krishnaprasad (1993), Orthogonal matching pursuit. R. Rubinstein, M. Zibulevsky, M. Elad
    (2008), Efficient implementation of the K-SVD algorithm using batch orthogonal matching pursuit.

    Examples
    --------
    >>> omp(np.array([[3.0, 0.0, -1.0]]), np.eye(3), n_nonzero=1)
    array([[3., 0., 0.]])
    """
    require_unit(atoms)
    gram = atoms @ atoms.T
    most = min(n_nonzero, len(atoms))
    enough = -1.0 if tol is None else float(tol)
    loop = _positive_rows if positive else _rows

    def code(block: Array, correlations: Array, codes: Array) -> int:
        loop(correlations, np.einsum("ij,ij->i", block, block), gram, most, enough, codes)
        return 0

    return coded(signals, atoms, code)[0]


@kernel("void(float64[:,::1], float64[::1], float64[:,::1], int64, float64, float64[:,::1])")
def _rows(correlations, squares, gram, most, enough, codes):  # type: ignore[no-untyped-def]
    n, k = correlations.shape
    v = np.empty((most, k))
    lower = np.empty((most, most))
    a = np.empty(most)
    chosen = np.empty(most, dtype=np.int64)
    eps = 2.0**-52
    magnitude = np.int64(0x7FFFFFFFFFFFFFFF)
    for i in range(n):
        alpha = correlations[i]
        # Floats without their sign are ordered like the integers of the same bits, and integers are compared eight at a time.
        bits = alpha.view(np.int64)
        error = squares[i]
        # Correlations below this are rounding of a signal that is explained already.
        floor = 16 * eps * np.sqrt(squares[i])
        count = 0
        while count < most and error > enough:
            s = count
            top = np.int64(0)
            for j in range(k):
                top = max(top, bits[j] & magnitude)
            q = 0
            while bits[q] & magnitude != top:
                q += 1
            if abs(alpha[q]) <= floor:
                break
            row = v[s]
            row[:] = gram[q]
            # Four of the vectors before at a time: the row is read and written a quarter as often.
            t = 0
            while t + 3 < s:
                v0, v1, v2, v3 = v[t], v[t + 1], v[t + 2], v[t + 3]
                w0, w1, w2, w3 = v0[q], v1[q], v2[q], v3[q]
                for j in range(k):
                    row[j] -= w0 * v0[j] + w1 * v1[j] + w2 * v2[j] + w3 * v3[j]
                t += 4
            while t < s:
                v0 = v[t]
                w0 = v0[q]
                for j in range(k):
                    row[j] -= w0 * v0[j]
                t += 1
            pivot = row[q]
            if pivot <= 64 * eps * gram[q, q]:
                # The atom is a combination of those chosen: what correlates with it is rounding.
                break
            root = np.sqrt(pivot)
            for t in range(s):
                lower[s, t] = v[t, q]
            lower[s, s] = root
            weight, scale = alpha[q] / root, 1 / root
            if s + 1 < most:
                for j in range(k):
                    row[j] *= scale
                    alpha[j] -= weight * row[j]
                alpha[q] = 0.0
            error -= weight * weight
            a[s] = weight
            chosen[s] = q
            count += 1
        for s in range(count - 1, -1, -1):
            value = a[s]
            for t in range(s + 1, count):
                value -= lower[t, s] * codes[i, chosen[t]]
            codes[i, chosen[s]] = value / lower[s, s]


@kernel("void(float64[:,::1], float64[::1], float64[:,::1], int64, float64, float64[:,::1])")
def _positive_rows(correlations, squares, gram, most, enough, codes):  # type: ignore[no-untyped-def]
    n, k = correlations.shape
    alpha = np.empty(k)
    chosen = np.empty(most, dtype=np.int64)
    eps = 2.0**-52
    for i in range(n):
        b, y = correlations[i], codes[i]
        floor = 16 * eps * np.sqrt(squares[i])
        count = 0
        while count < most:
            error = squares[i]
            alpha[:] = b
            for s in range(count):
                q = chosen[s]
                for j in range(k):
                    alpha[j] -= y[q] * gram[q, j]
            for s in range(count):
                error -= y[chosen[s]] * (b[chosen[s]] + alpha[chosen[s]])
            best, q = floor, -1
            for j in range(k):
                if y[j] == 0 and alpha[j] > best:
                    best = alpha[j]
                    q = j
            if q < 0 or error <= enough:
                break
            chosen[count] = q
            count += 1
            for _ in range(10000):
                largest, moved = 0.0, 0.0
                for s in range(count):
                    j = chosen[s]
                    slope = b[j]
                    for t in range(count):
                        slope -= gram[j, chosen[t]] * y[chosen[t]]
                    new = max(0.0, y[j] + slope / gram[j, j])
                    moved = max(moved, abs(new - y[j]))
                    y[j] = new
                    largest = max(largest, abs(new))
                if moved <= 4 * eps * largest:
                    break
            # An atom that fell to zero gives its place to another.
            kept = 0
            for s in range(count):
                if y[chosen[s]] > 0:
                    chosen[kept] = chosen[s]
                    kept += 1
            if kept < count and y[q] == 0:
                break
            count = kept
