"""`rank_columns`: every criterion of every column, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gramian.engines.collect import collect, library_of
from gramian.errors import DataError
from gramian.estimators.spine.inputs import refuse_repeated
from gramian.estimators.spine.training import named_targets, refuse_dates, require_columns
from gramian.linear.regression.targets import is_class, refuse_identifier
from gramian.moments.advice import identifiers, near_zero, only_identifiers, say_set_aside
from gramian.moments.value import Moments
from gramian.selection.ranking import asked_criteria, criteria_table
from gramian.tables import open_table
from gramian.tables.base import typed
from gramian.tables.returned import table as output_table


def rank_columns(
    source_or_moments: Any,
    target: str | Sequence[str],
    methods: str | Sequence[str] | None = None,
    *,
    target_missing: str | None = None,
) -> Any:
    """Return a table of how each column goes with the target, by every criterion, one row per source column.

    The columns of strongest evidence come first. A pass over the source is made, none over moments.

    Parameters
    ----------
    source_or_moments : Moments, or any source of `collect`
    target : str or sequence of str
        Column or columns that the others are ranked for.
    methods : str or sequence of str, optional
        Some of `"variance"`, `"pearson"`, `"mutual-information"`, `"independence"`, `"redundancy"`, `"mrmr"`, `"forward"`,
        `"lasso"`, `"rfe"`; by default all but the last, whose cost grows with the cube of the columns.
    target_missing : {"drop", "raise"}, optional
        As in `collect`: rows of a source in which a target is missing are left out (the default), or refused. Moments are
        refused either way: their rows cannot be told apart.

    Returns
    -------
    table
        Of the library that the data came from (or that scikit-learn's `transform_output` names). `column`, `kind`;
        `variance` (Gini-Simpson for a category); `correlation` (r with its sign, correlation ratio or Cramer's V, as
        `measure` says) and the same `beyond_chance`; `information` in nats beyond chance; `p_value` of independence and
        `q_value`, adjusted for the false discovery rate; `redundancy`, how far a stronger column explains it, and which:
        `explained_by`; and the order of entry in `mrmr`, `forward` (while columns improve the expected prediction) and
        `lasso`, null beyond the first 50. Identifiers (`docs/identifiers.md`) are measured one by one, and have no place
        among the others: these last columns are null for them. `forward` and `lasso` compare at most 9,000 levels: the
        widest columns beyond that are null there, and a line in the log names them.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [f"i{k}" for k in range(60)], "color": ["red", "red", "blue"] * 20,
    ...                       "size": [1.0, 2.0, 3.0] * 20, "sold": ["yes", "no", "no"] * 20})
    >>> gm.rank_columns(frame, "sold")[["column", "measure", "beyond_chance"]].round(3)
      column measure  beyond_chance
    0   size     eta          0.864
    1  color       V          0.487
    2     id       V          0.000
    """
    if target is None:
        raise DataError("rank_columns needs a target: the name of a column, or several names")
    names = [target] if isinstance(target, str) or not isinstance(target, Iterable) else list(target)
    no_names = DataError(
        f"target is the name of a column, or several names; got {len(names)} values of type {type(target).__name__}"
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise no_names
    asked = asked_criteria(methods)
    if isinstance(source_or_moments, Moments):
        moments = source_or_moments
    else:
        table = typed(open_table(source_or_moments))
        if len(names) > len(table.schema):
            # Labels of rows, not names.
            raise no_names
        require_columns(names, table)
        refuse_repeated(names)
        refuse_dates(names, table)
        moments = collect(table, targets=names, target_missing=target_missing)
        moments = moments.from_library(library_of(source_or_moments))
    if len(names) > len(moments.schema):
        raise no_names
    targets = named_targets(tuple(names), moments.schema)
    for name in targets:
        if is_class(moments, name, "auto"):
            refuse_identifier(moments, name)
    features = moments.schema.features_beside(targets)
    if not features:
        raise DataError("no feature columns are left beside the target")
    aside = identifiers(moments, features)
    if len(aside) == len(features):
        raise only_identifiers(aside, moments.n_rows)
    say_set_aside(moments, aside)
    criteria = criteria_table(near_zero(moments, targets), features, targets, asked, aside)
    return output_table(criteria, library=moments.library)
