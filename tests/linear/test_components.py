import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.layout import elbow_depth
from gramian.linear.parallel import Spectra, null_edge
from gramian.linear.pca import pca

RULES = ["elbow", "mle", "parallel", "cv"]


def factors(rng, n=600, p=12, sizes=(3.0, 2.0, 1.5), noise=0.5):
    z = rng.standard_normal((n, len(sizes))) * sizes
    turn = np.linalg.qr(rng.standard_normal((p, len(sizes))))[0]
    return z, z @ turn.T + noise * rng.standard_normal((n, p))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_three_clear_factors(rng, rule):
    _, x = factors(rng)
    assert len(pca(gm.collect(x, folds=5), n_components=rule).components) == 3


def test_parallel_does_not_need_equal_noise(rng):
    # In units of the columns' deviations the noise differs from column to column, which "mle" and "cv" do not model.
    _, x = factors(rng)
    assert len(pca(gm.collect(x), n_components="parallel", scale=True).components) == 3


def test_parallel_sees_weak_factors_behind_a_strong_one(rng):
    _, x = factors(rng, sizes=(30.0, 2.0, 1.5))
    assert len(pca(gm.collect(x), n_components="parallel").components) == 3


def test_parallel_keeps_nothing_but_the_first_of_pure_noise():
    # One table of twenty may exceed the threshold by design; of ten, seeded, none does here.
    for seed in range(10):
        x = np.random.default_rng(seed).standard_normal((200, 30)) * np.geomspace(0.1, 10, 30)
        found = pca(gm.collect(x), n_components="parallel")
        assert len(found.components) == 1
        assert found.selection["explained_variance"][0] < found.selection["noise_threshold"][0]


def test_parallel_finds_latent_classes_behind_categories(rng):
    n = 800
    latent = rng.integers(0, 3, n)
    labels = np.array(["a", "b", "c"])
    columns = {
        f"q{j}": np.where(rng.random(n) < 0.6, labels[latent], rng.choice(["a", "b", "c", "d"], n)) for j in range(10)
    }
    independent = {f"q{j}": rng.choice(["a", "b", "c", "d"], n) for j in range(10)}
    # Three classes differ in two directions.
    assert len(pca(gm.collect(pd.DataFrame(columns)), n_components="parallel").components) == 2
    noise = pca(gm.collect(pd.DataFrame(independent)), n_components="parallel").selection
    assert noise["explained_variance"][0] < noise["noise_threshold"][0]


def test_the_threshold_is_the_simulated_one_for_unequal_variances(rng):
    variances = np.geomspace(0.3, 3.0, 40)
    largest = [
        np.linalg.eigvalsh(np.cov((rng.standard_normal((400, 40)) * np.sqrt(variances)).T))[-1] for _ in range(120)
    ]
    # The formula is asymptotic, and the quantile is of 120 draws: 4 % at 40 columns.
    spectra = Spectra(variances[:, None], np.ones((40, 1)))
    assert null_edge(spectra, 399).quantile(0.05) == pytest.approx(np.quantile(largest, 0.95), rel=0.04)


def test_the_elbow_is_left_out():
    depth = elbow_depth(np.array([10.0, 9.0, 8.0, 1.0, 0.9, 0.8, 0.7]))
    assert int(np.argmax(depth)) == 3


def test_selection_is_one_row_a_number(rng):
    _, x = factors(rng)
    m = gm.collect(x, folds=3)
    for rule in [None, 2, 0.8, *RULES]:
        selection = pca(m, n_components=rule).selection
        lengths = {len(column) for column in selection.values()}
        assert len(lengths) == 1
        np.testing.assert_array_equal(selection["n_components"], np.arange(1, lengths.pop() + 1))


def test_a_share_of_variance_is_exceeded_by_the_fewest(rng):
    _, x = factors(rng)
    found = pca(gm.collect(x), n_components=0.9)
    ratio = np.cumsum(pca(gm.collect(x)).explained_variance_ratio)
    assert ratio[len(found.components) - 1] > 0.9 >= ratio[len(found.components) - 2]


@pytest.mark.parametrize("rule", ["cv", "cv-target"])
def test_cv_without_folds_names_the_remedy(rng, rule):
    _, x = factors(rng)
    frame = pd.DataFrame(x).add_prefix("x")
    frame["y"] = x[:, 0]
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        pca(gm.collect(frame), n_components=rule, target="y")


def test_cv_target_needs_a_target(rng):
    with pytest.raises(DataError, match="needs a target"):
        pca(gm.collect(factors(rng)[1], folds=3), n_components="cv-target")
