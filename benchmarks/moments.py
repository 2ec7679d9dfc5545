"""Collecting moments against peers, from tables in memory and from Parquet files.

Cases a to d, g and j compare time with a peer in the same run, e and f add peak memory, h and i are start-up
times. Times are the best of several interleaved calls; a ratio is the median over neighbouring calls. Peak
memory is that of a process that does nothing else, the data it starts from included.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median

import numpy as np

from benchmarks import cases, measure, peers, synthetic
from benchmarks.report import Row

MILLION = 1_000_000


class Run(cases.Run):
    """The comparisons that the cases share."""

    def alone(self, maker: str, *arguments: object) -> measure.Alone:
        """Run a contestant of `benchmarks.peers` in a process of its own."""
        return measure.alone(f"benchmarks.peers:{maker}", *arguments)

    def versus(
        self,
        row: Row,
        ours: tuple[object, ...],
        peer: tuple[object, ...],
        *,
        needs: str = "",
        once: bool = False,
    ) -> Row:
        """Fill in a row from two contestants, given as ``(maker, *arguments)`` of `benchmarks.peers`.

        With `once` the peer is run a single time, in a process of its own.
        """
        if needs and find_spec(needs) is None:
            return Row(row.case, row.what, row.against, None, note=f"pip install {needs}")
        mine, theirs = self.alone(*ours), self.alone(*peer)  # type: ignore[arg-type]
        first = getattr(peers, str(ours[0]))(*ours[1:])
        if once:
            seconds = measure.best(first, self.repeat)
            pair = measure.Pair(seconds, theirs.seconds, seconds / theirs.seconds)
        else:
            pair = measure.interleaved(first, getattr(peers, str(peer[0]))(*peer[1:]), self.repeat)
        return Row(
            row.case,
            row.what,
            row.against,
            1 / pair.ratio if row.at_least is not None else pair.ratio,
            at_most=row.at_most,
            at_least=row.at_least,
            ours_seconds=pair.first,
            peer_seconds=pair.second,
            ours_peak=mine.peak,
            peer_peak=theirs.peak,
            floor=row.floor,
            note=row.note,
        )

    def fastest_scan(self, file: str, n_rows: int, *forms: bool) -> tuple[object, ...]:
        """Return the quickest of pyarrow's ways to read a file, as a contestant."""
        makers = [("scan", file, n_rows, how, form) for how in peers.SCANS for form in forms]
        return min(makers, key=lambda maker: measure.best(peers.scan(*maker[1:]), self.repeat))


def case_a(run: Run) -> Iterator[Row]:
    """1,000,000 x 20 categorical columns, 1,990 levels, from codes in memory."""
    n = run.rows(MILLION)
    what = f"{n:,} x 20 categories"
    floor = f"{n * 190 / 1e6:.0f} M increments"
    ours = ("ours_categorical", n)
    row = Row("a", what, "tabmat sandwich", None, at_least=4, floor=floor)
    yield run.versus(row, ours, ("tabmat_categorical", n), needs="tabmat")
    yield run.versus(Row("a", what, "scipy one-hot X.T @ X", None, at_least=45), ours, ("scipy_categorical", n))
    check_categorical()


def check_categorical(n_rows: int = 20_000) -> None:
    """Fail unless ours and a plain count agree on a table of the same kind."""
    import gramian as gm

    m = gm.collect(synthetic.categorical(n_rows))
    columns, levels = synthetic.codes(n_rows, synthetic.CATEGORICAL), synthetic.CATEGORICAL
    for a, b in ((0, 19), (5, 12), (18, 19)):
        expected = np.zeros((levels[a], levels[b]), np.int64)
        np.add.at(expected, (columns[a], columns[b]), 1)
        rows = [int(label[6:]) for label in m.levels(f"c{a:02d}")]
        cols = [int(label[6:]) for label in m.levels(f"c{b:02d}")]
        np.testing.assert_array_equal(m.crosstab(f"c{a:02d}", f"c{b:02d}"), expected[np.ix_(rows, cols)])


