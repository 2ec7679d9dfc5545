"""`gramian detect`: how odd each row is, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gramian.cli.shared.options import Data, Json, Keep, Missing, Model
from gramian.cli.shared.settings import whole
from gramian.cli.shared.usage import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = (
    "gramian detect density.model payments.parquet -o scores.parquet",
    "gramian detect density.model payments.parquet --top 5 --explain --keep payment",
)

COLUMNS = ("row", "anomaly_score", "outlier", "black_swans")
REASONS = 3
TOP = 10


def detect(
    model: Model,
    data: Data,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The scores: .parquet, .csv, .csv.gz or .arrow."),
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", help="Print the N oddest rows.", parser=whole(1))
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help=f"Say why they are odd; without --top, of the first {TOP}.")
    ] = False,
    keep: Keep = None,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Score how odd each row is, and find values never seen before.

    The file has a row for each row of the data: row (counted from 0), anomaly_score (higher is odder), outlier, and
    black_swans, the number of values that were never seen in fit.
    """
    from gramian.cli.shared.following import after_fit, after_rows
    from gramian.cli.shared.outputs import check_table_output, write_batches
    from gramian.cli.shared.printing import show, show_json, show_next
    from gramian.cli.shared.sources import load_model, open_for
    from gramian.errors import DataError
    from gramian.estimators.io.registry import METHODS, find_method

    if output is None and top is None and not explain:
        raise UsageError("name a file for the scores with -o, or ask for the oddest rows with --top N")
    if output is not None:
        check_table_output(output, [model, *data])
    fitted, _ = load_model(model)
    if not find_method(type(fitted).__name__).detects:
        able = ", ".join(each.name for each in METHODS if each.detects)
        raise DataError(f"{model} is a {type(fitted).__name__}, which detects nothing; methods that do: {able}")
    table = open_for(fitted, data, missing=missing)
    wanted = top if top is not None else TOP if explain else 0
    oddest = Oddest(wanted)
    batches = _scored(fitted, table, keep or [], oddest, missing)
    if output is not None:
        schema = _schema_of(table, keep or [])
        write_batches(batches, output, total=table.n_rows, what="detect", schema=schema)
    else:
        for _ in batches:
            pass
    rows = oddest.described(fitted, keep or [], reasons=REASONS if explain else 0)
    if as_json:
        show_json({"rows": oddest.n_rows, "outliers": oddest.n_outliers, "outliers_by_unseen_alone": oddest.n_alone,
                   "black_swans": oddest.n_swans, "output": output, "top": rows})  # fmt: skip
        return
    others = oddest.n_outliers - oddest.n_alone
    count = max(oddest.n_rows, 1)
    show(
        f"{oddest.n_rows:,} rows: {others:,} odd ({others / count:.1%}), {oddest.n_alone:,} more "
        f"({oddest.n_alone / count:.1%}) only because they hold a value never seen; {oddest.n_swans:,} hold one in all"
    )
    _show_oddest(rows, keep or [])
    if output is not None:
        show(f"wrote {output}")
    if explain:
        show_next(after_rows(model, data, missing=missing))
    else:
        show_next(after_fit(fitted, model, data, missing=missing))


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

    def add(self, scored: Judged) -> None:
        """Take the rows of a batch into account, in the order of the data."""
        import numpy as np
        import pyarrow as pa

        self.n_outliers += int(scored.outlier.sum())
        self.n_alone += int(scored.alone.sum())
        self.n_swans += int((scored.swans > 0).sum())
        if self.wanted:
            # Columns of the data may be called like those of the output: the latter stand first, and are found by place.
            head = [pa.array(values[scored.best]) for values in scored.scores(self.n_rows)]
            part = pa.table([*head, *scored.rows.columns], names=[*COLUMNS, *scored.rows.schema.names])
            rows = part if self.rows is None else pa.concat_tables([self.rows, part])
            order = np.argsort(-rows.column(1).to_numpy(), kind="stable")[: self.wanted]
            self.rows = rows.take(pa.array(order)).combine_chunks()
        self.n_rows += len(scored.score)

    def described(self, model: Any, keep: list[str], *, reasons: int) -> list[dict[str, Any]]:
        """Return the oddest rows as plain data, with their reasons in words where some are asked for."""
        if self.rows is None:
            return []
        head, data = self.rows.select(range(len(COLUMNS))), self.rows.select(range(len(COLUMNS), self.rows.num_columns))
        kept = data.select(keep).to_pylist() if keep else [{}] * len(data)
        described = [{**first, **rest} for first, rest in zip(head.to_pylist(), kept, strict=True)]
        if reasons:
            from gramian.maps.surprise.explain import REST

            told = model.explain(data, top=reasons)
            for each in described:
                each["reasons"] = []
            for row, share, text in zip(*(told[c].to_pylist() for c in ("row", "contribution", "text")), strict=True):
                if text not in REST:
                    described[row]["reasons"].append({"contribution": share, "text": text})
        return described


@dataclass(frozen=True)
class Judged:
    """What the model says of a batch: each row's score, whether it is an outlier, unseen values, and the oddest rows."""

    score: Any
    outlier: Any
    swans: Any
    alone: Any
    best: Any
    rows: pa.RecordBatch
    kept: list[pa.Array]

    def scores(self, first: int) -> list[Any]:
        """Return the columns of the output, where the batch begins with the row of this number."""
        import numpy as np

        return [np.arange(first, first + len(self.score)), self.score, self.outlier, self.swans]


def _schema_of(table: Any, keep: list[str]) -> pa.Schema:
    """Return the columns of an output without rows."""
    import pyarrow as pa

    from gramian.cli.shared.sources import require_columns

    require_columns(table, keep)
    kinds = (pa.int64(), pa.float64(), pa.bool_(), pa.int64())
    scores = [pa.field(name, kind) for name, kind in zip(COLUMNS, kinds, strict=True)]
    return pa.schema([*scores, *(table.schema.field(name) for name in keep)])


def _scored(model: Any, table: Any, keep: list[str], oddest: Oddest, missing: str) -> Iterator[pa.RecordBatch]:
    import numpy as np
    import pyarrow as pa

    from gramian.cli.shared.rows import mapped
    from gramian.tables.base import decoded

    threshold = -float(model.offset_)

    def judge(rows: Any, batch: pa.RecordBatch) -> Judged:
        score, swans, alone = model._judged(rows)
        best = np.argsort(-score, kind="stable")[: oddest.wanted] if oddest.wanted else np.empty(0, np.intp)
        kept = [batch.column(name) for name in keep]
        return Judged(score, score > threshold, swans, alone, best, decoded(batch.take(pa.array(best))), kept)

    for scored in mapped(model, table, judge, keep=keep, outputs=COLUMNS, missing=missing):
        arrays = [*map(pa.array, scored.scores(oddest.n_rows)), *scored.kept]
        oddest.add(scored)
        yield pa.record_batch(arrays, names=[*COLUMNS, *keep])


def _show_oddest(oddest: list[dict[str, Any]], keep: list[str]) -> None:
    from gramian.cli.shared.printing import show, show_table

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
        show_table(
            None, [("", f"{reason['contribution']:.2f}", reason["text"]) for reason in each["reasons"]], right=(1,)
        )
        show("")


def _shown(value: Any) -> str:
    return "(missing)" if value is None else str(value)
