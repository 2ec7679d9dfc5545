"""`gramian select`: the columns worth keeping, by one method or by every criterion."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gramian.cli.commands.fit import fit_moments, fit_rows, refuse
from gramian.cli.files import check_output, kind_of, load_moments, open_data, require_columns, require_paths
from gramian.cli.next_step import after_fit, after_ranking
from gramian.cli.options import (
    Categorical,
    Exclude,
    Json,
    Numeric,
    Settings,
    Target,
    Weights,
    columns,
    methods,
)  # fmt: skip
from gramian.cli.printing import plain, show, show_json, show_next, show_table
from gramian.cli.settings import built, chosen_method
from gramian.cli.wording import UsageError, command_line
from gramian.errors import Argument, DataError, Parameter

EXAMPLES = {
    "select": (
        "gramian select payments.moments --target fraud",
        "gramian select payments.parquet --target fraud --method forward -k 5",
        "gramian select payments.moments --target fraud -m lasso -k 5 -o lasso.model",
    )
}

_SHOWN = ("column", "kind", "beyond_chance", "information", "p_value", "explained_by", "mrmr", "forward", "lasso")
"""Of the table of every criterion; JSON has all of it."""


def select(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Data files, folders or quoted patterns; or one moments file.")
    ],
    target: Target = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="A method of selection; without one every criterion is shown.",
            autocompletion=methods,
        ),
    ] = None,
    components: Annotated[
        str | None, typer.Option("-k", metavar="N", help="Columns to keep; for forward and rfe also cv.")
    ] = None,
    settings: Settings = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="COL", help="A column that stays. Repeatable.", autocompletion=columns),
    ] = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    weights: Weights = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Also write the selector, for gramian transform."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show which columns to keep, by one method or by every criterion side by side.

    From moments no data is read. All levels of a category, and all parts of a date, stay or go together.
    """
    require_paths(data)
    if output is not None:
        check_output(output, data)
    kinds = {kind_of(path) for path in data}
    if "model" in kinds:
        raise UsageError(f"{data[0]} is a model already; name data or a moments file")
    given = {"-k": components, "--set": settings, "--include": include, "--output": output}
    if method is None:
        for option, value in given.items():
            if value:
                raise UsageError(f"{option} needs a method: name one with --method (gramian methods lists them)")
        _rank(data, "moments" in kinds, target, exclude or [], categorical or [], numeric or [], weights, as_json)
        return
    model = _selector(method, components, settings or [], include or [], target)
    try:
        _fit(model, method, data, "moments" in kinds, target, exclude or [], categorical or [], numeric or [], weights)
    except DataError as error:
        # Elsewhere on the command line `include` is a `--set`; here it has an option of its own.
        named = [Argument("include"), Parameter("include")]
        if not include or not any(part in named for part in error.parts):
            raise
        raise type(error)(*("--include" if part in named else part for part in error.parts)) from error
    if output is not None:
        from gramian.estimators.io.persistence import save

        save(model, output, {"command": command_line()})
    _show(model, output, [] if "moments" in kinds else data, as_json)


def _selector(method: str, components: str | None, settings: list[str], include: list[str], target: str | None) -> Any:
    """Return the selector, its parameters checked."""
    from gramian.estimators.io.registry import METHODS

    able = [each for each in METHODS if each.selects]
    chosen = chosen_method(method, able)
    if not chosen.selects:
        names = ", ".join(each.name for each in able)
        raise UsageError(f"method {chosen.name} selects no columns; those that do are {names}")
    if chosen.needs_target and target is None:
        raise UsageError(f"method {chosen.name} needs a target: name a column with --target")
    if include and any(setting.split("=")[0].strip() == "include" for setting in settings):
        raise UsageError("--include and --set include both name columns that stay; use one of them")
    model = built(chosen, components, settings)
    return model.set_params(include=include) if include else model


def _fit(
    model: Any,
    method: str,
    paths: list[str],
    from_moments: bool,
    target: str | None,
    exclude: list[str],
    categorical: list[str],
    numeric: list[str],
    weights: str | None,
) -> None:

    if from_moments:
        refuse("moments", {"--numeric": numeric, "--weights": weights})
        fit_moments(model, chosen_method(method), paths, target, exclude, categorical)
    else:
        fit_rows(model, chosen_method(method), paths, target, exclude, categorical, numeric, weights)


def _show(model: Any, output: str | None, data: list[str], as_json: bool) -> None:

    columns = model.summary_columns()
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*map(plain, columns.values()), strict=True)]
    kept = [row["column"] for row in rows if row["kept"]]
    if as_json:
        path = {name: plain(values) for name, values in model.path_columns_.items()}
        show_json({"kept": kept, "columns": rows, "path": path, **({"output": output} if output else {})})
        return
    rows.sort(key=lambda row: (not row["kept"], row.get("p_value") or 0.0, -abs(row["score"] or 0.0)))
    show_table(list(columns), [list(row.values()) for row in rows[:40]], right=tuple(range(2, len(columns))))
    if len(rows) > 40:
        show(f"... and {len(rows) - 40} more columns; --json lists all")
    show(f"\n{len(kept)} of {len(rows)} columns stay" + (f"; wrote {output}" if output else ""))
    if output is not None:
        show_next(after_fit(model, output, data))


def _rank(
    paths: list[str],
    from_moments: bool,
    target: str | None,
    exclude: list[str],
    categorical: list[str],
    numeric: list[str],
    weights: str | None,
    as_json: bool,
) -> None:

    if target is None:
        raise UsageError("columns are ranked for a target: name a column with --target")
    import gramian as gm

    if from_moments:
        refuse("moments", {"--numeric": numeric, "--weights": weights})
        if len(paths) > 1:
            raise UsageError("several moments files: add them up first, with gramian merge")
        moments = load_moments(paths[0])
        moments = moments.drop(exclude) if exclude else moments
        moments = moments.as_categorical(categorical) if categorical else moments
    else:
        table = open_data(paths, numeric=numeric, exclude=exclude)
        require_columns(table, [*categorical, target, weights])
        moments = gm.collect(table, categorical=categorical, numeric=numeric, targets=[target], sample_weight=weights)
    ranks = gm.rank_columns(moments.from_library(None), target)
    rows = ranks.to_pylist()
    if as_json:
        show_json([{name: plain(value) for name, value in row.items()} for row in rows])
        return
    names = [name for name in _SHOWN if name in ranks.column_names]
    show_table(names, [[row[name] for name in names] for row in rows[:40]], right=tuple(range(2, len(names))))
    if len(rows) > 40:
        show(f"... and {len(rows) - 40} more columns; --json lists all")
    show_next(after_ranking(paths, target, exclude=exclude, categorical=categorical, numeric=numeric, weights=weights))
