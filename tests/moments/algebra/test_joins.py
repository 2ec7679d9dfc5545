"""What may be attached, what is refused, and what is said about it."""

from __future__ import annotations

import datetime
import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError

FACTS = pa.table({"shop": ["a", "b", None, "a", "c"], "item": [1, 2, 3, 1, 1], "paid": [1.0, 2.0, 3.0, 4.5, None]})
SHOPS = pa.table(
    {"shop": ["b", "a", "z", None], "city": ["Bern", "Genf", "Rom", "Oslo"], "size": [2.5, 3.25, 9.0, 8.0]}
)


@pytest.fixture
def facts() -> gm.Moments:
    return gm.collect(FACTS, categorical="item")


def test_null_matches_nothing(facts):
    m = facts.attach("shop", SHOPS)
    assert m.columns == ["item", "paid", "city", "size"]
    # In order of first sight among the facts; Oslo and Rom are of no fact.
    assert m.levels("city") == ["Genf", "Bern", None]
    assert m.counts("city").tolist() == [2, 1, 2]
    assert m.mean("size") == pytest.approx((3.25 + 2.5 + 3.25) / 3)


def test_duplicates_are_refused_by_name(facts):
    twice = pa.concat_tables([SHOPS, SHOPS.slice(2, 1)])
    with pytest.raises(DataError, match=r"2 rows for 'shop' = 'z'.*one row per key"):
        facts.attach("shop", twice)


def test_null_keys_of_a_table_are_not_duplicates(facts):
    nulls = pa.concat_tables([SHOPS, SHOPS.slice(3, 1)])
    assert facts.attach("shop", nulls) == facts.attach("shop", SHOPS)


def test_pooled_keys_are_refused_by_name(facts):
    with pytest.raises(DataError, match="column 'shop' is pooled"):
        facts.pool(min_count=2).attach("shop", SHOPS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": "shp"}, "did you mean 'shop'"),
        ({"key": "paid"}, "'paid' was collected as a number"),
        ({"key": "item"}, "no column 'item' to join on"),
        ({"columns": "cty"}, "did you mean 'city'"),
        ({"columns": ["shop"]}, "'shop' is the key"),
        ({"exclude": ["city", "size"]}, "no columns are left"),
        ({"table": SHOPS.rename_columns(["shop", "paid", "size"])}, r"'paid' of the table .* prefix='shop_'"),
        ({"table": pa.table({"shop": [1, 2], "city": ["x", "y"]})}, "has text labels in the moments and holds int64"),
        ({"table": pa.table({"shop": [datetime.date(2024, 1, 1)], "city": ["x"]})}, "which is not a key"),
    ],
)
def test_mistakes_are_named(facts, arguments, message):
    with pytest.raises(ColumnError if "left" not in message else DataError, match=message):
        facts.attach(**{"key": "shop", "table": SHOPS, **arguments})


def test_a_prefix_sets_names_apart(facts):
    m = facts.attach("shop", SHOPS.rename_columns(["shop", "paid", "size"]), prefix="shop_", keep_key=True)
    assert m.columns == ["shop", "item", "paid", "shop_paid", "shop_size"]


def test_unmatched_keys_are_said_in_the_log(facts, caplog):
    with caplog.at_level(logging.INFO, logger="gramian"):
        facts.attach("shop", SHOPS)
    assert "2 of 4 keys (2 of 5 rows) are not in the table" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="gramian"):
        facts.attach("item", pa.table({"item": [1, 2, 3], "kind": ["x", "x", "y"]}))
    assert not caplog.text


def test_whole_numbers_match_whatever_their_type(facts):
    """A missing key turns a column of integers into floats in pandas."""
    items = pd.DataFrame({"item": [1.0, 2.0, 3.0, np.nan], "kind": ["x", "x", "y", "z"]})
    assert facts.attach("item", items).counts("kind").tolist() == [4, 1]


def test_parts_of_dates_and_integers_by_level(facts):
    days = [datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 2, 6, 7)]
    m = facts.attach("shop", pa.table({"shop": ["a", "b"], "opened": days, "staff": [4, 2]}))
    assert m.columns[2:] == ["opened_dayofweek", "opened_month", "opened_hour", "staff"]
    assert m.levels("opened_month") == [1, 2, None]
    assert m.as_categorical("staff").levels("staff") == [4, 2, None]


def test_integers_of_many_values_are_numbers_if_the_facts_meet_many():
    keys = np.arange(200)
    table = pa.table({"key": keys, "rank": keys * 7})
    few = gm.collect(pa.table({"key": keys[:60]}), categorical="key").attach("key", table)
    many = gm.collect(pa.table({"key": keys}), categorical="key", folds=5).attach("key", table)
    assert few.schema["rank"].form == "integer"
    assert many.schema["rank"].form == "number"
    assert {fold.schema["rank"].form for fold in many.folds} == {"number"}


