"""After every command a line says what to do next, and it runs as printed."""

from __future__ import annotations

import shlex

import pytest

import gramian as gm
from gramian.cli.printing import PLACE, after_fit, after_moments, after_preview, after_rows

COMMANDS = {
    "inspect data": ["inspect", "payments.parquet"],
    "inspect moments": ["inspect", "payments.moments"],
    "inspect a model": ["inspect", "density.model"],
    "collect": ["collect", "words.csv", "-o", "words.moments"],
    "merge": ["merge", "monday.moments", "tuesday.moments", "-o", "both.moments"],
    "fit a detector": ["fit", "payments.parquet", "-m", "density", "-o", "x.model"],
    "fit features": ["fit", "payments.parquet", "-m", "pca", "-k", "2", "-o", "x.model"],
    "select": ["select", "payments.parquet", "--target", "fraud", "--exclude", "payment", "--exclude", "city"],
    "select by a method": ["select", "payments.moments", "--target", "fraud", "-m", "pearson", "-o", "kept.model"],
    "detect": ["detect", "density.model", "later.parquet", "--top", "2"],
}


@pytest.mark.parametrize("case", COMMANDS)
def test_what_is_said_to_be_next_runs_as_printed(gramian, case):
    lines = [line for line in gramian(*COMMANDS[case]).ok().out.splitlines() if line.startswith("next: ")]
    assert len(lines) == 1
    words = shlex.split(lines[0].removeprefix("next: gramian "))
    done = gramian(*("later.parquet" if word == PLACE else word for word in words))
    assert done.code == 0, done.err


def test_a_target_is_predicted_and_a_detector_detects(files):
    moments = gm.load(files / "payments.moments")
    assert after_moments(moments, "a b.moments") == (
        "gramian fit 'a b.moments' --method mahalanobis --target fraud -o 'a b.model'"
    )
    assert after_moments(moments.drop(["fraud"]), "x.moments") == "gramian fit x.moments --method pca -o x.model"
    assert after_fit(gm.load(files / "density.model"), "d.model", []) == "gramian detect d.model DATA --top 5 --explain"
    assert after_fit(gm.load(files / "fisher.model"), "f.model", ["a.csv"]) == (
        "gramian predict f.model a.csv -o predicted.parquet"
    )
    assert after_rows("m.model", ["a", "b"]) == "gramian report m.model --data a --data b -o report.html"
    assert after_preview(["days/"], ["id"]) == "gramian collect days/ --exclude id -o days.moments"
    several = after_preview(["a.csv", "b.csv"], [], missing="fill")
    assert several == "gramian collect a.csv b.csv --missing fill -o all.moments"
    nothing = gm.Moments.empty()
    assert after_moments(nothing, "x.moments") == "gramian merge x.moments MOMENTS -o all.moments"


READING = ["--delimiter", ";", "--decimal", ",", "--encoding", "latin-1"]


def test_what_is_next_reads_data_as_this_command_did(gramian, folder):
    rows = "\n".join(f"M\xfcnchen;{k},5;{'ja' if k > 20 else 'nein'}" for k in range(40))
    (folder / "a.csv").write_text(f"stadt;preis;gekauft\n{rows}\n", encoding="latin-1")
    commands = [
        ["inspect", "a.csv"],
        ["select", "a.csv", "--target", "gekauft", "--target-missing", "raise"],
        ["select", "a.csv", "--target", "gekauft", "-m", "pearson", "-k", "1", "-o", "s.model"],
        ["fit", "a.csv", "-m", "density", "-o", "d.model"],
        ["fit", "a.csv", "-m", "pca", "-o", "p.model"],
        ["fit", "a.csv", "-m", "fisher", "--target", "gekauft", "-o", "f.model", "--missing", "fill"],
        ["transform", "p.model", "a.csv", "-o", "t.parquet"],
        ["predict", "f.model", "a.csv", "-o", "t.parquet", "--missing", "fill"],
        ["detect", "d.model", "a.csv", "--top", "2"],
        ["detect", "d.model", "a.csv", "--explain", "--missing", "fill"],
    ]
    for command in commands:
        done = gramian(*command, *READING)
        assert done.code == 0, done.err
        (line,) = [line for line in done.out.splitlines() if line.startswith("next: ")]
        words = shlex.split(line)
        for option, value in zip(READING[::2], READING[1::2], strict=True):
            assert words[words.index(option) + 1] == value, line
        assert ("--missing" in words) == ("--missing" in command), line
        assert ("--target-missing" in words) == ("--target-missing" in command), line
        assert gramian(*words[2:]).code == 0, line
    # Moments and models hold what was read.
    assert "--delimiter" not in gramian("collect", "a.csv", "-o", "a.moments", *READING).out


def test_what_is_next_names_the_sheet(gramian, folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing", "here"])
    sheet = book.create_sheet("Daten 2025")
    sheet.append(["color", "size"])
    for k in range(20):
        sheet.append(["red" if k % 2 else "blue", k * 1.5])
    book.save(folder / "a.xlsx")
    shown = gramian("inspect", "a.xlsx", "--sheet", "Daten 2025")
    assert shown.out.endswith("next: gramian collect a.xlsx --sheet 'Daten 2025' -o a.moments\n")
    shown = gramian("fit", "a.xlsx", "--sheet", "Daten 2025", "-m", "pca", "-o", "p.model")
    assert shown.out.endswith("next: gramian transform p.model a.xlsx --sheet 'Daten 2025' -o features.parquet\n")
