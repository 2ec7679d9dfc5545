"""The best atoms for codes that are given: block coordinate descent on their sums, atom by atom.

With ``A = C^T C`` and ``B = C^T X`` (`gramian.sparse.code_sums`) half the squared error is, up to a constant, ``1/2
tr(D^T A D) - tr(D^T B)``. In one atom alone it is ``A_jj/2 ||d||^2 - d.u`` with ``u = B_j - sum_{i != j} A_ji d_i``,
so the atom's best value is

- ``u / A_jj`` where its length is free (vector quantisation: the mean of its signals);
- the same, drawn back to length 1 where it is longer, where it lies in the unit ball (Mairal et al. 2009), as it must where
  coefficients are penalised: longer atoms would buy smaller coefficients;
- ``u / ||u||`` where its length is 1, as where non-zero coefficients are counted and their size costs nothing.

Each is exact, so the error never rises. In the ball the problem is convex in all atoms together.

Incoherence adds ``strength w/2 sum_{i != j} (d_i.d_j)^2``, w the mean of the A_jj. The part of one atom is bounded
above by its tangent plus ``w strength L ||d - d_j||^2`` for L the largest eigenvalue of D D^T, so the same three
formulas hold with ``A_jj + c`` in place of A_jj and ``u + c d_j - 2 w strength sum_i (d_i.d_j) d_i`` in place of u, c
= 2 w strength L: still no rise.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.sparse.atoms import largest_eigenvalue
from gramian.sparse.code_sums import CodeSums

BOUNDS = {"free": 0, "ball": 1, "sphere": 2}
"""What the length of an atom may be."""


def descend(
    atoms: Array,
    sums: CodeSums,
    *,
    length: str,
    positive: bool = False,
    incoherence: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
) -> Array:
    """Return atoms improved for the codes behind some sums, (k, p).

    Parameters
    ----------
    atoms : (k, p) array
        Where to begin. Atoms that no code uses stay as they are.
    sums : CodeSums
    length : {"free", "ball", "sphere"}
        What the length of an atom may be: anything, at most 1, exactly 1.
    positive : bool
        Atoms are not negative.
    incoherence : float
        Strength with which atoms are kept apart; 0 is not at all.
    passes : int
        Over all atoms, at most.
    tol : float
        Move of an atom, relative to the longest, at which to stop.

    Notes
    -----
    O(k^2 p) a pass.

    Examples
    --------
    >>> codes = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> sums = CodeSums.of(np.array([[2.0, 2.0], [0.0, 3.0]]), codes)
    >>> descend(np.eye(2), sums, length="free")
    array([[1., 1.],
           [0., 3.]])
    """
    out = np.array(atoms, dtype=np.float64, order="C")
    diagonal = np.diag(sums.code_code)
    used = diagonal[diagonal > 0]
    if not len(used):
        return out
    weight = incoherence * float(used.mean())
    for _ in range(passes):
        extra = 2 * weight * largest_eigenvalue(out) if weight else 0.0
        moved = _pass(out, sums.code_code, sums.code_signal, BOUNDS[length], positive, weight, extra)
        if moved <= tol * float(np.sqrt(np.square(out).sum(axis=1).max())):
            break
    return out


@kernel("float64(float64[:,::1], float64[:,::1], float64[:,::1], int64, boolean, float64, float64)")
def _pass(atoms, code_code, code_signal, bound, positive, weight, extra):  # type: ignore[no-untyped-def]
    k, p = atoms.shape
    u = np.empty(p)
    largest = 0.0
    for j in range(k):
        own = code_code[j, j]
        if own <= 0:
            continue
        for t in range(p):
            u[t] = code_signal[j, t] + extra * atoms[j, t]
        for i in range(k):
            pull = code_code[j, i] if i != j else 0.0
            if weight > 0 and i != j:
                cosine = 0.0
                for t in range(p):
                    cosine += atoms[i, t] * atoms[j, t]
                pull += 2 * weight * cosine
            if pull != 0:
                for t in range(p):
                    u[t] -= pull * atoms[i, t]
        square = 0.0
        for t in range(p):
            if positive and u[t] < 0:
                u[t] = 0.0
            square += u[t] * u[t]
        size = np.sqrt(square)
        if bound == 2:
            if size == 0:
                continue
            scale = 1 / size
        else:
            scale = 1 / (own + extra)
            if bound == 1 and size * scale > 1:
                scale = 1 / size
        move = 0.0
        for t in range(p):
            new = u[t] * scale
            move += (new - atoms[j, t]) ** 2
            atoms[j, t] = new
        largest = max(largest, np.sqrt(move))
    return largest
