from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.moments.counting.accumulate import Accumulator
from gramian.moments.counting.pair_counter import PairCounter


def table_of(n: int, levels: int, first: int = 0) -> pa.Table:
    rng = np.random.default_rng(first)
    x = rng.normal(size=n)
    x[::7] = np.nan if first else x[::7]
    return pa.table({"c": [f"c{first + k}" for k in rng.integers(0, levels, n)], "d": rng.integers(0, 3, n), "x": x})


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_stretches_that_grow_the_codebooks_add_up(n_threads: int) -> None:
    tables = [table_of(300, 3), table_of(5000, 40, first=2), table_of(9000, 3000, first=30), table_of(10, 2)]
    encoder = Encoder(plan_columns(types_of(tables[0].schema)))
    with ThreadPoolExecutor(n_threads) as pool:
        counter = Accumulator(
            encoder.schema, executor=pool, n_threads=n_threads, weighted=False, expected_rows=None,
            reserve=lambda who, nbytes: None,
        )  # fmt: skip
        for table in tables:
            counter.add(encoder.encode(table.to_batches()))
        found = counter.finish(encoder.labels)
    expected = gm.merge([gm.collect(table) for table in tables])
    assert found.isclose(expected)
    np.testing.assert_array_equal(found.pairs.level_rows[1], expected.as_categorical("d").counts("d"))


def test_counters_are_gone_with_their_pass() -> None:
    # Each holds a matrix of pair counts, and a fit of many passes would hold one for each until garbage is looked for.
    data = table_of(3000, 40)
    gm.collect(data)
    gc.collect()
    gc.disable()
    try:
        gm.collect(data)
        gm.LogisticRegression(1.0).fit(data.append_column("y", pa.array(np.arange(3000) % 2)), "y")
        # By type: to ask a proxy of something gone for its class fails.
        assert not [found for found in gc.get_objects() if type(found) in (PairCounter, Accumulator)]
    finally:
        gc.enable()


def test_memory_is_reserved_before_it_is_taken() -> None:
    asked: list[int] = []

    def refuse(who: object, nbytes: int) -> None:
        asked.append(nbytes)
        raise MemoryError("no")

    table = table_of(1000, 500)
    encoder = Encoder(plan_columns(types_of(table.schema)))
    with ThreadPoolExecutor(1) as pool:
        counter = Accumulator(
            encoder.schema, executor=pool, n_threads=1, weighted=False, expected_rows=1000, reserve=refuse
        )
        with pytest.raises(MemoryError):
            counter.add(encoder.encode(table.to_batches()))
    assert asked


def test_no_stretch_gives_no_rows() -> None:
    encoder = Encoder(plan_columns(types_of(table_of(1, 1).schema)))
    with ThreadPoolExecutor(1) as pool:
        counter = Accumulator(
            encoder.schema, executor=pool, n_threads=1, weighted=False, expected_rows=0,
            reserve=lambda who, nbytes: None,
        )  # fmt: skip
        assert counter.finish(encoder.labels).n_rows == 0
