"""Short stretches of rows, held back to be counted together: a thread pool pays only over many rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.moments.counting.running_totals import grown

SHORT_STRETCH = 2**13
"""Rows below which a stretch is held back, and how many are held at most."""


class HeldRows:
    """Room for the rows of short stretches, in the order in which they came.

    Examples
    --------
    >>> held = HeldRows(weighted=False)
    >>> for codes in ([0, 1], [2]):
    ...     held.add([np.array(codes, np.uint16)], None, None, 0)
    >>> codes, weights, numbers = held.take()
    >>> codes[0].tolist(), weights, numbers, held.rows
    ([0, 1, 2], None, None, 0)
    """

    def __init__(self, weighted: bool) -> None:
        self.rows = 0
        self._weighted = weighted
        self._codes: list[np.ndarray] = []
        self._weights = np.empty(0)
        self._numbers = np.empty((0, 0))

    @property
    def nbytes(self) -> int:
        """Bytes of codes and numbers; 0 before the first rows."""
        return self._numbers.nbytes + sum(codes.nbytes for codes in self._codes)

    def has_room(self, rows: int) -> bool:
        """Whether so many rows more can be held."""
        return self.rows + rows <= SHORT_STRETCH

    def add(
        self, codes: Sequence[np.ndarray], weights: np.ndarray | None, numbers: np.ndarray | None, n_numbers: int
    ) -> None:
        """Hold some rows; `n_numbers` is how many numbers a row has by now, 0 where it lacks them."""
        if not self._codes:
            self._codes = [np.empty(SHORT_STRETCH, c.dtype) for c in codes]
            self._weights = np.empty(SHORT_STRETCH if self._weighted else 0)
        start, stop = self.rows, self.rows + len(codes[0])
        for j, column in enumerate(codes):
            if column.itemsize > self._codes[j].itemsize:
                self._codes[j] = self._codes[j].astype(column.dtype)
            self._codes[j][start:stop] = column
        if weights is not None:
            self._weights[start:stop] = weights
        if n_numbers:
            self._numbers = grown(self._numbers, (SHORT_STRETCH, n_numbers), np.float64)
            self._numbers[start:stop] = 0.0
            if numbers is not None:
                self._numbers[start:stop, : numbers.shape[1]] = numbers
        self.rows = stop

    def take(self) -> tuple[list[np.ndarray], np.ndarray | None, np.ndarray | None]:
        """Return codes, weights and numbers of the rows held, valid until others are; none are held then."""
        rows, self.rows = self.rows, 0
        return (
            [codes[:rows] for codes in self._codes],
            self._weights[:rows] if self._weighted else None,
            self._numbers[:rows] if self._numbers.size else None,
        )
