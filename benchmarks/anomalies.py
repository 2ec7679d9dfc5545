"""Odd rows in public categorical sets, and in a large file.

One default of ours for every set, against published peers: area under the ROC curve (AUC), average precision (AP) and
seconds to fit and score. Then a file of text columns: fitting and scoring it to another file, against a bare scan of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import measure, report, tables
from benchmarks.detectors import DETECTORS, LOF_ROWS, missing
from benchmarks.measure import Call
from benchmarks.report import Row

FAST_ROWS = 10_000
"""Sets of more rows than this are held to be faster than every peer."""

Marks = dict[str, dict[str, tuple[float, float, float]]]
"""Per set and detector: AUC, AP, seconds."""


def sets(folder: Path, only: list[str]) -> Iterator[tuple[str, pa.Table, np.ndarray]]:
    """Yield the anomaly sets of the catalog: name, columns, and which rows are odd."""
    catalog = json.loads((folder / "catalog.json").read_text())
    for name, about in catalog.items():
        if about["task"] == "anomaly" and (not only or name.removeprefix("ad_") in only):
            table = pq.read_table(folder / f"{name}.parquet")
            odd = np.array(table[about["target"]].to_pylist()) == about["positive"]
            yield name.removeprefix("ad_"), table.drop_columns([about["target"]]), odd


def measured(folder: Path, only: list[str], skip: list[str]) -> Marks:
    """Run every detector on every set."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    marks: Marks = {}
    for name, table, odd in sets(folder, only):
        marks[name] = {}
        for detector, (make, package) in DETECTORS.items():
            if missing(package) or detector in skip:
                continue
            rows = np.arange(len(odd))
            if detector == "LOF" and len(odd) > LOF_ROWS:
                rows = np.random.default_rng(0).choice(len(odd), LOF_ROWS, replace=False)
            print(f"{name}: {detector}", file=sys.stderr)
            call = make(table.take(rows) if len(rows) < len(odd) else table)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if detector == "ours":
                    call()  # loads the kernels
                found: list[np.ndarray] = []
                seconds = measure.seconds_of(lambda call=call, found=found: found.append(call()))
            # A detector that cannot tell a row scores NaN: as odd as any.
            scores = np.nan_to_num(found[0], nan=np.nanmax(found[0]), posinf=1e300)
            quality = [float(measure_(odd[rows], scores)) for measure_ in (roc_auc_score, average_precision_score)]
            marks[name][detector] = (quality[0], quality[1], seconds)
    return marks


def show(marks: Marks, sizes: dict[str, int]) -> None:
    """Print one table a measure, ours in the first column, and what is lost to whom."""
    names = [d for d in DETECTORS if any(d in found for found in marks.values())]
    for title, which, form in (("AUC", 0, "{:.3f}"), ("average precision", 1, "{:.3f}"), ("seconds", 2, "{:.3g}")):
        print(f"\n{title:18}" + "".join(f"{n:>16}" for n in names))
        for name, found in marks.items():
            cells = [form.format(found[d][which]) if d in found else "" for d in names]
            print(f"{name:18}" + "".join(f"{c:>16}" for c in cells))
        if which < 2:
            means = [np.mean([f[d][which] for f in marks.values() if d in f]) for d in names]
            print(f"{'mean':18}" + "".join(f"{form.format(m):>16}" for m in means))
    print("\nahead of us (AUC by more than 0.0005):")
    for d in names[1:]:
        lost = [
            f"{n} {f[d][0]:.3f} > {f['ours'][0]:.3f}"
            for n, f in marks.items()
            if d in f and f[d][0] > f["ours"][0] + 5e-4
        ]
        print(f"  {d:16} {', '.join(lost) or 'nowhere'}")
    print(f"\nfaster than us on sets of more than {FAST_ROWS:,} rows:")
    for d in names[1:]:
        lost = [
            f"{n} {f[d][2]:.3g} s < {f['ours'][2]:.3g} s"
            for n, f in marks.items()
            if d in f and sizes[n] > FAST_ROWS and f[d][2] < f["ours"][2]
        ]
        print(f"  {d:16} {', '.join(lost) or 'none'}")


