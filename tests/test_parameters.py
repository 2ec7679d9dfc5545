"""What a parameter may be is checked by type and value, and said in one way."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.cli.wording import in_options
from gramian.errors import DataError
from gramian.parameters import FUNCTION, GENERATOR, NUMBERS, OPTIONS, check, number, whole


@pytest.mark.parametrize("value", [1, np.int64(7), np.uint8(2)])
def test_whole_numbers_of_any_library_are_whole(value):
    check("k", value, whole())


@pytest.mark.parametrize("value", [0, -1, 1.0, True, np.bool_(True), "1", None, np.float64(2), [1]])
def test_anything_else_is_none(value):
    with pytest.raises(DataError, match=r"^k is a whole number from 1; got "):
        check("k", value, whole())


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (number(least=0), [0, 1e300, np.float32(0.5)], [-1e-9, np.nan, np.inf, True, "0"]),
        (number(above=0, most=0.5), [1e-300, 0.5], [0, 0.6]),
        (number(above=0, below=1), [0.5], [0, 1]),
        (number(least=0, most=1), [0, 1, np.int8(1)], [-0.1, 1.1]),
        (number(), [-5.0, 3], [np.nan]),
        (whole(2, 255), [2, 255], [1, 256]),
        (whole(None), [-5, 0], [0.0]),
        (FUNCTION, [len], ["len"]),
        (OPTIONS, [{}, {"a": 1}], [3, "a", [1]]),
        (NUMBERS, [[0.5, 0.5], (1, 2), np.array([1.0])], ["foo", 3, ["a"], {}]),
        (GENERATOR, [np.random.default_rng(0), np.random.RandomState(0)], [3, "a"]),
    ],
)
def test_bounds_are_kept(kind, inside, outside):
    assert [value for value in inside if not kind.accepts(value)] == []
    assert [value for value in outside if kind.accepts(value)] == []


def test_values_are_compared_as_what_they_are():
    check("scale", True, "auto", True, False)
    check("scale", np.str_("auto"), "auto", True, False)
    check("scale", np.False_, "auto", True, False)
    check("folds", np.int64(0), 0, whole(2))
    for strange in (1, 0, None, "Auto", np.array(["auto", "auto"])):
        with pytest.raises(DataError, match="scale is 'auto', True or False; got"):
            check("scale", strange, "auto", True, False)


def test_the_command_line_names_the_option_and_values_as_they_are_typed():
    with pytest.raises(DataError) as raised:
        check("n_components", 0, None, "cv", whole())
    assert str(raised.value) == "n_components is None, 'cv' or a whole number from 1; got 0"
    assert in_options(raised.value) == "-k is none, cv or a whole number from 1; got 0"
    with pytest.raises(DataError) as raised:
        check("ridge", "x", "auto", number(least=0, words="a number of rows"))
    assert in_options(raised.value) == "--set ridge is auto or a number of rows from 0; got 'x'"
