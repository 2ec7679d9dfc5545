"""A query of a model over a star writes the joins, and gives what `transform_file` gives with the same tables."""

from __future__ import annotations

import datetime
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

import gramian as gm
from gramian.errors import DataError
from gramian.exports.sql import DIALECTS

EXACT = 1e-12
NAMES = {"shop": "shops", "item": '"all items"', "region": "regions"}


@pytest.fixture(scope="module")
def star() -> dict[str, pa.Table]:
    """Facts with null keys and keys that no table has; tables with null keys, null attributes and rows never used."""
    rng = np.random.default_rng(5)
    n = 400
    shop = [None if k == 9 else f"s{k}" for k in rng.integers(0, 10, n)]
    item = [None if k == 0 else int(k) for k in rng.integers(0, 40, n)]
    days = [datetime.date(2024, 1 + k, 3) for k in range(7)]
    return {
        "facts": pa.table({"id": np.arange(n), "shop": shop, "item": item, "x": rng.normal(size=n)}),
        "shop": pa.table(
            {
                "shop": [*(f"s{k}" for k in range(7)), None],
                "opened": [*days, None],
                'a "b` c': ["x", None, "y", "x", "z", "z", "x", "lost"],
                "region": ["n", "s", "n", None, "w", "n", "s", "w"],
            }
        ),
        "item": pa.table(
            {
                "item": np.arange(5, 60),
                "price": [None if k % 9 == 0 else float(v) for k, v in enumerate(rng.gamma(2.0, size=55))],
                "name": [f"item {k}" for k in range(55)],
            }
        ),
        "region": pa.table({"region": ["n", "s", "e"], "tax": [0.1, 0.2, 0.3]}),
    }


@pytest.fixture(scope="module")
def moments(star) -> gm.Moments:
    m = gm.collect(star["facts"], exclude="id", categorical="item")
    m = m.attach("shop", star["shop"]).attach("item", star["item"], keep_key=True)
    return m.attach("region", star["region"], keep_key=True)


def lookup_of(star) -> dict[str, pa.Table]:
    return {key: star[key] for key in NAMES}


@pytest.mark.parametrize("lookups", ["inline", "tables"])
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("kind", ["pca", "density"])
def test_the_query_equals_transform_file(kind, dialect, lookups, star, moments, tmp_path):
    model, method = (gm.PCA(4), "transform") if kind == "pca" else (gm.DensityEmbedding(2), "anomaly_score")
    model.fit(moments)
    export = gm.to_sql(model, "facts", dialect, keep="id", method=method, lookups=lookups, lookup=NAMES)
    gm.transform_file(model, star["facts"], tmp_path / "out.parquet", keep="id", method=method, lookup=lookup_of(star))
    expected = pq.read_table(tmp_path / "out.parquet")
    assert export.names == expected.column_names
    tables = {"facts": star["facts"], "shops": star["shop"], "all items": star["item"], "regions": star["region"]}
    if dialect == "duckdb":
        with duckdb.connect() as database:
            for name, table in tables.items():
                database.register(name, table)
            for statement in export.setup:
                database.execute(statement)
            found = database.execute(str(export)).fetchall()
    else:
        database = sqlite3.connect(":memory:")
        for name, table in tables.items():
            table.to_pandas().to_sql(name, database, index=False)
        for statement in export.setup:
            database.execute(statement)
        found = database.execute(str(export)).fetchall()
        database.close()
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.array(sorted(found)), np.column_stack(expected.columns), rtol=0, atol=EXACT)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_an_export_with_joins_is_checked_with_the_tables(dialect, star, moments):
    model = gm.PCA(3).fit(moments)
    export = gm.to_sql(model, "facts", dialect, lookup=NAMES)
    assert gm.check_export(model, export, star["facts"], lookup=lookup_of(star)) <= EXACT
    with pytest.raises(DataError, match=r"joins tables by \['shop', 'item', 'region'\], and rows are given by \[\]"):
        gm.check_export(model, export, star["facts"])


def test_postgres_joins_alike(star, moments, postgres):
    model = gm.PCA(3).fit(moments)
    export = gm.to_sql(model, "facts", "postgres", lookup=NAMES)
    assert gm.check_export(model, export, star["facts"], lookup=lookup_of(star), connection=postgres) <= EXACT


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_parses_joins(dialect, moments):
    query = str(gm.to_sql(gm.PCA(2).fit(moments), "shop.facts", dialect, keep="id", lookup=NAMES))
    parsed = sqlglot.parse_one(query, dialect=dialect)
    joined = [each for each in parsed.find_all(sqlglot.exp.Join) if each.args.get("using")]
    assert [each.args["using"][0].name for each in joined] == list(NAMES)
    assert [each.this.name for each in joined] == ["shops", "all items", "regions"]


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_a_column_that_no_table_or_two_tables_have_is_refused_by_the_database(dialect, star, moments):
    """Above all by SQLite, which takes a quoted name that it does not know for text."""
    model = gm.PCA(2).fit(moments)
    lost = {**lookup_of(star), "region": star["region"].drop_columns("tax")}
    twice = {**lookup_of(star), "region": star["region"].append_column("x", pa.array([1.0, 2.0, 3.0]))}
    export = gm.to_sql(model, "facts", dialect, lookup=NAMES)
    database = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    for tables, message in ((lost, "tax"), (twice, "(?i)ambiguous.*x")):
        for name, table in {"facts": star["facts"], **{NAMES[key].strip('"'): tables[key] for key in NAMES}}.items():
            if dialect == "duckdb":
                database.register(name, table)
            else:
                table.to_pandas().to_sql(name, database, index=False, if_exists="replace")
        with pytest.raises((duckdb.Error, sqlite3.Error), match=message):
            database.execute(str(export))
    database.close()


def test_rows_in_place_of_a_name_are_refused(star, moments):
    with pytest.raises(DataError, match=r"lookup= takes names of tables in the database by key"):
        gm.to_sql(gm.PCA(2).fit(moments), "facts", lookup=lookup_of(star))
