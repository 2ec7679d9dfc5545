"""The best code of all: the subset of atoms that minimises squared error plus a price per atom, by pruned search.

The objective is ``||x - y D||^2 + penalty ||y||_0``, or the squared error alone under ``||y||_0 <= n_nonzero``, or both. For a
set S of atoms the best coefficients are least squares, so the search is over subsets, depth first in one order of the atoms:
a node is a set S, its children add one later atom each. Orthogonalising as in `gramian.sparse.coders.omp` gives the error of
every child ``error - c_j^2 / g_j`` in one division, with ``c_j`` and ``g_j`` the correlation with the residual and the squared
length of what is left of atom j beside S.

What prunes, exactly:

- no code below a node of s atoms costs less than ``penalty (s + 1) + floor``, where ``floor`` is the error of all atoms;
- leaving atom i out costs at least ``floor + y_i^2 / (G^-1)_ii`` with y the code over all atoms (the classical bound of leaps
  and bounds), where the atoms are independent. Atoms are tried in descending order of that cost, so that whoever walks past
  a costly one is stopped early;
- the search begins with the code of forward selection: the atom that lowers the error most, one after the other.

The non-negative optimum is a non-negative least-squares solution on its own support, so only sets whose coefficients are all
positive are candidates; their errors bound those of their children just the same.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import DataError
from gramian.sparse.atoms import coded, lengths_of

MAX_NODES = 20_000_000
"""Nodes of one signal's search before it is given up: some seconds."""
TINIEST = 2.0**-1022
"""The least normal float: a signal of zeros is divided by it."""


def best_subset(
    signals: Array,
    atoms: Array,
    *,
    n_nonzero: int | None = None,
    penalty: float | None = None,
    max_iter: int = MAX_NODES,
    positive: bool = False,
) -> Array:
    """Return the codes of least squared error plus `penalty` per atom, (n, k): no code does better.

    Parameters
    ----------
    signals : (n, p) array
    atoms : (k, p) array
    n_nonzero : int, optional
        Atoms per signal, at most.
    penalty : float, optional
        Price of an atom, on the scale of squared errors.
    max_iter : int
        Nodes that one signal's search may visit; past it an error says what to change.
    positive : bool
        Coefficients are not negative.

    Notes
    -----
    Exponential in the worst case: up to (k choose m) sets for m atoms. Of codes that cost the same the sparser is kept.

    References
    ----------
    G. M. Furnival, R. W. Wilson (1974), Regressions by leaps and bounds.

    Examples
    --------
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> best_subset(np.array([[3.0, 4.0]]), atoms, penalty=0.1)
    array([[0., 0., 5.]])
    """
    # Lengths of 1 make the comparisons of the search those of cosines; codes are divided by them at the end.
    lengths = lengths_of(atoms)
    unit = atoms / lengths[:, None]
    gram = unit @ unit.T
    price = 0.0 if penalty is None else float(penalty)
    values, basis = np.linalg.svd(unit, full_matrices=False)[1:]
    rank = int(np.count_nonzero(values > 1e-7 * values[0]))
    inverse = np.linalg.inv(gram) if rank == len(unit) else np.zeros((0, 0))
    most = min(rank, len(atoms) if n_nonzero is None else n_nonzero)

    def code(block: Array, correlations: Array, codes: Array) -> int:
        # Squares of small or large values leave the range of floats: each signal is divided by a power of two near its largest
        # value, which rounds nothing, and the price by the square of that. An atom that costs more than all of a signal is not
        # taken, however much more.
        unit_of = np.exp2(np.round(np.log2(np.maximum(np.abs(block).max(axis=1), TINIEST))))
        block, correlations = block / unit_of[:, None], correlations / unit_of[:, None]
        with np.errstate(over="ignore"):
            prices = np.minimum(price / unit_of / unit_of, 8.0 * block.shape[1] + 1.0)
        squares = np.einsum("ij,ij->i", block, block)
        explained = np.square(block @ basis[:rank].T).sum(axis=1)
        # Rounding of the difference must not make a bound too high.
        floors = np.maximum(squares - explained - 1e-12 * squares, 0.0)
        stopped = int(_search(correlations, squares, floors, gram, inverse, prices, most, max_iter, positive, codes))
        codes *= unit_of[:, None]
        return stopped

    codes, unfinished = coded(signals, unit, code)
    if unfinished:
        raise DataError(
            f"algorithm 'l0' passed {max_iter:,} sets of atoms on one signal; ask for fewer atoms (n_nonzero), "
            f"a higher penalty or a larger max_iter, or use 'omp'"
        )
    return np.asarray(codes / lengths)


