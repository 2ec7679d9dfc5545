"""`gramian export`: a fitted model as an ONNX graph or a query, checked against rows."""

from __future__ import annotations

from typing import Annotated, Any

from gramian.cli.files import check_output, load_model, open_data, stem_of
from gramian.cli.options import Json, Keep, Model, option
from gramian.cli.printing import show, show_json
from gramian.cli.wording import UsageError
from gramian.errors import DataError

EXAMPLES = {
    "export": (
        "gramian export pca.model -o model.onnx",
        "gramian export pca.model -o features.sql --dialect sqlite",
        "gramian export pca.model -o features.sql --check payments.parquet",
    )
}

AGREES = {"sql": 1e-9, "onnx": 1e-4}
"""The largest difference with which an export is written."""


def export(
    model: Model,
    output: Annotated[str, option("--output -o FILE", "The file to write: .onnx or .sql.")],
    check: Annotated[str | None, option("--check DATA", "Run the export on these rows and compare.")] = None,
    method: Annotated[
        str | None, option("--method NAME", "transform, predict, predict_proba, anomaly_score...")
    ] = None,
    dialect: Annotated[
        str, option("--dialect NAME", "duckdb, sqlite, postgres, bigquery, snowflake, spark, databricks.")
    ] = "duckdb",
    table: Annotated[str, option("--table NAME", "What the query selects from.")] = "rows",
    lookups: Annotated[
        str, option("--lookups inline|tables", "tables: the file creates lookup tables first.")
    ] = "inline",
    dtype: Annotated[str, option("--dtype float32|float64", "Of an ONNX graph.")] = "float32",
    keep: Keep = None,
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX graph or as a query of a database.

    With --check the export is run in its own engine (onnxruntime, DuckDB or SQLite), and the largest difference is printed.
    Nothing is written where it is large.
    """
    kind = output.lower().rpartition(".")[2]
    if kind not in AGREES:
        raise UsageError(f"-o {output}: a model is exported as .onnx or .sql; choose one of these suffixes")
    check_output(output, [model, *([check] if check else [])])
    fitted, _ = load_model(model)
    asked = method or _usual(fitted)
    made = _made(fitted, kind, asked, dialect=dialect, table=table, lookups=lookups, dtype=dtype, keep=keep)
    difference = None
    if check is not None:
        from gramian.exports.check import check_export

        difference = check_export(fitted, made, open_data([check]))
        if not difference <= AGREES[kind]:
            raise DataError(
                f"the export differs from {stem_of(model)} by {difference:.2g} on {check}; nothing was written"
            )
    _write(made, kind, output)
    if as_json:
        show_json({"output": output, "method": asked, "largest_difference": difference})
        return
    show(f"wrote {output}: {asked} of {type(fitted).__name__}")
    if difference is not None:
        show(f"largest difference on {check}: {difference:.2g}")


def _usual(fitted: Any) -> str:
    """Return the method that is exported where none is named."""
    usual = ("anomaly_score", "transform", "predict")
    return next((name for name in usual if hasattr(fitted, name)), "transform")


def _made(fitted: Any, kind: str, method: str, *, dialect: str, table: str, lookups: str, dtype: str, keep: Any) -> Any:
    if kind == "onnx":
        from gramian.exports.onnx import to_onnx

        return to_onnx(fitted, dtype=dtype, method=method)
    from gramian.exports.sql import to_sql

    return to_sql(fitted, table, dialect, keep=keep, method=method, lookups=lookups)


def _write(made: Any, kind: str, output: str) -> None:
    from gramian.storage.atomic import appearing

    data = made.SerializeToString() if kind == "onnx" else ";\n".join([*made.setup, str(made)]).encode() + b";\n"
    with appearing(output) as part, open(part, "wb") as file:
        file.write(data)
