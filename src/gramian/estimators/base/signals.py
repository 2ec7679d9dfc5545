"""Rows of numbers in, codes over a dictionary out: what the estimators of sparse coding share.

Arrays, frames, Arrow data, files and batches are read alike (`gramian.estimators.base.inputs`); every column must be a number.
A model knows its columns by name, so that frames are matched by name and files can be transformed batch by batch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.design.encoder import weights_of
from gramian.design.kinds import is_number
from gramian.design.schema import Column
from gramian.engines.base import weight_values
from gramian.errors import ColumnError, DataError, Parameter, unknown_column
from gramian.estimators.base.inputs import (
    Table,
    all_float32,
    is_path,
    open_rows,
    open_training,
    refuse_listed_names,
    refuse_what_is_no_number,
    single_weight,
)
from gramian.estimators.base.learned import AllOrNothing
from gramian.estimators.spine.fields import Fields, array, design
from gramian.maps.fitted_design import Design, Rows
from gramian.moments.value import Moments
from gramian.tables import ArrayTable

LARGEST = 1e150
"""Sizes beyond this have squares that float64 cannot hold."""


class SignalTransformer(AllOrNothing, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes of rows over the atoms of a dictionary.

    Attributes
    ----------
    dictionary_ : (k, p) array
        One atom a row.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where columns have names.
    """

    _fields: ClassVar[Fields] = {
        "_signal_design": design("q"),
        "dictionary_": array("k", "q", finite=True),
    }

    dictionary_: Array
    _signal_design: Design

    random_state: Any

    _allow_nan = False

    # What a subclass says

    def _codes(self, signals: Array) -> Array:
        """Return the codes of signals, (n, k)."""
        raise NotImplementedError

    # Reading

    def _training(self, X: Any, y: Any = None, sample_weight: Any = None, *, more: bool = False) -> tuple[Array, Any]:
        """Return rows of numbers and their weights (or None), and note the columns.

        With `more` the columns are those seen before. A text for `y` or `sample_weight` names a column that is no feature.
        """
        if isinstance(X, Moments):
            raise DataError(f"{type(self).__name__} codes rows, and Moments have none; pass rows")
        seen = self._signal_design.origins if more else None
        table, named = open_training(self, _numeric(X), typed=False, seen=seen)
        names = list(table.names if isinstance(table, ArrayTable) else table.schema.names)
        aside = [y] if isinstance(y, str) else list(y) if isinstance(y, tuple) else []
        weight_name = sample_weight if isinstance(sample_weight, str) else None
        if named:
            refuse_listed_names(y, names)
        for name in [*aside, *([weight_name] if weight_name else [])]:
            if name not in names:
                raise unknown_column(name, names, where=table.describe)
        kept = seen or [name for name in names if name not in (*aside, weight_name)]
        if not kept:
            raise DataError("no columns of numbers are left beside the target")
        design = self._signal_design if more else numbers_of(table, kept, type(self).__name__)
        if weight_name is not None:
            table = _in_memory(table, [*kept, weight_name])
            sample_weight = _column(table, weight_name)
        values = matrix_of(design, table)
        _refuse_missing(values, design.origins, type(self).__name__, allow=self._allow_nan)
        if len(values) == 0:
            raise DataError(f"0 sample(s) (shape={values.shape}) while a minimum of 1 is required: there are no rows")
        if not more:
            self._signal_design = design
            self.n_features_in_ = len(kept)
            if named:
                self.feature_names_in_ = np.array(kept, dtype=object)
        return values, None if sample_weight is None else row_weights(sample_weight, values)

    def _rows(self, X: Any) -> tuple[Array, Any]:
        """Return rows to be coded, and the dtype of their codes."""
        check_is_fitted(self)
        design = self.design_
        table = open_rows(self, _numeric(X), design)
        values = matrix_of(design, table)
        _refuse_missing(values, design.origins, type(self).__name__, allow=self._allow_nan)
        return values, np.float32 if all_float32(table, design.origins) else np.float64

    @property
    def design_(self) -> Design:
        """What is read of a row."""
        if "_signal_design" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'design_'")
        return self._signal_design

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    # Codes

    def transform(self, X: Any) -> Any:
        """Return the codes of rows in memory, (n_rows, k); float32 where every number of X is."""
        values, dtype = self._rows(X)
        return self._codes(values).astype(dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then return the codes of the same rows."""
        if is_path(X):
            raise DataError("fit_transform takes rows in memory; for files call fit, then gramian.transform_file")
        return super().fit_transform(X, y, **fit_params)

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that codes stand for, `codes @ dictionary_`.

        Parameters
        ----------
        X : (n, k) array
            Codes.
        """
        atoms = self._atoms()
        codes = np.asarray(X)
        if codes.ndim != 2 or codes.shape[1] != len(atoms):
            raise DataError(f"inverse_transform takes codes of shape (n, {len(atoms)}); got {codes.shape}")
        dtype = np.float32 if codes.dtype == np.float32 else np.float64
        return (codes.astype(np.float64) @ atoms).astype(dtype, copy=False)

    def reconstruction_error(self, X: Any) -> Array:
        """Return the length of what each row's code leaves unexplained, (n_rows,); NaN entries take no part."""
        values, _ = self._rows(X)
        return np.sqrt(np.nansum(np.square(values - self._codes(values) @ self._atoms()), axis=1))

    def sparsity(self, X: Any) -> Array:
        """Return how many atoms the code of each row uses, (n_rows,)."""
        return np.count_nonzero(self._codes(self._rows(X)[0]), axis=1)

    def _atoms(self) -> Array:
        check_is_fitted(self)
        return self.dictionary_

    @property
    def _n_features_out(self) -> int:
        return len(self._atoms())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def numbers_of(table: Table, names: list[str], asker: str) -> Design:
    """Return columns of a table as numbers, or raise for the first that is none."""
    if not isinstance(table, ArrayTable):
        for name in names:
            kind = table.schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not is_number(kind):
                raise ColumnError(
                    f"column {name!r} holds {kind}, and {asker} takes numbers; exclude it or encode it first"
                )
    columns = tuple(Column(name, "number", name) for name in names)
    return Design(columns, (), np.zeros(len(names)), tuple(names))


def _numeric(X: Any) -> Any:
    """Return an array of objects as numbers, which they must be."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O" or X.ndim != 2:
        return X
    try:
        return X.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        refuse_what_is_no_number(X, error)
        raise


def _in_memory(table: Table, names: list[str]) -> Table:
    """Return a table that can be read twice: once for the rows, once for their weights."""
    from gramian.tables import open_table

    if isinstance(table, ArrayTable) or not table.one_shot:
        return table
    return open_table(pa.Table.from_batches(list(table.batches(names))))


def _column(table: Table, name: str) -> Array:
    if isinstance(table, ArrayTable):
        return np.concatenate([np.asarray(chunk[:, table.names.index(name)]) for chunk in table.chunks()])
    return weights_of(list(table.batches([name])), name)


def matrix_of(design: Design, table: Table | Rows) -> Array:
    """Return the rows of a table as one matrix."""
    parts = [rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers for rows in design.rows(table)]
    if not parts:
        return np.zeros((0, len(design.origins)))
    return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts))


def _refuse_missing(values: Array, names: list[str], asker: str, *, allow: bool) -> None:
    if not len(values):
        return
    # Without a copy of the rows, past NaN, and in float64: the bound is beyond float32.
    largest = np.maximum(np.fmax.reduce(values), -np.fmin.reduce(values)).astype(np.float64)
    if (largest > LARGEST).any():
        column = int(np.argmax(largest))
        raise DataError(
            f"column {names[column]!r} holds a value of size {largest[column]:.3g}, whose square overflows; "
            f"divide the column by a constant first"
        )
    # A sum is finite unless an entry is not: one read in the common case.
    if allow or np.isfinite(values.sum(dtype=np.float64)):
        return
    row, column = np.argwhere(np.isnan(values))[0]
    raise DataError(
        f"column {names[column]!r} holds NaN in row {row}: Input X contains NaN, which has no meaning for {asker}; "
        f"fill it in or leave the row out"
    )


def row_weights(sample_weight: Any, values: Array) -> Array:
    """Return one weight for each row, or raise; a single number is that of every row."""
    every = single_weight(sample_weight)
    weights = np.full(len(values), every) if every is not None else weight_values(sample_weight)
    if weights.shape != (len(values),):
        raise DataError(f"sample_weight has shape {weights.shape}; give one weight for each of the {len(values)} rows")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError(
            "sample_weight holds a negative value, NaN or infinity, or only zeros; weights are numbers from 0"
        )
    refuse_total(weights)
    return weights


def refuse_total(weights: Array) -> None:
    """Raise where weights add up to so much, or so little, that their products with squares leave float64."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 1 / LARGEST <= total <= LARGEST:
        raise DataError(
            Parameter("sample_weight"),
            f" adds up to {total:.3g}; multiply all weights by a constant, so that they add up to the number of rows they "
            "stand for",
        )