@kernel(
    "int64(float64[:,::1], float64[::1], float64[::1], float64[:,::1], float64[:,::1], float64[::1], int64, int64, "
    "boolean, float64[:,::1])"
)
def _search(correlations, squares, floors, gram, inverse, prices, most, max_nodes, positive, codes):  # type: ignore[no-untyped-def]
    n, k = correlations.shape
    c, g, v = np.empty((most + 1, k)), np.empty((most + 1, k)), np.empty((most + 1, k))
    error, excluded = np.empty(most + 1), np.empty(most + 1)
    at = np.empty(most + 1, dtype=np.int64)
    path, best_set = np.empty(most + 1, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    a, y = np.empty(most + 1), np.empty(most + 1)
    lower = np.empty((most + 1, most + 1))
    drop = np.zeros(k)
    tiny = 1e-12
    for i in range(n):
        slack, price = 1e-12 * squares[i], prices[i]
        drop[:] = 0.0
        if inverse.shape[0]:
            for j in range(k):
                value = 0.0
                for t in range(k):
                    value += inverse[j, t] * correlations[i, t]
                drop[j] = value * value / inverse[j, j]
            order = np.argsort(-drop)
        else:
            order = np.argsort(-np.abs(correlations[i]))
        c[0] = correlations[i]
        g[0] = np.diag(gram)
        error[0] = squares[i]
        best, best_count, nodes = squares[i], 0, 0
        # The first walk is forward selection, the second the search.
        for search in range(2):
            s, at[0], excluded[0] = 0, 0, 0.0
            fresh = True
            while s >= 0:
                nodes += 1
                if nodes > max_nodes:
                    return 1
                if fresh:
                    fresh = False
                    for t in range(at[s], k):
                        j = order[t]
                        if g[s, j] <= tiny:
                            continue
                        gain = c[s, j] * c[s, j] / g[s, j]
                        cost = error[s] - gain + price * (s + 1)
                        if cost >= best - slack and not (cost <= best + slack and s + 1 < best_count):
                            continue
                        path[s] = j
                        if positive:
                            a[s] = c[s, j] / np.sqrt(g[s, j])
                            good = True
                            for r in range(s, -1, -1):
                                value = a[r]
                                for w in range(r + 1, s + 1):
                                    value -= v[r, path[w]] * y[w]
                                root = np.sqrt(g[r, path[r]])
                                y[r] = value / root
                                if y[r] <= 0:
                                    good = False
                                    break
                            if not good:
                                continue
                        best, best_count = cost, s + 1
                        best_set[: s + 1] = path[: s + 1]
                following = -1
                if s + 1 < most:
                    if search == 0:
                        most_gained = 0.0
                        for j in range(k):
                            if g[s, j] > tiny and (not positive or c[s, j] > 0):
                                gain = c[s, j] * c[s, j] / g[s, j]
                                if gain > most_gained:
                                    most_gained, following = gain, j
                    else:
                        while at[s] < k:
                            if floors[i] + excluded[s] + price * (s + 2) >= best - slack:
                                break
                            j = order[at[s]]
                            at[s] += 1
                            if g[s, j] > tiny:
                                following = j
                                break
                            excluded[s] = max(excluded[s], drop[j])
                if following < 0:
                    if search == 0:
                        break
                    s -= 1
                    if s >= 0:
                        # Whatever comes after the child just searched does without it.
                        excluded[s] = max(excluded[s], drop[path[s]])
                    continue
                q = following
                path[s] = q
                pivot = g[s, q]
                root = np.sqrt(pivot)
                for j in range(k):
                    value = gram[q, j]
                    for t in range(s):
                        value -= v[t, q] * v[t, j]
                    v[s, j] = value / root
                a[s] = c[s, q] / root
                for j in range(k):
                    c[s + 1, j] = c[s, j] - a[s] * v[s, j]
                    g[s + 1, j] = g[s, j] - v[s, j] * v[s, j]
                g[s + 1, q] = 0.0
                error[s + 1] = error[s] - a[s] * a[s]
                at[s + 1] = 0 if search == 0 else at[s]
                excluded[s + 1] = excluded[s]
                s += 1
                fresh = True
        # The code on the best set, orthogonalised once more.
        error[0] = 0.0
        for s in range(best_count):
            q = best_set[s]
            for t in range(s + 1):
                value = gram[q, best_set[t]]
                for w in range(t):
                    value -= lower[s, w] * lower[t, w]
                lower[s, t] = np.sqrt(value) if t == s else value / lower[t, t]
            value = correlations[i, q]
            for w in range(s):
                value -= lower[s, w] * a[w]
            a[s] = value / lower[s, s]
        for s in range(best_count - 1, -1, -1):
            value = a[s]
            for t in range(s + 1, best_count):
                value -= lower[t, s] * codes[i, best_set[t]]
            codes[i, best_set[s]] = value / lower[s, s]
    return 0
