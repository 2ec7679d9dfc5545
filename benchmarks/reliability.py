"""What `docs/reliability.md` says of wide tables and of memory: ``python -m benchmarks reliability``.

Every case runs in a process of its own. Seconds are of the processor, all threads together, after a small table has loaded the
libraries and the compiled loops; memory is what the peak of the resident memory grows by over what was there before the call.
"""

from __future__ import annotations

import argparse
import gc
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

import gramian as gm
from benchmarks.measure import alone, peak_bytes
from gramian.arrays.memory import give_back
from gramian.errors import MemoryLimitError

WIDE = {
    "2 rows of 3,000 text columns": ("text", 2, 3_000),
    "2 rows of 5,000 text columns": ("text", 2, 5_000),
    "100 rows of 1,000 integer columns": ("integers", 100, 1_000),
    "100 rows of 5,000 integer columns": ("integers", 100, 5_000),
    "2 rows of 20,000 text columns": ("text", 2, 20_000),
}
FITS = {
    "PCA(n_components=20)": ("levels", 2_000, 1_000),
    "PCA()": ("levels", 2_000, 1_000),
    "Whitening()": ("levels", 2_000, 1_000),
    "FisherDiscriminant()": ("levels", 2_000, 1_000),
    "MahalanobisFeatures()": ("levels", 2_000, 1_000),
    "JointTargetEncoder()": ("levels", 2_000, 1_000),
    "RecursiveEliminator()": ("levels", 2_000, 300),
    "DensityEmbedding()": ("text", 20, 1_000),
    "report": ("text", 20, 3_000),
}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""On a busy machine threads that wait for each other count as work."""
SHAPES = {
    "mixed": "ten text columns of 20 to 110 levels and two of numbers",
    "integers": "twelve columns of integers",
    "floats": "twenty columns of floats",
    "flags": "thirty text columns of two levels",
    "pairs": "four text columns of 5,000 levels",
    "names": "three text columns of 200,000 levels",
}


def _write_ipc(rows: pa.Table, path: Path) -> None:
    with ipc.new_file(path, rows.schema) as file:
        file.write_table(rows, max_chunksize=50_000)


KINDS: dict[str, Callable[[pa.Table, Path], object]] = {
    "parquet": pq.write_table,
    "csv": csv.write_csv,
    "arrow": _write_ipc,
}


def table(kind: str, n: int, columns: int = 0) -> pa.Table:
    rng = np.random.default_rng(0)

    def text(name: str, n_levels: int) -> pa.Array:
        labels = pa.array([f"{name}-{k}" for k in range(n_levels)])
        return labels.take(pa.array(rng.integers(0, n_levels, n)))

    if kind == "levels":
        few = {f"t{k}": text("", 10) for k in range(columns)}
        return pa.table({**few, "y": text("class", 3)})
    if kind == "text":
        return pa.table({f"t{k}": text(f"t{k}", 2) for k in range(columns)})
    if kind == "integers":
        return pa.table(
            {f"i{k}": rng.integers(0, 10 if columns else 10 ** (k % 4 + 1), n) for k in range(columns or 12)}
        )
    if kind == "floats":
        return pa.table({f"f{k}": rng.normal(size=n) for k in range(20)})
    if kind == "pairs":
        return pa.table({f"t{k}": text(f"v{k}", 5_000) for k in range(4)})
    if kind == "names":
        return pa.table({f"t{k}": text(f"v{k}", 200_000) for k in range(3)})
    if kind == "flags":
        return pa.table({f"b{k}": text("", 2) for k in range(30)})
    texts = {f"t{k}": text(f"v{k}", 20 + 10 * k) for k in range(10)}
    return pa.table({**texts, "x": rng.normal(size=n), "y": rng.normal(size=n)})


def wide(kind: str, n: int, columns: int) -> Callable[[], str]:
    """Return a call that collects a table of many columns and says how long the processor took."""
    rows = table(kind, n, columns)
    gm.collect(table(kind, n, 20))

    def call() -> str:
        start = time.process_time()
        try:
            gm.collect(rows)
            words = "collected"
        except MemoryLimitError:
            words = "refused"
        return f"{words}, {time.process_time() - start:.1f} s"

    return call


def fits(names: list[str], kind: str, n: int, columns: int) -> Callable[[], str]:
    """Return a call that fits methods to the moments of one wide table, and says how long the processor took for each."""
    rows = table(kind, n, columns)
    targets = [name for name in rows.column_names if name == "y"]
    moments = gm.collect(rows, targets=targets)
    few = gm.collect(table(kind, n, 20), targets=targets)

    def run(name: str, given: gm.Moments) -> None:
        if name == "report":
            gm.report(given).html()
            return
        estimator, _, parameters = name.partition("(")
        asked = {"n_components": 20} if "20" in parameters else {}
        getattr(gm, estimator)(**asked).fit(given, *(["y"] if targets else []))

    def call() -> str:
        out = []
        for name in names:
            run(name, few)
            start = time.process_time()
            run(name, moments)
            out.append(f"{time.process_time() - start:.1f} s")
        return "; ".join(out)

    return call


def growth(path: str, few: str, limit: str | None, work: str = "collect") -> Callable[[], str]:
    """Return a call that reads a file and says by how many megabytes the peak of memory grows, or what it was refused for.

    A file of a tenth of the rows loads the libraries and the compiled loops, with the same limit; what is free then goes back.
    """
    model = gm.PCA(n_components=4).fit(gm.collect(few)) if work == "transform_file" else None

    def run(source: str) -> str:
        try:
            if model is None:
                gm.collect(source, memory_limit=limit)
            else:
                with tempfile.TemporaryDirectory() as folder:
                    gm.transform_file(model, source, Path(folder) / f"features{Path(source).suffix}")
        except MemoryLimitError as error:
            return f", refused: {str(error).split(';')[0]}"
        return ""

    run(few)
    gc.collect()
    pa.default_memory_pool().release_unused()
    give_back()

    def call() -> str:
        Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
        before = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
        words = run(path)
        return f"{(peak_bytes() - before) / 1e6:.0f} MB{words}"

    return call


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks reliability", description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000, help="rows of the files")
    parser.add_argument("--limit", default="100MB", help="memory_limit")
    parser.add_argument("--only", choices=["wide", "fits", "memory"])
    given = parser.parse_args(arguments)
    if given.only in (None, "wide"):
        for words, case in WIDE.items():
            print(f"{words:40} {alone('benchmarks.reliability:wide', *case).value} of processor time", flush=True)
    if given.only in (None, "fits"):
        for case in dict.fromkeys(FITS.values()):
            names = [name for name, of in FITS.items() if of == case]
            kind, n, columns = case
            levels = "10 levels" if kind == "levels" else "two levels"
            found = str(alone("benchmarks.reliability:fits", names, *case, env=ONE_THREAD).value).split("; ")
            for name, took in zip(names, found, strict=True):
                words = f"{name}, {n:,} rows of {columns:,} categories of {levels}"
                print(f"{words:70} {took} of processor time", flush=True)
    if given.only in (None, "memory"):
        with tempfile.TemporaryDirectory() as folder:
            for shape, words in SHAPES.items():
                rows = table(shape, given.rows if shape == "mixed" else given.rows // 3)
                whole, few = ({kind: Path(folder) / f"{part}.{kind}" for kind in KINDS} for part in ("rows", "few"))
                for files, part in ((whole, rows), (few, rows.slice(0, rows.num_rows // 10))):
                    for kind, write in KINDS.items():
                        write(part, files[kind])
                n_rows = rows.num_rows
                del rows, part
                for kind, path in whole.items():
                    size = path.stat().st_size / 1e6
                    case = ("benchmarks.reliability:growth", str(path), str(few[kind]))
                    found = [f"{alone(*case, at).value} at {at}" for at in (given.limit, None)]
                    if shape == "mixed" and kind in ("csv", "parquet"):
                        found.append(f"{alone(*case, None, 'transform_file').value} in transform_file")
                    print(
                        f"{n_rows:,} rows, {words}, {kind} of {size:.0f} MB: grows by "
                        + "; ".join(found).replace("at None", "without a limit"),
                        flush=True,
                    )
    return 0
