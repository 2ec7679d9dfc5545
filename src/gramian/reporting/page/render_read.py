"""The sections on what was read, and on how to make the report again."""

from __future__ import annotations

from typing import Any

from gramian.reporting.page.formatting import bar, count, figure, note, share, table
from gramian.reporting.page.markup import Html, join, tag

COLUMNS_SHOWN = 40
SPARK_WIDTH, SPARK_HEIGHT = 96, 22


def read(found: dict[str, Any]) -> Html:
    """Return the section on rows and columns."""
    head = ["column", "kind", "levels", "missing", "spread", "typical"]
    rows = [_row(column) for column in found["columns"]]
    caption = "Columns: kind, number of levels, share missing, spread and typical value"
    parts: list[Any] = [_words(found), _swans(found)]
    parts.append(table(head, rows[:COLUMNS_SHOWN], caption=caption, numeric=(2, 3), class_="columns"))
    if len(rows) > COLUMNS_SHOWN:
        rest = table(head, rows[COLUMNS_SHOWN:], caption=f"{caption}: the others", numeric=(2, 3), class_="columns")
        parts.append(tag("details", tag("summary", f"{len(rows) - COLUMNS_SHOWN} more columns"), rest))
    if found["n_columns"] > len(rows):
        parts.append(note(f"{count(found['n_columns'] - len(rows))} further columns are not listed."))
    return join(parts)


def _words(found: dict[str, Any]) -> Html:
    if found["n_rows"] is None:
        return note("Known from the models alone: a model file keeps the levels it saw, not the moments.")
    parts = [f"{count(found['n_rows'])} rows"]
    if found["total_weight"] is not None:
        parts.append(f"weight {figure(found['total_weight'], 6)}")
    parts.append(f"{found['n_columns']} columns, which make {count(found['n_design_columns'])} design columns")
    if found["n_folds"]:
        parts.append(f"{found['n_folds']} folds")
    parts.append(f"{_bytes(found['nbytes'])} of moments")
    if found["collect_seconds"] is not None:
        parts.append(f"collected in {found['collect_seconds']:.2f} s")
    words = ", ".join(parts) + "."
    if found["of_sample"]:
        words = "Moments of the rows looked at: " + words
    if found["sampled"] is not None:
        words += f" Rows looked at one by one: {found['sampled']['words']}."
    return note(words)


def _bytes(n: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n < 1000 or unit == "MB":
            return f"{n:,.0f} {unit}" if unit != "MB" or n >= 10 else f"{n:.1f} MB"
        n /= 1000  # type: ignore[assignment]
    raise AssertionError


def _swans(found: dict[str, Any]) -> Html | None:
    swans = found["black_swans"]
    if not swans or not swans["rows"]:
        return None
    said = []
    for column in swans["columns"]:
        values = ", ".join(f"{value['value']} ({count(value['rows'])})" for value in column["values"])
        more = column["n_values"] - len(column["values"])
        said.append(tag("li", tag("b", column["column"]), f": {values}" + (f" and {more:,} more" if more else "")))
    words = f"{count(swans['rows'])} of the {count(swans['of'])} rows looked at hold values never seen before:"
    return tag("div", tag("p", words), tag("ul", said), class_="callout", role="note")


def _row(column: dict[str, Any]) -> list[Any]:
    name = [column["name"], tag("span", "target", class_="badge") if column["role"] == "target" else None]
    if column["kind"] == "categorical":
        top = column["top"]
        typical = "no levels" if top is None else f"{top['level']} ({share(top['share'])})"
        spread = _bars(
            [entry["share"] for entry in column["shares"]], f"shares of the first levels of {column['name']}"
        )
    else:
        typical = "–" if column["mean"] is None else f"mean {figure(column['mean'])}"
        typical += "" if column["std"] is None else f" ± {figure(column['std'], 3)}"
        bins = column["histogram"]
        spread = None if bins is None else _bars(bins["counts"], f"histogram of {column['name']}")
    gap = column["missing"]
    missing = "" if not gap else [bar(gap, tone="warm"), tag("span", share(gap))]
    return [name, column["kind"], "" if column["levels"] is None else count(column["levels"]), missing, spread, typical]


def _bars(values: list[float], label: str) -> Html | None:
    """Return a small bar chart; it is decoration beside the figures of its row."""
    if not values or max(values) <= 0:
        return None
    most, step = max(values), SPARK_WIDTH / max(len(values), 8)
    bars = []
    for k, value in enumerate(values):
        height = max(1.0, SPARK_HEIGHT * value / most)
        place = {"x": f"{k * step:.1f}", "y": f"{SPARK_HEIGHT - height:.1f}", "width": f"{step - 1:.1f}"}
        bars.append(tag("rect", **place, height=f"{height:.1f}"))
    box = f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}"
    return tag(
        "svg", bars, class_="spark", viewBox=box, width=SPARK_WIDTH, height=SPARK_HEIGHT, role="img", aria_label=label
    )


def reproduce(found: dict[str, Any]) -> Html:
    """Return the section on how the report was made."""
    parts: list[Any] = []
    if found["command"]:
        parts += [tag("h3", "Command"), tag("pre", tag("code", found["command"]), tabindex="0")]
    if found["models"]:
        calls = []
        for model in found["models"]:
            why = "   # fitted for this report, from the same moments" if model["fitted_for_report"] else ""
            why += ", rare levels pooled" if model["pooled"] else ""
            calls.append(model["call"] + why)
        parts += [
            tag("h3", "Models"),
            tag("pre", tag("code", "\n".join(["import gramian as gm", "", *calls])), tabindex="0"),
        ]
        for model in found["models"]:
            rows = [[name, tag("code", value)] for name, value in model["parameters"].items()]
            inner = table(["parameter", "value"], rows, caption=f"All parameters of {model['class']}")
            parts.append(tag("details", tag("summary", f"All parameters of {model['class']}"), inner))
    versions = ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    parts.append(note(f"Made {found['made']} in {found['seconds']:.2f} s with {versions}."))
    return join(parts)


def absent(found: dict[str, str], headings: dict[str, str]) -> Html:
    """Return the list of what the report could not say, and what would let it."""
    items = [tag("li", tag("b", headings.get(name, name)), f": {reason}") for name, reason in found.items()]
    return tag("ul", items, class_="plain")
