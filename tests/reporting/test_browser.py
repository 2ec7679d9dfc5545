"""The page in a real browser: nothing fetched, every chart drawn, hover, brush, zoom and search at work, dark and narrow."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.reporting import report
from gramian.reporting.page import render as notebook
from gramian.reporting.report import Report

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed: apt-get install chromium-driver", allow_module_level=True)
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
HOSTILE = "</script><img src=x onerror=document.title='broken'>"


FAULTS = (Path(__file__).parent / "faults.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(made_report: Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    made_report.save(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1280,900"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def drawn(browser: Any) -> bool:
    script = """
        const places = [...document.querySelectorAll("[data-chart]"), ...document.querySelectorAll("#map")];
        return places.length > 0 && places.every((place) => place.dataset.drawn);
    """
    return bool(browser.execute_script(script))


def opened(browser: Any, page: str, *, width: int = 1280, dark: bool = False) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page)
    wait_for(lambda: drawn(browser), "the charts")


def map_of(browser: Any) -> Any:
    place = browser.find_element("id", "map")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", place)
    return place


def dragged(browser: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over the map between two points given as shares of its plot."""
    script = """
        const plot = document.querySelector("#map .root > g > .background").getBoundingClientRect();
        return [plot.left, plot.top, plot.width, plot.height];
    """
    map_of(browser)
    left, top, width, height = browser.execute_script(script)
    points = [(left + width * x, top + height * y) for x, y in (start, end)]
    middle = tuple((a + b) / 2 for a, b in zip(*points, strict=True))
    mouse = {"button": "left", "clickCount": 1}
    for kind, (x, y) in (
        ("mouseMoved", points[0]),
        ("mousePressed", points[0]),
        ("mouseMoved", middle),
        ("mouseMoved", points[1]),
        ("mouseReleased", points[1]),
    ):
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **mouse})


def text_of(browser: Any, name: str) -> str:
    return str(browser.find_element("id", name).text)


def loadings_rows(browser: Any) -> list[str]:
    return [row.text for row in browser.find_elements("css selector", "#loadings-table tbody tr")]


def test_nothing_is_fetched_and_nothing_complains(browser: Any, page: str) -> None:
    opened(browser, page)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert asked, "the browser reports the page itself"
    assert all(url == page or url.startswith("data:") for url in asked)
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_every_chart_has_marks(browser: Any, page: str, made: SimpleNamespace) -> None:
    opened(browser, page)
    script = """
        return [...document.querySelectorAll(".chart")].map((place) => {
            const marks = place.querySelectorAll("svg [class*='role-mark'] :is(path, line, text)");
            const sizes = [...marks].map((mark) => mark.getBoundingClientRect()).filter((box) => box.width + box.height > 0);
            return [place.dataset.drawn, sizes.length, place.getAttribute("aria-label")];
        });
    """
    found = browser.execute_script(script)
    assert {name for name, _, _ in found} == {
        "scree", "cumulative", "spread", "ridge", "scores", "associations", "rows-0-0",
    }  # fmt: skip
    for name, marks, label in found:
        assert marks >= 1, name
        assert label, name
    assert next(n for name, n, _ in found if name == "rows-0-0") == 600


def test_hovering_shows_the_row(browser: Any, page: str, made: SimpleNamespace) -> None:
    opened(browser, page)
    map_of(browser)
    # The last point is on top of all others.
    script = """
        const marks = document.querySelectorAll("#map .mark-symbol path");
        const box = marks[marks.length - 1].getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    """
    x, y = browser.execute_script(script)
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    shown = "return document.querySelector('#vg-tooltip-element.visible')?.innerText"
    text = wait_for(lambda: browser.execute_script(shown), "the tooltip")
    position = int(text.splitlines()[0].removeprefix("row ").replace(",", "")) - 1
    row = made.new.slice(position, 1).to_pylist()[0]
    for name in ("issuer", "category", "card", "fraud"):
        assert f"{name}\t{row[name]}" in text
    assert "when_hour" not in text
    # Under the brush too.
    dragged(browser, (0.02, 0.02), (0.98, 0.98))
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 5, "y": 5})
    wait_for(lambda: not browser.execute_script(shown), "the tooltip to go")
    x, y = browser.execute_script(script)
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    assert wait_for(lambda: browser.execute_script(shown), "the tooltip under the brush") == text


