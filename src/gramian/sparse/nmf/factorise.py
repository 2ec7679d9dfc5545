"""Alternating factorisation: codes for the atoms, atoms for the codes, until the loss has settled.

Both halves are the same problem with rows and columns exchanged (`gramian.sparse.nmf.hals` for squared error,
`gramian.sparse.nmf.losses` otherwise), and neither raises the loss. Data are divided by their largest value first:
the losses are homogeneous, so the factors of scaled data are the scaled factors, and no floor depends on a unit.

Where entries are missing a row may show only entries at which an atom is nearly zero, and least squares then gives
that atom any coefficient. A ridge holds it: ``ridge/(2 p) sum_a ||c_a||^2 ||d_a||^2`` over the k rank-one parts,
added to the loss. For one row it weighs as much as `ridge` more entries of average size at which nothing was found,
so a row of q observed entries shrinks by about q/(q + ridge); it does not change when an atom is scaled and its
coefficients are scaled back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.sparse.nmf.hals import descend_rows
from gramian.sparse.nmf.losses import divergence, multiply, ratio_parts
from gramian.sparse.nmf.start import random_start, singular_start

SWEEPS = 10
"""Sweeps over a row's coefficients in one iteration, at most; they end sooner where they no longer pay."""

SETTLED = 1e-20
"""Squared move of a sweep, relative to the first, at which the codes of new rows have settled."""


@dataclass(frozen=True)
class Factors:
    """What a factorisation found.

    Attributes
    ----------
    codes : (n, k) array
    atoms : (k, p) array
    history : array
        The loss at the start and after each iteration.
    """

    codes: Array
    atoms: Array
    history: Array


@dataclass(frozen=True)
class Observed:
    """Entries, and how much each counts.

    Attributes
    ----------
    values : (n, p) array
        0 where not observed.
    weights : (n, p) array or None
        0 where not observed; None where all count alike.
    """

    values: Array
    weights: Array | None

    @classmethod
    def of(cls, values: Array, entry_weight: Any = None, *, beta: float = 2.0) -> Observed:
        """Return entries checked for this loss: NaN is not observed, and no entry is negative.

        Examples
        --------
        >>> Observed.of(np.array([[1.0, np.nan]])).weights
        array([[1., 0.]])
        """
        values = np.array(values, dtype=np.float64, order="C")
        missing = np.isnan(values)
        weights = None
        if entry_weight is not None:
            weights = np.array(entry_weight, dtype=np.float64, order="C")
            if weights.shape != values.shape:
                raise DataError(
                    f"entry_weight has shape {weights.shape} and X {values.shape}; give one weight an entry"
                )
            if not np.isfinite(weights).all() or (weights < 0).any():
                raise DataError("entry_weight holds a negative value, NaN or infinity; weights are numbers from 0")
        if missing.any():
            weights = np.ones_like(values) if weights is None else weights
            weights[missing] = 0.0
            values[missing] = 0.0
        if (values < 0).any():
            row, column = np.argwhere(values < 0)[0]
            raise DataError(
                f"Negative values in data passed to NMF: row {row}, column {column} holds {values[row, column]:g}, and a "
                f"sum of non-negative parts is never negative; shift the column or leave it out"
            )
        counted = np.ones(values.shape, dtype=bool) if weights is None else weights > 0
        if beta <= 0 and (counted & (values == 0)).any():
            row, column = np.argwhere(counted & (values == 0))[0]
            raise DataError(
                f"row {row}, column {column} is zero, where a beta_loss of at most 0 ('itakura-saito') is infinite; use "
                f"'kullback-leibler', or NaN where nothing was observed"
            )
        return cls(values, weights)

    def require_rows(self) -> None:
        """Raise for a row without an observed entry."""
        if self.weights is not None:
            empty = np.flatnonzero(~self.weights.any(axis=1))
            if len(empty):
                raise DataError(f"row {empty[0]} has no observed value; leave it out")

    def require_columns(self, names: Any = None) -> None:
        """Raise for a column without an observed entry."""
        if self.weights is not None:
            empty = np.flatnonzero(~self.weights.any(axis=0))
            if len(empty):
                name = repr(str(names[empty[0]])) if names is not None else str(empty[0])
                raise DataError(f"column {name} has no observed value; leave it out")


