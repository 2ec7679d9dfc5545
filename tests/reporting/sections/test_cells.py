"""Cells of the rows shown are those of the source."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc

from gramian.reporting.sections.cells import LEVELS, column_of


def test_cells_of_shown_rows_are_those_of_the_source(whole: dict, made: SimpleNamespace) -> None:
    shown = made.new.take(pa.array(whole["rows"]["positions"]))
    columns = {column["name"]: column for column in whole["rows"]["columns"]}
    city = columns["city"]
    assert [city["levels"][code] for code in city["codes"]] == [
        city or "(missing)" for city in shown["city"].to_pylist()
    ]
    assert columns["log_balance"]["values"] == shown["log_balance"].to_pylist()
    hours = columns["when_hour"]
    told = [hours["levels"][code] for code in hours["codes"]]
    assert told == [f"{hour:02d}:00" for hour in pc.hour(shown["when"]).to_pylist()]


def test_columns_are_numbers_levels_or_texts() -> None:
    def kind(values: list) -> str:
        return column_of("c", pa.chunked_array([values]))["kind"]

    assert kind([1.5, None]) == "number"
    assert kind([True, False]) == "level"
    assert kind(["a", "b"]) == "level"
    assert kind([f"id {k}" for k in range(LEVELS + 1)]) == "text"


def test_whole_numbers_beyond_those_that_floats_hold_are_shown_as_numbers() -> None:
    shown = column_of("id", pa.chunked_array([[2**53 + 1, None, -(2**62)]]))
    assert shown == {"name": "id", "kind": "number", "values": [9.0072e15, None, -4.61169e18]}
