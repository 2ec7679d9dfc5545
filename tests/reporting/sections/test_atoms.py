"""The section on atoms: pictures, error against sparsity and competition are those of the model and the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.reporting.sections.units import PICTURES
from gramian.sparse.coders.omp import omp


@pytest.fixture
def learned(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    return gm.DictionaryLearner(8, n_nonzero=2, n_epochs=2).fit(frame), frame


def test_what_few_atoms_leave(learned):
    model, frame = learned
    found = gm.report.summary(model, frame, image_shape=(2, 3))["atoms"]
    rows = frame.to_numpy()
    for point in found["curve"]:
        codes = omp(rows, model.dictionary_, n_nonzero=point["atoms"])
        left = np.square(rows - codes @ model.dictionary_).sum() / np.square(rows).sum()
        assert point["left"] == pytest.approx(left, abs=1e-4)
    assert [point["atoms"] for point in found["curve"]] == [1, 2, 3, 4, 6]
    assert found["n_atoms"] == 8
    assert len({point["series"] for point in found["competition"]}) == 6
    assert found["competition"][0]["activity"] == 0


def test_pictures(learned):
    model, frame = learned
    pictures = gm.report.summary(model, frame, image_shape=(2, 3))["atoms"]["pictures"]
    assert (pictures["height"], pictures["width"], len(pictures["shades"])) == (2, 3, 8)
    for atom, shades in zip(model.dictionary_, pictures["shades"], strict=True):
        assert np.argmax(atom) == np.argmax(shades)
        assert shades[np.argmax(np.abs(atom))] in (0, 255)
    assert gm.report.summary(model, frame)["atoms"]["pictures"] is None
    with pytest.raises(DataError, match=r"image_shape=\(4, 4\) is 16 values a picture, and an atom has 6"):
        gm.report.summary(model, frame, image_shape=(4, 4))
    assert PICTURES >= 8


def test_the_page_shows_them(learned, tmp_path):
    model, frame = learned
    gm.report(model, frame, image_shape=(2, 3)).save(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count('<svg viewBox="0 0 3 2"') == 8
    assert "Atoms" in page


def test_non_negative_parts_with_gaps(rng):
    frame = pd.DataFrame(rng.random((40, 4)), columns=list("abcd"))
    frame.iloc[3, 1] = np.nan
    found = gm.report.summary(gm.NMF(2).fit(frame), frame)["atoms"]
    assert found["n_rows"] == 39
    assert found["curve"][-1]["left"] < found["curve"][0]["left"]


def test_no_section_without_atoms(rng):
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    found = gm.report.summary(gm.PCA().fit(frame), frame)
    assert "atoms" not in found
    assert "atoms" not in found["absent"]
