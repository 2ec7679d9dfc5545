"""The script that draws charts is made once and kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gramian.reporting.page import render as bundle


def test_the_vega_bundle_is_made_once_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def bundled(code: str) -> str:
        calls.append(code)
        return "x" * bundle._LEAST

    fake = SimpleNamespace(__version__="0", get_vega_version=lambda: "0", javascript_bundle=bundled)
    monkeypatch.setattr(bundle.charts, "package", lambda name: fake)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(bundle, "_places", lambda name: iter([blocked / "no" / name, tmp_path / "kept" / name]))
    for _ in range(2):
        bundle.vega_bundle.cache_clear()
        assert bundle.vega_bundle() == "x" * bundle._LEAST
    bundle.vega_bundle.cache_clear()
    assert len(calls) == 1
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["vega-0-0.js"]


def test_the_bundle_defines_what_the_page_calls() -> None:
    bundle.vega_bundle.cache_clear()
    text = bundle.vega_bundle()
    assert len(text) > bundle._LEAST
    assert "vegaEmbed" in text
