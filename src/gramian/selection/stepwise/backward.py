"""Backward elimination: from all columns, the one that the others miss least leaves, step by step, by downdating.

With P = S^-1 over the columns in the model and B = P C its coefficients, leaving g out changes the sum of squared canonical
correlations by

    loss(g) = tr(B_g^T (P_gg)^-1 B_g),

and P and B of the model without g are P - P_.g (P_gg)^-1 P_g. and B - P_.g (P_gg)^-1 B_g. (P_gg)^-1 is what the other
columns leave of the block of g, so its rank is that of `gramian.selection.residual`, and with it score and test are
those of `gramian.selection.stepwise.partial`, chance being counted by what the model with g leaves unexplained, the same for
every column in it: the column of the least score leaves.

Columns without a direction of their own (constants, repetitions of others, everything where columns are more than rows)
leave before that, since the fit does not change: of those the one whose coefficients are least, a direction. Of repeated
columns B has the coefficients of least length, which pairs share alike, and which order columns well where they are more
than rows (Wang and Leng, High dimensional ordinary least squares projection, JRSS B 78, 2016).

S itself is singular. The levels of a category sum to one, so S r = 0 for the roots r of its shares: r r^T is added to its
block, which changes nothing else. And columns may repeat each other: S + e I has an inverse all the same, e = (64 eps)^3/4
halfway between the rounding of S and what `gramian.selection.residual` takes as explained. Where a column leaves
that others repeated, the inverse is computed anew, free of what that cost in digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from gramian.arrays.linalg import definite_inverse, eigh_descending
from gramian.arrays.types import Array
from gramian.selection.problem import Problem
from gramian.selection.residual import EXPLAINED
from gramian.selection.stepwise.forward import Path
from gramian.selection.stepwise.partial import chance, p_value

RIDGE = float((64 * np.finfo(np.float64).eps) ** 0.75)
"""What makes the scatter of columns that repeat each other invertible, of unit columns."""

ALIKE = float(64 * np.finfo(np.float64).eps / RIDGE)
"""Difference of coefficients of repeated columns that is rounding, magnified by one over the ridge."""

SHRINK = 0.7
"""Share of the design columns left at which the matrices are made smaller: copying then costs less than it saves."""


class _Model:
    """The model of the columns that are left: inverse scatter and coefficients, over their design columns.

    Columns that have left keep their place, with zeros, until there are enough of them to make the matrices smaller.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self.functions = problem, problem.cross.shape[1]
        # The target's own functions beside them serve held-out predictions.
        self._cross = np.column_stack([problem.cross, problem.regression.cross / problem.unit[:, None]])
        is_level = problem.layout.is_level & np.isfinite(problem.unit)
        self._null = np.where(is_level, np.sqrt(np.maximum(problem.regression.mean, 0.0)), 0.0)
        # One direction a category that only its own levels have.
        varies = np.add.reduceat(is_level.astype(np.intp), problem.layout.starts) > 0
        self._nulls = np.bincount(problem.owner, varies, len(problem.sources)).astype(np.intp)
        self._parts = [span for span, some in zip(problem.layout.spans(), varies, strict=True) if some]
        self.spans = dict(enumerate(problem.spans))
        self.nominal = np.bincount(problem.owner, problem.ranks, len(problem.sources)).astype(np.intp)
        self._place(np.arange(len(problem.unit)))
        self._invert()

    def _place(self, at: npt.NDArray[np.intp]) -> None:
        """Lay out the matrices over these design columns."""
        self.at = at
        self._position = np.full(len(self._problem.unit), -1)
        self._position[at] = np.arange(len(at))

    def _invert(self) -> None:
        """Compute the inverse of what is left, anew."""
        at = self.at
        shifted = self._problem.matrix[np.ix_(at, at)]
        shifted[np.diag_indices_from(shifted)] += RIDGE
        for part in self._parts:
            here = self._position[part]
            if (here >= 0).all():
                own = slice(here[0], here[-1] + 1)
                shifted[own, own] += np.multiply.outer(self._null[part], self._null[part])
        self._inverse = np.asfortranarray(definite_inverse(shifted))
        self._coefficients = self._inverse @ self._cross[at]
        # Once more for what is left over: it takes off the ridge, and most of the rounding that the inverse has.
        shifted[np.diag_indices_from(shifted)] -= RIDGE
        self._coefficients += self._inverse @ (self._cross[at] - shifted @ self._coefficients)

    @property
    def rank(self) -> int:
        """Of the model: e tr(P) counts each direction of which S has nothing once."""
        nulls = sum(int(self._nulls[g]) for g in self.spans)
        size = sum(span.stop - span.start for span in self.spans.values())
        return int(np.rint(size - nulls - RIDGE * np.trace(self._inverse)))

    @property
    def explained(self) -> Array:
        """By the model, of the orthonormal functions."""
        return self._cross[self.at, : self.functions].T @ self._coefficients[:, : self.functions]

    @property
    def coefficients(self) -> Array:
        """For the target's own functions, over all design columns as they are given."""
        out = np.zeros((len(self._problem.unit), self._coefficients.shape[1] - self.functions))
        out[self.at] = self._coefficients[:, self.functions :]
        return out / self._problem.unit[:, None]

    def _here(self, group: int) -> slice:
        span = self.spans[group]
        start = int(self._position[span.start])
        return slice(start, start + span.stop - span.start)

    def along(self, group: int) -> Array:
        """Return the cross scatter of the target with the directions that only this group has, (rank, r)."""
        here, span = self._here(group), self.spans[group]
        own = self._inverse[here, here].copy()
        for part in self._parts:
            if span.start <= part.start < span.stop:
                at = slice(part.start - span.start, part.stop - span.start)
                own[at, at] -= np.multiply.outer(self._null[part], self._null[part])
        # Eigenvalues are one over what is left of a direction of unit length, and zero for the sum of levels.
        values, vectors = eigh_descending(own)
        kept = (values > 0.5) & (values < 1 / EXPLAINED)
        return (vectors[:, kept] / np.sqrt(values[kept])).T @ self._coefficients[here, : self.functions]

    def losses(self) -> tuple[Array, npt.NDArray[np.intp], list[int]]:
        """Return what each group adds to the others, by how many directions, and which groups they are."""
        groups = list(self.spans)
        loss, rank = np.zeros(len(groups)), np.zeros(len(groups), dtype=np.intp)
        starts = np.array([self.spans[g].start for g in groups], dtype=np.intp)
        wide = np.array([self.spans[g].stop - self.spans[g].start for g in groups], dtype=np.intp) > 1
        at = self._position[starts[~wide]]
        left = 1 / np.diagonal(self._inverse)[at]
        rank[~wide] = left > EXPLAINED
        loss[~wide] = np.square(self._coefficients[at, : self.functions]).sum(axis=1) * left * rank[~wide]
        for k in np.flatnonzero(wide):
            along = self.along(groups[k])
            loss[k], rank[k] = np.square(along).sum(), len(along)
        return loss, rank, groups

    def sizes(self) -> Array:
        """Return the size of the coefficients of each group, a direction, in unit columns."""
        squares = np.square(self._coefficients[:, : self.functions]).sum(axis=1)
        total = np.array([squares[self._here(g)].sum() for g in self.spans])
        return np.sqrt(total / np.maximum(self.nominal[list(self.spans)], 1))

    def leave(self, group: int, rank: int) -> None:
        """Leave out a group that adds so many directions."""
        here = self._here(group)
        del self.spans[group]
        if rank < self.nominal[group]:
            gone = np.zeros(len(self.at), dtype=bool)
            gone[here] = True
            self._place(self.at[~(gone | (np.diagonal(self._inverse) == 0))])
            self._invert()
            return
        # A copy: the product below overwrites what a view would look at.
        towards = self._inverse[:, here].copy(order="F")
        solved = np.linalg.solve(self._inverse[here, here], np.concatenate([towards, self._coefficients[here].T]).T)
        size = len(self.at)
        self._coefficients -= towards @ solved[:, size:]
        self._inverse = blas.dgemm(-1.0, towards, solved[:, :size], 1.0, self._inverse, overwrite_c=1)
        self._inverse[here] = 0.0
        self._inverse[:, here] = 0.0
        self._coefficients[here] = 0.0
        still = np.diagonal(self._inverse) != 0
        if still.sum() < SHRINK * size:
            self._inverse = np.asfortranarray(self._inverse[np.ix_(still, still)])
            self._coefficients = self._coefficients[still]
            self._place(self.at[still])


