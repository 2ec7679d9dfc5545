"""The engine's own steps, on a stand-in for Spark's frames: no Java needed. Real Spark is in tests/laws/test_spark.py."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError, MissingPackageError

spark = pytest.importorskip("gramian.engines.spark", reason="pyspark is not installed")


def partitions(n: int) -> list[pa.Table]:
    rng = np.random.default_rng(n)
    parts = [
        pa.table(
            {"c": [f"c{k}", "a", f"c{k % 3}"] * (k % 4), "x": rng.normal(size=3 * (k % 4)), "n": [k] * (3 * (k % 4))}
        )
        for k in range(n)
    ]
    return [part.cast(pa.schema([("c", pa.string()), ("x", pa.float64()), ("n", pa.int64())])) for part in parts]


@pytest.mark.parametrize("n", [1, 2, 7, 23])
def test_the_tree_of_sums_keeps_the_order_of_the_rows(
    n: int, spark_stand_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "FAN_IN", 2)
    monkeypatch.setattr(spark, "PIECE_BYTES", 1000)
    parts = [*partitions(n), pa.table({"c": ["z"], "x": [1.0], "n": [1]})]
    found, whole = gm.collect(spark_stand_in(parts)), gm.collect(pa.concat_tables(parts))
    assert found.isclose(whole)
    assert found.n_rows == whole.n_rows
    assert found.levels("c") == whole.levels("c")


def test_one_sum_leaves_the_executors(spark_stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "FAN_IN", 3)
    seen = []
    summed = spark._summed

    def watched(parts: Any) -> Any:
        seen.append(len(parts.collect()))
        found = summed(parts)
        seen.append(len(found.collect()))
        return found

    monkeypatch.setattr(spark, "_summed", watched)
    gm.collect(spark_stand_in(partitions(20)))
    assert seen == [20, 1]


def test_no_rows_and_no_weights_are_told_as_they_are_here(spark_stand_in: Any) -> None:
    nothing = pa.table({"x": pa.array([], pa.float64()), "w": pa.array([], pa.float64())})
    with pytest.raises(DataError, match="a Spark frame has no rows"):
        gm.collect(spark_stand_in([nothing, nothing]))
    rows = pa.table({"x": [1.0, 2.0], "w": [0.0, 0.0]})
    with pytest.raises(DataError, match="every sample weight is zero"):
        gm.collect(spark_stand_in([rows, nothing]), sample_weight="w")


def test_views_of_a_frame_are_read_where_its_rows_are(spark_stand_in: Any) -> None:
    parts = [pa.table({"c": ["a", "b"], "x": [1.0, 2.0]}), pa.table({"c": ["b"], "x": [4.0]})]
    like = gm.collect(pa.table({"c": ["a"], "x": [1.0], "y": [2.0]}))
    found = gm.collect(spark_stand_in(parts), like=like, missing="fill")
    assert found.isclose(gm.collect(pa.concat_tables(parts), like=like, missing="fill"))


def test_an_error_of_the_rows_is_raised_as_it_is_and_cancels(spark_stand_in: Any) -> None:
    frame = spark_stand_in([pa.table({"x": [1.0]}), pa.table({"x": [float("inf")]})])
    with pytest.raises(DataError, match="partition 1 of a Spark frame: column 'x' holds an infinite value"):
        gm.collect(frame)
    assert frame.sparkSession.tags == set()
    assert frame.sparkSession.handlers == []


def test_leaving_early_cancels_this_job_and_no_other(spark_stand_in: Any) -> None:
    session = spark_stand_in([pa.table({"x": [1.0]})]).sparkSession
    session.addTag("theirs")
    with pytest.raises(KeyboardInterrupt), spark.running(session, None):
        raise KeyboardInterrupt
    assert len(session.interrupted) == 1
    assert session.interrupted[0].startswith("gramian-")
    assert session.tags == {"theirs"}


def test_tasks_that_ended_are_shown(spark_stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    shown = []
    monkeypatch.setattr(spark.Progress, "advance", lambda self, n: shown.append(n))
    session = spark_stand_in([pa.table({"x": [1.0]})]).sparkSession
    with spark.running(session, True):
        for handler in session.handlers:
            handler([SimpleNamespace(num_completed_tasks=3), SimpleNamespace(num_completed_tasks=1)], 0, "op", False)
        for _ in range(100):
            if sum(shown) == 4:
                break
            spark.threading.Event().wait(0.05)
    assert sum(shown) == 4


def worded(*lines: str) -> Exception:
    return Exception("\n".join(lines))


def test_lines_of_two_languages_become_one() -> None:
    ours = worded(
        "An exception was thrown from the Python worker:",
        "Traceback (most recent call last):",
        "gramian.errors.ColumnError: partition 3 of a Spark frame: target column 'y' has missing values; drop those rows",
        " SQLSTATE: 38000",
        "\tat org.apache.spark.api.python.BasePythonRunner",
    )
    found = spark.one_line_of(ours)
    assert type(found) is ColumnError
    assert str(found) == "partition 3 of a Spark frame: target column 'y' has missing values; drop those rows"
    absent = spark.one_line_of(worded("Traceback", "ModuleNotFoundError: No module named 'gramian'", "\tat org.apache"))
    assert type(absent) is MissingPackageError
    assert "cannot import gramian" in str(absent)
    lost = spark.one_line_of(worded("[SPARK_JOB_CANCELLED] Job 0 cancelled SQLSTATE: XXKDA", "\tat org.apache.spark"))
    assert str(lost) == "Spark gave the pass up: [SPARK_JOB_CANCELLED] Job 0 cancelled SQLSTATE: XXKDA"
    theirs = spark.one_line_of(
        worded("Traceback", "  File x", "ZeroDivisionError: division by zero", "\tat org.apache")
    )
    assert str(theirs) == "Spark gave the pass up: ZeroDivisionError: division by zero"


def test_rows_in_this_process_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr(spark, "_session", lambda: SimpleNamespace())
    with pytest.raises(DataError, match=r"a pyarrow Table lies in this process.*spark.createDataFrame"):
        gm.collect(pa.table({"x": [1.0]}), engine="spark")


def test_without_pyspark_one_line_says_what_to_install() -> None:
    import subprocess

    code = (
        "import sys; sys.modules['pyspark'] = None\nimport gramian as gm\n"
        "try: gm.collect([[1.0]], engine='spark')\nexcept ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pyspark" in said
    assert len(said.strip().splitlines()) == 1
