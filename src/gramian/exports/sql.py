"""`to_sql`: a fitted model as one query, in the dialect of a database.

A query is a chain of stages, `WITH s1 AS (SELECT ... FROM table), s2 AS (SELECT s1.*, ... FROM s1) ... SELECT ...`. A value is
one expression per entry and the stage that can compute it; an expression that is used several times is given a name, which
makes it a column of its stage and lets later stages refer to it.

What a level adds is a CASE where levels are few, and a join with a list of VALUES, or with a table, where they are many. Sums
are written as balanced trees: parsers limit the depth of an expression (SQLite to 1,000), not its length.

A model of a star reads from a subquery that joins: `SELECT "age", "city" FROM facts LEFT JOIN customers USING ("customer")`.
Which of the tables has a column is the database's to know, and it refuses a name that two of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.design.encoder import digest
from gramian.design.kinds import names_of
from gramian.errors import Argument, ColumnError, DataError, optional
from gramian.exports.description import Category, Codes, Description, Language, Number, described, written
from gramian.maps.formula import EXP_END, Choose, Function
from gramian.parameters import check

FEW = 24
"""Cases that a category takes in all outputs together; of more, a list is joined, which is looked up once per row."""

JOINS = 50
"""Joins of a stage: SQLite takes 64 tables."""

ROWS_PER_INSERT = 1000


@dataclass(frozen=True)
class Dialect:
    """How a database writes what standard SQL does not settle.

    Attributes
    ----------
    double, text, whole : str
        Types.
    number : str
        A double without NaN, which is missing.
    weekday, month, hour : str
        Of a date, Monday = 0.
    nul : str or None
        The character 0 as an expression; None where text cannot hold it.
    fence : str
        What keeps a stage from being merged with the next.
    values : str
        A list of rows as the body of a WITH.
    greatest : str
    """

    double: str
    text: str
    whole: str
    number: str
    weekday: str
    month: str = "EXTRACT(MONTH FROM {})"
    hour: str = "EXTRACT(HOUR FROM {})"
    nul: str | None = "CHR(0)"
    fence: str = ""
    values: str = "VALUES {rows}"
    greatest: str = "GREATEST"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", "VARCHAR", "BIGINT", "NULLIF({}, CAST('NaN' AS DOUBLE))", "ISODOW({}) - 1"),
    "sqlite": Dialect(
        "REAL", "TEXT", "INTEGER", "{}", "(CAST(STRFTIME('%w', {}) AS INTEGER) + 6) % 7",
        "CAST(STRFTIME('%m', {}) AS INTEGER)", "CAST(STRFTIME('%H', {}) AS INTEGER)", "CHAR(0)", "MATERIALIZED ",
        greatest="MAX",
    ),
    "postgres": Dialect(
        "DOUBLE PRECISION", "TEXT", "BIGINT", "NULLIF({}, CAST('NaN' AS DOUBLE PRECISION))", "EXTRACT(ISODOW FROM {}) - 1",
        nul=None, fence="MATERIALIZED ",
    ),
    "bigquery": Dialect(
        "FLOAT64", "STRING", "INT64", "IF(IS_NAN({0}), NULL, {0})", "MOD(EXTRACT(DAYOFWEEK FROM {}) + 5, 7)",
        nul="CODE_POINTS_TO_STRING([0])", values="SELECT * FROM UNNEST([STRUCT<{types}>{rows}])",
    ),
    "snowflake": Dialect(
        "DOUBLE", "VARCHAR", "NUMBER(38, 0)", "NULLIF({}, CAST('NaN' AS DOUBLE))", "DAYOFWEEKISO({}) - 1",
        values="SELECT * FROM VALUES {rows}",
    ),
    "spark": Dialect("DOUBLE", "STRING", "BIGINT", "NULLIF({}, CAST('NaN' AS DOUBLE))", "WEEKDAY({})"),
    "databricks": Dialect("DOUBLE", "STRING", "BIGINT", "NULLIF({}, CAST('NaN' AS DOUBLE))", "WEEKDAY({})"),
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """Expressions, the stage that computes them, and whether they refer to what that stage alone can see."""

    entries: tuple[str, ...]
    stage: int = 0
    bound: bool = False

    def __len__(self) -> int:
        return len(self.entries)


@dataclass
class Stage:
    """A SELECT: named expressions, and what is joined."""

    columns: dict[str, str] = field(default_factory=dict)
    joins: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Lookup:
    """A list of rows that is joined: its name, its columns with their types, and the columns' values."""

    name: str
    key: str
    columns: list[str]
    values: list[Any]


