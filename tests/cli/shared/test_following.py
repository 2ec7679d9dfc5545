"""After every command a line says what to do next, and it runs as printed."""

from __future__ import annotations

import shlex

import pytest

import gramian as gm
from gramian.cli.shared.following import PLACE, after_fit, after_moments, after_preview, after_rows

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
    several = after_preview(["a.csv", "b.csv"], [], fill=True)
    assert several == "gramian collect a.csv b.csv --missing fill -o all.moments"
    nothing = gm.Moments.empty()
    assert after_moments(nothing, "x.moments") == "gramian merge x.moments MOMENTS -o all.moments"
