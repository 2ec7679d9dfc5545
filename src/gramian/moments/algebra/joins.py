"""Moments over a left join, without the joined table: a key's levels are replaced by the columns of a table.

Let K be the (n x L) indicators of a key's levels, and let a table have one row per level. A column of it, seen from the rows
of the facts, is K C, where C (L x M) holds the indicators of its levels, or its number, per key. So everything that a pass
over the joined table would count follows from what is known of the key. With N_jk the pair counts of a column j and the key,
n the counts of the key's levels and T the sums of the numbers by level of the key,

    j and an attribute            N_jk C
    two attributes of one table   C^T diag(n) C'
    attributes of two tables      C_1^T N_12 C_2      (attach one table after the other: N_12 C_2 is what the second finds)
    a number x and an attribute   C^T T_x,

and alike with E in place of C for the numbers of the table: their deviations from an anchor, and the indicator of a missing
value, per key. C is never formed: its rows have one 1 each, so counts are moved to new codes (`PairCounts.transform`), in
integers and exactly.

*Left join.* A key that the table does not have, and a missing key, have the missing level and the missing number in every
column of the table: as in SQL, null matches nothing, a null in the table's key neither. A level of the key without rows does
not exist, so a row of the table that no fact points to leaves nothing behind, not even a level or the kind of an integer
column: the result has what `collect` of the joined table has.

*Folds and weights* come along. Counts by key are sums of weights where rows are weighted; each fold has its own.

>>> import gramian as gm
>>> import pyarrow as pa
>>> sales = pa.table({"shop": ["a", "b", "a", "c"], "paid": [1.0, 2.0, 3.0, 4.5]})
>>> shops = pa.table({"shop": ["a", "b"], "city": ["Bern", "Genf"]})
>>> m = gm.collect(sales).attach("shop", shops)
>>> m.columns, m.levels("city"), m.counts("city").tolist()
(['paid', 'city'], ['Bern', 'Genf', None], [2, 1, 1])
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays import sparse as sp
from gramian.arrays.memory import refuse_beyond
from gramian.arrays.types import Array
from gramian.design.encoder import Encoder
from gramian.design.kinds import names_of, plan_columns, types_of
from gramian.design.schema import Column, Labels, Schema, canonical, label_family, positions
from gramian.errors import Argument, Call, ColumnError, DataError, shown, unknown_column
from gramian.moments.counting.scatter_counter import choose_anchors, deviations
from gramian.moments.state.numbers import Numbers, laid_out, powers_of, refuse_overflow
from gramian.moments.state.pair_counts import PairCounts
from gramian.tables.base import ArrowTable, decoded, decoded_schema, stretches, typed
from gramian.tables.opening import open_table

if TYPE_CHECKING:
    from gramian.moments.value import Moments

_LOG = logging.getLogger("gramian")

IntArray = npt.NDArray[np.int64]

READ_ROWS = 2**20
"""Rows of a table whose keys are looked up at a time."""


def attach(
    moments: Moments,
    key: str,
    table: Any,
    columns: str | Sequence[str] | None = None,
    prefix: str = "",
    keep_key: bool = False,
    **kinds: Any,
) -> Moments:
    """Return the moments as if a table had been left-joined before the pass; see `Moments.attach`."""
    attributes = read_attributes(key, key_labels(moments, key), table, columns, prefix=prefix, **kinds)
    taken = {name for c in moments.schema if keep_key or c.name != key for name in (c.name, c.origin)}
    for column in attributes.schema:
        if column.name in taken or column.origin in taken:
            name = column.name if column.name in taken else column.origin
            raise ColumnError(
                f"column {name!r} of the table has the name of a column of the moments; set it apart with ",
                Argument("prefix", f"{key}_"),
                ", or leave it out with ",
                Argument("exclude", [name.removeprefix(prefix)]),
            )
    say_unmatched(moments, key, attributes)
    return joined(moments, key, attributes, keep_key=keep_key)


def key_labels(moments: Moments, key: str) -> Labels:
    """Return the labels of a column that tables may be attached to."""
    if key not in moments.schema:
        parts = [column.name for column in moments.schema if column.origin == key]
        if parts:
            raise ColumnError(
                f"column {key!r} holds dates, which were collected as {', '.join(parts)}; a key is text or integers: make text "
                "of it in the facts and in the table, and collect again"
            )
        raise unknown_column(key, moments.columns, where="these moments")
    labels = moments.labels[moments._coded_position(key)]
    if labels.rare or len(labels.pooled):
        raise DataError(
            f"column {key!r} is pooled: its rare levels are one, and cannot be looked up in a table any more; attach "
            "tables first, then ",
            Call("pool", max_levels=1000),
        )
    return labels


@dataclass(frozen=True, eq=False)
class Attributes:
    """Columns of a table, one row per level of a key, missing values where the table lacks the level.

    Attributes
    ----------
    schema : Schema
        As they are collected; integers of many values are numbers.
    keys : pyarrow.Array
        Labels of the key, in its code order.
    found : (L,) array of bool
        Which of them the table has.
    labels : tuple of Labels
        Of each column by level.
    codes : list of (L,) arrays
        Of each column by level, the code for each key.
    values : (L, p) array
        The numbers less their offsets, NaN where missing.
    offsets : (p,) array
    """

    schema: Schema
    keys: pa.Array
    found: npt.NDArray[np.bool_]
    labels: tuple[Labels, ...]
    codes: list[IntArray]
    values: Array
    offsets: Array

    def of(self, keys: pa.Array) -> Attributes:
        """Return the rows of some of the keys alone: levels that none of them has are dropped."""
        at = positions(keys, self.keys)
        labels, codes = [], []
        for own, old in zip(self.labels, self.codes, strict=True):
            kept = np.zeros(len(own), dtype=bool)
            kept[old[at]] = True
            labels.append(own.keep(kept))
            codes.append((np.cumsum(kept) - 1)[old[at]])
        return replace(self, keys=keys, found=self.found[at], labels=tuple(labels), codes=codes, values=self.values[at])

    def only(self, names: Sequence[str]) -> Attributes:
        """Return some of the columns alone."""
        coded = [k for k, name in enumerate(self.schema.coded) if name in names]
        numbers = [k for k, name in enumerate(self.schema.numbers) if name in names]
        return replace(
            self,
            schema=self.schema.take([name for name in self.schema.names if name in names]),
            labels=tuple(self.labels[k] for k in coded),
            codes=[self.codes[k] for k in coded],
            values=self.values[:, numbers],
            offsets=self.offsets[numbers],
        )


def read_attributes(
    key: str,
    labels: Labels,
    source: Any,
    columns: str | Sequence[str] | None = None,
    *,
    prefix: str = "",
    exclude: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
) -> Attributes:
    """Return the columns of a table for each level of a key; rows of other keys are read and left."""
    as_text = [*names_of(categorical, called="categorical"), *([key] if labels.family == "text" else [])]
    table = typed(open_table(source, numeric=names_of(numeric, called="numeric"), categorical=as_text))
    if key not in table.schema.names:
        raise ColumnError(
            f"the table has no column {key!r} to join on; its columns are {', '.join(map(repr, table.schema.names[:8]))}: "
            "rename the one that holds the key"
        )
    if key in names_of(columns, called="columns"):
        raise ColumnError(
            f"column {key!r} is the key, which the moments have already; to keep it there is ", Argument("keep_key")
        )
    planned = plan_columns(
        types_of(table.schema),
        columns=columns,
        exclude=[*names_of(exclude, called="exclude"), key],
        categorical=categorical,
        numeric=numeric,
    )
    rows, found = _in_key_order(table, key, labels, list(dict.fromkeys(column.origin for column in planned)))
    encoder = Encoder(planned)
    encoded = encoder.encode(rows)

    def renamed(column: Column) -> Column:
        return column._replace(name=prefix + column.name, origin=prefix + column.origin)

    return Attributes(
        schema=Schema(tuple(map(renamed, encoder.schema))),
        keys=labels.values,
        found=found,
        labels=tuple(encoder.labels(name) for name in encoded.coded),
        codes=[codes.astype(np.int64) for codes in encoded.codes],
        values=np.asarray(encoded.numbers[:], dtype=np.float64),
        offsets=np.asarray(encoded.offsets, dtype=np.float64),
    )


def _in_key_order(
    table: ArrowTable, key: str, labels: Labels, names: list[str]
) -> tuple[list[pa.RecordBatch], npt.NDArray[np.bool_]]:
    """Return the rows of a table in the order of a key's codes, nulls for keys it lacks, and which it has."""
    kind = table.schema.field(key).type
    family = label_family(kind)
    if family is None:
        raise ColumnError(
            f"column {key!r} of the table holds {kind}, which is not a key; convert it to text or integers"
        )
    if "null" not in (family, labels.family) and family != labels.family:
        raise ColumnError(
            f"key {key!r} has {labels.words} in the moments and holds {kind} in the table; labels match by type and value: "
            "convert one of them"
        )
    keys, places, parts = [], [], []
    for group in stretches(table.batches([key, *names]), READ_ROWS):
        for batch in map(decoded, group):
            given = canonical(batch.column(key))
            at = positions(given, labels.values)
            at[given.is_null().to_numpy(zero_copy_only=False)] = -1
            keys.append(given.drop_null())
            kept = at >= 0
            places.append(at[kept])
            parts.append(batch.select(names).filter(pa.array(kept)))
    refuse_duplicates(key, keys)
    found = np.zeros(len(labels), dtype=bool)
    schema = pa.schema([table.schema.field(name) for name in names])
    schema = parts[0].schema if parts else decoded_schema(schema)
    whole = pa.Table.from_batches(parts, schema=schema)
    rows = np.full(len(labels), -1, dtype=np.int64)
    if places:
        at = np.concatenate(places)
        rows[at] = np.arange(len(at))
        found[at] = True
    ordered = whole.take(pa.array(rows, mask=rows < 0)).combine_chunks()
    return ordered.to_batches(), found


