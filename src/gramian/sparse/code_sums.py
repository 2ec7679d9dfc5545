"""What a dictionary is learned from: sums of code x code and code x signal, which add up like moments.

For fixed codes C of signals X the squared error of a dictionary D is

    ||X - C D||^2 = tr(X^T X) - 2 tr(D^T B) + tr(D^T A D),   A = C^T C,   B = C^T X,

so A (k x k), B (k x p) and one number hold all that an update of the atoms needs, whatever the number of signals. They are
sums over rows: sums of two parts add, a part can be taken off again, and a factor below 1 forgets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError


@dataclass(frozen=True, eq=False)
class CodeSums:
    """Sums over signals and their codes.

    Attributes
    ----------
    weight : float
        How many signals.
    code_code : (k, k) array
    code_signal : (k, p) array
    signal_square : float
        Sum of squared lengths of the signals.
    uses : (k,) array
        How many signals use each atom.

    Examples
    --------
    >>> one = CodeSums.of(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]))
    >>> two = CodeSums.of(np.array([[0.0, 3.0]]), np.array([[0.5, 2.0]]))
    >>> (one + two).code_code
    array([[1.25, 1.  ],
           [1.  , 4.  ]])
    >>> (one + two - two).isclose(one)
    True
    """

    weight: float
    code_code: Array
    code_signal: Array
    signal_square: float
    uses: Array

    @classmethod
    def empty(cls, n_atoms: int, n_columns: int) -> CodeSums:
        """Return the sums of no signals."""
        return cls(0.0, np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, n_columns)), 0.0, np.zeros(n_atoms))

    @classmethod
    def of(cls, signals: Array, codes: Array) -> CodeSums:
        """Return the sums of signals (n, p) and their codes (n, k)."""
        signals = np.asarray(signals, dtype=np.float64)
        uses = np.count_nonzero(codes, axis=0).astype(np.float64)
        return cls(float(len(codes)), codes.T @ codes, codes.T @ signals, float(np.square(signals).sum()), uses)

    def __add__(self, other: CodeSums) -> CodeSums:
        return self._with(other, 1.0)

    def __sub__(self, other: CodeSums) -> CodeSums:
        if other.weight > self.weight * (1 + 1e-12):
            raise DataError(f"sums of {other.weight:g} signals cannot be part of sums of {self.weight:g}; swap them")
        return self._with(other, -1.0)

    def __mul__(self, factor: float) -> CodeSums:
        return CodeSums(
            self.weight * factor,
            self.code_code * factor,
            self.code_signal * factor,
            self.signal_square * factor,
            self.uses * factor,
        )

    def _with(self, other: CodeSums, sign: float) -> CodeSums:
        if self.code_signal.shape != other.code_signal.shape:
            raise DataError(
                f"sums over {self.code_signal.shape} atoms x columns do not add to sums over {other.code_signal.shape}"
            )
        return CodeSums(
            self.weight + sign * other.weight,
            self.code_code + sign * other.code_code,
            self.code_signal + sign * other.code_signal,
            self.signal_square + sign * other.signal_square,
            self.uses + sign * other.uses,
        )

    def isclose(self, other: CodeSums, tolerance: float = 1e-10) -> bool:
        """Whether both are the same to rounding, relative to the largest sum of each kind."""
        pairs = [(vars(self)[name], vars(other)[name]) for name in vars(self)]
        return all(
            np.shape(a) == np.shape(b)
            and bool(np.all(np.abs(a - b) <= tolerance * np.max(np.abs([a, b]), initial=0.0)))
            for a, b in pairs
        )

    def without(self, atoms: Array) -> CodeSums:
        """Return the sums as if some atoms had never been used."""
        code_code, code_signal, uses = self.code_code.copy(), self.code_signal.copy(), self.uses.copy()
        code_code[atoms], code_code[:, atoms], code_signal[atoms], uses[atoms] = 0.0, 0.0, 0.0, 0.0
        return CodeSums(self.weight, code_code, code_signal, self.signal_square, uses)

    def squared_error(self, dictionary: Array) -> float:
        """Return the squared error of the summed codes over a dictionary."""
        twice = 2 * float(np.vdot(self.code_signal, dictionary))
        return max(0.0, self.signal_square - twice + float(np.vdot(self.code_code, dictionary @ dictionary.T)))
