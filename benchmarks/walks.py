"""Through how many modules four calls go on a small file, and how often they pass from one module into another.

    python -m benchmarks.walks

A hop is a call from one module of the package into another, whichever library stands between the two, properties, kernels and
every step of a generator among them. The file has 1,000 rows of two texts, a float and an integer of five values. Calls are
counted once all is loaded and compiled. Hops of a batch are those of ten batches less those of one, divided by nine.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gramian as gm
import gramian.engines.base

PACKAGE = os.path.dirname(gramian.__file__) + os.sep
ROWS = 1000


class Walk:
    """The modules that a call goes through, and its hops."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.modules: set[str] = set()
        self.hops = 0
        call()
        threading.setprofile(self._count)
        sys.setprofile(self._count)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _count(self, frame: Any, event: str, _: Any) -> None:
        module = frame.f_code.co_filename
        if event != "call" or not module.startswith(PACKAGE):
            return
        self.modules.add(module)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        # What a thread begins with is a hop from the thread that gave it the work.
        self.hops += caller is None or caller.f_code.co_filename != module


def walks() -> dict[str, Callable[[], Any]]:
    """Return the four calls, by name, on files in the working directory."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.choice(list("xyz"), ROWS),
            "b": rng.choice(list("uvw"), ROWS),
            "x": rng.normal(size=ROWS),
            "k": rng.integers(0, 5, ROWS),
        }
    )
    pq.write_table(table, "x.parquet")
    moments = gm.collect(table)
    model = gm.PCA(2).fit(moments)
    gm.save(gm.DensityEmbedding().fit(moments), "density.model")

    def detect() -> None:
        from gramian.cli.running import run

        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            run(["detect", "density.model", "x.parquet", "-o", "scores.parquet"])

    return {
        "collect": lambda: gm.collect("x.parquet"),
        "fit": lambda: gm.PCA(2).fit(moments),
        "transform_file": lambda: gm.transform_file(model, "x.parquet", "features.parquet"),
        "detect": detect,
    }


def main() -> None:
    """Print one line a call."""
    print("| walk | modules | hops | hops per batch |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, call in walks().items():
            walk, more = Walk(call), ""
            if name in ("transform_file", "detect"):
                usual, gramian.engines.base.BATCH_ROWS = gramian.engines.base.BATCH_ROWS, ROWS // 10
                more = f"{(Walk(call).hops - walk.hops) / 9:.0f}"
                gramian.engines.base.BATCH_ROWS = usual
            print(f"| {name} | {len(walk.modules)} | {walk.hops} | {more} |")


if __name__ == "__main__":
    main()
