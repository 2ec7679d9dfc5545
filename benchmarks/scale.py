"""Beyond one machine: the same pass on a cluster, and a billion rows on this one.

One Parquet file of ten text columns and two numbers, in row groups of 250,000, is listed many times, so that the disk holds one
file and the pass reads as many rows as are asked for. Every ratio is of two runs on this machine; a cluster here is processes
of the same two cores, so that a ratio of 1 means that nothing is lost, not that nothing is gained.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator

from benchmarks import cases, cost_model, dask, measure, spark, synthetic
from benchmarks.cases import Run
from benchmarks.report import Row

MILLION = 1_000_000


def collected(path: str, times: int) -> Callable[[], object]:
    """Moments of one file listed several times, in this process with two threads."""
    import gramian as gm

    gm.collect(str(synthetic.zipf_file(100_000)))
    return lambda: gm.collect([path] * times, n_jobs=2, progress=False).n_rows


def a_billion(run: Run) -> Iterator[Row]:
    """A billion rows in this process: one file listed 200 times, against 20 times and against once."""
    n = run.rows(5 * MILLION)
    path = str(synthetic.zipf_file(n))
    once, some, many = (measure.alone("benchmarks.scale:collected", path, times) for times in (1, 20, 200))
    if many.value != 200 * n:
        raise AssertionError(f"200 files of {n} rows gave {many.value} rows")
    what = f"{200 * n:,} x 12 Parquet, locally"
    shared = {"ours_seconds": many.seconds, "ours_peak": many.peak}
    yield Row(
        "c", what, "ten times a tenth: time", many.seconds / (10 * some.seconds), at_most=1.1,
        peer_seconds=some.seconds, peer_peak=some.peak, **shared,
    )  # fmt: skip
    yield Row(
        "c", what, "one file: peak memory", many.peak / once.peak, at_most=1.2,
        peer_seconds=once.seconds, peer_peak=once.peak, **shared,
    )  # fmt: skip


def kept_progress(run: Run) -> Iterator[Row]:
    """A pass that keeps its progress in a file every second (by default every five), against one that keeps none."""
    import gramian as gm
    from gramian.engines.checkpoint import Checkpoint

    n = run.rows(5 * MILLION)
    paths = [str(synthetic.zipf_file(n))] * 8
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoint(os.path.join(folder, "kept"), seconds=1.0)
        row = Row("k", f"{8 * n:,} x 12 Parquet with a checkpoint", "without one", None, at_most=1.03)
        yield run.compare(
            row,
            lambda: gm.collect(paths, n_jobs=2, progress=False, checkpoint=kept),
            lambda: gm.collect(paths, n_jobs=2, progress=False),
        )


CASES: dict[str, cases.Case] = {
    "a": dask.against_local,
    "b": dask.bytes_and_memory,
    "c": a_billion,
    "d": dask.against_dask_ml,
    "e": spark.against_local,
    "f": spark.memory_of_workers,
    "g": spark.against_spark_ml,
    "h": cost_model.predicted,
    "k": kept_progress,
}


def main(arguments: list[str]) -> int:
    return cases.main("scale", __doc__ or "", CASES, Run, arguments)
