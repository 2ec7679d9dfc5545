"""What the first lines and the drivers say is true: planted rates are stated, and of noise nothing is."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError
from gramian.linear.drift import holm
from gramian.reporting.report import report, summary
from gramian.reporting.sections.drivers import wilson
from gramian.reporting.sections.sentences import sentences


def orders(rng, n=3000):
    """Return orders of which a known part is returned: 30 in 100 in the north, 5 elsewhere."""
    region = np.repeat(["north", "south", "west"], [n // 5, 2 * n // 5, 2 * n // 5])
    back = np.zeros(n, dtype=bool)
    for name, rate in (("north", 0.3), ("south", 0.05), ("west", 0.05)):
        own = np.flatnonzero(region == name)
        back[rng.permutation(own)[: round(rate * len(own))]] = True
    price = np.round(rng.exponential(30, n) + np.where(back, 0, 0), 2)
    day = np.datetime64("2024-01-01") + rng.integers(0, 200, n).astype("timedelta64[D]")
    return pa.table(
        {
            "order": [f"o{k}" for k in range(n)],
            "region": region,
            "price": price,
            "day": day,
            "note": rng.choice(["a", "b", "unbekannt"], n),
            "returned": np.where(back, "yes", "no"),
        }
    )


def said(found, about):
    return next(line["text"] for line in found["sentences"] if line["about"] == about)


def test_a_planted_driver_is_stated_with_its_rates(rng):
    found = summary(orders(rng), target="returned", keep="order")
    text = said(found, "the target")
    (driver,) = found["drivers"]["columns"]
    assert text.startswith(
        "1 of 5 columns goes with returned beyond chance, most of all region: returned is yes in 30.0%"
    )
    assert text.endswith(f"On rows that were left out, region explains {driver['share']:.1%} of returned.")
    assert "returned is yes in 30.0% of the rows where region = north (600 rows), and in 5.0% in all other rows" in text
    assert {g["label"]: (g["n"], g["value"]) for g in driver["groups"]} == {
        "north": (600, 0.3),
        "south": (1200, 0.05),
        "west": (1200, 0.05),
    }
    assert driver["groups"][0]["low"] < 0.3 < driver["groups"][0]["high"]


def test_a_number_that_drives_a_mean_is_stated_with_its_direction(rng):
    n = 1200
    x = rng.uniform(0, 10, n)
    table = pa.table({"x": x, "g": rng.choice(["u", "v"], n), "y": 3.0 * x + rng.normal(size=n)})
    found = summary(table, target="y")
    text = said(found, "the target")
    assert "(rises with x)" in text
    low, high = (
        float(v) for v in re.findall(r"the mean of y is ([\d.]+) where x is below [\d.]+, and ([\d.]+) where", text)[0]
    )
    below, above = (float(v) for v in re.findall(r"x is below ([\d.]+), and .* where x is ([\d.]+) and more", text)[0])
    assert [(x < below).mean(), (x >= above).mean()] == pytest.approx([1 / 6, 1 / 6], abs=0.02)
    y = np.asarray(table["y"])
    assert low == pytest.approx(y[x < below].mean(), rel=0.001)
    assert high == pytest.approx(y[x >= above].mean(), rel=0.001)
    falling = summary(pa.table({"x": x, "y": -x + 0.1 * rng.normal(size=n)}), target="y")
    assert "(falls with x)" in said(falling, "the target")


def test_whole_numbers_beyond_float64_are_drivers_too(rng):
    big = 2**54 + rng.integers(0, 2**40, 600) * 1001
    rows = pa.table({"big": big, "y": np.where(big > np.median(big), "high", "low")})
    assert "big" in said(summary(rows, target="y"), "the target")


def test_a_curve_has_no_direction(rng):
    n = 1200
    x = rng.uniform(0, 10, n)
    table = pa.table({"x": x, "y": np.abs(x - 4.5) + 0.02 * x + 0.1 * rng.normal(size=n)})
    text = said(summary(table, target="y"), "the target")
    assert "rises" not in text
    assert "falls" not in text


def test_one_price_of_9999_does_not_hide_the_effect_of_price(rng):
    n = 3000
    price = np.round(rng.uniform(5, 60, n), 2)
    color = rng.choice(["red", "blue"], n)
    rate = 0.05 + 0.4 * (price > 45) + 0.06 * (color == "red")
    back = np.where(rng.random(n) < rate, "yes", "no")
    price[17] = 9999.0
    table = pa.table({"price": price, "color": color, "returned": back})
    assert gm.independence_test(gm.collect(table), "price", "returned").p_value > 0.01  # the line does not see it
    found = summary(table, target="returned")
    first = found["drivers"]["columns"][0]
    assert (first["column"], found["ranking"]["columns"][0]["by"]) == ("price", "bins")
    cut = re.findall(r"where price is ([\d.]+) and more \(rises with price\)", said(found, "the target"))[0]
    assert 45 < float(cut) < 60
    assert f"in {np.mean(back[price >= float(cut)] == 'yes'):.1%} where price is {cut} and more" in said(
        found, "the target"
    )


def test_a_u_shape_comes_before_a_weaker_line(rng):
    n = 3000
    x, z = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    y = 3 * x**2 + 0.5 * z + 0.5 * rng.normal(size=n)
    rows = pa.table({"z": z, "x": x, "y": y})
    first, second = summary(rows, target="y")["drivers"]["columns"]
    assert (first["column"], first["direction"], second["column"], second["direction"]) == ("x", None, "z", "rises")
    values = [group["value"] for group in first["groups"]]
    assert min(values[1:-1]) < 0.5 < 1.5 < min(values[0], values[-1])
    # The variance of the means of six steps: of 3 x^2 those of 1/27, 7/27 and 19/27, of z / 2 all but a 36th.
    between = np.array([9 * np.var([1 / 27, 7 / 27, 19 / 27]), 1 / 12 * 35 / 36])
    assert [first["share"], second["share"]] == pytest.approx(between / (0.8 + 1 / 12 + 0.25), rel=0.1)


@pytest.mark.parametrize("folds", [0, 5])
def test_five_hundred_levels_of_noise_are_not_on_top(rng, folds):
    n = 3000
    x = rng.normal(size=n)
    noise = rng.integers(0, 500, n)
    rows = pa.table({"noise": [f"u{k}" for k in noise], "x": x, "y": 0.25 * x + rng.normal(size=n)})
    found = summary(gm.collect(rows, folds=folds), rows, target="y")
    first, last = found["ranking"]["columns"]
    assert (first["column"], last["column"]) == ("x", "noise")
    assert last["share"] < 0.015 < first["share"]
    # What the levels explain of the very same rows is three times as much as x does.
    y = np.asarray(rows["y"])
    own = np.bincount(noise, y, 500) / np.maximum(np.bincount(noise, minlength=500), 1)
    assert np.var(own[noise]) / np.var(y) > 0.1 > 1.5 * first["share"]


def test_missing_values_are_a_bar_of_a_number_and_may_be_what_matters(rng):
    n = 2000
    gap = np.arange(n) % 5 == 0
    late = rng.random(n) < np.where(gap, 0.6, 0.1)
    rows = pa.table({"age": pa.array(rng.normal(size=n), mask=gap), "late": np.where(late, "yes", "no")})
    found = summary(rows, target="late")
    assert f"late is yes in {late[gap].mean():.1%} of the rows where age is missing (400 rows)" in said(
        found, "the target"
    )
    assert found["drivers"]["columns"][0]["groups"][-1]["label"] == "(missing)"


def test_of_several_classes_the_one_that_a_column_tells_apart_is_shown(rng):
    n = 3000
    kind = rng.choice(["a", "b", "c"], n, p=[0.6, 0.2, 0.2])
    side = np.where(kind == "a", rng.choice(["l", "r"], n), np.where(kind == "b", "l", "r"))
    (driver,) = summary(pa.table({"side": side, "kind": kind}), target="kind")["drivers"]["columns"]
    assert driver["of"] in ("b", "c")
    shown = {g["label"]: g["value"] for g in driver["groups"]}
    assert shown["l"] == pytest.approx((kind[side == "l"] == driver["of"]).mean(), abs=1e-4)


@pytest.mark.parametrize(
    ("r2", "words"), [(0.124, "explain 12% of y on rows that were left out"), (-0.1, "no better than")]
)
def test_what_the_columns_tell_together_is_that_of_left_out_rows(r2, words):
    found = {"target": "y", "tested": 2, "df": 1.0, "certain": 1, "columns": [], "held_out": True}
    read = {"n_rows": 50, "n_columns": 3, "columns": [], "identifiers": []}
    told = sentences({"target": "y", "read": read, "drivers": found, "dependence": {"r2_cv": r2, "r2": 0.3}})
    assert words in said({"sentences": told}, "how sure")


def test_an_outlier_that_spoils_the_lines_is_no_word_against_the_driver(rng):
    n = 1500
    x = rng.uniform(0, 10, n)
    back = np.where(rng.random(n) < 0.05 + 0.3 * (x > 7), "yes", "no")
    x[3] = 1e6
    found = summary(pa.table({"x": x, "back": back}), target="back")
    assert found["dependence"]["r2_cv"] < found["drivers"]["columns"][0]["share"]
    assert said(found, "how sure").startswith(
        "Along straight lines all columns together explain no more of back than x does."
    )


def test_of_noise_nothing_is_said_to_go_with_the_target():
    told = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 300
        columns = {f"c{k}": rng.choice(list("abcd"), n) for k in range(4)} | {"x": rng.normal(size=n)}
        found = summary(gm.collect(pa.table(columns | {"y": rng.choice(["yes", "no"], n)}), targets="y"), target="y")
        nothing = said(found, "the target") == "Nothing goes with y beyond chance: 5 columns were tested."
        assert nothing == (not found["drivers"]["certain"])
        assert nothing == ("does not say that there is nothing" in said(found, "how sure"))
        told += not nothing
    # One table in twenty at most: three of twelve would be a fault.
    assert told <= 2


def test_missing_and_suspicious_values_are_named(rng):
    n = 400
    table = pa.table(
        {
            "id": [f"k{k}" for k in range(n)],
            "age": pa.array(rng.normal(size=n), mask=np.arange(n) % 8 == 0),
            "state": np.where(np.arange(n) % 10 == 0, "unbekannt", "known"),
            "same": ["x"] * n,
        }
    )
    text = said(summary(table), "missing or suspicious")
    assert "Values are missing in age (12.5%)" in text
    assert "state says 'unbekannt' in 10.0% of the rows" in text
    assert "id has 400 different values" in text
    assert "same has the same value in every row" in text
    clean = pa.table({"a": rng.choice(["u", "v"], n)})
    assert said(summary(clean), "missing or suspicious") == "No value is missing, and no column looks suspicious."
    totals = pa.table({"amount": [*map(float, range(1, 41)), 820.0], "kind": [*["u", "v"] * 20, "total"]})
    assert "looks like a total" in said(summary(totals), "missing or suspicious")


def test_the_oddest_row_is_counted_from_one_and_named_by_what_is_kept(rng):
    table = orders(rng)
    price = np.asarray(table["price"]).copy()
    price[1233] = 1e5
    table = table.set_column(2, "price", pa.array(price))
    found = summary(table, target="returned", keep="order")
    assert "The oddest is row 1,234, order o1233: price=" in said(found, "odd rows")
    row = found["anomalies"]["rows"][0]
    assert (row["position"], row["kept"]) == (1233, [["order", "o1233"]])
    page = report(table, target="returned", keep="order").html()
    assert '<th scope="row">1,234<span class="what">order o1233</span></th>' in page
    assert "order" not in {column["name"] for column in found["read"]["columns"]}
    with pytest.raises(ColumnError, match="nothing"):
        summary(table, keep="nothing")


def test_weekdays_and_months_have_names(rng):
    n = 1400
    day = np.datetime64("2024-01-01") + (np.arange(n) % 364).astype("timedelta64[D]")
    monday = np.arange(n) % 7 == 0
    late = np.where(rng.random(n) < np.where(monday, 0.5, 0.1), "yes", "no")
    found = summary(pa.table({"day": day, "late": late}), target="late")
    (driver,) = found["drivers"]["columns"]
    assert driver["called"] == "weekday of day"
    assert [g["label"] for g in driver["groups"]][:2] == ["Monday", "Tuesday"]
    assert driver["stands_out"] == "Monday"
    shares = {c["name"]: [s["level"] for s in c["shares"]] for c in found["read"]["columns"]}
    assert "January" in shares["day_month"]
    loadings = found["loadings"]["models"][0]
    assert {level for name, level in zip(loadings["column"], loadings["level"], strict=True) if name == "day_dayofweek"} == {
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
    }  # fmt: skip
    reasons = [reason["text"] for row in found["anomalies"]["rows"] for reason in row["reasons"]]
    assert not any("day_month=" in text or "day_dayofweek=" in text for text in reasons)


def test_many_levels_are_pooled_without_losing_rows(rng):
    n = 4000
    level = rng.integers(0, 30, n)
    table = pa.table({"shop": [f"s{k}" for k in level], "sold": (level % 3 == 0) * 2.0 + rng.normal(size=n)})
    (driver,) = summary(table, target="sold")["drivers"]["columns"]
    assert driver["groups"][-1]["label"] == "22 other levels"
    assert driver["groups"][-1]["pooled"]
    assert sum(g["n"] for g in driver["groups"]) == n
    sold = np.asarray(table["sold"])
    for group in driver["groups"][:-1]:
        own = sold[level == int(group["label"][1:])]
        assert group["value"] == pytest.approx(own.mean(), abs=1e-4)
        assert group["low"] == pytest.approx(own.mean() - 1.96 * 1.0 / np.sqrt(len(own)), abs=0.05)


def test_the_page_shows_sentences_first_and_statistics_below(rng):
    page = report(orders(rng), target="returned").html()
    places = [page.index(f'id="{name}"') for name in ("summary", "drivers", "anomalies")]
    assert places == sorted(places)
    assert places[-1] < page.index('class="findings"') < page.index('id="ranking"')
    assert "30.0%" in page


def test_adjusted_p_values_and_intervals_are_the_textbook_ones():
    assert holm([0.04, 0.01, 1.0, 0.03]) == pytest.approx([0.09, 0.04, 1.0, 0.09])
    low, high = wilson(0.0, 20)
    assert low == 0.0
    assert high == pytest.approx(0.1611, abs=1e-4)
