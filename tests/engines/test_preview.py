from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import gramian as gm


def table_of(n: int = 300) -> pa.Table:
    return pa.table(
        {
            "id": [f"u{k}" for k in range(n)],
            "color": ["red", "blue", None] * (n // 3),
            "x": np.linspace(0, 1, n),
            "k": np.arange(n) % 5,
            "year": np.arange(n),
            "deep": [[1]] * n,
        }
    )


def test_preview_says_what_collect_would_do() -> None:
    seen = gm.preview(table_of())
    kinds = {c.name: c.kind for c in seen.columns}
    m = gm.collect(table_of(), exclude="deep")
    assert {name: kinds[name] for name in m.columns} == {name: m.kind(name) for name in m.columns}
    assert seen.n_sampled == seen.n_rows == 300
    distinct = {c.name: c.distinct for c in seen.columns}
    assert (distinct["color"], distinct["k"], distinct["id"]) == (2, 5, 300)
    missing = {c.name: c.missing for c in seen.columns}
    assert missing["color"] == pytest.approx(1 / 3)


def test_preview_suspects_ids() -> None:
    seen = gm.preview(table_of())
    assert "id" in seen.suspected_ids
    assert "color" not in seen.suspected_ids
    assert "x" not in seen.suspected_ids


def test_preview_does_not_fail_on_what_cannot_be_collected() -> None:
    note = next(c.note for c in gm.preview(table_of()).columns if c.name == "deep")
    assert "exclude=['deep']" in note


def test_preview_looks_at_no_more_rows_than_asked(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table_of(), path)
    seen = gm.preview(path, rows=10)
    assert seen.n_sampled == 10
    assert seen.n_rows == 300


def test_preview_estimates_the_bytes_of_moments() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 50, 5000).astype(str) for name in "abcd"})
    estimated, held = gm.preview(frame).estimated_bytes, gm.collect(frame).nbytes
    # An estimate: within a factor of four of what is held.
    assert held / 4 < estimated < held * 4


def test_preview_prints_a_line_a_column() -> None:
    text = str(gm.preview(table_of()))
    for name in table_of().column_names:
        assert name in text


def test_preview_of_arrays() -> None:
    seen = gm.preview(np.ones((5, 2)))
    assert [c.name for c in seen.columns] == ["x0", "x1"]


@pytest.mark.parametrize("rows", [0, -1, 1.5])
def test_preview_wants_rows(rows) -> None:
    with pytest.raises(ValueError, match="rows"):
        gm.preview(table_of(), rows=rows)


def test_preview_of_no_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        gm.preview(table_of().slice(0, 0))


def test_preview_of_an_unknown_column_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'color'"):
        gm.preview(table_of(), categorical="colour")


def of_sums(n: int = 40) -> pd.DataFrame:
    """Return rows with a total below them: two sums, a mean, a label, and nothing elsewhere."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"customer": [f"K{k}" for k in range(n)], "kind": ["a", "b"] * (n // 2)})
    frame["sales"] = rng.lognormal(5, 1, n).round(2)
    frame["items"] = rng.integers(1, 30, n)
    frame["price"] = (frame["sales"] / frame["items"]).round(2)
    total = {
        "customer": "Total",
        "sales": round(frame["sales"].sum(), 2),
        "items": frame["items"].sum(),
        "price": frame["price"].mean(),
    }
    return pd.concat([frame, pd.DataFrame([total])], ignore_index=True)


def test_a_last_row_that_sums_the_others_is_pointed_out() -> None:
    seen = gm.preview(of_sums())
    assert seen.totals == ("sales", "items")
    assert str(seen).endswith(
        "the last row looks like a total: its sales, items are the sum of the other rows; delete that row before you collect"
    )
    below = pd.concat([of_sums(), pd.DataFrame([{"customer": None}] * 2)], ignore_index=True)
    assert gm.preview(below).totals == ("sales", "items")
    alone = of_sums()[["customer", "sales"]]
    assert gm.preview(alone).totals == ("sales",)


def test_rows_that_are_no_total_are_left_in_peace() -> None:
    frame = of_sums()
    assert gm.preview(frame[:-1]).totals == ()
    # One sum among several numbers may be chance, and so may a sum of two rows, or of nothing.
    assert gm.preview(frame.assign(items=1)).totals == ()
    assert gm.preview(pd.DataFrame({"x": [1, 2, 3]})).totals == ()
    assert gm.preview(pd.DataFrame({"x": [0.0, 0.0, 0.0, 0.0, 0.0]})).totals == ()
    assert gm.preview(pd.DataFrame({"x": [1.0, -1.0, 2.0, -2.0, 0.0]})).totals == ()
    # The last of a sample is not the last of the table.
    assert gm.preview(frame, rows=20).totals == ()
    assert gm.preview(pa.table({"empty": pa.nulls(5), "text": ["a"] * 5})).totals == ()
