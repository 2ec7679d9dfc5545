"""The first lines of the page: five plain sentences, or six with earlier moments.

Each is from the same summary as the tables, and says no more than they do.
"""

from __future__ import annotations

import re
from typing import Any

from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from gramian.reporting.values import share

UNKNOWN = re.compile(
    r"\?|--?|n\.?/?a\.?|none|null|nan|nil|tbd|unknown|not (known|given|available)|missing"
    r"|unbekannt|k\. ?a\.|(keine|ohne) angabe|fehlt|inconnue?|desconocid[oa]|sconosciut[oa]",
    re.IGNORECASE,
)
"""Levels that say that a value is not known."""


def sentences(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Return `about` and `text` of each sentence.

    Parameters
    ----------
    summary : dict
        The sections of a report; of a report on objects or on models alone there is nothing to say.

    Examples
    --------
    >>> read = {"n_rows": 120, "n_columns": 3, "columns": [], "identifiers": [], "sampled": None}
    >>> [line["about"] for line in sentences({"title": "orders.csv", "target": None, "read": read})]
    ['what was read', 'the target', 'missing or suspicious']
    """
    read = summary.get("read")
    if read is None or read["n_rows"] is None or "objects" in summary:
        return []
    out = {
        "what was read": _read(summary),
        "the target": _target(summary),
        "what changed": _changed(summary),
        "odd rows": _odd(summary),
        "missing or suspicious": _suspicious(summary),
        "how sure": _sure(summary),
    }
    return [{"about": about, "text": text} for about, text in out.items() if text]


def _read(summary: dict[str, Any]) -> str:
    read = summary["read"]
    told = f"{read['n_rows']:,} rows and {read['n_columns']:,} columns were read."
    lost = read.get("rows_left_out")
    if lost:
        have, were = ("row has", "was") if lost == 1 else ("rows have", "were")
        told += f" {lost:,} more {have} no {summary['target']} and {were} left out."
    return told


def _target(summary: dict[str, Any]) -> str:
    target, found = summary["target"], summary.get("drivers")
    if target is None:
        return "No target was named, so that no column is compared with one."
    if found is None:
        why = summary.get("absent", {}).get("ranking", "see the end of the page")
        return f"The columns could not be compared with {target}: {why.rstrip('.')}."
    if not found["certain"]:
        return f"Nothing goes with {target} beyond chance: {found['tested']:,} columns were tested."
    many = found["certain"]
    told = f"{many:,} of {found['tested']:,} columns {'goes' if many == 1 else 'go'} with {target} beyond chance"
    if not found["columns"]:
        return f"{told}."
    first = found["columns"][0]
    where = "On rows that were left out" if found["held_out"] else "By itself"
    return (
        f"{told}, most of all {first['called']}: {first['words']}. {where}, {first['called']} explains "
        f"{share(first['share'])} of {target}."
    )


def _changed(summary: dict[str, Any]) -> str:
    facts = summary.get("drift")
    if facts is None:
        return ""
    if not facts["certain"]:
        return f"Nothing changed beyond chance since {facts['since']}: {facts['tested']:,} comparisons were made."
    first = next(change for change in facts["changes"] if change["certain"])
    return (
        f"{facts['certain']:,} of {facts['tested']:,} comparisons with {facts['since']} changed beyond chance, most of all "
        f"{first['column']} ({first['what']}): {first['words']}."
    )


def _odd(summary: dict[str, Any]) -> str:
    facts = summary.get("anomalies")
    if facts is None or not facts["of"] or facts["above"] is None:
        return ""
    if not facts["above"]:
        return f"None of the {facts['of']:,} rows looked at is odd."
    are = "is" if facts["above"] == 1 else "are"
    told = f"{facts['above']:,} of the {facts['of']:,} rows looked at {are} odd"
    told += "; of rows drawn from the fitted model 1 in 100 would be." if facts["of_model"] else "."
    first = facts["rows"][0] if facts["rows"] else None
    if first is not None and first["reasons"]:
        kept = "".join(f", {name} {value}" for name, value in first.get("kept", []))
        told += f" The oddest is row {first['position'] + 1:,}{kept}: {first['reasons'][0]['text']}."
    return told


def _suspicious(summary: dict[str, Any]) -> str:
    read = summary["read"]
    told = []
    gaps = sorted((c for c in read["columns"] if c["missing"]), key=lambda c: -c["missing"])
    if gaps:
        names = ", ".join(f"{c['name']} ({share(c['missing'])})" for c in gaps[:3])
        more = f" and {len(gaps) - 3} more columns" if len(gaps) > 3 else ""
        told.append(f"Values are missing in {names}{more}")
    for column in read["columns"]:
        for level in column.get("shares") or []:
            if UNKNOWN.fullmatch(str(level["level"]).strip()):
                told.append(f"{column['name']} says {level['level']!r} in {share(level['share'])} of the rows")
    if read.get("totals"):
        told.append(read["totals"][:1].upper() + read["totals"][1:].rstrip("."))
    if read["identifiers"]:
        named = read["identifiers"][0]
        more = f", and {len(read['identifiers']) - 1} more columns" if len(read["identifiers"]) > 1 else ""
        told.append(
            f"{named['column']} has {named['levels']:,} different values, as many as an identifier has, and is left out{more}"
        )
    still = [c["name"] for c in read["columns"] if c["levels"] == 1 or c["std"] == 0]
    if still:
        told.append(f"{', '.join(still[:3])} {'has' if len(still) == 1 else 'have'} the same value in every row")
    return ". ".join(told) + "." if told else "No value is missing, and no column looks suspicious."


def _sure(summary: dict[str, Any]) -> str:
    found, read = summary.get("drivers"), summary["read"]
    if found is None or not found["tested"]:
        return ""
    n, tested = float(read["n_rows"]), found["tested"]
    if not found["certain"]:
        part = share(min(_found_from(tested, found["df"]) / n, 1.0))
        told = f"With {n:,.0f} rows, a column that explains less than about {part} of {found['target']} would often be missed"
        return told + "; that nothing was found does not say that there is nothing."
    facts, told, target = summary.get("dependence"), "", found["target"]
    first = found["columns"][0] if found["columns"] and found["held_out"] else None
    if facts is not None and facts["r2_cv"] is not None and first is not None and facts["r2_cv"] < first["share"]:
        told = f"Along straight lines all columns together explain no more of {target} than {first['called']} does. "
    elif facts is not None and facts["r2_cv"] is not None and facts["r2_cv"] < 0.005:
        told = (
            f"Together the columns predict {target} of rows that were left out no better than one figure for all does. "
        )
    elif facts is not None and facts["r2_cv"] is not None:
        told = f"Together the columns explain {share(facts['r2_cv'], 0)} of {target} on rows that were left out. "
    elif facts is not None and facts["r2"] is not None:
        told = f"Together the columns explain {share(facts['r2'], 0)} of {target} on these rows, and less on new ones. "
    told += "A column is named only if chance alone would name one in fewer than 1 in 20 such tables"
    return f"{told}; what goes together need not be a cause."


def _found_from(tested: int, df: float) -> float:
    """Return the n r^2, r^2 the share of the target, from which on one of so many columns is found four times in five.

    Examples
    --------
    >>> round(_found_from(1, 1.0), 2)
    7.85
    """
    needed = chi2.isf(0.05 / tested, df)
    return float(brentq(lambda apart: ncx2.sf(needed, df, apart) - 0.8, 1e-9, 10 * needed + 100))
