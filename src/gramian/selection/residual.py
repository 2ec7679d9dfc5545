"""What columns still have to say once others are in the model: a Cholesky factor that grows by whole source columns.

Let A be the columns in the model. Of every design column the part that A does not explain has scatter and cross scatter

    S.A = S - L L^T,      C.A = C - L Q,

with orthonormal directions z of A, L = S z the scatter of all columns with them and Q = z^T C. Taking in a column g adds
the directions of its own block, S.A[g, g] = U diag(l) U^T: W = U l^-1/2 over the eigenvalues above rounding, the new
columns of L are S.A[:, g] W = (S[:, g] - L L[g]^T) W, and Q gets W^T C.A[g]. All levels of a category enter at once, and a
step costs p times the directions so far: of S only the columns taken in are ever read.

What a column g would add to the sum of squared canonical correlations with the target is

    gain(g) = tr(C.A[g]^T (S.A[g, g])^+ C.A[g]),      rank(g) = rank S.A[g, g].

*Rounding.* In unit columns the diagonal of S is 1. A direction of which less than sqrt(64 eps), about 1e-7, is left counts
as explained: rounding of S is magnified by one over what is left, so below that the rest is nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_descending
from gramian.arrays.types import Array

EXPLAINED = float(np.sqrt(64 * np.finfo(np.float64).eps))
"""Share of a unit direction that is too little to be told from rounding."""


class Residual:
    """Scatter and cross scatter of groups of design columns, less what the groups taken in explain.

    Parameters
    ----------
    matrix : (p, p) array
        Scatter of unit design columns. Not changed.
    cross : (p, r) array
        With orthonormal functions of the target.
    spans : sequence of slices
        The design columns of each group.

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

    def __init__(self, matrix: Array, cross: Array, spans: Sequence[slice]) -> None:
        self._matrix, self._spans = matrix, list(spans)
        self.cross = cross.copy()
        self.diagonal = np.diagonal(matrix).copy()
        self.rank = 0
        self.explained = np.zeros((cross.shape[1], cross.shape[1]))
        p = len(matrix)
        self._factor = np.zeros((p, min(p, 16)), order="F")
        self._entered: list[tuple[slice, Array, int]] = []
        self._directions = np.zeros((p, min(p, 16)), order="F")
        widths = np.array([span.stop - span.start for span in spans])
        self._single = np.flatnonzero(widths == 1)
        self._at = np.array([spans[g].start for g in map(int, self._single)], dtype=np.intp)
        self._blocks = {g: matrix[spans[g], spans[g]].copy() for g in map(int, np.flatnonzero(widths != 1))}
        self._roots: dict[int, Array] = {}

    def root(self, group: int) -> Array:
        """Return W of a group, (d, rank): W W^T is the pseudo-inverse of what is left of its block."""
        if group not in self._roots:
            if group in self._blocks:
                values, vectors = eigh_descending(self._blocks[group])
                kept = int(np.count_nonzero(values > EXPLAINED))
                self._roots[group] = vectors[:, :kept] / np.sqrt(values[:kept])
            else:
                left = self.diagonal[self._spans[group].start]
                self._roots[group] = np.full((1, int(left > EXPLAINED)), 1 / np.sqrt(max(left, EXPLAINED)))
        return self._roots[group]

    def along(self, group: int) -> Array:
        """Return the cross scatter of the target with the directions a group would add, (rank, r)."""
        return self.root(group).T @ self.cross[self._spans[group]]

    def gains(self) -> tuple[Array, npt.NDArray[np.intp]]:
        """Return what each group would add, and by how many directions."""
        gain, rank = np.zeros(len(self._spans)), np.zeros(len(self._spans), dtype=np.intp)
        left = self.diagonal[self._at]
        open_ = left > EXPLAINED
        rank[self._single] = open_
        gain[self._single] = np.where(
            open_, np.square(self.cross[self._at]).sum(axis=1) / np.maximum(left, EXPLAINED), 0.0
        )
        for group in self._blocks:
            along = self.along(group)
            gain[group], rank[group] = np.square(along).sum(), len(along)
        return gain, rank

    def left(self) -> Array:
        """Return the directions that are left of each group, in units: the trace of its block."""
        return np.array([self.diagonal[span].sum() for span in self._spans])

    def enter(self, group: int) -> None:
        """Take a group in."""
        span, root = self._spans[group], self.root(group)
        new, k = root.shape[1], self.rank
        if new:
            self._reserve(k + new)
            past = self._factor[:, :k]
            columns = (self._matrix[:, span] - past @ past[span].T) @ root
            seen = root.T @ self.cross[span]
            self._entered.append((span, root, k))
            self._factor[:, k : k + new] = columns
            self.cross -= columns @ seen
            self.explained += seen.T @ seen
            self.diagonal -= np.einsum("ij,ij->i", columns, columns)
            for other, block in self._blocks.items():
                part = columns[self._spans[other]]
                block -= part @ part.T
            self.rank += new
        self._roots.clear()
        # Of the group itself nothing is left but rounding.
        self.diagonal[span] = 0.0
        self.cross[span] = 0.0
        if group in self._blocks:
            self._blocks[group][:] = 0.0

    def coefficients(self, cross: Array) -> Array:
        """Return the least squares coefficients of the groups taken in, (p, m), for any functions."""
        # Half of the work of taking groups in, for those who ask for it alone.
        for span, root, k in self._entered:
            new = slice(k, k + root.shape[1])
            self._directions[span, new] = root
            self._directions[:, new] -= self._directions[:, :k] @ (self._factor[span, :k].T @ root)
        self._entered.clear()
        directions = self._directions[:, : self.rank]
        return np.asarray(directions @ (directions.T @ cross))

    def _reserve(self, size: int) -> None:
        have = self._factor.shape[1]
        if size > have:
            more = max(size, min(2 * have, len(self._matrix)))
            self._factor, self._directions = (
                np.concatenate(
                    [old, np.zeros((len(old), more - have))], axis=1, out=np.empty((len(old), more), order="F")
                )
                for old in (self._factor, self._directions)
            )
