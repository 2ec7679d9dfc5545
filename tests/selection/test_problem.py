"""The second moments that selection works on, against rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.problem import best_part, places, problem_of

from .brute import basis, expanded, explained, random_problem, target_basis


@pytest.mark.parametrize("seed", range(6))
def test_explained_shares_and_ranks_are_those_of_rows(seed):
    frame, target = random_problem(np.random.default_rng(seed), missing=True)
    m = gm.collect(frame.assign(y=target))
    problem = problem_of(m, list(frame.columns), ["y"])
    found = [explained(frame, [name], target) for name in frame]
    np.testing.assert_allclose(problem.explained, [q for q, _ in found], rtol=1e-9)
    np.testing.assert_array_equal(problem.ranks, [rank for _, rank in found])
    assert problem.target_rank == target_basis(target).shape[1]


def test_the_block_of_a_category_is_a_projector(mixed):
    problem = problem_of(gm.collect(mixed), ["color", "size"], ["kind"])
    block = problem.matrix[problem.spans[0], problem.spans[0]]
    np.testing.assert_allclose(block @ block, block, atol=1e-12)
    np.testing.assert_allclose(problem.matrix[3, 3], 1.0)


def test_a_date_is_one_source_of_several_parts(rng):
    when = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 10_000, 200), unit="h")
    frame = pd.DataFrame({"when": when, "x": rng.standard_normal(200), "y": rng.standard_normal(200)})
    m = gm.collect(frame)
    problem = problem_of(m, [name for name in m.columns if name != "y"], ["y"])
    assert problem.sources == ["when", "x"]
    assert len(problem.columns) == 4
    assert problem.spans[0].stop == problem.layout.width - 1
    assert best_part(problem.owner, np.array([0.1, 0.3, 0.2, 0.05])).tolist() == [1, 3]


def test_leverages_of_a_source_are_scaled_to_what_is_left(mixed):
    problem = problem_of(gm.collect(mixed), ["color", "size"], ["kind"])
    whole, half = problem.side(0, 2), problem.side(0, 1)
    assert (whole.rank, half.rank) == (2, 1)
    assert half.squares == pytest.approx(whole.squares / 4)


def test_only_some_sources_are_the_same_problem(mixed):
    columns = ["color", "shape", "grade", "size"]
    problem = problem_of(gm.collect(mixed), columns, ["kind"])
    some = problem.only([1, 3])
    assert some.columns == ["shape", "size"]
    np.testing.assert_allclose(some.explained, problem.explained[[1, 3]])


def test_a_constant_column_has_no_rank_and_explains_nothing(mixed):
    frame = mixed.assign(same="x", flat=3.0, gone=np.nan)
    problem = problem_of(gm.collect(frame), ["same", "flat", "gone", "size"], ["kind"])
    assert problem.ranks.tolist() == [0, 0, 0, 1]
    np.testing.assert_array_equal(problem.explained[:3], 0.0)
    assert np.isfinite(problem.matrix).all()


def test_weights_are_repeated_rows(mixed, rng):
    times = rng.integers(1, 4, len(mixed))
    weighted = problem_of(gm.collect(mixed.assign(w=times), sample_weight="w"), ["color", "size"], ["kind"])
    frame = mixed.loc[mixed.index.repeat(times)].reset_index(drop=True)
    again = basis(expanded(frame, ["color"]))
    expected = np.square(again.T @ target_basis(frame["kind"].to_numpy(object).astype(str))).sum()
    assert weighted.explained[0] == pytest.approx(expected, rel=1e-9)


def test_places_share_what_rounding_tells_apart():
    assert places([3.0, 1.0, 3.0 * (1 - 1e-14), np.nan, 2.0, -np.inf]).tolist() == [0, 2, 0, 3, 1, 3]
    # p-values are as far apart as their ratio, and zero is a value.
    assert places([-1e-30, -1e-40, 0.0, -0.0]).tolist() == [2, 1, 0, 0]
    assert places([]).tolist() == []
