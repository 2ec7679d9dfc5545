"""The noise of independent columns: its edge against known laws, its 95 % point against simulated tables."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.parallel import FreeSum, Spectra, noise_edge, noise_thresholds
from gramian.linear.pca import pca


def projectors(*ranks):
    return Spectra(np.ones((len(ranks), 1)), np.array(ranks, dtype=float)[:, None])


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.1), (0.02, 0.3), (0.4, 0.25)])
def test_two_categories_have_wachters_edge(a, b):
    n = 1000
    expected = 1 + np.sqrt(a * (1 - b)) + np.sqrt(b * (1 - a))
    assert noise_edge(projectors(a * n, b * n), n).value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("share", [0.01, 0.25, 0.9])
def test_numbers_have_the_marchenko_pastur_edge_and_spread(share):
    n = 60_000
    d = int(share * n)
    found = noise_edge(projectors(*[1] * d), n)
    assert found.value == pytest.approx((1 + np.sqrt(share)) ** 2, rel=2e-3)
    johnstone = (np.sqrt(n) + np.sqrt(d)) * (1 / np.sqrt(n) + 1 / np.sqrt(d)) ** (1 / 3) / n
    assert found.spread == pytest.approx(johnstone, rel=1e-2)


def test_the_transform_of_a_projector_is_the_formula():
    for g in (0.2, 1.0, 3.0):
        for a in (0.01, 0.3):
            formula = ((g - 1) + np.sqrt((g + 1) ** 2 - 4 * g * (1 - a))) / (2 * g)
            assert FreeSum(projectors(100 * a), 100).brackets(g)[0] == pytest.approx(formula, rel=1e-10)


def test_the_edge_of_uneven_spectra_is_that_of_random_rotations(rng):
    # Three columns with known spectra, turned at random: the largest eigenvalue is the edge, to its own fluctuation.
    n, spectra = 300, [np.array([3.0, 2.0, 0.5] * 10), np.linspace(0.1, 2.5, 40), np.full(20, 1.5)]
    total = np.zeros((n, n))
    for values in spectra:
        turn = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
        total += (turn * values) @ turn.T
    found = noise_edge(Spectra.of([(values, np.ones(len(values))) for values in spectra]), n)
    assert abs(np.linalg.eigvalsh(total)[-1] - found.value) < 4 * found.spread


def share_above(columns, n_tables, seed):
    """Share of null tables whose first component exceeds its threshold, columns shuffled against each other."""
    rng = np.random.default_rng(seed)
    above = 0
    for _ in range(n_tables):
        m = gm.collect(pd.DataFrame({name: rng.permutation(values) for name, values in columns.items()}))
        found = pca(m, n_components="parallel").selection
        above += found["explained_variance"][0] > found["noise_threshold"][0]
    return above / n_tables


def categories(kind, n_levels, n_columns, n, seed=0):
    rng = np.random.default_rng(seed)
    share = np.ones(n_levels) if kind == "even" else 1.0 / np.arange(1, n_levels + 1)
    return {f"c{j}": rng.choice(n_levels, n, p=share / share.sum()).astype(str) for j in range(n_columns)}


@pytest.mark.parametrize(
    "columns",
    [
        categories("even", 30, 2, 1000),
        categories("zipf", 50, 2, 500),
        categories("zipf", 20, 6, 500),
        categories("even", 2, 3, 500),
        {**categories("zipf", 60, 2, 1000), "x": np.random.default_rng(1).standard_normal(1000)},
    ],
    ids=["even", "rare", "zipf", "binary", "mixed"],
)
def test_one_null_table_of_twenty_exceeds_its_threshold(columns):
    # Between 1 and 8 of 100 is the aim: of 40 tables more than 7 would be seen in one case of seventy at 8 %.
    assert share_above(columns, 40, seed=3) <= 7 / 40


@pytest.mark.parametrize("seed", range(5))
def test_a_plain_dependence_of_two_wide_columns_is_found(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 30, 2000)
    b = np.where(rng.random(2000) < 0.12, a, rng.integers(0, 30, 2000))
    found = pca(gm.collect(pd.DataFrame({"a": a.astype(str), "b": b.astype(str)})), n_components="parallel").selection
    assert found["explained_variance"][0] > found["noise_threshold"][0]


def test_a_column_alone_is_its_own_null(rng):
    found = pca(gm.collect(pd.DataFrame({"a": rng.integers(0, 30, 500).astype(str)})), n_components="parallel")
    assert len(found.components) == 1
    assert found.selection["explained_variance"][0] <= found.selection["noise_threshold"][0]


def test_a_large_column_of_its_own_does_not_stand_out(rng):
    x = rng.standard_normal((500, 6)) * [100.0, 1, 1, 1, 1, 1]
    found = pca(gm.collect(x), n_components="parallel", scale=False).selection
    assert found["explained_variance"][0] <= found["noise_threshold"][0]


def test_thresholds_do_not_depend_on_how_a_block_is_written(rng):
    # The spectrum of a projector less k directions, against the eigenvalues of the block itself.
    frame = pd.DataFrame({"a": rng.integers(0, 8, 400).astype(str), "b": rng.integers(0, 5, 400).astype(str)})
    frame["c"] = np.where(rng.random(400) < 0.6, frame["a"], frame["b"])
    m = gm.collect(frame)
    found = pca(m, n_components="parallel")
    layout, metric = layout_of(m, None), found.metric
    variance = np.diagonal(m.covariance())
    values, vectors = np.linalg.eigh(m.covariance() * np.outer(metric, metric))
    values, vectors = values[::-1][: found.rank], vectors[:, ::-1][:, : found.rank]
    exact = noise_thresholds(layout, found.mean, variance, metric, 399.0, values, vectors)
    nudged = noise_thresholds(layout, found.mean, variance, metric * (1 + 1e-7), 399.0, values, vectors)
    np.testing.assert_allclose(exact, found.selection["noise_threshold"], rtol=1e-8)
    np.testing.assert_allclose(exact, nudged, rtol=1e-4)


@pytest.mark.parametrize("first", [1, 2])
def test_noise_is_judged_alike_by_a_few_vectors_and_by_all(rng, monkeypatch, first):
    X = rng.standard_normal((500, 6)) @ rng.standard_normal((6, 20)) + rng.standard_normal((500, 20))
    m = gm.collect(X)
    whole = gm.PCA("parallel").fit(m)
    monkeypatch.setattr("gramian.linear.pca.FIRST", first)
    few = gm.PCA("parallel").fit(m)
    assert whole.n_components_ > 4
    np.testing.assert_allclose(few.components_, whole.components_, atol=1e-12)
    # The spread of the edge is a second difference, of fewer digits than the eigenvalues.
    np.testing.assert_allclose(few.selection_["noise_threshold"], whole.selection_["noise_threshold"], rtol=1e-8)
