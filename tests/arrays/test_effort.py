"""Work of minutes is said before it begins, and only that."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.arrays import memory as effort
from gramian.errors import LongWorkWarning


@pytest.fixture
def few(rng):
    columns = {f"c{k}": pa.array(rng.integers(0, 5 + 3 * (k == 4), 60).astype(str)) for k in range(6)}
    return gm.collect(pa.table({**columns, "y": pa.array(rng.choice(["a", "b"], 60))}))


def test_what_takes_seconds_is_not_spoken_of(few):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effort.say_first("the eigenvectors", 4000, effort.EIGENVECTORS, ("city", 3900), "less")
        gm.Whitening().fit(few)
    for widest, most in [(("city", 9_000), ", 9,000 of them levels of column 'city',"), (("x", 1), "")]:
        expected = f"^it of 10,000 design columns{most} will take about 8 minutes of processor time; try less$"
        with pytest.warns(LongWorkWarning, match=expected):
            effort.say_first("it", 10_000, effort.EIGENVECTORS, widest, "try ", "less")


@pytest.mark.parametrize(
    "work",
    [
        lambda m: gm.Whitening().fit(m),
        lambda m: gm.PCA().fit(m),
        lambda m: gm.DensityEmbedding(method="mahalanobis").fit(m),
        lambda m: gm.RecursiveEliminator().fit(m, "y"),
    ],
    ids=["whitening", "pca", "density", "elimination"],
)
def test_it_is_said_with_what_takes_less_and_done_all_the_same(few, work, monkeypatch):
    expected = work(few)
    monkeypatch.setattr(effort, "LONG", 0.0)
    with pytest.warns(
        LongWorkWarning, match="8 of them levels of column 'c4', .* less with fewer columns or levels"
    ) as seen:
        found = work(few)
    assert len(seen) == 1
    for name in ("components_", "scores_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_rotations_of_unlike_columns_are_said_too(rng, monkeypatch):
    x = rng.standard_normal((300, 210)) * np.geomspace(1.0, 1e9, 210)
    monkeypatch.setattr(effort, "LONG", 1e-9 * 210**3)
    with pytest.warns(LongWorkWarning, match="of 210 design columns will take about"):
        gm.PCA().fit(x)
