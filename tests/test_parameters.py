"""What a parameter may be is checked by type and value, and said in one way."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.cli.wording import in_options
from gramian.errors import DataError
from gramian.parameters import (
    CATEGORICAL,
    COLUMNS,
    FUNCTION,
    GENERATOR,
    JOBS,
    MATRIX,
    NUMBERS,
    OPTIONS,
    array_of,
    check,
    check_parameters,
    declared,
    number,
    parameters_of,
    whole,
)


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
        (array_of("an array"), [[1], (), np.eye(2)], ["foo", b"foo", {}, np.float64(1), np.array(1.0), None]),
        (MATRIX, [[[1, 2]], np.eye(2)], [[1.0], [["a"]], [[1], [1, 2]], [[np.nan]], np.empty((0, 2)), None]),
        (COLUMNS, ["a", 0, -1, np.array(2), ["a", 1], {"a"}, np.array(["a"])], [1.5, True, [None], [[1]], object()]),
        (CATEGORICAL[-1], [["a"], [0], [True], {"a"}, []], ["a", 3, {"a": 1}, [[1], [2]], [0.5], [[1], [1, 2]], None]),
        (JOBS[-1], [1, -2, np.int64(3)], [0, 1.0, True, "1"]),
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


class Base:
    _parameters = declared(k=whole(), rule=("a", "b"))

    def __init__(self, **given):
        vars(self).update(given)

    def _check_together(self):
        if self.k > 1 and self.rule == "b":
            raise DataError("k and rule contradict each other")


class Derived(Base):
    _parameters = declared(k=(None, whole(2)))


def test_a_class_declares_over_its_bases():
    assert parameters_of(Derived)["rule"] == ("a", "b")
    assert [kind.words for kind in parameters_of(Derived)["k"] if kind] == ["a whole number from 2"]
    check_parameters(Derived(k=2, rule="a", other=object()))
    with pytest.raises(DataError, match="k is None or a whole number from 2; got 1"):
        check_parameters(Derived(k=1, rule="c"))


def test_parameters_are_held_against_each_other_once_each_is_allowed():
    with pytest.raises(DataError, match="rule is 'a' or 'b'; got 'c'"):
        check_parameters(Base(k=2, rule="c"))
    with pytest.raises(DataError, match="contradict"):
        check_parameters(Base(k=2, rule="b"))


def test_a_message_shows_no_long_list_nor_a_whole_array():
    with pytest.raises(DataError, match=r"got an array of shape \(9, 9\)$"):
        check("k", np.eye(9), whole())
    with pytest.raises(DataError) as raised:
        check("k", list(range(10_000)), whole())
    assert len(str(raised.value)) < 300
