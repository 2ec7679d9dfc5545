"""Additive models with crosses on large tables: files larger than memory in multiples of one plain pass, and against EBM.

The table has eight categories of 2 to 20 levels, three numbers and a target, of which three pairs of columns say more than
the columns do. Each fit runs in a process of its own; its memory is the peak of that process. Files are read again by every
pass, as they are where the rows would take more than a quarter of the free memory; with `--keep` they are kept.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm
from gramian.engines import weighted

LEVELS = (2, 3, 4, 5, 6, 8, 12, 20)
CHUNK = 500_000
MODELS = {"y": gm.AdditiveRegressor, "won": gm.AdditiveClassifier}
"""By target: a number, and two classes."""


def drawn(n: int, seed: int, target: str) -> pa.Table:
    """Return rows of the table."""
    rng = np.random.default_rng(seed)
    codes = [np.minimum((size * rng.random(n) ** 1.5).astype(np.int32), size - 1) for size in LEVELS]
    x, z, u = rng.normal(size=n), rng.gamma(2.0, 1.0, n), rng.random(n)
    effects = [np.random.default_rng(k).normal(0, 0.4, size) for k, size in enumerate(LEVELS)]
    eta = np.sin(2 * x) + 0.3 * np.log(z + 0.1) + 0.6 * x * (codes[0] == 1) + 1.5 * (u > 0.5) * (z > 2.0)
    for effect, code in zip(effects, codes, strict=True):
        eta += effect[code]
    eta += np.random.default_rng(99).normal(0, 0.5, (LEVELS[3], LEVELS[4]))[codes[3], codes[4]]
    columns: dict[str, Any] = {
        f"c{size}": pa.DictionaryArray.from_arrays(pa.array(code), pa.array([f"v{k}" for k in range(size)]))
        for size, code in zip(LEVELS, codes, strict=True)
    }
    noise = rng.logistic(size=n) if target == "won" else rng.normal(size=n)
    columns |= {"x": x, "z": z, "u": u}
    columns[target] = np.where(eta - 1.0 + noise > 0, "yes", "no") if target == "won" else eta + noise
    return pa.table(columns)


def written(folder: Path, n: int, target: str) -> Path:
    """Write the table to a Parquet file, unless it is there."""
    path = folder / f"rows_{n}_{target}.parquet"
    if not path.exists():
        partial_path = path.with_suffix(".part")
        with pq.ParquetWriter(partial_path, drawn(10, 0, target).schema) as writer:
            for k, start in enumerate(range(0, n, CHUNK)):
                writer.write_table(drawn(min(CHUNK, n - start), k, target))
        partial_path.rename(path)
    return path


def processor_seconds() -> float:
    """Return how long this process and those that it started and waited for have worked."""
    return sum(os.times()[:4])


def measured(call: Callable[[], str]) -> dict[str, Any]:
    """Return what a call in a process of its own took, and what it says."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run() -> None:
        clock, processor = time.perf_counter(), processor_seconds()
        said = call()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        theirs.send(
            {
                "clock": time.perf_counter() - clock,
                "processor": processor_seconds() - processor,
                "memory": memory,
                "said": said,
            }
        )

    child = context.Process(target=run)
    child.start()
    theirs.close()
    try:
        found: dict[str, Any] = ours.recv()
    finally:
        child.join()
    return found


def say(label: str, found: dict[str, Any], plain: dict[str, Any] | None = None) -> None:
    times = "" if plain is None else f" {found['processor'] / plain['processor']:6.1f} plain passes"
    print(
        f"{label:44} {found['clock']:7.1f} s, {found['processor']:7.1f} s of the processor,{times} {found['memory']:6.0f} MB"
        f"  {found['said']}",
        flush=True,
    )


def plain_pass(path: Path, target: str) -> str:
    return f"{gm.collect(path, targets=target).n_rows:,} rows"


def additive(source: Any, target: str, crosses: Any) -> str:
    model = MODELS[target](crosses=crosses).fit(source, target)
    return f"{model.n_iter_} passes, {len(model.crosses_)} crosses, {len(model.design_names_)} design columns"


def boosted_sums(frame: pd.DataFrame, target: str, bags: int) -> str:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if target == "won" else ExplainableBoostingRegressor
    kind(random_state=0, n_jobs=2, outer_bags=bags).fit(frame.drop(columns=target), frame[target])
    return f"{bags} outer bags"


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks cross_scale", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--sizes", default="2000000,20000000", help="rows")
    parser.add_argument("--targets", default="y,won")
    parser.add_argument("--crosses", default="20", help="how many, or auto")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="where the files are written")
    parser.add_argument(
        "--keep", action="store_true", help="keep encoded rows in memory, as a fit does where there is room"
    )
    parser.add_argument(
        "--frame", action="store_true", help="rows as a frame in memory, and EBM beside the additive model"
    )
    parser.add_argument("--bags", type=int, default=14, help="outer bags of EBM; 0: without EBM")
    options = parser.parse_args(arguments)
    crosses = options.crosses if options.crosses == "auto" else int(options.crosses)
    if not options.keep and not options.frame:
        weighted.available_memory = lambda: 0  # type: ignore[assignment]
    small = drawn(2000, 0, "y").to_pandas()
    gm.AdditiveRegressor(crosses=1).fit(small, "y")  # so that forked processes have everything loaded
    for target in options.targets.split(","):
        for n in map(int, options.sizes.split(",")):
            label = f"{n:,} rows, {MODELS[target].__name__}"
            if options.frame:
                frame = pd.concat(
                    [drawn(min(CHUNK, n - at), k, target).to_pandas() for k, at in enumerate(range(0, n, CHUNK))],
                    ignore_index=True,
                )
                say(label, measured(partial(additive, frame, target, crosses)))
                if options.bags:
                    say(f"{n:,} rows, EBM", measured(partial(boosted_sums, frame, target, options.bags)))
                continue
            path = written(options.folder, n, target)
            plain = measured(partial(plain_pass, path, target))
            say(f"{n:,} rows, one pass of collect", plain, plain)
            say(label, measured(partial(additive, path, target, crosses)), plain)
    return 0