def case_b(run: Run) -> Iterator[Row]:
    """200,000 x 300 boolean columns from an Arrow table."""
    n = run.rows(200_000)
    what = f"{n:,} x 300 booleans"
    row = Row("b", what, "float32 X.T @ X", None, at_most=1.5, floor=f"{n / 64 * 300 * 301 / 2 / 1e6:.0f} M words")
    yield run.versus(row, ("ours_booleans", n), ("numpy_booleans", n))
    if run.slow:
        row = Row("b", what, "tabmat sandwich", None, note="for information")
        yield run.versus(row, ("ours_booleans", n), ("tabmat_booleans", n), needs="tabmat", once=True)


def case_c(run: Run) -> Iterator[Row]:
    """5,000,000 x 12 from one Parquet file: ten text columns, two numbers."""
    n = run.rows(5 * MILLION)
    what = f"{n:,} x 12 Parquet"
    size = synthetic.text_file(n).stat().st_size
    scan = run.fastest_scan("text", n, False)
    row = Row(
        "c",
        what,
        f"bare scan ({scan[3]})",
        None,
        at_most=3,
        floor=f"{size / 1e6:.0f} MB, {n * 45 / 1e6:.0f} M increments",
    )
    yield run.versus(row, ("ours_text", n), scan)
    row = Row("c", what, "pandas, OneHotEncoder, Gram", None, at_least=60)
    yield run.versus(row, ("ours_text", n), ("sklearn_text", n), needs="pandas", once=True)


def case_d(run: Run) -> Iterator[Row]:
    """500,000 x 200 float64 in memory."""
    n = run.rows(500_000)
    row = Row(
        "d",
        f"{n:,} x 200 float64",
        "X.T @ X",
        None,
        at_most=1.25,
        floor=f"{n * 200 * 200 / 1e9:.0f} Gflop (half of a product)",
    )
    yield run.versus(row, ("ours_numbers", n), ("numpy_numbers", n))


def case_e(run: Run) -> Iterator[Row]:
    """The file of c listed twenty times: time grows linearly, memory does not."""
    n = run.rows(5 * MILLION)
    once = [run.alone("ours_text", n) for _ in range(run.repeat)]
    many = run.alone("ours_text", n, 20)
    if many.value != 20 * n:
        raise AssertionError(f"twenty files of {n} rows gave {many.value} rows")
    seconds, peak = min(a.seconds for a in once), median(a.peak for a in once)
    what = f"{n:,} x 12 Parquet, 20 times"
    shared = {
        "ours_seconds": many.seconds,
        "peer_seconds": seconds,
        "ours_peak": many.peak,
        "peer_peak": int(peak),
    }
    yield Row("e", what, "once: time", many.seconds / seconds, at_most=20, **shared)  # type: ignore[arg-type]
    yield Row("e", what, "once: peak memory", many.peak / peak, at_most=1.2, **shared)  # type: ignore[arg-type]


def case_f(run: Run) -> Iterator[Row]:
    """Two columns of 200,000 levels among ten, from Parquet."""
    n = run.rows(5 * MILLION)
    what = f"{n:,} x 10, two of 200,000 levels"
    pairs = synthetic.wide_pairs(n)
    size = synthetic.wide_file(n).stat().st_size
    scan = run.fastest_scan("wide", n, False, True)
    row = Row(
        "f",
        what,
        f"bare scan ({scan[3]})",
        None,
        at_most=3,
        floor=f"{size / 1e6:.0f} MB, {pairs / 1e6:.1f} M distinct pairs",
    )
    timed = run.versus(row, ("ours_wide", n), scan)
    yield timed
    if scan[4]:
        codes = run.fastest_scan("wide", n, False)
        row = Row("f", what, f"scan as codes ({codes[3]})", None, note="for information")
        yield run.versus(row, ("ours_wide", n), codes)
    if timed.ours_peak is not None:
        allowed = (24 * pairs + 0.6e9) / 1e9
        yield Row(
            "f",
            what,
            "24 bytes a pair + 0.6 GB",
            timed.ours_peak / 1e9,
            "GB",
            at_most=allowed,
            ours_peak=timed.ours_peak,
        )


