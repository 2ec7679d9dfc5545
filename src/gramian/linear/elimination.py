"""The widest category taken out of a ridge system exactly, so that what is left has only the other columns.

Rows of one category never share two of its levels, so its block of S + r D is a diagonal less a rank-one term, E - n n^T / W
with E = diag(n + r). By Sherman and Morrison

    A^-1 z = E^-1 z + E^-1 n (n^T E^-1 z) / (W - n^T E^-1 n),        W - n^T E^-1 n = sum of n r / (n + r),

at r = 0 simply z / n, since z sums to zero. The other unknowns satisfy a system with the Schur complement

    S_oo + r D - S_ow A^-1 S_wo,

which multiplies through the pair counts of the wide category with the others: sparse, at most one entry a row and column, and
centred as N_wo - n_w f_o^T without being filled in. One category of a million levels among ten costs vectors of that length and
its pair counts, nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.linear.conjugate import conjugate_gradients
from gramian.linear.layout import Layout, centre_of
from gramian.linear.operator import ScatterOperator
from gramian.moments.dense import level_values
from gramian.moments.dense import scatter as dense_scatter
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]

MATRIX = 2500
"""Up to this many other design columns their scatter is a matrix."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """A system over all design columns, its widest category eliminated.

    Attributes
    ----------
    moments : Moments
    layout : Layout
    widest : int
        Position of the category in the layout.
    """

    moments: Moments
    layout: Layout
    widest: int

    @cached_property
    def span(self) -> slice:
        """Design columns of the wide category."""
        return self.layout.spans()[self.widest]

    @cached_property
    def counts(self) -> Array:
        """Weight of each of its levels."""
        name = self.layout.columns[self.widest]
        return np.asarray(self.moments.pairs.level_weights[self.moments.coded_at[name]], dtype=np.float64)

    @cached_property
    def rest(self) -> Layout:
        """The other columns."""
        keep = [k for k in range(len(self.layout.columns)) if k != self.widest]
        names, sizes, forms = self.layout.columns, self.layout.sizes, self.layout.forms
        return Layout([names[k] for k in keep], [sizes[k] for k in keep], [forms[k] for k in keep])

    @cached_property
    def _is_other(self) -> npt.NDArray[np.bool_]:
        others = np.ones(self.layout.width, dtype=bool)
        others[self.span] = False
        return others

    @cached_property
    def _pairs(self) -> tuple[sp.csr_array, sp.csr_array, Array, Array]:
        """Uncentred pair counts with the other categories and centred sums of the numbers, and the levels' shares."""
        m = self.moments
        wide = m.coded_at[self.layout.columns[self.widest]]
        weight = float(m.total_weight)
        position = {name: j for j, name in enumerate(m.numbers.names)}
        _, deviation = m.numbers.imputed_mean(weight)
        sums = m.numbers.imputed_sums(m.sums[wide], weight) if len(position) else None
        parts = []
        for name, form in zip(self.rest.columns, self.rest.forms, strict=True):
            if form == "number":
                assert sums is not None
                j = position[name]
                parts.append(sp.csr_array((sums[:, j] - self.counts * deviation[j])[:, None]))
                continue
            block = m.pairs.block(wide, m.coded_at[name])
            if form == "integer":
                parts.append(sp.csr_array((block @ level_values(m, m.coded_at[name])[1])[:, None]))
            else:
                parts.append(sp.csr_array(block, dtype=np.float64))
        joined = sp.csr_array(sp.hstack(parts, format="csr", dtype=np.float64))
        share = np.where(self.rest.is_level, centre_of(m, self.rest), 0.0)
        return joined, sp.csr_array(joined.T), share, self.counts

    @cached_property
    def _among(self) -> Array | ScatterOperator:
        if self.rest.width <= MATRIX:
            return dense_scatter(self.moments, self.rest.columns)
        return ScatterOperator(self.moments, self.rest)

    def _across(self, v: Array) -> Array:
        """Return S_wo v."""
        pairs, _, share, counts = self._pairs
        return np.asarray(pairs @ v) - np.multiply.outer(counts, share @ v)

    def _back(self, z: Array) -> Array:
        """Return S_ow z."""
        _, pairs, share, counts = self._pairs
        return np.asarray(pairs @ z) - np.multiply.outer(share, counts @ z)

    def _inverse(self, z: Array, ridge: Array) -> Array:
        """Return A^-1 z, each column with its own ridge."""
        whole = self.counts[:, None] + ridge
        inverse = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        shrunk = inverse * self.counts[:, None]
        left, along = (shrunk * ridge).sum(axis=0), (shrunk * z).sum(axis=0)
        return inverse * z + shrunk * np.divide(along, left, out=np.zeros_like(along), where=left > 0)

    def solve(
        self, diagonal: Array, rhs: Array, ridge: Array, unit: Array, *, tol: float, max_rounds: int
    ) -> tuple[Array, bool]:
        """Return solutions of (S + ridge_j D) x_j = b_j over all design columns, and whether all reached the tolerance.

        Parameters and result are those of `conjugate_gradients`; the solution is right up to a constant a category.
        """
        others, out, done = self._is_other, np.zeros_like(rhs), True
        inner = rhs[self.span]
        if others.any():
            spans = [s for s, is_one in zip(self.rest.spans(), self.rest.categorical, strict=True) if is_one]
            found, done = conjugate_gradients(
                lambda v, r: np.asarray(self._among @ v) - self._back(self._inverse(self._across(v), r)),
                diagonal[others],
                rhs[others] - self._back(self._inverse(inner, ridge)),
                ridge,
                unit[others],
                spans=spans,
                # A category that explains nearly everything leaves a right-hand side of rounding alone.
                reference=rhs[others],
                tol=tol,
                max_rounds=max_rounds,
            )
            out[others] = found
            inner = inner - self._across(found)
        out[self.span] = self._inverse(inner, ridge)
        return out, done
