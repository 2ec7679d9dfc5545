"""Backward elimination: from all columns, the one that the others miss least leaves, step by step, by downdating.

With P = S^-1 over the columns in the model and B = P C its coefficients, leaving g out changes the sum of squared canonical
correlations by

    loss(g) = tr(B_g^T (P_gg)^-1 B_g),

and P and B of the model without g are P - P_.g (P_gg)^-1 P_g. and B - P_.g (P_gg)^-1 B_g. (P_gg)^-1 is what the other
columns leave of the block of g, so its rank is that of `gramian.selection.residual`, and with it score and test are
those of `gramian.selection.stepwise.forward`, chance being counted by what the model with g leaves unexplained, the same for
every column in it: the column of the least score leaves.

Columns without a direction of their own (constants, repetitions of others, everything where columns are more than rows)
leave before that, since the fit does not change: of those the one whose coefficients are least, a direction. Of repeated
columns B has the coefficients of least length, which pairs share alike, and which order columns well where they are more
than rows (Wang and Leng, High dimensional ordinary least squares projection, JRSS B 78, 2016).

S itself is singular. The levels of a category sum to one, so S r = 0 for the roots r of its shares: r r^T is added to its
block, which changes nothing else. And columns may repeat each other: S + e I has an inverse all the same, e = (64 eps)^3/4
halfway between the rounding of S and what `gramian.selection.residual` takes as explained. Where a column leaves
that others repeated, the inverse is computed anew, free of what that cost in digits. While columns are more than rows that
would be so at nearly every step, and what they repeat is followed by itself (`gramian.selection.stepwise.downdating`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import definite_inverse, eigh_descending
from gramian.arrays.memory import ELIMINATION, say_first
from gramian.arrays.types import Array
from gramian.selection.problem import Problem
from gramian.selection.residual import EXPLAINED
from gramian.selection.stepwise.downdating import Downdated, Surplus
from gramian.selection.stepwise.forward import Path, chance, p_value

RIDGE = float((64 * np.finfo(np.float64).eps) ** 0.75)
"""What makes the scatter of columns that repeat each other invertible, of unit columns."""

ALIKE = float(64 * np.finfo(np.float64).eps / RIDGE)
"""Difference of coefficients of repeated columns that is rounding, magnified by one over the ridge."""


class _Model(Downdated):
    """The model of the columns that are left: inverse scatter and coefficients, over their design columns."""

    def __init__(self, problem: Problem, spans: Mapping[int, slice] | None = None) -> None:
        super().__init__(problem, spans)
        self._null = problem.level_roots
        # One direction per category that only its own levels have.
        varies = np.add.reduceat(self._null, problem.layout.starts) > 0
        self._nulls = np.bincount(problem.owner, varies, len(problem.sources)).astype(np.intp)
        self._parts = [span for span, some in zip(problem.layout.spans(), varies, strict=True) if some]
        self._invert()

    def _invert(self) -> None:
        """Compute the inverse of what is left, anew."""
        at = self.at
        shifted = self.problem.matrix[np.ix_(at, at)]
        shifted[np.diag_indices_from(shifted)] += RIDGE
        for part in self._parts:
            here = self.position[part]
            if (here >= 0).all():
                own = slice(here[0], here[-1] + 1)
                shifted[own, own] += np.multiply.outer(self._null[part], self._null[part])
        self.matrix = np.asfortranarray(definite_inverse(shifted))
        self.solution = self.matrix @ self.cross[at]
        # Once more for what is left over: it takes off the ridge, and most of the rounding that the inverse has.
        shifted[np.diag_indices_from(shifted)] -= RIDGE
        self.solution += self.matrix @ (self.cross[at] - shifted @ self.solution)

    @property
    def rank(self) -> int:
        """Of the model: e tr(P) counts each direction of which S has nothing once."""
        nulls = sum(int(self._nulls[g]) for g in self.spans)
        size = sum(span.stop - span.start for span in self.spans.values())
        return int(np.rint(size - nulls - RIDGE * np.trace(self.matrix)))

    def adds(self, group: int) -> tuple[Array, int]:
        """Return what only this group explains, (r, r), and by how many directions."""
        here, span = self.here(group), self.spans[group]
        own = self.matrix[here, here].copy()
        for part in self._parts:
            if span.start <= part.start < span.stop:
                at = slice(part.start - span.start, part.stop - span.start)
                own[at, at] -= np.multiply.outer(self._null[part], self._null[part])
        # Eigenvalues are one over what is left of a direction of unit length, and zero for the sum of levels.
        values, vectors = eigh_descending(own)
        kept = (values > 0.5) & (values < 1 / EXPLAINED)
        along = (vectors[:, kept] / np.sqrt(values[kept])).T @ self.solution[here, : self.functions]
        return along.T @ along, len(along)

    def losses(self) -> tuple[Array, npt.NDArray[np.intp], list[int]]:
        """Return what each group adds to the others, by how many directions, and which groups they are."""
        groups = list(self.spans)
        loss, rank = np.zeros(len(groups)), np.zeros(len(groups), dtype=np.intp)
        starts = np.array([self.spans[g].start for g in groups], dtype=np.intp)
        wide = np.array([self.spans[g].stop - self.spans[g].start for g in groups], dtype=np.intp) > 1
        at = self.position[starts[~wide]]
        left = 1 / np.diagonal(self.matrix)[at]
        rank[~wide] = left > EXPLAINED
        loss[~wide] = np.square(self.solution[at, : self.functions]).sum(axis=1) * left * rank[~wide]
        for k in np.flatnonzero(wide):
            more, rank[k] = self.adds(groups[k])
            loss[k] = np.trace(more)
        return loss, rank, groups

    def leave(self, group: int, rank: int) -> None:
        """Leave out a group that adds so many directions."""
        if rank == self.nominal[group]:
            self.downdate(group)
            return
        at = self.without(group)
        del self.spans[group]
        self.place(at)
        self._invert()


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
    say_first(
        "an elimination",
        len(problem.unit),
        ELIMINATION,
        problem.layout.widest,
        "less with fewer columns or levels, or by a filter",
    )
    path, spans = Path(), dict(enumerate(problem.spans))
    tests = with_tests or alpha is not None
    r = max(problem.target_rank, 1)
    fixed = set(include)
    # What adds no direction has a p-value of 1.
    if (alpha is None or alpha < 1) and Surplus.suits(problem):
        spans = _without_surplus(problem, fixed, keep, path, tests=tests, with_coefficients=with_coefficients)
    model = _Model(problem, spans)
    if with_coefficients:
        path.coefficients.append(model.coefficients)
    loss, rank, groups = model.losses()
    inside = model.rank
    while len(groups) > max(keep, len(fixed)):
        unexplained = r - float(np.trace(model.explained))
        score = loss - 2 * chance(rank, unexplained, problem.n, inside)
        free = np.array([g not in fixed for g in groups])
        for worst in _least_first(model, score, rank, free, EXPLAINED * max(unexplained, EXPLAINED)):
            source, (more, own) = groups[worst], model.adds(groups[worst])
            others = model.explained - more
            p = p_value(problem, source, more, own, others, inside - own) if tests else float("nan")
            if alpha is None or min(p * (len(path.order) + 1), 1.0) > alpha:
                break
        else:
            break
        path.step(source, float(loss[worst]), float(score[worst]), p, len(path.order) + 1, 1 - unexplained / r)
        model.leave(source, int(rank[worst]))
        inside -= int(rank[worst])
        if with_coefficients:
            path.coefficients.append(model.coefficients)
        loss, rank, groups = model.losses()
    score = loss - 2 * chance(rank, r - np.trace(model.explained), problem.n, inside)
    for k, source in enumerate(groups):
        path.left_score[source] = float(score[k])
        if tests:
            more, own = model.adds(source)
            path.left_p_value[source] = p_value(problem, source, more, own, model.explained - more, inside - own)
    return path


def _without_surplus(
    problem: Problem, fixed: set[int], keep: int, path: Path, *, tests: bool, with_coefficients: bool
) -> dict[int, slice]:
    """Let those columns leave that the others repeat, on to the path, and return what is left."""
    model, r = Surplus(problem), max(problem.target_rank, 1)
    certain = 1.0 if tests else float("nan")
    for source in model.leaving(fixed, max(keep, len(fixed)), ALIKE):
        if with_coefficients:
            path.coefficients.append(model.coefficients)
        path.step(source, 0.0, 0.0, certain, 1, float(np.trace(model.explained)) / r)
    return model.spans


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
