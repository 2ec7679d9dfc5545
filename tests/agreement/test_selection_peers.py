"""Selection against scikit-learn, skglm and fastcan on the same rows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import (
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
    f_regression,
    r_regression,
)
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import PredefinedSplit

import gramian as gm


@pytest.fixture
def table(rng):
    X = rng.standard_normal((240, 10)) @ (np.eye(10) + 0.4 * rng.standard_normal((10, 10)))
    return X, X @ (rng.standard_normal(10) * (rng.random(10) < 0.5)) + 2 * rng.standard_normal(240)


def test_variance_threshold(table):
    X, _ = table
    X = np.column_stack([X, np.full(len(X), 3.0), np.where(np.arange(len(X)) % 7, 1.0, np.nan)])
    peer = VarianceThreshold(1.0).fit(X)
    model = gm.VarianceFilter(1.0).fit(X)
    np.testing.assert_array_equal(model.get_support(), peer.get_support())
    np.testing.assert_allclose(model.scores_, peer.variances_, rtol=1e-9, atol=1e-12)


def test_r_and_f(table):
    X, y = table
    model = gm.PearsonFilter(1, correction=None).fit(X, y)
    np.testing.assert_allclose(model.scores_, r_regression(X, y), rtol=1e-9)
    np.testing.assert_allclose(model.p_values_, f_regression(X, y)[1], rtol=1e-7)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    np.testing.assert_allclose(gm.PearsonFilter(1).fit(X, classes).p_values_, f_classif(X, classes)[1], rtol=1e-7)


def test_mutual_information_of_tables(mixed):
    columns = ["color", "shape", "grade"]
    model = gm.MutualInformationFilter(1, correction=None).fit(mixed[columns], mixed["kind"])
    expected = [mutual_info_score(mixed[name], mixed["kind"]) for name in columns]
    np.testing.assert_allclose(model.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 5])
def test_sequential_selection_by_r2_of_the_same_rows(table, k):
    # One split whose test rows are its training rows: R^2 of the fit itself.
    X, y = table
    rows = np.arange(len(X))
    options = {"n_features_to_select": k, "cv": [(rows, rows)], "scoring": "r2"}
    ahead = SequentialFeatureSelector(LinearRegression(), direction="forward", **options).fit(X, y)
    np.testing.assert_array_equal(gm.ForwardSelector(k).fit(X, y).get_support(), ahead.get_support())
    back = SequentialFeatureSelector(LinearRegression(), direction="backward", **options).fit(X, y)
    np.testing.assert_array_equal(gm.RecursiveEliminator(k).fit(X, y).get_support(), back.get_support())


@pytest.mark.parametrize("seed", range(4))
def test_the_canonical_correlation_search_of_fastcan(seed):
    fastcan = pytest.importorskip("fastcan")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 12)) @ (np.eye(12) + 0.3 * rng.standard_normal((12, 12)))
    y = np.digitize(X[:, 0] - X[:, 4] + rng.standard_normal(200), [-1.0, 0.5])
    peer = fastcan.FastCan(5, verbose=0).fit(X, np.eye(3)[y][:, :2])
    model = gm.ForwardSelector(5).fit(X, y)
    order = [int(name[1:]) for name in model.path_["column"].to_pylist()]
    assert order == peer.indices_.tolist()


def test_lasso_cv_on_the_same_folds(table):
    X, y = table
    m = gm.collect(np.column_stack([X, y]), folds=5)
    fold = _fold_of_rows(X, y)
    peer = LassoCV(cv=PredefinedSplit(fold), tol=1e-8, max_iter=50_000).fit(X, y)
    model = gm.LassoSelector(scale=False).fit(m, "x10")
    np.testing.assert_allclose(model.alphas_, peer.alphas_, rtol=1e-8)
    base = np.mean([np.mean((y[fold == k] - y[fold != k].mean()) ** 2) for k in range(5)])
    np.testing.assert_allclose(model.mse_path_ * base, peer.mse_path_.mean(axis=1), rtol=1e-5)
    assert model.alpha_ == pytest.approx(peer.alpha_, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], peer.coef_, atol=1e-4)


def _fold_of_rows(X, y):
    """Return the fold of each row, found by collecting rows that name themselves."""
    m = gm.collect(pd.DataFrame({"row": [str(k) for k in range(len(X))], "y": y}), folds=5)
    out = np.empty(len(X), dtype=int)
    for k, fold in enumerate(m.folds):
        out[[int(label) for label in fold.levels("row")]] = k
    return out


def test_the_group_lasso_of_skglm(rng, monkeypatch):
    pytest.importorskip("skglm")
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2, block_separable
    from skglm.solvers import GroupBCD, base, group_bcd
    from skglm.utils.data import grp_converter

    n, widths, alpha = 600, (3, 5, 8), 0.05
    codes = [rng.integers(0, width, n) for width in widths]
    y = (codes[0] == 1) + 0.5 * (codes[2] > 4) + rng.standard_normal(n)
    frame = pd.DataFrame({f"c{j}": np.char.add("l", code.astype(str)) for j, code in enumerate(codes)})
    model = gm.LassoSelector(alpha).fit(frame, y)
    hot = [np.eye(width)[code] for width, code in zip(widths, codes, strict=True)]
    units = np.concatenate([np.sqrt(h.mean(axis=0)) for h in hot])
    X = np.asfortranarray((np.column_stack(hot) - np.concatenate([h.mean(axis=0) for h in hot])) / units)
    edges = np.concatenate([[0], np.cumsum(widths)])
    indices, pointers = grp_converter([list(range(a, b)) for a, b in pairwise(edges)], X.shape[1])
    # A penalty a column, by the root of its rank.
    penalty = WeightedGroupL2(alpha, np.sqrt(np.array(widths) - 1.0), pointers, indices)
    datafit = QuadraticGroup(pointers, indices)
    # Interpreted: compiling skglm's loops takes longer than all other tests of this file.
    monkeypatch.setattr(base, "compiled_clone", lambda part, **_: part)
    for name in ("_bcd_epoch", "_construct_grad", "dist_fix_point_bcd"):
        monkeypatch.setattr(group_bcd, name, getattr(group_bcd, name).py_func)
    monkeypatch.setattr(block_separable, "BST", block_separable.BST.py_func)
    found, *_ = GroupBCD(tol=1e-10, max_iter=2000, fit_intercept=False).solve(X, y - y.mean(), datafit, penalty)
    at = [model.design_names_.index(f"c{j}_l{v}") for j, width in enumerate(widths) for v in range(width)]
    ours = model.coef_[0][at] * units
    # One column is out and two are in, levels of a column together.
    assert [bool(np.abs(part).max() > 0) for part in np.split(ours, edges[1:-1])] == [True, False, True]
    np.testing.assert_allclose(ours, found, atol=1e-6)