def refuse_duplicates(key: str, parts: Sequence[pa.Array]) -> None:
    """Raise where a key stands in more than one row: a join would repeat facts."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return
    kinds = {part.type for part in parts}
    # Integers of one file may be floats in another.
    keys = pa.chunked_array(parts if len(kinds) == 1 else [part.cast(pa.float64()) for part in parts])
    if pc.count_distinct(keys).as_py() == len(keys):
        return
    counts = keys.value_counts()
    most = int(np.argmax(counts.field("counts").to_numpy()))
    label, count = counts.field("values")[most].as_py(), counts.field("counts")[most].as_py()
    raise DataError(
        f"the table has {count:,} rows for {key!r} = {shown(label)}; a table that is attached has one row per key: group it "
        "first"
    )


def say_unmatched(moments: Moments, key: str, attributes: Attributes) -> None:
    """Say in the log how many keys, and how many rows, the table has nothing for."""
    lost = ~attributes.found
    if lost.any():
        rows = int(moments.pairs.level_rows[moments.coded_at[key]][lost].sum())
        _LOG.info(
            f"attached to {key!r}: {int(lost.sum()):,} of {len(lost):,} keys ({rows:,} of {moments.n_rows:,} rows) are not "
            "in the table, and have missing values in its columns"
        )


def joined(moments: Moments, key: str, attributes: Attributes, *, keep_key: bool = False) -> Moments:
    """Return the moments with the columns of a table, and by default without the key."""
    k = moments.coded_at[key]
    kept = [j for j in range(len(moments.coded)) if keep_key or j != k]
    pairs, sizes = moments.pairs, moments.pairs.sizes
    refuse_beyond(
        8 * (moments.numbers.n_extended + 2 * attributes.values.shape[1]) ** 2,
        None,
        what=f"the scatter of all numbers with those attached to {key!r}",
        way_out="attach fewer columns",
    )
    count = len(attributes.codes)
    grown = pairs.transform(
        [*kept, *[k] * count],
        [*[None] * len(kept), *attributes.codes],
        [*(sizes[j] for j in kept), *map(len, attributes.labels)],
    )
    weights = np.asarray(pairs.level_weights[k], dtype=np.float64)
    own, extended, centred = _numbers_of(attributes, weights, float(moments.total_weight))
    numbers = moments.numbers.beside(own, centred.T @ moments.sums[k])
    old, new = len(moments.numbers.names), len(own.names)
    sums = [laid_out(moments.sums[j], _by_level(pairs, j, k, extended), old, new) for j in kept]
    by_key = laid_out(moments.sums[k], weights[:, None] * extended, old, new)
    for codes, labels in zip(attributes.codes, attributes.labels, strict=True):
        indicators = sp.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (len(labels), len(codes)))
        sums.append(np.asarray(indicators @ by_key))
    return replace(
        moments,
        schema=Schema((*(c for c in moments.schema if keep_key or c.name != key), *attributes.schema)),
        labels=(*(moments.labels[j] for j in kept), *attributes.labels),
        pairs=grown,
        numbers=numbers,
        sums=tuple(sums),
        folds=tuple(
            joined(fold, key, attributes.of(fold.labels[fold.coded_at[key]].values), keep_key=keep_key)
            for fold in moments.folds
        ),
    )


def _numbers_of(attributes: Attributes, weights: Array, weight: float) -> tuple[Numbers, Array, Array]:
    """Return the moments of a table's numbers over the rows of the facts, their deviations by key, and these centred."""
    names, values, offsets = attributes.schema.numbers, attributes.values, attributes.offsets
    if not names or not weight > 0:
        empty, nothing = Numbers.empty(names), np.zeros((len(values), len(names)))
        return replace(empty, scatter=empty.dense(), rows=None), nothing, nothing
    anchors = choose_anchors(values, np.where(offsets != 0, 0.0, np.nan))
    extended, missing = deviations(values, anchors, (), names)
    sums = weights @ extended
    # To the bit, as in a pass: what is the same in every row does not vary.
    mean = np.where((extended == extended[0]).all(axis=0), extended[0], sums / weight)
    centred = extended - mean
    with np.errstate(over="ignore", invalid="ignore"):
        scatter = centred.T @ (weights[:, None] * centred)
        powers = powers_of(extended, sums, len(names), missing, weights).sums[1:]
    own = Numbers(names, anchors + offsets, missing, sums, powers, (scatter + scatter.T) / 2)
    return refuse_overflow(own), extended, centred


def _by_level(pairs: PairCounts, j: int, k: int, extended: Array) -> Array:
    """Return the sums of a table's numbers by level of another column, N_jk E."""
    if not extended.shape[1]:
        return np.zeros((pairs.sizes[j], 0))
    # A block is kept once, for the column that comes first; its transpose is not made for a product.
    block = pairs.block(j, k) if j <= k else pairs.block(k, j).T
    return np.asarray(block @ extended, dtype=np.float64)


__all__ = ["Attributes", "attach", "joined", "key_labels", "read_attributes", "refuse_duplicates", "say_unmatched"]
