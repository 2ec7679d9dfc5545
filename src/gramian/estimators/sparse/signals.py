"""Rows of numbers in, codes over a dictionary out: what the estimators of sparse coding share.

Arrays, frames, Arrow data, files and batches are read alike (`gramian.estimators.spine.training`); every column is a number. A
model knows its columns by name, so that frames are matched by name and files can be transformed batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.design.kinds import is_number
from gramian.design.schema import Column
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine.estimator import Estimator, RowTransformer, Tags
from gramian.estimators.spine.fields import Fields, array, design
from gramian.estimators.spine.inputs import Table, all_float32, open_rows, refuse_what_is_no_number
from gramian.estimators.spine.training import note_columns, read, refuse_large, refuse_total, row_weights
from gramian.maps.projection import Design, Rows
from gramian.parameters import declared
from gramian.sparse.coders.choice import ALGORITHMS, SETTINGS, Coder
from gramian.tables import ArrayTable


class SignalTransformer(Estimator, ClassNamePrefixFeaturesOutMixin, RowTransformer, BaseEstimator):
    """Codes of rows over the atoms of a dictionary.

    Attributes
    ----------
    dictionary_ : (k, p) array
        One atom per row.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where columns have names.
    """

    _fields: ClassVar[Fields] = {"_signal_design": design("q"), "dictionary_": array("k", "q", finite=True)}

    dictionary_: Array
    _signal_design: Design

    _allow_nan = False
    _tags: ClassVar[Tags] = {
        "input_tags.allow_nan": lambda model: model._allow_nan,
        "input_tags.sparse": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    # What a subclass says

    def _codes(self, signals: Array) -> Array:
        """Return the codes of signals, (n, k)."""
        raise NotImplementedError

    # Reading

    def _training(self, X: Any, y: Any = None, sample_weight: Any = None, *, more: bool = False) -> tuple[Array, Any]:
        """Return rows of numbers and their weights (or None), and note the columns.

        With `more` the columns are those seen before. A text for `y` or `sample_weight` names a column that is not a feature.
        """
        training = read(self, _numeric(X), y, sample_weight, before=self._signal_design.columns if more else None)
        if not more:
            self._signal_design = numbers_of(training.table, training.features, type(self).__name__)
            note_columns(self, training.features, named=training.named, library=training.library)
        design, rows, weights = self._signal_design, [], []
        for part, here in training.parts(design):
            rows.append(design.encode(part) if isinstance(part, pa.RecordBatch) else part)
            weights += [here] if here is not None else []
        values = self._matrix(rows)
        if len(values) == 0:
            raise DataError(f"0 sample(s) (shape={values.shape}) while a minimum of 1 is required: there are no rows")
        return values, counted_rows(np.concatenate(weights) if weights else None, len(values))

    def _rows(self, X: Any) -> tuple[Array, Any]:
        """Return rows to be coded, and the dtype of their codes."""
        check_is_fitted(self)
        design = self.design_
        table = open_rows(self, _numeric(X), design)
        return self._matrix(design.rows(table)), np.float32 if all_float32(table, design.origins) else np.float64

    def _matrix(self, rows: Iterable[Rows]) -> Array:
        values, names = matrix_of(self._signal_design, rows), self._signal_design.origins
        if len(values):
            refuse_large(values, names)
        # A sum is finite unless an entry is not: one read in the common case.
        if not self._allow_nan and not np.isfinite(values.sum(dtype=np.float64)):
            row, column = np.argwhere(np.isnan(values))[0]
            raise DataError(
                f"column {names[column]!r} holds NaN in row {row}: Input X contains NaN, which has no meaning for "
                f"{type(self).__name__}; fill it in or leave the row out"
            )
        return values

    @property
    def design_(self) -> Design:
        """What is read of a row."""
        if "_signal_design" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'design_'")
        return self._signal_design

    # Codes

    def transform(self, X: Any) -> Any:
        """Return the codes of rows in memory, (n_rows, k); float32 where every number of X is."""
        values, dtype = self._rows(X)
        return self._codes(values).astype(dtype, copy=False)

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


class CodingTransformer(SignalTransformer):
    """Codes by one of several algorithms, with settings of its own."""

    _parameters = SETTINGS | declared(algorithm=tuple(ALGORITHMS))

    _tags: ClassVar[Tags] = {"input_tags.positive_only": lambda model: model.algorithm == "dim"}

    algorithm: str

    def _coder(self) -> Coder:
        return Coder.of(self.algorithm, **{name: getattr(self, name) for name in SETTINGS})

    def _codes(self, signals: Array) -> Array:
        return self._coder()(signals, self._atoms())


def counted_rows(sample_weight: Any, n_rows: int) -> Array | None:
    """Return one weight for each row, whose products with squares are numbers; None where there are none."""
    weights = row_weights(sample_weight, n_rows)
    if weights is not None:
        refuse_total(weights)
    return weights


def numbers_of(table: Table, names: list[str], asker: str) -> Design:
    """Return columns of a table as numbers, or raise for the first that does not hold numbers."""
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


def matrix_of(design: Design, rows: Iterable[Rows]) -> Array:
    """Return rows of numbers as one matrix."""
    parts = [part.dense_numbers for part in rows]
    if not parts:
        return np.zeros((0, len(design.origins)))
    return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