def backward(
    problem: Problem,
    *,
    include: Sequence[int] = (),
    keep: int = 0,
    alpha: float | None = None,
    with_coefficients: bool = False,
    with_tests: bool = True,
) -> Path:
    """Return the columns in the order in which they leave, the first to leave first.

    Parameters
    ----------
    problem : Problem
    include : sequence of int
        Source columns that never leave.
    keep : int
        Columns, the included among them, at which to stop.
    alpha : float, optional
        Stop where every column has a p-value, times the number of columns it was chosen from, those that left and itself, at
        or below.
    with_coefficients : bool
        Keep the coefficients of the model of all columns and of each step, over design columns.
    with_tests : bool
        Compute p-values; `alpha` needs them.

    Notes
    -----
    Takes p^2 operations a direction that leaves; all of them about p^3.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> from gramian.selection.problem import problem_of
    >>> x = np.array([[1.0, 4.0, 0.0], [2.0, 1.0, 1.0], [3.0, 3.0, 1.0], [4.0, 2.0, 0.0], [5.0, 0.0, 1.0], [6.0, 9.0, 0.0]])
    >>> m = gm.collect(np.column_stack([x, 2 * x[:, 0] - x[:, 1]]))
    >>> backward(problem_of(m, ["x0", "x1", "x2"], ["x3"])).order
    [2, 1, 0]
    """
    model, path = _Model(problem), Path()
    tests = with_tests or alpha is not None
    r = max(problem.target_rank, 1)
    fixed = set(include)
    if with_coefficients:
        path.coefficients.append(model.coefficients)
    loss, rank, groups = model.losses()
    inside = model.rank
    while len(groups) > max(keep, len(fixed)):
        unexplained = r - float(np.trace(model.explained))
        score = loss - 2 * chance(rank, unexplained, problem.n, inside)
        free = np.array([g not in fixed for g in groups])
        for worst in _least_first(model, score, rank, free, EXPLAINED * max(unexplained, EXPLAINED)):
            source, along = groups[worst], model.along(groups[worst])
            others = model.explained - along.T @ along
            p = p_value(problem, source, along, others, inside - len(along)) if tests else float("nan")
            corrected = min(p * (len(path.order) + 1), 1.0) if tests else float("nan")
            if alpha is None or corrected > alpha:
                break
        else:
            break
        path.order.append(source)
        path.gain.append(float(loss[worst]))
        path.score.append(float(score[worst]))
        path.p_value.append(p)
        path.corrected.append(corrected)
        path.explained.append(1 - unexplained / r)
        model.leave(source, int(rank[worst]))
        inside -= int(rank[worst])
        if with_coefficients:
            path.coefficients.append(model.coefficients)
        loss, rank, groups = model.losses()
    score = loss - 2 * chance(rank, r - np.trace(model.explained), problem.n, inside)
    for k, source in enumerate(groups):
        path.left_score[source] = float(score[k])
        if tests:
            along = model.along(source)
            others = model.explained - along.T @ along
            path.left_p_value[source] = p_value(problem, source, along, others, inside - len(along))
    return path


def _least_first(
    model: _Model, score: Array, rank: npt.NDArray[np.intp], free: npt.NDArray[np.bool_], rounding: float
) -> Iterator[int]:
    """Give the places of the free groups, those to leave first at the front."""
    nothing = free & (rank == 0)
    if nothing.any():
        order, least = np.where(nothing, model.sizes(), np.inf), ALIKE
    else:
        order, least = np.where(free, score, np.inf), rounding
    # Of those that rounding alone tells apart the last goes first, so that the earlier ones of a pair stay.
    first = int(np.flatnonzero(order <= order.min() + least)[-1])
    yield first
    yield from (int(k) for k in np.argsort(order, kind="stable") if k != first and np.isfinite(order[k]))
