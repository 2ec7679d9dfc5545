"""`gramian inspect`: what a file holds."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from gramian.cli.shared.options import Json

EXAMPLES = (
    "gramian inspect payments.parquet",
    "gramian inspect days/monday.parquet days/tuesday.parquet",
    "gramian inspect payments.moments",
    "gramian inspect pca.model --json",
)


def inspect(
    data: Annotated[list[str], typer.Argument(metavar="FILE", help="Moments files, model files, or data.")],
    as_json: Json = False,
) -> None:
    """Show what a file holds: moments, a model, or data.

    Several files of data are shown as one table, with the columns in which they differ.
    """
    from gramian.cli.shared.printing import show, show_json
    from gramian.cli.shared.sources import kind_of, require_paths

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


def _show_data(paths: list[str]) -> None:
    import gramian as gm
    from gramian.cli.shared.describing import show_preview
    from gramian.cli.shared.following import after_preview
    from gramian.cli.shared.printing import show, show_next
    from gramian.cli.shared.sources import source_of

    differing = _differing(paths)
    preview = gm.preview(source_of(paths), missing="fill" if differing else "raise")
    show_preview(preview)
    if differing:
        show("\n" + "\n".join(differing))
    show_next(after_preview(paths, preview.suspected_ids, fill=bool(differing)))


def _of_data(paths: list[str]) -> dict[str, Any]:
    import gramian as gm
    from gramian.cli.shared.describing import describe_preview
    from gramian.cli.shared.sources import source_of

    differing = _differing(paths)
    preview = gm.preview(source_of(paths), missing="fill" if differing else "raise")
    described = describe_preview(preview, paths[0])
    return described if len(paths) == 1 else {**described, "file": paths, "differing": differing}


def _differing(paths: list[str]) -> list[str]:
    """Return in words how the columns of files differ from those of the first."""
    if len(paths) < 2:
        return []
    from gramian.cli.shared.sources import open_data

    names = {path: open_data([path]).schema.names for path in paths if not _empty(path)}
    first = next(iter(names), paths[0])
    lines = []
    for path, columns in names.items():
        lines += [f"{path} has no column {name!r}, which {first} has" for name in names[first] if name not in columns]
        lines += [
            f"{path} has a column {name!r}, which {first} has not" for name in columns if name not in names[first]
        ]
    return lines


def _empty(path: str) -> bool:
    return os.path.isfile(path) and not os.path.getsize(path)


def _show_file(path: str, kind: str) -> None:
    from gramian.cli.shared.describing import describe_model, show_model, show_moments
    from gramian.cli.shared.following import after_fit, after_moments
    from gramian.cli.shared.printing import show_next
    from gramian.cli.shared.sources import load_model, load_moments

    if kind == "moments":
        moments = load_moments(path)
        show_moments(moments)
        following = after_moments(moments, path)
    else:
        model, _ = load_model(path)
        show_model(describe_model(model))
        following = after_fit(model, path, [])
    _show_header(path)
    show_next(following)


def _of_file(path: str, kind: str) -> dict[str, Any]:
    from gramian.cli.shared.describing import describe_model, describe_moments
    from gramian.cli.shared.sources import load_model, load_moments

    described = describe_moments(load_moments(path)) if kind == "moments" else describe_model(load_model(path)[0])
    return {**described, **_header(path)}


def _header(path: str) -> dict[str, Any]:
    from gramian.cli.shared.sources import notes_of
    from gramian.storage import container

    header = container.read_header(path)
    return {"file": path, "written": header.get("date"), "version": header.get("version"), "notes": notes_of(header)}


def _show_header(path: str) -> None:
    from gramian.cli.shared.printing import show

    header = _header(path)
    show(f"\nwritten {header['written']} by gramian {header['version']}")
    for name, value in header["notes"].items():
        show(f"{name}: {value}")
