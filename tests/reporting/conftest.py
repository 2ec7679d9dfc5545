"""The demo's payments, moments and models fitted from the first year, and later rows with what was planted among them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.cli.payments import payments
from gramian.reporting import report
from gramian.reporting.report import Report, summary

N_ROWS, N_NEW = 6_000, 1_500


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    found = payments(N_ROWS + N_NEW, seed=0)
    # The hundreds of merchants would make every fit slower and no test stricter.
    features, later = found.earlier.drop(["payment", "merchant"]), found.later.drop(["merchant"])
    moments = gm.collect(features, folds=3)
    models = {
        "pca": gm.PCA(6).fit(moments, y="fraud"),
        "fisher": gm.FisherDiscriminant().fit(moments, y="fraud"),
        "mahalanobis": gm.MahalanobisFeatures().fit(moments, y="fraud"),
        "density": gm.DensityEmbedding().fit(moments, y="fraud"),
    }
    entry = later["entry"].to_pylist()
    entry[7] = entry[70] = "iris scan"
    entry[700] = "barter"
    new = later.set_column(later.column_names.index("entry"), "entry", pa.array(entry))
    every = [moments, *models.values()]
    return SimpleNamespace(features=features, moments=moments, models=models, every=every, new=new, odd=found.odd)


@pytest.fixture(scope="session")
def whole(made: SimpleNamespace) -> dict[str, Any]:
    """What a report on moments, models and rows says."""
    return summary(made.every, made.new, max_rows=500)


@pytest.fixture(scope="session")
def made_report(made: SimpleNamespace) -> Report:
    return report(made.every, made.new, title="Payments & more", command="gramian demo", max_rows=600)


@pytest.fixture(scope="session")
def words() -> SimpleNamespace:
    """Words of two alphabets, and models of the distances between them."""
    rng = np.random.default_rng(3)
    draw = lambda letters, n: ["".join(rng.choice(list(letters), 6)) for _ in range(n)]  # noqa: E731
    objects = [*draw("aabbc", 25), *draw("ccxyz", 35)]
    classes = ["early letters"] * 25 + ["late letters"] * 35
    mds = gm.ClassicalMDS(metric="levenshtein").fit(objects)
    fda = gm.MDSFDA(1, metric="levenshtein").fit(objects, classes)
    table = pa.table({"word": objects, "class": classes, "vowels": [float(w.count("a")) for w in objects]})
    return SimpleNamespace(objects=objects, classes=classes, mds=mds, fda=fda, table=table)
