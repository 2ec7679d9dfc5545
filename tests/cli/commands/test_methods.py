"""`gramian methods` lists what there is."""

from __future__ import annotations

import json


def test_methods_lists_every_method_of_the_registry(gramian):
    from gramian.estimators.registry import METHODS

    found = gramian("methods", "--json").ok().json
    assert [method["name"] for method in found] == [method.name for method in METHODS]
    shown = gramian("methods").ok().out
    assert [method.name for method in METHODS if method.name not in shown] == []
    given = {method["name"]: method["predicts_numbers"] for method in found if method["predicts"]}
    assert given["elm-regressor"]
    assert given["echo-state-regressor"]
    assert not given["elm"]
    assert not given["fisher"]
    lines = {line.split()[0]: line.split()[2] for line in shown.splitlines() if line.split()[1:2] == ["rows"]}
    assert (lines["elm"], lines["elm-regressor"], lines["echo-state-regressor"]) == ("classes", "numbers", "numbers")
    one = gramian("methods", "lda").ok().out
    assert "shrinkage" in one
    assert json.loads(gramian("methods", "lda", "--json").out)["needs_target"]
