"""The likelihood over trees written out with numpy, its two constants free; and its limit, the one tree of Chow and Liu.

    score(x) = sum_j s[u_j] - sum_{j<k} rho_jk log lift[u_j, u_k]
    s[u] = -log(n_u / n)         lift[u, v] = (n_uv + a) / (n_u n_v / n + a)
    rho_jk = P(edge jk in a random spanning tree, trees weighted by the product of I_jk^q)

with I the mutual information less its bias, at least 0. The library has a = 1 and q = 2; as q grows only the heaviest
tree is left. The edge probabilities are the leverages of the rows of the incidence matrix, each multiplied by the root of
its weight: a QR decomposition with column pivoting, heaviest rows first, finds them also where weights differ by 30
orders of magnitude.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from benchmarks.pool import Problem

PRIOR, POWER = 1.0, 2.0
"""The constants of the library."""


class Counts:
    """Counts of levels and of pairs of levels, column pair by column pair."""

    def __init__(self, problem: Problem) -> None:
        self.codes, self.sizes = problem.codes.astype(np.int64), problem.sizes
        self.n, self.d = self.codes.shape
        self.level = [np.bincount(self.codes[:, j], minlength=k).astype(float) for j, k in enumerate(self.sizes)]
        self.pairs = list(combinations(range(self.d), 2))

    def pair(self, j: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each row, the cell of the pair's table; the table; and what independence expects there."""
        cell = self.codes[:, j] * self.sizes[k] + self.codes[:, k]
        seen = np.bincount(cell, minlength=self.sizes[j] * self.sizes[k]).astype(float)
        return cell, seen, np.outer(self.level[j], self.level[k]).ravel() / self.n

    def information(self) -> np.ndarray:
        """Return the mutual information of each pair of columns less its bias, at least 0, (d, d)."""
        found = np.zeros((self.d, self.d))
        for j, k in self.pairs:
            _, seen, expected = self.pair(j, k)
            held = seen > 0
            plain = np.sum(seen[held] * np.log(seen[held] / expected[held])) / self.n
            found[j, k] = max(0.0, plain - (self.sizes[j] - 1) * (self.sizes[k] - 1) / (2 * self.n))
        return found + found.T


def edge_probabilities(information: np.ndarray, power: float) -> np.ndarray:
    """Return P(edge in a random spanning forest), (d, d) upper triangle; `power` infinity is the heaviest tree alone."""
    d = len(information)
    found = np.zeros((d, d))
    if np.isinf(power):
        tree = minimum_spanning_tree(csr_array(np.triu(-information)))
        found[tree.nonzero()] = 1.0
        return found
    edges = np.argwhere(np.triu(information) > 0)
    if not len(edges):
        return found
    weight = information[tuple(edges.T)]
    edges = edges[np.argsort(-weight)]
    root = (information[tuple(edges.T)] / weight.max()) ** (power / 2)
    incidence = np.zeros((len(edges), d))
    incidence[np.arange(len(edges)), edges[:, 0]] = root
    incidence[np.arange(len(edges)), edges[:, 1]] = -root
    parts = connected_components(csr_array(information > 0))[0]
    q, _, _ = qr(incidence, mode="economic", pivoting=True)
    found[tuple(edges.T)] = np.square(q[:, : d - parts]).sum(axis=1)
    return found


def named(prior: float, power: float) -> str:
    return f"{prior:g}, {power:g}"


def tree_scores(problem: Problem, constants: list[tuple[float, float]]) -> dict[str, np.ndarray]:
    """Return the score of each row for each (prior, power), by ``"prior, power"``."""
    counts = Counts(problem)
    information = counts.information()
    rho = {power: edge_probabilities(information, power) for _, power in constants}
    rare = sum(-np.log(level / counts.n)[counts.codes[:, j]] for j, level in enumerate(counts.level))
    scores = [np.array(rare) for _ in constants]
    for j, k in counts.pairs:
        if all(rho[power][j, k] == 0 for _, power in constants):
            continue
        cell, seen, expected = counts.pair(j, k)
        lift = {prior: np.log((seen + prior) / (expected + prior))[cell] for prior in {a for a, _ in constants}}
        for score, (prior, power) in zip(scores, constants, strict=True):
            score -= rho[power][j, k] * lift[prior]
    return {named(*pair): score for pair, score in zip(constants, scores, strict=True)}


def chow_liu(problem: Problem) -> np.ndarray:
    """Return -log p(x) under the one tree of most mutual information, the same smoothed lifts on its edges."""
    (score,) = tree_scores(problem, [(PRIOR, float("inf"))]).values()
    return score
