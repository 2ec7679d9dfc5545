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
