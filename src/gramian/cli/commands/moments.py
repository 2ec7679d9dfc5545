"""`gramian collect`, `merge`, `subtract`, `compare` and `attach`: moments files made, and what they tell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gramian.cli.describing import deliver_moments
from gramian.cli.files import check_output, load_moments, open_data, refuse_repeated, require_columns, text_levels
from gramian.cli.options import (
    Categorical,
    Data,
    Exclude,
    Json,
    Missing,
    MomentsOut,
    Numeric,
    Weights,
    argument,
    of_columns,
    option,
    whole,
)  # fmt: skip
from gramian.cli.printing import show, show_json, show_table
from gramian.cli.wording import UsageError
from gramian.errors import DataError, NoRowsError

if TYPE_CHECKING:
    from gramian.moments.value import Moments

EXAMPLES = {
    "collect": (
        "gramian collect payments.parquet --targets fraud -o payments.moments",
        "gramian collect 'days/*.parquet' --exclude payment --folds 5 -o all.moments",
        "gramian collect payments.parquet --crosses country,card -o pairs.moments",
    ),
    "merge": ("gramian merge monday.moments tuesday.moments -o week.moments",),
    "subtract": ("gramian subtract week.moments monday.moments -o rest.moments",),
    "compare": ("gramian compare monday.moments tuesday.moments",),
    "attach": ("gramian attach payments.moments --key merchant merchants.csv -o star.moments",),
}


def _pair(text: str) -> tuple[str, ...]:
    pair = tuple(text.split(","))
    if len(pair) != 2:
        raise typer.BadParameter(f"{text!r} is not two columns with a comma between them, such as bmi,smoker")
    return pair


def _auto_or_count(text: str) -> str | int:
    return text if text == "auto" else whole(2)(text)


def collect(
    data: Data,
    output: MomentsOut,
    folds: Annotated[int, option("--folds N", "Also keep the moments of N folds.", parser=whole(0))] = 0,
    fold_by: Annotated[str | None, of_columns("--fold-by", "Equal values share a fold.")] = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    targets: Annotated[
        list[str] | None,
        of_columns("--targets", "A column to predict, never a feature; rows without it are left out. Repeatable."),
    ] = None,
    weights: Weights = None,
    like: Annotated[str | None, option("--like FILE", "Take columns and kinds from a moments file.")] = None,
    bins: Annotated[
        str | None, option("--bins auto|N", "Also collect numbers in bins: auto is 16 of each.", parser=_auto_or_count)
    ] = None,
    crosses: Annotated[
        list[str] | None,
        option("--crosses COL,COL", "Also collect two columns as one category. Repeatable.", parser=_pair),
    ] = None,
    missing: Missing = "raise",
    jobs: Annotated[int | None, option("--jobs N", "Threads; by default every core.", parser=whole(1))] = None,
    checkpoint: Annotated[
        str | None, option("--checkpoint FILE", "Keep progress in FILE: the same command goes on after a crash.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read data once and write its moments.

    Every method is fitted from the moments file without reading the data again, and moments of several days or sites
    add up with gramian merge.
    """
    from gramian.moments.value import Moments

    if fold_by is not None and not folds:
        raise UsageError("--fold-by needs --folds, the number of folds")
    check_output(output, [*data, *([like] if like else [])])
    if checkpoint is not None and os.path.abspath(checkpoint) == os.path.abspath(output):
        raise UsageError(f"--checkpoint and -o both name {output}; give each a file of its own")
    model = load_moments(like) if like else None
    as_text = [*(categorical or ()), *text_levels(model)]
    try:
        table = open_data(data, numeric=numeric or (), categorical=as_text, missing=missing)
    except NoRowsError:
        if missing != "fill":
            raise
        deliver_moments(Moments.empty(), output, as_json=as_json)
        return
    left_out = [] if missing == "fill" else exclude or []
    require_columns(table, [*left_out, *(categorical or ()), *(targets or ()), fold_by, weights])
    import gramian as gm
    from gramian.engines.checkpoint import Checkpoint

    kept = None if checkpoint is None else Checkpoint(checkpoint, keep=True)
    pairs: Any = crosses  # as `_pair` has read them
    moments = gm.collect(
        table,
        exclude=exclude,
        categorical=categorical,
        numeric=numeric,
        targets=targets,
        sample_weight=weights,
        like=model,
        missing=missing,
        folds=folds,
        fold_by=fold_by,
        n_jobs=jobs,
        checkpoint=kept,
        bins=bins,
        crosses=pairs,
    )
    deliver_moments(moments, output, as_json=as_json)
    if kept is not None:
        # Not before the moments are on disk: a long pass is not lost to a full one.
        kept.remove()


