"""What a column adds to a model, beside what chance would add, and the test of it.

The columns of a model of rank k leave n - 1 - k directions of the rows. A column that has nothing to do with the target
takes rank of them at random, so of what is left to explain, r - q(A), it takes the share

    chance = rank (r - q(A)) / (n - 1 - k)

on average over all permutations. In rows not seen it loses as much again: its coefficients fit noise. So

    score = gain - 2 chance

estimates by how much the explained share of *new* rows grows, as Mallows' C_p and Akaike's criterion do. Among columns of
one direction each it orders them by gain, which is stepwise regression; a category of many levels must pay for each of
them; and one whose rank is at least half of n - 1 - k has no positive score whatever it explains: an identifier, which is
set aside before (`gramian.design.identifiers`), would never be chosen.

*The test* is that of `gramian.linear.regression.permutation` in the n - k dimensions that are left, of the column's
leverages and the target's, as if the part of the column that the model explains were a proportional one: exact for the
first column, an estimate for later ones.

References: Mallows, Some comments on C_p, Technometrics 15, 1973; Billings and Wei, Sparse model identification using a
forward orthogonal regression algorithm aided by mutual information, IEEE Transactions on Neural Networks 18, 2007.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array
from gramian.linear.regression.independence import scaled
from gramian.linear.regression.permutation import null_law
from gramian.selection.problem import Problem
from gramian.selection.residual import EXPLAINED


def chance(rank: npt.ArrayLike, unexplained: float, n: float, inside: float) -> Array:
    """Return what columns of these ranks add by chance to a model of rank `inside`.

    Examples
    --------
    >>> chance([1, 5], 0.5, 101.0, 0)
    array([0.005, 0.025])
    """
    return np.asarray(rank, dtype=np.float64) * max(unexplained, 0.0) / max(n - 1 - inside, 1.0)


def p_value(problem: Problem, source: int, more: Array, rank: int, explained: Array, inside: int) -> float:
    """Return the p-value of what a source column adds to a model.

    Parameters
    ----------
    problem : Problem
    source : int
    more : (r, r) array
        What it adds to `explained`.
    rank : int
        Its directions beyond the model.
    explained : (r, r) array
        Of the orthonormal functions of the target, by the model.
    inside : int
        Rank of the model.
    """
    values, vectors = eigh_descending(np.eye(len(explained)) - explained)
    kept = values > EXPLAINED
    if not rank or not kept.any():
        return 1.0
    n = problem.n - inside
    turned = vectors[:, kept] / np.sqrt(values[kept])
    statistic = (n - 1) * float(np.sum(turned * (more @ turned)))
    target = problem.target_side
    left = int(kept.sum())
    target = target if left == target.rank else scaled(target, left)
    return null_law(n, problem.side(source, rank), target).upper_tail(statistic)
