"""`gramian attach` joins a table to moments without reading the facts."""

from __future__ import annotations

import pyarrow.csv
import pyarrow.parquet as pq

import gramian as gm


def test_the_moments_are_those_of_the_joined_table(gramian, folder):
    done = gramian(
        "attach", "monday.moments", "merchants.csv", "--key", "merchant", "-o", "star.moments", "--json"
    ).ok()
    assert done.json["n_rows"] == 2_000
    facts = pq.read_table(folder / "days" / "monday.parquet").append_column("row", [list(range(2_000))])
    joined = facts.join(pyarrow.csv.read_csv(folder / "merchants.csv"), "merchant").sort_by("row")
    expected = gm.collect(joined, exclude=["payment", "row", "merchant"], targets="fraud")
    assert gm.load(folder / "star.moments").isclose(expected)


def test_columns_are_chosen_and_named_apart(gramian, folder):
    words = ["attach", "monday.moments", "merchants.csv", "--key", "merchant", "--columns", "chain", "--prefix", "of_"]
    gramian(*words, "--keep-key", "-o", "star.moments").ok()
    columns = gm.load(folder / "star.moments").columns
    assert "merchant" in columns
    assert columns[-1] == "of_chain"


def test_a_name_that_is_taken_names_the_option(gramian, folder):
    done = gramian("attach", "monday.moments", "payments.csv", "--key", "payment", "-o", "star.moments")
    assert "payment" in done.at_fault(1)
    table = pyarrow.csv.read_csv(folder / "merchants.csv")
    pyarrow.csv.write_csv(table.rename_columns(["merchant", "country", "chain"]), folder / "taken.csv")
    message = gramian("attach", "monday.moments", "taken.csv", "--key", "merchant", "-o", "x").at_fault(1)
    assert "'country'" in message
    assert "--prefix merchant_" in message
