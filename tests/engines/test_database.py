"""Counting in a database gives the moments of reading the rows: SQLite, DuckDB and PostgreSQL are real ones."""

from __future__ import annotations

import datetime
import logging
import math
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.laws.tables import assert_same, random_table

import gramian as gm
from gramian.errors import DataError, SourceNotFoundError

ibis = pytest.importorskip("ibis", reason="needs ibis-framework (the extra 'ibis')")
sqlglot = pytest.importorskip("sqlglot")

from gramian.engines import database  # noqa: E402
from gramian.engines.database import DatabaseEngine  # noqa: E402
from gramian.tables import open_table  # noqa: E402
from gramian.tables.distributed.database import quietly  # noqa: E402

SETS = Path(__file__).parents[3] / "shared" / "data"

KINDS = {
    "bool": "boolean",
    "int32": "integer",
    "int64": "bigint",
    "double": "double precision",
    "timestamp[s]": "timestamp",
}

Loaded = Callable[[pa.Table], "ibis.Table"]


def loaded_in_duckdb() -> Loaded:
    connection, names = ibis.duckdb.connect(), count()

    def load(table: pa.Table) -> ibis.Table:
        name = f"sales{next(names)}"
        connection.con.register("given", table)
        connection.con.execute(f"create table {name} as select * from given")
        connection.con.unregister("given")
        with quietly():
            return connection.table(name)

    return load


def definition(table: pa.Table) -> str:
    return ", ".join(f'"{field.name}" {KINDS.get(str(field.type), "text")}' for field in table.schema)


def rows_of(table: pa.Table) -> list[tuple]:
    plain = [
        pa.array(column.to_pylist()) if pa.types.is_dictionary(column.type) else column for column in table.columns
    ]
    return list(zip(*(column.to_pylist() for column in plain), strict=True))


def loaded_in_sqlite(folder: Path) -> Loaded:
    path = folder / "test.sqlite"
    opened = []

    def cell(value: object) -> object:
        if isinstance(value, float) and math.isnan(value):
            return None
        return value.isoformat(" ") if isinstance(value, datetime.datetime) else value

    def load(table: pa.Table) -> ibis.Table:
        name = f"sales{len(opened)}"
        raw = sqlite3.connect(path)
        raw.execute(f"create table {name} ({definition(table)})")
        places = ", ".join("?" * table.num_columns)
        raw.executemany(f"insert into {name} values ({places})", [tuple(map(cell, row)) for row in rows_of(table)])
        raw.commit()
        raw.close()
        opened.append(ibis.sqlite.connect(path))
        return opened[-1].table(name)

    return load


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian keeps off the path."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory) -> Iterator[Loaded]:
    pytest.importorskip("psycopg", reason="needs psycopg to reach PostgreSQL")
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    folder = tmp_path_factory.mktemp("pg")
    # It refuses to run as root, and the path of a socket may have a hundred letters.
    as_user: list[str] = []
    socket = Path("/tmp") / f"gramian-pg-{os.getpid()}"
    socket.mkdir()
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(socket, "postgres")
    data, options = socket / "data", f"-k {socket} -c listen_addresses='' -c fsync=off"
    start = [str(programs / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(socket / "log"), "-w", "start"]
    try:
        made = [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "tester"]
        subprocess.run([*as_user, *made], check=True, capture_output=True, cwd=socket)
        subprocess.run([*as_user, *start], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=socket)
        names = count()
        connection = ibis.postgres.connect(host=str(socket), user="tester", database="postgres")

        def load(table: pa.Table) -> ibis.Table:
            name = f"sales{next(names)}"
            with connection.con.cursor() as cursor:
                cursor.execute(f"create table {name} ({definition(table)})")
                with cursor.copy(f"copy {name} from stdin") as copy:
                    for row in rows_of(table):
                        copy.write_row(row)
            connection.con.commit()
            return connection.table(name)

        yield load
        connection.disconnect()
    finally:
        stop = [str(programs / "pg_ctl"), "-D", str(data), "stop", "-m", "immediate"]
        subprocess.run([*as_user, *stop], check=False, capture_output=True, cwd="/")
        shutil.rmtree(socket, ignore_errors=True)
    assert folder.exists()


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory) -> Loaded:
    return loaded_in_sqlite(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="module")
def duckdb() -> Loaded:
    return loaded_in_duckdb()


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def load(request) -> Loaded:
    return request.getfixturevalue(request.param)


PASSES = [
    {"exclude": "weight"},
    {"sample_weight": "weight"},
    {"sample_weight": "weight", "folds": 3, "fold_by": "color"},
    {"exclude": "weight", "folds": 2, "fold_by": "small", "targets": "flag"},
    {"exclude": "weight", "bins": {"height": [-1, 0, 1.5]}, "categorical": "large"},
    {"exclude": "weight", "numeric": ["small", "flag"]},
]