def verdicts(marks: Marks) -> Iterator[Row]:
    """Yield our mean AUC less that of each peer, over the sets that both ran on."""
    for d in DETECTORS:
        both = [f for f in marks.values() if d in f and d != "ours"]
        if both:
            gain = float(np.mean([f["ours"][0] - f[d][0] for f in both]))
            wins = sum(f["ours"][0] > f[d][0] for f in both)
            yield Row("a", f"mean AUC above, {wins} of {len(both)} sets", d, gain, unit="", at_least=0.0)


def text10_file(n_rows: int) -> Path:
    """Return a Parquet file of ten text columns of 2 to 1,000 levels."""
    path = tables.folder() / f"text10-{n_rows}.parquet"
    if not path.exists():
        tables._write(tables._text_table(tables.codes(n_rows, tables.TEXT, seed=3), tables.TEXT), path)
    return path


def fit_and_score(n_rows: int) -> Call:
    """Return a call that fits a detector to the file and writes the score of each of its rows to another."""
    import gramian as gm

    path = str(text10_file(n_rows))
    warm = pq.ParquetFile(path).read_row_group(0).slice(0, 1000)
    gm.DensityEmbedding().fit(warm).anomaly_score(warm)

    def call() -> int:
        model = gm.DensityEmbedding().fit(path)
        with tempfile.TemporaryDirectory() as folder:
            return gm.transform_file(model, path, os.path.join(folder, "scores.parquet"), method="anomaly_score")

    return call


def scan(n_rows: int) -> Call:
    path = text10_file(n_rows)
    return lambda: pq.read_table(path, read_dictionary=tables.names(tables.TEXT))


def large_file(n_rows: int, repeat: int) -> Iterator[Row]:
    neighbours = measure.Neighbours()
    pair = measure.interleaved(fit_and_score(n_rows), scan(n_rows), repeat)
    alone = measure.alone("benchmarks.anomalies:fit_and_score", n_rows)
    tenth = measure.alone("benchmarks.anomalies:fit_and_score", n_rows // 10)
    common = {"ours_seconds": pair.first, "peer_seconds": pair.second, "neighbours": neighbours.cores()}
    yield Row(
        "b",
        f"{n_rows:,} x 10 text: fit, score to Parquet",
        "bare scan",
        pair.ratio,
        at_most=6,
        ours_peak=alone.peak,
        **common,
    )
    growth = (alone.peak - tenth.peak) / 1e9
    yield Row(
        "b", "peak memory beyond a tenth of the rows", "0.5 GB", growth, unit="GB", at_most=0.5, ours_peak=alone.peak
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks anomalies", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data", help="folder of the sets"
    )
    parser.add_argument("--sets", default="", help="names of sets, comma separated, without ad_")
    parser.add_argument("--skip", default="", help="names of detectors to leave out, comma separated")
    parser.add_argument("--only", default="a,b", help="a: the sets, b: the large file")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the large file")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    chosen, skip = [s for s in options.sets.split(",") if s], options.skip.split(",")
    for package in dict.fromkeys(p for _, p in DETECTORS.values() if missing(p)):
        print(f"not measured: pip install {package}")
    rows: list[Row] = []
    if "a" in options.only:
        if not (options.data / "catalog.json").exists():
            print(f"no catalog.json in {options.data}; name the folder of the sets with --data")
            return 1
        marks = measured(options.data, chosen, skip)
        show(marks, {name: len(odd) for name, _, odd in sets(options.data, chosen)})
        print(f"\nLOF on sets of more than {LOF_ROWS:,} rows: fitted to, and judged on, a sample of so many\n")
        rows += verdicts(marks)
    if "b" in options.only:
        rows += large_file(options.rows, options.repeat)
    report.show(rows)
    return 0
