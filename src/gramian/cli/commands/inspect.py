"""`gramian inspect` and `methods`: what a file holds, and what there is to fit."""

from __future__ import annotations

import os
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

from gramian.cli.describing import (
    describe_model,
    describe_moments,
    describe_preview,
    show_model,
    show_moments,
    show_preview,
)  # fmt: skip
from gramian.cli.files import kind_of, load_model, load_moments, notes_of, open_data, require_paths, source_of
from gramian.cli.options import Json, argument
from gramian.cli.options import methods as complete_methods
from gramian.cli.printing import after_fit, after_moments, after_preview, show, show_json, show_next, show_table
from gramian.cli.settings import chosen_method

if TYPE_CHECKING:
    from gramian.engines.preview import Preview
    from gramian.estimators.registry import Method

EXAMPLES = {
    "inspect": (
        "gramian inspect payments.parquet",
        "gramian inspect days/monday.parquet days/tuesday.parquet",
        "gramian inspect payments.moments",
        "gramian inspect pca.model --json",
    ),
    "methods": ("gramian methods", "gramian methods mahalanobis"),
}


def inspect(
    data: Annotated[list[str], argument("FILE", "Moments files, model files, or data.")], as_json: Json = False
) -> None:
    """Show what a file holds: moments, a model, or data.

    Several files of data are shown as one table, with the columns in which they differ.
    """
    require_paths(data)
    kinds = {path: kind_of(path) for path in data}
    # Data first and together; other files one by one.
    rows = [path for path in data if kinds[path] == "data"]
    others = [path for path in data if kinds[path] != "data"]
    if as_json:
        described = [_of_data(rows)] if rows else []
        described += [_of_file(path, kinds[path]) for path in others]
        show_json(described[0] if len(described) == 1 else described)
        return
    if rows:
        _show_data(rows)
    for k, path in enumerate(others):
        if rows or len(others) > 1:
            show(f"{chr(10) * bool(rows or k)}{path}\n")
        _show_file(path, kinds[path])


def _previewed(paths: list[str]) -> tuple[Preview, list[str]]:
    """Return what a pass would collect, and in words how the columns of the files differ."""
    import gramian as gm

    differing = _differing(paths)
    return gm.preview(source_of(paths), missing="fill" if differing else "raise"), differing


def _show_data(paths: list[str]) -> None:
    preview, differing = _previewed(paths)
    show_preview(preview)
    if differing:
        show("\n" + "\n".join(differing))
    show_next(after_preview(paths, preview.suspected_ids, missing="fill" if differing else "raise"))


def _of_data(paths: list[str]) -> dict[str, Any]:
    preview, differing = _previewed(paths)
    described = describe_preview(preview, paths[0])
    return described if len(paths) == 1 else {**described, "file": paths, "differing": differing}


def _differing(paths: list[str]) -> list[str]:
    """Return in words how the columns of files differ from those of the first."""
    if len(paths) < 2:
        return []

    names = {path: open_data([path]).schema.names for path in paths if not _empty(path)}
    first = next(iter(names), paths[0])
    lines = []
    for path, columns in names.items():
        lines += [f"{path} has no column {name!r}, which {first} has" for name in names[first] if name not in columns]
        more = [name for name in columns if name not in names[first]]
        lines += [f"{path} has a column {name!r}, which {first} has not" for name in more]
    return lines


def _empty(path: str) -> bool:
    return os.path.isfile(path) and not os.path.getsize(path)


def _show_file(path: str, kind: str) -> None:
    if kind == "moments":
        moments = load_moments(path)
        show_moments(moments)
        next_step = after_moments(moments, path)
    else:
        model, _ = load_model(path)
        show_model(describe_model(model))
        next_step = after_fit(model, path, [])
    header = _header(path)
    show(f"\nwritten {header['written']} by gramian {header['version']}")
    for name, value in header["notes"].items():
        show(f"{name}: {value}")
    show_next(next_step)


def _of_file(path: str, kind: str) -> dict[str, Any]:
    described = describe_moments(load_moments(path)) if kind == "moments" else describe_model(load_model(path)[0])
    return {**described, **_header(path)}


def _header(path: str) -> dict[str, Any]:
    from gramian.storage import container

    header = container.read_header(path)
    return {"file": path, "written": header.get("date"), "version": header.get("version"), "notes": notes_of(header)}


def methods(
    name: Annotated[
        str | None, argument("NAME", "Describe one method and its parameters.", autocompletion=complete_methods)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods, or describe one with its parameters."""
    from gramian.estimators.registry import METHODS, row_of

    if name is not None:
        method = chosen_method(name)
        if as_json:
            show_json(describe(method))
        else:
            _show_one(method)
        return
    if as_json:
        show_json([describe(method) for method in METHODS])
        return
    show_table(
        ("method", "takes", "gives", "what it is"),
        [[cell for k, cell in enumerate(row_of(method)) if k != 1] for method in METHODS],
    )
    show("\ngramian methods NAME lists the parameters of one, which gramian fit --set changes.")


_TOLD = ("takes_moments", "takes_distances", "needs_target", "transforms", "predicts", "predicts_numbers", "detects")
"""What a method can do, in JSON."""


def describe(method: Method) -> dict[str, Any]:
    """Return a method as plain data."""
    return {
        "name": method.name,
        "aliases": list(method.aliases),
        "class": method.class_name,
        "summary": method.summary,
        **{name: getattr(method, name) for name in _TOLD},
        "parameters": method.parameters,
    }


def _show_one(method: Method) -> None:
    paragraphs, parameters = documented(getdoc(method.estimator) or "")
    other = f" (also {', '.join(method.aliases)})" if method.aliases else ""
    show(f"{method.name}{other}: {method.class_name} in Python\n")
    show("\n\n".join(paragraphs) + "\n")
    rows = [(name, repr(default), parameters.get(name, "")) for name, default in method.parameters.items()]
    show_table(("parameter", "default", ""), rows)
    show(f"\ngramian fit ... --method {method.name} --set PARAMETER=VALUE")


def documented(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the opening paragraphs of a docstring in NumPy's form, and what it says of each parameter.

    Examples
    --------
    >>> lines = ["Sums.", "", "Of", "numbers.", "", "Parameters", "----------", "a, b : int", "    What is", "    added."]
    >>> documented(chr(10).join(lines))
    (['Sums.', 'Of numbers.'], {'a': 'int. What is added.', 'b': 'int. What is added.'})
    """
    sections: dict[str, list[str]] = {"": []}
    title, lines = "", text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            title = line
            sections[title] = []
        elif not (line and set(line) == {"-"}):
            sections[title].append(line)
    paragraphs = [" ".join(part.split()) for part in "\n".join(sections[""]).split("\n\n") if part.strip()]
    told: dict[str, str] = {}
    names: list[str] = []
    for line in sections.get("Parameters", []):
        if line.startswith(" "):
            for name in names:
                told[name] = f"{told[name]} {line.strip()}"
        elif line.strip():
            head, _, kind = line.partition(" : ")
            names = [name.strip() for name in head.split(",")]
            told |= dict.fromkeys(names, f"{kind}.")
    return paragraphs, told
