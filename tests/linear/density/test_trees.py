"""Scores of rows against sums over every spanning tree."""

from itertools import combinations

import numpy as np
import pandas as pd

import gramian as gm
from gramian.linear.density.dependence import dependence
from gramian.linear.density.detector import tree_score
from gramian.linear.layout import layout_of


def spanning_trees(m):
    edges = list(combinations(range(m), 2))
    for tree in combinations(edges, m - 1):
        reached = {0}
        for _ in range(m):
            reached |= {x for a, b in tree if a in reached or b in reached for x in (a, b)}
        if len(reached) == m:
            yield tree


def test_the_score_is_the_mean_over_all_trees(rng):
    n, names = 200, ["a", "b", "c", "d"]
    a = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(n) < 0.5, a, rng.integers(0, 4, n)),
            "c": np.where(rng.random(n) < 0.3, a % 2, rng.integers(0, 3, n)),
            "d": rng.integers(0, 5, n),
        }
    ).astype(str)
    m = gm.collect(frame)
    weights = dependence(m, layout_of(m, None)).weights
    lifts = {}
    for j, k in combinations(range(4), 2):
        count = frame.groupby([names[j], names[k]])[names[j]].transform("size").to_numpy()
        one, other = (frame.groupby(names[i])[names[i]].transform("size").to_numpy() for i in (j, k))
        lifts[j, k] = np.log((count + 1) / (one * other / n + 1))
    expected, total = np.zeros(n), 0.0
    for tree in spanning_trees(4):
        weight = np.prod([weights[edge] for edge in tree])
        expected -= weight * sum(lifts[edge] for edge in tree)
        total += weight
    expected = expected / total + sum(-np.log(frame.groupby(name)[name].transform("size") / n) for name in names)
    score = tree_score(m)
    found = score.apply(map(score.design.encode, gm.tables.opening.open_table(frame).batches()))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
