"""Dictionaries: checks of their atoms, signals coded in blocks, and competition among activities.

Atoms are rows, and a signal is about `code @ dictionary`. With atoms ``d_j`` (rows of the k x p matrix D) and a signal x of p
numbers, every coder sees the signal through the correlations ``b = D x`` and the Gram matrix ``G = D D^T`` alone, since

    ||x - y D||^2 = ||x||^2 - 2 b.y + y G y.

The largest eigenvalue of G bounds the steps of every iteration on the residual.

Activities that inhibit each other compete. Winner-take-all is the limit of strong inhibition, k-winners its soft bound. The
softmax is a competition in shares, which its inverse temperature turns from a draw (0) into winner-take-all (infinity).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.parameters import check, number, whole

UNIT = 1e-4
"""How far the length of an atom may be from 1: a dictionary kept in float32 is off by less."""


def as_dictionary(dictionary: Any, *, zero_atoms: bool = False) -> Array:
    """Return atoms as a contiguous float64 matrix, one atom per row.

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
        raise DataError("the dictionary holds values that are not numbers; give atoms as rows of numbers") from None
    if atoms.ndim != 2 or 0 in atoms.shape:
        raise DataError(f"the dictionary has shape {atoms.shape}; atoms are the rows of a matrix, atoms x columns")
    bad = np.flatnonzero(~np.isfinite(atoms).all(axis=1))
    if len(bad):
        raise DataError(f"atom {bad[0]} of the dictionary holds NaN or infinity; every atom needs numbers")
    zero = np.flatnonzero(~atoms.any(axis=1))
    if len(zero) and not zero_atoms:
        raise DataError(f"atom {zero[0]} of the dictionary is zero: no signal is made of it; leave it out")
    return atoms


def require_unit(atoms: Array) -> None:
    """Raise for the first atom whose length is not 1.

    Examples
    --------
    >>> require_unit(np.array([[1.0, 0.0], [3.0, 4.0]]))
    Traceback (most recent call last):
    gramian.errors.DataError: atom 1 of the dictionary has length 5 and 'omp' needs atoms of length 1; divide it by that
    """
    lengths = lengths_of(atoms)
    off = np.flatnonzero(np.abs(lengths - 1) > UNIT)
    if len(off):
        raise DataError(
            f"atom {off[0]} of the dictionary has length {lengths[off[0]]:.6g} and 'omp' needs atoms of length 1; "
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


BLOCK_ROWS = 256
"""Rows of a block: their correlations with a few hundred atoms stay in the cache of one core."""


def coded(signals: Array, atoms: Array, code: Callable[[Array, Array, Array], int]) -> tuple[Array, int]:
    """Return the codes of signals, (n, k), and the sum of what `code` returned: how many signals had not settled.

    Parameters
    ----------
    signals : (n, p) array of floats
    atoms : (k, p) array
    code : function of a block of signals, their correlations with the atoms, and the (zero) codes to be written
        Called in threads.
    """
    n, k = len(signals), len(atoms)
    codes = np.zeros((n, k))
    # Blocks no longer than a thread's share: a few rows of long searches are spread over the cores too.
    step = max(1, min(BLOCK_ROWS, -(-n // (4 * usable_cores(None)))))

    def one(start: int) -> int:
        rows = slice(start, start + step)
        block = np.ascontiguousarray(signals[rows], dtype=np.float64)
        return code(block, block @ atoms.T, codes[rows])

    with one_blas_thread():
        return codes, sum(in_threads(one, range(0, n, step)))


def winner_take_all(activities: Any, *, absolute: bool = False) -> Array:
    """Return activities with all but the largest of each row set to zero.

    Parameters
    ----------
    activities : (n, k) or (k,) array-like
    absolute : bool
        Whether sizes compete, whatever their sign.

    Notes
    -----
    Of equal activities the first wins.

    Examples
    --------
    >>> winner_take_all([0.2, 0.9, 0.5])
    array([0. , 0.9, 0. ])
    """
    return k_winners(activities, 1, absolute=absolute)


def k_winners(activities: Any, k: int, *, absolute: bool = False) -> Array:
    """Return activities with all but the `k` largest of each row set to zero.

    Parameters
    ----------
    activities : (n, m) or (m,) array-like
    k : int
        How many stay, from 1 to m.
    absolute : bool
        Whether sizes compete, whatever their sign.

    Notes
    -----
    Of equal activities the first win. O(m log m) per row.

    Examples
    --------
    >>> k_winners([[0.2, -0.9, 0.5, 0.5]], 2)
    array([[0. , 0. , 0.5, 0.5]])
    >>> k_winners([0.2, -0.9, 0.5, 0.5], 2, absolute=True)
    array([ 0. , -0.9,  0.5,  0. ])
    """
    values = _rows(activities)
    width = values.shape[-1]
    check("k", k, whole(1, width, words="a number of activities"))
    sizes = np.abs(values) if absolute else values
    # A stable sort of negatives: the first of equals comes first.
    winners = np.argsort(-sizes, axis=-1, kind="stable")[..., :k]
    out = np.zeros_like(values)
    np.put_along_axis(out, winners, np.take_along_axis(values, winners, axis=-1), axis=-1)
    return out


def softmax(activities: Any, *, sharpness: float = 1.0) -> Array:
    """Return each row's activities as shares of one: ``exp(sharpness a_j) / sum_i exp(sharpness a_i)``.

    Parameters
    ----------
    activities : (n, k) or (k,) array-like
    sharpness : float
        The inverse temperature, from 0.

    Notes
    -----
    The largest activity is taken off each row first, which changes no share and keeps the exponentials finite.

    Examples
    --------
    >>> softmax([1000.0, 1000.0])
    array([0.5, 0.5])
    """
    values = _rows(activities)
    check("sharpness", sharpness, number(least=0))
    weights = np.exp(float(sharpness) * (values - values.max(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _rows(activities: Any) -> Array:
    values = np.asarray(activities)
    if values.dtype.kind not in "fiub":
        raise DataError("activities are numbers; got values of another kind")
    values = values if values.dtype == np.float32 else values.astype(np.float64)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        raise DataError(f"activities have shape {values.shape}; give one row, or rows, of at least one activity")
    if not np.isfinite(values).all():
        raise DataError("activities hold NaN or infinity; a competition needs numbers")
    return values
