"""Every engine gives the moments of this process: counts and labels exactly, numbers to 1e-12."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm

from .tables import assert_same, random_table

NULLABLE = {pa.bool_(): pd.BooleanDtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}


def in_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a frame whose integers and booleans stay what they are where some are missing."""
    return table.to_pandas(types_mapper=NULLABLE.get)


def read(path: str) -> pd.DataFrame:
    """Read one partition."""
    return in_pandas(pq.read_table(path))


@pytest.fixture(scope="module")
def dask() -> Iterator[Callable[[list[Path], pa.Schema], Any]]:
    """Give a way from files to a Dask frame, one partition a file, on a cluster of two workers in this process."""
    distributed = pytest.importorskip("distributed")
    import dask.dataframe as dd

    def frame(files: list[Path], schema: pa.Schema) -> Any:
        meta = in_pandas(schema.empty_table())
        return dd.from_map(read, [str(path) for path in files], meta=meta, enforce_metadata=False)

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="inproc://"
    )
    with cluster, distributed.Client(cluster):
        yield frame


ENGINES = ["dask"]
"""Engines beside the local one; each names the fixture that gives its frames."""


def partitions() -> list[pa.Table]:
    """Return parts of a table that agree in their values' meaning and in little else."""
    whole = random_table(5, 400, missing=0.1, offset=1e6, n_large=40)
    parts = [whole.slice(k, 80) for k in range(0, 400, 80)]
    # Dictionaries of their own, in another order and with entries that no row has.
    colors = pa.array(["none", *reversed(parts[1]["color"].unique().drop_null().to_pylist())])
    codes = pa.array([None if c is None else colors.index(c).as_py() for c in parts[1]["color"].to_pylist()], pa.int8())
    parts[1] = parts[1].set_column(0, "color", pa.DictionaryArray.from_arrays(codes, colors))
    # Integers beyond 64 levels here only, and columns without a value.
    parts[2] = parts[2].set_column(3, "large", pa.array(np.arange(80) * 7, pa.int64()))
    parts[3] = (
        parts[3].set_column(0, "color", pa.nulls(80, pa.string())).set_column(4, "height", pa.nulls(80, pa.float64()))
    )
    return [parts[0], whole.slice(0, 0), *parts[1:], whole.slice(0, 0)]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], pa.Table]:
    folder = tmp_path_factory.mktemp("parts")
    files = []
    for k, part in enumerate(partitions()):
        files.append(folder / f"{k}.parquet")
        pq.write_table(part, files[-1], row_group_size=30)
    schema = partitions()[0].schema
    plain = [
        pa.table([c.cast(f.type) for c, f in zip(p.columns, schema, strict=True)], schema=schema) for p in partitions()
    ]
    return files, pa.concat_tables(plain)


OPTIONS: list[dict[str, Any]] = [
    {"exclude": "weight"},
    {"sample_weight": "weight"},
    {"sample_weight": "weight", "folds": 3, "fold_by": "small", "random_state": 4},
    {"exclude": ["weight", "when"], "folds": 2, "fold_by": "color"},
    {"columns": ["color", "flag", "large"], "categorical": "large"},
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_files_on_an_engine_equal_the_rows_here(
    request: pytest.FixtureRequest, parts: tuple[list[Path], pa.Table], engine: str, options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    request.getfixturevalue(engine)
    monkeypatch.setattr(f"gramian.engines.{engine}.LEAST_ROWS", 40)
    files, whole = parts
    same(gm.collect([str(path) for path in files], engine=engine, **options), gm.collect(whole, **options))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_frames_of_an_engine_equal_the_rows_here(
    request: pytest.FixtureRequest, parts: tuple[list[Path], pa.Table], engine: str, options: dict[str, Any]
) -> None:
    files, whole = parts
    frame = request.getfixturevalue(engine)(files, whole.schema)
    same(gm.collect(frame, **options), gm.collect(whole, **options))


def same(found: gm.Moments, whole: gm.Moments) -> None:
    assert_same(found, whole)
    assert found.schema == whole.schema
    for name in whole.coded:
        assert sorted(map(str, found.levels(name))) == sorted(map(str, whole.levels(name)))
    for mine, theirs in zip(found.folds, whole.folds, strict=True):
        assert mine.n_rows == theirs.n_rows


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_that_fails_forever_names_its_file_and_column(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    request.getfixturevalue(engine)
    for k in range(3):
        pq.write_table(pa.table({"c": ["a", None if k == 1 else "b"], "x": [1.0, 2.0]}), tmp_path / f"{k}.parquet")
    with pytest.raises(gm.errors.DataError) as caught:
        gm.collect(str(tmp_path), engine=engine, targets="c", target_missing="raise")
    line = str(caught.value)
    assert "\n" not in line
    assert "1.parquet" in line
    assert "target column 'c' has missing values" in line


def dying(path: str, flag: str) -> pd.DataFrame:
    """Read a partition; the first that is read kills the worker that reads it."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return read(path)
    os.kill(os.getpid(), signal.SIGKILL)
    return pd.DataFrame()


def test_a_dask_worker_killed_in_between_changes_nothing(parts: tuple[list[Path], pa.Table], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import dask.dataframe as dd

    import dask

    files, whole = parts
    meta = in_pandas(whole.schema.empty_table())
    with (
        dask.config.set({"distributed.logging.distributed": "critical"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as cluster,
        distributed.Client(cluster),
    ):
        names = [str(path) for path in files]
        frame = dd.from_map(dying, names, flag=str(tmp_path / "killed"), meta=meta, enforce_metadata=False)
        found = gm.collect(frame, exclude="weight")
        assert (tmp_path / "killed").exists()
    same(found, gm.collect(whole, exclude="weight"))
