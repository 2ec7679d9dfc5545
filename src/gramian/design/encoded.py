"""Encoded rows as the counters take them: a code array a by-level column and the numbers, a matrix or one still to be copied.

Copying a matrix of numbers costs as much as reading it, so rows of a fold, or with columns beside them that came from
elsewhere, are put together by whoever adds them up, a chunk at a time and while it is in cache (`LazyRows`).
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design import kernels
from gramian.design.codebook import Codes

LONG_ROW = 16
"""Numbers a row from which rows of a fold are worth copying one by one."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Some consecutive rows, ready to be counted.

    Attributes
    ----------
    n_rows : int
    coded, numeric : tuple of str
        The by-level and the plain numeric columns, in order; they change when an integer column folds into a number.
    codes : list of arrays
        uint16 or uint32, a by-level column each.
    n_levels : list of int
        Levels of each of them so far.
    numbers : (n, p) array, LazyRows or CSR array
        NaN where missing.
    weights : (n,) array or None
    folds : (n,) uint8 array or None
    offsets : tuple of float
        What was taken off each number, empty for nothing.
    left_out : int
        Rows that stood among these and have no target.
    """

    n_rows: int
    coded: tuple[str, ...]
    numeric: tuple[str, ...]
    codes: list[Codes]
    n_levels: list[int]
    numbers: Any
    weights: Array | None = None
    folds: npt.NDArray[np.uint8] | None = None
    offsets: tuple[float, ...] = ()
    left_out: int = 0

    def by_fold(self, n_folds: int, executor: Executor) -> list[Encoded]:
        """Return the rows of each fold: reordered once, in the threads of a pool, then sliced."""
        assert self.folds is not None
        order, ends = np.empty(len(self.folds), np.int32), np.empty(n_folds + 1, np.int64)
        kernels.order_by_fold(self.folds, ends, order)
        # Long rows are copied by those who add them up, a chunk at a time.
        picked = not sp.issparse(self.numbers) and self.numbers.shape[1] >= LONG_ROW
        taken = None if picked else executor.submit(_take_rows, self.numbers, order)
        codes = list(executor.map(_pick, self.codes, [order] * len(self.codes)))
        weights = None if self.weights is None else self.weights[order]
        return [
            Encoded(
                n_rows=int(stop - start),
                coded=self.coded,
                numeric=self.numeric,
                codes=[column[start:stop] for column in codes],
                n_levels=self.n_levels,
                numbers=PickedRows(self.numbers, order[start:stop]) if taken is None else taken.result()[start:stop],
                weights=None if weights is None else weights[start:stop],
                offsets=self.offsets,
                # They are in no fold; the sum over the folds has to count them once.
                left_out=0 if fold else self.left_out,
            )
            for fold, (start, stop) in enumerate(pairwise(ends))
        ]


class LazyRows:
    """Rows of numbers that are written, as float64, where and when they are asked for.

    A subclass says in `_fill` how; `numpy.take` and slices work as on a matrix.

    Attributes
    ----------
    shape : tuple of int
    """

    dtype = np.dtype(np.float64)
    shape: tuple[int, int]

    def _fill(self, part: Any, out: Array) -> None:
        """Write the rows of a slice, or at an array of places."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Array:
        return self.copied(part, np.empty((self._count(part), self.shape[1])))

    def copied(self, part: Any, room: Array) -> Array:
        """Return some of the rows, in the first columns of `room`."""
        out = room[: self._count(part), : self.shape[1]]
        self._fill(part, out)
        return out

    def take(
        self, rows: npt.NDArray[np.integer], axis: int = 0, out: Array | None = None, mode: str = "raise"
    ) -> Array:
        """Return some rows; `numpy.take` finds this."""
        return self[rows] if out is None else self.copied(rows, out)

    def _count(self, part: Any) -> int:
        return len(range(*part.indices(len(self)))) if isinstance(part, slice) else len(part)


class PickedRows(LazyRows):
    """Some rows of a matrix."""

    def __init__(self, values: Any, rows: npt.NDArray[np.int32]) -> None:
        self._values, self._rows = values, rows
        self.shape = (len(rows), values.shape[1])

    def _fill(self, part: Any, out: Array) -> None:
        if self._values.dtype != out.dtype:
            out[:] = np.take(self._values, self._rows[part], axis=0)
            return
        # In mode "raise" numpy would take them into memory of its own first.
        np.take(self._values, self._rows[part], axis=0, out=out, mode="clip")


class SideBySide(LazyRows):
    """The rows of a matrix and, right of them, those of another.

    Examples
    --------
    >>> SideBySide(np.array([[1, 2], [3, 4]]), np.array([[0.5], [0.25]]))[1:]
    array([[3.  , 4.  , 0.25]])
    """

    def __init__(self, left: npt.NDArray, right: npt.NDArray) -> None:
        self._left, self._right = left, right
        self.shape = (len(left), left.shape[1] + right.shape[1])

    def _fill(self, part: Any, out: Array) -> None:
        width = self._left.shape[1]
        out[:, :width] = self._left[part]
        out[:, width:] = self._right[part]


def _take_rows(numbers: Any, rows: npt.NDArray[np.int32]) -> Any:
    return numbers[rows] if sp.issparse(numbers) else np.take(numbers, rows, axis=0)


def _pick(codes: Codes, rows: npt.NDArray[np.int32]) -> Codes:
    out = np.empty(len(rows), dtype=codes.dtype)
    (kernels.pick16 if codes.dtype == np.uint16 else kernels.pick32)(codes, rows, out)
    return out
