"""`gramian transform`, `predict` and `detect`: what a model gives for each row of data of any size.

The rows are read once, batch by batch, through `row_stream`; the output appears whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from gramian.cli.files import check_table_output, load_model, open_data, require_columns, source_of
from gramian.cli.objects import are_listed, object_columns, read_objects
from gramian.cli.options import Column, Data, Json, Keep, Missing, Model, TableOut, option, whole
from gramian.cli.printing import after_fit, after_rows, show, show_json, show_next, show_table
from gramian.cli.wording import UsageError
from gramian.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from gramian.estimators.registry import Method

EXAMPLES = {
    "transform": (
        "gramian transform pca.model payments.parquet -o features.parquet",
        "gramian transform pca.model payments.parquet --keep payment -o features.csv",
    ),
    "predict": ("gramian predict fisher.model payments.parquet -o predicted.parquet",),
    "detect": (
        "gramian detect density.model payments.parquet -o scores.parquet",
        "gramian detect density.model payments.parquet --top 5 --explain --keep payment",
    ),
}

COLUMNS = ("row", "anomaly_score", "outlier", "black_swans")
REASONS = 3
TOP = 10


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
    check_table_output(output, [model, *data])
    fitted, notes, method = _loaded(model)
    if not method.transforms:
        raise DataError(f"{model} is a {type(fitted).__name__}, which has no features for new rows")
    rows = Rows(fitted, ["transform"], data, keep or [], missing, column, notes)
    n_rows, names = rows.write(output, "transform"), rows.names
    if as_json:
        show_json({"output": output, "rows": n_rows, "features": names})
        return
    show(f"wrote {output}: {n_rows:,} rows, {len(names)} feature{'s' if len(names) > 1 else ''}")
    if not method.takes_distances:
        show_next(after_rows(model, data, missing=missing))


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
    check_table_output(output, [model, *data])
    fitted, notes, method = _loaded(model)
    if method.detects:
        raise DataError(f"{model} finds odd rows and predicts no class; use gramian detect")
    if not method.predicts:
        raise DataError(f"{model} is a {type(fitted).__name__}, which predicts nothing; {_able('predicts')}")
    asked = [name for name in ("predict", "predict_proba") if hasattr(fitted, name)]
    n_rows = Rows(fitted, asked, data, keep or [], missing, column, notes).write(output, "predict")
    if as_json:
        classes = getattr(fitted, "classes_", None)
        show_json({"output": output, "rows": n_rows, **({} if classes is None else {"classes": classes})})
        return
    show(f"wrote {output}: {n_rows:,} rows")
    if not method.takes_distances:
        show_next(after_rows(model, data, missing=missing))


def detect(
    model: Model,
    data: Data,
    output: Annotated[str | None, option("--output -o FILE", "The scores: .parquet, .csv, .csv.gz or .arrow.")] = None,
    top: Annotated[int | None, option("--top N", "Print the N oddest rows.", parser=whole(1))] = None,
    explain: Annotated[bool, option("--explain", f"Say why they are odd; without --top, of the first {TOP}.")] = False,
    alerts: Annotated[int | None, option("--alerts N", "Point out the N oddest rows.", parser=whole(1))] = None,
    keep: Keep = None,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Score how odd each row is, and find values never seen before.

    The file has a row for each row of the data: row (counted from 0), anomaly_score (higher is odder), outlier, and
    black_swans, the number of values that were never seen in fit.
    """
    if output is None and top is None and not explain:
        raise UsageError("name a file for the scores with -o, or ask for the oddest rows with --top N")
    if output is not None:
        check_table_output(output, [model, *data])
    fitted, _, method = _loaded(model)
    if not method.detects:
        raise DataError(f"{model} is a {type(fitted).__name__}, which detects nothing; {_able('detects')}")
    if alerts is not None:
        if missing == "fill":
            raise UsageError("--alerts and --missing fill do not go together; name files of the same columns")
        fitted.calibrate(source_of(data), alerts=alerts)
    oddest = Oddest(top if top is not None else TOP if explain else 0)
    rows = Rows(fitted, ["judge"], data, keep or [], missing, names=COLUMNS)
    batches = oddest.noted(rows)
    if output is not None:
        rows.write(output, "detect", batches)
    else:
        for _ in batches:
            pass
    described, known = oddest.described(fitted, keep or [], reasons=REASONS if explain else 0)
    if as_json:
        show_json({"rows": oddest.n_rows, "outliers": oddest.n_outliers, "outliers_by_unseen_alone": oddest.n_alone,
                   "black_swans": oddest.n_swans, "output": output, "top": described,
                   "oddest_without_unseen": known})  # fmt: skip
        return
    others = oddest.n_outliers - oddest.n_alone
    count = max(oddest.n_rows, 1)
    told = f"{oddest.n_rows:,} rows: {others:,} odd ({others / count:.1%})"
    if oddest.n_swans:
        told += (
            f"; {oddest.n_swans:,} with a value never seen in fit, {oddest.n_alone:,} of them flagged for that alone"
        )
    show(told)
    _show_oddest(described, keep or [])
    if known is not None:
        show("the oddest row without a value never seen:")
        _show_oddest([known], keep or [])
    if output is not None:
        show(f"wrote {output}")
    show_next(after_rows(model, data, missing=missing) if explain else after_fit(fitted, model, data, missing=missing))