def test_brushing_changes_the_linked_view_and_marks_the_loadings(browser: Any, page: str) -> None:
    opened(browser, page)
    assert text_of(browser, "picked") == "Nothing is selected."
    before = loadings_rows(browser)
    dragged(browser, (0.02, 0.02), (0.98, 0.5))
    wait_for(lambda: "of 600 rows" in text_of(browser, "picked"), "the selection")
    marked = browser.find_elements("css selector", "#loadings-table tr.picked")
    assert marked
    assert loadings_rows(browser) != before
    # What is marked in the loadings is what the panel lists.
    panel = text_of(browser, "picked")
    for row in marked:
        column, level = (cell.text for cell in row.find_elements("css selector", "th, td")[:2])
        assert f"{column} = {level}" in panel
    faded = """
        const points = [...document.querySelectorAll("#map .mark-symbol path")];
        return points.filter((point) => point.getAttribute("opacity") < 0.5).length;
    """
    chosen = int(panel.split(" of ")[0].split("\n")[-1].replace(",", ""))
    assert browser.execute_script(faded) == 600 - chosen
    browser.find_element("id", "clear").click()
    wait_for(lambda: text_of(browser, "picked") == "Nothing is selected.", "the end of the selection")
    assert loadings_rows(browser) == before


def test_zooming_shows_the_selected_rows_alone(browser: Any, page: str) -> None:
    opened(browser, page)
    dragged(browser, (0.02, 0.02), (0.98, 0.5))
    wait_for(lambda: "of 600 rows" in text_of(browser, "picked"), "the selection")
    chosen = int(text_of(browser, "picked").split(" of ")[0].replace(",", ""))
    browser.find_element("id", "zoom").click()
    points = "return document.querySelectorAll('#map .mark-symbol path').length"
    wait_for(lambda: browser.execute_script(points) == chosen, "fewer points")
    browser.find_element("id", "clear").click()
    wait_for(lambda: browser.execute_script(points) == 600, "all points")


def test_other_axes_and_colours_can_be_chosen(browser: Any, page: str) -> None:
    opened(browser, page)
    from selenium.webdriver.support.ui import Select

    Select(browser.find_element("id", "colour")).select_by_visible_text("anomaly score")
    wait_for(lambda: browser.find_element("id", "map").get_attribute("data-drawn") == "rows-0-1", "the other colour")
    assert "anomaly score" in text_of(browser, "key")
    # Values never seen have a sign of their own, apart from the ranks.
    assert "a value never seen" in text_of(browser, "key")
    shapes = "return [...document.querySelectorAll('#map .mark-symbol path')].map((point) => point.getAttribute('d'))"
    drawn_as = browser.execute_script(shapes)
    assert sorted(drawn_as.count(shape) for shape in set(drawn_as)) == [3, 597]
    assert drawn_as[-1] != drawn_as[0]
    views = Select(browser.find_element("id", "view"))
    name = next(option.text for option in views.options if option.text.startswith("fisherdiscriminant"))
    views.select_by_visible_text(name)
    wait_for(lambda: browser.find_element("id", "map").get_attribute("data-drawn") != "rows-0-1", "the other axes")
    titles = [title.text for title in browser.find_elements("css selector", "#map .role-axis-title text")]
    assert "fisherdiscriminant0" in titles
    assert "FisherDiscriminant" in Select(browser.find_element("id", "model")).first_selected_option.text


def test_search_filters_the_loadings(browser: Any, page: str) -> None:
    opened(browser, page)
    field = browser.find_element("id", "search")
    field.send_keys("online ent")
    rows = wait_for(lambda: [r for r in loadings_rows(browser) if "online" in r], "rows with the word")
    assert rows == loadings_rows(browser)
    assert all(row.startswith("entry") for row in rows)
    field.send_keys("zzz")
    wait_for(lambda: "No column or level" in "".join(loadings_rows(browser)), "the end of all rows")


