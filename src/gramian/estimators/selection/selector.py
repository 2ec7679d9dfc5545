"""The shared selector: fit on rows, files or Moments; `transform` hands source columns through, untouched.

A concrete selector says, in `_choose`, which columns stay. What X and y may be, and how moments are collected, is the
affair of `gramian.estimators.spine.moments_estimator`.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, safe_mask
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.arrays.types import Array
from gramian.errors import Argument, ColumnError, DataError, NothingSelectedWarning, Parameter, shown, unknown_column
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine import inputs
from gramian.estimators.spine.estimator import RowTransformer
from gramian.estimators.spine.fields import Fields, Optional, array, design, table, texts
from gramian.estimators.spine.moments_estimator import MomentsEstimator
from gramian.estimators.spine.outputs import SelectedOutputs
from gramian.linear.regression.targets import TYPES
from gramian.maps.projection import Design
from gramian.moments.value import Moments
from gramian.parameters import COLUMNS, declared, whole
from gramian.selection.filters.univariate import variances
from gramian.selection.problem import Problem, places, problem_of, sources_of
from gramian.tables import ArrowTable, open_table
from gramian.tables.memory.arrays import sound_sparse
from gramian.tables.returned import output_library
from gramian.tables.returned import table as output_table

_ATTRIBUTES = "Attributes\n----------\n"


@dataclass(frozen=True, eq=False)
class Chosen:
    """Which source columns stay, and why.

    Attributes
    ----------
    support : (q,) array of bool
    scores : (q,) array
    p_values : (q,) array or None
    path : mapping of columns
        The steps of the selection, as a table.
    more : mapping of pairs
        Other attributes to set: values of the columns, and the value of a column that was set aside.
    worth, ties : (q,) arrays or None
        What the k best columns are the best by, the scores where it is None; and what decides between equals.
    """

    support: Array
    scores: Array
    p_values: Array | None = None
    path: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, tuple[Array, Any]] = field(default_factory=dict)
    worth: Array | None = None
    ties: Array | None = None


class ColumnSelector(Plots, RowTransformer, SelectorMixin, MomentsEstimator):
    """Selects source columns: all levels of a category, all parts of a date, together.

    Attributes
    ----------
    support_ : (n_features,) array of bool
        The columns that stay; `get_support()` gives the same.
    scores_ : (n_features,) array
        One per source column, the larger the better.
    path_ : table
        The steps of the selection; empty where there are none.
    path_columns_ : dict of lists
        `path_` as plain columns, which is what a model file holds.
    """

    _plots: ClassVar[tuple[str, ...]] = ("selection", "path")
    _parameters = declared(k=(None, whole()), target_type=TYPES, include=(None, COLUMNS))

    _fields: ClassVar[Fields] = {
        "_sources": texts(),
        "_encoder": design("p"),
        "support_": array("q", dtype="b1"),
        "scores_": array("q"),
        "p_values_": Optional(array("q")),
        "path_columns_": table(),
    }

    _takes_target = _needs_target = _several_targets = True
    row_outputs = SelectedOutputs

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        describe_attributes(cls)

    # What a subclass says

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        """Return which source columns stay, those at `include` among them."""
        raise NotImplementedError

    # Fitting

    def _kept_categories(self) -> list[str]:
        included = self._include_listed()
        names, count = self._columns_in, len(self._columns_in)
        by_place = [names[k] for k in included if isinstance(k, int | np.integer) and -count <= k < count]
        return [*super()._kept_categories(), *(name for name in included if isinstance(name, str)), *by_place]

    def _solve(self) -> None:
        moments = self._moments
        self._sources = sources_of(moments, self._features)
        self._encoder = Design.of(moments, self._features)
        if not (variances(moments, self._features) > 0).any():
            raise DataError(
                f"no column varies: each of the {len(self._sources)} columns holds one value, so there is nothing to select"
            )
        k, count = getattr(self, "k", None), len(self._columns_in)
        if isinstance(k, int | np.integer) and k > count:
            raise DataError(Argument("k", k), f" columns are asked for and there are {count}; name at most that many")
        self._note(self._choose(moments, self._included()))

    def _note(self, chosen: Chosen) -> None:
        self.support_ = self._over_all(np.asarray(chosen.support, dtype=bool), False)
        self.scores_ = self._over_all(np.asarray(chosen.scores, dtype=np.float64), -np.inf)
        if chosen.p_values is not None:
            self.p_values_ = self._over_all(np.asarray(chosen.p_values, dtype=np.float64), 1.0)
        for name, (values, aside) in chosen.more.items():
            setattr(self, name, self._over_all(values, aside))
        k = getattr(self, "k", None)
        if isinstance(k, int | np.integer) and k > int(self.support_.sum()):
            # Only identifiers are left, and columns were asked for.
            apart = [j for j, name in enumerate(self._columns_in) if name not in self._sources]
            self.support_[apart[: k - int(self.support_.sum())]] = True
        self.path_columns_ = {name: list(values) for name, values in chosen.path.items()}

    def _over_all(self, values: Any, aside: Any) -> Any:
        """Return values of the columns that were looked at as values of all, with one for those that were set aside."""
        if len(self._sources) == len(self._columns_in):
            return values
        out = np.full(len(self._columns_in), aside, dtype=values.dtype)
        out[[self._columns_in.index(name) for name in self._sources]] = values
        return out

    def _include_listed(self) -> list[Any]:
        """Return what `include` names, as a list where it is one name or position."""
        wanted = getattr(self, "include", None)
        wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
        if isinstance(wanted, str) or not isinstance(wanted, Iterable):
            return [] if wanted is None else [wanted]
        return list(wanted)

    def _included(self) -> list[int]:
        """Return the places of the columns that must stay."""
        out = []
        for name in self._include_listed():
            if isinstance(name, int | np.integer):
                count = len(self._columns_in)
                if not -count <= name < count:
                    raise ColumnError(Argument("include"), f" names position {name}, and there are {count} columns")
                out.append(self._sources.index(self._columns_in[int(name)]))
            elif name in self._sources:
                out.append(self._sources.index(name))
            elif name in self._targets:
                raise ColumnError(
                    Argument("include"),
                    f" names {shown(name)}, which is the target; a target cannot be a feature as well",
                )
            else:
                error = unknown_column(name, self._sources)
                raise type(error)(Parameter("include"), ": ", *error.parts)
        out = list(dict.fromkeys(out))
        k = getattr(self, "k", None)
        if isinstance(k, int | np.integer) and len(out) > k:
            raise DataError(
                Argument("include"),
                f" names {len(out)} columns, more than ",
                Argument("k", k),
                "; leave some out, or raise ",
                Parameter("k"),
            )
        return out

    def _problem(self, moments: Moments) -> Problem:
        """Return the columns and the target by their second moments."""
        return problem_of(moments, self._features, self._targets, target_type=getattr(self, "target_type", "auto"))

    # Columns

    @property
    def design_(self) -> Design:
        """What is read of a row: source columns, their levels and means."""
        # Not `_encoder` at once: after `partial_fit` it comes with the solution, which is computed when it is asked for.
        _ = self.support_
        return self._encoder

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.support_)

    @property
    def path_(self) -> Any:
        """The steps of the selection: a table."""
        check_is_fitted(self)
        return output_table(self.path_columns_, library=self._frames)

    def summary(self) -> Any:
        """Return a table with one row per source column: column, kept, score, and the p-value where there is a test."""
        return output_table(self.summary_columns(), library=self._frames)

    def summary_columns(self) -> dict[str, Any]:
        """Return the columns of `summary` by name."""
        check_is_fitted(self)
        columns: dict[str, Any] = {
            "column": np.array(self._origins, dtype=object),
            "kept": self.support_,
            "score": self.scores_,
        }
        if "p_values_" in vars(self):
            columns["p_value"] = self.p_values_
        return columns

    @property
    def _origins(self) -> list[str]:
        return inputs.columns_in(self, self.design_)

    def transform(self, X: Any) -> Any:
        """Return the columns of X that stay, as they are: a frame of a frame's library, an array of an array."""
        check_is_fitted(self)
        kept = self._get_support_mask()
        if not kept.any():
            warnings.warn(
                NothingSelectedWarning(
                    f"{type(self).__name__} keeps no column: none has enough to do with the target; name some with ",
                    Argument("include"),
                ),
                stacklevel=2,
            )
        inputs.refuse_files(X)
        if inputs.is_array_like(X):
            if sp.issparse(X):
                sound_sparse(X, "X")
            rows = validate_data(
                self,
                inputs.rows_of_values(X),
                reset=False,
                dtype=None,
                accept_sparse="csr",
                ensure_all_finite=False,
                ensure_min_features=0,
            )
            return rows[:, safe_mask(rows, kept)]
        return _in_library(self._taken(X, kept), getattr(self, "_sklearn_output_config", {}).get("transform"))

    def _taken(self, X: Any, kept: Array) -> Any:
        """Return the columns of a frame that stay, by name, or by position where fit saw no names."""
        # A plan of polars warns where it is asked for its columns, and not where it is asked for its schema.
        table = X if hasattr(type(X), "collect_schema") or hasattr(X, "columns") else _arrow(X)
        if hasattr(type(table), "collect_schema"):
            named = table.collect_schema().names()
        else:
            named = table.schema.names if isinstance(table, pa.Table | pa.RecordBatch) else table.columns
        given = [str(name) for name in named]
        inputs.refuse_repeated(given)
        origins = self._origins
        if "feature_names_in_" not in vars(self) and not set(origins) <= set(given):
            inputs.check_names(self, given)
            wanted = [given[k] for k in np.flatnonzero(kept)]
        else:
            wanted = [name for name, stays in zip(origins, kept, strict=True) if stays]
            missing = [name for name in wanted if name not in given]
            if missing:
                raise unknown_column(missing[0], given)
        # A frame of pandas by position: its labels may be numbers.
        at = [given.index(name) for name in wanted]
        return table.iloc[:, at] if type(table).__module__.startswith("pandas") else table.select(wanted)

    def inverse_transform(self, X: Any) -> Any:
        """Return rows of all columns from those of the columns that stay: zeros in the others.

        Parameters
        ----------
        X : array, sparse array or frame
            What `transform` gives: any values, missing ones too.

        Returns
        -------
        array or sparse array
            Of objects where X holds anything but numbers.
        """
        check_is_fitted(self)
        if inputs.is_path(X):
            raise DataError("inverse_transform takes rows in memory; read the file first")
        if sp.issparse(X):
            sound_sparse(X, "X")
            return super().inverse_transform(X)
        if not inputs.is_array_like(X):
            table = _arrow(X)
            parts = [column.to_numpy() for column in table.columns]
            numeric = bool(parts) and all(part.dtype.kind in "fiub" for part in parts)
            values = np.empty((table.num_rows, len(parts)), dtype=np.result_type(*parts) if numeric else object)
            for k, part in enumerate(parts):
                values[:, k] = part
            X = values
        kept = self._get_support_mask()
        rows = check_array(inputs.rows_of_values(X), dtype=None, ensure_all_finite=False, ensure_min_features=0)
        if rows.shape[1] != kept.sum():
            raise DataError(f"X has {rows.shape[1]} columns, and {kept.sum()} were selected; pass what transform gives")
        out = np.zeros((len(rows), len(kept)), dtype=rows.dtype)
        out[:, kept] = rows
        return out


