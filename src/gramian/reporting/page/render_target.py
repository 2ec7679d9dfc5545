"""The sections on the target: which columns go with it, how much they tell, how well its classes are separated."""

from __future__ import annotations

from typing import Any

from gramian.reporting.page.formatting import bar, chart, count, figure, legend, note, p_value, share, table
from gramian.reporting.page.markup import Html, join, tag

RANKED_SHOWN = 25

LAW = {
    "exact": "through their exact mean, variance and skewness",
    "estimated": "through their mean, and estimates of their variance and skewness",
    "chi-squared": "as if they followed a chi-squared distribution: the moments of these numbers are not known",
}


def ranking(found: dict[str, Any]) -> Html:
    """Return the section on columns ranked by association with the target."""
    rows = found["columns"]
    most = max([row["association"] or 0 for row in rows], default=1.0) or 1.0
    words = (
        f"How strongly each column goes with {found['target']}, from 0 to 1, less what chance alone would show. The test is of "
        "independence (Strasser and Weber), computed from the moments; nothing is assumed of the distributions."
    )
    head = ["column", "association", "measure", "uncorrected", "statistic", "df", "p-value"]
    body = [
        [
            row["column"],
            [bar(row["beyond_chance"], most), tag("span", figure(row["beyond_chance"], 3))],
            row["measure"],
            figure(row["association"], 3),
            figure(row["statistic"]),
            count(row["df"]),
            p_value(row["p_value"]),
        ]
        for row in rows
    ]
    caption = f"Columns by association with {found['target']}"
    parts: list[Any] = [
        note(words),
        table(head, body[:RANKED_SHOWN], caption=caption, numeric=(3, 4, 5, 6), class_="ranked"),
    ]
    if len(body) > RANKED_SHOWN:
        rest = table(head, body[RANKED_SHOWN:], caption=f"{caption}, the others", numeric=(3, 4, 5, 6))
        parts.append(tag("details", tag("summary", f"{len(body) - RANKED_SHOWN} more columns"), rest))
    if found["left_out"]:
        parts.append(note(f"{count(found['left_out'])} further columns were not tested."))
    return join(parts)


def dependence(found: dict[str, Any]) -> Html:
    """Return the section on the Mahalanobis statistic."""
    words = (
        f"All columns together, tested against {found['target']}: n R² of the regression on the features, at its maximum. "
        f"The p-value compares it with all pairings of features and targets, {LAW[found['moments']]}."
    )
    pairs: list[tuple[str, str]] = [
        ("statistic", figure(found["statistic"], 6)),
        ("degrees of freedom", count(found["df"])),
        ("p-value", p_value(found["p_value"])),
        ("R², in sample", figure(found["r2"])),
    ]
    if found["r2_cv"] is not None:
        pairs.append(("R², held out", figure(found["r2_cv"])))
    pairs.append(("ridge, in rows", figure(found["ridge"])))
    parts: list[Any] = [note(words), _pairs(pairs)]
    boxes: list[Any] = []
    if found["components"]:
        head = ["component", "R²", "statistic", "df", "p-value"]
        rows = [
            [
                row["feature"] or f"direction {row['k']}",
                figure(row["r2"]),
                figure(row["statistic"]),
                count(row["df"]),
                p_value(row["p_value"]),
            ]
            for row in found["components"]
        ]
        caption = "Each component: the test that it and all later ones are nothing"
        boxes.append(tag("div", tag("h3", "Components"), table(head, rows, caption=caption, numeric=(1, 2, 3, 4))))
    if found["ridge_curve"]:
        caption = "What the ridge was chosen by. A level of n rows shrinks by n / (n + ridge)."
        boxes.append(chart("ridge", "Score by the ridge", caption, height=200))
    return join([*parts, tag("div", boxes, class_="pair")])


def _pairs(pairs: list[tuple[str, str]]) -> Html:
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_="figures")


def classes(found: dict[str, Any]) -> Html:
    """Return the section on Fisher's axes."""
    rows = [
        [axis["name"], figure(axis["criterion"]), share(axis["share"]), share(axis["between"])]
        for axis in found["axes"]
    ]
    head = ["axis", "Fisher's criterion J", "of all separation", "between classes"]
    caption = "Fisher's criterion of each axis"
    words = (
        f"Axes on which the classes of {found['target']} lie furthest apart compared with their own spread. J is the "
        "squared gap of class means over the sum of squares within; the last column is the share of the axis's variance "
        "that lies between classes."
    )
    parts: list[Any] = [note(words), table(head, rows, caption=caption, numeric=(1, 2, 3))]
    boxes: list[Any] = []
    if found["spread"]:
        names = [entry["name"] for entry in found["spread"]["classes"]]
        place = chart("spread", f"How the classes are spread over {found['spread']['axis']}", None)
        named = legend([f"{found['target']} = {name}" for name in names])
        boxes.append(tag("div", tag("h3", "Along the first axis"), named, place))
    if found["confusion"]:
        boxes.append(tag("div", tag("h3", "Who is taken for whom"), _confusion(found["confusion"])))
    return join([*parts, tag("div", boxes, class_="pair")])


def _confusion(found: dict[str, Any]) -> Html:
    labels = found["labels"]
    body = []
    for label, row in zip(labels, found["counts"], strict=True):
        total = max(sum(row), 1)
        cells = [_cell(n, n / total, hit=labels[k] == label) for k, n in enumerate(row)]
        body.append(tag("tr", tag("th", label, scope="row"), cells))
    head = [tag("th", label, scope="col", class_="n") for label in labels]
    corner = tag("td", tag("span", "is", class_="muted"), " / ", tag("span", "taken for", class_="muted"))
    inner = tag(
        "table",
        tag("caption", "Confusion: rows are what is, columns what was predicted"),
        tag("thead", tag("tr", corner, head)),
        tag("tbody", body),
        class_="confusion",
    )
    said = (
        f"On {found['words']}: {share(found['accuracy'])} right, where always saying the largest class gives "
        f"{share(found['largest_class'])}; {share(found['balanced_accuracy'])} of a class on average."
    )
    if found["auc"] is not None:
        said += f" Area under the ROC {found['auc']:.3f}."
    said += " Rows of the fit itself flatter these figures."
    more = f" {count(found['left_out'])} smaller classes are not shown." if found["left_out"] else ""
    box = tag("div", inner, class_="scroll", role="region", aria_label="Confusion matrix", tabindex="0")
    return join([box, note(said + more)])


def _cell(n: int, part: float, *, hit: bool) -> Html:
    tone = "--hit" if hit else "--miss"
    return tag("td", count(n), tag("small", share(part, 0)), class_="n", style=f"--part:{part:.3f};--tone:var({tone})")
