"""What `plot()` draws is what the estimator makes public; pictures that need rows say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError, MissingPackageError
from gramian.estimators.plots import drawings
from gramian.estimators.registry import METHODS


@pytest.fixture(autouse=True)
def no_screen():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def rows(rng):
    n = 120
    g = rng.choice(["a", "b", "c"], n)
    x = rng.normal(size=n) + (g == "a")
    return pd.DataFrame({"g": g, "x": x, "y": 2 * x + rng.normal(size=n), "won": np.where(x > 0.3, "yes", "no")})


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def test_every_picture_that_is_named_exists_and_is_documented():
    named = {name for m in METHODS if issubclass(m.estimator, drawings.Plots) for name in m.estimator._plots}
    assert named <= {name for name in vars(drawings) if not name.startswith("_")}
    assert len(named) > 15


def test_the_scree_shows_the_variances_and_what_is_kept(rng):
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(200, 6))
    model = gm.PCA("parallel").fit(X)
    ax = model.plot()
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.selection_["explained_variance"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.selection_["noise_threshold"])
    assert ax.get_title() == f"{model.n_components_} components kept"


def test_axes_and_kinds_that_are_passed_are_used(rows):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    model = gm.PCA(2).fit(rows[["g", "x"]])
    assert model.plot(rows[["g", "x"]], kind="biplot", ax=ax) is ax
    np.testing.assert_allclose(ax.collections[0].get_offsets(), model.transform(rows[["g", "x"]]))
    with pytest.raises(DataError, match="has no picture 'tree'; it has 'scree', 'loadings', 'biplot'"):
        model.plot(kind="tree")


def test_importance_and_coefficients_are_those_of_the_tables(rows):
    moments = gm.collect(rows.drop(columns="won"), targets="y", folds=3)
    model = gm.Ridge(alpha=0).fit(moments, y="y")
    np.testing.assert_allclose(widths(model.plot(kind="importance")), model.column_importance()["importance"])
    table = model.inference()
    drawn = model.plot().lines[0].get_xdata()
    assert set(np.round(drawn, 9)) <= set(np.round(table["coefficient"].dropna(), 9))
    assert len(drawn) == 3
    penalised = gm.Ridge(alpha=3.0).fit(moments, y="y")
    assert max(map(abs, widths(penalised.plot()))) == pytest.approx(np.abs(penalised.coef_).max())


def test_predictions_are_a_line_or_a_confusion(rows):
    X = rows[["g", "x"]]
    model = gm.FisherDiscriminant().fit(X, rows["won"])
    ax = model.plot(X, rows["won"], kind="predictions")
    drawn = np.array([int(text.get_text()) for text in ax.texts]).reshape(2, 2)
    found = model.predict(X)
    expected = [[((rows["won"] == a) & (found == b)).sum() for b in ("no", "yes")] for a in ("no", "yes")]
    np.testing.assert_array_equal(drawn, expected)
    line = gm.Ridge().fit(X, rows["y"])
    points = line.plot(X, rows["y"], kind="predictions").collections[0].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([line.predict(X), rows["y"]]))


def test_the_oddest_row_is_explained(rows):
    X = rows[["g", "won"]].copy()
    model = gm.DensityEmbedding().fit(X)
    ax = model.plot(X)
    oddest = int(np.argmin(model.score_samples(X)))
    assert ax.get_title() == f"row {oddest}"
    assert sum(widths(ax)) == pytest.approx(float(model.anomaly_score(X)[oddest]))


@pytest.mark.parametrize("make", [gm.NeuralICA, gm.DensityEmbedding])
def test_pictures_of_rows_ask_for_them(make, rng):
    model = make().fit(rng.uniform(size=(60, 2)))
    with pytest.raises(DataError, match="pass X"):
        model.plot()
    with pytest.raises(DataError, match="pass y"):
        gm.ELMRegressor(5, random_state=0).fit(rng.uniform(size=(60, 2)), rng.normal(size=60)).plot([[0.0, 0.0]])


def test_a_missing_matplotlib_is_named(rows, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'gramian\[plot\]'"):
        gm.PCA(2).fit(rows[["g", "x"]]).plot()
