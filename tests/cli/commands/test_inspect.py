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
    assert "payment: every value differs: an id? --exclude payment" in shown
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


def test_inspect_says_which_word_makes_numbers_text_and_the_option_reads_it(gramian, folder):
    prices = [f"{k},{k % 90 + 10}" for k in range(988)]
    lines = [f"{price};31.12.2025;{k % 3}" for k, price in enumerate(prices)] + ["unbekannt;offen;NA"] * 12
    (folder / "sales.csv").write_text("Preis;am;n\n" + "\n".join(lines) + "\n")
    shown = gramian("inspect", "sales.csv").out
    words = "98% of its values are {}; '{}' (12 rows) makes it text; --na {} reads them as missing"
    assert "Preis: " + words.format("numbers", "unbekannt", "unbekannt") in shown
    assert "am: " + words.format("dates", "offen", "offen") in shown
    assert "--exclude" not in shown
    read = gramian("inspect", "sales.csv", "--na", "unbekannt", "--na", "offen").out
    assert "makes it text" not in read
    columns = gramian("inspect", "sales.csv", "--na", "unbekannt", "--na", "offen", "--json").json["columns"]
    assert [(each["name"], each["type"], each["missing"]) for each in columns] == [
        ("Preis", "double", 0.012),
        ("am_dayofweek", "date32[day]", 0.012),
        ("am_month", "date32[day]", 0.012),
        ("n", "int64", 0.012),
    ]


def test_inspect_leaves_texts_alone_that_would_not_be_numbers(gramian, folder):
    lines = [f"{k % 7:05},{k % 50},{'red' if k % 2 else 'blue'}" for k in range(1000)] + ["x,unknown,9"] * 3
    (folder / "a.csv").write_text("zip,n,color\n" + "\n".join(lines) + "\n")
    shown = gramian("inspect", "a.csv").ok().out
    assert "n: 99% of its values are numbers; 'unknown' (3 rows) makes it text; --na unknown reads them" in shown
    assert shown.count("makes it text") == 1


def test_inspect_says_it_of_spreadsheets(gramian, folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["n", "digits"], *[[k, str(k)] for k in range(50)], ["unknown", "unknown"]]:
        book.active.append(row)
    book.save(folder / "a.xlsx")
    shown = gramian("inspect", "a.xlsx").out
    assert "n: 98% of its values are numbers; 'unknown' (1 row) makes it text; --na unknown reads them" in shown
    assert "digits: 98%" not in shown
    assert "makes it text" not in gramian("inspect", "a.xlsx", "--na", "unknown").ok().out


def test_words_of_the_user_reach_json_lines(gramian, folder):
    (folder / "a.jsonl").write_text('{"x": 1}\n{"x": "unknown"}\n{"x": 3}\n')
    failed = gramian("inspect", "a.jsonl")
    assert "--na unknown" in failed.err
    assert gramian("inspect", "a.jsonl", "--na", "unknown", "--json").ok().json["columns"][0]["type"] == "int64"
