"""`gramian inspect`: what a file holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gramian.cli.shared.options import Json

EXAMPLES = (
    "gramian inspect payments.parquet",
    "gramian inspect payments.moments",
    "gramian inspect pca.model --json",
)


def inspect(
    data: Annotated[str, typer.Argument(metavar="FILE", help="A moments file, a model file, or data.")],
    as_json: Json = False,
) -> None:
    """Show what a file holds: moments, a model, or data."""
    from gramian.cli.shared.describing import (
        describe_model,
        describe_moments,
        describe_preview,
        show_model,
        show_moments,
        show_preview,
    )
    from gramian.cli.shared.following import after_fit, after_moments, after_preview
    from gramian.cli.shared.printing import show_json, show_next
    from gramian.cli.shared.sources import kind_of, load_model, load_moments, require_paths

    require_paths([data])
    kind = kind_of(data)
    if kind == "data":
        import gramian as gm

        preview = gm.preview(data)
        if as_json:
            show_json(describe_preview(preview, data))
        else:
            show_preview(preview)
            show_next(after_preview(data, preview.suspected_ids))
        return
    if kind == "moments":
        moments = load_moments(data)
        if as_json:
            show_json({**describe_moments(moments), **_header(data)})
            return
        show_moments(moments)
        following = after_moments(moments, data)
    else:
        model, _ = load_model(data)
        if as_json:
            show_json({**describe_model(model), **_header(data)})
            return
        show_model(describe_model(model))
        following = after_fit(model, data, [])
    _show_header(data)
    show_next(following)


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
