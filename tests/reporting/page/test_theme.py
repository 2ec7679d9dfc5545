"""Colours of charts are variables that the style sheet defines, in light and in dark."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from gramian.reporting.page.charts import CLASS_COLOURS, CONFIG, RANKS, SCALE_COLOURS


def test_every_colour_is_defined_for_every_theme() -> None:
    style = (files("gramian.reporting") / "page" / "page.css").read_text(encoding="utf-8")
    used = set(re.findall(r"var\((--[\w-]+)\)", " ".join([*CLASS_COLOURS, *SCALE_COLOURS, json.dumps(CONFIG)])))
    for name in used:
        assert len(re.findall(rf"{name}:", style)) == 3, name


def test_a_rank_has_a_colour_on_each_side_of_each_step() -> None:
    assert len(SCALE_COLOURS) == len(RANKS) + 1
    assert sorted(RANKS) == RANKS
