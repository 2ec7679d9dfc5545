"""Batches without dictionaries, whose entries differ from batch to batch."""

from __future__ import annotations

import pyarrow as pa


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with what dictionaries stand for in their place."""
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with what dictionaries stand for in their place."""
    arrays = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=decoded_schema(batch.schema))
