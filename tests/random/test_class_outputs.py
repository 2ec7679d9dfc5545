"""Outputs of classes: discriminants are applied target by target, and classes without rows are put in their place."""

import numpy as np
import pytest

from gramian.random.readout import Readout, among_declared, log_posteriors


def test_log_posteriors_are_the_discriminant_of_each_row_of_outputs(rng):
    units, rows = 4, rng.normal(size=(6, 4))
    coefficients, intercept = rng.normal(size=(units, 4)), rng.normal(size=4)
    turn, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    # A target of two classes, whose one output stays, and one of three.
    readout = Readout(coefficients, intercept, np.zeros(units), 1.0, {}, [["n", "y"], [0, 1, 2]], [None, (turn, shift)])
    weights, level = log_posteriors(readout)
    outputs = rows @ coefficients + intercept
    np.testing.assert_allclose(rows @ weights + level, np.column_stack([outputs[:, :1], outputs[:, 1:] @ turn + shift]))


def test_absent_classes_get_the_level_of_no_rows(rng):
    weights, level = rng.normal(size=(4, 3)), rng.normal(size=3)
    declared = np.array(["a", "b", "c", "d"])
    wide, levels = among_declared(np.array(["a", "b", "d"]), declared, weights, level, -np.inf)
    np.testing.assert_array_equal(wide, np.insert(weights, 2, 0.0, axis=1))
    np.testing.assert_array_equal(levels, np.insert(level, 2, -np.inf))


@pytest.mark.parametrize("present", [["a", "c"], ["b", "c"]])
def test_the_one_output_of_two_classes_becomes_one_a_class(rng, present):
    weights, level = rng.normal(size=(4, 1)), np.array([0.3])
    declared = np.array(["a", "b", "c"])
    wide, levels = among_declared(np.array(present), declared, weights, level, 0.0)
    first, second = (declared.tolist().index(label) for label in present)
    row = rng.normal(size=4)
    outputs = row @ wide + levels
    # Indicators of the two add up to 1 in every row.
    np.testing.assert_allclose(outputs[second], row @ weights[:, 0] + 0.3)
    np.testing.assert_allclose(outputs[first] + outputs[second], 1.0)
    np.testing.assert_array_equal(np.delete(outputs, [first, second]), 0.0)
