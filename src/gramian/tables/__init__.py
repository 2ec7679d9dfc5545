"""Where rows come from: every kind of source as a stream of Arrow batches or float chunks.

`open_table` looks at a source and returns one of two shapes. An `ArrowTable` has a schema and gives record
batches of the columns asked for; an `ArrayTable` has names and gives 2-d float chunks. Nothing here counts,
encodes or decides what a column means; one small module a kind of source is all there is.
"""

from gramian.tables.base import ArrayTable, ArrowTable
from gramian.tables.opening import open_table

__all__ = ["ArrayTable", "ArrowTable", "open_table"]
