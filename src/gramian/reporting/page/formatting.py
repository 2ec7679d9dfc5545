"""Figures and small pieces of a page, as people read them."""

from __future__ import annotations

from typing import Any

from gramian.reporting.page.markup import Html, join, tag
from gramian.reporting.sections.findings import p_words


def count(value: float | None) -> str:
    """Return a whole number with separators, a dash where there is none."""
    return "–" if value is None else f"{value:,.0f}"


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number of a few digits.

    Examples
    --------
    >>> figure(1948.2), figure(0.00012349), figure(12.0), figure(None)
    ('1,948', '0.0001235', '12', '–')
    """
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def share(value: float | None, digits: int = 1) -> str:
    """Return a share in per cent."""
    return "–" if value is None else f"{value:.{digits}%}"


def p_value(value: float | None) -> str:
    """Return a p-value without the sign of equality."""
    return p_words(value).removeprefix("= ")


def bar(value: float | None, most: float = 1.0, *, tone: str = "accent") -> Html:
    """Return a horizontal bar as long as `value` is of `most`; the figure beside it says the same to those who listen."""
    width = 0.0 if value is None or most <= 0 else max(0.0, min(1.0, value / most))
    inner = tag("i", style=f"width:{100 * width:.1f}%", class_=tone)
    return tag("span", inner, class_="bar", aria_hidden="true")


def table(
    head: list[Any], rows: list[list[Any]], *, caption: str, numeric: tuple[int, ...] = (), **attributes: Any
) -> Html:
    """Return a table with a caption for those who listen, in a box that scrolls by itself where it is too wide.

    Parameters
    ----------
    head : list
        One cell a column.
    rows : list of lists
        The first cell of a row is its heading.
    caption : str
    numeric : tuple of int
        Columns of figures.
    """
    cells = [tag("th", cell, scope="col", class_="n" if k in numeric else None) for k, cell in enumerate(head)]
    body = []
    for row in rows:
        first = tag("th", row[0], scope="row")
        rest = [tag("td", cell, class_="n" if k in numeric else None) for k, cell in enumerate(row[1:], 1)]
        body.append(tag("tr", first, rest))
    inner = tag("table", tag("caption", caption), tag("thead", tag("tr", cells)), tag("tbody", body), **attributes)
    return tag("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")


def chart(name: str, label: str, caption: Any = None, *, height: int = 240) -> Html:
    """Return the place of a chart, which the page draws."""
    place = tag("div", class_="chart", data_chart=name, aria_label=label, style=f"min-height:{height}px")
    return tag("figure", place, tag("figcaption", caption) if caption else None)


def legend(names: list[str]) -> Html:
    """Return a legend of classes in the order of their colours."""
    items = [
        tag("li", tag("i", style=f"background:var(--c{k % 10})", aria_hidden="true"), name)
        for k, name in enumerate(names)
    ]
    return tag("ul", items, class_="legend", aria_label="classes")


def note(*children: Any) -> Html:
    """Return a paragraph of explanation."""
    return tag("p", join(children), class_="note")
