"""The path of the group Lasso, by its optimality conditions and scikit-learn's."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import MultiTaskLasso, enet_path

import gramian as gm
from gramian.selection.lasso.descent import descend
from gramian.selection.lasso.path import LassoProblem, Walk, _Block, alpha_grid, entry_alphas, entry_order, lasso_path
from gramian.selection.problem import problem_of


@pytest.fixture
def numbers(rng):
    X = rng.standard_normal((300, 15)) @ (np.eye(15) + 0.3 * rng.standard_normal((15, 15))) * rng.uniform(0.5, 3, 15)
    return X, X[:, :4] @ [1.0, -2.0, 3.0, 0.5] + 4 * rng.standard_normal(300)


def lasso_of(X, y, scale):
    m = gm.collect(np.column_stack([X, y]))
    names = [f"x{k}" for k in range(X.shape[1])]
    targets = [f"x{k}" for k in range(X.shape[1], X.shape[1] + (1 if y.ndim == 1 else y.shape[1]))]
    return LassoProblem.of(problem_of(m, names, targets), scale)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_numbers_as_they_are_follow_scikit_learn(numbers, l1_ratio):
    X, y = numbers
    found = lasso_of(X, y, scale=False)
    alphas = alpha_grid(found, l1_ratio)
    expected = enet_path(X - X.mean(axis=0), y - y.mean(), l1_ratio=l1_ratio, eps=1e-3, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(alphas, expected[0], rtol=1e-9)
    # scikit-learn stops at a relative duality gap of 1e-10, so at coefficients of about its root.
    np.testing.assert_allclose(lasso_path(found, alphas, l1_ratio)[:, :, 0].T, expected[1], atol=2e-5)


def test_several_targets_follow_the_multi_task_lasso(numbers, rng):
    X, y = numbers
    Y = np.column_stack([y, X[:, 5] + rng.standard_normal(300)])
    found = lasso_of(X, Y, scale=False)
    units = Y.std(axis=0)
    alpha = 0.1 * found.largest_alpha(1.0)
    peer = MultiTaskLasso(alpha=alpha, tol=1e-10, max_iter=100_000).fit(X, Y / units)
    np.testing.assert_allclose(lasso_path(found, [alpha])[0], peer.coef_.T, atol=2e-5)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("target", ["kind", "cost"])
def test_mixed_columns_satisfy_the_optimality_conditions(mixed, target, scale):
    columns = [name for name in ("color", "shape", "grade", "size", "kind", "cost") if name != target]
    problem = problem_of(gm.collect(mixed), columns, [target])
    found = LassoProblem.of(problem, scale)
    alphas = alpha_grid(found, 0.8, count=12)
    for alpha, B in zip(alphas, lasso_path(found, alphas, 0.8), strict=True):
        G = found.cross - found.scatter @ B - 0.2 * alpha * B
        for g, (a, b) in enumerate(zip(found.starts[:-1], found.starts[1:], strict=True)):
            size, most = np.linalg.norm(B[a:b]), 0.8 * alpha * found.weights[g]
            if size == 0:
                assert np.linalg.norm(G[a:b]) <= most * (1 + 1e-6)
            else:
                np.testing.assert_allclose(G[a:b], most * B[a:b] / size, atol=1e-6 * alphas[0])


def test_bounds_hold_for_every_block(mixed):
    frame = mixed.assign(when=pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(len(mixed)) * 7, unit="h"))
    m = gm.collect(frame)
    problem = problem_of(m, [name for name in m.columns if name != "kind"], ["kind"])
    for scale in (True, False):
        found = LassoProblem.of(problem, scale)
        for g, (a, b) in enumerate(zip(found.starts[:-1], found.starts[1:], strict=True)):
            assert np.linalg.eigvalsh(found.scatter[a:b, a:b])[-1] <= found.bound[g] * (1 + 1e-9)


def test_the_result_does_not_depend_on_how_levels_are_coded(mixed):
    # A category of two levels in unit columns is a number of unit variance.
    frame = mixed.assign(hot=np.where(mixed["grade"] > 2, "hi", "lo"), number=(mixed["grade"] > 2) + 0.0)
    m = gm.collect(frame)
    a, b = (LassoProblem.of(problem_of(m, [name, "size"], ["cost"]), True) for name in ("hot", "number"))
    assert a.largest_alpha(1.0) == pytest.approx(b.largest_alpha(1.0), rel=1e-9)
    alphas = alpha_grid(a, 1.0, count=8)
    norms = [[p.norms(B) for B in lasso_path(p, alphas)] for p in (a, b)]
    np.testing.assert_allclose(norms[0], norms[1], atol=1e-6 * np.max(norms[1]))


def test_coefficients_come_back_in_the_units_of_the_columns(numbers):
    X, y = numbers
    found = lasso_of(X, y, scale=True)
    beta = found.as_given(lasso_path(found, [1e-7 * found.largest_alpha(1.0)])[0])
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(beta[:, 0], expected, atol=1e-3)


def test_the_path_ends_where_enough_columns_are_in(numbers):
    X, y = numbers
    found = lasso_of(X, y, scale=True)
    alphas = alpha_grid(found, 1.0)
    short = lasso_path(found, alphas, most=3)
    assert (found.norms(short[-1]) > 0).sum() >= 3
    assert (found.norms(short[-2]) > 0).sum() < 3
    entered = entry_alphas(found, alphas[: len(short)], short)
    assert ((entered > 0) == (np.array([found.norms(B) for B in short]) > 0).any(axis=0)).all()


def test_a_target_that_nothing_follows_has_an_empty_path(rng):
    frame = pd.DataFrame({"x": [1.0, 2.0, 1.0, 2.0], "y": [1.0, 1.0, 2.0, 2.0]})
    found = LassoProblem.of(problem_of(gm.collect(frame), ["x"], ["y"]), True)
    alphas = alpha_grid(found, 1.0, count=3)
    assert np.isfinite(alphas).all()
    assert not lasso_path(found, alphas).any()


def test_a_scatter_that_no_rows_have_does_not_keep_descent_running(numbers, monkeypatch):
    """Sums that lost their digits may have negative eigenvalues, along which the objective has no least value."""
    found = lasso_of(*numbers, scale=True)
    values, vectors = np.linalg.eigh(found.scatter)
    values[:4] = -0.5
    broken = replace(found, scatter=np.ascontiguousarray((vectors * values) @ vectors.T))
    calls = []

    def counted(*given):
        calls.append(1)
        return descend(*given)

    monkeypatch.setattr("gramian.selection.lasso.path.descend", counted)
    path = lasso_path(broken, alpha_grid(broken, 1.0))
    assert np.isfinite(path).all()
    # At most a few rounds of iterates for each of a hundred penalties, where it may take thousands.
    assert len(calls) < 100 * 100


@pytest.mark.parametrize("scale", [True, False])
def test_columns_that_nearly_repeat_each_other_reach_the_optimum(rng, scale):
    n = 400
    trend = np.cumsum(rng.standard_normal(n))
    frame = pd.DataFrame({f"n{k}": trend + 1e-3 * rng.standard_normal(n) for k in range(12)})
    frame["place"] = [f"p{v}" for v in rng.integers(0, 30, n)]
    frame["twin"] = frame["place"].str.upper()
    frame["copy"] = frame["n3"]
    frame["y"] = trend + 0.3 * (frame["place"] < "p2") + 0.1 * rng.standard_normal(n)
    problem = problem_of(gm.collect(frame), [name for name in frame if name != "y"], ["y"])
    found = LassoProblem.of(problem, scale)
    alphas = alpha_grid(found, 1.0, count=30, eps=1e-4)
    for alpha, B in zip(alphas, lasso_path(found, alphas), strict=True):
        left = found.cross - found.scatter @ B
        for g, (a, b) in enumerate(zip(found.starts[:-1], found.starts[1:], strict=True)):
            size, most = np.linalg.norm(B[a:b]), alpha * found.weights[g]
            pull = most * B[a:b] / size if size else 0.0
            short = np.linalg.norm(left[a:b] - pull) - (0.0 if size else most)
            assert short <= 1e-7 * alphas[0]


def test_the_split_of_a_block_is_the_block(mixed):
    frame = mixed.assign(when=pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(len(mixed)) * 7, unit="h"))
    m = gm.collect(frame)
    problem = problem_of(m, [name for name in m.columns if name != "kind"], ["kind"])
    for scale in (True, False):
        found = LassoProblem.of(problem, scale)
        assert found.split.tolist() == [name != "when" for name in problem.sources]
        for g in np.flatnonzero(found.split):
            a, b = found.starts[g : g + 2]
            block, r = found.scatter[a:b, a:b], found.root[a:b]
            np.testing.assert_allclose(block - np.diag(np.diagonal(block) + r**2), -np.outer(r, r), atol=1e-12)


def test_a_column_that_entered_and_left_counts_among_those_wanted(rng):
    a, b = rng.standard_normal((2, 2000))
    # It stands for both until they are in themselves.
    both = a + b + 0.3 * rng.standard_normal(2000)
    moments = gm.collect(np.column_stack([both, a, b, a + b]))
    problem = LassoProblem.of(problem_of(moments, ["x0", "x1", "x2"], ["x3"]), scale=True)
    alphas = alpha_grid(problem, 1.0)
    whole, ended = lasso_path(problem, alphas), lasso_path(problem, alphas, most=3)
    assert 1 < len(ended) < len(whole)
    np.testing.assert_array_equal(ended, whole[: len(ended)])
    entered = entry_alphas(problem, alphas, whole)
    assert (entered > 0).all()
    np.testing.assert_array_equal(entry_alphas(problem, alphas[: len(ended)], ended), entered)
    assert entered.min() == alphas[len(ended) - 1]


@pytest.mark.parametrize("scale", [True, False])
def test_classes_are_one_function_fewer_and_come_back_as_indicators(mixed, scale):
    columns = ["color", "shape", "grade", "size", "cost"]
    problem = problem_of(gm.collect(mixed), columns, ["kind"])
    found = LassoProblem.of(problem, scale)
    classes, regression, n = problem.aim.classes[0], problem.regression, problem.n
    assert found.cross.shape[1] == len(classes) - 1
    # From the definition: every indicator divided by the root of its share.
    root = np.sqrt(regression.aim_mean)
    every = replace(
        found,
        cross=np.ascontiguousarray(regression.cross / n * found.back_x[:, None] / root),
        own=float((np.diagonal(regression.own) / n / root**2).sum()),
        back_y=np.diag(root),
    )
    assert found.own == pytest.approx(every.own, rel=1e-12)
    alphas = alpha_grid(every, 1.0, count=12)
    np.testing.assert_allclose(alpha_grid(found, 1.0, count=12), alphas, rtol=1e-12)
    pairs = zip(lasso_path(found, alphas), lasso_path(every, alphas), strict=True)
    for mine, expected in pairs:
        np.testing.assert_allclose(found.as_given(mine), every.as_given(expected), atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_entries_is_that_of_the_whole_path(monkeypatch, seed):
    """For numbers that go together, so that columns leave again too; few of the optima are looked for."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 30)) @ (np.eye(30) + 0.2 * rng.standard_normal((30, 30)))
    found = lasso_of(X, X[:, :9] @ rng.normal(0, 1, 9) + 3 * rng.standard_normal(150), scale=True)
    alphas = alpha_grid(found, 1.0)
    visited = []
    reached = Walk.to
    for most in (1, 7, 30):
        path = lasso_path(found, alphas, most=most)
        entered = entry_alphas(found, alphas[: len(path)], path)
        expected = [j for j in np.argsort(-entered, kind="stable") if entered[j] > 0]
        with monkeypatch.context() as watched:
            watched.setattr(Walk, "to", lambda walk, alpha: visited.append(alpha) or reached(walk, alpha))
            visited.clear()
            order = entry_order(found, alphas, most=most)
        assert order == [j for j in expected if j in order]
        # A column may enter and leave between two optima that are looked for.
        left = [j for j in expected if j not in order]
        assert not any(
            (found.norms(path[k]) > 0)[left].any() for k in np.flatnonzero(np.isin(alphas[: len(path)], visited))
        )
        assert len(order) >= min(most, len(expected) - 1)
        assert len(visited) == len(set(visited)) < max(10, len(path))


