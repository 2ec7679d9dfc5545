"""Models in production: one row at a time against a scikit-learn Pipeline, onnxruntime, and a query against transform_file.

One row is the median of 500 calls in this process. The Pipeline of scikit-learn is given the same row, as a frame of one row,
which is what it takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import cases, measure
from benchmarks.cases import Run
from benchmarks.report import Row

CALLS = 500
LEVELS = (4, 7, 12, 20, 24, 30, 100, 1000)


def table(n_rows: int) -> pa.Table:
    """Return eight categories, four numbers and a class."""
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {}
    for k, size in enumerate(LEVELS):
        columns[f"c{k}"] = np.array([f"level {j}" for j in range(size)])[rng.integers(0, size, n_rows)]
    for k in range(4):
        columns[f"x{k}"] = rng.normal(size=n_rows)
    columns["bought"] = (columns["x0"] + rng.normal(size=n_rows) > 0).astype(int)
    return pa.table(columns)


def per_call(function: Callable[[], object]) -> float:
    """Return the median seconds of a call."""
    function()
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)


def contestants(n_rows: int) -> Iterator[tuple[str, Any, str, Callable[[Any], object]]]:
    """Yield a name, our model, its method, and what a Pipeline of scikit-learn does with a frame of one row."""
    from sklearn.compose import make_column_transformer
    from sklearn.decomposition import PCA
    from sklearn.ensemble import IsolationForest
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

    import gramian as gm

    rows = table(n_rows)
    X = rows.drop(["bought"]).to_pandas()
    y = rows["bought"].to_numpy()
    words, numbers = [f"c{k}" for k in range(len(LEVELS))], [f"x{k}" for k in range(4)]

    def piped(encoder: Any, last: Any) -> Any:
        columns = make_column_transformer((encoder, words), (StandardScaler(), numbers))
        return make_pipeline(columns, *([last] if last is not None else [])).fit(X, y)

    def one_hot() -> Any:
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)

    yield "PCA", gm.PCA(10).fit(X), "transform", piped(one_hot(), PCA(10)).transform
    yield "JointTargetEncoder", gm.JointTargetEncoder().fit(X, y), "transform", piped(TargetEncoder(), None).transform
    yield (
        "LogisticRegression",
        gm.LogisticRegression(alpha=1.0).fit(X, y),
        "predict_proba",
        piped(one_hot(), LogisticRegression(max_iter=1000)).predict_proba,
    )
    yield (
        "DensityEmbedding",
        gm.DensityEmbedding().fit(X),
        "anomaly_score",
        piped(one_hot(), IsolationForest()).score_samples,
    )


def one_row(run: Run) -> Iterator[Row]:
    """One row of 12 columns as a dict and as a pandas frame, against the Pipeline, and in onnxruntime."""
    import onnxruntime

    import gramian as gm
    from gramian.exports.check import onnx_inputs
    from gramian.exports.description import described

    rows = table(1000).drop(["bought"])
    row, frame = rows.slice(0, 1).to_pylist()[0], rows.slice(0, 1).to_pandas()
    for name, model, method, peer in contestants(run.rows(20_000)):
        call = getattr(model, method)
        mine, theirs = per_call(lambda call=call: call(row)), per_call(lambda peer=peer: peer(frame))
        yield Row("a", f"{name}, a dict", "", 1e3 * mine, unit="ms", at_most=0.3)
        yield Row("a", f"{name}, a dict", "scikit-learn Pipeline", theirs / mine, at_least=10.0,
                  ours_seconds=mine, peer_seconds=theirs)  # fmt: skip
        yield Row(
            "a", f"{name}, a pandas row", "", 1e3 * per_call(lambda call=call: call(frame)), unit="ms", at_most=1.0
        )
        graph = gm.to_onnx(model, method=method).SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        inputs = onnx_inputs(described(model, method), rows.slice(0, 1))
        spent = per_call(lambda session=session, inputs=inputs: session.run(None, inputs))
        yield Row("a", f"{name}, onnxruntime", "", 1e3 * spent, unit="ms", at_most=0.1)


def query(run: Run) -> Iterator[Row]:
    """A Parquet file of 1,000,000 rows through to_sql in DuckDB, against transform_file."""
    import duckdb

    import gramian as gm

    rows = table(run.rows(1_000_000))
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "rows.parquet", Path(folder) / "out.parquet"
        pq.write_table(rows, path)
        for k in (3, 10):
            model = gm.PCA(k).fit(rows.drop(["bought"]).slice(0, 100_000))
            text = str(gm.to_sql(model, f"'{path}'"))

            def by_query(text: str = text) -> None:
                with duckdb.connect() as database:
                    database.execute(f"COPY ({text}) TO '{out}' (FORMAT parquet)")

            def by_file(model: Any = model) -> None:
                gm.transform_file(model, path, out)

            pair = measure.interleaved(by_query, by_file, run.repeat)
            row = Row("b", f"PCA({k}), {len(rows):,} rows, DuckDB", "transform_file", pair.ratio, at_most=3.0)
            yield replace(row, ours_seconds=pair.first, peer_seconds=pair.second)


def start_up(run: Run) -> Iterator[Row]:
    """A command that touches no rows, and the first collect of a process."""
    import gramian as gm

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.moments"
        rows = table(1000)
        gm.collect(rows).save(path)
        code = f"import sys; from gramian.cli import main; sys.argv = ['gramian', 'inspect', {str(path)!r}]; main()"
        spent = median(measure.process_seconds(code) for _ in range(run.repeat))
        yield Row("c", "gramian inspect x.moments", "", spent, unit="s", at_most=0.8)
        pq.write_table(rows, Path(folder) / "rows.parquet")
        words = ["gramian", "collect", str(Path(folder) / "rows.parquet"), "-o", str(path)]
        code = f"import sys; from gramian.cli import main; sys.argv = {words!r}; main()"
        places = [{"NUMBA_CACHE_DIR": str(Path(folder) / f"cache{k}")} for k in range(run.repeat)]
        spent = median(measure.process_seconds(code, place) for place in places)
        yield Row("c", "first gramian collect, nothing compiled", "", spent, unit="s", at_most=5.0)


CASES = {"a": one_row, "b": query, "c": start_up}


def main(arguments: list[str]) -> int:
    return cases.main("production", __doc__ or "", CASES, Run, arguments)
