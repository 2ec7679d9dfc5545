"""The best of some candidate codes: squared error, non-zero count, and the choice between them.

With a penalty the cost of a code y is ``||x - y D||^2 + penalty ||y||_0`` (or the plain error in place of its square), and the
least cost wins. Without one the least error wins. Costs that are equal to rounding are a tie, and of tied codes the sparsest
wins: a lecture's two codes of error sqrt(0.025) differ in the last bit, and that bit must not decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, shown
from gramian.parameters import check, number
from gramian.sparse.atoms import as_dictionary, lengths_of

TIE = 1e-9
"""Errors closer than this, relative to the length of the signal, are equal; so are the costs made of them."""


@dataclass(frozen=True)
class BestCode:
    """What was found for each candidate, and which one is best.

    Attributes
    ----------
    names : list
        Of the candidates: their keys, or 0, 1, 2...
    errors : (m,) array
        ``||x - y D||``.
    counts : (m,) array of int
        Non-zero coefficients.
    costs : (m,) array
        What was minimised.
    reconstructions : (m, p) array
    index : int
        Which candidate is best.
    best : the name of that candidate
    code : (k,) array
        That candidate.
    reason : str
        Why it is.
    """

    names: list[Any]
    errors: Array
    counts: Array
    costs: Array
    reconstructions: Array
    index: int
    best: Any
    code: Array
    reason: str


def best_code(x: Any, dictionary: Any, candidates: Any, penalty: float | None = None, squared: bool = True) -> BestCode:
    """Return the error and count of each candidate code of a signal, the best of them, and why it is.

    Parameters
    ----------
    x : (p,) array-like
        The signal.
    dictionary : (k, p) array-like
        One atom per row, of any length.
    candidates : (m, k) array-like, or mapping of names to codes
    penalty : float, optional
        Price of a non-zero coefficient. None: the least error wins, and of equal errors the fewest coefficients.
    squared : bool
        Whether the penalty is weighed against the squared error, as in ``||x - y D||^2 + penalty ||y||_0``, or the error.

    Returns
    -------
    BestCode

    Examples
    --------
    >>> atoms = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> found = best_code([0.7, 0.7], atoms, {"two": [0.7, 0.7, 0], "one": [0, 0, 1]})
    >>> found.best, found.counts.tolist()
    ('one', [2, 1])
    >>> print(found.reason)
    'one' has the same error as 'two' (0) with fewer non-zero coefficients (1 against 2)
    """
    atoms = as_dictionary(dictionary, zero_atoms=True)
    signal = _numbers(x, "x")
    names = list(candidates) if isinstance(candidates, Mapping) else list(range(len(candidates)))
    if not names:
        raise DataError("there are no candidates; give at least one code")
    rows = list(candidates.values()) if isinstance(candidates, Mapping) else list(candidates)
    codes = [_numbers(row, f"candidate {shown(name)}") for name, row in zip(names, rows, strict=True)]
    if signal.shape != (atoms.shape[1],):
        turned = (
            "transpose the dictionary: atoms are rows"
            if signal.shape == (len(atoms),)
            else "give one signal of that many"
        )
        raise DataError(f"x has shape {signal.shape} and the atoms have {atoms.shape[1]} columns; {turned}")
    for name, code in zip(names, codes, strict=True):
        if code.shape != (len(atoms),):
            raise DataError(f"candidate {shown(name)} has shape {code.shape}; the dictionary has {len(atoms)} atoms")
    check("penalty", penalty, None, number(least=0))
    stacked = np.stack(codes)
    reconstructions = stacked @ atoms
    # At the scale of the signal, so that the square of a small error does not vanish nor that of a large one overflow.
    errors = lengths_of(signal - reconstructions)
    counts = np.count_nonzero(stacked, axis=1)
    price = 0.0 if penalty is None else float(penalty)
    costs = (np.square(errors) if squared else errors) + price * counts
    near = TIE * float(lengths_of(signal[None])[0])
    # What a change of the error by `near` does to a cost.
    slack = (2 * errors * near + near**2 if squared else near) + TIE * price * counts
    least = int(np.argmin(costs))
    tied = np.flatnonzero(costs <= costs[least] + slack + slack[least])
    index = int(tied[np.argmin(counts[tied])])
    reason = _reason(names, errors, counts, costs, index, tied, penalty, squared)
    return BestCode(names, errors, counts, costs, reconstructions, index, names[index], stacked[index], reason)


def _numbers(values: Any, what: str) -> Array:
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} holds values that are not numbers") from None
    if not np.isfinite(out).all():
        raise DataError(f"{what} holds NaN or infinity; give numbers")
    return out


def _reason(
    names: list[Any],
    errors: Array,
    counts: Array,
    costs: Array,
    index: int,
    tied: Array,
    penalty: float | None,
    squared: bool,
) -> str:
    name = shown(names[index])
    if len(names) == 1:
        return f"{name} is the only candidate"
    what = "error" if penalty is None else f"{'squared error' if squared else 'error'} + {penalty:g} per coefficient"
    rivals = [int(k) for k in tied if k != index]
    if rivals:
        rival = shown(names[rivals[0]])
        fewer = counts[index] < counts[rivals[0]]
        same = f"{name} has the same {what} as {rival} ({(errors if penalty is None else costs)[index]:.6g})"
        if fewer:
            return f"{same} with fewer non-zero coefficients ({counts[index]} against {counts[rivals[0]]})"
        return f"{same} and as many non-zero coefficients: the first of them is taken"
    values = errors if penalty is None else costs
    second = int(np.argsort(values, kind="stable")[1])
    return f"{name} has the least {what}: {values[index]:.6g}, against {values[second]:.6g} of {shown(names[second])}"
