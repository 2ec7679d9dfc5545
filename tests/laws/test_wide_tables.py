"""Where the line between the matrix and the pairs apart is drawn changes nothing but speed."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design import pair_tables as limits
from gramian.errors import MemoryLimitError
from gramian.moments.algebra import feasibility
from gramian.moments.counting.pair_counter import PairCounter

LINES = {"base": (30, 10**6, 16, 30), "many": (30, 5, 4, 60), "all": (30, 5, 16, 10**4), "none": (0, 10**6, 0, 0)}


def draw_the_line(monkeypatch, where):
    for name, value in zip(("NARROW_TOTAL", "MANY_TABLES", "FEW_LEVELS", "MANY_TOTAL"), LINES[where], strict=True):
        monkeypatch.setattr(limits, name, value)
    # What few columns are checked for after a subtraction needs them all in the matrix.
    monkeypatch.setattr(feasibility, "JOINT_COLUMNS", 0)


@pytest.fixture
def table(rng):
    sizes = rng.integers(1, 9, 24)
    return pa.table(
        {f"c{j}": pa.array([f"v{v}" for v in rng.integers(0, size, 90)]) for j, size in enumerate(sizes)}
        | {"x": rng.normal(size=90)}
    )


def one_hot(table, moments):
    """The design of the rows, from the definition: one column a level, in the order of the labels."""
    columns = []
    for name in moments.columns[:-1]:
        values = table.column(name).to_pylist()
        columns += [[value == label for value in values] for label in moments.levels(name)]
    return np.array(columns, np.int64).T


def check(table, moments):
    X = one_hot(table, moments)
    x = table.column("x").to_numpy()
    names = moments.columns[:-1]
    ends = np.cumsum([0, *(len(moments.levels(name)) for name in names)])
    gram = X.T @ X
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i != j:
                expected = gram[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
                np.testing.assert_array_equal(moments.crosstab(a, b), expected)
    # A mean and a covariance of 90 rows lose no more than a few bits.
    design = np.column_stack([X, x])
    np.testing.assert_allclose(moments.covariance(), np.cov(design.T), atol=1e-12)


@pytest.mark.parametrize("where", LINES)
def test_counts_are_those_of_the_rows_wherever_the_line_is(monkeypatch, tmp_path, table, where):
    draw_the_line(monkeypatch, where)
    whole = gm.collect(table, folds=3)
    check(table, whole)
    first, second = gm.collect(table.slice(0, 40)), gm.collect(table.slice(40))
    check(table, first + second)
    rest = (first + second) - first
    assert rest.drop("x") == second.drop("x")
    assert rest.isclose(second)
    check(table.drop_columns(["c3", "c9"]), whole.drop(["c3", "c9"]))
    check(table, gm.merge(whole.folds))
    whole.save(tmp_path / "w.moments")
    assert gm.load(tmp_path / "w.moments") == whole


@pytest.mark.parametrize(("before", "now"), [("base", "all"), ("all", "base"), ("many", "none"), ("none", "many")])
def test_a_file_of_another_version_is_laid_out_anew(monkeypatch, tmp_path, table, before, now):
    draw_the_line(monkeypatch, before)
    gm.collect(table, folds=2).save(tmp_path / "w.moments")
    draw_the_line(monkeypatch, now)
    opened, fresh = gm.load(tmp_path / "w.moments"), gm.collect(table, folds=2)
    assert opened == fresh
    assert opened.pairs.narrow == fresh.pairs.narrow
    check(pa.concat_tables([table, table]), opened + fresh)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_growing_columns_cross_the_line(monkeypatch, rng, weighted, n_threads):
    """Levels come late, so that plans change while pairs move between the matrix and tables of their own."""
    draw_the_line(monkeypatch, "many")
    codes = [rng.integers(0, size, 30_000).astype(np.uint16) for size in rng.integers(1, 12, 14)]
    codes = [np.minimum(c, np.arange(30_000) // 2500).astype(np.uint16) for c in codes]
    weights = rng.random(30_000) if weighted else None
    with ThreadPoolExecutor(2) as pool:
        counter = PairCounter(len(codes), executor=pool, n_threads=n_threads, weighted=weighted)
        for start in range(0, 30_000, 10_000):
            rows = slice(start, start + 10_000)
            levels = [int(c[: start + 10_000].max()) + 1 for c in codes]
            counter.add([c[rows] for c in codes], levels, weights=None if weights is None else weights[rows])
        totals, _ = counter.result()
    place = dict(zip(totals.narrow, np.cumsum([0, *(levels[j] for j in totals.narrow)]), strict=False))
    for i in range(len(codes)):
        for j in range(i + 1, len(codes)):
            expected = np.zeros((levels[i], levels[j]), int if weights is None else float)
            np.add.at(expected, (codes[i], codes[j]), 1 if weights is None else weights)
            if i in place and j in place:
                rows, columns = (slice(place[k], place[k] + levels[k]) for k in (i, j))
                found, mirrored = totals.matrix[rows, columns], totals.matrix[columns, rows]
                np.testing.assert_array_equal(found, mirrored.T)
            else:
                found = totals.blocks[i, j]
                found = found if isinstance(found, np.ndarray) else found.toarray()
            # Sums of 30,000 weights in another order.
            np.testing.assert_allclose(found, expected, rtol=1e-11 if weighted else 0, atol=0)


def test_too_many_columns_are_refused_before_they_are_read():
    names = [f"c{j}" for j in range(17_000)]
    kind = pa.schema([(name, pa.string()) for name in names])

    def batches():
        raise AssertionError("read")
        yield

    start = time.process_time()
    with pytest.raises(MemoryLimitError, match="17,000 columns"):
        gm.collect(pa.RecordBatchReader.from_batches(kind, batches()))
    assert time.process_time() - start < 5


def test_thousands_of_columns_do_not_stall(rng):
    """CPU time, which others at work do not change; before, half a million tables took ten seconds."""
    codes = rng.integers(0, 2, (40, 1500))
    table = pa.table({f"c{j}": codes[:, j] for j in range(codes.shape[1])})
    gm.collect(table.select(["c0", "c1", "c2"]))
    start = time.process_time()
    moments = gm.collect(table)
    doubled = moments + moments
    assert time.process_time() - start < 5
    X = (codes[:, :, None] == np.array([moments.levels(f"c{j}") for j in range(1500)])).reshape(40, -1)
    np.testing.assert_array_equal(doubled.pairs.matrix, 2 * X.T.astype(np.float32) @ X.astype(np.float32))


@pytest.fixture
def integers(rng, monkeypatch):
    """Sixteen columns of integers, some with missing values, beside others: 153 pairs, of which 20 may have tables."""
    draw_the_line(monkeypatch, "base")
    monkeypatch.setattr(limits, "INTEGER_TABLES", 20)
    columns = {
        f"n{j}": pa.array(rng.integers(-5, 5 + j, 120), mask=rng.random(120) < 0.02 * (j % 3)) for j in range(16)
    }
    return pa.table(
        columns
        | {"x": rng.normal(size=120), "town": pa.array(rng.choice(["a", "b", "c"], 120)), "y": rng.integers(0, 3, 120)}
    )


def as_floats(table):
    return pa.table(
        {n: c.cast(pa.float64()) if n.startswith("n") else c for n, c in zip(table.column_names, table, strict=True)}
    )


def test_integers_of_too_many_pairs_are_numbers_however_they_are_read(monkeypatch, caplog, integers):
    expected = gm.collect(as_floats(integers), targets=["y"], folds=3)
    with caplog.at_level("INFO", logger="gramian"):
        found = gm.collect(integers, targets=["y"], folds=3)
    said = [r.getMessage() for r in caplog.records if "columns of integers are collected as numbers" in r.getMessage()]
    assert len(said) == 1
    assert "16 columns" in said[0]
    assert "categorical=" in said[0]
    assert list(found.coded) == ["town", "y"]
    assert found.isclose(expected)
    # The rows come a few at a time: few levels at first, then too many.
    monkeypatch.setattr("gramian.engines.local.STRETCH_ROWS", 7)
    batches = pa.RecordBatchReader.from_batches(integers.schema, integers.to_batches(max_chunksize=7))
    slowly = gm.collect(batches, targets=["y"], folds=3)
    assert slowly.isclose(expected)
    assert slowly.schema == found.schema


def test_moments_of_too_many_pairs_together_come_to_the_columns_of_one_pass(integers):
    few, rest = integers.slice(0, 1), integers.slice(1)
    whole = gm.collect(integers, targets=["y"])
    a, b = gm.collect(few, targets=["y"]), gm.collect(rest, targets=["y"])
    assert "n3" in a.coded
    assert "n3" not in b.coded
    assert (a + b).schema == (b + a).schema == whole.schema
    assert (a + b).isclose(whole)
    half = gm.collect(integers.slice(0, 60), targets=["y"])
    assert (whole - half).isclose(gm.collect(as_floats(integers.slice(60)), targets=["y"]))
    # Neither has too many, and both together have.
    parts = [gm.collect(integers.slice(k, 1), targets=["y"]) for k in range(120)]
    assert all("n3" in part.coded for part in parts)
    assert gm.merge(parts).schema == whole.schema
    assert gm.merge(parts).isclose(whole)


def test_integers_named_as_categories_and_few_tables_stay(monkeypatch, integers):
    m = gm.collect(integers, categorical=["n15", "town"])
    assert m.schema["n15"].form == "category"
    assert m.schema["n3"].form == "number"
    monkeypatch.setattr(limits, "INTEGER_TABLES", 200)
    assert gm.collect(integers).schema["n3"].form == "integer"


def test_integers_of_a_short_and_wide_table_take_no_tables(rng):
    """CPU time; before, 700,000 tables and a matrix of two gigabytes were made of 24 rows."""
    table = pa.table({f"c{j}": column for j, column in enumerate(rng.integers(0, 21, (1728, 24)))})
    gm.collect(table.select(["c0", "c1"]), folds=2)
    start = time.process_time()
    m = gm.collect(table, folds=3)
    assert time.process_time() - start < 3
    assert not m.pairs.blocks
    values = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_allclose(m.covariance(), np.cov(values.T), atol=1e-12 * 21**2)
