"""The Krylov sequence: cross-validated from moments as from rows, and followed on other rows."""

import numpy as np

import gramian as gm
from gramian.design.encoder import by_position
from gramian.linear.mahalanobis import follow, krylov_coefficients, krylov_directions, mahalanobis
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of

COLUMNS = ["color", "shape", "cost"]


def rows_of(frame, moments):
    parts = [(frame[n].to_numpy()[:, None] == np.array(moments.levels(n), dtype=object)) for n in ("color", "shape")]
    return np.hstack([*parts, frame[["cost"]].to_numpy()]).astype(float)


def test_held_out_scores_of_each_length_equal_refitting(mixed):
    target = mixed["grade"].to_numpy(float) + (mixed["color"] == "red")
    frame = mixed[COLUMNS].assign(y=target)
    m = gm.collect(frame, folds=5)
    found = mahalanobis(m, COLUMNS, ["y"], structure="krylov", n_components=4)
    x, fold_of = rows_of(frame, m), by_position(0, len(frame), 5, 0)
    expected = []
    for d in range(1, 5):
        error = base = 0.0
        for k in range(5):
            train, test = fold_of != k, fold_of == k
            mx, my = x[train].mean(axis=0), target[train].mean()
            unit = np.append(np.ones(6), x[train, -1].var())
            xc = (x[train] - mx) / np.sqrt(unit)
            sequence = [xc.T @ (target[train] - my)]
            for _ in range(d - 1):
                sequence.append(xc.T @ (xc @ sequence[-1]))
            basis = np.linalg.qr(np.stack([v / np.linalg.norm(v) for v in sequence], axis=1))[0]
            slope = np.linalg.lstsq(xc @ basis, target[train] - my, rcond=None)[0]
            predicted = (x[test] - mx) / np.sqrt(unit) @ basis @ slope
            error += np.square(target[test] - my - predicted).sum()
            base += np.square(target[test] - my).sum()
        expected.append(1 - error / base)
    np.testing.assert_allclose(found.selection["r2"], expected, atol=1e-8)
    np.testing.assert_array_equal(found.selection["n_components"], [1, 2, 3, 4])
    assert found.r2_cv == found.selection["r2"][-1]


def test_coefficients_are_the_regression_on_the_first_directions(mixed):
    m = gm.collect(mixed)
    aim = aim_of(m, ["kind"])
    problem = regression_of(aim.read(m), COLUMNS, aim)
    directions, _ = krylov_directions(problem, 3, 1.0)
    path = krylov_coefficients(problem, 3)
    for d in range(1, 4):
        w = directions[:, :d]
        expected = w @ np.linalg.solve(w.T @ (problem.scatter @ w), w.T @ problem.cross)
        np.testing.assert_allclose(path[d - 1], expected, atol=1e-10 * np.abs(expected).max())


def test_a_sequence_that_ends_stays_at_least_squares(mixed):
    m = gm.collect(mixed[["cost", "grade"]])
    problem = regression_of(m, ["cost"], aim_of(m, ["grade"], target_type="continuous"))
    path = krylov_coefficients(problem, 3)
    np.testing.assert_allclose(path[:, 0, 0], problem.cross[0, 0] / problem.diagonal[0], rtol=1e-10)


def test_a_recurrence_followed_on_its_own_moments_gives_its_directions(mixed):
    m = gm.collect(mixed)
    aim = aim_of(m, ["kind"])
    problem = regression_of(aim.read(m), COLUMNS, aim)
    directions, recurrence = krylov_directions(problem, 4, 1.0)
    np.testing.assert_allclose(follow(problem, recurrence), directions, atol=1e-9 * np.abs(directions).max())
