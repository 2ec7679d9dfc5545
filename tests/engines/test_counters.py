"""Counters of one pass: a set per fold, closed and opened again where a column changes its form, within a budget of bytes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.engines.counters import MemoryBudget, Pass
from gramian.errors import MemoryLimitError


@pytest.fixture
def table(rng):
    n = 1_000
    # Integers of few values first, then of many: the column becomes a number on the way.
    whole = np.where(np.arange(n) < n // 2, rng.integers(0, 5, n), np.arange(n))
    return pa.table({"color": rng.choice(["red", "blue", "green"], n), "k": whole, "x": rng.normal(size=n)})


def counted(table, n_folds=0, n_threads=2, rows=100, halfway=False):
    encoder = Encoder(plan_columns(types_of(table.schema)), n_folds=n_folds)
    with ThreadPoolExecutor(n_threads) as pool:
        how = {"executor": pool, "n_threads": n_threads, "expected_rows": None}
        work = Pass(encoder, budget=MemoryBudget(2**30), **how)
        for k, batch in enumerate(table.to_batches(max_chunksize=rows)):
            if halfway and k == 5:
                kept = work.settle()
                work = Pass(encoder, budget=MemoryBudget(2**30), **how)
                work.restore(kept)
            work.add(encoder.encode([batch]))
        return work.finish()


@pytest.mark.parametrize("halfway", [False, True])
@pytest.mark.parametrize("n_folds", [0, 3])
def test_stretches_counted_one_by_one_are_the_moments_of_the_table(table, n_folds, halfway):
    moments = counted(table, n_folds, halfway=halfway)
    assert moments.schema["k"].form == "number"
    assert moments.levels("color") == list(dict.fromkeys(table["color"].to_pylist()))
    assert moments.isclose(gm.collect(table, folds=n_folds))
    assert [fold.n_rows for fold in moments.folds] == [fold.n_rows for fold in gm.collect(table, folds=n_folds).folds]


def test_a_budget_is_of_all_counters_together_and_refuses_before_it_is_passed():
    budget = MemoryBudget(100)
    budget.reserve("a", 60)
    budget.reserve("b", 40)
    budget.reserve("a", 50)
    with pytest.raises(MemoryLimitError, match="counting needs 110 bytes and 100 bytes are allowed"):
        budget.reserve("b", 60)
    budget.settle(10)
    budget.reserve("a", 90)
    with pytest.raises(MemoryLimitError):
        budget.reserve("a", 91)
