"""`gramian transform`: the features of data of any size."""

from __future__ import annotations

from typing import Any

from gramian.cli.shared.options import Column, Data, Json, Keep, Missing, Model, TableOut

EXAMPLES = (
    "gramian transform pca.model payments.parquet -o features.parquet",
    "gramian transform pca.model payments.parquet --keep payment -o features.csv",
)


def transform(
    model: Model,
    data: Data,
    output: TableOut,
    keep: Keep = None,
    column: Column = None,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Write the features of data, one output row per row, in order.

    The file appears under its name only when it is whole. A value never seen in fit sits at the mean.
    """
    from gramian.cli.shared.following import after_rows
    from gramian.cli.shared.objects import write_objects
    from gramian.cli.shared.outputs import check_table_output, write_batches
    from gramian.cli.shared.printing import show, show_json, show_next
    from gramian.cli.shared.sources import load_model, open_for, require_columns
    from gramian.cli.shared.usage import UsageError
    from gramian.errors import DataError
    from gramian.estimators.io.registry import find_method

    check_table_output(output, [model, *data])
    fitted, notes = load_model(model)
    method = find_method(type(fitted).__name__)
    if not method.transforms:
        raise DataError(f"{model} is a {type(fitted).__name__}, which has no features for new rows")
    names = [str(name) for name in fitted.get_feature_names_out()]
    if method.takes_distances:

        def coordinates(objects: Any) -> dict[str, Any]:
            return dict(zip(names, fitted.transform(objects).T, strict=True))

        n_rows = write_objects(
            fitted, coordinates, data, output, outputs=names, notes=notes, column=column, keep=keep or []
        )
    else:
        if column is not None:
            raise UsageError("--column is for models of distances; leave it out")
        from gramian.estimators.io.files import transform_stream

        table = open_for(fitted, data, missing=missing)
        require_columns(table, keep or [])
        stream = transform_stream(fitted, table, keep=keep, missing=missing)
        n_rows = write_batches(stream, output, total=table.n_rows, what="transform", schema=stream.schema)
    if as_json:
        show_json({"output": output, "rows": n_rows, "features": names})
        return
    show(f"wrote {output}: {n_rows:,} rows, {len(names)} feature{'s' if len(names) > 1 else ''}")
    if not method.takes_distances:
        show_next(after_rows(model, data, missing=missing))
