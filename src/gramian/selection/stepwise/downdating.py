"""A symmetric matrix and coefficients over the design columns of a model, from which groups of columns leave.

With M over the columns in the model, B its coefficients and g the columns that leave, both of what is left are

    M - M_.g (M_gg)^-1 M_g.        and        B - M_.g (M_gg)^-1 B_g,

where M is the inverse of the scatter (`stepwise.backward`), and where it is the projector on its null space
(`stepwise.surplus`).
Columns that have left keep their place, with zeros, until there are enough of them to make the matrices smaller.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from gramian.arrays.types import Array
from gramian.selection.problem import Problem

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
