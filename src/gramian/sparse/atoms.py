"""A dictionary: atoms are rows, and a signal is about `code @ dictionary`.

With atoms ``d_j`` (rows of the k x p matrix D) and a signal x of p numbers, every coder sees the signal through two small
things alone: the correlations ``b = D x`` and the Gram matrix ``G = D D^T``, since

    ||x - y D||^2 = ||x||^2 - 2 b.y + y G y.

The largest eigenvalue of G bounds the steps of every iteration on the residual.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError

UNIT = 1e-4
"""How far the length of an atom may be from 1: a dictionary kept in float32 is off by less."""


def as_dictionary(dictionary: Any, *, zero_atoms: bool = False) -> Array:
    """Return atoms as a contiguous float64 matrix, one atom a row.

    Parameters
    ----------
    dictionary : (k, p) array-like
    zero_atoms : bool
        Whether an atom may be zero, as a centre of vector quantisation may.

    Examples
    --------
    >>> as_dictionary([[1, 0], [0, 1]])
    array([[1., 0.],
           [0., 1.]])
    >>> as_dictionary([[1, 0], [0, 0]])
    Traceback (most recent call last):
    gramian.errors.DataError: atom 1 of the dictionary is zero: no signal is made of it; leave it out
    """
    if dictionary is None:
        raise DataError("dictionary is None; give the atoms as the rows of a matrix, atoms x columns")
    try:
        atoms = np.ascontiguousarray(dictionary, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the dictionary holds values that are no numbers; give atoms as rows of numbers") from None
    if atoms.ndim != 2 or 0 in atoms.shape:
        raise DataError(f"the dictionary has shape {atoms.shape}; atoms are the rows of a matrix, atoms x columns")
    bad = np.flatnonzero(~np.isfinite(atoms).all(axis=1))
    if len(bad):
        raise DataError(f"atom {bad[0]} of the dictionary holds NaN or infinity; every atom needs numbers")
    zero = np.flatnonzero(~atoms.any(axis=1))
    if len(zero) and not zero_atoms:
        raise DataError(f"atom {zero[0]} of the dictionary is zero: no signal is made of it; leave it out")
    return atoms


def require_unit(atoms: Array, algorithm: str) -> None:
    """Raise for the first atom whose length is not 1.

    Examples
    --------
    >>> require_unit(np.array([[1.0, 0.0], [3.0, 4.0]]), "omp")
    Traceback (most recent call last):
    gramian.errors.DataError: atom 1 of the dictionary has length 5 and 'omp' needs atoms of length 1; divide it by that
    """
    lengths = lengths_of(atoms)
    off = np.flatnonzero(np.abs(lengths - 1) > UNIT)
    if len(off):
        raise DataError(
            f"atom {off[0]} of the dictionary has length {lengths[off[0]]:.6g} and {algorithm!r} needs atoms of length 1; "
            f"divide it by that"
        )


def lengths_of(rows: Array) -> Array:
    """Return the length of each row, of rows whose squares overflow or vanish too.

    Examples
    --------
    >>> lengths_of(np.array([[3e200, 4e200], [0.0, 0.0]]))
    array([5.e+200, 0.e+000])
    """
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1)))


def unit_rows(rows: Array) -> Array:
    """Return rows divided by their lengths; zero rows stay zero."""
    lengths = lengths_of(rows)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None])


def largest_eigenvalue(atoms: Array) -> float:
    """Return the largest eigenvalue of the Gram matrix, from the smaller of its two forms.

    Examples
    --------
    >>> largest_eigenvalue(np.array([[1.0, 1.0], [1.0, 1.0]]))
    4.0
    """
    return float(np.linalg.norm(atoms, 2) ** 2)


def require_step(step: float, bound: float, algorithm: str) -> None:
    """Raise where steps on the residual would grow it.

    Examples
    --------
    >>> require_step(0.9, 0.5, "feedback")
    Traceback (most recent call last):
    gramian.errors.DataError: step=0.9 diverges: 'feedback' needs a step between 0 and 0.5, 2 / largest eigenvalue of D D^T
    """
    if not 0 < step < bound:
        raise DataError(
            Argument("step", step),
            f" diverges: {algorithm!r} needs a step between 0 and {bound:.6g}, 2 / largest eigenvalue of D D^T",
        )
