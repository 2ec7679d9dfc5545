from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.tables import open_table
from gramian.tables.base import Union, View, filled


def test_columns_that_a_part_lacks_are_missing_there(rows):
    parts = [open_table(pa.table(each)) for each in ({"a": [1], "b": ["x"]}, {"c": [2.5], "a": [3]}, {"b": ["y"]})]
    table = Union(parts, describe="parts")
    assert table.n_rows == 3
    assert rows(table) == {"a": [1, 3, None], "b": ["x", None, "y"], "c": [None, 2.5, None]}
    assert rows(table, ["c"]) == {"c": [None, 2.5, None]}


def test_types_that_do_not_agree_are_errors_of_those_who_read_them(rows):
    table = Union([open_table(pa.table({"a": [1], "b": [1]})), open_table(pa.table({"a": ["x"]}))], describe="parts")
    assert rows(table, ["b"]) == {"b": [1, None]}
    with pytest.raises(DataError, match=r"column 'a' holds text in .* but whole numbers"):
        rows(table, ["a"])


def test_a_table_is_filled_with_columns_of_nothing(rows):
    table = filled(open_table(np.ones((2, 1))), ["x0", "late"])
    assert isinstance(table, View)
    assert rows(table) == {"x0": [1.0, 1.0], "late": [None, None]}
    assert filled(table, ["x0"]) is table


@pytest.fixture
def days(tmp_path):
    """Five days: a new column, an integer that becomes a float, new levels, a column without a value, an empty day."""
    shops, cards = ["abab", "abba", "cbda", "abcd"], [None, "vmvv", "mvav", "vmva"]
    sizes = [[1, 2, 3, 4], [1.0, None, 3.0, 2.0], [5, 2, 3, 1], [1, 2, 3, 4]]
    paid = [[1.0, 2.5, 3.0, 0.5], [2.0, 2.5, 1.0, 0.5], [None] * 4, [9.0, 2.5, 3.0, 0.5]]
    frames = [
        {"shop": list(shop), "size": size, "paid": amount} | ({} if card is None else {"card": list(card)})
        for shop, size, amount, card in zip(shops, sizes, paid, cards, strict=True)
    ]
    paths = []
    for k, columns in enumerate(frames):
        paths.append(str(tmp_path / f"day{k}.csv"))
        pd.DataFrame(columns).to_csv(paths[-1], index=False)
    paths.insert(2, str(tmp_path / "day_empty.csv"))
    (tmp_path / "day_empty.csv").write_bytes(b"")
    rows = [dict(zip(day, values, strict=True)) for day in frames for values in zip(*day.values(), strict=True)]
    return paths, pd.DataFrame(rows)


def test_days_that_drift_are_collected_merged_slid_and_served(days, tmp_path):
    paths, whole = days
    with pytest.raises(DataError, match=r"has a column 'card', .* exclude=\['card'\], .* missing='fill'"):
        gm.collect(paths)
    assert gm.collect(paths, exclude="card").n_rows == 16
    week = gm.collect(paths, missing="fill")
    assert week.isclose(gm.collect(whole))
    filled_days = [path for path in paths if "empty" not in path]
    daily = [gm.collect(path, like=week, missing="fill") for path in filled_days]
    assert gm.merge(daily).isclose(week)
    slid = week - daily[0]
    assert slid.n_rows == 12
    assert slid.isclose(gm.collect(filled_days[1:], like=week, missing="fill"))
    model = gm.PCA(2).fit(week)
    for k, path in enumerate(filled_days):
        out = tmp_path / f"features{k}.parquet"
        assert gm.transform_file(model, path, out, missing="fill") == 4
        served = pq.read_table(out).to_pandas().to_numpy()
        np.testing.assert_allclose(served, model.transform(whole.iloc[4 * k : 4 * k + 4]), atol=1e-12)
    with pytest.raises(DataError, match="card"):
        gm.transform_file(model, paths[0], tmp_path / "none.parquet")


def test_frames_and_generators_that_differ(rows):
    batches = [pa.table({"a": [1], "b": ["x"]}), pa.table({"a": [2]})]
    assert rows(open_table(batches, missing="fill")) == {"a": [1, 2], "b": ["x", None]}
    assert rows(open_table(iter(batches), missing="fill")) == {"a": [1, 2], "b": ["x", None]}
    with pytest.raises(DataError, match="has a column 'b'"):
        rows(open_table(iter(batches[::-1]), missing="fill"))
    with pytest.raises(DataError, match=r"missing='drop' is not known; it is 'raise' or 'fill'"):
        open_table(batches, missing="drop")


def test_the_keys_of_folders_stay_with_their_files(tmp_path, rows):
    for year, columns in ((2024, {"a": [1]}), (2025, {"a": [2], "b": ["x"]})):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table(columns), tmp_path / f"year={year}" / "part.parquet")
    assert rows(open_table(str(tmp_path), missing="fill")) == {"a": [1, 2], "year": [2024, 2025], "b": [None, "x"]}
