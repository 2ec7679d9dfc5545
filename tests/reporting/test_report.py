"""One page, self-contained and harmless whatever the data say; written whole or not at all."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import GramianError, SourceNotFoundError
from gramian.reporting import Report, report
from gramian.reporting.page import bundle
from gramian.reporting.page.charts import altair

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


@pytest.fixture(scope="module")
def made_report(made: SimpleNamespace) -> Report:
    return report(made.every, made.new, title="Payments & more", command="gramian demo")


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


def test_the_page_is_made_from_the_summary_alone(made_report: Report) -> None:
    again = Report(json.loads(json.dumps(made_report.summary)))
    assert again.html() == made_report.html()


def test_every_section_has_a_heading_and_a_link(made_report: Report) -> None:
    page = made_report.html()
    sections = re.findall(r'<section id="(\w+)" aria-labelledby="(\S+)">', page)
    assert len(sections) == 10
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


def test_charts_satisfy_the_vega_lite_schema_and_name_no_data(made_report: Report) -> None:
    page = made_report.html()
    found = re.findall(r'data-chart="(\w+)".*?<script type="application/json">(.*?)</script>', page, re.DOTALL)
    specs = {name: json.loads(text) for name, text in found}
    assert set(specs) == {"scree", "cumulative", "spread", "ridge", "scores", "associations"}
    for spec in [*specs.values(), *json.loads(Parsed(page).scripts["rows-charts"])]:
        altair().Chart.from_dict(spec, validate=True)
        spec.pop("datasets", None)
        assert "merchant" not in json.dumps(spec)


def test_save_writes_the_page_whole_and_replaces_what_was_there(made_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    made_report.save(path)
    assert path.read_text(encoding="utf-8") == made_report.html()
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_save_leaves_nothing_behind_where_it_fails(made_report: Report, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        made_report.save(tmp_path / "none" / "report.html")
    with pytest.raises(GramianError, match="folder"):
        made_report.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(made_report: Report) -> None:
    shown = made_report._repr_html_()
    frame = Parsed(shown).elements
    assert [tag for tag, _ in frame] == ["iframe"]
    assert frame[0][1]["srcdoc"] == made_report.html()
    assert html.escape("Payments & more") in shown


def test_public_names_give_the_report_and_its_summary(made: SimpleNamespace) -> None:
    assert gm.report is report
    assert gm.report.summary(made.moments)["read"]["n_rows"] == 6000
    assert "save('report.html')" in repr(gm.report(made.moments))


def test_estimators_keep_scikit_learns_own_html(made: SimpleNamespace) -> None:
    assert "sk-estimator" in made.models["pca"]._repr_html_()


def test_the_vega_bundle_is_made_once_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def bundled(code: str) -> str:
        calls.append(code)
        return "x" * bundle._LEAST

    fake = SimpleNamespace(__version__="0", get_vega_version=lambda: "0", javascript_bundle=bundled)
    monkeypatch.setattr(bundle, "_vl_convert", lambda: fake)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(bundle, "_places", lambda name: iter([blocked / "no" / name, tmp_path / "kept" / name]))
    for _ in range(2):
        bundle.vega_bundle.cache_clear()
        assert bundle.vega_bundle() == "x" * bundle._LEAST
    bundle.vega_bundle.cache_clear()
    assert len(calls) == 1
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["vega-0-0.js"]


@pytest.mark.parametrize("package", ["altair", "jinja2", "vl_convert"])
def test_a_missing_package_is_named_and_the_summary_needs_none(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import gramian as gm, pyarrow as pa\n"
        "made = gm.report(pa.table({'a': ['u', 'v'] * 9, 'b': ['r', 's', 's'] * 6}))\n"
        "print(made.summary['read']['n_rows'])\n"
        "try: made.html()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "18"
    assert "pip install 'gramian[report]'" in second


def test_a_summary_loads_neither_charts_nor_maps() -> None:
    code = (
        "import sys, gramian as gm, pyarrow as pa\n"
        "gm.report(pa.table({'a': ['u', 'v'] * 9, 'b': ['r', 's', 's'] * 6}))\n"
        "print(*sys.modules)"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"altair", "jinja2", "vl_convert", "openTSNE", "umap"}


@pytest.mark.parametrize("view", ["tsne", "umap"])
def test_a_neighbour_map_comes_first_among_the_views(view: str, made: SimpleNamespace) -> None:
    pytest.importorskip({"tsne": "openTSNE", "umap": "umap.umap_"}[view])
    found = gm.report.summary(made.models["pca"], made.features.slice(0, 120), view=view)
    assert found["rows"]["views"][0]["x"] == f"{view}0"
    values = found["rows"]["features"][0]["values"]
    assert len(values) == 120
    assert len(set(values)) > 100


def test_a_model_of_objects_is_reported_with_a_table_that_describes_them() -> None:
    words, classes = ["aab", "aba", "baa", "aabb", "xyz", "yxz", "zyx", "xyyz"], list("aaaaxxxx")
    table = pa.table({"word": words, "class": classes, "length": [float(len(word)) for word in words]})
    model = gm.MDSFDA(1, metric="levenshtein").fit(words, classes)
    assert gm.report(model, data=table).summary["rows"]
    mixed = gm.MDSFDA(1, metric="gower").fit(table, "class")
    assert gm.report(mixed, data=table).summary["rows"]
    vectors = [[0.0, 1.0], [0.5, 1.0], [3.0, 4.0], [3.5, 4.0]]
    assert gm.report(gm.ClassicalMDS(1, metric="euclidean").fit(vectors), data=vectors).summary["rows"]
    with pytest.raises(GramianError, match="describes the objects, one row each; got objects"):
        gm.report(model, data=words)
    distances = gm.pairwise_distances(words, metric="levenshtein")
    with pytest.raises(GramianError, match="got a matrix of distances"):
        gm.report(gm.MDSFDA(1).fit(distances, classes), data=distances)
