"""Every section that is registered has a module, a template beside it, and a place on the page."""

from __future__ import annotations

from importlib.resources import files

import pytest

from gramian.reporting.sections.summary import SECTIONS


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_has_a_template_beside_its_module(section) -> None:
    template = files("gramian.reporting") / section.template
    assert template.is_file(), section.template
    # Its part of the summary is found under its name.
    assert section.name in template.read_text(encoding="utf-8")
    assert section.summary.__name__ == section.name


def test_names_and_headings_are_told_apart() -> None:
    for values in zip(*((section.name, section.heading, section.template) for section in SECTIONS), strict=True):
        assert len(set(values)) == len(SECTIONS)
