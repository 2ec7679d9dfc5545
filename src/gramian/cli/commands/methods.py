"""`gramian methods`: what there is to fit."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gramian.cli.shared.completion import methods as complete_methods
from gramian.cli.shared.options import Json

if TYPE_CHECKING:
    from gramian.estimators.io.registry import Method

EXAMPLES = (
    "gramian methods",
    "gramian methods mahalanobis",
)


def methods(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Describe one method and its parameters.", autocompletion=complete_methods),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods, or describe one with its parameters."""
    from gramian.cli.shared.printing import show, show_json, show_table
    from gramian.cli.shared.settings import chosen_method
    from gramian.estimators.io.methods import row_of
    from gramian.estimators.io.registry import METHODS

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


def describe(method: Method) -> dict[str, Any]:
    """Return a method as plain data."""
    return {
        "name": method.name,
        "aliases": list(method.aliases),
        "class": method.class_name,
        "summary": method.summary,
        "takes_moments": method.takes_moments,
        "takes_distances": method.takes_distances,
        "needs_target": method.needs_target,
        "transforms": method.transforms,
        "predicts": method.predicts,
        "predicts_numbers": method.predicts_numbers,
        "detects": method.detects,
        "parameters": method.parameters,
    }


def _show_one(method: Method) -> None:
    from gramian.cli.shared.printing import show, show_table

    paragraphs, parameters = documented(inspect.getdoc(method.estimator) or "")
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
