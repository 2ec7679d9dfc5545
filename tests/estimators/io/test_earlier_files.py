"""Files of version 0.1, written by the sources of 16 November 2026, load and answer as they did.

`data/version_0_1.zip` holds model and moments files, the rows they are asked about, the answers of that day, and the script
that made it all, `made_by.py`.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.estimators.spine.files import from_bytes, to_bytes

ARCHIVE = Path(__file__).parent / "data" / "version_0_1.zip"
MODELS = sorted(name for name in zipfile.ZipFile(ARCHIVE).namelist() if name.endswith(".model"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of the files, and the answers by model and method."""
    folder = tmp_path_factory.mktemp("version_0_1")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
        with np.load(io.BytesIO(archive.read("answers.npz"))) as answers:
            return folder, dict(answers)


def read(path: Path) -> pa.Table:
    with pa.ipc.open_file(path) as file:
        return file.read_all()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_answers_as_it_did(name, kept):
    folder, answers = kept
    model, known = gm.load(folder / name), name.removesuffix(".model")
    asked = {key.partition(".")[2]: value for key, value in answers.items() if key.startswith(f"{known}.")}
    assert asked
    given = answers["array"] if known in ("pca_of_array", "mds", "nmf") else read(folder / "later.arrow")
    # Written again it is a file of today.
    for read_back in (model, from_bytes(to_bytes(model))):
        for method, answer in asked.items():
            found = read_back.get_support() if method == "support_" else getattr(read_back, method)(given)
            if answer.dtype.kind in "OUb":
                assert found.tolist() == answer.tolist()
            else:
                np.testing.assert_allclose(found, answer, rtol=1e-12, atol=1e-12 * np.abs(answer).max())


def test_moments_are_those_of_the_rows(kept):
    folder, answers = kept
    moments, rows = gm.load(folder / "table.moments"), read(folder / "full.arrow")
    np.testing.assert_allclose(moments.mean(), answers["moments.mean"], rtol=1e-12)
    np.testing.assert_allclose(moments.covariance(), answers["moments.covariance"], rtol=1e-12, atol=1e-12)
    again = gm.collect(rows, like=moments)
    assert moments.isclose(again)
    assert (moments + again).n_rows == 2 * rows.num_rows
    folds = gm.load(folder / "folds.moments")
    assert folds.n_rows == rows.num_rows
    assert len(folds.folds) == 3
