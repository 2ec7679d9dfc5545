"""Random spanning trees: how likely each edge is, and trees drawn exactly, however far apart the weights are.

A spanning tree of a graph with weights w has a probability in proportion to the product of its weights. By the matrix-tree
theorem an edge is in it with probability rho_ij = w_ij R_ij, R the effective resistance between its ends. Mutual
informations squared lie ten and more orders of magnitude apart, where an inverse of the Laplacian loses every digit to
cancellation. So nodes are eliminated one by one instead (the star-mesh transform): without the last node l, whose edges
have weights a_i and total d, the graph with

    w'_ij = w_ij + a_i a_j / d

has the same resistances between the other nodes. Nothing is subtracted, so every weight keeps its digits. Two things are
read off the stars a_l, one of each node.

**Resistances.** Adding the nodes again, R_li = 1/d + sum_j p_j R_ij - 1/2 sum_jk p_j p_k R_jk with p = a / d. No term
exceeds R_li by more than a factor of the number of nodes, so that the difference is harmless.

**Trees.** Let T' be a random tree of the graph without l. An edge ij of it came from l with probability (a_i a_j / d) /
w'_ij. Take those away: a forest F is left. Summed over all ways to join its components C by such edges (Cayley), its
probability is in proportion to w(F) prod_C a(C), which is also that of the trees of the whole graph which have F outside
l: each component is joined to l by one edge, chosen in proportion to a. So a tree is drawn by adding node after node, and
an edge made with weight w = w_ij + sum_l a_li a_lj / d_l is told at once which later node will take it away, if any.

A graph that is not connected has spanning forests: a node without edges to those before it starts a component.

Trees are drawn from logarithms of weights, since those of a posterior, exp(n I), are out of the range of any number: sums
are by the larger term, and a choice in proportion to weights is the largest logarithm after Gumbel noise is added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from gramian.arrays.linalg import answering, is_long
from gramian.arrays.types import Array
from gramian.compiling import kernel

Trees = npt.NDArray[np.int32]

ALL_TREES = 1000
"""Columns up to which all trees speak, which takes the cube of them; of more, the best tree speaks alone."""


GROWING = 2e-9
"""Seconds, over the cube of the nodes, in which trees are drawn."""


def stars(weights: Array) -> Array:
    """Return the weights of each node's edges to the nodes before it, once the nodes after it are eliminated.

    Examples
    --------
    >>> stars(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]))
    array([[0., 0., 0.],
           [2., 0., 0.],
           [2., 2., 0.]])
    """
    left = np.array(weights, dtype=np.float64)
    out = np.zeros_like(left)
    for last in range(len(left) - 1, 0, -1):
        star = left[last, :last].copy()
        out[last, :last] = star
        total = star.sum()
        if total > 0:
            left[:last, :last] += np.multiply.outer(star, star / total)
    return out


def edge_probabilities(weights: Array) -> Array:
    """Return rho, the probability of each edge to be in a random spanning tree (forest, where the graph has parts).

    Parameters
    ----------
    weights : (m, m) array
        Symmetric, from 0; the diagonal is not looked at.

    Returns
    -------
    (m, m) array
        Symmetric, 0 on the diagonal. Its sum is twice the number of nodes less the number of components.

    Examples
    --------
    A triangle with edges of weights 1, 1 and 2: trees weigh 1, 2 and 2.

    >>> edge_probabilities(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]])).round(3)
    array([[0. , 0.6, 0.6],
           [0.6, 0. , 0.8],
           [0.6, 0.8, 0. ]])
    """
    weights = _scaled(weights)
    resistance = np.zeros_like(weights)
    for last, star in enumerate(stars(weights)):
        total = star.sum()
        if total > 0:
            share = star[:last] / total
            seen = resistance[:last, :last] @ share
            resistance[last, :last] = resistance[:last, last] = 1.0 / total + seen - 0.5 * (share @ seen)
    return np.minimum(weights * resistance, 1.0)


def tree_edges(weights: Array, least: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
    """Return the ends i < j of the edges that random spanning trees have with a probability of `least` or more, and rho.

    Of more nodes than `ALL_TREES` they are those of the best tree, each with probability 1.

    Examples
    --------
    >>> tree_edges(np.array([[0.0, 1.0, 1e-9], [1.0, 0.0, 2.0], [1e-9, 2.0, 0.0]]), 1e-6)
    (array([0, 1]), array([1, 2]), array([1., 1.]))
    """
    if len(weights) <= ALL_TREES:
        rho = edge_probabilities(weights)
        first, second = np.nonzero(np.triu(rho >= least))
        return first, second, rho[first, second]
    _, parents = best_tree(weights, np.arange(len(weights)))
    child = np.flatnonzero(parents >= 0)
    first, second = np.minimum(child, parents[child]), np.maximum(child, parents[child])
    order = np.lexsort((second, first))
    return first[order], second[order], np.ones(len(child))


def best_tree(weights: Array, roots: npt.NDArray[np.int64]) -> tuple[Trees, Trees]:
    """Return the spanning tree (forest) of the largest weights, which Chow and Liu take: `order` and `parents`, (m,) each.

    Parameters
    ----------
    weights : (m, m) array
        Symmetric; 0 or less where there is no edge.
    roots : array of int
        Where the trees may begin; one node of each component, or more, of which those reached already are passed over.

    Examples
    --------
    >>> best_tree(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]]), np.array([0]))
    (array([0, 1, 2], dtype=int32), array([-1,  0,  1], dtype=int32))
    """
    m = len(weights)
    order, parents = np.empty(m, np.int32), np.full(m, -1, np.int32)
    # The heaviest edge from the tree to each node outside it; -1 for those inside.
    heaviest, by = np.zeros(m), np.zeros(m, np.int32)
    done, waiting = 0, iter(roots.tolist())
    while done < m:
        node = int(heaviest.argmax())
        if heaviest[node] <= 0:
            node = next(each for each in waiting if heaviest[each] >= 0)
        else:
            parents[node] = by[node]
        order[done], done = node, done + 1
        heaviest[node] = -1.0
        nearer = (weights[node] > heaviest) & (heaviest >= 0)
        heaviest[nearer], by[nearer] = weights[node, nearer], node
    return order, parents


def _scaled(weights: Array) -> Array:
    """Return the weights over the largest, 0 on the diagonal: tiny ones do not underflow in the products."""
    out = np.array(weights, dtype=np.float64)
    np.fill_diagonal(out, 0.0)
    return out / max(float(out.max(initial=0.0)), np.finfo(np.float64).tiny)


def draw_trees(log_weights: Array, roots: npt.NDArray[np.int64], n_trees: int, seed: int) -> tuple[Trees, Trees]:
    """Return random spanning trees (forests), independent of each other.

    Parameters
    ----------
    log_weights : (m, m) array
        Symmetric, -inf where there is no edge.
    roots : (r,) array
        A node of each component.
    n_trees : int
    seed : int

    Returns
    -------
    order : (n_trees, m) array
        The nodes of each tree, parents before children.
    parents : (n_trees, m) array
        The parent of each node, -1 for a root.
    """
    m = len(log_weights)
    order, parents = np.empty((n_trees, m), np.int32), np.empty((n_trees, m), np.int32)
    weights = np.array(log_weights, np.float64)
    roots = np.asarray(roots, np.int64)
    answering(lambda: grow_trees(weights, roots, seed, order, parents), long=is_long(m, GROWING))
    return order, parents


@kernel(types.void(types.float64[:, ::1], types.int64[::1], types.int64, types.int32[:, ::1], types.int32[:, ::1]))
def grow_trees(weights, roots, seed, order, parents):  # type: ignore[no-untyped-def]
    """Fill `order` and `parents` (trees, m) with random spanning trees of the graph with these stars."""
    np.random.seed(seed)
    m = weights.shape[0]
    # Nodes are eliminated from the last on: below the diagonal of `star` are the logarithms of the stars.
    star, total = weights.copy(), np.full(m, -np.inf)
    for last in range(m - 1, 0, -1):
        largest = -np.inf
        for i in range(last):
            largest = max(largest, star[last, i])
        if largest == -np.inf:
            continue
        added = 0.0
        for i in range(last):
            added += np.exp(star[last, i] - largest)
        total[last] = largest + np.log(added)
        for i in range(last):
            for j in range(i):
                through, direct = star[last, i] + star[last, j] - total[last], star[i, j]
                more, less = max(through, direct), min(through, direct)
                # Beyond 40 the smaller is below rounding, and most pairs of logarithms are farther apart.
                star[i, j] = more if more - less > 40.0 or more == -np.inf else more + np.log1p(np.exp(less - more))
    first, second, gone_at = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    part, chosen, best = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    degree, neighbours = np.empty(m + 1, np.int64), np.empty(2 * m, np.int64)
    for t in range(order.shape[0]):
        n_edges = 0
        for k in range(1, m):
            # Parts of the forest that is left without the edges which came from k.
            for i in range(k):
                part[i], best[i] = i, -np.inf
            kept = 0
            for e in range(n_edges):
                if gone_at[e] != k:
                    first[kept], second[kept], gone_at[kept] = first[e], second[e], gone_at[e]
                    kept += 1
                    a, b = first[e], second[e]
                    while part[a] != a:
                        part[a] = part[part[a]]
                        a = part[a]
                    while part[b] != b:
                        part[b] = part[part[b]]
                        b = part[b]
                    part[a] = b
            n_edges = kept
            # One node of each part, in proportion to its weight.
            for i in range(k):
                if star[k, i] > -np.inf:
                    a = i
                    while part[a] != a:
                        a = part[a]
                    # The noise is 40 or more once in 1e17 draws.
                    if star[k, i] > best[a] - 50.0:
                        noisy = star[k, i] - np.log(-np.log(1.0 - np.random.random() + 1e-300))
                        if noisy > best[a]:
                            best[a], chosen[a] = noisy, i
            for a in range(k):
                if best[a] > -np.inf:
                    i = chosen[a]
                    # The later node that takes this edge away, in proportion to what each adds to its weight; m: none.
                    gone, strongest = m, weights[k, i]
                    if strongest > -np.inf:
                        strongest -= np.log(-np.log(1.0 - np.random.random() + 1e-300))
                    for later in range(k + 1, m):
                        through = star[later, i] + star[later, k] - total[later]
                        if through > strongest - 50.0:
                            through -= np.log(-np.log(1.0 - np.random.random() + 1e-300))
                            if through > strongest:
                                gone, strongest = later, through
                    first[n_edges], second[n_edges], gone_at[n_edges] = k, i, gone
                    n_edges += 1
        degree[:] = 0
        for e in range(n_edges):
            degree[first[e] + 1] += 1
            degree[second[e] + 1] += 1
        for k in range(m):
            degree[k + 1] += degree[k]
        for k in range(m):
            part[k] = degree[k]
        for e in range(n_edges):
            a, b = first[e], second[e]
            neighbours[part[a]] = b
            neighbours[part[b]] = a
            part[a] += 1
            part[b] += 1
        n_done = 0
        parents[t] = -2
        for root in roots:
            order[t, n_done] = root
            parents[t, root] = -1
            n_done += 1
        at = 0
        while at < n_done:
            k = order[t, at]
            for e in range(degree[k], degree[k + 1]):
                other = neighbours[e]
                if parents[t, other] == -2:
                    parents[t, other] = k
                    order[t, n_done] = other
                    n_done += 1
            at += 1
