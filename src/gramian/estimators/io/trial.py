"""Whether a model read from a file can take a row: it is given one, before anybody relies on it.

A file may leave out an attribute, or hold one of another kind than fitting sets. The parts that loops trust are compared with
each other (`gramian.maps.state`); of the rest it is enough that the methods work on a row, whatever they answer.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from gramian.distances.metrics.gower import MixedMetric
from gramian.errors import FileFormatError, GramianError
from gramian.estimators.base.distance_estimator import DistanceTransformer
from gramian.maps.fitted_design import Design
from gramian.moments.value import Moments

_METHODS = ("transform", "predict", "predict_proba", "decision_function")


def try_out(model: Any) -> None:
    """Raise where a model that was read from a file cannot take a row.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit([[1.0, 2.0], [2.0, 4.0], [4.0, 7.0]])
    >>> try_out(model)
    >>> model.projection_ = None
    >>> try_out(model)
    Traceback (most recent call last):
    AttributeError: 'NoneType' object has no attribute 'design'
    """
    _check_declared(model)
    check_is_fitted(model)
    _check_names(model)
    # A detector has nothing but its counts, and computes the rest when it is asked for, which takes its time; what looks at
    # whole sequences has no row.
    if hasattr(model, "_counts_behind"):
        counts = vars(model).get("_counts", vars(model).get("moments_"))
        if not isinstance(counts, Moments) or not set(model._features) <= set(counts.schema.names):
            raise FileFormatError("its counts are not those of its columns")
        return
    row = _row(model)
    asked = [name for name in _METHODS if row is not None and hasattr(model, name)]
    # Who refuses a row understands it well enough, unless it is one that was learnt from.
    fine = () if isinstance(model, DistanceTransformer) else (GramianError,)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in asked:
            with suppress(*fine):
                answer = getattr(model, name)(row)
                if not fine and np.asarray(answer).dtype.kind == "f" and np.isnan(answer).any():
                    raise FileFormatError(f"{name} of an object that it was fitted on is not a number")
        for name in _computed(type(model)):
            with suppress(GramianError):
                getattr(model, name, None)


_COUNTS = (
    "n_samples_seen_", "n_samples_", "n_iter_", "n_epochs_", "n_updates_", "n_replaced_", "n_components_", "rank_", "_updates",
    "_width",
)  # fmt: skip
_NUMBERS = ("_total", "_weight", "_signal_square", "inertia_")
_ARRAYS = (
    "dictionary_",
    "start_",
    "uses_",
    "_code_code",
    "_code_signal",
    "_uses",
    "_variances",
    "_directions",
    "_seen_weights",
)
_COEFFICIENTS = (
    "coef_",
    "priors_",
    "input_weights_",
    "bias_",
    "_values",
    "_last_state",
    "_last_input",
    "_whiten",
    "whitening_",
)
"""Attributes by what they hold, the same in every estimator that has them: whole numbers from 0, finite numbers, finite arrays
of float64 that are added to, and finite arrays that rows are multiplied by."""

_TOGETHER = (
    ("start_", "dictionary_", "history_", "n_iter_", "n_replaced_", *_NUMBERS[1:3], *_ARRAYS[3:6]),
    ("inertia_", "uses_"),
)
"""Attributes none of which is there without the others."""


def _check_declared(model: Any) -> None:
    """Raise where an attribute is not what fitting sets under its name: what is learned later, or added, goes on from it."""
    held = vars(model)
    for name in _COUNTS:
        if name in held and (type(held[name]) is not int or not 0 <= held[name] < 2**63):
            raise FileFormatError(f"{name} is not a count")
    for name in _NUMBERS:
        if name in held and (type(held[name]) not in (int, float) or not np.isfinite(held[name])):
            raise FileFormatError(f"{name} is not a number")
    for name in (*_ARRAYS, *_COEFFICIENTS, *(("means_",) if isinstance(model, DistanceTransformer) else ())):
        values = held.get(name, np.zeros(0))
        # Of several targets there is an array each.
        for each in values if isinstance(values, list) and name not in _ARRAYS else [values]:
            fine = isinstance(each, np.ndarray) and each.dtype.kind == "f" and bool(np.isfinite(each).all())
            if not fine or (name in _ARRAYS and each.dtype != np.float64):
                raise FileFormatError(f"{name} is not an array of finite numbers")
    intercepts = held.get("intercept_", 0.0)
    for each in intercepts if isinstance(intercepts, list) else [intercepts]:
        if bool(np.isnan(np.asarray(each, dtype=np.float64)).any()):
            raise FileFormatError("intercept_ is not a number")
    columns = held.get("_columns_in", [])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise FileFormatError("its columns are not a list of names")
    history = held.get("history_", {})
    for each in history.values() if isinstance(history, dict) else [history]:
        if not isinstance(each, np.ndarray) or each.dtype.kind not in "iuf":
            raise FileFormatError("history_ is not a list of numbers")
    support = held.get("support_", np.zeros(0, dtype=bool))
    if not isinstance(support, np.ndarray) or support.dtype != bool:
        raise FileFormatError("support_ does not say which columns are kept")
    for names in _TOGETHER:
        missing = [name for name in names if name not in held]
        if names[0] in held and missing:
            raise FileFormatError(f"{missing[0]} is missing")


def _computed(known: type) -> list[str]:
    """Return the fitted attributes that are computed from others."""
    named = [name for name in dir(known) if name.endswith("_") and not name.startswith("_")]
    return [name for name in named if isinstance(getattr(known, name), property)]


def _check_names(model: Any) -> None:
    n: Any = getattr(model, "n_features_in_", 1)
    if type(n) is bool or not isinstance(n, Integral) or n < 1:
        raise FileFormatError("its number of columns is none")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (isinstance(names, np.ndarray) and names.shape == (n,)):
        raise FileFormatError(f"the names of its {n} columns are not as many")
    if names is not None and not all(isinstance(name, str) for name in names.tolist()):
        raise FileFormatError("a name of its columns is no text")


def _row(model: Any) -> Any:
    """Return a row that a model takes: numbers are zero, everything else is missing."""
    if isinstance(model, DistanceTransformer):
        # An object that it was fitted on, or distances to all of them; rows of mixed columns are kept encoded.
        objects = getattr(model, "objects_", None)
        if objects is not None and isinstance(model._measure().metric, MixedMetric):
            return None
        return np.zeros((1, int(model.n_features_in_))) if objects is None else objects[:1]
    design = getattr(model, "design_", None)
    if design is not None:
        if not isinstance(design, Design):
            raise FileFormatError("what it reads of a row is not described")
        zero = {column.origin for column in design.columns if column.form == "number" and column.part is None}
        batch = pa.record_batch({name: pa.array([0.0]) if name in zero else pa.nulls(1) for name in design.origins})
        # A selection hands columns on as they are.
        return pa.Table.from_batches([batch]) if getattr(model, "_hands_through", False) else design.encode(batch)
    if getattr(model, "_needs_all_rows", False) or not hasattr(model, "n_features_in_"):
        return None
    names = getattr(model, "feature_names_in_", None)
    return np.zeros((1, int(model.n_features_in_))) if names is None else pa.table({str(name): [0.0] for name in names})
