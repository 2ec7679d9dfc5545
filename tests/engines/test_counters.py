"""Counters of one pass: a set per fold, closed and opened again where a column changes its form, within a budget of bytes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.engines.local import FoldCounters, MemoryBudget
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
        work = FoldCounters(encoder, budget=MemoryBudget(2**30), **how)
        for k, batch in enumerate(table.to_batches(max_chunksize=rows)):
            if halfway and k == 5:
                kept = work.settle()
                work = FoldCounters(encoder, budget=MemoryBudget(2**30), **how)
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
    budget.reserve("a", 45)
    budget.reserve("b", 30)
    budget.reserve("a", 35)
    # A quarter is left to what is being read.
    with pytest.raises(MemoryLimitError, match="counting needs 105 bytes and 100 bytes are allowed; leave the widest"):
        budget.reserve("b", 45)
    # What was refused is not held.
    budget.reserve("a", 45)
    budget.settle(10)
    budget.reserve("a", 65)
    with pytest.raises(MemoryLimitError):
        budget.reserve("a", 66)
    budget.all_read()
    budget.reserve("a", 90)
    budget.close()


def test_a_refusal_names_the_widest_column_unless_numbers_take_the_memory():
    budget = MemoryBudget(100, lambda: ("id", 12_345))
    words = "column 'id' has the most levels, 12,345: leave it out with exclude="
    with pytest.raises(MemoryLimitError, match=words):
        budget.reserve((0, "pairs"), 90)
    budget.reserve((0, "numbers"), 70)
    with pytest.raises(MemoryLimitError, match="leave the widest columns out"):
        budget.reserve((0, "pairs"), 30)
    budget.close()


def test_labels_count_before_their_pairs_do():
    texts = pa.array([f"{k:0500d}" for k in range(9000)])
    with pytest.raises(
        MemoryLimitError, match=r"column 'id' has the most levels, 8,192: leave it out with exclude=\['id'\]"
    ):
        gm.collect(pa.table({"id": texts, "b": pa.array(["x", "y", "z"] * 3000)}), memory_limit="8MB")


def test_folds_share_the_texts_of_their_labels():
    rows = pa.record_batch({"t": pa.array(list("abcabcabc"))})
    encoder = Encoder(plan_columns(types_of(rows.schema)), n_folds=3)
    asked = []
    labels = encoder.labels
    encoder.labels = lambda name, n=None: asked.append(name) or labels(name, n)
    with ThreadPoolExecutor(1) as pool:
        work = FoldCounters(encoder, executor=pool, n_threads=1, expected_rows=9, budget=MemoryBudget(2**30))
        work.add(encoder.encode([rows]))
        work.settle()
    assert asked == ["t"]
