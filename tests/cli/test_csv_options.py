"""A spreadsheet's CSV goes through the commands without an option, or with the one that the message names."""

from __future__ import annotations

import csv
import inspect

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.cli.options import reading, with_options
from gramian.cli.wording import CSV_OPTIONS


@pytest.fixture
def german(tmp_path):
    """Four hundred sales as a spreadsheet in Berlin saves them."""
    rng = np.random.default_rng(5)
    lines = ["Verkäufe 2025", "Ort;PLZ;Preis;am;Kunde;;"]
    places = {"Köln": "50667", "Dresden": "01067", "Müncheberg": "15374"}
    for _ in range(400):
        place = str(rng.choice(list(places)))
        price = f"{rng.lognormal(7, 1):,.2f}".translate({ord(","): ".", ord("."): ","})
        lines.append(
            f"{place};{places[place]};{price};{rng.integers(1, 29)}.{rng.integers(1, 13)}.2025;{rng.choice(list('AB'))};;"
        )
    (tmp_path / "sales.csv").write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return tmp_path


def test_a_spreadsheets_file_goes_through_every_command(program, german):
    shown = program("inspect", "sales.csv", cwd=german)
    assert shown.code == 0, shown.err
    for phrase in (
        "semicolons",
        "decimal comma",
        "cp1252",
        "%d.%m.%Y",
        "1 line above the header",
        "leading zeros kept as text",
    ):
        assert phrase in shown.err
    assert shown.err.count("note: ") == 1
    for arguments in (
        ("collect", "sales.csv", "--folds", "3", "-o", "sales.moments"),
        ("fit", "sales.csv", "--method", "pca", "-k", "2", "-o", "pca.model"),
        ("fit", "sales.moments", "--method", "density", "-o", "density.model"),
        ("transform", "pca.model", "sales.csv", "-o", "features.parquet"),
        ("detect", "density.model", "sales.csv", "--top", "3", "--explain", "-o", "scores.csv"),
        ("report", "sales.csv", "-o", "report.html"),
    ):
        done = program(*arguments, cwd=german)
        assert done.code == 0, done.err
    found = program("inspect", "sales.moments", "--json", cwd=german).json
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds["PLZ"] == "categorical"
    assert kinds["Preis"] == "numeric"
    assert kinds["am_month"] == "categorical"
    assert "column_6" not in kinds
    # A model knows which of its columns were text: no value of theirs is new to it.
    scores = (german / "scores.csv").read_text().splitlines()
    swans = scores[0].split(",").index('"black_swans"' if '"' in scores[0] else "black_swans")
    assert {line.split(",")[swans] for line in scores[1:]} == {"0"}


def test_the_message_names_the_option_that_helps(program, tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1.234;a\n2.500;b\n")
    line = program("collect", "a.csv", "-o", "a.moments", cwd=tmp_path).at_fault(1)
    assert "say which sign is the decimal point with --decimal , or --decimal ." in line
    done = program("collect", "a.csv", "--decimal", ",", "-o", "a.moments", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    (tmp_path / "b.csv").write_text("a:b\n1:2\n3:4\n")
    assert "--delimiter :" in program("inspect", "b.csv", cwd=tmp_path).at_fault(1)
    assert program("inspect", "b.csv", "--delimiter", ":", cwd=tmp_path).code == 0
    assert "--decimal x is not possible" in program("inspect", "b.csv", "--decimal", "x", cwd=tmp_path).at_fault(1)


def test_options_are_added_and_taken_off_before_the_command_sees_its_own():
    seen = {}

    def command(name: str, count: int = 3) -> None:
        seen.update(name=name, count=count)

    wrapped = with_options(command, reading)
    assert list(inspect.signature(wrapped).parameters) == ["name", "count", *CSV_OPTIONS]
    wrapped(name="a", count=5, **dict.fromkeys(CSV_OPTIONS))
    assert seen == {"name": "a", "count": 5}


@pytest.mark.parametrize(("command", "model"), [("transform", "pca"), ("predict", "fisher"), ("detect", "density")])
def test_formulas_are_written_as_text_where_asked(gramian, folder, command, model):
    rows = pq.read_table(folder / "later.parquet").slice(0, 3)
    pq.write_table(rows.append_column("note", pa.array(["=1+1", "fine", "-5"])), folder / "notes.parquet")
    for options, first in (([], "=1+1"), (["--spreadsheet-safe"], "'=1+1")):
        written = [command, f"{model}.model", "notes.parquet", "--keep", "note", "-o", "notes.csv", *options]
        gramian(*written).ok()
        with (folder / "notes.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        assert [row["note"] for row in table] == [first, "fine", "-5"]


def test_the_line_of_the_header_is_an_option(tmp_path, program):
    (tmp_path / "a.csv").write_text("names,of,a,sample\na,b,c,d\n1,2,3,4\n5,6,7,8\n")
    done = program("collect", "a.csv", "--header", "2", "-o", "a.moments", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = program("inspect", "a.moments", "--json", cwd=tmp_path).json
    assert [column["name"] for column in found["columns"]] == ["a", "b", "c", "d"]
    assert "--header x is not possible" in program("inspect", "a.csv", "--header", "x", cwd=tmp_path).at_fault(1)
    (tmp_path / "b.csv").write_text("place\nBonn, Germany, EU\nParis, France, E.U.\n")
    assert "say which with --header 2 or --delimiter ';'" in program("inspect", "b.csv", cwd=tmp_path).at_fault(1)
