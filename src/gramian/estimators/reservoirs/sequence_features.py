"""Sequences in, rows out: what the reservoirs share of checking, names and output.

A list of `(time, channels)` arrays or one 3-d array is sequences, of any lengths and one number of channels; rows of a table
(a 2-d array, a frame, a file) are one sequence each, of one channel.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.design.schema import Column
from gramian.errors import Argument, DataError, unknown_column
from gramian.estimators.spine.estimator import Estimator, rng_of
from gramian.estimators.spine.fields import Fields, array, size
from gramian.estimators.spine.inputs import check_names, check_numbers, is_array_like, is_path, refuse_repeated
from gramian.moments.value import Moments
from gramian.random.drawing import writable
from gramian.random.features import design_of
from gramian.tables import ArrayTable, ArrowTable, open_table


def is_sequences(X: Any) -> bool:
    """Whether X is a list of sequences or a 3-d array, rather than a table of rows."""
    if isinstance(X, np.ndarray):
        return X.ndim == 3 or (X.dtype == object and X.ndim == 1 and len(X) > 0 and np.ndim(X[0]) > 0)
    return isinstance(X, list | tuple) and len(X) > 0 and (np.ndim(X[0]) == 2 or _is_ragged(X))


def _is_ragged(X: Any) -> bool:
    return all(np.ndim(part) == 1 for part in X) and len({len(part) for part in X}) > 1


def is_flat_list(X: Any) -> bool:
    """Whether X is a list of 1-d arrays; lists within a list are rows of a table.

    Examples
    --------
    >>> is_flat_list([np.ones(3), np.ones(3)]), is_flat_list([[1.0, 2.0], [3.0, 4.0]])
    (True, False)
    """
    return isinstance(X, list | tuple) and len(X) > 0 and all(hasattr(p, "__array__") and np.ndim(p) == 1 for p in X)


def refuse_none(X: Any) -> None:
    """Raise for an empty list of sequences, or a 3-d array of none."""
    if (isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 3)) and len(X) == 0:
        raise DataError("0 sample(s) while a minimum of 1 is required: there are no sequences")


def as_sequences(X: Any, *, channels: int | None = None) -> list[Array]:
    """Return sequences as finite float64 arrays, checked.

    Parameters
    ----------
    X : list of (time, channels) or (time,) arrays, or one 3-d array
    channels : int, optional
        How many there must be; by default as many as the first sequence has.

    Examples
    --------
    >>> [part.shape for part in as_sequences([[1.0, 2.0, 3.0], [4.0, 5.0]])]
    [(3, 1), (2, 1)]
    """
    refuse_none(X)
    sequences = [as_sequence(part, f"sequence {k}") for k, part in enumerate(X)]
    wanted = sequences[0].shape[1] if channels is None else channels
    for k, part in enumerate(sequences):
        if part.shape[1] != wanted:
            raise DataError(f"sequence {k} has {part.shape[1]} channels, and {wanted} are expected; give each the same")
    return sequences


def as_sequence(values: Any, called: str) -> Array:
    """Return one sequence as a finite (time, channels) array."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise DataError(f"{called} holds complex numbers. Complex data not supported")
        array = writable(np.asarray(array, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{called} is not an array of numbers: {error}") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{called} has shape {array.shape}; (time, channels) is needed")
    if len(array) == 0:
        raise DataError(f"{called} has no steps; leave empty sequences out")
    if not np.isfinite(array).all():
        step, channel = np.argwhere(~np.isfinite(array))[0]
        raise DataError(
            f"{called} contains NaN or infinity at step {step}, channel {channel}; fill gaps before, with the value "
            f"before them for one"
        )
    return array


def refuse_long_washout(lengths: list[int], washout: int, needed: int = 1) -> None:
    """Raise where a washout leaves fewer steps of a sequence than are needed."""
    for k, length in enumerate(lengths):
        if length - washout < needed:
            raise DataError(
                f"sequence {k} has {length} steps, and ",
                Argument("washout", washout),
                f" leaves {max(length - washout, 0)} of them; {needed} {('is' if needed == 1 else 'are')} "
                "needed: lower washout, or leave short sequences out",
            )


def matrix_of(
    estimator: Any, X: Any, target: str | None = None, *, reset: bool, read_target: bool = True
) -> tuple[Array, Array | None]:
    """Return rows of numbers as scikit-learn would check them, and the column named as target where it is to be read.

    The columns of a table are matched by name.
    """
    if isinstance(X, Moments):
        raise DataError(f"{type(estimator).__name__} reads sequences, and Moments have none; pass rows or sequences")
    if hasattr(X, "iloc") or not (isinstance(X, ArrowTable | ArrayTable) or is_path(X) or not is_array_like(X)):
        beside = None
        if target is not None:
            names = list(getattr(X, "columns", ()))
            if target not in names:
                raise unknown_column(target, map(str, names))
            refuse_repeated(names)
            beside = as_sequence(X[target], f"column {target!r}")[:, 0] if read_target else None
            X = X.drop(columns=[target])
        return check_numbers(estimator, X, reset=reset, dtype=np.float64), beside
    table = X if isinstance(X, ArrowTable | ArrayTable) else open_table(X)
    names = list(table.names if isinstance(table, ArrayTable) else table.schema.names)
    if target is not None and target not in names:
        raise unknown_column(target, names, where=table.describe)
    features = [name for name in names if name != target]
    if not reset and "feature_names_in_" not in vars(estimator):
        # Columns go by position: fit must have seen as many.
        check_names(estimator, features)
    elif not reset:
        features = [str(name) for name in getattr(estimator, "feature_names_in_", features)]
    kept = target if read_target else None
    wanted = [*features, *([kept] if kept is not None else [])]
    design = design_of([Column(name, "number", name) for name in wanted], [])
    parts = [np.asarray(rows.numbers, dtype=np.float64) for rows in design.rows(table)]
    if not parts:
        raise DataError(f"{table.describe} has no rows: 0 sample(s) while a minimum of 1 is required")
    values = np.concatenate(parts)
    if np.isnan(values).any():
        column = wanted[int(np.flatnonzero(np.isnan(values).any(axis=0))[0])]
        raise DataError(f"column {column!r} has missing values, X contains NaN; fill them before")
    if reset:
        estimator.feature_names_in_ = np.array(features, dtype=object)
        estimator.n_features_in_ = len(features)
    return values[:, : len(features)], values[:, -1] if kept is not None else None


class SequenceTransformer(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of sequences by a fixed reservoir.

    Attributes
    ----------
    n_features_in_ : int
        Channels; of rows of a table the columns, which are the steps.
    """

    _fields: ClassVar[Fields] = {
        "_sequences_in": bool,
        "_width": size(lambda model: model._feature_count(model._channels())),
        "input_weights_": array("n_reservoir", lambda model: model._channels(), finite=True),
    }

    n_reservoir: int
    washout: int
    pool: str | None
    random_state: Any

    # What a subclass says

    def _draw(self, channels: int, rng: np.random.Generator) -> None:
        """Set the weights."""
        raise NotImplementedError

    def _features_of(self, sequences: list[Array]) -> list[Array]:
        """Return the features of each sequence: a row, or a row a step."""
        raise NotImplementedError

    def _needed_steps(self) -> int:
        return 1

    def _feature_count(self, channels: int) -> int:
        return self.n_reservoir

    # Fitting

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the weights; of the sequences only the number of channels is looked at.

        Parameters
        ----------
        X : list of (time, channels) arrays, 3-d array, or rows
            Rows of a 2-d array, a frame or a file are sequences of one channel.
        y : str, optional
            A column of X that is not a step. Values are ignored.
        """
        return self._fit(X, y)

    def _learn(self, X: Any, y: Any) -> None:
        sequences = self._read(X, y if isinstance(y, str) else None, reset=True)
        self._draw(sequences[0].shape[1], rng_of(self.random_state))
        self._width = self._feature_count(sequences[0].shape[1])

    def _read(self, X: Any, target: str | None, *, reset: bool) -> list[Array]:
        refuse_none(X)
        of_sequences = is_sequences(X)
        if reset:
            self._sequences_in = of_sequences
        elif of_sequences != self._sequences_in and not (of_sequences and self._channels() == 1):
            kinds = ("rows of a table", "a list of sequences or a 3-d array")
            raise DataError(
                f"fit was given {kinds[self._sequences_in]}, and this is {kinds[of_sequences]}; give the same"
            )
        if of_sequences:
            sequences = as_sequences(X, channels=None if reset else self._channels())
            if reset:
                self.n_features_in_ = sequences[0].shape[1]
        else:
            rows, _ = matrix_of(self, X, target, reset=reset, read_target=False)
            sequences = [writable(row[:, None]) for row in rows]
        refuse_long_washout([len(part) for part in sequences], self.washout, self._needed_steps())
        return sequences

    def _channels(self) -> int:
        return self.n_features_in_ if self._sequences_in else 1

    # Transforming

    def transform(self, X: Any) -> Any:
        """Return the features of sequences: (sequences, k), or where `pool` is None one (steps, units) array a sequence.

        For a 3-d array and `pool=None` the result is a 3-d array.
        """
        check_is_fitted(self)
        features = self._features_of(self._read(X, None, reset=False))
        if self.pool is None:
            return np.stack(features) if not isinstance(X, list | tuple) else features
        return np.stack(features)

    @property
    def _n_features_out(self) -> int:
        return int(self._width)