def factorise(
    data: Observed,
    n_atoms: int,
    *,
    beta: float = 2.0,
    row_weights: Array | None = None,
    init: str | Array = "svd",
    max_iter: int = 200,
    tol: float = 1e-4,
    ridge: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Factors:
    """Return non-negative codes and atoms whose product is near the data where they were observed.

    Parameters
    ----------
    data : Observed
    n_atoms : int
    beta : float
        Of the loss (see `gramian.sparse.nmf.losses`).
    row_weights : (n,) array, optional
        How often each row counts.
    init : "svd", "random" or (k, p) array
        Where the atoms begin.
    max_iter : int
    tol : float
        Fall of the loss in an iteration, relative to the loss, at which to stop.
    ridge : float
        Counted in entries of a row; for squared error.
    rng : Generator
        For `"random"`.

    Notes
    -----
    Squared error costs O(n p k) an iteration where everything was observed and O(n p k^2) otherwise; the other losses cost
    O(n p k).

    Examples
    --------
    >>> X = np.outer([1.0, 2.0, 3.0], [4.0, 0.0, 5.0])
    >>> hidden = X.copy()
    >>> hidden[2, 2] = np.nan
    >>> found = factorise(Observed.of(hidden), 1, tol=0)
    >>> (found.codes @ found.atoms)[2, 2].round(3)
    np.float64(15.0)
    """
    scale = float(data.values.max(initial=0.0))
    scale = scale if scale > 0 else 1.0
    values, weights = data.values / scale, data.weights
    joint = weights if row_weights is None else _joint(weights, row_weights, values.shape)
    if isinstance(init, str):
        rng = np.random.default_rng(0) if rng is None else rng
        start = (
            singular_start(values, weights, row_weights, n_atoms)
            if init == "svd"
            else random_start(values, n_atoms, rng)
        )
        codes, atoms = start
    else:
        atoms = np.array(init, dtype=np.float64, order="C") / scale
        codes = codes_of(Observed(values, weights), atoms, beta=beta, ridge=ridge)
    flipped = np.ascontiguousarray(values.T)
    flipped_weights = None if joint is None else np.ascontiguousarray(joint.T)
    share, counts = ridge / values.shape[1], np.ones(len(values)) if row_weights is None else row_weights

    def loss() -> float:
        held = 0.5 * share * float(counts @ np.square(codes) @ np.square(atoms).sum(axis=1)) if share else 0.0
        return divergence(values, joint, codes @ atoms, beta) + held

    losses = [loss()]
    for _ in range(max_iter):
        if beta == 2:
            held = share * np.square(atoms).sum(axis=1)
            descend_rows(values, weights, atoms, codes, sweeps=SWEEPS, ridge=held)
            columns, across = np.ascontiguousarray(atoms.T), np.ascontiguousarray(codes.T)
            held = share * (np.square(across) @ counts)
            if row_weights is not None and weights is None:
                # Scaled by the roots of their weights rows count as often as they should, and one Gram matrix serves all.
                roots = np.sqrt(row_weights)
                descend_rows(flipped * roots, None, across * roots, columns, sweeps=SWEEPS, ridge=held)
            else:
                descend_rows(flipped, flipped_weights, across, columns, sweeps=SWEEPS, ridge=held)
            atoms = np.ascontiguousarray(columns.T)
        else:
            codes = multiply(codes, *ratio_parts(values, weights, codes @ atoms, atoms, beta), beta)
            made = (codes @ atoms).T
            parts = ratio_parts(flipped, flipped_weights, made, np.ascontiguousarray(codes.T), beta)
            atoms = multiply(atoms.T, *parts, beta).T
        losses.append(loss())
        if losses[-2] - losses[-1] <= tol * losses[-1]:
            break
    history = np.array(losses) * scale**beta
    return Factors(codes, np.ascontiguousarray(atoms) * scale, history)


def codes_of(
    data: Observed, atoms: Array, *, beta: float = 2.0, ridge: float = 0.0, max_iter: int = 2000, tol: float = 1e-7
) -> Array:
    """Return the non-negative codes of rows over atoms that are given, (n, k).

    Parameters
    ----------
    data : Observed
    atoms : (k, p) array
    beta : float
    ridge : float
        Counted in entries of a row; for squared error.
    max_iter : int
        Steps of the multiplicative update, at most; squared error is solved until it has settled.
    tol : float
        Change of a coefficient in a step, relative to the largest, at which those steps stop.

    Examples
    --------
    >>> codes_of(Observed.of(np.array([[2.0, np.nan]])), np.array([[1.0, 1.0]]))
    array([[2.]])
    """
    n, k = len(data.values), len(atoms)
    if beta == 2:
        codes = np.zeros((n, k))
        held = ridge / atoms.shape[1] * np.square(atoms).sum(axis=1)
        descend_rows(data.values, data.weights, atoms, codes, sweeps=10_000, pays=SETTLED, ridge=held)
        return codes
    # Begin where the sum of each reconstruction is that of its row: a scale that multiplicative steps keep.
    total = data.values.sum(axis=1)
    made = atoms.sum(axis=0) if data.weights is None else (data.weights > 0) @ atoms.sum(axis=0)
    reach = made.sum() if data.weights is None else made
    codes = np.repeat((total / np.where(reach > 0, reach, 1.0))[:, None], k, axis=1)
    for _ in range(max_iter):
        after = multiply(codes, *ratio_parts(data.values, data.weights, codes @ atoms, atoms, beta), beta)
        still = np.abs(after - codes).max(initial=0.0) <= tol * after.max(initial=0.0)
        codes = after
        if still:
            break
    return codes


def _joint(weights: Array | None, row_weights: Array, shape: tuple[int, ...]) -> Array:
    ones = np.ones(shape) if weights is None else weights
    return np.asarray(ones * row_weights[:, None])
