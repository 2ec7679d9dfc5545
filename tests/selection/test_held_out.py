"""Held-out scores of a path, against refits on the rows of each fold."""

import numpy as np
import pandas as pd
import pytest

from gramian.errors import DataError
from gramian.selection.held_out import Curve, held_out_curve
from gramian.selection.problem import problem_of
from gramian.selection.stepwise.forward import forward

from .brute import random_problem


def design(train, frame, columns):
    """Return the columns of rows as a model of the training rows sees them: missing numbers at training means."""
    parts = [np.ones((len(frame), 1))]
    for name in columns:
        if pd.api.types.is_numeric_dtype(train[name]):
            parts.append(frame[name].fillna(train[name].mean()).to_numpy(float)[:, None])
        else:
            levels = sorted(train[name].unique())
            shares = np.array([(train[name] == level).mean() for level in levels])
            hot = np.array([[value == level for level in levels] for value in frame[name]], dtype=float)
            # A level that no training row has is the average row.
            parts.append(np.where(hot.any(axis=1, keepdims=True), hot, shares))
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("kind", ["number", "classes"])
def test_the_curve_is_that_of_refits_on_the_same_folds(rng, collect_in_folds, kind):
    frame, _ = random_problem(rng, missing=True)
    noise = rng.standard_normal(len(frame))
    number = (frame["n0"] + (frame["c2"] == "l1") + noise).to_numpy()
    frame["y"] = number if kind == "number" else np.array(["low", "mid", "high"])[np.digitize(number, [-0.5, 1.0])]
    parts = [frame.iloc[k::3] for k in range(3)]
    m = collect_in_folds(parts)
    columns = [name for name in frame if name != "y"]
    problem = problem_of(m, columns, ["y"])

    def models(train):
        return forward(train, steps=4, with_coefficients=True, with_tests=False).coefficients

    curve = held_out_curve(problem, models, "k='cv'")
    labels = sorted(frame["y"].unique())
    errors, base = np.zeros((3, 5)), np.zeros(3)
    for k, test in enumerate(parts):
        train = pd.concat([part for j, part in enumerate(parts) if j != k])
        here = problem_of(m.without_fold(k), columns, ["y"])
        order = forward(here, steps=4, with_tests=False).order

        def functions(rows):
            values = rows["y"].to_numpy()
            return values[:, None] if kind == "number" else (values[:, None] == np.array(labels)).astype(float)

        known, asked = functions(train), functions(test)
        base[k] = np.square(asked - known.mean(axis=0)).sum() / len(test)
        for size in range(5):
            chosen = [columns[j] for j in order[:size]]
            beta = np.linalg.lstsq(design(train, train, chosen), known, rcond=1e-9)[0]
            errors[k, size] = np.square(asked - design(train, test, chosen) @ beta).sum() / len(test)
    shares = 1 - errors / base.mean()
    np.testing.assert_allclose(curve.score, shares.mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(curve.error, shares.std(axis=0, ddof=1) / np.sqrt(3), atol=1e-8)


def test_one_standard_error_prefers_fewer_columns():
    curve = Curve(np.array([0.0, 0.40, 0.45, 0.46]), np.array([0.0, 0.05, 0.05, 0.05]))
    assert (curve.best(), curve.best("1se")) == (3, 2)


def test_without_folds_the_message_names_collect(mixed):
    import gramian as gm

    problem = problem_of(gm.collect(mixed), ["color", "size"], ["kind"])
    with pytest.raises(DataError, match=r"k='cv' needs moments with folds: collect\(folds=5\)"):
        held_out_curve(problem, lambda train: [], "k='cv'")
