"""A symmetric matrix and coefficients over the design columns of a model, from which groups of columns leave.

With M over the columns in the model, B its coefficients and g the columns that leave, both of what is left are

    M - M_.g (M_gg)^-1 M_g.        and        B - M_.g (M_gg)^-1 B_g,

where M is the inverse of the scatter (`stepwise.backward`), and where it is the projector on its null space, below.
Columns that have left keep their place, with zeros, until there are enough of them to make the matrices smaller.

*Surplus.* While columns are more than rows, those that others repeat leave a model first, by the null space of their scatter.
Let S = F^T F be the scatter of unit design columns, F of as many rows as its rank, and H = F^T (F F^T)^-1 F the projector on
its range. A group g has directions of its own where H_gg has eigenvalues 1: what its columns say there no others do. Where
all eigenvalues of N_gg, N = I - H, are above 0 it has none, and can leave without a loss. Then

    F F^T - F_g F_g^T      has the inverse      K + K F_g (N_gg)^-1 F_g^T K,      K = (F F^T)^-1, by Woodbury,

so that projector and coefficients of least length, B = F^T K c for cross scatters F^T c, become over the columns left

    N - N_.g (N_gg)^-1 N_g.        and        B - N_.g (N_gg)^-1 B_g.

That is a downdate of p^2 operations a direction. The inverse of S + e I of `gramian.selection.stepwise.backward` is
N / e + S^+, and would lose in each of these steps the digits by which 1 / e outweighs S^+; the null space alone loses none.
The sum of the levels of a category is in it, N r = r for the roots r of their shares, and stays there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import blas

from gramian.arrays.types import Array
from gramian.linear.scatter.dense import factor_of
from gramian.selection.problem import Problem

OWN = 1e-8
"""Eigenvalue of N_gg below which a direction is the group's own."""

CLEAR = 0.01
"""Eigenvalue above which it is not; between them the inverse has to tell, computed anew."""

SHRINK = 0.7
"""Share of the design columns left at which the matrices are made smaller: copying then costs less than it saves."""


class Downdated:
    """What is left of a model, over its design columns.

    Parameters
    ----------
    problem : Problem
    spans : mapping of int to slice, optional
        The groups in the model, by source column; by default all of them.

    Attributes
    ----------
    spans : dict of int to slice
    at : (q,) array
        Design columns that the matrices are over.
    nominal : array
        Directions of each source column by itself.
    """

    matrix: Array
    """M, (q, q), in column order; set by whoever derives from this."""

    solution: Array
    """B, (q, m): orthonormal functions of the target first, then its own ones, which serve held-out predictions."""

    def __init__(self, problem: Problem, spans: Mapping[int, slice] | None = None) -> None:
        self.problem, self.functions = problem, problem.cross.shape[1]
        self.cross = np.column_stack([problem.cross, problem.regression.cross / problem.unit[:, None]])
        self.spans = dict(enumerate(problem.spans)) if spans is None else dict(spans)
        self.nominal = np.bincount(problem.owner, problem.ranks, len(problem.sources)).astype(np.intp)
        self.place(np.concatenate([np.arange(s.start, s.stop) for s in self.spans.values()] or [np.arange(0)]))

    def place(self, at: npt.NDArray[np.intp]) -> None:
        """Lay out the matrices over these design columns."""
        self.at, self._gone = at, np.zeros(len(at), dtype=bool)
        self.position = np.full(len(self.problem.unit), -1)
        self.position[at] = np.arange(len(at))

    def here(self, group: int) -> slice:
        """Return where the matrices have a group."""
        span = self.spans[group]
        start = int(self.position[span.start])
        return slice(start, start + span.stop - span.start)

    @property
    def explained(self) -> Array:
        """By the model, of the orthonormal functions."""
        return self.cross[self.at, : self.functions].T @ self.solution[:, : self.functions]

    @property
    def coefficients(self) -> Array:
        """For the target's own functions, over all design columns as they are given."""
        out = np.zeros((len(self.problem.unit), self.solution.shape[1] - self.functions))
        out[self.at] = self.solution[:, self.functions :]
        return out / self.problem.unit[:, None]

    def sizes(self) -> Array:
        """Return the size of the coefficients of each group, a direction, in unit columns."""
        squares = np.square(self.solution[:, : self.functions]).sum(axis=1)
        total = np.array([squares[self.here(g)].sum() for g in self.spans])
        return np.sqrt(total / np.maximum(self.nominal[list(self.spans)], 1))

    def without(self, group: int) -> npt.NDArray[np.intp]:
        """Return the design columns that are left once a group has left."""
        gone = self._gone.copy()
        gone[self.here(group)] = True
        return self.at[~gone]

    def downdate(self, group: int) -> None:
        """Leave out a group whose own block can be inverted."""
        here, size = self.here(group), len(self.at)
        del self.spans[group]
        # A copy: the product below overwrites what a view would look at.
        towards = self.matrix[:, here].copy(order="F")
        solved = np.linalg.solve(self.matrix[here, here], np.concatenate([towards, self.solution[here].T]).T)
        self.solution -= towards @ solved[:, size:]
        self.matrix = blas.dgemm(-1.0, towards, solved[:, :size], 1.0, self.matrix, overwrite_c=1)
        self.matrix[here] = 0.0
        self.matrix[:, here] = 0.0
        self.solution[here] = 0.0
        self._gone[here] = True
        still = ~self._gone
        if still.sum() < SHRINK * size:
            self.matrix = np.asfortranarray(self.matrix[np.ix_(still, still)])
            self.solution = self.solution[still]
            self.place(self.at[still])