def test_loadings_sort_by_the_feature_whose_head_is_pressed(browser: Any, page: str) -> None:
    opened(browser, page)
    before = loadings_rows(browser)
    heads = browser.find_elements("css selector", "#loadings-table th button")
    browser.execute_script("arguments[0].click()", heads[1])
    assert loadings_rows(browser) != before
    sorted_by = browser.find_elements("css selector", "#loadings-table th[aria-sort=descending]")
    assert [head.text.rstrip(" ↓") for head in sorted_by] == ["pca1"]


CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const ground = (element) => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) {
            const colour = rgba(getComputedStyle(e).backgroundColor);
            if (colour[3] > 0) layers.push(colour);
            if (colour[3] === 1) break;
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const light = (colour) => {
        const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim()) continue;
        if (element.closest("script, style, noscript, .skip, caption, option")) continue;
        if (!element.checkVisibility() || element.matches(":disabled")) continue;
        const style = getComputedStyle(element);
        const below = ground(element);
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const alpha = rgba(ink); alpha[3] *= Number(style.opacity);
        found.push([contrast(over(alpha, below), below), walker.currentNode.textContent.trim().slice(0, 40)]);
    }
    return [found.length, found.sort((a, b) => a[0] - b[0]).slice(0, 5), ground(document.body)];
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out_from_its_ground(browser: Any, page: str, dark: bool) -> None:
    opened(browser, page, dark=dark)
    count, worst, ground = browser.execute_script(CONTRAST)
    assert count > 300
    # 4.5 : 1 is what WCAG AA asks of text.
    assert worst[0][0] >= 4.5, worst
    assert (sum(ground) / 3 < 60) == dark


def test_the_button_overrules_the_system(browser: Any, page: str) -> None:
    opened(browser, page)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(ground)
    button = browser.find_element("id", "theme")
    button.click()
    assert button.text == "Theme: light"
    button.click()
    assert button.text == "Theme: dark"
    dark = browser.execute_script(ground)
    assert dark != light
    # Charts follow without being drawn again.
    bar = "return getComputedStyle(document.querySelector('[data-chart=scree] .mark-rect path')).fill"
    assert browser.execute_script(bar) == "rgb(126, 166, 244)"
    button.click()
    assert browser.execute_script(ground) == light


MODELS = [
    "everything",
    "moments",
    "detector",
    "many classes",
    "few columns",
    "objects",
    "classes of objects",
    "described",
    "selector",
    "atoms",
    "reservoir",
    "long names",
]


