"""What is out of the ordinary, value by value in plain loops, and how it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.maps.projection import Design
from gramian.maps.surprise.explain import NOISE, NumberFacts, Wording, figure


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1234567.4, "1,234,567"), (-2500.0, "-2,500"), (999.4, "999"), (0.012345, "0.0123"),
     (np.nan, "nan"), (np.inf, "inf")],
)  # fmt: skip
def test_figures_are_written_as_people_write_them(value, text):
    assert figure(value) == text


def test_striking_values_and_pairs_lie_beyond_noise(case, odd_rows):
    frame, facts, n = case.frame, case.facts, len(case.frame)
    names = ["a", "b", "c"]
    asked = pd.concat([frame.iloc[:60], odd_rows], ignore_index=True)
    places = np.triu_indices(5)
    found = np.zeros((len(asked), 5, 5), dtype=bool)
    found[:, *places] = Wording(case.design, case.moments, facts).striking(case.encoded(asked), *places)
    z = (asked[["u", "v"]].to_numpy() - facts.centre) / facts.scale
    for i in range(len(asked)):
        expected = np.zeros((5, 5), dtype=bool)
        row = asked.iloc[i]
        known = {name: row[name] in set(frame[name]) for name in names}
        for j, name in enumerate(names):
            mine = frame[name] == row[name]
            even = n / frame[name].nunique()
            expected[j, j] = not known[name] or even - mine.sum() >= NOISE * even**0.5
            for k in range(j + 1, 3):
                other = frame[names[k]] == row[names[k]]
                by_chance = mine.sum() * other.sum() / n
                both = known[name] and known[names[k]]
                expected[j, k] = both and by_chance - (mine & other).sum() >= NOISE * by_chance**0.5
            for q in range(2):
                if known[name]:
                    level = case.design.labels[j].to_list().index(row[name])
                    shrunken, seen = facts.level_means[j][level, q], facts.seen_means[j][level, q]
                    away = min(abs(z[i, q] - shrunken), abs(z[i, q] - seen)) / facts.left_by_level[j, q] ** 0.5
                    expected[j, 3 + q] = away >= NOISE
        for q in range(2):
            expected[3 + q, 3 + q] = abs(z[i, q]) >= NOISE
        expected[3, 4] = abs(z[i, 1] - facts.correlation[0, 1] * z[i, 0]) / facts.left[0, 1] ** 0.5 >= NOISE
        assert np.array_equal(found[i], expected)
    assert found.any(axis=0)[np.triu_indices(5)].sum() > 8


@pytest.fixture
def few():
    """Ten rows: red 6 (4 box, 2 disc), blue 4 (4 disc); size 10 on average, with standard deviation 2."""
    table = pa.table(
        {"color": ["red"] * 6 + ["blue"] * 4, "shape": ["box"] * 4 + ["disc"] * 6, "size": [8.0, 12.0] * 5}
    )
    m = gm.collect(table)
    design = Design.of(m, ["color", "shape", "size"])
    by_level = tuple(np.zeros((2, 1)) for _ in range(2))
    by_level[0][design.labels[0].to_list().index("red")] = 0.5
    one = np.ones(1)
    seen = tuple(np.zeros((2, 1)) for _ in range(2))
    rows = tuple(m.pairs.level_weights[m.coded_at[name]][:, None] for name in ("color", "shape"))
    facts = NumberFacts(
        10 * one, 2 * one, 0 * one, 10 * one, np.eye(1), np.eye(1), by_level, np.ones((2, 1)), seen, rows
    )
    return design, Wording(design, m, facts)


def test_reasons_name_columns_values_what_was_seen_and_what_was_expected(few):
    design, wording = few
    batch = pa.record_batch(
        {"color": ["red", "blue", "green"], "shape": ["disc", "box", None], "size": [15.0, None, 1.0]}
    )
    rows = design.encode(batch)

    def said(a, b, i):
        reason = wording.reason(a, b, rows, i, batch, i)
        return reason.columns, reason.values, reason.seen, reason.expected, reason.text

    assert said(0, 0, 0) == ("color", "red", 6.0, 5.0, "color=red: seen 6 times in 10 rows")
    assert said(0, 1, 0) == (
        "color & shape", "red & disc", 2.0, 3.6, "color=red with shape=disc: seen 2 times, expected 3.6",
    )  # fmt: skip
    assert said(0, 1, 1)[2:] == (0.0, 1.6, "color=blue with shape=box: seen 0 times, expected 1.6")
    assert said(0, 0, 2) == ("color", "green", 0.0, None, "color=green: never seen in 10 rows")
    assert said(1, 1, 2)[1] == "(missing)"
    assert said(2, 2, 0) == ("size", "15", None, 10.0, "size=15: 2.5 standard deviations above the mean, 10")
    assert said(2, 2, 2)[-1] == "size=1: 4.5 standard deviations below the mean, 10"
    assert said(0, 2, 0)[2:] == (None, 10.0, "color=red with size=15: expected about 10, the mean of 6 rows")
    assert said(1, 2, 1)[1] == "box & (missing)"


def test_two_numbers_expect_one_from_the_other(case):
    wording = Wording(case.design, case.moments, case.facts)
    rows = case.encoded()
    reason = wording.reason(3, 4, rows, 0, None, 0)
    u, v = rows.numbers[0]
    # The line of least squares of v on u over the training rows.
    slope, start = np.polyfit(*case.frame[["u", "v"]].to_numpy().T, 1)
    assert reason.expected == pytest.approx(start + slope * u, rel=1e-9)
    assert reason.text == f"u={figure(u)} with v={figure(v)}: v expected about {figure(reason.expected)}"
