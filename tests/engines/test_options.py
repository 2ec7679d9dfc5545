"""Options of a pass are checked when they are made, and every option of `collect` is one of them."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

import gramian as gm
from gramian.engines.base import CollectOptions
from gramian.errors import DataError


def test_the_options_are_exactly_the_arguments_of_collect_with_their_defaults():
    arguments = {n: p.default for n, p in inspect.signature(gm.collect).parameters.items() if n != "source"}
    assert {field.name: field.default for field in fields(CollectOptions) if field.init} == arguments


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"folds": 1}, "folds"),
        ({"folds": 2.5}, "folds"),
        ({"fold_by": "id"}, "folds="),
        ({"random_state": "seven"}, "random_state"),
        ({"random_state": True}, "random_state"),
        ({"memory_limit": "much"}, "2GB"),
        ({"sample_weight": [[1.0]]}, "shape"),
        ({"sample_weight": ["a", "b"]}, "numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, words):
    with pytest.raises(DataError, match=words):
        CollectOptions(**wrong)


def test_weights_are_a_column_or_values():
    named, given, none = CollectOptions(sample_weight="w"), CollectOptions(sample_weight=(1, 2)), CollectOptions()
    assert (named.weight_column, named.weights, named.weighted) == ("w", None, True)
    assert given.weight_column is None
    np.testing.assert_array_equal(given.weights, [1.0, 2.0])
    assert (none.weight_column, none.weights, none.weighted) == (None, None, False)


def test_like_is_moments_or_their_file(tmp_path):
    moments = gm.collect([[1.0], [2.0]])
    moments.save(tmp_path / "m.moments")
    assert CollectOptions(like=moments).model is moments
    assert CollectOptions(like=tmp_path / "m.moments").model == moments
