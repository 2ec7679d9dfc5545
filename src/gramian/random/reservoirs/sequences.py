"""Sequences as reservoirs take them: a list of `(time, channels)` arrays of any lengths and one number of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.random.drawing import writable


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
