"""Each fault is answered by one exception that names the column or the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import ColumnError, DataError, GramianError, MemoryLimitError, SourceNotFoundError

TABLE = pa.table({"color": ["red", "blue", "red"], "age": [1.5, 2.5, 3.5], "w": [1.0, 2.0, 3.0]})


@contextmanager
def refused(*fragments: str, error: type[Exception] = DataError) -> Iterator[None]:
    """Want an error of this package, in one line with every fragment in it."""
    with pytest.raises(error) as raised:
        yield
    message = str(raised.value)
    assert isinstance(raised.value, GramianError)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


NO_ROWS = {
    "arrow": lambda: TABLE.slice(0, 0),
    "pandas": lambda: TABLE.to_pandas().iloc[:0],
    "polars": lambda: pl.DataFrame({"a": []}, schema={"a": pl.String}),
    "array": lambda: np.empty((0, 3)),
    "sparse": lambda: sp.csr_array((0, 3)),
    "generator of an empty batch": lambda: iter([TABLE.slice(0, 0)]),
}


@pytest.mark.parametrize("kind", NO_ROWS)
def test_no_rows(kind: str) -> None:
    with refused("no rows"):
        gm.collect(NO_ROWS[kind]())


def test_no_rows_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nothing.parquet"
    pyarrow.parquet.write_table(TABLE.slice(0, 0), path)
    with refused("no rows", "nothing.parquet"):
        gm.collect(path)


@pytest.mark.parametrize("source", [[], iter([])], ids=["list", "generator"])
def test_nothing_at_all(source) -> None:
    with refused("no rows"):
        gm.collect(source)


def test_only_weights_of_zero_are_no_rows() -> None:
    with refused("weight"):
        gm.collect(TABLE, sample_weight=[0, 0, 0])


NO_COLUMNS = {
    "pandas": lambda: pd.DataFrame(index=[0, 1]),
    "arrow": lambda: pa.table({}),
    "array": lambda: np.empty((3, 0)),
    "excluded": lambda: TABLE,
}


@pytest.mark.parametrize("kind", NO_COLUMNS)
def test_no_columns(kind: str) -> None:
    exclude = ["color", "age", "w"] if kind == "excluded" else None
    with refused("no columns"):
        gm.collect(NO_COLUMNS[kind](), exclude=exclude)


def test_a_missing_file(tmp_path: Path) -> None:
    with refused("nowhere.parquet", error=SourceNotFoundError):
        gm.collect(tmp_path / "nowhere.parquet")
    with refused("*.parquet", error=SourceNotFoundError):
        gm.collect(str(tmp_path / "*.parquet"))
    with pytest.raises(FileNotFoundError):
        gm.collect(str(tmp_path / "nowhere.csv"))


def test_one_missing_file_of_several(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    with refused("b.parquet", error=SourceNotFoundError):
        gm.collect([tmp_path / "a.parquet", tmp_path / "b.parquet"])


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz"])
def test_an_unreadable_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"broken.{suffix}"
    path.write_bytes(b"this is not such a file" * 10)
    with refused(f"broken.{suffix}"):
        gm.collect(path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    pyarrow.parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-20])
    with refused("cut.parquet"):
        gm.collect(path)


def test_files_of_different_columns(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    pyarrow.parquet.write_table(TABLE.drop(["age"]), tmp_path / "b.parquet")
    with refused("'age'", "b.parquet"):
        gm.collect([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_files_of_different_kinds(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    changed = TABLE.set_column(1, "age", pa.array(["x", "y", "z"]))
    pyarrow.parquet.write_table(changed, tmp_path / "b.parquet")
    with refused("'age'", "b.parquet"):
        gm.collect([tmp_path / "a.parquet", tmp_path / "b.parquet"])


@pytest.mark.parametrize("choice", [{"exclude": "age"}, {"columns": ["color"]}])
def test_what_files_disagree_on_can_be_left_out(tmp_path: Path, choice: dict) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    expected = gm.collect([TABLE, TABLE], **choice)
    for other in (TABLE.drop(["age"]), TABLE.set_column(1, "age", pa.array(["x", "y", "z"]))):
        pyarrow.parquet.write_table(other, tmp_path / "b.parquet")
        assert gm.collect([tmp_path / "a.parquet", tmp_path / "b.parquet"], **choice) == expected
        assert gm.collect([TABLE, other], **choice) == expected


def test_batches_of_different_columns() -> None:
    with refused("'age'"):
        gm.collect([TABLE, TABLE.drop(["age"])])


@pytest.mark.parametrize(
    "argument", ["columns", "exclude", "categorical", "numeric", "targets", "fold_by", "sample_weight"]
)
def test_an_unknown_column_suggests_the_nearest(argument: str) -> None:
    extra = {"folds": 2} if argument == "fold_by" else {}
    with refused("'colour'", "did you mean 'color'?", error=ColumnError):
        gm.collect(TABLE, **{argument: "colour"}, **extra)


@pytest.mark.parametrize(
    "method", ["kind", "levels", "counts", "select", "drop", "mean", "covariance", "as_categorical"]
)
def test_an_unknown_column_of_moments_suggests_the_nearest(method: str) -> None:
    m = gm.collect(TABLE)
    with refused("'colour'", "did you mean 'color'?", error=ColumnError):
        getattr(m, method)("colour")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("beside", ["nothing", "category", "missing", "late", "array", "float32", "sparse", "wide"])
def test_infinities_name_the_column(value: float, beside: str) -> None:
    x = np.linspace(0, 1, 9000)
    x[8999 if beside == "late" else 1] = value
    table = {"fine": np.zeros(9000), "bad": x}
    if beside == "category":
        table["c"] = np.array(["a", "b"])[np.arange(9000) % 2]
    if beside == "missing":
        table["bad"] = np.where(np.arange(9000) == 5, np.nan, x)
    sources = {
        "array": np.column_stack([np.zeros(9000), x]),
        "float32": np.column_stack([np.zeros(9000), x]).astype(np.float32),
        "sparse": sp.csr_array(np.column_stack([np.zeros(9000), x])),
        "wide": np.column_stack([np.zeros(9), x[:9], np.zeros((9, 600))]),
    }
    name = "x1" if beside in sources else "bad"
    with refused(f"'{name}'", "infinite"):
        gm.collect(sources.get(beside, pa.table(table)))


@pytest.mark.parametrize("targets", ["color", "age", "k", "when"])
def test_a_target_with_missing_values(targets: str) -> None:
    import datetime

    table = pa.table(
        {
            "color": ["a", None],
            "age": [1.0, float("nan")],
            "k": pa.array([1, None], pa.int64()),
            "when": [datetime.date(2024, 1, 1), None],
        }
    )
    with refused(f"'{targets}'", "missing", error=ColumnError):
        gm.collect(table, targets=targets, target_missing="raise")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, None, 2.0], "missing"),
        ([1.0, float("nan"), 2.0], "missing"),
        ([1.0, -0.5, 2.0], "negative"),
        ([1.0, float("inf"), 2.0], "infinite"),
        (["1", "2", "3"], "numbers"),
    ],
    ids=["null", "nan", "negative", "infinite", "text"],
)
def test_bad_weights_name_their_column(values: list, words: str) -> None:
    table = TABLE.set_column(2, "w", pa.array(values))
    with refused("'w'", words, error=ColumnError):
        gm.collect(table, sample_weight="w")


@pytest.mark.parametrize("values", [[1.0, np.nan, 1.0], [1.0, -1.0, 1.0], [1.0, np.inf, 1.0]])
@pytest.mark.parametrize("source", [TABLE, np.ones((3, 2))], ids=["table", "array"])
def test_bad_weight_arrays_are_refused(values: list, source) -> None:
    with refused("sample_weight"):
        gm.collect(source, sample_weight=values)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("source", [TABLE, np.ones((3, 2)), iter([TABLE])], ids=["table", "array", "generator"])
def test_weights_of_another_length_are_refused(n: int, source) -> None:
    source = iter([TABLE]) if not isinstance(source, pa.Table | np.ndarray) else source
    with refused("sample_weight", str(n)):
        gm.collect(source, sample_weight=np.ones(n))


@pytest.mark.parametrize("weights", [np.ones((3, 1)), ["a", "b", "c"], [None, 1, 2]], ids=["2-d", "text", "None"])
def test_weights_that_are_no_numbers_are_refused(weights) -> None:
    with refused("sample_weight"):
        gm.collect(TABLE, sample_weight=weights)


def test_mixed_types_in_an_object_column() -> None:
    frame = pd.DataFrame({"fine": [1, 2, 3], "mixed": pd.Series([1, "a", 2.5], dtype=object)})
    with refused("'mixed'"):
        gm.collect(frame)


def test_duplicate_names() -> None:
    frame = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    with refused("'a'", error=ColumnError):
        gm.collect(frame)
    with refused("'a'", error=ColumnError):
        gm.collect(pa.table([[1, 2], [3, 4]], names=["a", "a"]))


def test_a_date_part_that_is_also_a_column() -> None:
    import datetime

    table = pa.table({"when": [datetime.date(2024, 1, 1)], "when_month": ["x"]})
    with refused("'when_month'", error=ColumnError):
        gm.collect(table)


@pytest.mark.parametrize(
    "values",
    [pa.array([[1], [2]]), pa.array([b"a", b"b"]), pa.array([{"a": 1}, {"a": 2}])],
    ids=["list", "binary", "struct"],
)
def test_nested_and_binary_columns_name_exclude(values: pa.Array) -> None:
    with refused("'deep'", "exclude", error=ColumnError):
        gm.collect(pa.table({"x": [1.0, 2.0], "deep": values}))
    assert gm.collect(pa.table({"x": [1.0, 2.0], "deep": values}), exclude="deep").columns == ["x"]


@pytest.mark.parametrize("limit", [1000, "1kB"])
def test_a_small_memory_limit_is_refused_before_counting(limit) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, 500, 2000).astype(str) for name in "abc"})
    with refused("allowed", "columns=", "pool", error=MemoryLimitError):
        gm.collect(table, memory_limit=limit)
    assert issubclass(MemoryLimitError, MemoryError)


def test_a_small_memory_limit_is_refused_for_numbers() -> None:
    with refused("allowed", error=MemoryLimitError):
        gm.collect(np.zeros((3000, 2000)), memory_limit="1MB")


def test_a_million_levels_are_refused_where_they_do_not_fit() -> None:
    n = 100_000
    table = pa.table({"u": np.arange(n).astype(str), "v": np.arange(n)[::-1].astype(str)})
    with refused("allowed", error=MemoryLimitError):
        gm.collect(table, memory_limit="200kB")
    m = gm.collect(table, memory_limit="200MB")
    assert m.crosstab("u", "v", sparse=True).nnz == n
    assert m.nbytes < 20 * 2**20


def test_a_crosstab_beyond_memory_names_sparse() -> None:
    n = 700_000
    table = pa.table({"u": np.arange(n), "v": np.arange(n)[::-1]})
    m = gm.collect(table, categorical=["u", "v"])
    with refused("sparse=True", error=MemoryLimitError):
        m.crosstab("u", "v")
    with refused("pool()", error=MemoryLimitError):
        m.covariance()


@pytest.mark.parametrize("limit", [0, -1, "much", "", "12 apples"])
def test_limits_that_are_no_bytes_are_refused(limit) -> None:
    with refused("memory_limit"):
        gm.collect(TABLE, memory_limit=limit)


def test_moments_of_different_columns_do_not_add() -> None:
    a, b = gm.collect(TABLE), gm.collect(TABLE.drop(["age"]))
    with refused("'age'"):
        a + b
    with refused("'age'"):
        b + a
    with refused("'age'"):
        a - b


def test_moments_of_different_kinds_do_not_add() -> None:
    a = gm.collect(pa.table({"c": ["1", "2"]}))
    with refused("'c'"):
        a + gm.collect(pa.table({"c": [1.5, 2.5]}))
    with refused("'c'", "text", "integer"):
        a + gm.collect(pa.table({"c": [1, 2]}), categorical="c")


@pytest.mark.parametrize("other", [1, None, "m", 0.5])
def test_only_moments_add(other) -> None:
    m = gm.collect(TABLE)
    with pytest.raises(TypeError):
        m + other
    with pytest.raises(TypeError):
        m - other


@pytest.mark.parametrize("folds", [1, -1, 2.5, True, "5", 256])
def test_bad_numbers_of_folds(folds) -> None:
    with refused("folds"):
        gm.collect(TABLE, folds=folds)


def test_fold_by_needs_folds() -> None:
    with refused("fold_by", "folds"):
        gm.collect(TABLE, fold_by="color")


def test_fold_by_a_nested_column() -> None:
    table = TABLE.append_column("deep", pa.array([[1], [2], [3]]))
    with refused("'deep'"):
        gm.collect(table, exclude="deep", folds=2, fold_by="deep")


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_bad_numbers_of_threads(n_jobs) -> None:
    with refused("n_jobs"):
        gm.collect(TABLE, n_jobs=n_jobs)


@pytest.mark.parametrize("seed", [1.5, "a", None, True])
def test_bad_seeds(seed) -> None:
    with refused("random_state"):
        gm.collect(TABLE, folds=2, random_state=seed)


@pytest.mark.parametrize("argument", ["columns", "exclude", "categorical", "numeric", "targets"])
def test_names_must_be_text(argument: str) -> None:
    with refused(argument):
        gm.collect(TABLE, **{argument: [0]})


def test_kinds_that_cannot_be() -> None:
    with refused("'color'", "numeric=", error=ColumnError):
        gm.collect(TABLE, numeric="color")
    with refused("'age'", error=ColumnError):
        gm.collect(TABLE, categorical="age", numeric="age")
    with refused("'age'", error=ColumnError):
        gm.collect(TABLE, exclude="age", targets="age")


@pytest.mark.parametrize(
    "source",
    [3, None, {1: [1]}, "", object(), b"abc", [object()], ["a.csv", 3]],
    ids=["number", "None", "dict without names", "empty text", "object", "bytes", "list of objects", "mixed list"],
)
def test_what_is_no_source(source) -> None:
    with pytest.raises((DataError, FileNotFoundError)) as raised:
        gm.collect(source)
    assert isinstance(raised.value, GramianError)


@pytest.mark.parametrize(
    "source", [np.ones(3), np.ones((2, 2, 2)), [1.0, 2.0], [[1.0, 2.0], [3.0]]], ids=["1-d", "3-d", "list", "ragged"]
)
def test_arrays_that_are_no_tables(source) -> None:
    with refused():
        gm.collect(source)


def test_like_enforces_columns_and_kinds() -> None:
    m = gm.collect(TABLE)
    with refused("'age'", error=ColumnError):
        gm.collect(TABLE.drop(["age"]), like=m)
    with refused("'age'", error=ColumnError):
        gm.collect(TABLE.set_column(1, "age", pa.array(["x", "y", "z"])), like=m)
    with refused("columns=", error=ColumnError):
        gm.collect(TABLE, like=m, columns="age")


def test_like_a_file_that_is_not_there(tmp_path: Path) -> None:
    with refused("gone.moments", error=SourceNotFoundError):
        gm.collect(TABLE, like=tmp_path / "gone.moments")


def test_a_one_shot_source_is_read_once() -> None:
    reader = TABLE.to_reader()
    gm.collect(reader)
    with refused():
        gm.collect(reader)
