"""The script that draws charts is part of the package, and speaks the language of the charts."""

from __future__ import annotations

import re
from importlib.resources import files

import altair
import pytest

from gramian.reporting.page import render


def test_the_bundle_defines_what_the_page_calls() -> None:
    text = render.vega_bundle()
    assert len(text) > 500_000
    assert "vegaEmbed" in text


def test_the_bundle_draws_the_charts_of_this_altair() -> None:
    # A chart of another major version of Vega-Lite might be drawn wrongly, and in silence.
    wanted = altair.SCHEMA_VERSION.removeprefix("v").partition(".")[0]
    assert re.search(rf'"{wanted}\.\d+\.\d+"', render.vega_bundle())


@pytest.mark.parametrize(
    ("mark", "part"),
    [
        ("vegaEmbed", "vega-embed"),
        ("Invalid Version", "semver"),
        ("TEST_OPERATION_FAILED", "fast-json-patch"),
        ("134217729", "robust-predicates"),
        ("mollweide", "d3-geo-projection"),
        ("GeometryCollection", "topojson-client"),
        ("8dd3c7ffffb3", "ColorBrewer"),
        ("Unexpected token", "Esprima"),
    ],
)
def test_what_the_bundle_holds_is_in_its_licences(mark: str, part: str) -> None:
    assert mark in render.vega_bundle()
    assert part in (files("gramian.reporting") / "page" / "vega.LICENSE.txt").read_text(encoding="utf-8")


def test_the_bundle_is_what_the_command_of_contributing_makes() -> None:
    vl_convert = pytest.importorskip("vl_convert")
    if not vl_convert.__version__.startswith("1.9."):
        pytest.skip("another vl-convert bundles another Vega")
    assert vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;") == render.vega_bundle()
