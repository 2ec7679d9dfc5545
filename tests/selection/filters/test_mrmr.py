import numpy as np
import pytest

from gramian.selection.filters.mrmr import as_correlation, most_relevant


def brute(relevance, redundancy, k, scheme, n):
    inside = [int(np.argmax(relevance))]
    while len(inside) < k:
        best, value = None, -np.inf
        for j in range(len(relevance)):
            if j in inside:
                continue
            mean = np.mean([redundancy[j][s] for s in inside])
            now = relevance[j] - mean if scheme == "difference" else relevance[j] / max(mean, 1 / np.sqrt(n))
            if now > value:
                best, value = j, now
        inside.append(best)
    return inside


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_the_definition(seed, scheme):
    rng = np.random.default_rng(seed)
    relevance, pairs = rng.random(12), rng.random((12, 12))
    pairs = (pairs + pairs.T) / 2
    found = most_relevant(relevance, lambda j: pairs[j], 8, n=100, scheme=scheme)
    assert found.order == brute(relevance, pairs, 8, scheme, 100)


def test_included_columns_enter_first_and_parts_of_one_column_once():
    relevance = np.array([0.9, 0.8, 0.1, 0.2])
    found = most_relevant(relevance, lambda j: np.zeros(4), 4, n=50, include=[2], same=np.array([0, 0, 1, 2]))
    assert found.order == [2, 0, 3]


def test_information_becomes_the_correlation_of_normal_variables():
    r = np.array([0.0, 0.3, 0.9])
    np.testing.assert_allclose(as_correlation(-np.log(1 - r**2) / 2), r, atol=1e-12)
    assert as_correlation(np.array([-0.2]))[0] == 0.0


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_columns_without_relevance_come_last(scheme):
    # Zero less zero is more than what is left of a column that repeats another; 1e-9 is rounding.
    relevance = np.array([0.0, 0.9, 0.8, 1e-9])
    pairs = np.array([[1.0, 0, 0, 0], [0, 1, 0.95, 0], [0, 0.95, 1, 0], [0, 0, 0, 1]])
    assert most_relevant(relevance, lambda j: pairs[j], 4, n=100, scheme=scheme).order == [1, 2, 3, 0]
    # Also where the included column has none.
    order = most_relevant(relevance, lambda j: pairs[j], 2, n=100, scheme=scheme, include=[0]).order
    assert order == [0, 1, 2]
