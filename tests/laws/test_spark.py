"""Spark and this process give the same moments and the same features: real Spark in local mode, one session for all."""

from __future__ import annotations

import datetime
import decimal
import os
import shutil
import signal
import socket
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError, MissingPackageError

from . import test_engines
from .tables import assert_same

LAWS, same = test_engines.OPTIONS, test_engines.same
parts = test_engines.parts

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"),
    # What pyspark says about the versions of others when it is used is not ours to fix.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SMALL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    # Neither Arrow's nor Parquet's readers may care where the driver sits.
    "spark.sql.session.timeZone": "America/New_York",
    # A file a partition: dictionaries and types differ from one to the next.
    "spark.sql.files.openCostInBytes": "1g",
    # Minutes of compiling pay in hours of work, and seconds are all that there is to do here.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}


DAEMON = """
import numba, pyarrow.compute, scipy.sparse
import gramian.engines.spark
from pyspark.daemon import manager
if __name__ == "__main__":
    manager()
"""


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory):
    from pyspark.sql import SparkSession

    # Workers are forked from a process that has imported the package already: dozens of them start here.
    place = tmp_path_factory.mktemp("daemon")
    (place / "imported_already.py").write_text(DAEMON)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(place), os.environ.get("PYTHONPATH")])))
        # Whatever `python3` is on the path, workers are started by this interpreter.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]").config("spark.python.daemon.module", "imported_already")
        if find_spec("grpc"):
            builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            builder = builder.config("spark.connect.grpc.binding.port", str(_free_port()))
        for name, value in SMALL.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def part(seed: int, n: int, *, colors: str, n_large: int, gone: bool = False) -> pa.Table:
    """Return rows of every kind of column that both Spark and Parquet have."""
    rng = np.random.default_rng(seed)
    start = datetime.datetime(2024, 1, 1)
    minutes = [datetime.timedelta(minutes=int(k)) for k in rng.integers(0, 10**6, n)]

    def gaps(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.2 else value for value in values]

    return pa.table(
        {
            "color": pa.array(gaps(list(rng.choice(list(colors), n)))).dictionary_encode(),
            "rare": pa.array([None] * n if gone else gaps(list(rng.choice(["u", "v"], n))), pa.string()),
            "flag": pa.array(gaps([bool(k) for k in rng.integers(0, 2, n)]), pa.bool_()),
            "price": pa.array(gaps([decimal.Decimal(int(k)) / 4 for k in rng.integers(0, 99, n)]), pa.decimal128(9, 2)),
            "when": pa.array(gaps([start + m for m in minutes]), pa.timestamp("us", tz="UTC")),
            "clock": pa.array(gaps([start + m for m in minutes]), pa.timestamp("us")),
            "day": pa.array(gaps([(start + m).date() for m in minutes]), pa.date32()),
            "tiny": pa.array(gaps([int(k) for k in rng.integers(-3, 3, n)]), pa.int8()),
            "large": pa.array(rng.integers(0, n_large, n)),
            "size": pa.array(gaps([float(x) for x in rng.normal(size=n) + 1e6])),
            "short": pa.array(rng.normal(size=n).astype(np.float32)),
            "a.b`c": pa.array(rng.normal(size=n)),
            "weight": pa.array(rng.integers(0, 3, n).astype(float)),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return files with other dictionaries each, one empty, one past 64 integers, one with a column that has no value."""
    place = tmp_path_factory.mktemp("spark")
    tables = [
        part(1, 120, colors="abc", n_large=40),
        part(2, 0, colors="abc", n_large=40),
        part(3, 150, colors="cxy", n_large=300),
        part(4, 90, colors="za", n_large=40, gone=True),
    ]
    for k, rows in enumerate(tables):
        pq.write_table(rows, place / f"part{k}.parquet")
    return str(place)


@pytest.mark.parametrize("options", LAWS[2:], ids=str)
@pytest.mark.parametrize("named", ["frame", "files"])
def test_the_laws_of_engines(
    spark: Any, parts: tuple[list[Path], pa.Table], options: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gramian.engines.spark.LEAST_ROWS", 40)
    files, whole = parts
    names = [str(path) for path in files]
    found = (
        gm.collect(spark.read.parquet(*names), **options)
        if named == "frame"
        else gm.collect(names, engine="spark", **options)
    )
    same(found, gm.collect(whole, **options))


def test_every_kind_of_column_means_what_it_means_here(spark: Any, folder: str) -> None:
    options: dict[str, Any] = {"sample_weight": "weight", "folds": 3, "fold_by": "large", "random_state": 5}
    local, found = gm.collect(folder, **options), gm.collect(spark.read.parquet(folder).repartition(5), **options)
    assert found.schema["large"].form == local.schema["large"].form == "number"
    assert_same(found, local)


def test_a_task_that_fails_forever_names_its_file_and_column(spark: Any, tmp_path: Path) -> None:
    for k in range(3):
        pq.write_table(pa.table({"c": ["a", None if k == 1 else "b"], "x": [1.0, 2.0]}), tmp_path / f"{k}.parquet")
    with pytest.raises(DataError, match=r"1\.parquet: target column 'c' has missing values") as caught:
        gm.collect(str(tmp_path), engine="spark", targets="c", target_missing="raise")
    assert "\n" not in str(caught.value)


def test_rows_of_a_frame_come_here_as_they_are_in_arrow(spark: Any, folder: str) -> None:
    frame = spark.read.parquet(folder).drop("a.b`c").orderBy("size", "short")
    features = gm.transform_stream(gm.PCA(2).fit(frame.toArrow()), frame, keep=["when", "large"]).read_all()
    here = frame.toArrow()
    assert features["when"].to_pylist() == here["when"].to_pylist()
    assert features["large"].to_pylist() == here["large"].to_pylist()
    assert gm.preview(frame, rows=50).n_sampled == 50


def test_names_of_tables_are_looked_up(spark: Any, folder: str) -> None:
    spark.read.parquet(folder).createOrReplaceTempView("sales")
    assert gm.collect("sales", engine="spark", columns=["color"]).n_rows == 360
    with pytest.raises(DataError, match="absent does not exist"):
        gm.collect("absent", engine="spark")


def test_features_of_a_spark_frame_are_a_spark_frame(spark: Any, folder: str, tmp_path: Path) -> None:
    frame = spark.read.parquet(folder).orderBy("size", "short")
    here = frame.toArrow()
    model = gm.PCA(n_components=3).fit(frame, sample_weight="weight")
    lazy = model.transform(frame)
    assert lazy.columns == ["pca0", "pca1", "pca2"]
    np.testing.assert_allclose(_array(lazy), model.transform(here), rtol=1e-12, atol=1e-12)
    detector = gm.DensityEmbedding().fit(here.drop(["weight"]))
    np.testing.assert_allclose(_array(detector.anomaly_score(frame))[:, 0], detector.anomaly_score(here), rtol=1e-12)
    assert _array(detector.predict(frame))[:, 0].tolist() == detector.predict(here).tolist()

    classes = gm.FisherDiscriminant().fit(here.filter(pa.compute.is_valid(here["rare"])), "rare")
    out = tmp_path / "classes.parquet"
    assert gm.transform_file(classes, frame, out, keep=["when", "price"], method="predict") == here.num_rows
    written = pq.read_table(out)
    assert written.column_names == ["when", "price", "prediction"]
    assert written["prediction"].to_pylist() == classes.predict(here).tolist()
    assert written["price"].to_pylist() == here["price"].to_pylist()
    assert [t and t.timestamp() for t in written["when"].to_pylist()] == [
        t and t.timestamp() for t in here["when"].to_pylist()
    ]
    with pytest.raises(DataError, match="exists already"):
        gm.transform_file(classes, frame, out)


def _array(frame: Any) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in frame.toArrow().columns])


def test_what_is_wrong_with_the_data_is_one_line(spark: Any, folder: str) -> None:
    from pyspark.sql import functions

    frame = spark.read.parquet(folder)
    bad = frame.withColumn("size", functions.expr("if(large > 290, double('inf'), size)"))
    with pytest.raises(DataError, match=r"^partition \d+ of a Spark frame: column 'size' holds an infinite") as got:
        gm.collect(bad)
    assert "\n" not in str(got.value)
    with pytest.raises(ColumnError, match=r"exclude=\['many'\]"):
        gm.collect(frame.withColumn("many", functions.array("size")))
    with pytest.raises(DataError, match="did you mean 'color'"):
        gm.collect(frame, columns=["colour"])
    with pytest.raises(DataError, match="sample_weight= is an array"):
        gm.collect(frame, sample_weight=np.ones(360))
    with pytest.raises(DataError, match="engine='local'"):
        gm.collect(frame, engine="local")
    with pytest.raises(DataError, match="a Spark frame has no rows"):
        gm.collect(frame.limit(0))
    with pytest.raises(DataError, match="every sample weight is zero"):
        gm.collect(frame.withColumn("weight", functions.lit(0.0)), sample_weight="weight")


def test_a_worker_without_the_package_is_told(spark: Any) -> None:
    def elsewhere(batches: Any) -> Any:
        raise ModuleNotFoundError("No module named 'gramian'")

    with pytest.raises(MissingPackageError, match="executors of Spark cannot import gramian; install"):
        gm.collect(spark.range(3).mapInArrow(elsewhere, "x double"))


def test_interrupting_cancels_the_job(spark: Any) -> None:
    def slowly(batches: Any) -> Any:
        for batch in batches:
            time.sleep(60)
            yield batch

    tracker = spark.sparkContext.statusTracker()

    def interrupt() -> None:
        while not tracker.getActiveStageIds():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        gm.collect(spark.range(4).mapInArrow(slowly, "id long"))
    for _ in range(100):
        if not tracker.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()
    assert gm.collect(spark.range(4)).n_rows == 4


def test_spark_connect_runs_the_same_job(spark: Any, folder: str) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    from pyspark.sql.connect.session import SparkSession

    port = spark.conf.get("spark.connect.grpc.binding.port")
    remote = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    try:
        frame = remote.read.parquet(folder)
        local = gm.collect(folder, exclude="weight")
        assert_same(gm.collect(frame, exclude="weight"), local)
        model = gm.PCA(n_components=2).fit(local)
        here, there = model.transform(frame.toArrow()), _array(model.transform(frame))
        np.testing.assert_allclose(np.sort(there, axis=0), np.sort(here, axis=0), rtol=1e-12, atol=1e-12)
        with pytest.raises(DataError, match=r"^partition \d of a Spark frame: column 'size' holds an infinite") as got:
            gm.collect(frame.selectExpr("if(large > 290, double('inf'), size) as size"))
        assert "\n" not in str(got.value)
    finally:
        remote.stop()


def test_weighted_passes_give_what_they_give_here(spark: Any, rng: np.random.Generator) -> None:
    n = 600
    color, size, shop = rng.choice(["red", "blue", "green"], n), rng.normal(size=n), rng.integers(0, 20, n)
    sold = rng.poisson(np.exp(0.3 * size + 0.2 * (color == "red")))
    here = pa.table({"color": color, "size": size, "shop": [f"s{k}" for k in shop], "sold": sold})
    columns = ["color", "size", "sold"]
    there = spark.createDataFrame(here.to_pandas()).repartition(3)
    local, far = gm.GLM().fit(here.select(columns), "sold"), gm.GLM().fit(there[columns], "sold")
    for errors in ("iid", "HC3", {"cluster": "shop"}):
        a, b = (model.inference(errors, rows).to_pandas() for model, rows in ((local, here), (far, there)))
        np.testing.assert_allclose(b["coefficient"], a["coefficient"], rtol=1e-8)
        np.testing.assert_allclose(b["std_error"], a["std_error"], rtol=1e-8)
