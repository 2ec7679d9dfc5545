"""The detector's scores from their definitions alone: all spanning trees one by one, the random walk as a dense matrix.

Rows are tuples of labels, counts are dictionaries. Nothing here knows the matrix-tree theorem or an effective resistance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import log, prod
from typing import Any

import numpy as np

Row = tuple[Any, ...]
Edge = tuple[int, int]


class Counts:
    """Weights of levels and of pairs of levels."""

    def __init__(self, rows: Sequence[Row], weights: Sequence[float] | None = None) -> None:
        weights = [1] * len(rows) if weights is None else weights
        self.n, self.d = sum(weights), len(rows[0])
        self.level: dict[tuple[int, Any], float] = defaultdict(float)
        self.pair: dict[tuple[int, int, Any, Any], float] = defaultdict(float)
        for row, weight in zip(rows, weights, strict=True):
            for j, u in enumerate(row):
                self.level[j, u] += weight
            for j, k in combinations(range(self.d), 2):
                self.pair[j, k, row[j], row[k]] += weight
        self.levels = [
            [u for (column, u), held in self.level.items() if column == j and held > 0] for j in range(self.d)
        ]

    def information(self, j: int, k: int) -> float:
        """Return the mutual information of two columns less its bias, at least 0."""
        plain = 0.0
        for u, v in product(self.levels[j], self.levels[k]):
            seen = self.pair[j, k, u, v] / self.n
            if seen > 0:
                plain += seen * log(seen / (self.level[j, u] / self.n * self.level[k, v] / self.n))
        return max(0.0, plain - (len(self.levels[j]) - 1) * (len(self.levels[k]) - 1) / (2 * self.n))

    def log_lift(self, j: int, k: int, u: Any, v: Any) -> float:
        return log((self.pair[j, k, u, v] + 1) / (self.level[j, u] * self.level[k, v] / self.n + 1))


def spanning_trees(nodes: Sequence[int]) -> Iterator[list[Edge]]:
    """Yield every tree over the nodes once: k^(k-2) sequences of Pruefer.

    Examples
    --------
    >>> len(list(spanning_trees(range(5))))
    125
    """
    k = len(nodes)
    if k < 2:
        yield []
        return
    for sequence in product(range(k), repeat=k - 2):
        degree = Counter(sequence)
        left, edges = set(range(k)), []
        for node in sequence:
            leaf = min(x for x in left if degree[x] == 0)
            edges.append((leaf, node))
            left.remove(leaf)
            degree[node] -= 1
        edges.append(tuple(sorted(left)))
        yield [(min(nodes[a], nodes[b]), max(nodes[a], nodes[b])) for a, b in edges]


def parts(d: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return the connected parts of a graph."""
    label = list(range(d))
    for a, b in edges:
        label = [label[a] if x == label[b] else x for x in label]
    return [[x for x in range(d) if label[x] == one] for one in dict.fromkeys(label)]


def weighted_trees(counts: Counts) -> list[list[tuple[float, list[Edge]]]]:
    """Return, for each connected part, its spanning trees with their probabilities.

    A tree weighs the product of the squared informations of its edges. Columns without any information on one another are in
    parts of their own, each with its own trees.
    """
    weight = {e: counts.information(*e) ** 2 for e in combinations(range(counts.d), 2)}
    out = []
    for part in parts(counts.d, [e for e, w in weight.items() if w > 0]):
        # Relative to the heaviest edge, so that no product underflows.
        scale = max((weight[e] for e in combinations(part, 2)), default=1.0) or 1.0
        trees = [(prod(weight[e] / scale for e in tree), tree) for tree in spanning_trees(part)]
        total = sum(w for w, _ in trees)
        out.append([(w / total, tree) for w, tree in trees if w > 0])
    return out


def mean_over_trees(counts: Counts, rows: Sequence[Row]) -> np.ndarray:
    """Return the mean over trees of -log p_tree(row), each tree with the exact margins and smoothed lifts."""
    trees = weighted_trees(counts)
    found = []
    for row in rows:
        rare = sum(-log(counts.level[j, u] / counts.n) for j, u in enumerate(row))
        lifts = {(j, k): counts.log_lift(j, k, row[j], row[k]) for j, k in combinations(range(counts.d), 2)}
        found.append(rare - sum(p * sum(lifts[e] for e in tree) for part in trees for p, tree in part))
    return np.array(found)


def edge_shares(counts: Counts) -> dict[Edge, float]:
    """Return the probability of each edge of a random spanning tree."""
    shares = dict.fromkeys(combinations(range(counts.d), 2), 0.0)
    for part in weighted_trees(counts):
        for p, tree in part:
            for edge in tree:
                shares[edge] += p
    return shares


def coupled_walk(counts: Counts, rows: Sequence[Row]) -> np.ndarray:
    """Return the scores of coupled biased random walks, from the dense matrix of their steps.

    A level is biased by (1 - n_u / n_mode + 1 - n_mode / n) / 2; a step goes from a level to one of another column with weight
    bias_v n_uv / n_v; one step in twenty goes anywhere. The walk starts evenly and ends where no probability moves by more than
    1e-3, after 100 steps at most. A level scores its probability times its column's.
    """
    nodes = [(j, u) for j in range(counts.d) for u in counts.levels[j]]
    mode = [max(counts.level[j, u] for u in counts.levels[j]) for j in range(counts.d)]
    bias = [(1 - counts.level[j, u] / mode[j] + 1 - mode[j] / counts.n) / 2 for j, u in nodes]
    steps = np.zeros((len(nodes), len(nodes)))
    for (a, (j, u)), (b, (k, v)) in combinations(enumerate(nodes), 2):
        if j != k:
            seen = counts.pair[j, k, u, v]
            steps[a, b], steps[b, a] = bias[b] * seen / counts.level[k, v], bias[a] * seen / counts.level[j, u]
    sums = steps.sum(axis=1, keepdims=True)
    steps = np.divide(steps, sums, out=np.zeros_like(steps), where=sums > 0)
    pi, moved, walked = np.full(len(nodes), 1 / len(nodes)), np.inf, 0
    while moved > 1e-3 and walked < 100:
        before, pi, walked = pi, 0.05 / len(nodes) + 0.95 * steps.T @ pi, walked + 1
        moved = np.abs(pi - before).max()
    pi /= pi.sum()
    share = dict(zip(nodes, pi, strict=True))
    relevance = [sum(share[j, u] for u in counts.levels[j]) for j in range(counts.d)]
    return np.array([sum(relevance[j] * share[j, u] for j, u in enumerate(row)) for row in rows])