@pytest.mark.parametrize("options", PASSES)
def test_counted_there_equals_read_here(load: Loaded, options: dict) -> None:
    table = random_table(3, 300, 0.2, 1e8, 200)
    assert_same(gm.collect(load(table), engine="ibis", **options), gm.collect(table, **options), rtol=1e-10)


def test_all_missing_and_constant_columns(load: Loaded) -> None:
    table = random_table(5, 60, 1.0)
    table = table.append_column("same", pa.array([7.25] * 60)).append_column("one", pa.array(["x"] * 60))
    there, here = gm.collect(load(table), engine="ibis", exclude="weight"), gm.collect(table, exclude="weight")
    assert_same(there, here, rtol=1e-10)
    assert there.numbers.missing == here.numbers.missing
    assert there.covariance("same")[0, 0] == 0.0


def test_integers_of_too_many_pairs_are_numbers_there_too(load: Loaded, monkeypatch) -> None:
    values = np.random.default_rng(6).integers(0, 12, (90, 7))
    table = pa.table({f"c{j}": values[:, j] for j in range(7)} | {"town": ["a", "b", "c"] * 30})
    monkeypatch.setattr("gramian.design.pair_tables.NARROW_TOTAL", 30)
    for most, form in ((100, "integer"), (20, "number")):
        monkeypatch.setattr("gramian.design.pair_tables.INTEGER_TABLES", most)
        there, here = gm.collect(load(table), engine="ibis"), gm.collect(table)
        assert there.schema == here.schema
        assert there.schema["c3"].form == form
        assert_same(there, here, rtol=1e-10)


@pytest.mark.parametrize("name", ["adult", "telco_churn", "car", "german"])
def test_real_sets(load: Loaded, name: str) -> None:
    path = SETS / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the sets are not there")
    table = pq.read_table(path).slice(0, 3_000)
    assert_same(gm.collect(load(table), engine="ibis"), gm.collect(table), rtol=1e-10)


def test_rows_stream_here_as_well(load: Loaded) -> None:
    table = random_table(8, 120)
    there = load(table)
    assert_same(gm.collect(there, engine="local", exclude="weight"), gm.collect(table, exclude="weight"), rtol=1e-10)
    model = gm.PCA(2).fit(table)
    np.testing.assert_allclose(
        np.sort(gm.transform_stream(model, there).read_all().column(0)),
        np.sort(gm.transform_stream(model, table).read_all().column(0)),
        atol=1e-9,
    )


@pytest.mark.parametrize("engine", [None, "ibis"])
def test_tables_in_memory_and_functions_of_an_expression_are_made_known(duckdb, engine) -> None:
    facts = duckdb(pa.table({"shop": ["a", "b", "b", None], "paid": [1.0, 2.0, 3.0, 4.5]}))
    shops = ibis.memtable(pa.table({"shop": ["a", "b"], "town": ["Bern", "Genf"]}))

    @ibis.udf.scalar.python
    def doubled(x: float) -> float:
        return 2 * x

    joined = facts.left_join(shops, "shop").select("paid", "town")
    m = gm.collect(joined.mutate(twice=doubled(joined.paid)), engine=engine)
    assert dict(zip(m.levels("town"), m.counts("town").tolist(), strict=True)) == {"Bern": 1, "Genf": 2, None: 1}
    assert m.mean(["paid", "twice"]).tolist() == [2.625, 5.25]


def test_a_connection_can_be_used_after_a_part_of_the_rows_was_read(duckdb) -> None:
    table = duckdb(pa.table({"x": np.arange(300_000) % 7}))
    rows = open_table(table).batches(["x"])
    assert next(rows).num_rows < 300_000
    del rows
    for engine in (None, "ibis"):
        assert gm.collect(table, engine=engine).counts("x").sum() == 300_000


def test_a_server_counts_by_itself_and_a_library_is_read(duckdb, sqlite, request) -> None:
    table = random_table(1, 20)
    assert [open_table(each(table)).home for each in (duckdb, sqlite)] == ["local", "local"]
    assert open_table(request.getfixturevalue("postgres")(table)).home == "ibis"


def test_weighted_passes_of_regression(load: Loaded) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pa.table(
        {"x": x, "color": rng.choice(["r", "b"], 200), "y": np.where(x + rng.normal(size=200) > 0, "a", "b")}
    )
    there = gm.LogisticRegression(alpha=1.0).fit(load(table), "y")
    np.testing.assert_allclose(
        there.coef_, gm.LogisticRegression(alpha=1.0).fit(table, "y").coef_, rtol=1e-6, atol=1e-9
    )


def test_wide_pairs_are_refused_unless_asked_for(duckdb, monkeypatch) -> None:
    monkeypatch.setattr(database, "SMALL", 100)
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 40, 500).astype(str), "b": rng.integers(0, 30, 500).astype(str)})
    there = duckdb(table)
    with pytest.raises(DataError, match=r"'a' and 'b' have 40 and 30 levels.*large_pairs=True"):
        gm.collect(there, engine="ibis")
    assert_same(gm.collect(there, engine=DatabaseEngine(large_pairs=True)), gm.collect(table))


