"""`gramian predict`: the class or value of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gramian.cli.shared.options import Column, Data, Json, Keep, Missing, Model, TableOut

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = ("gramian predict fisher.model payments.parquet -o predicted.parquet",)


def predict(
    model: Model,
    data: Data,
    output: TableOut,
    keep: Keep = None,
    column: Column = None,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Write what a model predicts for each row, in order.

    The column prediction has the class; probability_CLASS, one column per class, how probable it is. Several targets, or
    channels of a sequence, have a column prediction_NAME each.
    """
    from gramian.cli.shared.following import after_rows
    from gramian.cli.shared.objects import write_objects
    from gramian.cli.shared.outputs import check_table_output, write_batches
    from gramian.cli.shared.printing import show, show_json, show_next
    from gramian.cli.shared.sources import load_model, open_for
    from gramian.cli.shared.usage import UsageError
    from gramian.errors import DataError
    from gramian.estimators.io.registry import METHODS, find_method

    check_table_output(output, [model, *data])
    fitted, notes = load_model(model)
    method = find_method(type(fitted).__name__)
    if method.detects:
        raise DataError(f"{model} finds odd rows and predicts no class; use gramian detect")
    if not method.predicts:
        able = ", ".join(each.name for each in METHODS if each.predicts)
        raise DataError(f"{model} is a {type(fitted).__name__}, which predicts nothing; methods that do: {able}")
    if method.takes_distances:
        n_rows = write_objects(
            fitted,
            lambda objects: predictions(fitted, objects),
            data,
            output,
            outputs=outputs_of(fitted),
            notes=notes,
            column=column,
            keep=keep or [],
        )
    else:
        if column is not None:
            raise UsageError("--column is for models of distances; leave it out")
        table = open_for(fitted, data, missing=missing)
        batches = _predicted(fitted, table, keep or [], missing)
        schema = _schema_of(fitted, table, keep or [])
        n_rows = write_batches(batches, output, total=table.n_rows, what="predict", schema=schema)
    if as_json:
        classes = getattr(fitted, "classes_", None)
        show_json({"output": output, "rows": n_rows, **({} if classes is None else {"classes": classes})})
        return
    show(f"wrote {output}: {n_rows:,} rows")
    if not method.takes_distances:
        show_next(after_rows(model, data, missing=missing))


def predictions(model: Any, rows: Any) -> dict[str, Any]:
    """Return the predicted columns, and the probability of each class where the model has them."""
    import numpy as np

    names = outputs_of(model)
    if not hasattr(model, "predict_proba"):
        columns = np.asarray(model.predict(rows))
        return dict(zip(names, columns.reshape(len(columns), -1).T, strict=True))
    probabilities = model.predict_proba(rows)
    several = isinstance(probabilities, list)
    parts = probabilities if several else [probabilities]
    classes = model.classes_ if several else [model.classes_]
    chosen = [labels[part.argmax(axis=1)] for labels, part in zip(classes, parts, strict=True)]
    return dict(zip(names, [*chosen, *(column for part in parts for column in part.T)], strict=True))


def outputs_of(model: Any) -> list[str]:
    """Return the names of the columns that `predictions` gives."""
    from gramian.estimators.io.files import output_names

    probable = hasattr(model, "predict_proba")
    return [*output_names(model, "predict"), *(output_names(model, "predict_proba") if probable else [])]


def _schema_of(model: Any, table: Any, keep: list[str]) -> pa.Schema:
    """Return the columns of an output without rows."""
    import pyarrow as pa

    from gramian.cli.shared.sources import require_columns
    from gramian.estimators.io.files import class_types

    require_columns(table, keep)
    names = outputs_of(model)
    kinds = class_types(model) if hasattr(model, "classes_") else []
    kinds += [pa.float64()] * (len(names) - len(kinds))
    return pa.schema([*(table.schema.field(name) for name in keep), *map(pa.field, names, kinds)])


def _predicted(model: Any, table: Any, keep: list[str], missing: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from gramian.cli.shared.rows import mapped

    def columns(rows: Any, batch: pa.RecordBatch) -> pa.RecordBatch:
        predicted = predictions(model, rows)
        arrays = [batch.column(name) for name in keep] + [pa.array(values) for values in predicted.values()]
        return pa.record_batch(arrays, names=[*keep, *predicted])

    return mapped(model, table, columns, keep=keep, outputs=outputs_of(model), missing=missing)
