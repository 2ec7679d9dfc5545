"""The first lines of a report: a few figures with a word on each, read off its sections."""

from __future__ import annotations

from typing import Any


def findings(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Return label, value and note of what a reader should see first.

    Parameters
    ----------
    summary : dict
        The sections; those that are absent say nothing.

    Examples
    --------
    >>> findings({"read": {"n_rows": 1200, "n_columns": 3, "n_design_columns": 17, "columns": []}})[0]
    {'label': 'rows read', 'value': '1,200', 'note': '3 columns, 17 design columns'}
    """
    out: list[dict[str, str]] = []
    for name, of_section in (
        ("read", _read),
        ("objects", _objects),
        ("scree", _scree),
        ("ranking", _ranking),
        ("dependence", _dependence),
        ("classes", _classes),
        ("anomalies", _anomalies),
    ):
        if name in summary:
            out += of_section(summary[name])
    return out


def _line(label: str, value: str, note: str) -> list[dict[str, str]]:
    return [{"label": label, "value": value, "note": note}]


def _read(read: dict[str, Any]) -> list[dict[str, str]]:
    if read["n_rows"] is None:
        return [] if not read["columns"] else _line("columns", f"{read['n_columns']:,}", "known from the models alone")
    width = read["n_design_columns"]
    left_out = f"; {read['rows_left_out']:,} more without a target left out" if read.get("rows_left_out") else ""
    note = f"{read['n_columns']:,} columns, {width:,} design columns{left_out}"
    out = _line("rows read", f"{read['n_rows']:,}", note)
    aside = read.get("identifiers")
    if aside:
        first, more = aside[0], len(aside) - 1
        note = f"{first['column']}: {first['levels']:,} levels; at least half as many levels as rows"
        out += _line(
            "columns set aside as identifiers", f"{len(aside):,}", note + (f"; and {more} more" if more else "")
        )
    swans = read.get("black_swans")
    if swans and swans["rows"]:
        first = swans["columns"][0]
        where = f"of {swans['of']:,}: {first['column']}={first['values'][0]['value']} and others"
        where = where if sum(c["n_values"] for c in swans["columns"]) > 1 else where.removesuffix(" and others")
        out += _line("rows with values never seen", f"{swans['rows']:,}", where)
    return out


def _objects(objects: dict[str, Any]) -> list[dict[str, str]]:
    place = f"placed by {objects['model']} in {objects['n_components']} coordinates"
    out = _line("objects", f"{objects['n_objects']:,}", place.replace("1 coordinates", "1 coordinate"))
    if objects["stress"] is not None:
        out += _line("stress", f"{objects['stress']:.3f}", "0: the map keeps every distance")
    if objects["held_out"] is not None:
        chance = objects["confusion"]["largest_class"]
        out += _line(
            "objects recognised", f"{objects['held_out']:.0%}", f"held out; the largest class alone {chance:.0%}"
        )
    apart = objects["distances"]
    if apart and apart["within"] and apart["between"]:
        note = f"mean distance {apart['between']:.3g} between classes, {apart['within']:.3g} within"
        out += _line("classes apart", f"{apart['between'] / apart['within']:.2g}x", note)
    return out


def _scree(scree: dict[str, Any]) -> list[dict[str, str]]:
    chosen = {entry["rule"]: entry["k"] for entry in scree["chosen"]}
    if "parallel" not in chosen:
        return []
    k = chosen["parallel"]
    held = f", {scree['components'][k - 1]['cumulative']:.0%} of the variance" if k <= len(scree["components"]) else ""
    return _line("components above the noise", f"{k:,}", f"of {scree['n_components']:,}{held}")


def _ranking(ranking: dict[str, Any]) -> list[dict[str, str]]:
    if not ranking["columns"] or not ranking["columns"][0]["beyond_chance"]:
        return []
    first = ranking["columns"][0]
    note = f"{first['measure']} {first['association']:.2f} with {ranking['target']}"
    return _line("strongest column", first["column"], note)


def _dependence(facts: dict[str, Any]) -> list[dict[str, str]]:
    held_out = facts["r2_cv"] is not None
    r2 = facts["r2_cv"] if held_out else facts["r2"]
    if r2 is None:
        return []
    note = f"of {facts['target']}, {'held out' if held_out else 'in sample'}; p {p_words(facts['p_value'])}"
    return _line("R² of the features", f"{r2:.3f}", note)


def _classes(facts: dict[str, Any]) -> list[dict[str, str]]:
    confusion = facts["confusion"]
    if confusion is None or confusion["balanced_accuracy"] is None:
        return []
    if confusion["auc"] is not None:
        return _line("AUC of Fisher's axis", f"{confusion['auc']:.3f}", f"{facts['target']}, on {confusion['words']}")
    note = f"mean over {len(facts['classes'])} classes; by chance {1 / len(facts['classes']):.0%}"
    return _line("rows of a class recognised", f"{confusion['balanced_accuracy']:.0%}", note)


def _anomalies(facts: dict[str, Any]) -> list[dict[str, str]]:
    if facts["above"] is None or not facts["of"]:
        return []
    return _line(
        "odd rows", f"{facts['above']:,}", f"{facts['above'] / facts['of']:.1%} of {facts['of']:,} rows judged"
    )


def p_words(p: float | None) -> str:
    """Return a p-value as people write it.

    Examples
    --------
    >>> p_words(0.0), p_words(0.03214), p_words(2e-9), p_words(None)
    ('< 1e-300', '= 0.032', '= 2e-09', 'unknown')
    """
    if p is None:
        return "unknown"
    if p < 1e-300:
        return "< 1e-300"
    return f"= {p:.2g}"
