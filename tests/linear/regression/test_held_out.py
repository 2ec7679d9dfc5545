"""Errors of left-out rows, from moments: those of the rows themselves."""

import numpy as np
import pandas as pd
import pytest

from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import block_size, held_out_errors, held_out_scores, per_target
from gramian.linear.regression.targets import aim_of
from gramian.moments.algebra.folds import folds_of

COLUMNS = ["color", "grade", "cost"]


@pytest.fixture
def parts(mixed):
    return [mixed.iloc[k : k + 100] for k in range(0, 400, 100)]


def rows_of(frame, m):
    levels = np.array(m.levels("color"), dtype=object)
    x = np.column_stack([frame["color"].to_numpy()[:, None] == levels, frame["grade"], frame["cost"]]).astype(float)
    return x, (frame["kind"].to_numpy()[:, None] == sorted(m.levels("kind"))).astype(float)


def test_errors_of_any_coefficients_are_those_of_the_rows(parts, collect_in_folds, rng):
    m = collect_in_folds(parts)
    aim = aim_of(m, ["kind"])
    train, test = (regression_of(part, COLUMNS, aim) for part in folds_of(m).split(1))
    coefficients = rng.standard_normal((4, 5, 3)) * np.array([1, 1, 1, 1, 1e-4])[:, None]
    errors, baseline = held_out_errors(train, test, coefficients)
    x, h = rows_of(pd.concat([parts[0], *parts[2:]]), m)
    new, aims = rows_of(parts[1], m)
    for found, b in zip(errors, coefficients, strict=True):
        left = aims - h.mean(axis=0) - (new - x.mean(axis=0)) @ b
        # Differences of sums of squares some thousand times as large.
        np.testing.assert_allclose(found, np.square(left).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(baseline, np.square(aims - h.mean(axis=0)).sum(axis=0), rtol=1e-12)


def test_scores_pool_the_errors_of_all_folds_and_average_targets(parts, collect_in_folds):
    m = collect_in_folds(parts)
    aim = aim_of(m, ["kind", "cost"])
    read, columns = aim.read(m), ["color", "grade"]
    whole = regression_of(read, columns, aim)
    zero = np.zeros((1, *whole.cross.shape))
    score, error = held_out_scores(read, columns, aim, whole, lambda train: [zero, zero])
    # Nothing is predicted but the training mean, and that is what errors are compared with.
    np.testing.assert_allclose(score, [0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(error, [0.0, 0.0], atol=1e-12)
    assert block_size(whole) == 2**28 // (8 * whole.cross.size)


def test_functions_are_summed_over_those_of_their_target():
    values = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 8.0]])
    assert per_target(values, np.array([0, 1, 0])).tolist() == [[5.0, 2.0], [8.0, 1.0]]
