"""The inverse of the within-class covariance against numpy's pseudo-inverse of the matrix of the rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear import class_moments as module
from gramian.linear.class_moments import class_moments, shrunk_inverse, solve_total, solve_within, within_pairs
from gramian.linear.fisher import fisher
from gramian.linear.scatter.wide import WideScatter


def problem_of(frame):
    m = gm.collect(frame)
    return class_moments(m, [name for name in frame.columns if name != "y"], "y")


def matrices(problem):
    """Return S_within and S from the parts of the problem that other tests hold to the rows."""
    total = problem.total.dense()
    return total - problem.rooted.T @ problem.rooted, total


def pseudo_inverse(matrix):
    unit = np.sqrt(np.where(np.diagonal(matrix) > 1e-9, np.diagonal(matrix), np.inf))
    return np.linalg.pinv(matrix / np.outer(unit, unit), rcond=1e-10, hermitian=True) / np.outer(unit, unit)


@pytest.fixture(params=["regular", "categories", "dependent", "few rows"])
def problem(request, rng):
    n, p = (30, 600) if request.param == "few rows" else (200, 5)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(rng.standard_normal((n, p)) * np.logspace(0, 3, p)).add_prefix("x")
    frame["x0"] += y
    if request.param == "categories":
        frame["a"] = np.where(rng.random(n) < 0.4, y, rng.integers(0, 4, n)).astype(str)
        frame["b"] = rng.choice(list("uv"), n)
    if request.param == "dependent":
        frame["again"] = frame["x1"] - frame["x0"]
    return problem_of(frame.assign(y=y.astype(str)))


@pytest.mark.parametrize("amount", [0.0, 0.3])
def test_it_is_the_pseudo_inverse_in_units_of_its_own(problem, amount):
    within, _ = matrices(problem)
    shrunk = (1 - amount) * within + amount * np.diag(np.diagonal(within))
    right = problem.rooted.T
    found, rank = solve_within(problem, right, 7.0, amount)
    expected = 7.0 * pseudo_inverse(shrunk) @ right
    # Tenths of the covariance of columns a thousand times apart.
    unit = np.sqrt(np.diagonal(within) + 1e-300)[:, None]
    np.testing.assert_allclose(found * unit, expected * unit, atol=1e-7 * np.abs(expected * unit).max())
    known = np.linalg.matrix_rank(
        pseudo_inverse(shrunk) * np.sqrt(np.outer(np.diagonal(shrunk), np.diagonal(shrunk))), tol=1e-8
    )
    assert rank == known


def test_the_total_stands_in_where_nothing_varies_within(problem):
    _, total = matrices(problem)
    right = problem.rooted.T
    found, rank = solve_total(problem, right, 2.0)
    expected = 2.0 * pseudo_inverse(total) @ right
    unit = np.sqrt(np.diagonal(total))[:, None]
    np.testing.assert_allclose(found * unit, expected * unit, atol=1e-7 * np.abs(expected * unit).max())
    assert rank == np.linalg.matrix_rank(total / (unit * unit.T), tol=1e-9)


def test_pairs_are_those_of_the_difference(problem):
    within, _ = matrices(problem)
    unit = np.sqrt(np.where(problem.within_diagonal > 0, problem.within_diagonal, np.inf))
    values, vectors = within_pairs(problem.total, problem.rooted, unit)
    scaled = within / np.outer(unit, unit)
    np.testing.assert_allclose(scaled @ vectors, vectors * values, atol=1e-8 * values[0])
    assert values.sum() == pytest.approx(np.trace(scaled), rel=1e-9)


def test_shrunk_values_are_inverted_and_zero_is_not():
    values = np.array([2.0, 0.0])
    assert shrunk_inverse(values, 0.0).tolist() == [0.5, 0.0]
    assert shrunk_inverse(values, 0.5).tolist() == [2 / 3, 2.0]


@pytest.mark.parametrize("kind", ["plain", "nested", "constant in a class", "level of a class", "copies", "separated"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_wide_category_eliminated_leaves_the_pseudo_inverse(rng, monkeypatch, kind, weighted):
    n = 200
    wide, y = rng.integers(0, 22, n), rng.integers(0, 3, n)
    if kind == "level of a class":
        wide[wide == 0] = 1
        wide[y == 1] = 0
    table = {"b": rng.integers(0, 4, n).astype(str), "x": rng.normal(size=n) + y / 3, "z": rng.normal(size=n)}
    more = {
        "nested": {"c": (wide % 5).astype(str), "d": (wide // 4).astype(str)},
        "constant in a class": {"c": np.where(y == 0, "in", rng.choice(["u", "v"], n))},
        "copies": {"c": 2 * table["x"] + 1, "d": table["x"] + table["z"]},
        "separated": {"c": y * 1.0, "d": (y == 1).astype(str)},
    }
    frame = pd.DataFrame(table | more.get(kind, {}) | {"wide": wide.astype(str), "y": y.astype(str)})
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    moments = gm.collect(frame, categorical=["wide"], sample_weight=weight)
    expected = fisher(moments, target="y")
    monkeypatch.setattr(module, "MANY", 20)
    monkeypatch.setattr(WideScatter, "pays", lambda *_: True)
    monkeypatch.setattr(module, "_cholesky", None)
    found = fisher(moments, target="y")
    assert found.rank == expected.rank
    for name in ("coef", "intercept", "weights", "criterion"):
        largest = np.abs(getattr(expected, name)).max()
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-10 * largest)
