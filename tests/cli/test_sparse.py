"""Numeric tables on the command line: coders, dictionaries, quantisers and non-negative factors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm


@pytest.fixture
def tables(rng, tmp_path):
    atoms = rng.random((4, 3)) + 0.1
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    rows = pd.DataFrame(rng.random((40, 3)), columns=list("abc"))
    rows.assign(label="x").to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame(atoms, columns=list("abc")).to_csv(tmp_path / "atoms.csv", index=False)
    return tmp_path, rows, atoms


@pytest.mark.parametrize(
    ("method", "settings", "model"),
    [
        ("sparse-coding", ["dictionary=atoms.csv", "n_nonzero=2"], lambda atoms: gm.SparseCoder(atoms, n_nonzero=2)),
        (
            "sparse",
            ["dictionary=atoms.csv", "algorithm=lasso", "penalty=0.1"],
            lambda a: gm.SparseCoder(a, "lasso", penalty=0.1),
        ),
        ("ksvd", ["n_components=5", "n_nonzero=1"], lambda _: gm.DictionaryLearner(5, n_nonzero=1, update="ksvd")),
        ("vector-quantization", ["n_components=3"], lambda _: gm.VectorQuantizer(3)),
        ("nmf", ["n_components=2", "beta_loss=kullback-leibler"], lambda _: gm.NMF(2, beta_loss="kullback-leibler")),
    ],
)
def test_fit_and_transform(program, tables, method, settings, model):
    folder, rows, atoms = tables
    chosen = [part for setting in settings for part in ("--set", setting)]
    arguments = ["fit", "rows.csv", "--method", method, *chosen, "--exclude", "label", "-o", "s.model"]
    found = program(*arguments, "--json", cwd=folder).ok().json
    assert found["columns"] == ["a", "b", "c"]
    program("transform", "s.model", "rows.csv", "--keep", "label", "-o", "codes.csv", cwd=folder).ok()
    expected = model(atoms).fit(rows).transform(rows)
    np.testing.assert_allclose(pd.read_csv(folder / "codes.csv").drop(columns="label"), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["algorithm=best"], "algorithm is"),
        ([], "dictionary is None"),
        (["dictionary=[[1, 0, 0], [0, 0, 0]]"], "atom 1 of the dictionary is zero"),
        (["dictionary=[[1, 0, 0]]", "penalty=2"], "penalty has no meaning"),
    ],
)
def test_wrong_settings_are_wrong_usage(program, tables, settings, said):
    chosen = [part for setting in settings for part in ("--set", setting)]
    done = program("fit", "rows.csv", "-m", "sparse-coding", *chosen, "-o", "s.model", cwd=tables[0])
    assert said in done.at_fault(2)


def test_text_columns_are_at_fault(program, tables):
    done = program("fit", "rows.csv", "-m", "nmf", "-o", "s.model", cwd=tables[0])
    assert "column 'label' holds string" in done.at_fault(1)


def test_a_report_draws_atoms(program, tables):
    folder = tables[0]
    arguments = ["rows.csv", "-m", "dictionary", "-k", "4", "--exclude", "label", "-o", "d.model"]
    program("fit", *arguments, cwd=folder).ok()
    asked = ["report", "d.model", "--data", "rows.csv", "-o", "r.html"]
    program(*asked, "--image-shape", "1x3", cwd=folder).ok()
    assert (folder / "r.html").read_text().count('<svg viewBox="0 0 3 1"') == 4
    assert "8x8" in program(*asked, "--image-shape", "3", cwd=folder).at_fault(2)
    assert "9 values a picture, and an atom has 3" in program(*asked, "--image-shape", "3x3", cwd=folder).at_fault(1)
