"""`gramian report`: data, moments or models as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from gramian.cli.files import check_output, column_names, kind_of, load_model, load_moments, require_paths, source_of
from gramian.cli.options import Categorical, Exclude, Json, Keep, Missing, Numeric, Target, argument, option
from gramian.cli.printing import show, show_json
from gramian.cli.wording import UsageError, command_line
from gramian.errors import unknown_column

EXAMPLES = {
    "report": (
        "gramian report payments.parquet --target fraud --keep payment -o report.html",
        "gramian report days/tuesday.parquet --since monday.moments -o changes.html",
        "gramian report density.model --data payments.parquet -o report.html",
    )
}


def report(
    source: Annotated[list[str], argument("SOURCE", "Data, a moments file, or one or more model files.")],
    output: Annotated[str, option("--output -o FILE", "The HTML file to write.")],
    target: Target = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: Missing = "raise",
    keep: Keep = None,
    since: Annotated[str | None, option("--since MOMENTS", "Earlier moments: also say what changed since.")] = None,
    data: Annotated[list[str] | None, option("--data DATA", "Rows to show for a model. Repeatable.")] = None,
    view: Annotated[str | None, option("--view tsne|umap", "Add a map of neighbours.")] = None,
    image_shape: Annotated[
        str | None, option("--image-shape HxW", "Draw the atoms of a dictionary as pictures.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report about data, moments or models.

    It is one HTML file that needs no network.
    """
    if view not in (None, "tsne", "umap"):
        raise UsageError(f"--view is tsne or umap; got {view!r}")
    shape = _shape(image_shape)
    require_paths([*source, *(data or [])])
    check_output(output, [*source, *(data or [])])
    kinds = [kind_of(path) for path in source]
    loaded: list[Any] = []
    if set(kinds) == {"data"}:
        if data:
            raise UsageError("--data is for the rows of models and moments; name data once")
        about: Any = source_of(source)
    elif "data" in kinds:
        raise UsageError(f"{source[kinds.index('data')]} is data; give the rows of models with --data")
    else:
        loaded = [
            load_moments(path) if kind == "moments" else load_model(path)[0]
            for path, kind in zip(source, kinds, strict=True)
        ]
        about = loaded[0] if len(loaded) == 1 else loaded
    if target is not None and loaded and "moments" not in kinds:
        _check_target(target, loaded, [*source, *(data or ())])
    chosen: dict[str, Any] = {"exclude": exclude or [], "categorical": categorical or [], "numeric": numeric or []}
    chosen |= {"missing": missing, "keep": keep or []}
    if since is not None:
        load_moments(since)  # says how to make them where it holds something else
        chosen["since"] = since
    made = write_report(about, output, data=data, target=target, view=view, image_shape=shape, **chosen)
    if as_json:
        show_json({"output": output, **made.summary})
        return
    show(f"wrote {output}: open it in a browser")


def _shape(text: str | None) -> tuple[int, int] | None:
    """Return the height and width that a text like 8x8 stands for."""
    if text is None:
        return None
    height, _, width = text.lower().partition("x")
    if not (height.isdigit() and width.isdigit() and int(height) and int(width)):
        raise UsageError(f"--image-shape is a height and a width such as 8x8; got {text!r}")
    return int(height), int(width)


def _check_target(target: str, models: Sequence[Any], paths: Sequence[str]) -> None:
    """Raise where neither the models nor the data beside them know a column."""
    from gramian.estimators.spine.outputs import outputs_of

    known = dict.fromkeys(name for path in paths for name in column_names([path]))
    known |= dict.fromkeys(name for model in models for name in outputs_of(model).targets)
    # The parts of a date stand under its name.
    if target not in known and target.rpartition("_")[0] not in known:
        raise unknown_column(target, known, where=" and ".join(paths))


def write_report(
    about: Any,
    path: str,
    *,
    data: Sequence[str] | None,
    target: str | None,
    view: str | None = None,
    image_shape: tuple[int, int] | None = None,
    **chosen: Any,
) -> Any:
    """Write the report about something fitted, collected or named by its path; return it."""
    from gramian.reporting import report as build

    rows = source_of(data) if data else None
    made = build(about, data=rows, target=target, view=view, image_shape=image_shape, command=command_line(), **chosen)
    made.save(path)
    return made
