"""Batch size, file order, thread count and the kind of source do not matter."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, assert_same, collected, cuts, parts_of, random_table, recipes


def _csv(table: pa.Table, folder: Path) -> str:
    path = folder / "table.csv"
    pyarrow.csv.write_csv(table, path)
    return str(path)


def _csv_gz(table: pa.Table, folder: Path) -> str:
    plain = Path(_csv(table, folder))
    path = folder / "table.csv.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return str(path)


def _json_lines(table: pa.Table, folder: Path) -> str:
    path = folder / "table.jsonl"
    lines = []
    for row in table.to_pylist():
        row = {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}
        lines.append(json.dumps({**row, "when": row["when"] and row["when"].strftime("%Y-%m-%d %H:%M:%S")}))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _parquet(table: pa.Table, folder: Path) -> str:
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=37)
    return str(path)


def _arrow_ipc(table: pa.Table, folder: Path) -> str:
    path = folder / "table.arrow"
    pyarrow.feather.write_feather(table, str(path), compression="uncompressed", chunksize=41)
    return str(path)


def _folder(table: pa.Table, folder: Path) -> str:
    home = folder / "parts"
    home.mkdir()
    for k in range(3):
        pyarrow.parquet.write_table(table.slice(k * 50, 50 if k < 2 else None), home / f"{k}.parquet")
    return str(home)


def _pandas_plain(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas()


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas with arrow types": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas": _pandas_plain,
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "pyarrow table in chunks": lambda table, _: pa.concat_tables([table.slice(0, 60), table.slice(60)]),
    "pyarrow dataset": lambda table, _: pyarrow.dataset.dataset(table),
    "record batch reader": lambda table, _: table.to_reader(max_chunksize=23),
    "duckdb relation": lambda table, _: duckdb.from_arrow(table),
    "parquet": _parquet,
    "folder of parquet": _folder,
    "glob of parquet": lambda table, folder: _folder(table, folder) + "/*.parquet",
    "csv": _csv,
    "csv.gz": _csv_gz,
    "arrow ipc": _arrow_ipc,
    "json lines": _json_lines,
    "generator of batches": lambda table, _: iter(table.to_batches(max_chunksize=31)),
    "list of frames": lambda table, _: [table.slice(0, 90).to_pandas(types_mapper=pd.ArrowDtype), table.slice(90)],
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("arguments", [{}, {"sample_weight": "weight", "folds": 3}], ids=["plain", "weighted folds"])
def test_source_kind_does_not_matter(kind: str, arguments: dict, tmp_path: Path) -> None:
    table = random_table(7, 160)
    source = SOURCES[kind](table, tmp_path)
    expected = collected(table, **arguments)
    assert_same(gm.collect(source, **({"exclude": "weight"} | arguments)), expected)


@pytest.mark.parametrize("missing", [False, True])
def test_array_kinds_do_not_matter(missing: bool, rng: np.random.Generator) -> None:
    values = np.round(rng.normal(size=(200, 6)), 1) * (rng.random((200, 6)) < 0.3)
    if missing:
        values[rng.random(values.shape) < 0.1] = np.nan
    names = [f"x{k}" for k in range(6)]
    expected = gm.collect(pa.table(dict(zip(names, values.T, strict=True))))
    for source in (
        values,
        np.asfortranarray(values),
        values.tolist(),
        sp.csr_array(values),
        sp.csc_array(values),
        sp.coo_matrix(values),
        [values[:70], values[70:]],
        (values[k : k + 40] for k in range(0, 200, 40)),
        pd.DataFrame(values, columns=names),
        pl.DataFrame(values, schema=names),
    ):
        assert_same(gm.collect(source), expected)


def test_float32_arrays_are_read_as_they_are(rng: np.random.Generator) -> None:
    values = rng.normal(size=(300, 4)).astype(np.float32)
    # Every float32 is a float64: nothing may be lost on the way.
    assert_same(gm.collect(values), gm.collect(values.astype(np.float64)))


@given(st.data(), recipes(max_rows=200), st.sampled_from([{}, {"folds": 4}, {"sample_weight": "weight", "folds": 2}]))
def test_batch_size_does_not_matter(data: st.DataObject, recipe: Recipe, arguments: dict) -> None:
    table = recipe.table()
    batches = parts_of(table, data.draw(cuts(recipe.n_rows, at_most=6)))
    assert_same(collected(batches, **arguments), collected(table, **arguments))


@given(st.data(), recipes(max_rows=120), st.integers(1, 40))
def test_stretch_size_does_not_matter(data: st.DataObject, recipe: Recipe, rows: int) -> None:
    """A pass counts long stretches of rows; short ones make codebooks grow and integers fold in the middle of it."""
    from gramian.engines import local

    table, whole_stretch = recipe.table(), local.stretches
    arguments = data.draw(st.sampled_from([{}, {"folds": 3}, {"sample_weight": "weight"}]))
    expected = collected(table, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "stretches", lambda batches, *_: whole_stretch(batches, rows))
        found = collected(table, **arguments)
    assert found.schema == expected.schema
    assert_same(found, expected)


@given(st.permutations(range(4)))
def test_file_order_does_not_matter(order: list[int]) -> None:
    parts = [random_table(seed, 30 + 40 * seed, offset=1e8) for seed in range(4)]
    arguments = {"folds": 3, "fold_by": "color"}
    assert_same(collected([parts[k] for k in order], **arguments), collected(parts, **arguments))


def test_order_of_files_on_disk_does_not_matter(tmp_path: Path) -> None:
    paths = []
    for seed in range(4):
        path = tmp_path / f"{seed}.parquet"
        pyarrow.parquet.write_table(random_table(seed, 30 + 40 * seed), path)
        paths.append(str(path))
    arguments = {"folds": 3, "fold_by": "color"}
    expected = collected(paths, **arguments)
    assert_same(collected(paths[::-1], **arguments), expected)
    assert_same(collected(str(tmp_path), **arguments), expected)


@pytest.mark.parametrize("arguments", [{}, {"sample_weight": "weight"}, {"folds": 3}], ids=str)
def test_thread_count_does_not_matter(arguments: dict) -> None:
    # Enough rows that chunks and stretches are split over threads.
    base = random_table(11, 4000, offset=1e8)
    table = pa.concat_tables([base] * 10)
    one = collected(table, n_jobs=1, **arguments)
    for n_jobs in (2, 3):
        several = collected(table, n_jobs=n_jobs, **arguments)
        assert_same(several, one)
        for name in one.coded:
            np.testing.assert_array_equal(several.counts(name), one.counts(name))
            assert several.levels(name) == one.levels(name)


def test_the_same_call_gives_the_same_bits() -> None:
    table = pa.concat_tables([random_table(11, 3000, offset=1e8)] * 10)
    assert collected(table, n_jobs=2, folds=3) == collected(table, n_jobs=2, folds=3)


def test_a_wide_table_is_read_in_several_stretches(rng: np.random.Generator) -> None:
    # 2,100 columns leave room for 2^13 rows a stretch: 9,000 rows make two.
    values = rng.integers(0, 3, size=(9000, 2100)).astype(np.float64)
    m = gm.collect(values)
    some = [0, 1, 999, 2099]
    names = [f"x{k}" for k in some]
    np.testing.assert_allclose(m.covariance(names), np.cov(values[:, some].T), rtol=1e-11, atol=1e-12)
