"""Random spanning trees against every tree of small graphs, in exact arithmetic."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from gramian.linear.density import spanning
from gramian.linear.density.spanning import draw_trees, edge_probabilities


def every_tree(weights: np.ndarray) -> dict[tuple, Fraction]:
    """Return each spanning tree (forest with as many edges as possible) and its probability."""
    m = len(weights)
    edges = [(i, j) for i in range(m) for j in range(i) if weights[i, j] > 0]
    for size in range(m - 1, -1, -1):
        found = {}
        for some in itertools.combinations(edges, size):
            part = list(range(m))
            for i, j in some:
                a, b = part[i], part[j]
                if a == b:
                    break
                part = [b if p == a else p for p in part]
            else:
                product = Fraction(1)
                for edge in some:
                    product *= Fraction(float(weights[edge]))
                found[some] = product
        if found:
            total = sum(found.values())
            return {tree: weight / total for tree, weight in found.items()}
    return {(): Fraction(1)}


def graph(rng: np.random.Generator, m: int, low: float, high: float, absent: float = 0.0) -> np.ndarray:
    """Return symmetric weights, their logarithms to base ten even between `low` and `high`."""
    weights = np.tril(10.0 ** rng.uniform(low, high, (m, m)) * (rng.random((m, m)) >= absent), -1)
    return weights + weights.T


@pytest.mark.parametrize("absent", [0.0, 0.3, 0.8])
def test_edge_probabilities_keep_their_digits_over_twenty_orders_of_magnitude(rng, absent):
    for _ in range(30):
        weights = graph(rng, int(rng.integers(1, 7)), -18, 2, absent)
        expected = np.zeros(weights.shape)
        for tree, chance in every_tree(weights).items():
            for edge in tree:
                expected[edge] += float(chance)
        np.testing.assert_allclose(edge_probabilities(weights), expected + expected.T, rtol=1e-12, atol=0)


def test_probabilities_add_up_to_the_edges_of_a_tree_and_do_not_depend_on_the_scale(rng):
    weights = graph(rng, 60, -15, 0)
    weights[:20, 20:] = weights[20:, :20] = 0.0
    found = edge_probabilities(weights)
    np.testing.assert_allclose(found.sum() / 2, 60 - 2, rtol=1e-10)
    np.testing.assert_allclose(edge_probabilities(weights * 1e-200), found, rtol=1e-10)
    assert (edge_probabilities(np.zeros((3, 3))) == 0).all()


def test_an_edge_that_nothing_else_can_replace_is_certain(rng):
    weights = np.zeros((6, 6))
    weights[:3, :3], weights[3:, 3:] = graph(rng, 3, 0, 1), graph(rng, 3, 0, 1)
    weights[2, 3] = weights[3, 2] = 1e-30
    np.testing.assert_allclose(edge_probabilities(weights)[2, 3], 1.0, rtol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_trees_are_drawn_with_their_probabilities(rng, spread):
    weights = graph(rng, 5, -spread, 0)
    n = 40_000
    with np.errstate(divide="ignore"):
        order, parents = draw_trees(np.log(weights), np.array([2]), n, seed=3)
    drawn = Counter(
        tuple(sorted((max(k, p), min(k, p)) for k, p in enumerate(tree) if p >= 0)) for tree in parents.tolist()
    )
    expected = {tuple(sorted(tree)): n * float(chance) for tree, chance in every_tree(weights).items()}
    assert set(drawn) <= set(expected)
    tested = [tree for tree, count in expected.items() if count > 5]
    squares = sum((drawn[tree] - expected[tree]) ** 2 / expected[tree] for tree in tested)
    # Five standard deviations of a chi-squared.
    assert squares < len(tested) + 5 * np.sqrt(2 * len(tested))
    for nodes, above in zip(order[:100], parents[:100], strict=True):
        place = np.argsort(nodes)
        assert nodes[0] == 2
        assert all(place[above[k]] < place[k] for k in range(5) if above[k] >= 0)


def test_trees_of_weights_beyond_any_number_are_the_best_ones(rng):
    log_weights = rng.uniform(0, 1e5, (7, 7))
    log_weights = np.maximum(log_weights, log_weights.T)
    log_weights[:2, 2:] = log_weights[2:, :2] = -np.inf
    np.fill_diagonal(log_weights, -np.inf)
    _, parents = draw_trees(log_weights, np.array([0, 4]), 50, seed=0)
    best: set[tuple[int, int]] = set()
    part = list(range(7))
    for i, j in sorted(itertools.combinations(range(7), 2), key=lambda edge: -log_weights[edge]):
        if log_weights[i, j] > -np.inf and part[i] != part[j]:
            best.add((i, j))
            part = [part[j] if p == part[i] else p for p in part]
    for tree in parents.tolist():
        assert {(min(k, p), max(k, p)) for k, p in enumerate(tree) if p >= 0} == best


def test_the_best_tree_is_the_heaviest_of_all(rng):
    from scipy.sparse.csgraph import minimum_spanning_tree

    weights = rng.random((40, 40))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    # Two parts.
    weights[:25, 25:] = weights[25:, :25] = 0.0
    order, parents = spanning.best_tree(weights, np.array([3, 30]))
    assert sorted(order) == list(range(40))
    assert np.flatnonzero(parents < 0).tolist() == [3, 30]
    place = np.argsort(order)
    child = np.flatnonzero(parents >= 0)
    assert (place[parents[child]] < place[child]).all()
    assert weights[child, parents[child]].sum() == pytest.approx(-minimum_spanning_tree(-weights).sum())


def test_of_many_columns_the_best_tree_speaks_alone(rng, monkeypatch):
    monkeypatch.setattr(spanning, "ALL_TREES", 10)
    weights = rng.random((12, 12))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    first, second, rho = spanning.tree_edges(weights, 1e-12)
    assert (first < second).all()
    assert rho.tolist() == [1.0] * 11
    _, parents = spanning.best_tree(weights, np.array([5]))
    child = np.flatnonzero(parents >= 0)
    expected = {(min(pair), max(pair)) for pair in zip(child.tolist(), parents[child].tolist(), strict=True)}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_edges_of_random_trees_are_those_of_some_probability(rng):
    weights = rng.random((8, 8)) ** 12
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    rho = edge_probabilities(weights)
    first, second, found = spanning.tree_edges(weights, 0.01)
    assert 7 <= len(found) < 28
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == set(map(tuple, np.argwhere(np.triu(rho >= 0.01))))
    assert found.tolist() == rho[first, second].tolist()