def case_g(run: Run) -> Iterator[Row]:
    """Five folds against none, on the file of c."""
    n = run.rows(5 * MILLION)
    row = Row("g", f"{n:,} x 12 Parquet, folds=5", "no folds", None, at_most=1.7)
    yield run.versus(row, ("ours_text", n, 1, 5), ("ours_text", n))


def case_j(run: Run) -> Iterator[Row]:
    """Short and long Parquet files in row groups of 250,000: ten text columns by Zipf's law, two numbers."""
    for millions, target in ((0.5, None), (2, 3), (5, 3)):
        n = run.rows(int(millions * MILLION))
        what, floor = f"{n:,} x 12 Parquet, row groups", f"{n * 45 / 1e6:.0f} M increments"
        scan = ("scan", "zipf", n, "read_table")
        yield run.versus(
            Row("j", what, "bare read_table", None, at_most=target, floor=floor, note="for information"),
            ("ours_zipf", n),
            scan,
        )
        ours, bare = (
            measure.cpu_seconds(getattr(peers, str(c[0]))(*c[1:]), run.repeat) for c in (("ours_zipf", n), scan)
        )
        yield Row("j", what, "its CPU", ours / bare, ours_seconds=ours, peer_seconds=bare, note="for information")
        yield run.versus(
            Row("j", f"{what}, folds=5", "no folds", None, note="for information"),
            ("ours_zipf", n, 5),
            ("ours_zipf", n),
        )


COLD = "from benchmarks.peers import small_table; import gramian as gm; gm.collect(small_table())"


def case_h(run: Run) -> Iterator[Row]:
    """The first collect of all: interpreter, imports and compilation, with an empty kernel cache."""

    def cold() -> float:
        with tempfile.TemporaryDirectory() as cache:
            return measure.process_seconds(COLD, {"NUMBA_CACHE_DIR": cache})

    seconds = min(cold() for _ in range(min(run.repeat, 3)))
    warm = min(measure.process_seconds(COLD) for _ in range(run.repeat))
    yield Row(
        "h",
        "first collect, no kernel cache",
        "with the cache",
        seconds,
        "s",
        at_most=8,
        ours_seconds=seconds,
        peer_seconds=warm,
    )


def case_i(run: Run) -> Iterator[Row]:
    """The time of an import."""
    pair = measure.interleaved(
        lambda: measure.process_seconds("import gramian"),
        lambda: measure.process_seconds("import sklearn"),
        max(run.repeat, 10),
    )
    yield Row(
        "i",
        "import gramian",
        "import sklearn",
        pair.first / pair.second,
        at_most=1.3,
        ours_seconds=pair.first,
        peer_seconds=pair.second,
    )


def case_k(run: Run) -> Iterator[Row]:
    """All 45 pairs of ten text columns counted as a user would: DuckDB and polars on the file of c."""
    n = run.rows(5 * MILLION)
    what = f"{n:,} x 12 Parquet, 45 pairs"
    for against, needs, *peer in (
        ("DuckDB, 45 queries", "duckdb", "duckdb_pairs", n, "queries"),
        ("DuckDB, GROUPING SETS", "duckdb", "duckdb_pairs", n, "sets"),
        ("polars, one lazy plan", "polars", "polars_pairs", n),
    ):
        row = Row("k", what, against, None, at_least=1, note="")
        yield run.versus(row, ("ours_text", n), tuple(peer), needs=needs, once=True)


CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")
}


def main(arguments: list[str]) -> int:
    return cases.main("moments", __doc__, CASES, Run, arguments)
