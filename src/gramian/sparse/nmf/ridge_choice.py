"""Which ridge holds coefficients where entries are missing: judged at observed entries that are hidden from the fit.

How much to hold depends on the table. Where few parts make all of it, least squares is right and any ridge only shrinks; where
parts are many and a row shows little of some, a coefficient without a hold is whatever fits the noise of a few entries. What
observed entries say about this is what a fit without some of them makes of those: a tenth is hidden, at most from a thousand
rows, every ridge is fitted to the rest, and the one of the least squared error at the hidden ones is taken. Rows and columns
keep an entry each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.sparse.nmf.factorise import Observed, factorise

RIDGES = (0.0, 0.01, 0.1, 1.0)
"""What is tried, in entries of a row."""
ROWS = 1000
SHARE = 0.1
ROUNDS = 200
"""Iterations of each trial, at most."""


def choose_ridge(
    data: Observed, n_atoms: int, *, row_weights: Array | None = None, init: Any = "svd", seed: int = 0
) -> float:
    """Return the ridge for squared error whose fit is nearest to entries it did not see; 0 where no entry is missing.

    Parameters
    ----------
    data : Observed
    n_atoms : int
    row_weights, init
        As in `factorise`.
    seed : int
        Which entries are hidden.

    Examples
    --------
    >>> X = np.outer([1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 1.0, 5.0, 2.0])
    >>> X[2, 2] = np.nan
    >>> choose_ridge(Observed.of(X), 1), choose_ridge(Observed.of(np.nan_to_num(X)), 1)
    (0.0, 0.0)
    """
    if data.weights is None or data.weights.all():
        return 0.0
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(data.values))[:ROWS])
    values, weights = data.values[rows], data.weights[rows]
    counts = None if row_weights is None else row_weights[rows]
    # Columns that none of these rows shows have nothing to say.
    shown = weights.any(axis=0)
    values, weights = np.ascontiguousarray(values[:, shown]), np.ascontiguousarray(weights[:, shown])
    hidden = _hidden(weights > 0, rng)
    if not hidden.any():
        return RIDGES[-1]
    rest = Observed(np.where(hidden, 0.0, values), np.where(hidden, 0.0, weights))
    start = init if isinstance(init, str) else np.ascontiguousarray(init[:, shown])
    joint = weights if counts is None else weights * counts[:, None]
    errors = []
    for ridge in RIDGES:
        factors = factorise(
            rest, n_atoms, row_weights=counts, init=start, max_iter=ROUNDS, ridge=ridge, rng=_again(seed)
        )
        left = values - factors.codes @ factors.atoms
        errors.append(float((joint * np.square(left))[hidden].sum()))
    return RIDGES[int(np.argmin(errors))]


def _again(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 1])


def _hidden(observed: Array, rng: np.random.Generator) -> Array:
    """Return a tenth of the observed entries to hide, at least one where that leaves one in its row and column."""
    left_of_rows, left_of_columns = observed.sum(axis=1), observed.sum(axis=0)
    hidden = np.zeros(observed.shape, dtype=bool)
    at = np.argwhere(observed)
    wanted = max(1, int(SHARE * len(at)))
    for i, t in at[rng.permutation(len(at))]:
        if left_of_rows[i] > 1 and left_of_columns[t] > 1:
            hidden[i, t] = True
            left_of_rows[i] -= 1
            left_of_columns[t] -= 1
            wanted -= 1
            if not wanted:
                break
    return hidden