def test_the_plan_is_said_beforehand(duckdb, caplog) -> None:
    with caplog.at_level(logging.INFO, logger="gramian"):
        gm.collect(duckdb(random_table(2, 50)), engine="ibis", exclude="weight")
    assert "50 rows are counted there in about" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 3}, "no order to deal folds by; pass fold_by"),
        ({"folds": 3, "fold_by": "far"}, "fold_by='far' has more than 10 values"),
        ({"sample_weight": "height"}, "weight column 'height' has missing values"),
        ({"sample_weight": "small"}, "weight column 'small' has a negative value"),
        ({"sample_weight": np.ones(50)}, "given beside a table"),
        ({"targets": "color", "target_missing": "raise"}, "target column 'color'"),
    ],
)
def test_what_queries_cannot_do_is_refused_in_one_line(duckdb, monkeypatch, options, message) -> None:
    monkeypatch.setattr(database, "MOST_FOLD_VALUES", 10)
    table = random_table(2, 50)
    table = table.set_column(2, "small", pa.array([-1, 1] * 25))
    with pytest.raises(DataError, match=message):
        gm.collect(duckdb(table), engine="ibis", **options)


def test_a_time_zone_is_refused(duckdb) -> None:
    when = pa.array([datetime.datetime(2024, 1, 1, 3)], pa.timestamp("us", tz="UTC"))
    with pytest.raises(DataError, match="'when' has a time zone"):
        gm.collect(duckdb(pa.table({"when": when})), engine="ibis")


def test_infinite_numbers_are_refused(duckdb) -> None:
    with pytest.raises(DataError, match="'x' holds an infinite value"):
        gm.collect(duckdb(pa.table({"x": [1.0, float("inf")]})), engine="ibis")


def test_other_sources_are_refused() -> None:
    with pytest.raises(DataError, match="counts in the database of an Ibis table"):
        gm.collect(random_table(2, 5), engine="ibis")


def test_errors_of_the_database_are_one_line(duckdb) -> None:
    there = duckdb(pa.table({"x": ["a", "b"]}))
    with pytest.raises(DataError, match="the database answers"):
        gm.collect(there.mutate(y=there.x.cast("int64")), engine="ibis")


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_queries_compile_for_warehouses(duckdb, monkeypatch, dialect) -> None:
    """Every query of a pass is one that the warehouse's own grammar reads."""
    texts = []
    own = database.DatabaseTable.result

    def compiled(self, expression):
        texts.append(str(ibis.to_sql(expression, dialect=dialect)))
        return own(self, expression)

    monkeypatch.setattr(database.DatabaseTable, "result", compiled)
    there = duckdb(random_table(3, 100))
    gm.collect(there, engine="ibis", sample_weight="weight", folds=2, fold_by="color", targets="flag")
    assert len(texts) > 20
    for text in texts:
        sqlglot.parse_one(text, dialect=dialect)


def test_addresses(tmp_path) -> None:
    table = random_table(4, 40)
    loaded_in_sqlite(tmp_path)(table)
    address = f"sqlite://{tmp_path}/test.sqlite::sales0"
    assert_same(gm.collect(address, exclude="weight"), gm.collect(table, exclude="weight"), rtol=1e-10)
    assert_same(gm.collect(address, engine="ibis", exclude="weight"), gm.collect(table, exclude="weight"), rtol=1e-10)
    with pytest.raises(DataError, match=r"no table 'sales1'; tables there: 'sales0'"):
        gm.collect(f"sqlite://{tmp_path}/test.sqlite::sales1")
    with pytest.raises(SourceNotFoundError, match="there is no file"):
        gm.collect(f"duckdb://{tmp_path}/none.db::sales")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(DataError, match="applies to CSV files only"):
        gm.collect(address, csv={"delimiter": ";"})


def test_an_address_of_duckdb(tmp_path) -> None:
    import duckdb as library

    connection = library.connect(str(tmp_path / "shop.db"))
    connection.execute("create table sales as select range % 3 as k, range * 0.5 as x from range(100)")
    connection.close()
    m = gm.collect(f"duckdb://{tmp_path}/shop.db::sales")
    assert m.n_rows == 100
    assert m.isclose(gm.collect(f"duckdb://{tmp_path}/shop.db::main.sales", engine="ibis"))


def test_columns_may_be_left_out_by_a_view(duckdb) -> None:
    from gramian.tables.base import filled, without

    table = random_table(4, 40)
    there = open_table(duckdb(table))
    assert_same(
        gm.collect(without(there, ["weight", "when"]), engine="ibis"),
        gm.collect(table.drop_columns(["weight", "when"])),
    )
    with pytest.raises(DataError, match="does not have under their names"):
        gm.collect(filled(there, ["more"]), engine="ibis")
