"""What columns still have to say once others are in the model: a Cholesky factor that grows by whole source columns.

Let A be the columns in the model. Of every design column the part that A does not explain has scatter and cross scatter

    S.A = S - F F^T,      C.A = C - F Q,

with orthonormal directions z of A, F = S z the scatter of all columns with them and Q = z^T C. Taking in a column g adds
the directions of its own block: with W W^T a generalized inverse of S.A[g, g], the new columns of F are
(S[:, g] - F F[g]^T) W, and Q gets W^T C.A[g]. All levels of a category enter at once, and a step costs p times the
directions so far: of S only the columns taken in are ever read.

What a column g would add to the squared canonical correlations with the target, and by how many directions, is

    gain(g) = tr(C.A[g]^T (S.A[g, g])^- C.A[g]),      rank(g) = rank S.A[g, g].

*Which inverse.* C.A[g] lies in the range of the block, so every generalized inverse gives the same gain. A Cholesky factor
with pivots, S.A[g, g] = L L^T on the columns taken, gives rank and inverse at once.

*Wide categories.* In unit columns the block of a category is I - r r^T, r the roots of its shares, and r^T F[g] = 0. While
the model has fewer directions than half of its levels, nothing of the order of the levels is factored: with G = F[g]^T F[g],

    (I - r r^T - F[g] F[g]^T)^- = I - r r^T + F[g] (I - G)^- F[g]^T,      rank = levels - 1 - (directions - rank (I - G)),

and W is I - r r^T beside F[g] times that of I - G. Its directions are more than the rank, which changes nothing: the surplus
ones vanish in S.A[:, g] W, or repeat others.

*Rounding.* In unit columns the diagonal of S is 1. A direction of which less than sqrt(64 eps), about 1e-7, is left counts
as explained: rounding of S is magnified by one over what is left, so below that the rest is nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from gramian.arrays.types import Array
from gramian.selection.problem import Problem

EXPLAINED = float(np.sqrt(64 * np.finfo(np.float64).eps))
"""Share of a unit direction that is too little to be told from rounding."""

Whitened = Callable[[Array], Array]
"""Multiplies a (k, d) array by W from the right."""


class Residual:
    """Scatter and cross scatter of groups of design columns, less what the groups taken in explain.

    Parameters
    ----------
    columns : callable
        Gives the scatter of all unit design columns with those of a span, (p, d).
    diagonal : (p,) array
        Of the scatter.
    cross : (p, r) array
        With orthonormal functions of the target.
    spans : sequence of slices
        The design columns of each group.
    roots : mapping of int to (d,) arrays
        The roots r of the shares of levels, for groups whose block is I - r r^T among the levels that have rows.

    Attributes
    ----------
    diagonal : (p,) array
        What is left of each design column.
    cross : (p, r) array
    rank : int
        Directions taken in.
    explained : (r, r) array
        Q^T Q: how much of the target's functions they explain.
    """

    def __init__(
        self,
        columns: Callable[[slice], Array],
        diagonal: Array,
        cross: Array,
        spans: Sequence[slice],
        roots: Mapping[int, Array],
    ) -> None:
        self._columns, self._spans, self._roots = columns, list(spans), dict(roots)
        self.cross, self.diagonal = cross.copy(), diagonal.copy()
        self.rank = 0
        self.explained = np.zeros((cross.shape[1], cross.shape[1]))
        p = len(diagonal)
        self._factor = np.zeros((p, min(p, 16)), order="F")
        self._directions = self._factor.copy(order="F")
        self._used = 0
        self._entered: list[tuple[slice, Whitened, int]] = []
        widths = np.array([span.stop - span.start for span in spans])
        self._single = np.flatnonzero(widths == 1)
        self._at = np.array([spans[g].start for g in map(int, self._single)], dtype=np.intp)
        several = map(int, np.flatnonzero(widths != 1))
        self._blocks = {g: columns(spans[g])[spans[g]].copy() for g in several if g not in roots}
        self._known: dict[int, tuple[Array, int]] = {}

    @classmethod
    def of(cls, problem: Problem) -> Residual:
        """Return the state in which no column of a problem is in the model."""
        diagonal = problem.regression.diagonal / np.square(problem.unit)
        return cls(problem.scatter_with, diagonal, problem.cross, problem.spans, problem.roots)

    def adds(self, group: int) -> tuple[Array, int]:
        """Return what a group would add to `explained`, (r, r), and by how many directions."""
        if group not in self._known:
            self._known[group] = self._adds(group)
        return self._known[group]

    def _adds(self, group: int) -> tuple[Array, int]:
        whitened, rank = self._root(group)
        along = whitened(self.cross[self._spans[group]].T)
        return along @ along.T, rank

    def gains(self) -> tuple[Array, npt.NDArray[np.intp]]:
        """Return what each group would add, and by how many directions."""
        gain, rank = np.zeros(len(self._spans)), np.zeros(len(self._spans), dtype=np.intp)
        left = self.diagonal[self._at]
        open_ = left > EXPLAINED
        rank[self._single] = open_
        gain[self._single] = np.where(
            open_, np.square(self.cross[self._at]).sum(axis=1) / np.maximum(left, EXPLAINED), 0.0
        )
        for group in (*self._blocks, *self._roots):
            more, rank[group] = self.adds(group)
            gain[group] = np.trace(more)
        return gain, rank

    def left(self) -> Array:
        """Return the directions that are left of each group, in units: the trace of its block."""
        return np.array([self.diagonal[span].sum() for span in self._spans])

    def enter(self, group: int) -> None:
        """Take a group in."""
        span, past = self._spans[group], self._factor[:, : self._used]
        whitened, rank = self._root(group)
        # Of a wide category these are gigabytes: what is not there yet is not taken off.
        columns = whitened(self._columns(span) - past @ past[span].T if self._used else self._columns(span))
        new = columns.shape[1]
        if new:
            seen = whitened(self.cross[span].T).T
            self._entered.append((span, whitened, self._used))
            self._factor = _with_room(self._factor, self._used + new)
            self._factor[:, self._used : self._used + new] = columns
            self.cross -= columns @ seen
            self.explained += seen.T @ seen
            self.diagonal -= np.einsum("ij,ij->i", columns, columns)
            for other, block in self._blocks.items():
                part = columns[self._spans[other]]
                block -= part @ part.T
            self.rank += rank
            self._used += new
        self._known.clear()
        # Of the group itself nothing is left but rounding.
        self.diagonal[span] = 0.0
        self.cross[span] = 0.0
        self._blocks.pop(group, None)
        self._roots.pop(group, None)
        for other in [g for g, r in self._roots.items() if 2 * self._used > len(r)]:
            self._blocks[other] = self._block(other)
            del self._roots[other]

    def _root(self, group: int) -> tuple[Whitened, int]:
        """Return W of a group, and the rank of what is left of it."""
        if group in self._blocks:
            return _by_pivots(self._blocks[group])
        if group not in self._roots:
            return _by_pivots(np.diag(self.diagonal[self._spans[group]]))
        root, factor = self._roots[group], self._factor[self._spans[group], : self._used]
        among, left = _by_pivots(np.eye(self._used) - factor.T @ factor)

        def whitened(rows: Array) -> Array:
            along = np.multiply.outer(rows @ root, root)
            np.subtract(rows, along, out=along)
            return np.hstack([along, among(rows @ factor)]) if factor.shape[1] else along

        return whitened, max(int(np.count_nonzero(root)) - 1, 0) - (self._used - left)

    def _block(self, group: int) -> Array:
        """Return what is left of the block of a category."""
        root, part = self._roots[group], self._factor[self._spans[group], : self._used]
        return np.asarray(np.diag((root > 0).astype(float)) - np.multiply.outer(root, root) - part @ part.T)

    def coefficients(self, cross: Array) -> Array:
        """Return the least squares coefficients of the groups taken in, (p, m), for any functions."""
        # Half of the work of taking groups in, for those who ask for it alone.
        self._directions = _with_room(self._directions, self._used)
        for span, whitened, k in self._entered:
            root = whitened(np.eye(span.stop - span.start))
            new = slice(k, k + root.shape[1])
            self._directions[span, new] = root
            self._directions[:, new] -= self._directions[:, :k] @ (self._factor[span, :k].T @ root)
        self._entered.clear()
        directions = self._directions[:, : self._used]
        return np.asarray(directions @ (directions.T @ cross))


def _with_room(columns: Array, size: int) -> Array:
    """Return an array with zeros behind its columns, so that it has at least so many; in doubling steps."""
    have = columns.shape[1]
    if size <= have:
        return columns
    out = np.zeros((len(columns), max(size, 2 * have)), order="F")
    out[:, :have] = columns
    return out


def _by_pivots(block: Array) -> tuple[Whitened, int]:
    """Return W with W W^T a generalized inverse of a positive semi-definite block, and its rank."""
    # LAPACK takes the first pivot unseen, and says rank 1 of a block that is zero.
    if not np.diagonal(block).max(initial=0.0) > EXPLAINED:
        return lambda rows: rows[:, :0], 0
    lower, pivots, rank, _ = lapack.dpstrf(block, lower=1, tol=EXPLAINED)
    taken, lower = pivots[:rank] - 1, np.asfortranarray(lower[:rank, :rank])
    return lambda rows: lapack.dtrtrs(lower, rows[:, taken].T, lower=1)[0].T, int(rank)
