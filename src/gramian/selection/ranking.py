"""All criteria side by side: one row per source column.

Filters score every column. Greedy and penalised methods are run until `LEADING` columns are in, since ranks beyond that say
little and cost the most; for other columns they have no rank.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, shown
from gramian.moments.value import Moments
from gramian.selection.filters.information import Information, information_with_target
from gramian.selection.filters.mrmr import as_correlation, most_relevant
from gramian.selection.filters.redundancy import redundancy
from gramian.selection.filters.univariate import adjusted, correlations, tests, variances
from gramian.selection.lasso.path import LassoProblem, alpha_grid, entry_order
from gramian.selection.problem import Problem, best_part, least_p_value, places, problem_of
from gramian.selection.stepwise.backward import backward
from gramian.selection.stepwise.forward import forward

_LOG = logging.getLogger("gramian")

LEADING = 50
"""Columns that greedy and penalised methods rank."""

Criterion = Callable[[Problem], dict[str, Any]]


def _variance(problem: Problem) -> dict[str, Any]:
    values = variances(problem.moments, problem.columns)
    return {"variance": values[best_part(problem.owner, values)]}


def _pearson(problem: Problem) -> dict[str, Any]:
    correlation = correlations(problem)
    best = best_part(problem.owner, np.abs(correlation.beyond_chance))
    return {
        "correlation": correlation.plain[best],
        "beyond_chance": correlation.beyond_chance[best],
        "measure": [correlation.measures[j] for j in best],
    }


def _information(problem: Problem) -> dict[str, Any]:
    information = information_with_target(problem)
    return {"information": information[best_part(problem.owner, information)]}


def _independence(problem: Problem) -> dict[str, Any]:
    p_values = least_p_value(problem.owner, tests(problem).p_values)
    return {"p_value": p_values, "q_value": adjusted(p_values, "fdr")}


def _redundancy(problem: Problem) -> dict[str, Any]:
    order = np.argsort(places(np.abs(correlations(problem).beyond_chance)), kind="stable")
    result = redundancy(problem.moments, problem.columns, order.tolist(), threshold=np.inf)
    best = best_part(problem.owner, -result.explained)
    sources = [problem.moments.schema[name].origin for name in problem.columns]
    by = [None if result.by[j] < 0 else sources[result.by[j]] for j in best]
    return {"redundancy": result.explained[best], "explained_by": by}


def _mrmr(problem: Problem) -> dict[str, Any]:
    relevance = as_correlation(information_with_target(problem, "held-out"))
    information = Information(problem.moments, problem.columns, "held-out")
    picked = most_relevant(
        relevance, lambda j: as_correlation(information.row(j)), LEADING, n=problem.n, same=problem.owner
    )
    return {"mrmr": ranks(problem.owner[picked.order], len(problem.sources))}


def _forward(problem: Problem) -> dict[str, Any]:
    path = forward(problem, steps=LEADING, while_useful=True, with_tests=False)
    return {"forward": ranks(path.order, len(problem.sources))}


def _elimination(problem: Problem) -> dict[str, Any]:
    return {"rfe": ranks(backward(problem, with_tests=False).order[::-1], len(problem.sources))}


def _lasso(problem: Problem) -> dict[str, Any]:
    lasso = LassoProblem.of(problem, scale=True)
    # Once every column that varies is in, the path goes on without saying more about who came first.
    order = entry_order(lasso, alpha_grid(lasso, 1.0), most=min(LEADING, int((lasso.bound > 0).sum())))
    return {"lasso": ranks(order, len(problem.sources))}


CRITERIA: dict[str, Criterion] = {
    "variance": _variance,
    "pearson": _pearson,
    "mutual-information": _information,
    "independence": _independence,
    "redundancy": _redundancy,
    "mrmr": _mrmr,
    "forward": _forward,
    "lasso": _lasso,
    "rfe": _elimination,
}
"""By the name of the method; `rfe`, which takes p^3 operations, only where it is asked for."""

USUAL = tuple(name for name in CRITERIA if name != "rfe")

JOINTLY = ("forward", "lasso", "rfe")
"""Criteria that compare all levels of all columns with each other."""

WIDEST = 9_000
"""Levels that these compare, at most: more take longer than a minute and gigabytes."""

OF_ONE_COLUMN = ("variance", "pearson", "mutual-information")
"""Criteria that identifiers have as well. Others compare features, or draw tables of as many rows as there are levels."""


def ranks(order: Sequence[int] | Array, count: int) -> list[int | None]:
    """Return 1 for the first of an order, 2 for the next, None for what is not in it.

    Examples
    --------
    >>> ranks([2, 0], 3)
    [2, None, 1]
    """
    out: list[int | None] = [None] * count
    for place, j in enumerate(order):
        out[int(j)] = place + 1
    return out


def asked_criteria(methods: str | Sequence[str] | None) -> list[str]:
    """Return the criteria that are asked for, by default the usual ones.

    Examples
    --------
    >>> asked_criteria("rfe"), len(asked_criteria(None))
    (['rfe'], 8)
    """
    if methods is None:
        return list(USUAL)
    asked = [methods] if isinstance(methods, str) or not isinstance(methods, Iterable) else list(methods)
    for name in asked:
        if not isinstance(name, str) or name not in CRITERIA:
            raise DataError(f"methods names {shown(name)}; it can name {', '.join(map(repr, CRITERIA))}")
    return asked


def criteria_table(
    moments: Moments,
    columns: Sequence[str],
    targets: Sequence[str],
    methods: Sequence[str] | None = None,
    aside: Collection[str] = (),
) -> dict[str, Any]:
    """Return the columns of a table of criteria, its rows those of the strongest evidence first.

    Parameters
    ----------
    moments : Moments
    columns, targets : sequences of str
    methods : sequence of str, optional
        Names of `CRITERIA`; by default all but `rfe`.
    aside : collection of str
        Those of the columns that are identifiers: they have criteria of one column, and no place among the others.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["r", "r", "b", "b"] * 9, "size": [1.0, 2.0] * 18, "y": [1.0, 1.5, 3.0, 3.5] * 9}))
    >>> criteria_table(m, ["size", "color"], ["y"], ["pearson"])["column"]
    ['color', 'size']
    """
    asked = asked_criteria(methods)
    problem = problem_of(moments, columns, targets)
    kinds = {moments.schema[name].origin: moments.kind(name) for name in columns}
    out: dict[str, Any] = {"column": problem.sources, "kind": [kinds[name] for name in problem.sources]}
    among = [j for j, name in enumerate(problem.sources) if name not in aside]
    fitting = _that_fit(problem, among) if set(JOINTLY) & set(asked) else among
    for name in asked:
        kept = range(len(problem.sources)) if name in OF_ONE_COLUMN else among
        if name in JOINTLY:
            kept = fitting
        if len(kept) == len(problem.sources):
            out |= CRITERIA[name](problem)
            continue
        for key, values in CRITERIA[name](problem.only(kept)).items():
            out[key] = [None] * len(problem.sources)
            for j, value in zip(kept, values, strict=True):
                out[key][j] = value
    order = _order(out)
    return {name: [values[j] for j in order] for name, values in out.items()}


def _that_fit(problem: Problem, sources: Sequence[int]) -> list[int]:
    """Return the source columns without the widest, so that they fit in a matrix; say which are left out."""
    widths = {j: problem.spans[j].stop - problem.spans[j].start for j in sources}
    kept = sorted(widths, key=widths.__getitem__)
    while len(kept) > 1 and sum(widths[j] for j in kept) > WIDEST:
        j = kept.pop()
        _LOG.info(
            f"column {problem.sources[j]!r} has {widths[j]:,} levels and gets no rank by {' and '.join(JOINTLY[:2])}, which "
            f"compare at most {WIDEST:,} levels in all; to include it, pool its rare levels: moments.pool(max_levels=1000)"
        )
    return sorted(kept)


def _order(scores: dict[str, Any]) -> list[int]:
    """Return the rows by p-value, then strength, then whatever rank there is."""
    count = len(scores["column"])
    keys: list[Array] = [np.arange(count)]
    for name in ("rfe", "lasso", "forward", "mrmr"):
        if name in scores:
            keys.append(np.array([count + 1 if rank is None else rank for rank in scores[name]]))
    for name in ("variance", "information", "beyond_chance"):
        if name in scores:
            keys.append(places(np.abs(np.asarray(scores[name], dtype=np.float64))))
    if "p_value" in scores:
        keys.append(places(-np.asarray(scores["p_value"], dtype=np.float64)))
    return [int(j) for j in np.lexsort(keys)]
