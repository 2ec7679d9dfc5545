r"""Structured random projections: three rounds of random signs and a Hadamard transform.

With q the power of two at or above p, H the q x q Hadamard matrix and D random diagonal matrices of signs,

    B = q^-1 H D_1 H D_2 H D_3

is sqrt(q) times an orthogonal matrix whose entries are close to independent standard Gaussian ones (one round would do for
distances; three make each entry a sum of many signs: Yu et al., 2016). k rows of independent such blocks, drawn without
replacement within a block, are the weights: 3 q log2 q additions a block where a dense product takes p q multiplications, and
at k = q = p lengths are kept exactly.

*Normal rows.* All rows of B have the length sqrt(q), and few columns leave few directions: four at q = 2. A kernel that
is the mean of cos(w . (x - y)) asks for w standard normal. With g standard normal in place of the signs D_1, row i is

    b_i = q^-1 h_i diag(g) (H D_2 H D_3),        h_i the row of H, of signs; the last factor q times an orthogonal matrix,

so h_i diag(g) is standard normal and so is b_i, an orthogonal image of it, for every q. Its length |g| is common to the block.
Dividing by |g| leaves a direction uniform on the sphere; a length of its own for each row, chi-distributed with q degrees
of freedom, makes the row standard normal again, and rows of a block independent in length (Le, Sarlos and Smola, 2013).
The first p of q entries of a standard normal row are standard normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.random.kernels import hadamard_rows

ROUNDS = 3
FAST = 512
"""Columns from which the transform takes less time than the product with the weights as a matrix."""


@dataclass(frozen=True, eq=False)
class Hadamard:
    """A structured projection of p columns to k features of unit variance.

    Attributes
    ----------
    p : int
        Columns.
    signs : (blocks, 3, q) array
        D_1, D_2 and D_3 of each block; for normal rows D_1 is g, scaled to the length sqrt(q).
    chosen : (k,) array
        The rows that are kept, of all blocks one after the other.
    lengths : (k,) array, optional
        What the rows that are kept are multiplied by.
    """

    p: int
    signs: Array
    chosen: npt.NDArray[np.intp]
    lengths: Array | None = None

    @classmethod
    def drawn(cls, p: int, k: int, seed: int, *, normal: bool = False) -> Hadamard:
        """Return a projection drawn from a seed; each row standard normal where asked for."""
        q = 1 << max(0, int(p - 1).bit_length())
        blocks = -(-k // q)
        rng = np.random.default_rng([seed, 0x48])
        signs = rng.integers(0, 2, (blocks, ROUNDS, q)) * 2.0 - 1.0
        last = np.sort(rng.permutation(q)[: k - (blocks - 1) * q]) + (blocks - 1) * q
        chosen = np.concatenate([np.arange((blocks - 1) * q), last]).astype(np.intp)
        if not normal:
            return cls(p, signs, chosen)
        g = rng.standard_normal((blocks, q))
        signs[:, 0] = np.sqrt(q) * g / np.linalg.norm(g, axis=1, keepdims=True)
        return cls(p, signs, chosen, np.sqrt(rng.chisquare(q, k) / q))

    def apply(self, rows: Array) -> Array:
        """Return the features of rows, (n, k), before any scale."""
        q = self.signs.shape[2]
        parts = []
        for signs in self.signs:
            work = np.zeros((len(rows), q))
            work[:, : self.p] = rows
            for k in reversed(range(ROUNDS)):
                work *= signs[k]
                hadamard_rows(work)
            parts.append(work / q)
        features = np.concatenate(parts, axis=1)[:, self.chosen]
        return features if self.lengths is None else features * self.lengths

    def weights(self) -> Array:
        """Return the projection as a matrix, (p, k)."""
        return self.apply(np.eye(self.p))
