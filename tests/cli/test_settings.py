"""Text of the command line as values of parameters."""

from __future__ import annotations

import pytest

from gramian.cli.options import whole
from gramian.cli.settings import built, settings_of, value_of
from gramian.cli.wording import UsageError
from gramian.estimators.registry import find_method


@pytest.mark.parametrize(
    ("text", "value"),
    {
        "5": 5,
        "-0.5": -0.5,
        "1e-3": 0.001,
        "true": True,
        "False": False,
        "none": None,
        "null": None,
        "cv": "cv",
        "": "",
        "[0.2, 0.8]": [0.2, 0.8],
        '{"power": 0.5}': {"power": 0.5},
        '"5"': "5",
        "a=b": "a=b",
    }.items(),
)
def test_a_text_is_the_value_it_looks_like(text, value):
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_broken_json_is_refused():
    with pytest.raises(UsageError, match="JSON"):
        value_of("[1, 2")


def test_only_the_first_equals_sign_separates():
    assert settings_of(["scale=a=b"], find_method("pca")) == {"scale": "a=b"}


def test_parameters_reach_the_estimator_and_are_checked_at_once():
    model = built(find_method("mfe"), "2", ["ridge=3", "cv=None"])
    assert (model.n_components, model.ridge, model.cv) == (2, 3, None)
    with pytest.raises(UsageError, match="ridge"):
        built(find_method("mfe"), None, ["ridge=-1"])
    with pytest.raises(UsageError, match="takes no -k"):
        built(find_method("whitening"), "2", [])


def test_what_is_drawn_at_random_is_drawn_the_same_every_time():
    assert built(find_method("tsne"), None, []).random_state == 0
    assert built(find_method("tsne"), None, ["random_state=None"]).random_state is None


def test_a_whole_number_is_whole_and_large_enough():
    assert whole(2)("2") == 2
    for wrong in ("1", "2.5", "two"):
        with pytest.raises(Exception, match=wrong):
            whole(2)(wrong)


def test_a_name_of_a_method_brings_its_parameters_and_set_overrides_them():
    assert built(find_method("sanger"), "2", []).rule == "sanger"
    assert built(find_method("sanger"), "2", ["rule=subspace"]).rule == "subspace"
    assert built(find_method("fastica"), None, []).solver == "fixed-point"
