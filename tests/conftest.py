# ruff: noqa: E402 - how many threads BLAS has is said before numpy is loaded.
"""Settings and fixtures of every test: one seed; property tests draw the same examples on every run.

`make fuzz` sets GRAMIAN_HYPOTHESIS=fuzz: then they draw others each time, many more of them, and shrink what fails.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

# Before numpy is loaded: tests run side by side, and threads of BLAS that wait for each other on taken cores spin. On two
# cores with a dozen busy processes, the eigenvectors of 600 columns took two threads 25 times the processor time of one.
for _library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    import gramian as gm

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=10,
    # Examples are small already: shrinking them further takes minutes where a law fails.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=200,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("GRAMIAN_HYPOTHESIS", "repeatable"))


EARLY = ("laws/test_spark.py", "neighbour_maps.py")
"""Files whose first test starts a machine or compiles for ten seconds, in every process anew."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put them first: one worker begins there, and nothing of what is at the front is handed to another."""
    items.sort(key=lambda item: not item.nodeid.partition("::")[0].endswith(EARLY))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


@pytest.fixture
def mixed(rng: np.random.Generator) -> pd.DataFrame:
    n = 400
    color = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    shape = np.where(
        rng.random(n) < 0.6, np.where(color == "red", "disc", "box"), rng.choice(["disc", "box", "rod"], n)
    )
    size = rng.standard_normal(n) + (color == "red")
    frame = pd.DataFrame(
        {
            "color": color,
            "shape": shape,
            "grade": rng.integers(0, 6, n),
            "size": size,
            "cost": 1e4 * size + 3e3 * rng.standard_normal(n) + 5e5,
            "kind": np.where(rng.random(n) < 0.7, np.where(size > 0.5, "a", "b"), "c"),
        }
    )
    frame.loc[5:30, "size"] = np.nan
    return frame


def in_folds(parts: list[pd.DataFrame], **options: Any) -> gm.Moments:
    """Return moments whose folds are the given tables, so that a test knows the rows of each."""
    import gramian as gm

    folds = [gm.collect(part, **options) for part in parts]
    return replace(gm.merge(folds), folds=tuple(folds))


def _in_child(function: Callable[[], object], seconds: float = 60.0) -> int | None:
    """Call a function in a process forked off here and now; return its status, or None where it hangs."""
    with warnings.catch_warnings():
        # Python warns of forking while threads live: that is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.fixture
def in_child():
    return _in_child


@pytest.fixture(scope="module")
def umap_stays_at_its_start():
    """Leave pictures by UMAP where they begin: its loops take 12 seconds to compile, in every process anew.

    For tests of what every estimator does around its fit. Its pictures are tested in estimators/test_neighbour_maps.py.
    """
    from gramian.estimators.neighbour_maps import UMAPMap

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UMAPMap, "_fit_map", lambda self, features, start, seed: (start, None))
        yield


@pytest.fixture(scope="module")
def few_tables():
    """Draw a sixteenth of the tables that p-values of sparse pairs are from: for tests of what is done with them.

    The p-values themselves are tested in linear/regression/test_table_tail.py.
    """
    from gramian.linear.regression import permutation as table_tail

    with pytest.MonkeyPatch.context() as patch:
        for name in ("WORK", "FEWEST_TABLES", "MOST_TABLES"):
            patch.setattr(table_tail, name, getattr(table_tail, name) // 16)
        yield


@pytest.fixture
def collect_in_folds():
    return in_folds


class SparkStandIn:
    """A frame that does what a Spark frame does, in this process: enough for the engine, without Java."""

    __module__ = "pyspark.sql.connect.dataframe"

    def __init__(self, parts: list[Any], schema: Any = None, session: Any = None) -> None:
        self.parts, self.schema = parts, schema
        self.sparkSession = session or SparkSessionStandIn()

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.schema.fields]

    def _with(self, parts: list[Any]) -> SparkStandIn:
        return SparkStandIn(parts, self.schema, self.sparkSession)

    def toDF(self, *names: str) -> SparkStandIn:
        return self._with([part.rename_columns(names) for part in self.parts])

    def select(self, *names: str) -> SparkStandIn:
        return self._with([part.select(names) for part in self.parts])

    def mapInArrow(self, function: Any, schema: Any) -> SparkStandIn:
        import pickle

        import pyarrow as pa
        from pyspark import cloudpickle

        sent = cloudpickle.dumps(function)
        parts = []
        for place, part in enumerate(self.parts):
            self.sparkSession.place = place
            given = [batch for batch in part.to_batches(max_chunksize=7) if batch.num_rows]
            found = list(pickle.loads(sent)(iter(given)))
            parts += [pa.Table.from_batches(found)] if found else []
        return SparkStandIn(parts, schema, self.sparkSession)

    def repartition(self, how: int | str) -> SparkStandIn:
        import pyarrow as pa

        whole = pa.concat_tables(reversed(self.parts)) if self.parts else None
        if whole is None or how == 1:
            return self._with([] if whole is None else [whole])
        odd = pa.array([value % 2 == 1 for value in whole[how].to_pylist()])
        return self._with([whole.filter(odd), whole.filter(pa.compute.invert(odd))])

    def sortWithinPartitions(self, *names: str) -> SparkStandIn:
        return self._with([part.sort_by([(name, "ascending") for name in names]) for part in self.parts])

    def collect(self) -> list[dict[str, Any]]:
        return [row for part in self.parts for row in part.to_pylist()]

    def toLocalIterator(self) -> Any:
        return (tuple(row.values()) for row in self.collect())


class SparkSessionStandIn:
    """A session of Spark Connect that notes what is asked of it."""

    place = 0

    def __init__(self) -> None:
        self.interrupted: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[Any] = []

    def addTag(self, tag: str) -> None:
        self.tags.add(tag)

    def removeTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def interruptTag(self, tag: str) -> None:
        self.interrupted.append(tag)

    def registerProgressHandler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def removeProgressHandler(self, handler: Any) -> None:
        self.handlers.remove(handler)


@pytest.fixture
def spark_stand_in(monkeypatch: pytest.MonkeyPatch):
    """Return a maker of stand-ins for Spark frames, from tables that are their partitions."""
    types = pytest.importorskip("pyspark.sql.types")
    engine = pytest.importorskip("gramian.engines.spark")
    names = {
        "string": types.StringType(), "double": types.DoubleType(), "float": types.FloatType(), "int64": types.LongType(),
        "bool": types.BooleanType(), "timestamp[us, tz=UTC]": types.TimestampType(),
    }  # fmt: skip

    def make(parts: list[Any]) -> SparkStandIn:
        fields = [types.StructField(field.name, names[str(field.type)]) for field in parts[0].schema]
        frame = SparkStandIn(parts, types.StructType(fields))
        monkeypatch.setattr(engine, "_place", lambda: frame.sparkSession.place)
        return frame

    return make
