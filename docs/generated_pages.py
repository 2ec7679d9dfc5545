"""Pages that the code writes: the reference, the commands and what each estimator supports."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

import gramian
from gramian.cli.program import COMMANDS, build
from gramian.estimators.registry import METHODS

HERE = Path(__file__).parent

SECTIONS = {
    "Moments": ("engines", "moments"),
    "Linear methods": (
        "estimators.pca",
        "estimators.fisher",
        "estimators.mahalanobis",
        "linear",
    ),
    "Regression": ("estimators.regression",),
    "Odd rows": ("estimators.density",),
    "Choosing columns": ("estimators.selection", "selection"),
    "Distances": ("estimators.mds", "estimators.neighbour_maps", "distances"),
    "Online learning": ("estimators.online",),
    "Random features and reservoirs": ("estimators.random_features", "estimators.elm", "estimators.reservoirs"),
    "Sparse coding": ("estimators.sparse", "sparse"),
    "Files, reports and exports": ("",),
}
"""Heading -> modules below `gramian` whose public names it lists. The first heading that fits takes a name."""


def reference() -> str:
    """Return the page that lists every public name."""
    names: dict[str, list[str]] = {heading: [] for heading in SECTIONS}
    for name in sorted(set(gramian.__all__) - {"__version__", "errors"}, key=str.lower):
        module = getattr(gramian, name).__module__.removeprefix("gramian.")
        names[next(heading for heading, homes in SECTIONS.items() if module.startswith(homes))].append(name)
    parts = ["# Reference\n\nEvery public name is importable from `gramian`.\n"]
    for heading, listed in names.items():
        lines = "\n".join(f"   {name}" for name in listed)
        listing = f".. currentmodule:: gramian\n\n.. autosummary::\n   :toctree: api\n\n{lines}"
        parts.append(f"## {heading}\n\n```{{eval-rst}}\n{listing}\n```\n")
    parts.append("```{toctree}\n:hidden:\ncommands\nsupport\n```\n")
    return "\n".join(parts)


def commands() -> str:
    """Return the help of every command, as the program prints it."""
    program = build()
    parts = [
        "# Commands\n\nThese are the help pages of the program. [Command line](../command-line.md) shows them at work.\n"
    ]
    for name in COMMANDS:
        context = click.Context(program.commands[name], info_name=f"gramian {name}", max_content_width=88)
        parts.append(f"## gramian {name}\n\n```text\n{program.commands[name].get_help(context)}\n```\n")
    return "\n".join(parts)


def support() -> str:
    """Return the table of estimators and what each supports."""
    head = (
        "estimator", "rows", "moments", "distances", "categories", "missing values", "sparse rows", "weights",
        "`partial_fit`", "`+` and `-`", "`predict`", "way back", "`plot`",
    )  # fmt: skip
    lines = []
    for method in METHODS:
        cls = method.estimator
        needed = [[[1.0]] for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
        takes = cls(*needed).__sklearn_tags__().input_tags
        found = (
            not method.takes_distances,
            method.takes_moments,
            method.takes_distances,
            takes.categorical,
            takes.allow_nan,
            takes.sparse,
            "sample_weight" in inspect.signature(cls.fit).parameters,
            hasattr(cls, "partial_fit"),
            hasattr(cls, "__add__"),
            hasattr(cls, "predict"),
            hasattr(cls, "inverse_transform"),
            hasattr(cls, "plot"),
        )
        name = f"[{cls.__name__}](api/gramian.{cls.__name__})"
        lines.append((name, *("yes" if each else "" for each in found)))
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *lines))
    return (
        "# What each estimator supports\n\nThis table is written by code, from the classes themselves. An estimator that "
        "takes rows\ntakes frames, Arrow, numpy arrays, files and streams.\n\n" + table + "\n"
    )


def write(app: Any, config: Any) -> None:
    """Write the generated pages beside the pages written by hand."""
    for name, text in {"index": reference, "commands": commands, "support": support}.items():
        (HERE / "reference").mkdir(exist_ok=True)
        (HERE / "reference" / f"{name}.md").write_text(text(), encoding="utf-8")


def not_ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives every estimator: its own pages describe it."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", not_ours)
    return {"parallel_read_safe": True}
