"""What a query looks like: dialects, names, literals, stages, lookup tables."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from tests.exports.conftest import FEATURES, WORDS

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.exports.sql import DIALECTS


@pytest.fixture(scope="module")
def models(training):
    return {
        "transform": gm.PCA(2).fit(gm.collect(training.select(FEATURES), bins={"size": 4})),
        "anomaly_score": gm.DensityEmbedding(2).fit(
            training.select(["color", "flag", "size", "twin", "skew", "wide"]).slice(0, 60)
        ),
        "predict_proba": gm.FisherDiscriminant().fit(training.select([*FEATURES, "kind"]), "kind"),
    }


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("method", ["transform", "anomaly_score", "predict_proba"])
@pytest.mark.parametrize("lookups", ["inline", "tables"])
def test_every_dialect_parses(dialect, method, lookups, models):
    export = gm.to_sql(models[method], "shop.payments", dialect, keep="claims", method=method, lookups=lookups)
    for statement in [*export.setup, str(export)]:
        (parsed,) = sqlglot.parse(statement, dialect=dialect)
        assert not isinstance(parsed, sqlglot.exp.Command)
    assert [each.alias_or_name for each in sqlglot.parse_one(str(export), dialect=dialect).selects] == export.names


@pytest.mark.parametrize("dialect", DIALECTS)
def test_labels_are_read_back_as_they_were(dialect):
    rows = pa.table({"color": WORDS * 2, "y": [float(k) for k in range(2 * len(WORDS))]})
    query = str(gm.to_sql(gm.Ridge().fit(rows, "y"), "t", dialect, method="predict"))
    literals = {
        each.this for each in sqlglot.parse_one(query, dialect=dialect).find_all(sqlglot.exp.Literal) if each.is_string
    }
    assert {word for word in WORDS if "\0" not in word} <= literals


def test_names_are_quoted_and_tables_are_as_the_dialect_writes_them():
    rows = pa.table({'a "b"': ["x", "y", "x"], "select": [1.0, 2.0, 4.0]})
    model = gm.PCA(1).fit(rows)
    with duckdb.connect() as database:
        database.register("my table", rows)
        for table in ("my table", '"my table"', 'temp.main."my table"'):
            found = database.execute(str(gm.to_sql(model, table, keep=["select"]))).fetchall()
            assert [row[0] for row in found] == [1.0, 2.0, 4.0]
            assert [row[1] for row in found] == pytest.approx(model.transform(rows)[:, 0].tolist())
    with pytest.raises(ColumnError, match="the character 0"):
        str(gm.to_sql(gm.PCA(1).fit(pa.table({"a\0": ["x", "y", "x"]})), "t"))


def test_columns_named_like_the_query_s_own_do_not_clash():
    rows = pa.table({"gm_v0": ["x", "y", "x"], "gm_t": [1.0, 2.0, 4.0], "gm_keep0": [3.0, 1.0, 2.0]})
    model = gm.PCA(2).fit(rows)
    with duckdb.connect() as database:
        database.register("t", rows)
        found = database.execute(str(gm.to_sql(model, "t", keep=["gm_v0", "gm_t"]))).fetchall()
    assert [row[:2] for row in found] == [("x", 1.0), ("y", 2.0), ("x", 4.0)]


def test_lookup_tables_are_statements_and_arrow(models, later):
    export = gm.to_sql(models["transform"], "t", lookups="tables")
    assert export.tables
    assert all(table.column(0).null_count == 0 for table in export.tables.values())
    with duckdb.connect() as database:
        database.register("t", later)
        for name, table in export.tables.items():
            database.register(name, table)
        by_arrow = sorted(database.execute(str(export)).fetchall())
    with duckdb.connect() as database:
        database.register("t", later)
        for statement in export.setup:
            database.execute(statement)
        assert sorted(database.execute(str(export)).fetchall()) == by_arrow
    assert gm.to_sql(models["transform"], "t").tables == {}


def test_doubles_are_doubles(models):
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (color VARCHAR, y DOUBLE)")
        rows = pa.table({"color": ["a", "b", "a", None], "y": [0.1, 0.2, 0.4, 0.3]})
        query = str(gm.to_sql(gm.Ridge().fit(rows, "y"), "t", method="predict"))
        assert {kind for *_, kind in database.execute(f"DESCRIBE {query}").fetchall() if kind == "DOUBLE"} == set()
        assert [row[1] for row in database.execute(f"DESCRIBE {query}").fetchall()] == ["DOUBLE"]


def test_a_dialect_that_cannot_run_here_says_so(models, later):
    with pytest.raises(DataError, match="snowflake cannot be run here"):
        gm.check_export(models["transform"], gm.to_sql(models["transform"], "t", "snowflake"), later)
    with pytest.raises(DataError, match="pass the connection as"):
        gm.check_export(models["transform"], gm.to_sql(models["transform"], "t", "postgres"), later)
    with pytest.raises(DataError, match="dialect"):
        gm.to_sql(models["transform"], "t", "oracle")


def test_a_query_that_no_stage_needs_is_one_select():
    rows = pa.table({"city": ["Bonn", "Kiel", "Bonn", None], "rent": [510.0, 640.0, 930.0, 700.0]})
    assert str(gm.to_sql(gm.Ridge(alpha=0).fit(rows, "rent"), "flats", method="predict")).startswith("SELECT\n")