class SqlExport:
    """A query, as `str()` gives it.

    Attributes
    ----------
    dialect : str
    setup : list of str
        Statements that create the lookup tables, with `lookups="tables"`.
    tables : dict of pyarrow.Table
        The same tables by name, to be loaded in another way.
    lookup : dict of str
        The tables that are joined, by key.
    names : list of str
        The columns of the result: those that are kept, then those of the method.
    """

    def __init__(
        self,
        description: Description,
        table: str,
        dialect: str,
        keep: Sequence[str],
        lookups: str,
        lookup: Mapping[str, str] | None = None,
    ) -> None:
        self.description, self.table, self.dialect = description, table, dialect
        self.keep, self.lookups, self.lookup = list(keep), lookups, dict(lookup or {})
        self._writer = _Writer(description, table, dialect, self.keep, self.lookup, inline=lookups == "inline")

    def __str__(self) -> str:
        return self.query

    def __repr__(self) -> str:
        return f"SqlExport({self.description.method!r}, {self.table!r}, dialect={self.dialect!r})"

    @property
    def names(self) -> list[str]:
        """The columns of the result."""
        return [*self.keep, *self.description.names]

    def keeping(self, keep: Sequence[str], table: str, lookup: Mapping[str, str]) -> SqlExport:
        """Return the same query with other columns copied through, and of other tables."""
        return SqlExport(self.description, table, self.dialect, keep, self.lookups, lookup)

    @cached_property
    def query(self) -> str:
        """The text of the query."""
        return self._writer.query()

    @property
    def _tables(self) -> list[Lookup]:
        return self._writer.lookups if self.query and self.lookups == "tables" else []

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The lookup tables."""
        return {each.name: pa.table(dict(zip(each.columns, each.values, strict=True))) for each in self._tables}

    @cached_property
    def setup(self) -> list[str]:
        """Statements that create the lookup tables and fill them."""
        return [line for each in self._tables for line in self._writer.create(each)]


def to_sql(
    model: Any,
    table: str,
    dialect: str = "duckdb",
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    lookups: str = "inline",
    lookup: Mapping[str, str] | None = None,
) -> SqlExport:
    """Return a query that gives in a database what a fitted model gives in Python.

    NULL and NaN are missing, and a level never seen adds nothing, as in `transform`. Rows come in any order: keep a key. An
    infinite number raises in Python and is not defined here.

    Parameters
    ----------
    model : fitted estimator
        `PCA`, `Whitening`, `FisherDiscriminant`, `MahalanobisFeatures`, `JointTargetEncoder`, `Ridge`, `LogisticRegression`,
        `GLM`, `AdditiveClassifier`, `AdditiveRegressor`, `RandomFeatures`, the extreme learning machines, `DensityEmbedding` by
        trees or walks, or a selector; with bins and crosses too.
    table : str
        What to select from, as the dialect writes it: `payments`, `"my schema".payments`, or a name that has to be quoted.
    dialect : {"duckdb", "sqlite", "postgres", "bigquery", "snowflake", "spark", "databricks"}
    keep : str or list of str, optional
        Columns copied through, in front of the result.
    method : str
        `"transform"`, `"predict"`, `"predict_proba"`, `"decision_function"`, `"anomaly_score"` or `"score_samples"`.
    lookups : {"inline", "tables"}
        Where the weights of columns of many levels are: within the query, or in tables of their own, which `setup` creates.
    lookup : mapping, optional
        For a model of moments with tables attached (`Moments.attach`): `{key: name of the table in the database}`, in the order
        in which they are joined. Each has one row per key, in a column of the key's name and type; a key that it lacks, and a
        missing one, have missing values, as in `transform_file(..., lookup=...)`.

    Returns
    -------
    SqlExport
        `str()` of it is the query; `setup` lists statements to run before, and `tables` holds the same tables as Arrow.

    See Also
    --------
    to_onnx, to_polars : other languages.
    check_export : whether the query says the same.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> rows = pa.table({"city": ["Bonn", "Kiel", "Bonn", None], "rent": [510.0, 640.0, 930.0, 700.0]})
    >>> model = gm.Ridge(alpha=0).fit(rows, "rent")
    >>> query = gm.to_sql(model, "flats", keep="city", method="predict")
    >>> query.names, str(query).startswith("SELECT")
    (['city', 'prediction'], True)
    """
    check("dialect", dialect, *DIALECTS)
    check("lookups", lookups, "inline", "tables")
    if lookup is not None and not (
        isinstance(lookup, Mapping) and all(isinstance(name, str) for name in lookup.values())
    ):
        raise DataError(
            Argument("lookup"),
            " takes names of tables in the database by key, {key: name}; a table of rows is looked up by transform_file",
        )
    return SqlExport(described(model, method), table, dialect, names_of(keep, called="keep"), lookups, lookup)


def _sqlglot() -> Any:
    return optional("sqlglot", "to_sql", "sqlglot", extra="exports")


class _Writer(Language[Value]):
    """Writes one query."""

    def __init__(
        self,
        description: Description,
        table: str,
        dialect: str,
        keep: Sequence[str],
        lookup: Mapping[str, str],
        *,
        inline: bool,
    ) -> None:
        super().__init__(description)
        self._glot = _sqlglot().exp
        self._dialect, self._name, self._inline = DIALECTS[dialect], dialect, inline
        self._keep = list(keep)
        self._table = self._joined(self._source(table), lookup)
        # Text that the table's own names cannot be, so that a stage never has two columns of one name.
        self._mark = "gm_"
        while any(name.lower().startswith(self._mark) for name in [*keep, *description.origins]):
            self._mark += "_"
        self._stages: list[Stage] = [Stage()]
        self._known: dict[tuple[int, ...], Value] = {}
        self._names: dict[tuple[str, int], str] = {}
        self.lookups: list[Lookup] = []

    def query(self) -> str:
        """Return the text."""
        if self._description.formula is None:
            return self._selected([f"{self._mark}t.{self._quoted(name)}" for name in self._description.names])
        result = written(self, self._description.formula)
        if result.stage == 0 and not self._stages[0].columns:
            return self._selected(list(map(self._as_double, result.entries)))
        if result.stage == 0:
            result = self.named(result)
        kept = [f"{self._mark}keep{k}" for k in range(len(self._keep))]
        for name, column in zip(self._keep, kept, strict=True):
            self._stages[0].columns[column] = f"{self._mark}t.{self._quoted(name)}"
        parts = [] if not self._inline else [self._body(each) for each in self.lookups]
        for k, stage in enumerate(self._stages[: result.stage]):
            body = f"(\n  SELECT\n    {self._columns(k, stage)}\n  {self._from(k, stage)}\n)"
            parts.append(f"{self._mark}s{k} AS {self._dialect.fence}{body}")
        outputs = [*zip(kept, self._keep, strict=True)]
        outputs += zip(map(self._as_double, result.entries), self._description.names, strict=True)
        last = self._stages[result.stage] if len(self._stages) > result.stage else Stage()
        listed = ",\n  ".join(f"{each} AS {self._quoted(name)}" for each, name in outputs)
        return "WITH " + ",\n".join(parts) + f"\nSELECT\n  {listed}\n{self._from(result.stage, last)}"

    def create(self, lookup: Lookup) -> Iterable[str]:
        """Yield the statements that create a lookup table."""
        types = [lookup.key, *[self._dialect.double] * (len(lookup.columns) - 1)]
        listed = ", ".join(f"{name} {kind}" for name, kind in zip(lookup.columns, types, strict=True))
        yield f"CREATE TABLE {lookup.name} ({listed})"
        rows = self._rows(lookup)
        for start in range(0, len(rows), ROWS_PER_INSERT):
            yield f"INSERT INTO {lookup.name} VALUES " + ", ".join(rows[start : start + ROWS_PER_INSERT])

    # What is read

    def by_level(self, category: int, table: Array) -> Value:
        known = self._description.categories[category]
        rows, otherwise, missing = table[known.codes], table[known.unseen], table[known.missing]
        if known.sides is not None and known.cells is not None:
            return self._by_cell(known.sides, known.cells, rows, otherwise)
        if known.edges is not None:
            codes = self._code(category)
            cells = np.arange(known.unseen)
            return self._looked_up(codes, cells.tolist(), self._dialect.whole, table[:-1], otherwise, otherwise)
        key, kind = self._key(known, several=table.shape[1] > 1 or len(known.keys) > FEW)
        return self._looked_up(key, known.keys, kind, rows, otherwise, missing)

    def by_pair(self, first: int, second: int, table: Array) -> Value:
        rows, columns = np.nonzero(table)
        return self.by_seen_pair(first, second, rows, columns, table[rows, columns])

    def by_seen_pair(self, first: int, second: int, rows: Codes, columns: Codes, values: Array) -> Value:
        return self._by_cell((first, second), (rows, columns), values[:, None], np.zeros(1))

    def _by_cell(self, sides: tuple[int, int], cells: tuple[Codes, Codes], rows: Array, otherwise: Array) -> Value:
        """Return the row of a pair of codes, `otherwise` of one that is not listed."""
        width = self._description.categories[sides[1]].unseen + 1
        cell = self.combine("+", self.combine("*", self._code(sides[0]), np.array([width])), self._code(sides[1]))
        keys = (cells[0] * width + cells[1]).tolist()
        return self._looked_up(self.named(cell), keys, self._dialect.whole, rows, otherwise, otherwise)

    def number(self, number: Number) -> Value:
        column = f"{self._mark}t.{self._quoted(number.origin)}"
        taken = f"({column} - {int(number.offset)})" if number.offset else column
        value = self._dialect.number.format(f"CAST({taken} AS {self._dialect.double})")
        return Value((f"LN({value})" if number.logarithm else value,), 0, bound=True)

    # Arithmetic

    def total(self, values: list[Value], offset: Array) -> Value:
        values = self._together(values)
        stage, bound = self._place(values)
        out = []
        for k, constant in enumerate(offset):
            terms = [value.entries[k] for value in values]
            terms = [term for term in terms if term != _number(0.0)]
            if constant != 0 or not terms:
                terms.append(_number(constant, self._dialect.double))
            out.append(_sum(terms))
        return Value(tuple(out), stage, bound)

    def product(self, value: Value, matrix: Array) -> Value:
        if matrix.shape[1] > 1:
            value = self.named(value)
        out = []
        for column in matrix.T:
            used = ((entry, weight) for entry, weight in zip(value.entries, column, strict=True) if weight != 0)
            terms = [entry if weight == 1 else f"{entry} * {_number(weight)}" for entry, weight in used]
            out.append(_sum(terms) if terms else _number(0.0))
        return replace(value, entries=tuple(out))

    def pick(self, value: Value, places: Codes) -> Value:
        return replace(value, entries=tuple(value.entries[place] for place in places))

    def join(self, values: list[Value]) -> Value:
        values = self._together(values)
        return Value(tuple(entry for value in values for entry in value.entries), *self._place(values))

    def combine(self, sign: str, left: Any, right: Any) -> Value:
        (a, b), stage, bound = self._aligned(left, right)
        return Value(tuple(f"({x} {sign} {y})" for x, y in zip(a, b, strict=True)), stage, bound)

    def log(self, value: Value) -> Value:
        return replace(value, entries=tuple(f"LN({entry})" for entry in value.entries))

    def where(self, left: Value, least: Any, above: Any, below: Any) -> Value:
        (a, b, c, d), stage, bound = self._aligned(left, least, above, below)
        parts = zip(a, b, c, d, strict=True)
        return Value(tuple(f"CASE WHEN {x} > {y} THEN {u} ELSE {v} END" for x, y, u, v in parts), stage, bound)

    def filled(self, value: Value) -> Value:
        return replace(value, entries=tuple(f"COALESCE({entry}, {_number(0.0)})" for entry in value.entries))

    def apply(self, function: Function, value: Value) -> Value:
        value = self.named(value)
        if function == "softmax":
            return self._shares(self._powers(value))
        if function == "proportion":
            return self._shares(value)
        return replace(value, entries=tuple(_FUNCTIONS[function].format(entry) for entry in value.entries))

    def _powers(self, value: Value) -> Value:
        largest = self.named(Value((self._greatest(value.entries),), value.stage))
        top = largest.entries[0]
        # PostgreSQL refuses an exponential that underflows.
        powers = (f"CASE WHEN {x} - {top} < -700e0 THEN 0e0 ELSE EXP({x} - {top}) END" for x in value.entries)
        return self.named(Value(tuple(powers), largest.stage))

    def _shares(self, value: Value) -> Value:
        whole = self.named(Value((_sum(list(value.entries)),), value.stage))
        return Value(tuple(f"{entry} / {whole.entries[0]}" for entry in value.entries), whole.stage)

    def choose(self, value: Value, step: Choose) -> Value:
        labels = [self._literal(label) for label in step.classes.tolist()]
        if len(value) == 1:
            test = f"{value.entries[0]} {'>=' if step.at_least else '>'} 0e0"
            return replace(value, entries=(f"CASE WHEN {test} THEN {labels[1]} ELSE {labels[0]} END",))
        largest = self.named(Value((self._greatest(value.entries),), value.stage))
        pairs = zip(value.entries, labels, strict=True)
        cases = " ".join(f"WHEN {entry} = {largest.entries[0]} THEN {label}" for entry, label in pairs)
        return Value((f"CASE {cases} END",), largest.stage)

    def named(self, value: Value) -> Value:
        stage, out = value.stage, []
        plain = all(entry.startswith(self._mark) and entry.replace("_", "").isalnum() for entry in value.entries)
        if plain and not value.bound:
            return value
        while len(self._stages) <= stage:
            self._stages.append(Stage())
        for entry in value.entries:
            name = self._names.get((entry, stage))
            if name is None:
                name = self._names[entry, stage] = f"{self._mark}v{len(self._names)}"
                self._stages[stage].columns[name] = entry
            out.append(name)
        return Value(tuple(out), stage + 1)

    # Stages

    def _place(self, values: Sequence[Value]) -> tuple[int, bool]:
        return max((value.stage for value in values), default=0), any(value.bound for value in values)

    def _together(self, values: Sequence[Value]) -> list[Value]:
        """Return values that one stage can compute: those bound to an earlier one get names there."""
        out = list(values)
        while True:
            last = max((value.stage for value in out), default=0)
            early = [value.bound and value.stage < last for value in out]
            if not any(early):
                return out
            out = [self.named(value) if is_early else value for value, is_early in zip(out, early, strict=True)]

    def _aligned(self, *values: Any) -> tuple[list[tuple[str, ...]], int, bool]:
        held = self._together([value for value in values if isinstance(value, Value)])
        at, out, width = iter(held), [], max(len(value) for value in held)
        for value in values:
            entries = next(at).entries if isinstance(value, Value) else tuple(map(_number, np.asarray(value).tolist()))
            out.append(entries * width if len(entries) == 1 else entries)
        return out, *self._place(held)

    def _columns(self, k: int, stage: Stage) -> str:
        passed = [f"{self._mark}s{k - 1}.*"] if k else []
        return ",\n    ".join([*passed, *(f"{text} AS {name}" for name, text in stage.columns.items())])

    def _from(self, k: int, stage: Stage) -> str:
        source = f"{self._table} AS {self._mark}t" if k == 0 else f"{self._mark}s{k - 1}"
        return "\n  ".join([f"FROM {source}", *stage.joins])

    def _selected(self, entries: Sequence[str]) -> str:
        """Return a query of one stage."""
        kept = [f"{self._mark}t.{self._quoted(name)}" for name in self._keep]
        names = [self._quoted(name) for name in self._description.names]
        text = ",\n  ".join([*kept, *(f"{each} AS {name}" for each, name in zip(entries, names, strict=True))])
        return f"SELECT\n  {text}\n{self._from(0, Stage())}"

    # Keys and lookups

    def _key(self, known: Category, *, several: bool) -> tuple[Value, str]:
        """Return what a category is looked up by, missing where it is missing, and its type."""
        dialect, column = self._dialect, f"{self._mark}t.{self._quoted(known.origin)}"
        if known.part is not None:
            part = getattr(dialect, known.part.replace("dayofweek", "weekday")).format(column)
            text, kind = f"CAST({part} AS {dialect.whole})", dialect.whole
        elif known.family == "text":
            text, kind = f"CAST({column} AS {dialect.text})", dialect.text
        elif known.family == "number" and known.exact:
            text, kind = dialect.number.format(f"CAST({column} AS {dialect.double})"), dialect.double
        else:
            text, kind = column, "BOOLEAN" if known.family == "boolean" else "DECIMAL(38, 0)"
        key = Value((text,), 0, bound=True)
        return (self.named(key) if several else key), kind

    def _code(self, category: int) -> Value:
        """Return the code of a category, named."""
        kept = (category,)
        if kept not in self._known:
            known = self._description.categories[category]
            if known.edges is not None:
                code = self._interval(known)
            else:
                code = self.by_level(category, np.arange(known.unseen + 1)[:, None])
            self._known[kept] = self.named(code)
        return self._known[kept]

    def _interval(self, known: Category) -> Value:
        """Return the code of the bin of a number."""
        assert known.edges is not None
        assert known.intervals is not None
        key, _ = self._key(known, several=True)
        at = key.entries[0]
        cases = [f"WHEN {at} IS NULL THEN {known.missing}"]
        cases += [f"WHEN {at} = {_number(own)} THEN {code}" for own, code in zip(known.keys, known.codes, strict=True)]
        cases += [
            f"WHEN {at} < {_number(edge)} THEN {code}" for edge, code in zip(known.edges, known.intervals, strict=False)
        ]
        return replace(key, entries=(f"CASE {' '.join(cases)} ELSE {known.intervals[-1]} END",))

    def _looked_up(self, key: Value, keys: list[Any], kind: str, rows: Any, otherwise: Any, missing: Any) -> Value:
        """Return the row of a key, `otherwise` for other keys, `missing` where the key is."""
        held = np.array([self._holds(each) for each in keys], dtype=bool)
        differ = np.flatnonzero((rows != otherwise).any(axis=1) & held) if len(keys) else np.empty(0, np.int64)
        rows, keys = rows[differ], [keys[k] for k in differ]
        at, apart = key.entries[0], np.asarray(missing) != np.asarray(otherwise)
        null = apart & ~(np.isnan(missing) & np.isnan(otherwise))
        codes = rows.dtype.kind == "i"
        type_ = self._dialect.whole if codes else self._dialect.double
        write: Callable[[Any], str] = (lambda value: str(int(value))) if codes else _number
        if len(keys) * len(otherwise) <= FEW:
            texts = [self._literal(each) for each in keys]
            out = []
            for f in range(len(otherwise)):
                pairs = zip(texts, rows[:, f], strict=True)
                cases = " ".join(f"WHEN {text} THEN {write(value)}" for text, value in pairs)
                last = write(otherwise[f])
                case = f"CASE {at} {cases} ELSE {last} END" if cases else last
                case = f"CASE WHEN {at} IS NULL THEN {write(missing[f])} ELSE {case} END" if null[f] else case
                out.append(f"CAST({case} AS {type_})" if case != last or null[f] else last)
            return replace(key, entries=tuple(out))
        name = f"{self._mark}l{len(self.lookups)}" + ("" if self._inline else f"_{digest(rows)[:8]}")
        columns = [f"{self._mark}k", *(f"{self._mark}w{f}" for f in range(len(otherwise)))]
        values = [_arrow(keys), *map(pa.array, np.ascontiguousarray(rows.T, float))]
        self.lookups.append(Lookup(name, kind, columns, values))
        stage = key.stage
        while len(self._stages) > stage and len(self._stages[stage].joins) >= JOINS:
            stage += 1
        while len(self._stages) <= stage:
            self._stages.append(Stage())
        self._stages[stage].joins.append(f"LEFT JOIN {name} ON {at} = {name}.{columns[0]}")
        out = []
        for f, column in enumerate(columns[1:]):
            last = write(otherwise[f])
            if null[f]:
                last = f"CASE WHEN {at} IS NULL THEN {write(missing[f])} ELSE {last} END"
            out.append(f"CAST(COALESCE({name}.{column}, {last}) AS {type_})")
        return Value(tuple(out), stage, bound=True)

    def _holds(self, label: Any) -> bool:
        return not (isinstance(label, str) and "\0" in label and self._dialect.nul is None)

    def _body(self, lookup: Lookup) -> str:
        types = [lookup.key, *[self._dialect.double] * (len(lookup.columns) - 1)]
        rows = self._rows(lookup, types)
        named = ", ".join(f"{name} {kind}" for name, kind in zip(lookup.columns, types, strict=True))
        body = self._dialect.values.format(rows=", ".join(rows), types=named)
        columns = "" if "{types}" in self._dialect.values else f"({', '.join(lookup.columns)})"
        return f"{lookup.name}{columns} AS {self._dialect.fence}({body})"

    def _rows(self, lookup: Lookup, types: Sequence[str] = ()) -> list[str]:
        keys, *columns = (column.to_pylist() for column in lookup.values)
        texts = [list(map(self._literal, keys)), *(list(map(_number, column)) for column in columns)]
        for column, kind in zip(texts, types, strict=False):
            # One value of a type gives it to all.
            column[0] = f"CAST({column[0]} AS {kind})"
        return [f"({', '.join(row)})" for row in zip(*texts, strict=True)]

    # Words

    def _greatest(self, entries: Sequence[str]) -> str:
        return _tree(entries, lambda some: f"{self._dialect.greatest}({', '.join(some)})")

    def _as_double(self, entry: str) -> str:
        if entry.startswith(("CAST(", "CASE ")) or self._description.method == "predict":
            return entry
        return f"CAST({entry} AS {self._dialect.double})"

    def _literal(self, value: Any) -> str:
        if isinstance(value, bool | np.bool_):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int | np.integer):
            return str(int(value))
        if isinstance(value, float):
            return _number(value)
        if not isinstance(value, str):
            kind = type(value).__name__
            raise DataError(f"a label of type {kind} cannot be written in SQL; fit with text or numbers")
        pieces = [self._glot.Literal.string(piece).sql(dialect=self._name) for piece in value.split("\0")]
        if len(pieces) == 1:
            return pieces[0]
        if self._name == "sqlite":
            return f"({' || CHAR(0) || '.join(pieces)})"
        return f"CONCAT({f', {self._dialect.nul}, '.join(pieces)})"

    def _quoted(self, name: str) -> str:
        if "\0" in name:
            raise ColumnError(f"column {name!r} holds the character 0, which no identifier can; rename it")
        return str(self._glot.to_identifier(name, quoted=True).sql(dialect=self._name))

    def _joined(self, table: str, lookup: Mapping[str, str]) -> str:
        """Return a table left-joined with those that its keys point to, the columns alone that are asked for."""
        if not lookup:
            return table
        joins = [f"LEFT JOIN {self._source(name)} USING ({self._quoted(key)})" for key, name in lookup.items()]
        read = dict.fromkeys([*self._keep, *self._description.origins])
        names = [self._quoted(name) for name in read]
        if self._name == "sqlite":
            # Which takes a name in double quotes that no table has for text.
            names = ["`" + name.replace("`", "``") + "`" for name in read]
        return f"(SELECT {', '.join(names)} FROM {' '.join([table, *joins])})"

    def _source(self, table: str) -> str:
        glot = _sqlglot()
        try:
            parsed = glot.parse_one(f"SELECT * FROM {table}", dialect=self._name)
            alone = parsed.find(glot.exp.From).this
            if parsed.sql(dialect=self._name) == f"SELECT * FROM {alone.sql(dialect=self._name)}" and not alone.alias:
                return str(alone.sql(dialect=self._name))
        except glot.errors.SqlglotError:
            pass
        return self._quoted(table)


def _arrow(keys: list[Any]) -> pa.Array:
    return pa.array(keys, pa.float64()) if any(isinstance(key, float) for key in keys) else pa.array(keys)


def _number(value: float, kind: str = "") -> str:
    """Return a double as a literal that no parser takes for a decimal; NaN is missing."""
    if np.isnan(value):
        return "NULL"
    if np.isinf(value):
        # What no other value exceeds.
        return "1.7e308" if value > 0 else "-1.7e308"
    text = repr(float(value))
    text = (text[:-2] if text.endswith(".0") else text) + ("" if "e" in text else "e0")
    return f"CAST({text} AS {kind})" if kind else text


def _sum(terms: list[str]) -> str:
    return _tree(terms, lambda some: f"({' + '.join(some)})")


def _tree(terms: Sequence[str], write: Callable[[Sequence[str]], str]) -> str:
    """Return terms taken together as a balanced tree, up to eight at a time."""
    while len(terms) > 1:
        groups = [terms[k : k + 8] for k in range(0, len(terms), 8)]
        terms = [write(some) if len(some) > 1 else some[0] for some in groups]
    return terms[0]


_END = _number(EXP_END)

_FUNCTIONS = {
    "tanh": "TANH({0})",
    "sigmoid": "CASE WHEN {0} < -700e0 THEN 0e0 ELSE 1e0 / (1e0 + EXP(-{0})) END",
    "relu": "CASE WHEN {0} > 0e0 THEN {0} ELSE 0e0 END",
    "step": "CASE WHEN {0} >= 0e0 THEN 1e0 ELSE 0e0 END",
    "cos": "COS({0})",
    "exp": f"EXP(CASE WHEN {{0}} > {_END} THEN {_END} WHEN {{0}} < -{_END} THEN -{_END} ELSE {{0}} END)",
    "share": "CASE WHEN {0} < 0e0 THEN 0e0 WHEN {0} > 1e0 THEN 1e0 ELSE {0} END",
}
