"""Coupled biased random walks against the published algorithm, row by row, and against its package where it is there."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.density.detector import walk_score


def published(
    rows: list[dict[str, str]], *, alpha: float = 0.95, tolerance: float = 1e-3, steps: int = 100
) -> np.ndarray:
    """Return the scores of rows by the published algorithm, from the rows themselves."""
    single, joint = Counter(), Counter()
    by_column = defaultdict(Counter)
    for row in rows:
        for item in row.items():
            single[item] += 1
            by_column[item[0]][item] += 1
        joint.update(combinations(sorted(row.items()), 2))
    bias = {}
    for counts in by_column.values():
        mode = max(counts.values())
        for item, count in counts.items():
            bias[item] = (1 - count / mode + 1 - mode / len(rows)) / 2
    place = {item: k for k, item in enumerate(single)}
    step = np.zeros((len(place), len(place)))
    for (u, v), count in joint.items():
        step[place[u], place[v]] = bias[v] * count / single[v]
        step[place[v], place[u]] = bias[u] * count / single[u]
    total = step.sum(axis=1, keepdims=True)
    step = np.divide(step, total, out=np.zeros_like(step), where=total > 0)
    pi = np.full(len(place), 1 / len(place))
    for _ in range(steps):
        after = (1 - alpha) / len(place) + alpha * step.T @ pi
        moved = np.abs(pi - after).max()
        pi = after
        if moved <= tolerance:
            break
    pi /= pi.sum()
    relevance = defaultdict(float)
    for item, k in place.items():
        relevance[item[0]] += pi[k]
    return np.array([sum(relevance[item[0]] * pi[place[item]] for item in row.items()) for row in rows])


def table(rng: np.random.Generator, *, wide: bool) -> pd.DataFrame:
    n = int(rng.integers(30, 1500))
    frame = pd.DataFrame({f"c{k}": rng.choice(list("abcdefg")[: int(rng.integers(1, 7))], n) for k in range(4)})
    frame["copy"] = np.where(rng.random(n) < 0.9, frame["c0"], "other")
    if wide:
        n_levels = 2500
        frame = pd.concat([frame] * (1 + n_levels // n), ignore_index=True)
        frame["id"] = [f"id {k}" for k in rng.permutation(len(frame)) % n_levels]
    return frame


@pytest.mark.parametrize("wide", [False, True])
def test_walks_are_the_published_ones(rng, wide):
    for _ in range(1 if wide else 5):
        frame = table(rng, wide=wide)
        # Named, an identifier is a feature.
        named = ["id"] if wide else "from_dtype"
        model = gm.DensityEmbedding(method="walk", categorical_features=named).fit(frame)
        np.testing.assert_allclose(model.anomaly_score(frame), published(frame.to_dict("records")), rtol=0, atol=1e-8)


def test_walks_are_those_of_the_package(rng):
    package = pytest.importorskip("coupled_biased_random_walks")
    frame = table(rng, wide=False)
    rows = frame.to_dict("records")
    peer = package.CBRW().add_observations(rows).fit().score(rows)
    ours = gm.DensityEmbedding(method="walk").fit(frame).anomaly_score(frame)
    np.testing.assert_allclose(ours, peer, rtol=0, atol=1e-8)


def test_walks_need_levels(rng):
    with pytest.raises(DataError, match="categorical"):
        gm.DensityEmbedding(method="walk").fit(rng.normal(size=(20, 2)))
    numbers = pd.DataFrame({"a": rng.choice(list("xy"), 50), "b": rng.choice(list("pq"), 50), "x": rng.normal(size=50)})
    with_numbers = gm.DensityEmbedding(method="walk").fit(numbers).anomaly_score(numbers)
    without = gm.DensityEmbedding(method="walk").fit(numbers[["a", "b"]]).anomaly_score(numbers[["a", "b"]])
    np.testing.assert_array_equal(with_numbers, without)


def test_scores_of_levels_do_not_depend_on_the_unit_of_weights(rng):
    frame = table(rng, wide=False)
    one, other = (walk_score(gm.collect(frame, sample_weight=np.full(len(frame), w))) for w in (1.0, 3.0))
    for mine, theirs in zip(one.own, other.own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    assert one.pairs == {}
