"""Moments over a star without the join, against DuckDB's join and a pass, pandas and one-hot columns; tables ranked; databases.

Facts with three keys (50,000, 2,000 and 300 values) and five columns of their own, and a table of 8 to 20 columns per key.
Contestants run in processes of their own, one after the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import cases, measure
from benchmarks.cases import Run
from benchmarks.measure import Call
from benchmarks.report import Row

MILLION = 1_000_000
KEYS = {"customer": (50_000, 20), "product": (2_000, 12), "shop": (300, 8)}
"""Key -> its values, the columns of its table."""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="gramian-joins-"))


def facts(n: int) -> str:
    """Write the facts, and return their path."""
    path = _folder() / f"facts-{n}.parquet"
    if not path.exists():
        rng = np.random.default_rng(1)
        columns: dict[str, Any] = {}
        effect = np.zeros(n)
        for key, (size, _) in KEYS.items():
            codes = rng.integers(0, size, n).astype(np.int32)
            columns[key] = pa.DictionaryArray.from_arrays(codes, [f"{key} {k}" for k in range(size)])
            effect += _effect(key)[codes]
        columns["channel"] = pa.DictionaryArray.from_arrays(rng.integers(0, 6, n).astype(np.int8), list("abcdef"))
        columns["month"] = rng.integers(1, 13, n)
        columns["discount"] = rng.gamma(2.0, 2.0, n)
        columns["pieces"] = rng.integers(1, 10, n)
        columns["amount"] = columns["discount"] + effect + 3 * rng.normal(size=n)
        pq.write_table(pa.table(columns), path, row_group_size=500_000)
    return str(path)


def table(key: str, seed: int = 0, useful: bool = False) -> str:
    """Write a table of a key, and return its path: half of its columns are numbers, and half categories."""
    path = _folder() / f"{key}-{seed}-{useful}.parquet"
    if not path.exists():
        rng = np.random.default_rng(seed + 10)
        size, width = KEYS[key]
        columns: dict[str, Any] = {key: [f"{key} {k}" for k in range(size)]}
        for j in range(width):
            levels = (3, 8, 20, 60)[j % 4]
            codes = rng.integers(0, levels, size)
            columns[f"{key}_{j}"] = rng.normal(size=size) if j % 2 else [f"v{code}" for code in codes]
        if useful:
            columns[f"{key}_0"] = _effect(key) + rng.normal(size=size)
        pq.write_table(pa.table(columns), path)
    return str(path)


def _effect(key: str) -> Any:
    """Return what each value of a key adds to the amount, whatever the number of facts."""
    return np.random.default_rng(KEYS[key][0]).normal(size=KEYS[key][0])


# Contestants, each in a process of its own


def pass_and_attach(n: int, path: str, tables: dict[str, str]) -> Call:
    import gramian as gm

    gm.collect(pa.table({"k": ["a", "b"], "x": [1.0, 2.0]})).attach("k", pa.table({"k": ["a"], "y": [1.0]}))

    def run() -> float:
        m = gm.collect(path, progress=False)
        for key, each in tables.items():
            m = m.attach(key, each)
        return float(m.covariance().sum())

    return run


def attach_alone(n: int, path: str, tables: dict[str, str]) -> Call:
    import gramian as gm

    m = gm.collect(path, progress=False)

    def run() -> float:
        star = m
        for key, each in tables.items():
            star = star.attach(key, each)
        return float(star.n_rows)

    return run


def duckdb_and_pass(n: int, path: str, tables: dict[str, str]) -> Call:
    import duckdb

    import gramian as gm

    gm.collect(pa.table({"k": ["a", "b"], "x": [1.0, 2.0]}))
    joins = " ".join(f"left join '{each}' using ({key})" for key, each in tables.items())
    query = f"select * exclude ({', '.join(tables)}) from '{path}' {joins}"

    def run() -> float:
        with duckdb.connect() as connection:
            m = gm.collect(connection.sql(query), progress=False)
        return float(m.covariance().sum())

    return run


def pandas_and_one_hot(n: int, path: str, tables: dict[str, str]) -> Call:
    import pandas as pd
    from sklearn.preprocessing import OneHotEncoder

    def run() -> float:
        frame = pd.read_parquet(path)
        for key, each in tables.items():
            frame = frame.astype({key: "object"}).merge(pd.read_parquet(each), on=key, how="left").drop(columns=key)
        texts = [name for name in frame if frame[name].dtype.kind not in "if"]
        hot = OneHotEncoder().fit_transform(frame[texts])
        numbers = frame.drop(columns=texts).to_numpy(np.float64)
        numbers = numbers - numbers.mean(axis=0)
        gram = (hot.T @ hot).sum() + (hot.T @ numbers).sum() + (numbers.T @ numbers).sum()
        return float(gram)

    return run


def ranked(n: int, path: str, candidates: list[str]) -> Call:
    import gramian as gm

    m = gm.collect(path, folds=5, exclude=["product", "shop"], progress=False)
    gm.rank_tables(m, "amount", {"customer": {"first": table("customer", 99)}})

    def run() -> str:
        found = gm.rank_tables(m, "amount", {"customer": {each: each for each in candidates}})
        return str(found.column("table")[0].as_py())

    return run


def joined_and_cross_validated(n: int, path: str, candidate: str) -> Call:
    """One table: joined by DuckDB, collected with folds, and a cross-validated ridge regression."""
    import duckdb

    import gramian as gm

    def run() -> float:
        query = f"select * exclude ({', '.join(KEYS)}) from '{path}' left join '{candidate}' using (customer)"
        with duckdb.connect() as connection:
            m = gm.collect(connection.sql(query), folds=5, progress=False)
        return float(gm.Ridge(alpha="cv").fit(m, "amount").alpha_)

    return run


def in_database(path: str, backend: str, engine: str) -> Call:
    import ibis

    import gramian as gm
    from gramian.engines.database import DatabaseEngine
    from gramian.tables.distributed.database import quietly

    with quietly():
        there = ibis.duckdb.connect(path, read_only=True) if backend == "duckdb" else ibis.sqlite.connect(path)
        there = there.table("facts")
    chosen: Any = DatabaseEngine(large_pairs=True) if engine == "ibis" else engine
    gm.collect(pa.table({"k": ["a", "b"], "x": [1.0, 2.0]}))
    return lambda: float(gm.collect(there, exclude=["customer"], engine=chosen, progress=False).n_rows)


# Cases


def against_joining(run: Run) -> Iterator[Row]:
    """Three tables attached after a pass, against DuckDB's join and the same pass, and pandas with one-hot columns."""
    n = run.rows(5 * MILLION)
    path, tables = facts(n), {key: table(key) for key in KEYS}
    ours = measure.alone("benchmarks.joins:pass_and_attach", n, path, tables)
    what = f"{n:,} facts, tables of {', '.join(str(width) for _, width in KEYS.values())} columns"
    seen = {"ours_seconds": ours.seconds, "ours_peak": ours.peak}
    peer = measure.alone("benchmarks.joins:duckdb_and_pass", n, path, tables)
    if not np.isclose(float(str(ours.value)), float(str(peer.value)), rtol=1e-6):
        raise AssertionError(f"attached {ours.value}, joined {peer.value}")
    yield Row("a", what, "DuckDB join and collect", peer.seconds / ours.seconds, at_least=1.0,
              peer_seconds=peer.seconds, peer_peak=peer.peak, **seen)  # fmt: skip
    alone = measure.alone("benchmarks.joins:attach_alone", n, path, tables)
    yield Row("a", "attach alone, facts collected before", "DuckDB join and collect", peer.seconds / alone.seconds,
              ours_seconds=alone.seconds, ours_peak=alone.peak, peer_seconds=peer.seconds, peer_peak=peer.peak)  # fmt: skip
    few = max(1000, n // 10)
    less = facts(few)
    small = measure.alone("benchmarks.joins:pass_and_attach", few, less, tables)
    peer = measure.alone("benchmarks.joins:pandas_and_one_hot", few, less, tables)
    yield Row("a", f"{few:,} facts", "pandas merge, one-hot, X.T @ X", peer.seconds / small.seconds,
              ours_seconds=small.seconds, ours_peak=small.peak, peer_seconds=peer.seconds, peer_peak=peer.peak)  # fmt: skip


def tables_ranked(run: Run) -> Iterator[Row]:
    """20 candidate tables of one key ranked, against 20 joins, each with a pass and a cross-validated regression."""
    n = run.rows(5 * MILLION)
    path, candidates = facts(n), [table("customer", seed) for seed in range(20)]
    ours = measure.alone("benchmarks.joins:ranked", n, path, candidates)
    peer = measure.alone("benchmarks.joins:joined_and_cross_validated", n, path, candidates[0])
    yield Row("b", f"{n:,} facts, 20 tables of 20 columns and each column", "20 times one join",
              20 * peer.seconds / ours.seconds,
              at_least=10.0, ours_seconds=ours.seconds, peer_seconds=20 * peer.seconds, ours_peak=ours.peak,
              peer_peak=peer.peak, floor="moments collected beforehand")  # fmt: skip


def planted(run: Run) -> Iterator[Row]:
    """The place of the one useful table among 30."""
    n = run.rows(MILLION)
    path = facts(n)
    candidates = [*(table("customer", seed) for seed in range(29)), table("customer", 29, useful=True)]
    found = measure.alone("benchmarks.joins:ranked", n, path, candidates)
    first = str(found.value) == candidates[-1]
    yield Row("c", f"{n:,} facts, a useful table among 30", "the first place", 1.0 if first else 2.0, unit="", at_most=1.0,
              ours_seconds=found.seconds, ours_peak=found.peak)  # fmt: skip


def databases(run: Run) -> Iterator[Row]:
    """Queries in the database against reading its rows by Arrow: which of the two is the default."""
    import sqlite3

    import duckdb

    for backend, full in (("duckdb", 5 * MILLION), ("sqlite", MILLION // 2)):
        n = run.rows(full)
        path = str(_folder() / f"{backend}-{n}.db")
        if not Path(path).exists():
            if backend == "duckdb":
                with duckdb.connect(path) as connection:
                    connection.execute(f"create table facts as select * from '{facts(n)}'")
            else:
                rows = pq.read_table(facts(n)).to_pandas()
                with sqlite3.connect(path) as raw:
                    rows.astype(dict.fromkeys((*KEYS, "channel"), str)).to_sql("facts", raw, index=False)
        there, here = (measure.alone("benchmarks.joins:in_database", path, backend, each) for each in ("ibis", "local"))
        yield Row("d", f"{n:,} facts in {backend}: rows read", "queries there", there.seconds / here.seconds,
                  ours_seconds=here.seconds, peer_seconds=there.seconds, ours_peak=here.peak, peer_peak=there.peak)  # fmt: skip


CASES: dict[str, cases.Case] = {"a": against_joining, "b": tables_ranked, "c": planted, "d": databases}


def main(arguments: list[str]) -> int:
    return cases.main("joins", __doc__ or "", CASES, Run, arguments)
