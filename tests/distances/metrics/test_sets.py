"""Jaccard against its definition."""

from __future__ import annotations

import numpy as np

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.distances.metrics.sequences import SetMetric


def test_jaccard_is_one_less_the_common_share() -> None:
    sets = [{"a", "b", "c"}, {"b", "c"}, {"d"}, set()]
    expected = [[1 - len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets]
    np.testing.assert_allclose(pairwise_distances(sets, metric="jaccard"), expected)
    np.testing.assert_allclose(pairwise_distances(sets[:2], sets, metric="jaccard"), expected[:2])


def test_members_count_once_and_may_be_anything_hashable():
    metric = SetMetric("jaccard", {})
    sets = metric.prepare([["a", "a", 1], ("a", 1), [None]])
    np.testing.assert_array_equal(metric.block(sets, sets, 1), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