def test_integers_beyond_floats_keep_their_digits():
    big = 2**60 + np.arange(100) * 3
    table = pa.table({"key": np.arange(100), "id": big})
    facts = pa.table({"key": np.repeat(np.arange(100), 2)})
    m = gm.collect(facts, categorical="key").attach("key", table)
    assert m.isclose(gm.collect(pa.table({"id": np.repeat(big, 2)})), rtol=1e-12)


def test_a_key_that_was_named_a_number_column_can_be_a_category_of_the_table(facts):
    m = facts.attach("shop", pa.table({"shop": ["a", "b"], "land": [7, 70_000]}), categorical="land")
    m = m.attach("land", pa.table({"land": [7, 70_000], "name": ["CH", "IT"]}))
    assert m.counts("name").tolist() == [2, 1, 2]


def test_moments_without_rows_get_the_columns(facts):
    nothing = facts - facts
    m = nothing.attach("shop", SHOPS)
    assert m.n_rows == 0
    assert m.columns == ["item", "paid", "city", "size"]
    assert (m + facts.attach("shop", SHOPS)).isclose(facts.attach("shop", SHOPS))


@pytest.mark.parametrize("shop", ["all null", "without a type", "as given"])
@pytest.mark.parametrize("n_shops", [0, 4])
def test_a_key_without_values_and_a_table_without_rows(shop, n_shops):
    """What has nothing to match has the missing level and the missing number in every row."""
    shops = SHOPS.slice(0, n_shops)
    keys = {"all null": pa.nulls(5, pa.string()), "without a type": pa.nulls(5), "as given": FACTS.column("shop")}[shop]
    facts = FACTS.set_column(0, "shop", keys)
    given = facts.set_column(0, "shop", keys.cast(pa.string()))
    joined = given.append_column("row", pa.array(range(5))).join(shops, "shop").sort_by("row").drop_columns("row")
    m = gm.collect(facts, categorical="item", folds=2).attach("shop", shops, keep_key=True)
    assert m.isclose(gm.collect(joined, categorical="item", folds=2), rtol=1e-12)
    lost = n_shops == 0 or shop != "as given"
    assert (m.levels("city") == [None]) is lost
    assert np.isnan(m.mean("size")[0]) == lost


def test_dates_are_not_keys():
    days = pa.table({"day": [datetime.date(2024, 1, k) for k in (1, 2, 9)], "x": [1.0, 2.0, 3.5]})
    with pytest.raises(ColumnError, match=r"'day' holds dates, .* day_dayofweek, .*make text of it"):
        gm.collect(days).attach("day", pa.table({"day": days.column("day"), "holiday": ["no", "no", "yes"]}))
    text = days.set_column(0, "day", days.column("day").cast(pa.string()))
    m = gm.collect(text).attach("day", pa.table({"day": text.column("day"), "holiday": ["no", "no", "yes"]}))
    assert m.counts("holiday").tolist() == [2, 1]


def test_integer_keys_do_not_match_text(facts):
    with pytest.raises(ColumnError, match="'item' has integer labels in the moments and holds string in the table"):
        facts.attach("item", pa.table({"item": ["1", "2"], "kind": ["x", "y"]}))


def test_any_source_will_do(facts, tmp_path):
    whole = facts.attach("shop", SHOPS)
    pyarrow.csv.write_csv(SHOPS.slice(0, 3), tmp_path / "shops.csv")
    for source in (tmp_path / "shops.csv", SHOPS.to_pandas(), SHOPS.to_batches(), SHOPS.to_pylist()):
        assert facts.attach("shop", source) == whole
    coded = SHOPS.set_column(1, "city", SHOPS.column("city").dictionary_encode())
    coded = coded.set_column(0, "shop", SHOPS.column("shop").dictionary_encode())
    assert facts.attach("shop", coded) == whole


def test_leading_zeros_of_text_keys_stay(tmp_path):
    (tmp_path / "plz.csv").write_text("plz,town\n01067,Dresden\n80331,Munich\n")
    facts = gm.collect(pa.table({"plz": ["01067", "80331", "01067"]}))
    assert facts.attach("plz", tmp_path / "plz.csv").counts("town").tolist() == [2, 1]


def test_a_saved_star_is_the_star(facts, tmp_path):
    m = facts.attach("shop", SHOPS)
    m.save(tmp_path / "star.moments")
    assert gm.Moments.load(tmp_path / "star.moments") == m