def _arrow(X: Any) -> pa.Table:
    """Return rows that are neither an array nor a frame, dicts say, as a table of Arrow."""
    table = open_table(X)
    table = table if isinstance(table, ArrowTable) else table.as_arrow()
    return pa.Table.from_batches(list(table.batches(table.schema.names)))


def _in_library(frame: Any, wanted: str | None) -> Any:
    """Return a frame in the library that `set_output` asks for, where it asks for one."""
    library = wanted if wanted in ("pandas", "polars") else output_library(None)
    own = type(frame).__module__.split(".")[0]
    if own == "polars" and library in ("pandas", "polars") and wanted != "default" and hasattr(frame, "collect"):
        # What scikit-learn names the columns of is a frame, not a plan of one.
        frame = frame.collect()
    if library == own or (library == "pyarrow" and wanted is None) or wanted == "default":
        return frame
    if library not in ("pandas", "polars"):
        return frame
    arrow = pa.Table.from_pandas(frame, preserve_index=False) if own == "pandas" else frame
    if own not in ("pandas", "pyarrow"):
        arrow = pa.table(frame)
    if library == "pandas":
        return arrow.to_pandas()
    import polars

    return polars.from_arrow(arrow)


def describe_attributes(cls: type) -> None:
    """Add to the docstring of a class the attributes that its bases describe and it does not.

    Examples
    --------
    >>> from gramian.estimators.selection.lasso import LassoSelector
    >>> "path_columns_ : dict of lists" in LassoSelector.__doc__
    True
    """
    head, heading, rest = inspect.cleandoc(cls.__doc__ or "").partition(_ATTRIBUTES)
    own, gap, tail = rest.partition("\n\n")
    for base in cls.__mro__[1:]:
        known = {name for line in own.split("\n") for name in line.split(" : ")[0].split(", ")}
        section = inspect.cleandoc(base.__doc__ or "").partition(_ATTRIBUTES)[2].partition("\n\n")[0]
        for entry in re.split(r"\n(?=\S)", section) if section else ():
            own += "" if entry.split(" : ")[0] in known else f"\n{entry}"
    if heading:
        cls.__doc__ = head + heading + own + gap + tail


def check_one_rule(**rules: Any) -> None:
    """Raise where more than one rule says how many columns stay."""
    given = [name for name, value in rules.items() if value is not None]
    if len(given) > 1:
        raise DataError(f"{' and '.join(given)} each say how many columns stay; keep one of them")


def best_of(values: Array, k: int, include: Sequence[int], *, ties: Array | None = None) -> Array:
    """Return which k columns have the largest values, those of `include` among them; equal ones by `ties`, then in order.

    Examples
    --------
    >>> best_of(np.array([0.1, 0.9, 0.5]), 2, [0])
    array([ True,  True, False])
    """
    forced = np.isin(np.arange(len(values)), list(include))
    second = np.zeros(len(values)) if ties is None else ties
    order = np.lexsort((np.arange(len(values)), places(second), places(values), ~forced))
    out = np.zeros(len(values), dtype=bool)
    out[order[:k]] = True
    return out
