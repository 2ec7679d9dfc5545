"""The coefficients and their covariance against their definition: dense columns, numpy, no moments."""

from __future__ import annotations

import numpy as np
import pytest

import gramian as gm
from gramian.errors import ColumnError
from gramian.linear.layout import layout_of
from gramian.linear.regression.inference import Coding, Estimate, ordered_factor
from gramian.linear.scatter.dense import matrix_of


def explained_by_those_before(columns: np.ndarray) -> list[int]:
    """Return which columns of a matrix are linear in those before them, by their ranks."""
    ranks = [np.linalg.matrix_rank(columns[:, : k + 1]) for k in range(columns.shape[1])]
    return [k for k in range(columns.shape[1]) if ranks[k] == (ranks[k - 1] if k else 0)]


@pytest.mark.parametrize("width", [3, 40, 200])
def test_the_ordered_factor_drops_what_those_before_explain(rng, width):
    rows = rng.normal(size=(3 * width, width))
    rows[:, 2] = 3 * rows[:, 0] - rows[:, 1]
    rows[:, width // 2] = 0.0
    rows[:, -1] = rows[:, 0]
    rows /= np.where(np.linalg.norm(rows, axis=0) > 0, np.linalg.norm(rows, axis=0), 1.0)
    kept, factor = ordered_factor(rows.T @ rows)
    assert sorted(set(range(width)) - set(kept.tolist())) == explained_by_those_before(rows)
    np.testing.assert_allclose(factor @ factor.T, (rows.T @ rows)[np.ix_(kept, kept)], atol=1e-12)


def estimate_of(frame, target, reference=None):
    moments = gm.collect(frame)
    features = [name for name in moments.columns if name != target]
    layout = layout_of(moments, features)
    labels = {name: moments.labels[moments.coded_at[name]] for name in layout.categories}
    mean = moments.mean(features)
    coding = Coding.of(layout, labels, mean, reference)
    joint = moments.covariance([*features, target], ddof=0) * len(frame)
    return Estimate.of(
        coding, matrix_of(moments, layout, None), mean, len(frame), joint[:-1, -1], float(moments.mean(target)[0])
    )


def design_of(frame, estimate):
    """Return the kept columns of every row, the constant first."""
    coding = estimate.coding
    columns = [np.ones(len(frame))]
    for at in estimate.kept:
        name, level = coding.owners[at], coding.levels[int(at)]
        values = frame[name].to_numpy()
        columns.append(values.astype(float) if level is None else (values.astype(str) == level).astype(float))
    return np.column_stack(columns)


def test_any_middle_matrix_gives_the_sandwich(mixed, rng):
    frame = mixed.drop(columns=["kind"]).dropna()
    estimate = estimate_of(frame, "cost", {"color": "red"})
    assert estimate.coding.references == {"color": "red", "shape": "box"}
    dense = design_of(frame, estimate)
    solution = np.linalg.lstsq(dense, frame["cost"], rcond=None)[0]
    np.testing.assert_allclose([estimate.intercept, *estimate.coefficients], solution, rtol=1e-8)
    squares = rng.random(len(frame))
    bread = np.linalg.inv(dense.T @ dense)
    about = np.column_stack([np.ones(len(frame)), dense[:, 1:] - estimate.mean[estimate.kept]])
    robust = estimate.with_errors(about.T @ (squares[:, None] * about), 1.5, 20.0)
    np.testing.assert_allclose(
        robust.covariance, 1.5 * bread @ (dense.T * squares) @ dense @ bread, rtol=1e-6, atol=1e-12
    )
    np.testing.assert_allclose(estimate.with_errors(None, 2.0, 20.0).covariance, 2.0 * bread, rtol=1e-7, atol=1e-14)
    form, side, constant = estimate.leverage_form(np.ones(len(estimate.mean), dtype=bool))
    place = np.zeros((len(frame), len(estimate.mean)))
    place[:, estimate.kept] = dense[:, 1:]
    leverage = np.einsum("ij,jk,ik->i", place, form, place) + (place @ side)[:, 0] + constant
    np.testing.assert_allclose(leverage, np.einsum("ij,jk,ik->i", dense, bread, dense), rtol=1e-8)


def test_one_row_per_level_says_which_are_there(mixed):
    frame = mixed[["color", "cost"]]
    with pytest.raises(ColumnError, match=r"reference=.*is not a level of 'color'.*blue"):
        estimate_of(frame, "cost", {"color": "pink"})
    with pytest.raises(ColumnError, match="'colour' is not in the categories; did you mean 'color'"):
        estimate_of(frame, "cost", {"colour": "red"})
    with pytest.raises(ColumnError, match="'color' has no level 'pink'"):
        estimate_of(frame, "cost").with_errors(None, 1.0, 9.0).compare("color", "pink", "red")
