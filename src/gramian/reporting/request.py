"""What a report is about: moments, fitted models, a target and rows, sorted out of what was passed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian.design.kinds import date_of_part, is_date, names_of, types_of
from gramian.engines.base import Names
from gramian.engines.collect import collect
from gramian.errors import Argument, Call, DataError, unknown_column
from gramian.estimators.hidden_readout import HiddenReadout
from gramian.estimators.reservoirs.sequence_features import SequenceTransformer
from gramian.estimators.spine.distance_estimator import DistanceTransformer
from gramian.estimators.spine.inputs import is_array_like, is_path
from gramian.estimators.spine.outputs import outputs_of
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import filled, typed, without

FOLDS = 5
"""Of the pass over a source, so that what the columns tell together is judged on left-out rows."""

VIEWS = (None, "tsne", "umap")
"""Neighbour maps that can be asked for."""


@dataclass(frozen=True, eq=False)
class Request:
    """What there is to report on.

    Attributes
    ----------
    moments : Moments or None
        Those passed, those of the first model that keeps some, or those of the source that was passed.
    models : tuple of estimators
        Fitted, in the order given.
    target : str or None
    data : source or None
        Where rows can be read from.
    name : str or None
        Of the file or files that are reported on.
    view, title, command, max_rows, image_shape
        As they were passed to `report`.
    collect_seconds : float or None
        How long the pass took, where it was made for the report.
    keep : tuple of str
        Columns that name a row: shown beside it, no features.
    since, since_name : Moments or None, str
        Earlier moments that these are compared with, and their file.
    sequences : list of arrays, 3-d array or None
        What a reservoir is shown: no rows of a table.
    """

    moments: Moments | None
    models: tuple[Any, ...]
    target: str | None
    data: Any
    name: str | None
    collect_seconds: float | None = None
    view: str | None = None
    title: str | None = None
    command: str | None = None
    max_rows: int = 2000
    image_shape: tuple[int, int] | None = None
    sequences: Any = None
    keep: tuple[str, ...] = ()
    since: Moments | None = None
    since_name: str = "the moments before"


def request_of(
    obj: Any,
    data: Any = None,
    target: str | None = None,
    *,
    missing: str = "raise",
    keep: Names = None,
    **chosen: Names,
) -> Request:
    """Return what `report` was asked to report on.

    Parameters
    ----------
    obj : estimator, Moments, source of rows, or list of estimators and Moments
    data : source of rows, optional
        By default `obj` itself where it is one that can be read twice.
    target : str, optional
        By default the target of the first model that has one, or the only column collected as one.
    missing : {"raise", "fill"}
    keep : names, optional
    **chosen : names, optional
        `exclude`, `categorical` and `numeric`, for the pass over a source.
    """
    beside = tuple(names_of(keep, called="keep") or ())
    if target is not None and not isinstance(target, str):
        raise DataError(f"target is the name of a column; got {type(target).__name__}")
    parts = _parts(obj)
    if not parts:
        named = {role: names_of(chosen.get(role), called=role) for role in ("exclude", "categorical", "numeric")}
        return _collected(obj, data, target, named, missing, beside)
    for role, given in chosen.items():
        if given:
            raise DataError(
                Argument(role, given),
                " is for a report on data; moments and models have chosen their columns: leave it out",
            )
    moments = [part for part in parts if isinstance(part, Moments)]
    models = tuple(part for part in parts if not isinstance(part, Moments))
    if len(moments) > 1:
        raise DataError(f"a report is about one set of moments; got {len(moments)}: ", Call("merge"), " them first")
    for model in models:
        check_is_fitted(model)
        if isinstance(model, DistanceTransformer):
            _refuse_objects(model, data)
    kept = [model.moments_ for model in models if "moments_" in vars(model) and _of_rows(model)]
    shown = next(iter([*moments, *kept]), None)
    sequences = data if _are_sequences(data, models) else None
    data = None if sequences is not None else data
    if missing == "fill" and data is not None:
        needed = [name for model in models for name in outputs_of(model).columns or ()]
        data = filled(open_table(data, missing=missing), needed)
    columns, name = _described(data)
    chosen_target = target if target is not None else _target_of(models, shown)
    _refuse_unknown(beside, columns, name)
    checked = _checked_target(chosen_target, shown, columns)
    return Request(shown, models, checked, data, name, sequences=sequences, keep=beside)


def _are_sequences(data: Any, models: Sequence[Any]) -> bool:
    """Whether the rows of a report are the sequences of a reservoir: a list of them, or a 3-d array."""
    if not any(isinstance(model, SequenceTransformer) for model in models):
        return False
    return np.ndim(data[0]) >= 1 if isinstance(data, list) and data else getattr(data, "ndim", 0) == 3


def _of_rows(model: Any) -> bool:
    """Whether the moments a model keeps are of the columns it reads, and not of what it makes of them."""
    if isinstance(model, HiddenReadout):
        return False
    return set(model.design_.origins) <= {column.origin for column in model.moments_.schema}


def _parts(obj: Any) -> list[Any]:
    """Return the moments and models among what was passed, nothing where it is a source of rows."""
    given = list(obj) if isinstance(obj, list | tuple) else [obj]
    known = [part for part in given if isinstance(part, Moments | BaseEstimator)]
    if known and len(known) < len(given):
        wrong = next(part for part in given if not isinstance(part, Moments | BaseEstimator))
        raise DataError(
            f"a list of Moments and models cannot hold a {type(wrong).__name__}; pass rows as ", Argument("data")
        )
    return known


def _refuse_unknown(kept: Sequence[str], columns: Sequence[str], where: str | None) -> None:
    for name in kept:
        if name not in columns:
            raise unknown_column(name, columns, where=where or "the rows")


def _collected(
    source: Any, data: Any, target: str | None, chosen: Mapping[str, Any], missing: str, keep: tuple[str, ...]
) -> Request:
    table = open_table(source, numeric=chosen["numeric"], categorical=chosen["categorical"], missing=missing)
    if chosen["exclude"]:
        known = typed(table)
        for name in chosen["exclude"]:
            if name not in known.schema.names:
                raise unknown_column(name, known.schema.names, where=table.describe)
        # Left out of the rows that are shown, too.
        table = without(known, chosen["exclude"])
    _refuse_unknown(keep, typed(table).schema.names, table.describe)
    start = time.perf_counter()
    aims = [target] if target is not None and _is_column(target, table) else None
    aside = list(keep) or None
    moments = collect(
        table, exclude=aside, categorical=chosen["categorical"], numeric=chosen["numeric"], targets=aims, folds=FOLDS
    )
    seconds = time.perf_counter() - start
    rows = (
        data if data is not None or table.one_shot else table if any(chosen.values()) or missing == "fill" else source
    )
    columns, _ = _described(rows)
    name = table.describe if is_path(source) else None
    return Request(moments, (), _checked_target(target, moments, columns), rows, name, seconds, keep=keep)


def _is_column(target: str, table: ArrowTable | ArrayTable) -> bool:
    """Whether a target is a column of a table or a part of a date; other names are refused where they are looked up."""
    types = types_of(typed(table).schema)
    return date_of_part(target, types) is not None or (target in types and not is_date(types[target]))


def _described(data: Any) -> tuple[list[str], str | None]:
    """Return the columns of some rows, and what their files are called."""
    if data is None:
        return [], None
    table = open_table(data)
    if table.one_shot:
        raise DataError(
            f"{table.describe} can be read only once; pass a file, a table or a list of batches as ", Argument("data")
        )
    names = table.names if isinstance(table, ArrayTable) else table.schema.names
    return list(names), table.describe if is_path(data) else None


def _refuse_objects(model: DistanceTransformer, data: Any) -> None:
    """Raise where rows of a report are the objects or distances of a model, which are no table."""
    if not isinstance(data, list | tuple) and (data is None or is_path(data)):
        return
    objects = is_path(data) and not any(Path(part).exists() for part in data)
    if objects or (model.metric == "precomputed" and is_array_like(data) and not is_path(data)):
        what = "objects" if objects else "a matrix of distances"
        raise DataError(
            Argument("data"),
            f" is a table that describes the objects, one row each; got {what}: leave ",
            Argument("data"),
            " out, or pass such a table",
        )


def _target_of(models: Sequence[Any], moments: Moments | None) -> str | None:
    for model in models:
        named = outputs_of(model).targets
        if named:
            return named[0]
    if moments is not None and len(moments.targets) == 1:
        return moments.targets[0]
    return None


def _checked_target(target: str | None, moments: Moments | None, data_columns: Sequence[str]) -> str | None:
    if target is None or moments is None or target in moments.schema:
        return target
    parts = [column.name for column in moments.schema if column.origin == target]
    if parts:
        raise DataError(f"target {target!r} is a date or time; name one of its parts: {', '.join(map(repr, parts))}")
    return target if target in data_columns else moments.schema.resolve(target)[0]
