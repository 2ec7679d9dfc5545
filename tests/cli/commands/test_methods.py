"""`gramian methods` lists what there is."""

from __future__ import annotations

import json


def test_methods_lists_every_method_of_the_registry(gramian):
    from gramian.estimators.io.registry import METHODS

    found = gramian("methods", "--json").ok().json
    assert [method["name"] for method in found] == [method.name for method in METHODS]
    shown = gramian("methods").ok().out
    assert [method.name for method in METHODS if method.name not in shown] == []
    one = gramian("methods", "lda").ok().out
    assert "shrinkage" in one
    assert json.loads(gramian("methods", "lda", "--json").out)["needs_target"]