@pytest.fixture(scope="module")
def pages(made: SimpleNamespace, words: SimpleNamespace, page: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Return a page on each kind of model, made when it is asked for."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 9, 300)
    many = pa.table(
        {"x": y + rng.normal(size=300), "z": rng.normal(size=300), "class": [f"class number {k}" for k in y]}
    )
    sensors = pa.table({f"sensor_{k:02d}_temperature": np.abs(rng.normal(size=80)) for k in range(8)})
    sequences = [np.cumsum(rng.normal(size=(40, 2)), axis=0) for _ in range(3)]
    long_names = many.rename_columns(["size of the whole thing", "another long name of a column", "class"])
    kinds = {
        "moments": lambda: report(made.moments),
        "detector": lambda: report(made.models["density"], made.new, max_rows=200),
        "many classes": lambda: report(many, target="class"),
        "few columns": lambda: report(
            gm.Whitening().fit(many.select(["x", "z"])), many.select(["x", "z"]), max_rows=50
        ),
        "objects": lambda: report(words.mds),
        "classes of objects": lambda: report(words.fda),
        "described": lambda: report(words.mds, words.table, "class"),
        "selector": lambda: report(
            gm.LassoSelector("cv").fit(made.moments, "fraud"), made.new.slice(0, 200), max_rows=50
        ),
        "atoms": lambda: report(gm.NMF(4, random_state=0).fit(sensors), sensors, image_shape=(2, 4), max_rows=50),
        "reservoir": lambda: report(gm.EchoStateFeatures(20, random_state=0).fit(sequences), sequences),
        "long names": lambda: report(gm.JointTargetEncoder().fit(long_names, "class"), long_names, max_rows=50),
    }
    folder = tmp_path_factory.mktemp("pages")

    def made_page(kind: str) -> str:
        path = folder / f"{kind}.html"
        if not path.exists():
            kinds[kind]().save(path)
        return path.as_uri()

    return {kind: page if kind == "everything" else made_page(kind) for kind in MODELS}


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_is_clipped_truncated_or_overlapping(browser: Any, pages: dict, kind: str) -> None:
    for width in (360, 768, 1280):
        opened(browser, pages[kind], width=width)
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            assert browser.execute_script(FAULTS) == [], (width, theme)


FAULTY = [
    ("document.querySelector('main p').style.minWidth = '3000px'", "beyond the page"),
    ("document.querySelector('h2').style.cssText = 'overflow:hidden;width:20px;white-space:nowrap'", "clipped"),
    ("document.querySelector('#view').style.width = '40px'", "truncated"),
    ("document.querySelector('[data-chart=scree] .role-axis-label text').textContent = 'lab…'", "truncated"),
    ("document.querySelector('main p').style.marginTop = '-2.2rem'", "overlapping"),
    ("document.querySelector('main p').id = 'picked'", "an id twice"),
    ("document.querySelector('.findings').style.setProperty('--wide', 6)", "cards wrap"),
]


def test_what_looks_for_faults_finds_them(browser: Any, page: str) -> None:
    for script, found in FAULTY:
        opened(browser, page)
        assert browser.execute_script(FAULTS) == []
        browser.execute_script(script)
        assert any(fault.startswith(found) for fault in browser.execute_script(FAULTS)), found


def test_reports_in_one_notebook_draw_from_one_library(
    browser: Any, words: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "_home", [])
    cells = []
    for cell, model in (("first", words.mds), ("second", words.fda)):
        monkeypatch.setattr(notebook, "_cell", lambda cell=cell: cell)
        cells.append(report(model)._repr_html_().replace('loading="lazy"', ""))
    (tmp_path / "notebook.html").write_text("<!doctype html><title>notebook</title>" + "".join(cells), encoding="utf-8")
    browser.get((tmp_path / "notebook.html").as_uri())
    script = """
        const places = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument.querySelector("#map"));
        return places.map((place) => place && place.dataset.drawn ? place.querySelectorAll(".mark-symbol path").length : 0);
    """
    wait_for(lambda: browser.execute_script(script) == [60, 60], "both maps")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_paper_is_white_whatever_the_screen_shows(browser: Any, page: str) -> None:
    opened(browser, page, dark=True)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    count, worst, _ = browser.execute_script(CONTRAST)
    assert count > 300
    assert worst[0][0] >= 4.5, worst
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_hostile_labels_stay_text(browser: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            f"a{HOSTILE}": [HOSTILE, "plain", "other"] * 40,
            "b": [f"{HOSTILE}{k % 4}" for k in range(120)],
            "x": [float(k % 11) for k in range(120)],
            "y": ["<i>yes</i>", HOSTILE] * 60,
        }
    )
    report(table, target="y", title=HOSTILE).save(tmp_path / "report.html")
    opened(browser, (tmp_path / "report.html").as_uri())
    dragged(browser, (0.02, 0.02), (0.98, 0.98))
    wait_for(lambda: "of 120 rows" in text_of(browser, "picked"), "the selection")
    map_of(browser)
    script = """
        const box = document.querySelector("#map .mark-symbol path").getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    """
    x, y = browser.execute_script(script)
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    wait_for(
        lambda: browser.execute_script("return !!document.querySelector('#vg-tooltip-element.visible')"), "the tooltip"
    )
    assert browser.execute_script("return document.querySelectorAll('img, i > *, body i:not(:empty)').length") == 0
    assert browser.title == HOSTILE
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
