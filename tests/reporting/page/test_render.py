"""One page, self-contained and harmless whatever the data say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pyarrow as pa

from gramian.reporting import report
from gramian.reporting.report import Report
from gramian.reporting.sections.summary import SECTIONS

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Parsed(HTMLParser):
    """Elements with their attributes, texts of scripts, and the text that is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.shown: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = str(dict(attrs).get("id"))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.shown.append(data)
        else:
            self.scripts[self._inside] = data


def test_the_page_asks_for_nothing_from_anywhere(made_report: Report) -> None:
    page = Parsed(made_report.html())
    links = [value for _, attrs in page.elements for key, value in attrs.items() if key in ("src", "href", "action")]
    assert all(link is None or link.startswith(("#", "data:")) for link in links)
    style = made_report.html().split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "connect" not in policy
    assert "unsafe-inline' 'unsafe-eval" not in policy


def test_the_page_stays_below_three_megabytes(made_report: Report) -> None:
    assert len(made_report.html().encode()) < 3e6


def test_every_section_has_a_heading_and_a_link(made_report: Report) -> None:
    page = made_report.html()
    sections = re.findall(r'<section id="(\w+)" aria-labelledby="(\S+)">', page)
    assert [name for name, _ in sections] == [
        s.name
        for s in SECTIONS
        if s.name not in ("objects", "atoms", "coefficients", "drift", "shapes", "learning", "selection", "units")
    ]
    for name, heading in sections:
        assert f'<h2 id="{heading}">' in page
        assert f'href="#{name}"' in page


def test_tables_have_captions_and_scopes(made_report: Report) -> None:
    page = re.sub(r"<script.*?</script>", "", made_report.html(), flags=re.DOTALL)
    assert page.count("<table") == page.count("<caption>") > 5
    assert not re.search(r"<th(?![^>]*scope=)[ >]", page)


def test_labels_of_any_kind_are_harmless_in_html_and_in_json() -> None:
    names = [HOSTILE, "plain", "&amp;", "\u2028", "'\"`${x}"] * 40
    table = pa.table(
        {
            f"<b>{HOSTILE}": names,
            "{{script}}": [f"{HOSTILE}{k % 3}" for k in range(200)],
            "x": [float(k % 17) for k in range(200)],
            "kind</title>": ["<u>yes</u>", "no"] * 100,
        }
    )
    made = report(table, target="kind</title>", title=f"T{HOSTILE}", command=f"cat {HOSTILE}")
    text = made.html()
    page = Parsed(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "u", "b"} - {"b"}
    assert not any(key.startswith("on") for _, attrs in page.elements for key in attrs)
    assert text.count("</script>") == text.count("<script")
    assert text.lower().count("<title>") == 1
    for name in ("rows", "loadings"):
        assert json.loads(page.scripts[f"{name}-data"]) == json.loads(json.dumps(made.summary[name]))
    assert any(HOSTILE in shown for shown in page.shown)
    json.loads(page.scripts["rows-charts"])