def merge(
    files: Annotated[list[str], argument("MOMENTS", "Moments files.")],
    output: MomentsOut,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Add moments up, as if their data had been collected together.

    Levels are matched by label. Counts are exact; numbers agree to rounding. A file that is named twice is refused.
    """
    import gramian as gm

    check_output(output)
    refuse_repeated(files)
    parts = [load_moments(path) for path in files]
    for path, part in zip(files[1:], parts[1:], strict=True):
        try:
            _require_alike(parts[0], part, missing)
        except DataError as error:
            raise DataError(f"{files[0]} (left) and {path} (right): ", error) from None
    moments = gm.merge(parts, missing=missing)
    deliver_moments(moments, output, as_json=as_json)


def _require_alike(first: Moments, other: Moments, missing: str) -> None:
    """Raise where two files do not add up, before anything is added: the message can still name them."""
    from gramian.design.schema import reconcile
    from gramian.moments.algebra.missing_columns import agreed, filled

    one, two = filled([first, other]) if missing == "fill" else agreed([first, other])
    if one.columns and two.columns:
        reconcile(one.schema, two.schema)


def subtract(
    whole: Annotated[str, argument("WHOLE", "A moments file.")],
    part: Annotated[str, argument("PART", "A moments file of some of its rows.")],
    output: MomentsOut,
    as_json: Json = False,
) -> None:
    """Take moments away, as if PART had never been in WHOLE."""
    check_output(output)
    total, less = load_moments(whole), load_moments(part)
    try:
        moments = total - less
    except DataError as error:
        raise DataError(f"{part} cannot be taken from {whole}: ", error) from None
    deliver_moments(moments, output, as_json=as_json)


def compare(
    first: Annotated[str, argument("A", "A moments file.")],
    second: Annotated[str, argument("B", "A moments file of the same columns, of a later day or another site.")],
    top: Annotated[int, option("--top N", "Rows to print; --json prints all.", parser=whole(1))] = 20,
    pairs: Annotated[bool, option("--pairs/--no-pairs", "Also compare how columns go together.")] = True,
    as_json: Json = False,
) -> None:
    """Say what changed between two moments files, per column and per pair of columns.

    Changes beyond chance come first, the largest before smaller ones. p-values are adjusted for their number.
    """
    from gramian.linear.drift import FIELDS, SURE, changes

    a, b = load_moments(first), load_moments(second)
    found = changes(a, b, pairs=pairs)
    if as_json:
        rows = [{name: getattr(change, name) for name in FIELDS} for change in found]
        show_json({"a": {"file": first, "rows": a.n_rows}, "b": {"file": second, "rows": b.n_rows}, "changes": rows})
        return
    tested = [change for change in found if change.p_value == change.p_value]
    sure = sum(change.adjusted <= SURE for change in tested)
    show(
        f"{a.n_rows:,} rows in {first}, {b.n_rows:,} in {second}; {len(tested):,} comparisons, {sure:,} beyond chance\n"
    )
    cells = [
        (
            change.column if change.other is None else f"{change.column} x {change.other}",
            change.what,
            change.change,
            None if change.effect != change.effect else round(change.effect, 3),
            None if change.p_value != change.p_value else change.adjusted,
        )
        for change in found[:top]
    ]
    show_table(("column", "what", "change", "effect", "p (adjusted)"), cells, right=(3, 4))
    if len(found) > top:
        show(f"... and {len(found) - top:,} more; --top shows more, --json all")


def attach(
    source: Annotated[str, argument("FACTS", "A moments file.")],
    data: Annotated[list[str], argument("TABLE", "Files of one table with one row per key: see gramian collect.")],
    key: Annotated[str, of_columns("--key", "The column that both have.")],
    output: MomentsOut,
    columns: Annotated[
        list[str] | None, of_columns("--columns", "Attach this column; by default all. Repeatable.")
    ] = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    prefix: Annotated[str, option("--prefix TEXT", "Put before the names of the columns.")] = "",
    keep_key: Annotated[bool, option("--keep-key", "Keep the key; it is left out by default.")] = False,
    as_json: Json = False,
) -> None:
    """Join a table to moments, as if it had been joined before the pass.

    No row of the facts is read. Keys without a row in the table have missing values. Attach several tables one after
    the other.
    """
    check_output(output, [source, *data])
    facts = load_moments(source)
    as_text = [*(categorical or ()), *([key] if key in text_levels(facts) else [])]
    table = open_data(data, numeric=numeric or (), categorical=as_text)
    require_columns(table, [key, *(columns or ()), *(exclude or ()), *(categorical or ()), *(numeric or ())])
    moments = facts.attach(
        key, table, columns, prefix, keep_key, exclude=exclude, categorical=categorical, numeric=numeric
    )
    deliver_moments(moments, output, as_json=as_json)
