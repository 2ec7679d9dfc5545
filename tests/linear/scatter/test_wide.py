"""The widest category eliminated: the same solution, over fewer columns."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of
from gramian.linear.scatter.wide import WideScatter


@pytest.fixture
def problem(rng):
    n = 900
    frame = pd.DataFrame(
        {
            "few": rng.choice(["x", "y", "z"], n),
            "id": np.char.add("i", rng.integers(0, 400, n).astype(str)),
            "grade": rng.integers(0, 9, n),
            "size": rng.standard_normal(n) + 100.0,
            "y": rng.standard_normal(n),
        }
    )
    frame.loc[:40, "size"] = np.nan
    moments = gm.collect(frame)
    aim = aim_of(moments, ["y"])
    return regression_of(moments, ["few", "id", "grade", "size"], aim)


def test_products_are_blocks_of_the_scatter(problem, rng):
    found = WideScatter(problem.moments, problem.layout)
    others = np.ones(problem.width, dtype=bool)
    others[found.span] = False
    v, z = rng.standard_normal((others.sum(), 2)), rng.standard_normal((400, 2))
    z = z[: found.span.stop - found.span.start]
    np.testing.assert_allclose(found.across(v), problem.matrix[found.span][:, others] @ v, atol=1e-9)
    np.testing.assert_allclose(found.back(z), problem.matrix[others][:, found.span] @ z, atol=1e-9)


@pytest.fixture(params=["factored", "iterated"])
def way(request, monkeypatch):
    monkeypatch.setattr(WideScatter, "is_factored", lambda self, n: request.param == "factored" and self.rest.width > 0)


def test_the_product_of_the_whole_is_the_scatter(problem, rng):
    v = rng.standard_normal((problem.width, 3))
    found = WideScatter(problem.moments, problem.layout)
    np.testing.assert_allclose(found @ v, problem.matrix @ v, atol=1e-9)


def test_each_ridge_is_solved_exactly(problem, way):
    found = WideScatter(problem.moments, problem.layout)
    ridge = np.array([0.1, 2.0, 50.0])
    rhs = np.repeat(problem.cross, 3, axis=1)
    solved, done = found.solve(rhs, ridge, problem.unit, tol=1e-13, max_rounds=300)
    assert done
    for k, amount in enumerate(ridge):
        exact = np.linalg.solve(problem.matrix + amount * np.diag(problem.unit), problem.cross)
        np.testing.assert_allclose(problem.centred(solved[:, [k]]), problem.centred(exact), atol=1e-10)


def test_what_the_wide_category_determines_has_no_rank_of_its_own(rng):
    # A country is known from its city: given the city nothing of it is left, and rounding must not be taken for rank.
    city = rng.integers(0, 300, 2000)
    frame = pd.DataFrame(
        {
            "city": np.char.add("c", city.astype(str)),
            "country": np.char.add("l", (city % 7).astype(str)),
            "color": rng.choice(["red", "green", "blue"], 2000),
            "height": np.sin(city) * 1e6,
            "y": rng.standard_normal(2000) + city % 7,
        }
    )
    moments = gm.collect(frame)
    wide = regression_of(moments, ["city", "country", "color", "height"], aim_of(moments, ["y"]))
    coefficients, rank = wide.elimination.least_squares(wide.cross)
    levels = len(moments.levels("city"))
    assert rank == (levels - 1) + 0 + 2 + 0
    np.testing.assert_allclose(
        wide.matrix @ coefficients / np.sqrt(wide.diagonal)[:, None],
        wide.cross / np.sqrt(wide.diagonal)[:, None],
        atol=1e-8 * np.abs(wide.cross / np.sqrt(wide.diagonal)[:, None]).max(),
    )


@pytest.mark.parametrize(("levels", "others", "expected"), [(10_000, 2, True), (400, 10, False)])
def test_the_way_is_chosen_by_counting(rng, levels, others, expected):
    # Short rows of pair counts are swept over once; long ones are better multiplied with.
    n = 40_000
    frame = pd.DataFrame({f"a{k}": np.char.add("a", rng.integers(0, 40, n).astype(str)) for k in range(others)})
    frame["id"] = np.char.add("i", rng.integers(0, levels, n).astype(str))
    moments = gm.collect(frame.assign(y=rng.standard_normal(n)))
    found = regression_of(moments, list(frame.columns), aim_of(moments, ["y"])).elimination
    assert found.is_factored(8) == expected


def test_one_category_alone_needs_no_iteration(problem):
    aim = aim_of(problem.moments, ["y"])
    alone = regression_of(problem.moments, ["id"], aim)
    solved, done = alone.elimination.solve(alone.cross, np.array([3.0]), alone.unit, tol=1e-13, max_rounds=0)
    assert done
    exact = np.linalg.solve(alone.matrix + 3.0 * np.eye(alone.width), alone.cross)
    np.testing.assert_allclose(alone.centred(solved), alone.centred(exact), atol=1e-12)
