"""Figures as people read them."""

from __future__ import annotations

import pytest

from gramian.reporting.values import FILTERS, count, figure


def test_what_is_not_known_is_a_dash() -> None:
    assert {FILTERS[name](None) for name in ("count", "figure", "share")} == {"–"}
    assert FILTERS["p_value"](None) == "unknown"


def test_figures_keep_few_digits_and_separate_thousands() -> None:
    assert figure(-123456.7) == "-123,457"
    assert figure(0.000123456, 2) == "0.00012"
    assert count(1e6) == "1,000,000"


@pytest.mark.parametrize(("n", "said"), [(999, "999 bytes"), (1_500, "1.5 kB"), (2_340_000, "2.3 MB"), (5e9, "5.0 GB")])
def test_bytes_are_in_the_unit_that_suits_them(n: int, said: str) -> None:
    assert FILTERS["size"](n) == said