def _loaded(path: str) -> tuple[Any, dict[str, str], Method]:
    """Return the model of a file, the notes saved with it, and its method."""
    from gramian.estimators.registry import find_method

    fitted, notes = load_model(path)
    return fitted, notes, find_method(type(fitted).__name__)


def _able(ability: str) -> str:
    """Return in words which methods do what a model cannot."""
    from gramian.estimators.registry import METHODS

    return f"methods that do: {', '.join(each.name for each in METHODS if getattr(each, ability))}"


class Rows:
    """The rows of some files as a model takes them, and what its methods give for them.

    Parameters
    ----------
    model : fitted estimator
    methods : those asked
    paths : files, folders or patterns
    keep : columns to copy through
    missing : "fill" takes a column that the files lack as missing values
    column : of a model of distances, the column of objects, where it is not that of fit
    notes : those of the model file, which say where its objects stood
    names : of the columns of the output, where they are not those of the methods
    """

    def __init__(
        self,
        model: Any,
        methods: list[str],
        paths: Sequence[str],
        keep: list[str],
        missing: str,
        column: str | None = None,
        notes: dict[str, str] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        from gramian.estimators.registry import find_method
        from gramian.estimators.spine.outputs import outputs_of

        self.outputs, self.methods, self.keep, self.missing = outputs_of(model), methods, keep, missing
        self.names = list(names) or [name for method in methods for name in self.outputs.names(method)]
        self.columns: list[str] | None = None
        self._objects: Any = None
        self.n_rows: int | None = None
        if find_method(type(model).__name__).takes_distances:
            if are_listed(paths):
                if keep:
                    raise UsageError(f"{paths[0]} has no columns to keep; leave --keep out")
                self._objects = read_objects(paths, column=column).values
                return
            self.table = open_data(paths)
            self.columns = object_columns(notes or {}, column)
            require_columns(self.table, self.columns or [])
        else:
            if column is not None:
                raise UsageError("--column is for models of distances; leave it out")
            self.table = open_data(paths, categorical=self.outputs.text_columns, missing=missing)
            if missing == "fill":
                self.table = self.outputs.filled(self.table)
        self.n_rows = self.table.n_rows
        require_columns(self.table, keep)
        clash = sorted(set(keep) & set(self.names))
        if clash:
            raise UsageError(f"--keep {clash[0]}: the output has a column of that name; rename it in the data first")

    def stream(self, also: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return the columns kept, further ones, and those of the methods, in batches."""
        import pyarrow as pa

        from gramian.estimators.spine.files import row_stream

        if self._objects is not None:
            answers = self.outputs.answers(self.methods, self._objects, "float64")
            return pa.table(answers, names=self.names).to_reader()
        return row_stream(
            self.outputs, self.table, self.methods, keep=[*self.keep, *also], columns=self.columns, missing=self.missing
        )

    def write(self, output: str, what: str, batches: pa.RecordBatchReader | None = None) -> int:
        """Write them to a file, or other batches in their place; return the number of rows."""
        from gramian.estimators.spine.files import write_rows
        from gramian.progress import Progress

        with Progress(None, self.n_rows, what) as progress:
            return write_rows(lambda: self.stream() if batches is None else batches, output, progress=progress)


@dataclass
class Oddest:
    """The rows of highest score so far, and counts over all of them.

    Parameters
    ----------
    wanted : int
        Rows to hold on to.
    """

    wanted: int
    n_rows: int = 0
    n_outliers: int = 0
    n_alone: int = 0
    n_swans: int = 0
    rows: pa.Table | None = field(default=None, repr=False)
    known: pa.Table | None = field(default=None, repr=False)
    """The oddest row in which every value was seen: a new value outweighs all else, and many would hide it."""

    def noted(self, rows: Rows) -> pa.RecordBatchReader:
        """Return the columns of the output in batches, each of which is taken into account as it passes."""
        import pyarrow as pa

        # To explain a row takes the columns that the model reads.
        also = [name for name in rows.outputs.columns or [] if name not in rows.keep] if self.wanted else []
        stream = rows.stream(also)
        types = [pa.int64(), *stream.schema.types[-4:-1], *stream.schema.types[: len(rows.keep)]]
        schema = pa.schema(list(zip([*COLUMNS, *rows.keep], types, strict=True)))
        return pa.RecordBatchReader.from_batches(schema, self._each(stream, schema))

    def _each(self, stream: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        # Columns of the data may be called like those of the output: all are found by place.
        n_kept, names = len(schema) - len(COLUMNS), [*COLUMNS, *stream.schema.names[:-4]]
        for batch in stream:
            *data, score, outlier, swans, alone = batch.columns
            head = [pa.array(np.arange(self.n_rows, self.n_rows + batch.num_rows)), score, outlier, swans]
            if self.wanted:
                self._add(pa.record_batch([*head, *data], names=names))
            self.n_rows += batch.num_rows
            self.n_outliers += outlier.true_count
            self.n_alone += alone.true_count
            self.n_swans += int(np.count_nonzero(swans))
            yield pa.record_batch([*head, *data[:n_kept]], schema=schema)

    def _add(self, batch: pa.RecordBatch) -> None:
        """Hold on to the oddest rows, in the order of the data where scores are equal."""
        import numpy as np
        import pyarrow as pa

        from gramian.tables.base import decoded

        def highest(before: pa.Table | None, some: pa.RecordBatch, wanted: int) -> pa.Table | None:
            best = np.argsort(-some.column(1).to_numpy(), kind="stable")[:wanted]
            part = pa.Table.from_batches([decoded(some.take(pa.array(best)))])
            rows = part if before is None else pa.concat_tables([before, part])
            order = np.argsort(-rows.column(1).to_numpy(), kind="stable")[:wanted]
            return rows.take(pa.array(order)).combine_chunks()

        self.rows = highest(self.rows, batch, self.wanted)
        known = batch.filter(pa.array(batch.column(3).to_numpy() == 0))
        if known.num_rows:
            self.known = highest(self.known, known, 1)

    def described(
        self, model: Any, keep: list[str], *, reasons: int
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the oddest rows as plain data, with their reasons in words where some are asked for.

        Where all of them hold a value never seen, the oddest that does not comes with them.
        """
        if self.rows is None:
            return [], None
        import pyarrow as pa
        import pyarrow.compute as pc

        hidden = self.known is not None and pc.min(self.rows.column(3)).as_py() > 0
        rows = pa.concat_tables([self.rows, self.known]) if hidden else self.rows
        head, data = rows.select(range(len(COLUMNS))), rows.select(range(len(COLUMNS), rows.num_columns))
        kept = data.select(keep).to_pylist() if keep else [{}] * len(data)
        described = [{**first, **rest} for first, rest in zip(head.to_pylist(), kept, strict=True)]
        if reasons:
            from gramian.maps.surprise.explain import REST

            told = model.explain_columns(data, top=reasons)
            for each in described:
                each["reasons"] = []
            for row, share, text in zip(*(told[name] for name in ("row", "contribution", "text")), strict=True):
                if text not in REST:
                    described[row]["reasons"].append({"contribution": share, "text": text})
        return described[: len(self.rows)], described[-1] if hidden else None


def _show_oddest(oddest: list[dict[str, Any]], keep: list[str]) -> None:
    if not oddest:
        return
    show("")
    if "reasons" not in oddest[0]:
        # Row numbers and kept values are there to be copied: no separators in them.
        rows = [
            [
                str(each["row"]),
                *(_shown(each[name]) for name in keep),
                f"{each['anomaly_score']:.2f}",
                each["black_swans"],
            ]
            for each in oddest
        ]
        show_table(["row", *keep, "score", "new values"], rows, right=(0, 1 + len(keep), 2 + len(keep)))
        show("")
        return
    for each in oddest:
        kept = "".join(f", {name} {_shown(each[name])}" for name in keep)
        new = f", {each['black_swans']} never seen" if each["black_swans"] else ""
        show(f"row {each['row']}{kept}: score {each['anomaly_score']:.2f}{new}")
        reasons = [("", f"{reason['contribution']:.2f}", reason["text"]) for reason in each["reasons"]]
        show_table(None, reasons, right=(1,))
        show("")


def _shown(value: Any) -> str:
    return "(missing)" if value is None else str(value)
