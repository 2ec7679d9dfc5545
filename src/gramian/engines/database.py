"""The engine inside a database: rows are counted where they lie, and only counts and sums come here.

What moments need are sums over groups of rows, and a database makes those:

    one query     rows, weights, and of each number its mean and spread, from which its anchor is chosen
    one query     sums of the numbers' deviations d, of the products of any two, and of their powers up to the sixth
    a query each  for a column by level: rows, weights and sums of deviations of each of its levels
    some queries  the pairs of levels of any two columns, several pairs in one query by `UNION ALL` of `GROUP BY`

Anchors are fixed before anything is squared, so sums of products lose no digits far from zero, as in a pass over rows
(`gramian.moments.state.numbers`); scatters and higher powers are then moved from the anchors to the means. The moments are
those of reading the rows: counts exactly, numbers to rounding.

*Why not one query.* `CUBE` and `GROUPING SETS` over all columns are slower than a union, as each set keeps a hash table until
the end; and all pairs of fifty columns in one text are more than parsers take. In a union every label is a text, and the
texts of a column's labels are known from its own query.

*What is refused.* A pair of wide columns may have as many different pairs as the table has rows, which would then all come
here, sorted. Rows in a database have no order, so folds need `fold_by`; its hash is not to be had in SQL, so the values
are asked for, and each value's fold is written into the query. A time zone is that of the session there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.bins import Bins
from gramian.design.encoder import Encoder, by_value
from gramian.design.pair_tables import crowded, refuse_many_tables
from gramian.design.schema import MAX_INTEGER_LEVELS, Column, Labels, Schema, canonical, label_family
from gramian.engines.base import Engine, Result
from gramian.engines.local import LocalEngine, require_rows
from gramian.errors import Argument, ColumnError, DataError
from gramian.moments.algebra.levels import drop_empty_levels
from gramian.moments.state.numbers import HIGHEST, Numbers, anchor_near, refuse_overflow
from gramian.moments.state.pair_counts import Block, PairCounts
from gramian.moments.value import Moments, merge
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.base import View, innermost
from gramian.tables.distributed.database import DatabaseTable, ibis

_LOG = logging.getLogger("gramian")

UNION_PAIRS = 20
"""Pairs of columns in one query: parsers and planners take seconds from some hundred on."""

UNION_SUMS = 300
"""Sums in one query."""

SMALL = 100_000
"""Rows of a table that may come back as a pair of columns without being asked for."""

MOST_FOLD_VALUES = 2_000
"""Values of `fold_by` that are written into a query."""

MOST_NUMBERS = 150
"""Numbers whose products are asked for: twelve thousand sums, and as many again where values are missing."""


class DatabaseEngine(Engine):
    """Queries in the database of an Ibis table.

    Parameters
    ----------
    large_pairs : bool
        Count pairs of columns also where they may have as many different pairs as the table has rows.
    streams : bool
        Read the rows, where what is asked for cannot be had by queries; by default an error says what that is.
    n_jobs, memory_limit, progress
        As in `gramian.collect`, for rows that are read.
    """

    def __init__(self, *, large_pairs: bool = False, streams: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.large_pairs, self.streams = large_pairs, streams
        self._local = partial(LocalEngine, **arguments)

    def reduce(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> Moments:
        """Return the moments of a table."""
        try:
            if type(encoder) is not Encoder:
                raise _Beyond("a pass with weights of a model")
            return _Pass(table, encoder, large_pairs=self.large_pairs).moments()
        except _Beyond as reason:
            # A weighted pass needs every row, whatever engine was named.
            if not self.streams and type(encoder) is Encoder:
                raise DataError(*reason.parts, "; read the rows here with ", Argument("engine", "local")) from None
            _LOG.info(f"the rows of {table.describe} are read here: {reason}")
            return self._local().reduce(table, encoder)

    def map(
        self,
        table: ArrowTable,
        function: Callable[[pa.RecordBatch], Result],
        *,
        columns: Sequence[str],
        rows: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """Yield a function of each batch, in order: rows come here."""
        return self._local().map(table, function, columns=columns, rows=rows, limit=limit)


class _Beyond(DataError):
    """What queries cannot do, in words that follow a name."""


@dataclass(frozen=True, eq=False)
class _Number:
    """A column that is added up: its values less an anchor, null where missing."""

    name: str
    value: Any
    anchor: float
    missing: bool


class _Pass:
    """One pass: what is asked of the database, in the order in which it is."""

    def __init__(self, table: ArrowTable | ArrayTable, encoder: Encoder, *, large_pairs: bool) -> None:
        inner = innermost(table)
        if not isinstance(inner, DatabaseTable):
            raise DataError(
                Argument("engine", "ibis"), f" counts in the database of an Ibis table, and {table.describe} is not one"
            )
        if table is not inner and not (type(table) is View and set(encoder.source_columns) <= set(inner.schema.names)):
            raise _Beyond("columns that the table in the database does not have under their names")
        table = inner
        if encoder.attached or encoder.weights is not None:
            raise _Beyond("values that are given beside a table in a database, one per row, have no rows to go with")
        if encoder.n_folds and encoder.fold_column is None:
            raise _Beyond("rows in a database have no order to deal folds by; pass ", Argument("fold_by"))
        self.table, self.encoder, self.large_pairs = table, encoder, large_pairs
        self.schema: Schema = encoder.schema
        self.rows, self.left_out = table.expression, 0
        if len(self.schema.numbers) > MOST_NUMBERS:
            raise _Beyond(f"{len(self.schema.numbers)} numbers have too many products to be asked for")
        self.can_tell_nan = table.backend.has_operation(ibis.expr.operations.IsNan)
        self.weight = None if encoder.weight_column is None else table.expression[encoder.weight_column].cast("float64")
        for column in self.schema:
            if column.crossed:
                raise _Beyond(f"column {column.name!r} is made of two columns")
            kind = table.schema.field(column.origin).type
            if isinstance(column.part, str) and pa.types.is_timestamp(kind) and kind.tz is not None:
                raise _Beyond(
                    f"column {column.origin!r} has a time zone, and a database shows hours in that of its session"
                )
            family, given = encoder.families.get(column.name, "null"), label_family(kind)
            if column.form == "category" and column.part is None and "null" not in (family, given) and family != given:
                raise ColumnError(f"column {column.origin!r} holds {kind}, where {family} labels are asked for")

    def moments(self) -> Moments:
        """Return the moments of all rows, with those of the folds."""
        self._leave_out()
        self._settle_integers()
        levels = {name: self._levels(name) for name in self.schema.coded}
        integers = [column.name for column in self.schema if column.form == "integer" and not column.target]
        if crowded(integers, [len(labels) for labels, _ in levels.values()]):
            self.schema = self.schema.with_form(integers, "number")
            levels = {name: levels[name] for name in self.schema.coded}
        numbers = self._numbers()
        self._refuse_large(levels)
        if not self.encoder.n_folds:
            whole = self._counted(self.rows, numbers, levels)
            return require_rows(replace(drop_empty_levels(whole), rows_left_out=self.left_out), self.table.describe)
        fold = self._fold()
        parts = [self._counted(self.rows.filter(fold == k), numbers, levels) for k in range(self.encoder.n_folds)]
        whole = replace(drop_empty_levels(merge(parts)), rows_left_out=self.left_out)
        return require_rows(replace(whole, folds=tuple(map(drop_empty_levels, parts))), self.table.describe)

    def _ask(self, expression: Any) -> dict[str, list[Any]]:
        return self.table.result(expression).to_pydict()

    # What is read of a column

    def _plain(self, name: str) -> Any:
        """Return a source column, NaN as null."""
        value = self.table.expression[name]
        if value.type().is_floating() and self.can_tell_nan:
            return ibis.ifelse(value.isnan(), ibis.null(value.type()), value)
        return value

    def _label(self, column: Column) -> Any:
        """Return the label of a column by level."""
        value = self._plain(column.origin)
        if isinstance(column.part, Bins):
            bins, value = column.part, value.cast("float64")
            names = bins.names
            cases = [(value.isnull(), ibis.null("string"))]
            cases += [(value == own, names[len(bins.edges) + 1 + k]) for k, own in enumerate(bins.own)]
            cases += [(value < edge, names[k]) for k, edge in enumerate(bins.edges)]
            return ibis.cases(*cases, else_=names[len(bins.edges)])
        if column.part == "dayofweek":
            return value.day_of_week.index()
        return getattr(value, str(column.part))() if column.part else value

    def _value(self, column: Column) -> Any:
        """Return a column as numbers: integers stay integers, so that an anchor is taken off them exactly."""
        value = self._plain(column.origin)
        kind = value.type()
        if kind.is_interval():
            raise _Beyond(f"column {column.origin!r} holds durations")
        if kind.is_boolean():
            return ibis.ifelse(value.isnull(), ibis.null("int64"), value.ifelse(1, 0).cast("int64"))
        return value if kind.is_integer() else value.cast("float64")

    # What is settled before anything is counted

    def _leave_out(self) -> None:
        """Leave out rows without weight and rows without a target."""
        rows = self.rows
        if self.weight is not None:
            name, weight = self.encoder.weight_column, self.weight
            found = self._ask(rows.aggregate(low=weight.min(), high=weight.max(), given=weight.count(), n=rows.count()))
            low, high, given, n = (found[key][0] for key in ("low", "high", "given", "n"))
            if given < n or (low is not None and (np.isnan(low) or np.isnan(high))):
                raise ColumnError(
                    f"weight column {name!r} has missing values; every row needs a weight (0 leaves it out)"
                )
            if low is not None and low < 0:
                raise ColumnError(f"weight column {name!r} has a negative value ({low}); weights are 0 or more")
            if high is not None and np.isinf(high):
                raise ColumnError(f"weight column {name!r} has an infinite value; weights are finite")
            rows = rows.filter(weight > 0)
        targets = list(dict.fromkeys(column.origin for column in self.schema if column.target))
        if targets:
            complete = rows.filter([self._plain(name).notnull() for name in targets])
            found = self._ask(
                ibis.union(*(part.aggregate(n=part.count()) for part in (rows, complete)), distinct=False)
            )
            self.left_out = abs(found["n"][0] - found["n"][1])
            if self.left_out and self.encoder.target_missing == "raise":
                raise ColumnError(
                    f"target column {targets[0]!r}, or another target, has missing values, {self.left_out:,} among "
                    f"{max(found['n']):,} rows; fill them in, or leave those rows out with ",
                    Argument("target_missing", "drop"),
                )
            rows = complete
        self.rows = rows

    def _settle_integers(self) -> None:
        """Make numbers of the integers that show more values than are kept by level."""
        crowded = []
        for column in self.schema:
            if column.form == "integer":
                some = self.rows.select(label=self._label(column)).distinct().limit(MAX_INTEGER_LEVELS + 2)
                labels = self.table.result(some).column("label")
                if len(labels) - labels.null_count > MAX_INTEGER_LEVELS:
                    crowded.append(column.name)
        self.schema = self.schema.with_form(crowded, "number")

    def _numbers(self) -> list[_Number]:
        """Return the numbers, each with an anchor near its mean."""
        values = {name: self._value(self.schema[name]) for name in self.schema.numbers}
        if not values:
            return []
        sums: dict[str, Any] = {"n": self.rows.count()}
        for k, value in enumerate(values.values()):
            number = value.cast("float64")
            sums |= {
                f"low{k}": value.min(),
                f"high{k}": value.max(),
                f"mean{k}": number.mean(),
                f"given{k}": value.count(),
            }
        found = {key: column[0] for key, column in self._sums(self.rows, sums).items()}
        anchors = []
        for k, name in enumerate(values):
            low, high, mean = (found[f"{key}{k}"] for key in ("low", "high", "mean"))
            if low is None:
                anchors.append(np.nan)
            elif np.isinf(float(low)) or np.isinf(float(high)):
                raise DataError(
                    f"column {name!r} holds an infinite value; replace it with a finite number, or with null where it means "
                    "missing"
                )
            elif isinstance(low, int) and max(abs(low), abs(high)) > 2**53:
                # Where a float rounds integers an offset is the anchor, as in a pass over rows.
                anchors.append(float((low + high) // 2))
            else:
                # The range is no spread, but a multiple of a power of two below it is near enough.
                spread = np.array([(float(high) - float(low)) / 16])
                anchors.append(float(anchor_near(np.array([float(mean)]), spread)[0]) if high > low else float(low))
        return [
            _Number(name, value, anchor, found[f"given{k}"] < found["n"])
            for k, ((name, value), anchor) in enumerate(zip(values.items(), anchors, strict=True))
        ]

    def _levels(self, name: str) -> tuple[Labels, pa.Array]:
        """Return the labels of a column, the most frequent first, and the texts that the database makes of them."""
        label = self._label(self.schema[name])
        found = self.rows.group_by(label=label).aggregate(n=self.rows.count())
        found = self.table.result(found.mutate(text=found.label.cast("string")))
        order = pc.sort_indices(found, sort_keys=[("n", "descending"), ("text", "ascending")])
        found = found.take(order).combine_chunks()
        labels, texts = (_one(found.column(key)) for key in ("label", "text"))
        labels, texts = canonical(labels), texts.cast(pa.large_string())
        if len(texts.unique()) < len(texts):
            raise _Beyond(f"column {name!r} has levels that the database writes alike")
        return Labels(labels), texts

    def _refuse_large(self, levels: dict[str, tuple[Labels, pa.Array]]) -> None:
        """Say how many queries and rows are to come; raise where two columns may have as many pairs as there are rows."""
        sizes = {name: len(labels) for name, (labels, _) in levels.items()}
        refuse_many_tables(list(sizes.values()))
        n = int(self._ask(self.rows.aggregate(n=self.rows.count()))["n"][0])
        pairs = list(combinations(sizes, 2))
        for a, b in pairs:
            if sizes[a] * sizes[b] >= n > SMALL and not self.large_pairs:
                raise _Beyond(
                    f"columns {a!r} and {b!r} have {sizes[a]:,} and {sizes[b]:,} levels, and as many pairs of them may come "
                    f"back as there are rows ({n:,}); leave one of them out with ", Argument("exclude", [b]),
                    ", or ask for them with engine=DatabaseEngine(large_pairs=True)",
                )  # fmt: skip
        parts = max(1, self.encoder.n_folds)
        queries = parts * (len(sizes) + -(-len(pairs) // UNION_PAIRS) + 1)
        rows = parts * (sum(sizes.values()) + sum(min(sizes[a] * sizes[b], n) for a, b in pairs) + 1)
        _LOG.info(
            f"{self.table.describe}: {n:,} rows are counted there in about {queries:,} queries, which return at most "
            f"{rows:,} rows"
        )

    def _fold(self) -> Any:
        """Return the fold of each row."""
        name = self.encoder.fold_column
        assert name is not None
        value = self._plain(name)
        found = self.table.result(self.rows.select(value=value).distinct().limit(MOST_FOLD_VALUES + 1)).column("value")
        if len(found) > MOST_FOLD_VALUES:
            raise _Beyond(
                Argument("fold_by", name),
                f" has more than {MOST_FOLD_VALUES:,} values, and their hash is not to be had in SQL",
            )
        values = _one(found)
        folds = by_value(values, self.encoder.n_folds, self.encoder.seed, name=name)
        lost = dict(zip(values.to_pylist(), folds.tolist(), strict=True)).get(None, 0)
        cases = []
        for k in range(self.encoder.n_folds):
            some = [v for v, fold in zip(values.to_pylist(), folds, strict=True) if fold == k and v is not None]
            if some:
                cases.append((value.isin(some), k))
        return ibis.cases(*cases, else_=lost) if cases else ibis.literal(lost)

    # What is counted

    def _sums(self, rows: Any, sums: dict[str, Any]) -> dict[str, list[Any]]:
        """Return sums over all rows, some hundred at a time."""
        out: dict[str, list[Any]] = {}
        for some in _in_pieces(sums):
            out |= self._ask(rows.aggregate(**some))
        return out

    def _weighed(self, value: Any) -> Any:
        return value if self.weight is None else value * self.weight

    def _extended(self, numbers: Sequence[_Number]) -> list[Any]:
        """Return deviations, 0 where missing, and the indicators of missing values."""
        deviations = []
        for number in numbers:
            anchor = 0.0 if np.isnan(number.anchor) else number.anchor
            whole = number.value.type().is_integer()
            less = (
                number.value - int(anchor) if whole and anchor.is_integer() else number.value.cast("float64") - anchor
            )
            deviations.append(less.cast("float64").fill_null(0.0))
        return [
            *deviations,
            *(number.value.isnull().ifelse(1, 0).cast("float64") for number in numbers if number.missing),
        ]

    def _counted(self, rows: Any, numbers: Sequence[_Number], levels: dict[str, tuple[Labels, pa.Array]]) -> Moments:
        """Return the moments of some rows, with levels that none of them has."""
        extended = self._extended(numbers)
        totals = {"n": rows.count()} | ({} if self.weight is None else {"w": self.weight.sum()})
        found = self._sums(rows, totals)
        n_rows = int(found["n"][0])
        weight = float(found["w"][0] or 0.0) if self.weight is not None else n_rows
        kept, value = self._scatter(rows, numbers, extended, float(weight))
        level_rows, level_weights, sums = [], [], []
        for name, (_, texts) in levels.items():
            counts, weights, by_level = self._by_level(rows, name, texts, extended)
            level_rows.append(counts)
            level_weights.append(weights)
            sums.append(by_level[:, kept])
        blocks = self._pairs(rows, list(levels), [texts for _, texts in levels.values()])
        return Moments(
            schema=self.schema,
            n_rows=n_rows,
            total_weight=weight,
            labels=tuple(labels for labels, _ in levels.values()),
            pairs=PairCounts.of_blocks(level_rows, level_rows if self.weight is None else level_weights, blocks),
            numbers=value,
            sums=tuple(sums),
        )

    def _scatter(
        self, rows: Any, numbers: Sequence[_Number], extended: list[Any], weight: float
    ) -> tuple[list[int], Numbers]:
        """Return the moments of the numbers, and which extended columns they have in these rows."""
        p, q = len(numbers), len(extended)
        names = tuple(number.name for number in numbers)
        if not p or not weight > 0:
            empty = Numbers.empty(names)
            return list(range(p)), replace(empty, scatter=empty.dense(), rows=None)
        sums = {f"s{i}": self._weighed(extended[i]).sum() for i in range(q)}
        sums |= {f"c{i}_{j}": self._weighed(extended[i] * extended[j]).sum() for i in range(q) for j in range(i, q)}
        powers = {}
        for i in range(p):
            power = extended[i] * extended[i]
            for k in range(3, HIGHEST + 1):
                power = power * extended[i]
                powers[f"p{i}_{k}"] = self._weighed(power).sum()
        found = {key: float(column[0] or 0.0) for key, column in self._sums(rows, sums | powers).items()}
        total = np.array([found[f"s{i}"] for i in range(q)])
        scatter = np.array([[found[f"c{min(i, j)}_{max(i, j)}"] for j in range(q)] for i in range(q)])
        scatter -= np.outer(total, total / weight)
        # What is the same in every row does not vary: rounding would say it does.
        square = np.array([found[f"c{i}_{i}"] for i in range(q)])
        constant = (square == 0) | (np.arange(q) >= p) & (total == weight)
        scatter[constant] = 0.0
        scatter[:, constant] = 0.0
        flags = [j for j, number in enumerate(numbers) if number.missing]
        seen = np.full(p, weight)
        seen[flags] -= total[p:]
        raw = np.array(
            [seen, total[:p], square[:p], *([found[f"p{i}_{k}"] for i in range(p)] for k in range(3, HIGHEST + 1))]
        )
        higher = _about_the_mean(raw)
        missing = [k for k in range(len(flags)) if total[p + k] > 0]
        kept = [*range(p), *(p + k for k in missing)]
        anchors = np.where(seen > 0, [number.anchor for number in numbers], np.nan)
        at = np.ix_(kept, kept)
        value = Numbers(names, anchors, tuple(flags[k] for k in missing), total[kept], higher, scatter[at])
        return kept, refuse_overflow(value)

    def _by_level(self, rows: Any, name: str, texts: pa.Array, extended: list[Any]) -> tuple[Array, Array, Array]:
        """Return rows, weights and sums of deviations of each level."""
        counts, weights = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts))
        sums = np.zeros((len(texts), len(extended)))
        text = self._label(self.schema[name]).cast("string")
        own = {"n": rows.count()} | ({} if self.weight is None else {"w": self.weight.sum()})
        values = {f"s{i}": self._weighed(each).sum() for i, each in enumerate(extended)}
        for some in _in_pieces(own | values):
            found = self.table.result(rows.group_by(text=text).aggregate(**some))
            at = _places(found.column("text"), texts)
            for key in some:
                column = np.asarray(found.column(key).to_numpy(), dtype=np.int64 if key == "n" else np.float64)
                if key in ("n", "w"):
                    (counts if key == "n" else weights)[at] = column
                else:
                    sums[at, int(key[1:])] = column
        return counts, weights, sums

    def _pairs(self, rows: Any, names: list[str], texts: list[pa.Array]) -> dict[tuple[int, int], Block]:
        """Return the table of every pair of columns."""
        label = [self._label(self.schema[name]).cast("string") for name in names]
        kind = np.int64 if self.weight is None else np.float64
        blocks: dict[tuple[int, int], Block] = {}
        pairs = list(combinations(range(len(names)), 2))
        for start in range(0, len(pairs), UNION_PAIRS):
            some = pairs[start : start + UNION_PAIRS]
            count = rows.count() if self.weight is None else self.weight.sum()
            tables = [
                rows.group_by(a=label[i], b=label[j]).aggregate(n=count).mutate(pair=ibis.literal(k, "int64"))
                for k, (i, j) in enumerate(some)
            ]
            found = self.table.result(ibis.union(*tables, distinct=False) if len(tables) > 1 else tables[0])
            place = np.asarray(found.column("pair").to_numpy())
            for k, (i, j) in enumerate(some):
                own = found.filter(pa.array(place == k))
                at = _places(own.column("a"), texts[i]), _places(own.column("b"), texts[j])
                cells = np.asarray(own.column("n").to_numpy(), dtype=kind)
                blocks[i, j] = sp.csr_array((cells, at), shape=(len(texts[i]), len(texts[j])))
        return blocks


def _in_pieces(sums: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield some of the sums at a time."""
    left = iter(sums.items())
    while some := dict(islice(left, UNION_SUMS)):
        yield some


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _places(column: pa.ChunkedArray, among: pa.Array) -> Array:
    """Return where texts stand among those of a column's levels; null is one of them."""
    at = pc.index_in(_one(column).cast(pa.large_string()), value_set=among)
    if at.null_count:
        raise DataError("rows were added to the table in the database while they were counted; count them again")
    return np.asarray(at.to_numpy(zero_copy_only=False))


def _about_the_mean(raw: Array) -> Array:
    """Return the central sums of powers 3 to 6, given those of powers 0 to 6 about anchors.

    With m the mean deviation and R_j the sums about the anchor, M_k = sum_j binom(k, j) (-m)^(k - j) R_j.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> raw = np.array([[(x**k).sum()] for k in range(7)])
    >>> np.allclose(_about_the_mean(raw)[:, 0], [((x - x.mean()) ** k).sum() for k in range(3, 7)])
    True
    """
    mean = np.divide(raw[1], raw[0], out=np.zeros_like(raw[1]), where=raw[0] > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(
            [sum(comb(k, j) * (-mean) ** (k - j) * raw[j] for j in range(k + 1)) for k in range(3, HIGHEST + 1)]
        )
