"""Odd rows: a pool of problems against peers, how little two constants matter, false alarms, a wide column and a large file.

One default of ours for every problem. The pool is `anomaly_pool.py` in a folder of its own; everything else is generated.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import before, clean, measure, pool, pool_report, report, synthetic, wide_column
from benchmarks.detectors import OURS, PEERS, REPLACED, ROWS, missing, ours
from benchmarks.measure import Call
from benchmarks.report import Row
from benchmarks.tree_scores import POWER, PRIOR, named, tree_scores

PRIORS = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0)
POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, float("inf"))

Options = argparse.Namespace


def problems_of(options: Options) -> list[pool.Problem]:
    if not (options.pool / "anomaly_pool.py").exists():
        raise SystemExit(f"no anomaly_pool.py in {options.pool}; name the folder of the pool with --pool")
    return pool.load(options.pool, [s for s in options.sources.split(",") if s], options.seeds)


def case_a(options: Options) -> Iterator[Row]:
    """The pool: our three scores, the one they replace and the peers."""
    for package in dict.fromkeys(p for _, p in PEERS.values() if missing(p)):
        print(f"not measured: pip install {package}")
    skipped = options.skip.split(",")
    detectors = {
        **{score: ours(score) for score in OURS if score not in skipped},
        **{name: make for name, (make, package) in PEERS.items() if name not in skipped and not missing(package)},
    }
    known = pool.saved(options.marks) if options.marks else {}
    marks = pool.measured(problems_of(options), detectors, ROWS, known)
    if options.marks:
        pool.save({key: {**known.get(key, {}), **found} for key, found in {**known, **marks}.items()}, options.marks)
    seconds = {d: sum(found[d].seconds for found in marks.values()) for d in detectors}
    problems = pool.problem_means(marks)
    with_replaced = {}
    for (source, name), found in problems.items():
        mine = {d: f for d, f in found.items() if d in OURS}
        # Kept as means over three seeds: with fewer they are figures of other rows.
        kept = {REPLACED: before.POOL[name]} if options.seeds == before.SEEDS else {}
        with_replaced[source, name] = {**mine, **kept, **found}
    pool_report.show(with_replaced, seconds)
    print(f"\n{REPLACED}: {before.MEASURED}. seconds: of the processor, to fit and score all problems once each")
    print(f"LOF on more than {ROWS['LOF']:,} rows: fitted to, and judged on, a sample of so many\n")
    yield from pool_report.verdicts(with_replaced)


def case_b(options: Options) -> Iterator[Row]:
    """A file of 5,000,000 rows: fit, and score to another file."""
    n, neighbours = options.rows, measure.Neighbours()
    pair = measure.interleaved(fit_and_score(n), scan(n), options.repeat)
    alone = measure.alone("benchmarks.anomalies:fit_and_score", n)
    tenth = measure.alone("benchmarks.anomalies:fit_and_score", n // 10)
    yield Row(
        "b", f"{n:,} x 10 text: fit, score to Parquet", "bare scan", pair.ratio, at_most=6, ours_seconds=pair.first,
        peer_seconds=pair.second, ours_peak=alone.peak, neighbours=neighbours.cores(),
    )  # fmt: skip
    growth = (alone.peak - tenth.peak) / 1e9
    yield Row(
        "b", "peak memory beyond a tenth of the rows", "0.5 GB", growth, unit="GB", at_most=0.5, ours_peak=alone.peak
    )


def text10_file(n_rows: int) -> Path:
    """Return a Parquet file of ten text columns of 2 to 1,000 levels."""
    path = synthetic.folder() / f"text10-{n_rows}.parquet"
    if not path.exists():
        synthetic._write(synthetic._text_table(synthetic.codes(n_rows, synthetic.TEXT, seed=3), synthetic.TEXT), path)
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
    return lambda: pq.read_table(path, read_dictionary=synthetic.names(synthetic.TEXT))


def case_c(options: Options) -> Iterator[Row]:
    """How little the two constants of the score matter: AUC and AP on the pool for others."""
    constants = [*((a, POWER) for a in PRIORS), *((PRIOR, q) for q in POWERS if q != POWER)]
    marks = pool.measured(problems_of(options), {"constants": lambda problem: tree_scores(problem, constants)}, {})
    sources = pool.source_means(pool.problem_means(marks))
    chosen = {s: found[named(PRIOR, POWER)] for s, found in sources.items()}
    for a, q in constants:
        found = {s: f[named(a, q)] for s, f in sources.items()}
        (auc, _), (ap, _) = (pool.mean_and_error([f[i] for f in found.values()]) for i in (0, 1))
        gap, error = pool.mean_and_error([found[s][0] - chosen[s][0] for s in sources])
        gap_ap, error_ap = pool.mean_and_error([found[s][1] - chosen[s][1] for s in sources])
        note = f"AUC {auc:.4f} {gap:+.4f} ({error:.4f}), AP {ap:.4f} {gap_ap:+.4f} ({error_ap:.4f})"
        yield Row("c", f"prior {a:g}, power {q:g}", "the library's constants", gap, unit="", floor=note)


def case_d(options: Options) -> Iterator[Row]:
    """False alarms on fresh rows of thirteen clean generators, by contamination='auto'."""
    for found in clean.measured(OURS, options.sizes):
        share, old = 100 * found.flagged, before.FALSE_ALARMS.get((found.generator, found.rows))
        note = f"before, at nominal 5%: {old:.2f}%" if old is not None and found.score == "trees" else ""
        note += f"{'; ' if note else ''}{100 * found.unseen:.1f}% of rows hold an unseen level" if found.unseen else ""
        row = Row("d", f"{found.generator}, {found.rows:,} rows", found.score, share, unit="%", floor=note)
        low, high = 100 * clean.NOMINAL * clean.LOW, 100 * clean.NOMINAL * clean.HIGH
        yield replace(row, at_most=high) if share >= low else replace(row, at_least=low)


def case_e(options: Options) -> Iterator[Row]:
    """A column of 8,000 levels among twelve: seconds, and bytes of the model."""
    # Not mahalanobis: its embedding is dense over all levels, whatever the pairs that were seen.
    yield from wide_column.detector(int(wide_column.ROWS * options.rows / 5_000_000), ("trees", "walk"), before.WIDE)


CASES: dict[str, Callable[[Options], Iterator[Row]]] = {"a": case_a, "b": case_b, "c": case_c, "d": case_d, "e": case_e}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks anomalies",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="cases:\n" + "\n".join(f"  {key}  {case.__doc__}" for key, case in CASES.items()),
    )
    shared = Path(__file__).parents[2] / "shared" / "anomaly"
    parser.add_argument("--pool", type=Path, default=shared, help="folder of anomaly_pool.py")
    parser.add_argument("--sources", default="", help="sources of the pool, comma separated; all by default")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each derived or generated problem")
    parser.add_argument("--skip", default="", help="names of detectors to leave out, comma separated")
    parser.add_argument("--marks", type=Path, help="file in which the marks of detectors are kept from run to run")
    parser.add_argument("--only", default=",".join(CASES), help="cases to run, such as a,d", metavar="CASES")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the large file; the wide table follows")
    sizes = lambda text: [int(n) for n in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=sizes, default=list(clean.FITS), help="rows of clean tables, comma separated")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    unknown = set(options.only.split(",")) - set(CASES)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    rows = [report.keep(row) for key in options.only.split(",") for row in CASES[key](options)]
    report.show(rows)
    return 0
