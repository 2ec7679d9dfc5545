"""`gramian fit`: a method fitted to data or moments, to a model file."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gramian.cli.describing import describe_model, show_model
from gramian.cli.files import check_output, kind_of, load_moments, open_data, require_columns, require_paths
from gramian.cli.next_step import after_fit
from gramian.cli.objects import read_objects
from gramian.cli.options import (
    Categorical,
    Column,
    Exclude,
    Json,
    Method,
    Missing,
    Numeric,
    Settings,
    Target,
    Weights,
)  # fmt: skip
from gramian.cli.printing import show, show_json, show_next
from gramian.cli.settings import built, chosen_method
from gramian.cli.wording import UsageError, command_line
from gramian.errors import unknown_column

if TYPE_CHECKING:
    from gramian.estimators.io.registry import Method as Registered

EXAMPLES = {
    "fit": (
        "gramian fit payments.moments --method pca -k 5 -o pca.model",
        "gramian fit payments.parquet --method fisher --target fraud -o fisher.model",
        "gramian fit words.csv -m mds --column word --set metric=levenshtein -o m.model",
    )
}


def fit(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Data files, folders or quoted patterns; or one moments file.")
    ],
    method: Method,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    target: Target = None,
    components: Annotated[
        str | None,
        typer.Option("-k", metavar="N", help="Features to keep; for pca also a share, elbow, mle, parallel or cv."),
    ] = None,
    settings: Settings = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    weights: Weights = None,
    column: Column = None,
    missing: Missing = "raise",
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Also write a report, one HTML file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit a method to data or to a moments file, and write the model.

    From moments no data is read. Methods of distances (mds, mdsfda) take a column of objects with a metric, one object a
    line of a .txt file, or a square matrix of distances.
    """
    # What costs nothing to check comes first, and what needs the method's class before what needs the data.
    chosen = chosen_method(method)
    require_paths(data)
    for each in [output, *([report] if report else [])]:
        check_output(each, data)
    kinds = {kind_of(path) for path in data}
    if "model" in kinds:
        raise UsageError(f"{data[0]} is a model already; name data or a moments file")
    given = {"--categorical": categorical, "--numeric": numeric, "--weights": weights, "--column": column}
    if "moments" in kinds:
        refuse("moments", {name: given[name] for name in ("--numeric", "--weights", "--column")})
    if chosen.needs_target and target is None:
        raise UsageError(f"method {chosen.name} needs a target: name a column with --target")
    model = built(chosen, components, settings or [])
    notes = {"command": command_line()}
    if "moments" in kinds:
        fit_moments(model, chosen, data, target, exclude or [], categorical or [])
    elif chosen.takes_distances:
        refuse(f"method {chosen.name}", {name: given[name] for name in ("--categorical", "--weights")})

        objects = read_objects(
            data, column=column, target=target, exclude=exclude or (), numeric=numeric or (), metric=model.metric
        )
        model.fit(objects.values, *([] if objects.target is None else [objects.target]))
        notes |= objects.notes
    else:
        refuse(f"method {chosen.name}", {"--column": column})
        fit_rows(model, chosen, data, target, exclude or [], categorical or [], numeric or [], weights, missing)
    from gramian.estimators.io.persistence import save

    save(model, output, notes)
    if report:
        from gramian.cli.commands.report import write_report

        write_report(model, report, data=None if "moments" in kinds else data, target=target)
    if as_json:
        show_json({**describe_model(model), "output": output, **({"report": report} if report else {})})
        return
    show_model(describe_model(model))
    show(f"\nwrote {output}" + (f" and {report}" if report else ""))
    show_next(after_fit(model, output, [] if "moments" in kinds else data, missing=missing))


def refuse(what: str, given: dict[str, Any]) -> None:
    """Raise for the first option that was given and has no meaning here."""
    for option, value in given.items():
        if value:
            raise UsageError(f"{option} has no meaning for {what}; leave it out")


def fit_moments(
    model: Any, method: Registered, paths: list[str], target: str | None, exclude: list[str], categorical: list[str]
) -> None:
    """Fit a model to a moments file, without some columns, others read as categories."""
    if len(paths) > 1:
        raise UsageError("several moments files: add them up first, with gramian merge")
    if not method.takes_moments:
        raise UsageError(f"method {method.name} needs rows, and moments have none; name the data instead")
    moments = load_moments(paths[0])
    known = [*dict.fromkeys(column.origin for column in moments.schema), *moments.schema.names]
    for name in [*exclude, *categorical, *([target] if target else [])]:
        if name not in known:
            raise unknown_column(name, dict.fromkeys(known), where=paths[0])
    if exclude:
        moments = moments.drop(exclude)
    if categorical:
        moments = moments.as_categorical(categorical)
    model.fit(moments, y=target)


def fit_rows(
    model: Any,
    method: Registered,
    paths: list[str],
    target: str | None,
    exclude: list[str],
    categorical: list[str],
    numeric: list[str],
    weights: str | None,
    missing: str = "raise",
) -> None:
    """Fit a model to the rows of files."""
    table = open_data(paths, numeric=numeric, categorical=categorical, exclude=exclude, missing=missing)
    require_columns(table, [*categorical, target, weights])
    if categorical:
        if "categorical_features" not in method.parameters:
            raise UsageError(f"method {method.name} takes no --categorical; leave it out")
        model.set_params(categorical_features=categorical)
    if weights is None:
        # By position: a sequence calls it target.
        model.fit(table, target)
        return
    if "sample_weight" not in signature(model.fit).parameters:
        raise UsageError(f"method {method.name} takes no --weights; leave it out")
    model.fit(table, y=target, sample_weight=weights)
