"""Rows that lie in another system stay there: a method of a fitted model gives a lazy frame of the same kind.

Which methods those are, and what is sent, is decided here once for every estimator. The model goes to the workers as it is at
the time of the call, as the bytes of its file.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any

import numpy as np

from gramian.tables.base import home_of

ROW_METHODS = (
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "anomaly_score", "score_samples",
    "black_swans",
)  # fmt: skip
"""What maps rows to rows."""

_MAPPERS = {"dask": "gramian.engines.dask", "spark": "gramian.engines.spark"}
"""Per system the module whose `map_frame(frame, function, names)` gives a lazy frame."""


class RowMethod:
    """A method of a fitted model as a function that travels.

    Parameters
    ----------
    model : fitted estimator
    method : str
        One of `ROW_METHODS`, or "inverse_transform".
    design : bool
        Of the latter: design columns in place of source columns.

    Attributes
    ----------
    names : list of str
        Of the columns that it gives.
    columns : list of str or None
        Those that it reads; None where they go by position.

    Examples
    --------
    >>> import gramian as gm
    >>> RowMethod(gm.PCA(n_components=1).fit([[1.0, 2.0], [3.0, 1.0]]), "transform").names
    ['pca0']
    """

    def __init__(self, model: Any, method: str, design: bool = False) -> None:
        from gramian.estimators.base.inputs import columns_in
        from gramian.estimators.io.files import output_names

        back = method == "inverse_transform"
        if design:
            self.names = list(model.design_.names)
        elif back and not getattr(model, "_hands_through", False):
            self.names = list(model.design_.origins)
        elif back or method == "black_swans":
            self.names = columns_in(model, model.design_)
        else:
            self.names = output_names(model, method)
        self._options = {"design": True} if design else {}
        named = "feature_names_in_" in vars(model) and hasattr(model, "design_") and not back
        kept = model.get_feature_names_out() if named and getattr(model, "_hands_through", False) else ()
        self.columns = list(dict.fromkeys([*model.design_.origins, *map(str, kept)])) if named else None
        self._model, self._method = copy(model), method

    def __getstate__(self) -> dict[str, Any]:
        # As its file, which no code comes with; a model of another package as it is. Whoever maps frames asks for the meta
        # first, here, so that what a model solves when it is first asked is solved.
        from gramian.estimators.io.persistence import can_be_saved, to_bytes

        model = to_bytes(self._model) if can_be_saved(self._model) else self._model
        return {**vars(self), "_model": model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state["_model"]
        vars(self).update(state, _model=_opened(model) if isinstance(model, bytes) else model)

    def __call__(self, rows: Any) -> Any:
        """Return what the method gives for rows in memory, as arrays whatever `set_output` says for people."""
        from sklearn import config_context

        with config_context(transform_output="default"):
            values = getattr(self._model, self._method)(rows, **self._options)
        if self._method == "inverse_transform" and not hasattr(values, "dtype") and not hasattr(values, "iloc"):
            # Columns of several types, as the library of fit has them: partitions are of pandas.
            values = values.to_pandas()
        # Of several targets the probabilities are a list.
        return np.hstack(values) if isinstance(values, list) else values


@lru_cache(maxsize=4)
def _opened(data: bytes) -> Any:
    """Return a model from its file, once in each process: a worker does many tasks."""
    from gramian.estimators.io.persistence import from_bytes

    return from_bytes(data, "a model")


class MapsFrames:
    """An estimator whose methods of rows take distributed frames, and return lazy ones."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in (*ROW_METHODS, "inverse_transform"):
            method = vars(cls).get(name)
            if hasattr(method, "fn"):
                # scikit-learn's `available_if` keeps the function inside.
                method.fn = _lazily(name, method.fn)  # type: ignore[union-attr]
            elif callable(method):
                setattr(cls, name, _lazily(name, method))


def _lazily(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def mapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        home = home_of(X)
        if home in _MAPPERS and (name in ROW_METHODS or home == "dask"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)
            function = RowMethod(self, name, *args, **kwargs) if name == "inverse_transform" else RowMethod(self, name)
            return import_module(_MAPPERS[home]).map_frame(X, function, function.names)
        return method(self, X, *args, **kwargs)

    return mapped