class Surplus(Downdated):
    """The model of all columns, where they are more than rows, and what can leave it without a loss."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        scatter = problem.matrix
        factor = factor_of(scatter) * np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        # F^T = Q R, so H = Q Q^T and S^+ = Q R^-T R^-1 Q^T.
        basis, root = scipy.linalg.qr(factor.T, mode="economic", check_finite=False)
        lower = np.tril(blas.dsyrk(-1.0, basis, lower=1))
        lower[np.diag_indices_from(lower)] += 1.0
        self.matrix = np.asfortranarray(lower + np.tril(lower, -1).T)
        self.rank = len(factor)

        def towards(aim: Array) -> Array:
            inner = scipy.linalg.solve_triangular(root, basis.T @ aim, check_finite=False)
            return np.asarray(basis @ scipy.linalg.solve_triangular(root, inner, trans="T", check_finite=False))

        self.solution = towards(self.cross)
        self.solution += towards(self.cross - scatter @ self.solution)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether columns have more directions than rows can differ in."""
        return int(problem.ranks.sum()) > problem.moments.n_rows - 1

    def leaving(self, fixed: Collection[int], keep: int, alike: float) -> Iterator[int]:
        """Give the groups in the order in which they leave, each while it is still there, until those left are not surplus.

        Parameters
        ----------
        fixed : collection of int
            Groups that stay.
        keep : int
            How many groups are left at the end, at least.
        alike : float
            Difference of sizes of coefficients that is rounding: the last of such groups leaves first.
        """
        while len(self.spans) > keep:
            groups = list(self.spans)
            least, unclear = self._least()
            some = (least >= CLEAR) & np.array([g not in fixed for g in groups])
            if unclear or not some.any():
                return
            size = np.where(some, self.sizes(), np.inf)
            group = groups[int(np.flatnonzero(size <= size.min() + alike)[-1])]
            yield group
            self.downdate(group)

    def _least(self) -> tuple[Array, bool]:
        """Return the least eigenvalue of each group's block, and whether one of any group leaves open what it is."""
        widths = np.array([span.stop - span.start for span in self.spans.values()], dtype=np.intp)
        starts = self.position[[span.start for span in self.spans.values()]]
        least = np.empty(len(widths))
        unclear = False
        for width in np.unique(widths):
            which = np.flatnonzero(widths == width)
            values = np.linalg.eigvalsh(self._blocks(starts[which], int(width)))
            least[which] = values[:, 0]
            unclear = unclear or bool(((values > OWN) & (values < CLEAR)).any())
        return least, unclear

    def _blocks(self, starts: npt.NDArray[np.intp], width: int) -> Array:
        at = starts[:, None] + np.arange(width)
        return np.asarray(self.matrix[at[:, :, None], at[:, None, :]])
