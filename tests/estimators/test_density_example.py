"""The example of card payments runs without a screen and finds what it planted."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_card_payments.py"


@pytest.mark.filterwarnings("ignore")
def test_example_finds_new_merchants_first(tmp_path, capsys):
    runpy.run_path(str(EXAMPLE))["main"](str(tmp_path / "picture.png"))
    said = capsys.readouterr().out
    assert "new merchants: 15, the 15 highest scores are theirs: True" in said
    assert "never seen in 60,000 rows" in said
    assert "pip install matplotlib" in said or (tmp_path / "picture.png").stat().st_size > 10_000