def test_the_order_of_entries_of_mixed_columns(mixed):
    for target in ("kind", "cost"):
        columns = [name for name in ("color", "shape", "grade", "size", "kind", "cost") if name != target]
        found = LassoProblem.of(problem_of(gm.collect(mixed), columns, [target]), scale=True)
        alphas = alpha_grid(found, 1.0)
        path = lasso_path(found, alphas)
        entered = entry_alphas(found, alphas, path)
        expected = [j for j in np.argsort(-entered, kind="stable") if entered[j] > 0]
        assert entry_order(found, alphas, most=len(columns)) == expected
    assert entry_order(found, alphas[:0], most=3) == []


def test_squares_are_those_of_the_rows_whatever_was_asked_before(mixed):
    found = LassoProblem.of(problem_of(gm.collect(mixed), ["color", "shape", "size"], ["cost"]), scale=True)
    p = len(found.scatter)
    block = _Block(found, np.arange(p))
    for apart, others in (
        ([0, 1], [2, 4, 5]),
        ([0, 1], [4, 5]),
        ([0, 1], [3, 5]),
        ([2, 3], [0, 5]),
        ([0, 1], list(range(2, p))),
    ):
        across = found.scatter[np.ix_(apart, others)]
        np.testing.assert_allclose(block.squares(np.array(apart), np.array(others)), across.T @ across, atol=1e-14)
