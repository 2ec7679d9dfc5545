"""Pages that the code writes: the reference, the commands, what each estimator supports, results, and `llms.txt`."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

import gramian
from gramian.cli.program import COMMANDS, build
from gramian.estimators.registry import METHODS

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))  # the benchmarks are no package that is installed

from benchmarks.all import page, row_of  # noqa: E402

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
    parts.append("```{toctree}\n:hidden:\ncommands\nsupport\nresults\n```\n")
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


def results() -> str:
    """Return the page of what was measured, with a picture of every ratio of two times."""
    file = ROOT / "benchmarks" / "results.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    draw(kept, HERE / "reference" / "results.svg")
    head, rest = page(kept).split("\n\n", 1)
    return f"{head}\n\n![How many times faster than each peer](results.svg)\n\n{rest}"


def draw(kept: dict[str, Any], path: Path) -> None:
    """Draw how many times faster than its peer each call was, on a logarithmic axis; slower is another colour."""
    from matplotlib.figure import Figure

    rows = [
        (f"{name} {row.case}: {row.against}", row) for name, entry in kept.items() for row in map(row_of, entry["rows"])
    ]
    times = [
        (label, row.peer_seconds / row.ours_seconds) for label, row in rows if row.peer_seconds and row.ours_seconds
    ]
    times.sort(key=lambda pair: pair[1])
    figure = Figure(figsize=(9, 1 + 0.19 * len(times)), layout="constrained")
    ax = figure.subplots()
    ax.barh(
        range(len(times)),
        [t - 1 for _, t in times],
        left=1,
        color=["#2a6f97" if t >= 1 else "#d1495b" for _, t in times],
    )
    ax.set(xscale="log", ylim=(-0.7, len(times) - 0.3), xlabel="peer's seconds / ours: left of 1 the peer is faster")
    ax.set_yticks(range(len(times)), [label for label, _ in times], fontsize=7)
    ax.axvline(1, color="black", linewidth=0.8)
    figure.savefig(path)


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring or a page, on one line."""
    return re.split(r"(?<=[.:])\s", " ".join(text.split("\n\n")[0].split()))[0].rstrip(":")


def llms() -> str:
    """Return the site in one file of lines, for programs that read documentation."""
    purpose = (HERE / "index.md").read_text(encoding="utf-8").split("# Gramian\n\n")[1].split("\n\n")[0]
    parts = [f"# Gramian\n\n> {' '.join(purpose.split())}\n"]
    pages = [*sorted(HERE.glob("start/*.md")), *sorted(HERE.glob("howto/*.md")), *sorted(HERE.glob("*.md"))]
    lines = []
    for path in pages:
        title, _, text = path.read_text(encoding="utf-8").partition("# ")[2].partition("\n\n")
        if path.stem != "index":
            lines.append(f"- [{title}]({path.relative_to(HERE).with_suffix('.html')}): {first_sentence(text)}")
    parts.append("## Pages\n\n" + "\n".join(lines) + "\n")
    names = [
        f"- `gramian.{name}`: {first_sentence(inspect.getdoc(getattr(gramian, name)) or '')}"
        for name in sorted(set(gramian.__all__) - {"__version__", "errors"}, key=str.lower)
    ]
    parts.append("## Public names\n\n" + "\n".join(names) + "\n")
    program = build()
    parts.append(
        "## Commands\n\n"
        + "\n".join(f"- `gramian {n}`: {first_sentence(program.commands[n].help or '')}" for n in COMMANDS)
        + "\n"
    )
    source = Path(gramian.__file__).parent
    modules = []
    for path in sorted(source.rglob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if said:
            name = ".".join(("gramian", *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__")
            modules.append(f"- `{name}`: {first_sentence(said)}")
    parts.append("## Modules\n\n" + "\n".join(modules) + "\n")
    return "\n".join(parts)


PAGES = {
    "index.md": reference,
    "commands.md": commands,
    "support.md": support,
    "results.md": results,
    "llms.txt": llms,
}


def write(app: Any, config: Any) -> None:
    """Write the generated pages beside the pages written by hand."""
    (HERE / "reference").mkdir(exist_ok=True)
    for name, text in PAGES.items():
        (HERE / "reference" / name).write_text(text(), encoding="utf-8")


def not_ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives every estimator: its own pages describe it."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", not_ours)
    return {"parallel_read_safe": True}
