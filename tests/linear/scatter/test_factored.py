"""A scatter of few rows by a factor of it: against the rows themselves, and against eigenvectors of the matrix."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.regression import problem as problems
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import least_squares, ridge_path
from gramian.linear.regression.targets import aim_of
from gramian.linear.scatter import dense as factored
from gramian.linear.scatter import wide as choice
from gramian.linear.scatter.dense import FactoredScatter, factor_of


def frame_of(rng, n=40, columns=30, levels=6):
    """Categories, one of them a copy, one constant, one with a level of a single row, and two numbers of unlike units."""
    frame = pd.DataFrame({f"c{k}": rng.integers(0, levels, n).astype(str) for k in range(columns)})
    frame["copy"], frame["still"] = frame["c0"], "one"
    frame["rare"] = ["odd", *["even"] * (n - 1)]
    frame["x"], frame["far"] = rng.standard_normal(n), 1e6 + 1e3 * rng.standard_normal(n)
    return frame


def design(frame):
    """Return the centred one-hot columns and numbers, in the order of the moments."""
    parts = []
    for name in frame:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            parts.append(values.to_numpy(float)[:, None])
        else:
            parts.append((values.to_numpy()[:, None] == values.drop_duplicates().to_numpy()).astype(float))
    x = np.hstack(parts)
    return x - x.mean(axis=0)


@pytest.fixture
def narrow_limits(monkeypatch):
    monkeypatch.setattr(factored, "MANY", 10)
    monkeypatch.setattr(choice, "DENSE", 10)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 150])
def test_the_factor_has_the_rank_of_the_rows_and_gives_their_scatter(rng, n):
    x = design(frame_of(rng, n))
    factor = factor_of(x.T @ x)
    spread = np.sqrt(np.square(x).sum(axis=0))
    unit = x / np.where(spread > 0, spread, 1.0)
    assert len(factor) == np.linalg.matrix_rank(unit, tol=1e-10)
    # Rounding of sums of at most 200 products of numbers up to 1.
    np.testing.assert_allclose(factor.T @ factor, unit.T @ unit, atol=1e-12)


def test_columns_that_nearly_repeat_each_other_are_taken_one_block_after_another(rng):
    base = rng.standard_normal((400, 3))
    x = base @ rng.standard_normal((3, 300)) + 1e-4 * rng.standard_normal((400, 300))
    x -= x.mean(axis=0)
    factor = factor_of(x.T @ x)
    spread = np.sqrt(np.square(x).sum(axis=0))
    assert len(factor) == 300
    np.testing.assert_allclose(factor.T @ factor, (x / spread).T @ (x / spread), atol=1e-12)


def test_it_suits_few_rows_of_many_design_columns(rng):
    m = gm.collect(frame_of(rng, 40, 300, 12))
    assert FactoredScatter.suits(m, layout_of(m, None))
    assert not FactoredScatter.suits(m, layout_of(m, [f"c{k}" for k in range(20)]))
    assert type(choice.scatter_of(m, layout_of(m, None))) is FactoredScatter
    many = gm.collect(frame_of(rng, 900, 120, 12))
    assert not FactoredScatter.suits(many, layout_of(many, None))


def test_eigenpairs_are_those_of_the_rows_and_as_many_as_asked_for(rng):
    frame = frame_of(rng).drop(columns="far")
    m = gm.collect(frame)
    x = design(frame)
    values = np.square(np.linalg.svd(x, compute_uv=False))
    rank = int((values > 1e-12 * values[0]).sum())
    scatter = FactoredScatter(m, layout_of(m, None))
    first = scatter.spectrum()
    for pairs, count in [
        (first.pairs(first.rank - 1), rank - 1),
        *((scatter.eigenpairs(asked), rank if asked is None else asked) for asked in (3, None, 20)),
    ]:
        assert (pairs.rank, pairs.vectors.shape[1]) == (rank, count)
        np.testing.assert_allclose(pairs.values, values[:rank], rtol=1e-11)
        np.testing.assert_allclose(
            pairs.vectors.T @ (x.T @ (x @ pairs.vectors)), np.diag(values[:count]), atol=1e-10 * values[0]
        )


def test_columns_of_unlike_units_keep_their_rank(rng):
    frame = frame_of(rng).assign(huge=1e9 * rng.standard_normal(40))
    m = gm.collect(frame)
    pairs = FactoredScatter(m, layout_of(m, None)).eigenpairs()
    assert pairs.rank == len(factor_of(design(frame).T @ design(frame)))
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(pairs.rank), atol=1e-10)


@pytest.mark.parametrize("target", ["x", "c3"])
@pytest.mark.usefixtures("narrow_limits")
def test_a_path_of_ridges_solves_its_equations_and_ends_at_least_squares(rng, target):
    frame = frame_of(rng)
    m = gm.collect(frame)
    aim = aim_of(m, [target])
    problem = regression_of(aim.read(m), [name for name in frame if name != target], aim)
    assert isinstance(problem.few_rows, FactoredScatter)
    x = design(frame.drop(columns=target))
    ridges = np.array([1e-3, 1.0, 50.0])
    for ridge, found in zip(ridges, ridge_path(problem, ridges), strict=True):
        expected = np.linalg.solve(x.T @ x + ridge * np.diag(problem.unit), problem.cross)
        np.testing.assert_allclose(x @ found, x @ expected, atol=1e-9 * np.abs(x @ expected).max())
    plain = least_squares(problem)
    assert plain.rank == np.linalg.matrix_rank(x / np.sqrt(problem.unit), tol=1e-10)
    # With as many directions as rows less one the fit is the target itself.
    y = design(frame[[target]]) @ aim.map
    assert plain.rank == 39
    np.testing.assert_allclose(x @ plain.coefficients, y - y.mean(axis=0), atol=1e-8 * np.abs(y).max())


@pytest.mark.usefixtures("narrow_limits")
def test_estimators_give_what_the_matrix_gives(rng, monkeypatch):
    frame = frame_of(rng, 60).assign(y=rng.choice(["a", "b", "c"], 60))
    m = gm.collect(frame, targets=["y"])

    def answers():
        fisher = gm.FisherDiscriminant(shrinkage=0.3).fit(m, "y")
        encoder = gm.JointTargetEncoder(ridge=2.0).fit(m, "y")
        white = gm.Whitening().fit(m)
        return [
            gm.PCA(5).fit_transform(frame.drop(columns="y")),
            fisher.transform(frame),
            gm.FisherDiscriminant().fit(m, "y").predict_proba(frame),
            encoder.transform(frame),
            white.transform(frame),
            gm.MahalanobisFeatures().fit(m, "y").ridge_,
        ]

    through_factor = answers()
    monkeypatch.setattr(factored, "MANY", 10**6)
    monkeypatch.setattr(choice, "DENSE", 6000)
    for found, expected in zip(through_factor, answers(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert problems.by_few_rows(m, layout_of(m, None)) is None
