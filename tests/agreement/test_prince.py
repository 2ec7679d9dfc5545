"""Multiple correspondence analysis and factor analysis of mixed data against prince."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.pca import pca

prince = pytest.importorskip("prince")

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def generated(n=300):
    rng = np.random.default_rng(11)
    latent = rng.standard_normal(n)
    return pd.DataFrame(
        {
            "a": np.where(latent + rng.standard_normal(n) > 0, "x", "y"),
            "b": rng.choice(["u", "v", "w"], n, p=[0.6, 0.3, 0.1]),
            "c": np.where(latent > 0.5, "high", np.where(rng.random(n) < 0.5, "mid", "low")),
            "s": latent + rng.standard_normal(n),
            "t": 1e3 * latent + 500 * rng.standard_normal(n) + 1e4,
        }
    )


def eigenvalues_of(kind, frame, k):
    # prince warns of its own use of its dependencies; what is compared is its numbers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(kind(n_components=k, engine="scipy").fit(frame).eigenvalues_)


def assert_mca(frame, k):
    found = pca(gm.collect(frame, categorical=list(frame.columns)), n_components=k, ddof=0)
    # The indicator table of Q columns is divided by n Q there: eigenvalues are Q times as large here.
    np.testing.assert_allclose(
        found.explained_variance / frame.shape[1], eigenvalues_of(prince.MCA, frame, k), rtol=1e-9
    )


def assert_famd(frame, k):
    found = pca(gm.collect(frame), n_components=k)
    weight = len(frame)
    # The default ddof=1 divides by n - 1, FAMD by n.
    np.testing.assert_allclose(
        found.explained_variance * (weight - 1) / weight, eigenvalues_of(prince.FAMD, frame, k), rtol=1e-9
    )


def test_mca_eigenvalues():
    assert_mca(generated()[["a", "b", "c"]], 5)


def test_famd_eigenvalues():
    assert_famd(generated(), 7)


def test_famd_row_coordinates_up_to_sign():
    frame = generated()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = prince.FAMD(n_components=3, engine="scipy").fit(frame).row_coordinates(frame).to_numpy()
    m = gm.collect(frame)
    found = pca(m, n_components=3)
    parts = [(frame[c] == level).to_numpy(float) for c in "abc" for level in m.levels(c)]
    z = (np.column_stack([*parts, frame["s"], frame["t"]]) - found.mean) @ found.weights
    signs = np.sign(np.sum(z * expected, axis=0))
    np.testing.assert_allclose(z * signs, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["votes", "car", "mushroom"])
def test_mca_eigenvalues_of_stored_tables(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the data folder is not there")
    frame = pd.read_parquet(path).astype(object)
    frame = frame.where(frame.notna(), "missing").astype(str)
    assert_mca(frame.head(3000), 4)


@pytest.mark.parametrize("name", ["german", "adult"])
def test_famd_eigenvalues_of_stored_tables(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the data folder is not there")
    frame = pd.read_parquet(path).head(2000)
    numeric = frame.select_dtypes("number").columns
    frame = frame.astype(dict.fromkeys(numeric, float))
    rest = [c for c in frame.columns if c not in set(numeric)]
    frame[rest] = frame[rest].astype(object).where(frame[rest].notna(), "missing").astype(str)
    assert_famd(frame.dropna(), 5)
