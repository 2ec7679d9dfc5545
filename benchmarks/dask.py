"""Dask's side of `python -m benchmarks scale`: a cluster of two worker processes with a thread each, and its cases.

The cluster runs before the clock starts, and its workers have read a small file: imports and compiled loops are there, as they
are in a cluster that people work with. Bytes are those that arrive at the process of the scheduler and the client, less what
arrives in the same time when nothing is asked; memory is the peak of the larger worker, as the kernel counts it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from benchmarks import cases, measure, synthetic
from benchmarks.report import Row

WORKERS = 2
MILLION = 1_000_000


@contextmanager
def cluster() -> Iterator[Any]:
    """Give a client of worker processes, each with one thread."""
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0")
    with local, Client(local) as client:
        yield client


def warm() -> None:
    """Have every worker import and compile what it needs."""
    import gramian as gm

    path = str(synthetic.zipf_file(100_000))
    for _ in range(3):
        gm.collect([path] * 8, engine="dask", progress=False)


class Arriving:
    """Bytes that have come over the sockets of this process."""

    def __init__(self) -> None:
        from tornado.iostream import IOStream

        self.bytes = 0
        read = IOStream.read_from_fd

        def counted(stream: Any, room: Any) -> Any:
            n = read(stream, room)
            self.bytes += n or 0
            return n

        IOStream.read_from_fd = counted


def collected(path: str, times: int) -> Callable[[], str]:
    """Moments of files that Dask's workers read: rows, seconds, bytes that arrived, peak bytes of a worker."""
    import gramian as gm

    arriving = Arriving()
    held = cluster()
    client = held.__enter__()
    warm()
    time.sleep(1)
    before, idle = arriving.bytes, 3.0
    time.sleep(idle)
    rate = (arriving.bytes - before) / idle

    def run() -> str:
        before, start = arriving.bytes, time.perf_counter()
        n_rows = gm.collect([path] * times, engine="dask", progress=False).n_rows
        seconds = time.perf_counter() - start
        arrived = arriving.bytes - before - rate * seconds
        worker = max(client.run(measure.peak_bytes).values())
        held.__exit__(None, None, None)
        return json.dumps({"rows": n_rows, "seconds": seconds, "bytes": arrived, "worker": worker})

    return run


def dask_ml_pca(path: str, kind: str, k: int = 10) -> Callable[[], str]:
    """PCA of dask-ml on a lazy one-hot array of the same columns, in the threads of this process."""
    import dask.dataframe as dd
    import pyarrow.parquet as pq
    from dask_ml.decomposition import PCA, IncrementalPCA
    from pandas.api.types import is_numeric_dtype

    import dask

    frame = dd.read_parquet(path, split_row_groups=True)
    text = [name for name in frame.columns if not is_numeric_dtype(frame.dtypes[name])]
    n_rows = pq.ParquetFile(path).metadata.num_rows

    def run() -> str:
        coded = frame.categorize(text)
        hot = dd.get_dummies(coded, columns=text, dtype="float64")
        values = hot.to_dask_array(lengths=True)
        # Taller than wide in every block, as a tall-and-skinny decomposition asks for, and no taller than memory allows.
        values = values.rechunk((min(n_rows, 4 * values.shape[1]), -1))
        model = (PCA if kind == "PCA" else IncrementalPCA)(n_components=k)
        with dask.config.set(num_workers=WORKERS):
            model.fit(values)
        return json.dumps({"columns": int(values.shape[1])})

    return run


def our_pca(path: str, k: int = 10) -> Callable[[], str]:
    """Our PCA of the same Dask frame, categories as they are, in the threads of this process."""
    import dask.dataframe as dd

    import dask
    import gramian as gm

    frame = dd.read_parquet(path, split_row_groups=True)

    def run() -> str:
        with dask.config.set(num_workers=WORKERS):
            model = gm.PCA(k, scale=False).fit(frame)
        return json.dumps({"columns": len(model.design_names_)})

    return run


def lacking() -> str:
    """Return what has to be installed first; nothing where all is there."""
    return "" if find_spec("distributed") else "pip install distributed"


def _alone(maker: str, *arguments: object) -> measure.Alone:
    return measure.alone(f"benchmarks.dask:{maker}", *arguments)


def against_local(run: cases.Run) -> Iterator[Row]:
    """One Parquet file listed 20 times: two Dask workers with a thread each against this process with two threads."""
    import gramian as gm

    n, times = run.rows(5 * MILLION), 20
    what = f"{n * times:,} x 12 Parquet on Dask"
    if lacking():
        yield Row("a", what, "local, 2 threads", None, note=lacking())
        return
    files = [str(synthetic.zipf_file(n))] * times
    with cluster():
        warm()
        pair = measure.interleaved(
            lambda: gm.collect(files, engine="dask", progress=False),
            lambda: gm.collect(files, n_jobs=WORKERS, progress=False),
            min(run.repeat, 2),
        )
    yield Row("a", what, "local, 2 threads", pair.ratio, at_most=1.6, ours_seconds=pair.first, peer_seconds=pair.second)


def bytes_and_memory(run: cases.Run) -> Iterator[Row]:
    """What arrives at the scheduler, and what a worker holds: 100,000,000 rows against a quarter of them."""
    path = str(synthetic.zipf_file(run.rows(5 * MILLION)))
    if lacking():
        yield Row("b", "bytes to the scheduler", "a quarter of the rows", None, note=lacking())
        return
    few, many = (json.loads(str(_alone("collected", path, times).value)) for times in (5, 20))
    what = f"{many['rows']:,} rows on Dask"
    told = f"{many['bytes'] / 1e6:.1f} MB, before {few['bytes'] / 1e6:.1f} MB"
    yield Row(
        "b", what, "a quarter of them: bytes to the scheduler", many["bytes"] / few["bytes"], at_most=1.2, floor=told
    )
    yield Row(
        "b", what, "a quarter of them: memory per worker", many["worker"] / few["worker"], at_most=1.2,
        ours_peak=many["worker"], peer_peak=few["worker"],
    )  # fmt: skip


def against_dask_ml(run: cases.Run) -> Iterator[Row]:
    """PCA of a Dask frame against dask-ml's PCA and IncrementalPCA of the same columns as a lazy one-hot array."""
    n = run.rows(100_000)
    path = str(synthetic.text_file(n))
    what = f"{n:,} x 12, 1,502 design columns"
    missing = lacking() or ("" if find_spec("dask_ml") else "pip install dask-ml")
    for kind in ("PCA", "IncrementalPCA"):
        against = f"dask-ml {kind}, one-hot"
        if missing:
            yield Row("d", what, against, None, note=missing)
            continue
        ours = _alone("our_pca", path)
        try:
            peer = _alone("dask_ml_pca", path, kind)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            yield Row("d", what, against, None, note=f"the peer failed: {str(error).splitlines()[-1][:60]}")
            continue
        yield Row(
            "d", what, against, peer.seconds / ours.seconds, at_least=1.0, ours_seconds=ours.seconds,
            peer_seconds=peer.seconds, ours_peak=ours.peak, peer_peak=peer.peak,
        )  # fmt: skip
