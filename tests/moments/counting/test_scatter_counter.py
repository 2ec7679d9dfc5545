"""Numbers added chunk by chunk have the moments of all rows at once, near zero and far from it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.moments.counting import scatter_counter
from gramian.moments.counting.scatter_counter import ScatterCounter, choose_anchors, deviations, places


@pytest.fixture
def counter():
    with ThreadPoolExecutor(2) as pool:
        yield lambda p: ScatterCounter([f"x{j}" for j in range(p)], executor=pool, n_threads=2, reserve=lambda _: None)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_add_up_to_all_rows(counter, rng, monkeypatch, offset, weighted):
    monkeypatch.setattr(scatter_counter, "CHUNK_VALUES", 300)
    x = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 4)) + offset
    x[100:, 2][rng.random(400) < 0.2] = np.nan
    w = rng.random(500) if weighted else np.ones(500)
    found = counter(4)
    for start in range(0, 500, 130):
        found.add(x[start : start + 130], w[start : start + 130] if weighted else None)
    numbers, weight = found.result()
    assert weight == pytest.approx(w.sum())
    seen = ~np.isnan(x)
    mean = np.array([np.average(x[at, j], weights=w[at]) for j, at in enumerate(seen.T)])
    np.testing.assert_allclose(numbers.imputed_mean(weight)[0], mean, rtol=1e-14)
    centred = np.where(seen, x - mean, 0.0)
    expected = (centred * w[:, None]).T @ centred
    np.testing.assert_allclose(numbers.imputed_scatter(weight), expected, atol=1e-8 * np.abs(expected).max())


def test_light_rows_far_away_cost_the_others_no_digits(counter, rng):
    # Residuals over their weights: most rows weigh nothing and are far from where the weight is.
    x = np.where(rng.random(400) < 0.9, 1e13, rng.standard_normal(400))[:, None]
    w = np.where(x[:, 0] > 1e12, 1e-14, 1.0)
    found = counter(1)
    found.add(x, w)
    numbers, weight = found.result()
    total = float(np.sum(w * x[:, 0]))
    assert weight * float(numbers.imputed_mean(weight)[0][0]) == pytest.approx(total, rel=1e-12)


def test_deviations_have_an_indicator_where_values_are_missing():
    values = np.array([[1.0, 5.0], [np.nan, 7.0]])
    found, missing = deviations(values, np.array([1.0, 4.0]), (), ["a", "b"])
    assert missing == (0,)
    assert found.tolist() == [[0.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
    with pytest.raises(DataError, match="'b' holds an infinite value"):
        deviations(np.array([[1.0, np.inf]]), np.zeros(2), (), ["a", "b"])
    assert places(2, (1,), (0, 1)).tolist() == [0, 1, 3]


def test_anchors_lie_near_the_values_and_stay_once_chosen():
    values = np.array([[1e8 + 1, np.nan, 7.25], [1e8 + 3, np.nan, 7.25]])
    anchors = choose_anchors(values, np.full(3, np.nan))
    assert abs(anchors[0] - 1e8) <= 4
    assert np.isnan(anchors[1])
    assert anchors[2] == 7.25
    assert choose_anchors(values + 100, np.array([5.0, 6.0, 7.0])).tolist() == [5.0, 6.0, 7.0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [4, 60, 600])
def test_sparse_rows_have_the_moments_of_dense_ones(counter, rng, p, weighted):
    # Few columns and a few rows of many are made dense; 60 columns go through the sparse product.
    n = 1000
    x = np.where(rng.random((n, p)) < 2 / p, rng.standard_normal((n, p)), 0.0)
    x[:, 0], x[:, 1] = 0.1, 1e6 + rng.standard_normal(n)
    # Full where anchors are chosen, and 0 afterwards.
    x[:, 2] = np.where(np.arange(n) < 600, 5.0 + rng.random(n), 0.0)
    w = rng.random(n) if weighted else np.ones(n)
    found = counter(p)
    for start in range(0, n, 500):
        at = slice(start, start + 500)
        found.add(sp.csr_array(x[at]), w[at] if weighted else None)
    numbers, weight = found.result()
    mean = w @ (x - x[0]) / w.sum()
    centred = x - x[0] - mean
    expected = (centred * w[:, None]).T @ centred
    spread = np.sqrt(np.where(np.diagonal(expected) > 1e-9, np.diagonal(expected), 1.0))
    assert not numbers.dense()[0].any()
    np.testing.assert_allclose(numbers.imputed_mean(weight)[0], x[0] + mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        numbers.dense() / np.outer(spread, spread), expected / np.outer(spread, spread), atol=1e-9
    )
    cubes = w @ centred**3
    np.testing.assert_allclose(numbers.powers[0], cubes, rtol=1e-6, atol=1e-6 * np.abs(cubes).max())


def test_anchors_of_sparse_rows_are_0_but_where_no_row_is():
    x = sp.csr_array(np.array([[0.1, 0.0, 3.0], [0.1, 2.0, 5.0], [0.1, 0.0, 4.0]]))
    assert choose_anchors(x, np.full(3, np.nan)).tolist() == [0.1, 0.0, 4.0]
    assert choose_anchors(x, np.array([7.0, np.nan, 0.0])).tolist() == [7.0, 0.0, 0.0]
    assert choose_anchors(x[:0], np.full(3, np.nan)).tolist() == [0.0, 0.0, 0.0]
