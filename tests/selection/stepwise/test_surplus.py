"""Columns more than rows: what leaves first, against ranks and least-length coefficients of the rows themselves."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.stepwise.backward import ALIKE, backward
from gramian.selection.stepwise.downdating import Surplus


def wide_frame(rng, n, columns=24, levels=4):
    """More directions than rows: categories, a constant, a copy, a rare level and two numbers."""
    frame = pd.DataFrame({f"c{k}": rng.integers(0, levels, n).astype(str) for k in range(columns)})
    frame["still"], frame["copy"] = "same", frame["c1"]
    frame["rare"] = ["odd", *["even"] * (n - 1)]
    frame["x"], frame["z"] = rng.standard_normal(n), 1e4 * rng.standard_normal(n)
    return frame


def unit_columns(frame, name):
    """Return a column as centred levels over the root of their rows, or as a centred number of length 1."""
    values = frame[name]
    if pd.api.types.is_numeric_dtype(values):
        x = values.to_numpy(float)[:, None]
        return (x - x.mean()) / np.linalg.norm(x - x.mean())
    x = (values.to_numpy()[:, None] == values.drop_duplicates().to_numpy()).astype(float)
    out = (x - x.mean(axis=0)) / np.sqrt(x.sum(axis=0))
    return np.zeros_like(out) if x.shape[1] == 1 else out


def size_of(block, coefficients):
    rank = np.linalg.matrix_rank(block, tol=1e-9)
    return np.sqrt(np.square(coefficients).sum() / max(rank, 1))


@pytest.mark.parametrize("n", [30, 45])
def test_what_leaves_first_has_no_direction_of_its_own_and_the_least_coefficients(rng, n):
    frame = wide_frame(rng, n)
    y = frame["x"] + (frame["c0"] == "1") + 0.1 * rng.standard_normal(n)
    h = ((y - y.mean()) / np.linalg.norm(y - y.mean())).to_numpy()
    columns = list(frame)
    problem = problem_of(gm.collect(frame.assign(y=y)), columns, ["y"])
    assert Surplus.suits(problem)
    model, inside = Surplus(problem), list(columns)
    order = []
    for group in model.leaving(set(), 0, ALIKE):
        blocks = {name: unit_columns(frame, name) for name in inside}
        whole = np.hstack(list(blocks.values()))
        expected = np.linalg.pinv(whole, rcond=1e-10) @ h
        # Rounding of the scatter, of a condition of 1e4 at most before rows and columns are as many.
        np.testing.assert_allclose(model.solution[model.position[_at(model)], 0], expected, atol=1e-9)
        rank = np.linalg.matrix_rank(whole, tol=1e-9)
        ends = np.cumsum([0, *(block.shape[1] for block in blocks.values())])
        sizes = {}
        for name, start, stop in zip(inside, ends, ends[1:], strict=False):
            if np.linalg.matrix_rank(np.delete(whole, np.arange(start, stop), axis=1), tol=1e-9) == rank:
                sizes[name] = size_of(blocks[name], expected[start:stop])
        assert sizes[columns[group]] <= min(sizes.values()) + ALIKE
        inside.remove(columns[group])
        order.append(group)
    assert len(order) >= 8
    # The whole way begins with these.
    assert backward(problem).order[: len(order)] == order


def _at(model):
    return np.concatenate([np.arange(span.start, span.stop) for span in model.spans.values()])


def test_it_ends_where_rows_are_as_many_and_leaves_alone_what_is_to_stay(rng):
    frame = wide_frame(rng, 30)
    problem = problem_of(gm.collect(frame.assign(y=rng.standard_normal(30))), list(frame), ["y"])
    model = Surplus(problem)
    gone = list(model.leaving({0, 1}, 0, ALIKE))
    assert not {0, 1} & set(gone)
    left = np.hstack([unit_columns(frame, frame.columns[g]) for g in model.spans])
    # Hardly more than the rows: what is nearly a direction of its own is left to the inverse.
    assert np.linalg.matrix_rank(left) == model.rank == 29
    assert sum(model.nominal[g] for g in model.spans) <= 29 + 9
    kept = Surplus(problem)
    assert len(list(kept.leaving(set(), 25, ALIKE))) == len(frame.columns) - 25


def test_a_whole_elimination_counts_no_gain_for_what_others_repeat(rng):
    frame = wide_frame(rng, 30)
    y = rng.standard_normal(30)
    problem = problem_of(gm.collect(frame.assign(y=y)), list(frame), ["y"])
    path = backward(problem, with_coefficients=True)
    assert sorted(path.order) == list(range(len(frame.columns)))
    assert len(path.coefficients) == len(path.order) + 1
    assert path.gain[0] == path.score[0] == 0.0
    assert path.p_value[0] == path.corrected[0] == 1.0
    np.testing.assert_allclose(path.explained[0], 1.0, atol=1e-9)
    assert not path.coefficients[-1].any()
    stopped = backward(problem, alpha=0.05).order
    assert stopped == path.order[: len(stopped)]


def test_fewer_columns_than_rows_have_no_surplus(rng):
    frame = pd.DataFrame(rng.standard_normal((20, 4)), columns=list("abcd"))
    assert not Surplus.suits(problem_of(gm.collect(frame), ["a", "b", "c"], ["d"]))
