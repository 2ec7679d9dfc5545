"""A frame in a notebook: complete where nothing is known of its cell, and otherwise with the library once."""

from __future__ import annotations

import html
import re
import sys
from types import SimpleNamespace

import pytest

from gramian.reporting.page import render as notebook
from gramian.reporting.report import Report


@pytest.fixture
def in_cell(monkeypatch: pytest.MonkeyPatch):
    """Return a function that enters a cell of a notebook."""
    monkeypatch.setattr(notebook, "_home", [])

    def enter(cell: str | None) -> None:
        header = {"metadata": {} if cell is None else {"cellId": cell}}
        shell = SimpleNamespace(get_parent=lambda: header)
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    return enter


def kept(shown: str) -> bool:
    return f'id="{notebook.KEPT}"' in shown.split("<iframe")[0]


def inside(shown: str) -> str:
    return html.unescape(re.search(r'srcdoc="([^"]*)"', shown).group(1))


def test_outside_a_notebook_the_frame_holds_the_whole_page(made_report: Report) -> None:
    shown = made_report._repr_html_()
    assert not kept(shown)
    assert inside(shown) == made_report.html()
    assert html.escape("Payments & more") in shown


def test_the_library_is_kept_by_the_first_cell_alone(made_report: Report, in_cell) -> None:
    sizes = {}
    for cell in ("first", "second", "first", "third"):
        in_cell(cell)
        shown = made_report._repr_html_()
        assert kept(shown) == (cell == "first")
        sizes[cell] = len(shown)
        assert len(inside(shown)) < len(made_report.html()) / 2
    assert sizes["second"] == sizes["third"] < sizes["first"] / 2


def test_cells_without_an_id_and_documents_apart_are_complete(
    made_report: Report, in_cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_cell(None)
    assert inside(made_report._repr_html_()) == made_report.html()
    in_cell("first")
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    assert inside(made_report._repr_html_()) == made_report.html()


def test_the_page_looks_for_what_the_cell_keeps(made_report: Report) -> None:
    assert f'getElementById("{notebook.KEPT}")' in made_report.html()
