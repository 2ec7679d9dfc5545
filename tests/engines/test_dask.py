"""The Dask engine: the same moments as in this process, one line where a task fails, and no task left behind."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dask
import gramian as gm
from gramian.engines import dask as dask_engine
from gramian.engines.base import CollectOptions
from gramian.engines.collect import planned
from gramian.engines.dask import DaskEngine
from gramian.engines.partitions import PassPlan, reduced
from gramian.errors import ColumnError, DataError
from gramian.tables import open_table


def frame_of(n_rows=240, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "c": rng.choice(["a", "b", "c", None], n_rows),
            "k": pd.Categorical(rng.choice(["u", "v"], n_rows)),
            "n": rng.integers(0, 5, n_rows),
            "x": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "w": rng.integers(0, 3, n_rows),
        }
    )


FRAME = frame_of()
OPTIONS = [
    {},
    {"sample_weight": "w"},
    {"folds": 3, "fold_by": "c"},
    {"categorical": "n", "targets": "k", "exclude": "x"},
]


def test_without_a_client_threads_of_this_process_do_the_work(monkeypatch):
    # First in this module: no client has been made yet.
    seen = set()
    monkeypatch.setattr(dask_engine, "part_of", _noting(seen, dask_engine.part_of))
    found = gm.collect(dd.from_pandas(FRAME, npartitions=5), progress=True)
    assert found.isclose(gm.collect(FRAME), rtol=1e-12)
    assert seen == {os.getpid()}
    with dask.config.set(scheduler="synchronous"):
        assert gm.collect(dd.from_pandas(FRAME, npartitions=2)).isclose(found, rtol=1e-12)


def _noting(seen, function):
    def noted(*args, **kwargs):
        seen.add(os.getpid())
        return function(*args, **kwargs)

    return noted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for k in range(6):
        part = FRAME.iloc[40 * k : 40 * (k + 1)]
        part.to_parquet(folder / f"{k}.parquet", row_group_size=15)
        part.to_csv(folder / f"{k}.csv", index=False)
    return folder


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_frame_on_a_cluster_equals_the_frame_here(client, options):
    found, here = gm.collect(dd.from_pandas(FRAME, npartitions=5), **options), gm.collect(FRAME, **options)
    assert found.isclose(here, rtol=1e-12)
    assert [found.levels(name) for name in found.coded] == [here.levels(name) for name in here.coded]
    assert found.library == "pandas"


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv", "0.parquet"])
def test_files_are_read_by_the_workers(client, folder, pattern, monkeypatch):
    monkeypatch.setattr(dask_engine, "LEAST_ROWS", 20)
    found = gm.collect(str(folder / pattern), engine="dask")
    assert found.isclose(gm.collect(str(folder / pattern)), rtol=1e-12)


def test_a_relative_path_is_the_same_file_for_a_worker(client, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert gm.collect("0.csv", engine="dask").n_rows == 40


def test_columns_that_a_file_lacks_are_filled_there(client, tmp_path):
    pq.write_table(pa.table({"a": ["u", "v"], "x": [1.0, 2.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["v", "w"]}), tmp_path / "2.parquet")
    found = gm.collect(str(tmp_path), engine="dask", missing="fill")
    assert found.isclose(gm.collect(str(tmp_path), missing="fill"), rtol=1e-12)


@pytest.mark.parametrize("kind", [float, np.float32, int])
def test_arrays_are_sources(client, kind):
    values = np.random.default_rng(1).normal(scale=3, size=(50, 4)).astype(kind)
    array = da.from_array(values, chunks=(16, 3))
    for options in ({}, {"sample_weight": "x3"} if kind is int else {"folds": 2, "fold_by": "x0"}):
        values = np.abs(values)
        found, here = gm.collect(abs(array), **options), gm.collect(values, **options)
        assert found.isclose(here, rtol=1e-12)


def test_filtered_frames_with_empty_partitions_and_unknown_divisions(client):
    frame = dd.from_pandas(FRAME.reset_index(), npartitions=6)
    kept = frame[frame["index"] < 90].clear_divisions()
    assert gm.collect(kept).isclose(gm.collect(FRAME.reset_index().query("index < 90")), rtol=1e-12)
    with pytest.raises(DataError, match=r"^a Dask frame has no rows$"):
        gm.collect(frame[frame["index"] < 0])


def test_only_the_columns_that_are_wanted_are_asked_of_the_frame():
    frame = dd.from_pandas(FRAME, npartitions=2)
    assert list(open_table(frame).picked(["c", "x"]).columns) == ["c", "x"]


def test_what_travels_does_not_grow_with_the_rows():
    sizes = []
    for n_rows in (300, 30_000):
        table, encoder = planned(frame_of(n_rows)[["k", "n"]], {}, CollectOptions())
        sizes.append(len(reduced(table, PassPlan.of(encoder))))
    # Counts of more rows take more digits in the header, and integers of more bytes.
    assert abs(sizes[0] - sizes[1]) < 512


# What goes wrong


def test_a_task_that_fails_names_file_and_column_in_one_line(client, folder, tmp_path):
    for k in range(4):
        part = FRAME.iloc[:10].assign(w=-1.0 if k == 2 else 1.0)
        part.to_parquet(tmp_path / f"{k}.parquet")
    with pytest.raises(ColumnError) as caught:
        gm.collect(str(tmp_path), engine="dask", sample_weight="w")
    line = str(caught.value)
    assert "\n" not in line
    assert "2.parquet" in line
    assert "weight column 'w' has a negative value" in line
    assert caught.value.__cause__ is None


def test_a_partition_at_fault_is_named(client):
    frame = dd.from_pandas(FRAME.assign(w=np.where(np.arange(240) == 200, -1.0, 1.0)), npartitions=6)
    with pytest.raises(ColumnError, match=r"^partition 5 of a Dask frame: weight column 'w'"):
        gm.collect(frame, sample_weight="w")


def test_a_file_that_breaks_while_it_is_read_is_named(client, tmp_path):
    for k in range(2):
        FRAME.iloc[:10].to_parquet(tmp_path / f"{k}.parquet")
    table, encoder = planned(str(tmp_path), {}, CollectOptions())
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[:4] + b"\0" * (len(whole) - 8) + whole[-4:])
    with pytest.raises(DataError, match=r"1\.parquet[^\n]*$"):
        DaskEngine().reduce(table, encoder)


def test_a_task_that_kills_every_worker_is_named():
    class KilledWorker(Exception):
        task = "part-7"

    def run():
        raise KilledWorker("part-7 failed on 4 different workers")

    with pytest.raises(DataError, match=r"^day\.parquet: every worker of Dask that tried it was lost, [^\n]+$"):
        dask_engine._or_one_line(run, {"part-7": "day.parquet"})


def test_a_fault_of_the_program_is_not_hidden():
    def run():
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        dask_engine._or_one_line(run)


def test_rows_of_this_process_are_refused_in_one_line():
    with pytest.raises(DataError, match=r"^a pandas frame lies in this process, and engine='dask' reads files and"):
        gm.collect(FRAME, engine="dask")


def test_the_local_engine_does_not_read_a_dask_frame():
    with pytest.raises(DataError, match="a Dask frame lies in partitions of its own, and engine='local' does not"):
        gm.collect(dd.from_pandas(FRAME, npartitions=2), engine="local")


def test_weights_beside_a_frame_are_refused():
    with pytest.raises(DataError, match="sample_weight= is an array"):
        gm.collect(dd.from_pandas(FRAME, npartitions=2), sample_weight=np.ones(240))


def test_ctrl_c_cancels_what_is_waiting(client, tmp_path):
    def slowly(part):
        (tmp_path / "began").touch()
        time.sleep(0.5)
        return part

    def interrupt():
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
        # By now the other tasks are waited for. What strikes while Python frees an object is lost, so one presses again.
        time.sleep(0.2)
        for _ in range(5):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            if ended.wait(2.5):
                break

    ended = threading.Event()
    frame = dd.from_pandas(FRAME, npartitions=60).map_partitions(slowly, meta=FRAME)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        gm.collect(frame, progress=True)
    ended.set()
    thread.join()
    left = -1
    for _ in range(100):
        left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not left:
            break
        time.sleep(0.05)
    assert left == 0


def test_progress_counts_partitions(client, capsys, monkeypatch):
    monkeypatch.setattr("gramian.progress.SHOW_AFTER", 0.0)
    gm.collect(dd.from_pandas(FRAME, npartitions=7), progress=True)
    assert "7 of 7 partitions" in capsys.readouterr().err


# Mapping


def test_features_of_files_come_in_order(client, folder, tmp_path):
    model = gm.PCA(2).fit(FRAME.drop(columns="w"))
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    gm.transform_file(model, str(folder / "*.parquet"), here, keep="c")
    assert gm.transform_file(model, str(folder / "*.parquet"), there, keep="c", engine="dask") == 240
    assert pq.read_table(here).equals(pq.read_table(there))
    assert gm.transform_file(model, dd.from_pandas(FRAME, npartitions=5), there, keep="c") == 240
    assert pq.read_table(here).to_pandas().equals(pq.read_table(there).to_pandas())


def test_the_first_rows_need_the_first_partition_only():
    def refuse_late(part, partition_info=None):
        assert not partition_info or partition_info["number"] == 0
        return part

    frame = dd.from_pandas(FRAME, npartitions=4).map_partitions(refuse_late, meta=FRAME)
    table = open_table(frame)
    (found,) = DaskEngine().map(table, lambda batch: batch.num_rows, columns=["x"], limit=10)
    assert found == 10


def test_the_number_of_tasks_follows_threads_not_rows():
    assert dask_engine._n_tasks(1000, 2) == 1
    assert dask_engine._n_tasks(10**7, 2) == 8
    assert dask_engine._n_tasks(10**8, 2) == 23
    assert dask_engine._n_tasks(10**9, 2) == dask_engine._n_tasks(10**12, 2) == 64
    assert dask_engine._n_tasks(None, 2) == 64


def test_a_constant_category_of_fractional_weights_does_not_vary():
    rng = np.random.default_rng(0)
    for n in (23, 40, 61):
        frame = pd.DataFrame({"c": ["a"] * n, "x": rng.normal(size=n), "w": rng.random(n)})
        m = gm.collect(dd.from_pandas(frame, npartitions=5), sample_weight="w")
        assert not m.covariance(ddof=0)[0].any()
        assert np.isnan(m.correlation()[0]).all()
