"""The quick form: a few hundred harmed inputs of every class in child processes, the same in every run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from . import driver
from .base import NAMES, Itself
from .driver import run
from .subjects import SUBJECTS

CASES = 315


def test_harmed_inputs_are_refused_or_mean_what_they_say():
    tally = run(first=7000, cases=CASES, workers=2, limit=60)
    assert tally.failures == [], tally.table()
    assert tally.cases == CASES
    assert (tally.counts[:, 1] > 0).all(), tally.table()


def test_rows_of_a_damaged_arrow_file_are_counted_without_harm():
    # Once a segmentation fault: Arrow's count of the rows followed a place that leads out of the file.
    assert run(first=344103071398, cases=1, workers=1, limit=60, chosen=("arrow files",)).failures == []


def test_what_was_seen_before_an_interrupt_is_counted(monkeypatch):
    looks = []

    def look_at(child, limit, late):
        looks.append(child)
        child.shared[1] += 3
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(driver, "_look_at", look_at)
    monkeypatch.setattr(driver, "sys", SimpleNamespace(executable="false"))
    tally = run(first=0, cases=2, workers=1, chosen=(Itself.name,))
    assert (tally.cases, tally.failures) == (12, [])
    assert looks[0].process.returncode is not None


def test_every_class_is_run():
    assert tuple(SUBJECTS) == NAMES


def test_deaths_hangs_and_errors_are_found(monkeypatch):
    monkeypatch.setattr(driver, "_START", 1.0)
    drawn = [int(np.random.default_rng(seed).integers(4)) for seed in range(1000)]
    first = next(k for k in range(1000) if sorted(drawn[k : k + 4]) == [0, 1, 2, 3])
    tally = run(first=first, cases=4, workers=2, limit=1.0, chosen=(Itself.name,))
    words = {1: "signal", 2: "hang", 3: "ZeroDivisionError"}
    expected = {seed: words[drawn[seed]] for seed in range(first, first + 4) if drawn[seed]}
    assert {note["seed"]: note["how"] for note in tally.failures} == expected
    assert tally.cases == 4
