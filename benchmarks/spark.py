"""Spark's side of `python -m benchmarks scale`: contestants that run in a process of their own, and its cases.

Start-up is not timed: the session, the workers and their imports are there before the clock starts, as they are in a session
that people work in. Memory is that of the largest Python worker and of the JVM, as the kernel counts it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import cases, measure, synthetic
from benchmarks.report import Row

CORES = 2


def session() -> Any:
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(CORES),
    }
    builder = SparkSession.builder.master(f"local[{CORES}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def _peaks(spark: Any) -> dict[str, int]:
    """Return the peak bytes of the largest Python worker, and of the JVM."""

    def peak(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        for _ in batches:
            # Long enough that no worker does the others' share.
            time.sleep(0.2)
            yield pa.record_batch([pa.array([measure.peak_bytes()])], names=["bytes"])

    found = spark.range(0, 4 * CORES, 1, 4 * CORES).mapInArrow(peak, "bytes long").collect()
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    status = Path(f"/proc/{jvm}/status").read_text().splitlines()
    high = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    return {"worker": max(row[0] for row in found), "jvm": high}


def _described(spark: Any, **values: Any) -> str:
    return json.dumps({**values, **_peaks(spark)})


def collect_frame(path: str, times: int) -> Callable[[], object]:
    """Moments of a Spark frame, whose rows go through Spark."""
    import gramian as gm

    spark = session()
    frame = spark.read.parquet(*[path] * times)
    gm.collect(spark.read.parquet(path).limit(1000))
    return lambda: gm.collect(frame).n_rows


def collect_files(path: str, times: int) -> Callable[[], object]:
    """Moments of files that the tasks of Spark read themselves."""
    import gramian as gm

    session()
    gm.collect(path, engine="spark")
    return lambda: gm.collect([path] * times, engine="spark").n_rows


def collect_local(path: str, times: int) -> Callable[[], object]:
    """Moments of the same files in one process."""
    import gramian as gm

    gm.collect(path, n_jobs=CORES)
    return lambda: gm.collect([path] * times, n_jobs=CORES).n_rows


def memory(maker: str, path: str, times: int) -> Callable[[], object]:
    """Do what another contestant does, and tell what the workers took for it."""
    call = {"frame": collect_frame, "files": collect_files}[maker](path, times)
    spark = session()

    def run() -> str:
        n_rows = call()
        return _described(spark, rows=n_rows)

    return run


def ml_pca(path: str, times: int) -> Callable[[], object]:
    """Spark ML's PCA of one-hot columns; numbers as they are."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import PCA, OneHotEncoder, StringIndexer, VectorAssembler

    spark = session()
    frame = spark.read.parquet(*[path] * times)
    text = [name for name, kind in frame.dtypes if kind == "string"]
    numbers = [name for name, kind in frame.dtypes if kind in ("double", "float")]
    stages = [
        StringIndexer(inputCols=text, outputCols=[f"{name}_index" for name in text]),
        OneHotEncoder(
            inputCols=[f"{name}_index" for name in text], outputCols=[f"{name}_hot" for name in text], dropLast=False
        ),
        VectorAssembler(inputCols=[*numbers, *(f"{name}_hot" for name in text)], outputCol="features"),
        PCA(k=10, inputCol="features", outputCol="pca"),
    ]
    spark.read.parquet(path).limit(1000).count()

    def run() -> str:
        start = time.perf_counter()
        model = Pipeline(stages=stages).fit(frame)
        return _described(spark, seconds=time.perf_counter() - start, columns=model.stages[-1].pc.numRows)

    return run


def our_pca(path: str, times: int) -> Callable[[], object]:
    """Our PCA of the same frame, categories as they are."""
    import gramian as gm

    spark = session()
    frame = spark.read.parquet(*[path] * times)
    gm.collect(spark.read.parquet(path).limit(1000))

    def run() -> str:
        start = time.perf_counter()
        model = gm.PCA(n_components=10, scale=False).fit(frame)
        return _described(spark, seconds=time.perf_counter() - start, columns=len(model.design_names_))

    return run


def lacking() -> str:
    """Return what has to be installed before Spark runs; nothing where it does."""
    if find_spec("pyspark") is None:
        return "pip install pyspark"
    return "" if shutil.which("java") or "JAVA_HOME" in os.environ else "Spark needs Java"


def _alone(maker: str, *arguments: object) -> measure.Alone:
    return measure.alone(f"benchmarks.spark:{maker}", *arguments)


def against_local(run: cases.Run) -> Iterator[Row]:
    """Spark with two cores against this process with two threads, after start-up."""
    path = str(synthetic.zipf_file(run.rows(5_000_000)))
    if lacking():
        yield Row("e", "collect on Spark", "local, 2 threads", None, note=lacking())
        return
    for maker, what, times in (
        ("collect_files", "files by name", 20),
        ("collect_frame", "a frame, its rows through Spark", 4),
    ):
        local, ours = _alone("collect_local", path, times).seconds, _alone(maker, path, times)
        yield Row(
            "e", f"collect on Spark, {what}, {times} files", "local, 2 threads", ours.seconds / local, at_most=4.0,
            ours_seconds=ours.seconds, peer_seconds=local,
        )  # fmt: skip


def memory_of_workers(run: cases.Run) -> Iterator[Row]:
    """What the largest Python worker of Spark holds, with eight times the rows against once."""
    path = str(synthetic.zipf_file(run.rows(2_000_000)))
    if lacking():
        yield Row("f", "memory per worker", "an eighth of the rows", None, note=lacking())
        return
    for maker in ("files", "frame"):
        one, eight = (json.loads(str(_alone("memory", maker, path, times).value)) for times in (1, 8))
        yield Row(
            "f", f"memory per worker of Spark, {maker}", "an eighth of the rows", eight["worker"] / one["worker"],
            at_most=1.2, ours_peak=eight["worker"], peer_peak=one["worker"],
        )  # fmt: skip


def against_spark_ml(run: cases.Run) -> Iterator[Row]:
    """PCA of a Spark frame against Spark ML's PCA of the same columns as one-hot."""
    path = str(synthetic.text_file(run.rows(1_000_000)))
    if lacking():
        yield Row("g", "PCA of a Spark frame", "Spark ML, one-hot", None, note=lacking())
        return
    mine, theirs = (json.loads(str(_alone(maker, path, 1).value)) for maker in ("our_pca", "ml_pca"))
    yield Row(
        "g", f"PCA of a Spark frame, {mine['columns']} design columns", "Spark ML's PCA of one-hot",
        theirs["seconds"] / mine["seconds"], at_least=1.0, ours_seconds=mine["seconds"], peer_seconds=theirs["seconds"],
        ours_peak=mine["worker"] * CORES + mine["jvm"], peer_peak=theirs["jvm"],
    )  # fmt: skip
