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


def test_several_files_are_shown_together_with_what_they_differ_in(gramian, folder):
    (folder / "a.csv").write_text("color,size\nred,1\nblue,2\n")
    (folder / "b.csv").write_text("color,weight\nred,1.5\n")
    shown = gramian("inspect", "a.csv", "b.csv").ok().out
    assert shown.startswith("3 rows sampled, 3 columns")
    assert "b.csv has no column 'size', which a.csv has\nb.csv has a column 'weight', which a.csv has not" in shown
    assert shown.endswith("next: gramian collect a.csv b.csv --missing fill -o all.moments\n")
    assert len(gramian("inspect", "a.csv", "b.csv", "--json").ok().json["differing"]) == 2


def test_files_of_other_kinds_are_shown_one_by_one(gramian):
    shown = gramian("inspect", "monday.moments", "pca.model").ok().out
    assert shown.index("monday.moments\n") < shown.index("pca.model\n")
    kinds = [each["kind"] for each in gramian("inspect", "monday.moments", "pca.model", "--json").ok().json]
    assert kinds == ["moments", "model"]
