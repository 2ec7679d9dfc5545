"""`gramian inspect` shows any file."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(("name", "kind"), [("payments.moments", "moments"), ("pca.model", "model"), ("days", "data")])
def test_inspect_shows_any_file(gramian, name, kind):
    found = gramian("inspect", name, "--json").ok().json
    assert found["kind"] == kind
    assert "merchant" in str(found["columns"])


def test_inspect_shows_data_as_a_table(gramian):
    shown = gramian("inspect", "payments.parquet").ok().out
    assert "payment: nearly every value differs: an id? --exclude payment" in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_inspect_says_how_a_model_was_made(gramian):
    gramian("fit", "payments.moments", "-m", "klt", "-k", "0.1", "-o", "a.model").ok()
    assert gramian("inspect", "a.model", "--json").ok().json["notes"] == {
        "command": "gramian fit payments.moments -m klt -k 0.1 -o a.model"
    }
