"""The script that draws charts is part of the package, and speaks the language of the charts."""

from __future__ import annotations

import re

import altair

from gramian.reporting.page import render


def test_the_bundle_defines_what_the_page_calls() -> None:
    text = render.vega_bundle()
    assert len(text) > 500_000
    assert "vegaEmbed" in text


def test_the_bundle_draws_the_charts_of_this_altair() -> None:
    # A chart of another major version of Vega-Lite might be drawn wrongly, and in silence.
    wanted = altair.SCHEMA_VERSION.removeprefix("v").partition(".")[0]
    assert re.search(rf'"{wanted}\.\d+\.\d+"', render.vega_bundle())
