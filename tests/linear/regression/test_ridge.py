"""Every route to a ridge solution gives the same numbers, and the ridge means rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import (
    Tridiagonal,
    least_squares,
    ridge_coefficients,
    ridge_path,
    solveh_tridiagonal,
)
from gramian.linear.regression.targets import aim_of


@pytest.fixture
def frame(rng):
    n = 600
    a, b = rng.integers(0, 40, n), rng.integers(0, 12, n)
    size = rng.standard_normal(n)
    return pd.DataFrame(
        {
            "a": np.char.add("a", a.astype(str)),
            "b": np.char.add("b", b.astype(str)),
            "grade": rng.integers(0, 7, n),
            "size": 1e3 * size + 1e6,
            "y": 0.1 * a + np.sin(b) + size + rng.standard_normal(n),
        }
    )


COLUMNS = ["a", "b", "grade", "size"]


def problem_of(frame, columns=COLUMNS, target="y", **options):
    moments = gm.collect(frame, **options)
    aim = aim_of(moments, [target])
    return regression_of(aim.read(moments), columns, aim), moments


@pytest.mark.parametrize("amount", [0.0, 0.01, 3.0, 500.0])
def test_every_route_solves_the_normal_equations(frame, design, route, amount):
    problem, moments = problem_of(frame)
    x, y = design(frame, moments, COLUMNS), (frame["y"] - frame["y"].mean()).to_numpy()
    v = np.where(np.arange(x.shape[1]) < 52, 1.0, x.var(axis=0))
    expected = np.linalg.pinv(x.T @ x / np.sqrt(np.outer(v, v)) + amount * np.eye(len(v)), rcond=1e-11)
    expected = (expected / np.sqrt(np.outer(v, v))) @ (x.T @ y)
    found = ridge_coefficients(problem, amount)
    np.testing.assert_allclose(x @ found[:, 0], x @ expected, atol=1e-9 * np.abs(y).max())


def test_a_path_is_the_single_solutions(frame, route):
    problem, _ = problem_of(frame)
    ridges = np.array([0.1, 10.0, 1000.0])
    for amount, found in zip(ridges, ridge_path(problem, ridges), strict=True):
        np.testing.assert_allclose(problem.centred(found), ridge_coefficients(problem, amount), atol=1e-8)


def test_rank_counts_levels_less_one_and_aliased_columns_once(frame, route):
    problem, _ = problem_of(frame)
    assert least_squares(problem).rank == 39 + 11 + 2
    if route != "wide, iterated":
        again, _ = problem_of(
            frame.assign(again=frame["b"].str.upper(), double=2 * frame["size"]), [*COLUMNS, "again", "double"]
        )
        assert least_squares(again).rank == 39 + 11 + 2


def test_more_columns_than_rows_have_the_rank_of_the_rows(rng):
    x = pd.DataFrame(rng.standard_normal((20, 40))).rename(columns="x{}".format)
    problem, _ = problem_of(x.assign(y=rng.standard_normal(20)), list(x.columns))
    found = least_squares(problem)
    assert found.rank == 19
    fitted = (x - x.mean()).to_numpy() @ found.coefficients[:, 0]
    np.testing.assert_allclose(fitted @ fitted, problem.own[0, 0], rtol=1e-8)


def test_a_lone_level_shrinks_by_its_rows(rng):
    # With one category the coefficients are n/(n + r) times the level's gap from one common value.
    level = np.repeat(["p", "q", "r"], [5, 50, 500])
    y = np.repeat([3.0, -1.0, 0.5], [5, 50, 500]) + 0.1 * rng.standard_normal(555)
    problem, moments = problem_of(pd.DataFrame({"level": level, "y": y}), ["level"])
    means = np.array([y[level == name].mean() for name in moments.levels("level")])
    counts = moments.counts("level")
    for amount in (1.0, 10.0, 1000.0):
        share = counts / (counts + amount)
        centre = (share @ means) / share.sum()
        found = ridge_coefficients(problem, amount)[:, 0]
        expected = share * (means - centre)
        np.testing.assert_allclose(found, expected - counts @ expected / counts.sum(), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_the_ridge_does_not_know_the_unit_of_a_number(frame, unit):
    scaled = frame.assign(size=frame["size"] * unit)
    mine, _ = problem_of(frame)
    other, _ = problem_of(scaled)
    a, b = ridge_coefficients(mine, 20.0), ridge_coefficients(other, 20.0)
    np.testing.assert_allclose(b[-1] * unit, a[-1], rtol=1e-8)
    np.testing.assert_allclose(b[:-1], a[:-1], atol=1e-9)


def test_levels_without_rows_sit_at_the_mean(frame):
    problem, _ = problem_of(frame)
    coefficients = ridge_coefficients(problem, 1.0)
    for span in problem.layout.category_spans:
        np.testing.assert_allclose(problem.mean[span] @ coefficients[span], 0.0, atol=1e-12)


def test_traces_and_paths_of_the_tridiagonal_form_are_those_of_the_definition(frame):
    problem, _ = problem_of(frame)
    ridges = np.array([1e-6, 0.1, 30.0, 1e5])
    route, unit = Tridiagonal(problem), problem.unit
    for r, b, trace in zip(ridges, route.path(ridges), route.traces(ridges), strict=True):
        hat = np.linalg.solve(problem.matrix + r * np.diag(unit), np.column_stack([problem.cross, problem.matrix]))
        m = problem.cross.shape[1]
        # At ridge 1e-6 the condition is 1e9 and more.
        np.testing.assert_allclose(b, hat[:, :m], atol=1e-6 * np.abs(hat[:, :m]).max())
        assert trace == pytest.approx(np.trace(hat[:, m:]), rel=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_few_columns_have_a_tridiagonal_form_too(rng, width):
    x = rng.normal(size=(50, width))
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(width)]).assign(y=x @ np.arange(1.0, width + 1))
    moments = gm.collect(frame)
    problem = regression_of(moments, list(frame.columns[:-1]), aim_of(moments, ["y"]))
    found = Tridiagonal(problem).path(np.array([2.0]))[0]
    wanted = np.linalg.solve(problem.matrix + 2.0 * np.diag(problem.unit), problem.cross)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_a_direction_that_rounding_made_negative_is_solved_for():
    diagonal, beside = np.array([2.0, 1.0, 2.0]), np.array([np.sqrt(2.0), 0.0])
    column = np.array([[1.0], [np.sqrt(0.5)], [4.0]])
    exact = solveh_tridiagonal(diagonal - 1e-15, beside, column)
    assert np.isfinite(exact).all()
    assert exact[2, 0] == pytest.approx(2.0, rel=1e-6)
