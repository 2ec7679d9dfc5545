"""Forward selection: the column that adds most to the model enters, step by step, each an exact least squares fit.

See `gramian.selection.residual` for the algebra. For a single number as target the sum of squared canonical correlations is
R^2; for classes the model is Fisher's, and the sum is the Pillai trace that a canonical correlation search maximises.

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

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array
from gramian.linear.regression.independence import scaled
from gramian.linear.regression.permutation import null_law
from gramian.selection.problem import Problem
from gramian.selection.residual import EXPLAINED, Residual


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


@dataclass(eq=False)
class Path:
    """Columns in the order in which they entered or left, and what was known of each at that step.

    Attributes
    ----------
    order : list of int
        Source columns.
    gain, score, p_value, corrected, explained : lists of float
        What the column adds to the model without it; that less twice what chance would add; its test; the p-value times the
        number of columns it was chosen from; the explained share of the target with it.
    coefficients : list of (p, m) arrays
        Of the models of 0, 1, 2... columns, in the order of `order`, where they were asked for.
    left_score, left_p_value : dicts
        Of the columns outside at the end, what they would add.
    """

    order: list[int] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    p_value: list[float] = field(default_factory=list)
    corrected: list[float] = field(default_factory=list)
    explained: list[float] = field(default_factory=list)
    coefficients: list[Array] = field(default_factory=list)
    left_score: dict[int, float] = field(default_factory=dict)
    left_p_value: dict[int, float] = field(default_factory=dict)

    def step(self, source: int, gain: float, score: float, p_value: float, rivals: int, explained: float) -> None:
        """Note the column of one more step; its p-value is corrected for the columns it was chosen from."""
        self.order.append(source)
        self.gain.append(gain)
        self.score.append(score)
        self.p_value.append(p_value)
        self.corrected.append(min(p_value * rivals, 1.0))
        self.explained.append(explained)


def forward(
    problem: Problem,
    *,
    include: Sequence[int] = (),
    steps: int | None = None,
    alpha: float | None = None,
    while_useful: bool = False,
    room: float = 0.0,
    with_coefficients: bool = False,
    with_tests: bool = True,
) -> Path:
    """Return the columns in the order in which they enter.

    Parameters
    ----------
    problem : Problem
    include : sequence of int
        Source columns that enter first, in this order.
    steps : int, optional
        Columns to enter after those; by default all.
    alpha : float, optional
        Stop before the first column whose p-value, times the number of columns it was chosen from, is above.
    while_useful : bool
        Stop where no column has a positive score.
    room : float
        With `while_useful`: go on without one while the model has fewer directions than this and some column adds any.
        Columns may matter only together, and then the first of them has no score of its own.
    with_coefficients : bool
        Keep the coefficients of the model of the included columns and of each step, over design columns.
    with_tests : bool
        Compute p-values; `alpha` needs them.

    Notes
    -----
    A step takes p times the directions entered so far, and a Cholesky factor of each category's levels or of those directions,
    whichever are fewer. No matrix of (p, p) is formed where that is wide.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> from gramian.selection.problem import problem_of
    >>> x = np.array([[1.0, 4.0, 0.0], [2.0, 1.0, 1.0], [3.0, 3.0, 1.0], [4.0, 2.0, 0.0], [5.0, 0.0, 1.0], [6.0, 9.0, 0.0]])
    >>> m = gm.collect(np.column_stack([x, 2 * x[:, 0] - x[:, 1]]))
    >>> forward(problem_of(m, ["x0", "x1", "x2"], ["x3"]), steps=2).order
    [0, 1]
    """
    state = Residual.of(problem)
    path = Path()
    outside = np.ones(len(problem.sources), dtype=bool)
    tests = with_tests or alpha is not None
    r = max(problem.target_rank, 1)

    def take(source: int, rivals: int) -> None:
        more, rank = state.adds(source)
        gain = float(np.trace(more))
        by_chance = float(chance(rank, r - np.trace(state.explained), problem.n, state.rank))
        p = p_value(problem, source, more, rank, state.explained, state.rank) if tests else float("nan")
        if alpha is not None and rivals and min(p * rivals, 1.0) > alpha:
            raise StopIteration
        state.enter(source)
        outside[source] = False
        path.step(source, gain, gain - 2 * by_chance, p, rivals, float(np.trace(state.explained)) / r)
        if with_coefficients and rivals:
            path.coefficients.append(_coefficients(problem, state))

    for source in include:
        take(source, 0)
    if with_coefficients:
        path.coefficients.append(_coefficients(problem, state))
    limit = len(outside) if steps is None else len(include) + steps
    while outside.any() and len(path.order) < limit:
        gain, rank = state.gains()
        unexplained = max(r - float(np.trace(state.explained)), 0.0)
        score = gain - 2 * chance(rank, unexplained, problem.n, state.rank)
        # Columns that the model explains already come last, in the order of the table.
        score = np.where(rank > 0, score, -np.inf)
        score = np.where(outside, score, -np.inf)
        top = score.max()
        # The first of those that rounding alone tells apart.
        best = int(np.argmax(score >= top - EXPLAINED * unexplained if np.isfinite(top) else outside))
        # Of a target that is explained only rounding is left to choose by.
        useful = score[best] > 0 and unexplained > EXPLAINED
        if while_useful and not useful and not (state.rank < room and np.isfinite(top)):
            break
        try:
            take(best, int(outside.sum()))
        except StopIteration:
            break
    _look_outside(problem, state, path, outside, tests)
    return path


def _coefficients(problem: Problem, state: Residual) -> Array:
    unit = problem.unit[:, None]
    return state.coefficients(problem.regression.cross / unit) / unit


def _look_outside(problem: Problem, state: Residual, path: Path, outside: npt.NDArray[np.bool_], tests: bool) -> None:
    """Note what the columns that did not enter would add."""
    gain, rank = state.gains()
    score = gain - 2 * chance(rank, problem.target_rank - np.trace(state.explained), problem.n, state.rank)
    for source in map(int, np.flatnonzero(outside)):
        path.left_score[source] = float(score[source])
        if tests:
            path.left_p_value[source] = p_value(problem, source, *state.adds(source), state.explained, state.rank)
