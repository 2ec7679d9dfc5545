"""The JavaScript that draws Vega-Lite charts, taken from vl-convert once and kept beside the bytecode of this module.

Bundling takes seconds and gives the same text for one release of vl-convert, so it is kept as compiled loops are: in this
folder's `__pycache__`, in the user's cache folder where that cannot be written, and nowhere where neither can.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gramian.errors import GramianError, missing_package
from gramian.storage.atomic import appearing

_CODE = "window.vegaEmbed = vegaEmbed;"
_LEAST = 100_000
"""Characters; a file of fewer is no bundle."""


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise missing_package("a report", "altair", "jinja2", "vl-convert-python", extra="report") from None
    return vl_convert


def _places(name: str) -> Iterator[Path]:
    yield Path(__file__).parent / "__pycache__" / name
    cached = os.environ.get("XDG_CACHE_HOME")
    home = Path(cached) if cached else Path.home() / ".cache"
    yield home / "gramian" / name


@cache
def vega_bundle() -> str:
    """Return one script that defines `vegaEmbed`, with all it needs inside."""
    vl_convert = _vl_convert()
    name = f"vega-{vl_convert.__version__}-{vl_convert.get_vega_version()}.js"
    places = list(_places(name))
    for place in places:
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) >= _LEAST:
            return text
    text = str(vl_convert.javascript_bundle(_CODE))
    for place in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with appearing(place) as temporary:
                Path(temporary).write_text(text, encoding="utf-8")
        except (OSError, GramianError):
            continue
        break
    return text
