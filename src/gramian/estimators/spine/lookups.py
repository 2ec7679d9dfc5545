"""Facts with the columns of the tables that they point to, joined batch by batch while they stream.

The tables that are looked up are held in memory, those of their columns alone that a model reads. The join is that of
`Moments.attach`: a left join, in which null matches nothing and a key that the table lacks has missing values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gramian.design.schema import canonical, label_family, positions
from gramian.errors import Argument, ColumnError, DataError, shown, unknown_column
from gramian.moments.algebra.joins import refuse_duplicates
from gramian.tables import ArrowTable, open_table
from gramian.tables.base import View, decoded, decoded_schema, innermost, typed


def with_lookups(
    table: ArrowTable, lookup: Mapping[str, Any], needed: Collection[str] | None, *, text_columns: Sequence[str] = ()
) -> ArrowTable:
    """Return the facts with further columns, those of the tables in `lookup`.

    Parameters
    ----------
    table : ArrowTable
        The facts.
    lookup : mapping
        By key: a table of one row per key. A key may be a column that a table before it has.
    needed : collection of str or None
        The columns that will be read; None for all.
    text_columns : sequence of str
        Columns of CSV files to be read as text.

    Examples
    --------
    >>> facts = open_table(pa.table({"shop": ["a", "b", "c"]}))
    >>> shops = pa.table({"shop": ["b", "a"], "city": ["Bern", "Genf"], "staff": [4, 2]})
    >>> next(with_lookups(facts, {"shop": shops}, ["city"]).batches(["city"])).to_pydict()
    {'city': ['Genf', 'Bern', None]}
    """
    if not isinstance(lookup, Mapping):
        raise DataError(Argument("lookup"), f" takes tables by key, {{key: table}}; got {shown(type(lookup).__name__)}")
    if innermost(table).home not in (None, "local"):
        raise DataError(
            f"{table.describe} lies in partitions of its own, where ",
            Argument("lookup"),
            " does not reach; join it there",
        )
    wanted = None if needed is None else {*needed, *lookup}
    for key, source in lookup.items():
        if key not in table.schema.names:
            raise unknown_column(key, table.schema.names, where=f"{table.describe}, to look up a table by")
        kind = table.schema.field(key).type
        as_text = [*text_columns, *([key] if label_family(kind) == "text" else [])]
        table = LookedUp(table, key, typed(open_table(source, categorical=as_text)), wanted)
    return table


class LookedUp(View):
    """A table with columns of another one, which has a row per key.

    Parameters
    ----------
    table : ArrowTable
    key : str
        A column of both.
    looked_up : ArrowTable
        Read here.
    wanted : collection of str or None
        The columns to take of it, as far as it has them; None for all.
    """

    def __init__(self, table: ArrowTable, key: str, looked_up: ArrowTable, wanted: Collection[str] | None) -> None:
        if key not in looked_up.schema.names:
            raise unknown_column(key, looked_up.schema.names, where=looked_up.describe)
        families = [label_family(part.schema.field(key).type) for part in (table, looked_up)]
        if None in families or (families[0] != families[1] and "null" not in families):
            kinds = [part.schema.field(key).type for part in (table, looked_up)]
            raise ColumnError(
                f"key {key!r} holds {kinds[0]} in {table.describe} and {kinds[1]} in {looked_up.describe}; keys are text or "
                "integers, of one type in both"
            )
        names = [name for name in looked_up.schema.names if name != key and (wanted is None or name in wanted)]
        both = [name for name in names if name in table.schema.names]
        if both:
            raise ColumnError(
                f"column {both[0]!r} is in {table.describe} and in {looked_up.describe}, and it is not known which is meant; "
                "rename one of them, or leave it out"
            )
        batches = [decoded(batch) for batch in looked_up.batches([key, *names])]
        plain = decoded_schema(pa.schema([looked_up.schema.field(name) for name in [key, *names]]))
        rows = pa.Table.from_batches(batches, schema=batches[0].schema if batches else plain).combine_chunks()
        keys = canonical(rows.column(key).combine_chunks())
        refuse_duplicates(key, [keys.drop_null()])
        self._key, self._keys, self._rows = key, keys, rows.select(names)
        super().__init__(table, pa.schema([*table.schema, *self._rows.schema]))

    def identity(self) -> dict[str, Any] | None:
        """Return None: the rows depend on a table in memory."""
        return None

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        of_facts = [name for name in columns if name not in self._rows.schema.names]
        rows = self._rows.select([name for name in columns if name not in of_facts])
        read = of_facts if self._key in of_facts or not rows.num_columns else [*of_facts, self._key]
        for batch in self._table.batches(read, start=start):
            found = {name: batch.column(name) for name in of_facts}
            if rows.num_columns:
                given = canonical(decoded(batch.select([self._key])).column(0))
                at = positions(given, self._keys)
                lost = (at < 0) | given.is_null().to_numpy(zero_copy_only=False)
                taken = rows.take(pa.array(at, mask=lost)).combine_chunks()
                found |= {name: taken.column(name).combine_chunks() for name in rows.schema.names}
            yield pa.record_batch([found[name] for name in columns], names=columns)
