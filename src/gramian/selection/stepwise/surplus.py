"""Columns that the others repeat leave a model first: while columns are more than rows, by the null space of their scatter.

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

from collections.abc import Collection, Iterator

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import blas

from gramian.arrays.types import Array
from gramian.linear.scatter.dense import factor_of
from gramian.selection.problem import Problem
from gramian.selection.stepwise.downdating import Downdated

OWN = 1e-8
"""Eigenvalue of N_gg below which a direction is the group's own."""

CLEAR = 0.01
"""Eigenvalue above which it is not; between them the inverse has to tell, computed anew."""


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
