"""The scatter matrix as something that multiplies, without its p x p entries.

For design columns x (levels 0/1, numbers imputed at their means) the scatter is S = sum_i w_i (x_i - m)(x_i - m)^T. To apply
it to v, spread v over the levels of the coded columns (u_k = v on a category, u_k = v_j E on a by-level integer j with
deviations E) and over the extended numbers (e = A v, see `moments.state.numbers`). A constant added to all levels of one
column is the same for every row, hence nothing once centred; so take from each u_k its weighted mean, and then

    levels of k     sum_j N_kj u_j + T_k e - n_k (d . v)        N pair counts, T sums by level, d deviations of the means
    numbers         A^T (C e + sum_k T_k^T u_k)

with no rank-one correction to cancel against. The cost of one product is the size of the moments, not p^2: sparse blocks
stay sparse, and numbers kept as rows R stay rows, C e = R^T (R e).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.linear.layout import Layout, layout_of
from gramian.moments.covariance import level_values
from gramian.moments.state.block import Block
from gramian.moments.state.numbers import Numbers
from gramian.moments.value import Moments


class ScatterOperator:
    """The scatter over the design columns of a layout, optionally in a metric: D S D with D = diag(metric).

    Parameters
    ----------
    moments : Moments
    layout : Layout
    metric : (p,) array, optional

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> operator = ScatterOperator(m, layout_of(m, None))
    >>> np.allclose(operator @ np.eye(3), 2 * m.covariance())
    True
    """

    dtype = np.dtype(np.float64)

    def __init__(self, moments: Moments, layout: Layout, metric: Array | None = None) -> None:
        self.layout = layout
        self.shape = (layout.width, layout.width)
        self.metric = metric
        self._moments = moments
        self._weight = float(moments.total_weight)
        pairs = moments.pairs
        self._coded = [(moments.coded_at[n], n) for n in layout.columns if moments.schema[n].by_level]
        span = dict(zip(layout.columns, layout.spans(), strict=True))
        self._span = {k: span[name] for k, name in self._coded}
        self._values = {
            k: level_values(moments, k)[1] for k, name in self._coded if moments.schema[name].form == "integer"
        }
        self._counts = {k: np.asarray(pairs.level_weights[k], dtype=np.float64) for k, _ in self._coded}
        narrow = set(pairs.narrow)
        self._narrow = [k for k, _ in self._coded if k in narrow]
        offsets, sizes = pairs.offsets(), pairs.sizes
        if self._narrow:
            at = np.concatenate([offsets[k] + np.arange(sizes[k]) for k in self._narrow])
            whole = len(at) == len(pairs.matrix) and bool((at == np.arange(len(at))).all())
            matrix = pairs.matrix if whole else pairs.matrix[np.ix_(at, at)]
            self._matrix = np.asarray(matrix, dtype=np.float64)
        wide = [k for k, _ in self._coded if k not in narrow]
        self._wide = wide
        self._blocks: list[tuple[int, int, Block]] = []
        for position, i in enumerate(wide):
            for j in [*self._narrow, *wide[position + 1 :]]:
                block = pairs.block(i, j)
                self._blocks.append((i, j, block.astype(np.float64)))
        numeric = [name for name in layout.columns if not moments.schema[name].by_level]
        position_of = {name: j for j, name in enumerate(moments.numbers.names)}
        self._numeric_at = np.array([span[name].start for name in numeric], dtype=np.intp)
        self._number = np.array([position_of[name] for name in numeric], dtype=np.intp)
        _, deviation = moments.numbers.imputed_mean(self._weight)
        self._deviation = deviation
        self._missing = np.asarray(moments.numbers.missing, dtype=np.intp)

    def scaled(self, metric: Array | None) -> ScatterOperator:
        """Return the same scatter in another metric."""
        other = object.__new__(ScatterOperator)
        other.__dict__.update(self.__dict__)
        other.metric = metric
        return other

    def __matmul__(self, v: npt.ArrayLike) -> Array:
        """Return S v for a vector or a block of columns."""
        given = np.asarray(v, dtype=np.float64)
        block = given[:, None] if given.ndim == 1 else given
        if self.metric is not None:
            block = block * self.metric[:, None]
        out = self._apply(block)
        if self.metric is not None:
            out *= self.metric[:, None]
        return out[:, 0] if given.ndim == 1 else out

    def diagonal(self) -> Array:
        """Return the scatter of each design column."""
        out = np.zeros(self.layout.width)
        for k, _ in self._coded:
            n = self._counts[k]
            if k in self._values:
                out[self._span[k]] = (n * np.square(self._values[k])).sum()
            else:
                out[self._span[k]] = n - n * (n / self._weight)
        if len(self._number):
            out[self._numeric_at] = self._number_diagonal()
        return out if self.metric is None else out * np.square(self.metric)

    def _number_diagonal(self) -> Array:
        numbers, p = self._moments.numbers, len(self._moments.numbers.names)
        whole = numbers.diagonal()
        out = whole[:p].copy()
        at, d = self._missing, self._deviation[self._missing]
        if len(at):
            indicator = p + np.arange(len(at))
            if numbers.scatter is not None:
                cross = numbers.scatter[indicator, at]
            else:
                assert numbers.rows is not None
                cross = np.einsum("ij,ij->j", numbers.rows[:, indicator], numbers.rows[:, at])
            out[at] += 2 * d * cross + d * d * whole[indicator]
        return out[self._number]

    def _apply(self, v: Array) -> Array:
        out = np.zeros_like(v)
        levels = {k: self._centred(k, v) for k, _ in self._coded}
        if self._narrow:
            self._add(out, self._narrow, self._matrix @ np.concatenate([levels[k] for k in self._narrow]))
        for k in self._wide:
            self._add(out, [k], self._counts[k][:, None] * levels[k])
        for i, j, block in self._blocks:
            self._add(out, [i], np.asarray(block @ levels[j]))
            self._add(out, [j], np.asarray(block.T @ levels[i]))
        if len(self._number):
            self._apply_numbers(v, levels, out)
        return out

    def _centred(self, k: int, v: Array) -> Array:
        if k in self._values:
            return np.multiply.outer(self._values[k], v[self._span[k].start])
        u = v[self._span[k]]
        return u - (self._counts[k] / self._weight) @ u

    def _add(self, out: Array, columns: Sequence[int], by_level: Array) -> None:
        """Add the product over the levels of some columns, an integer's levels folded into its number."""
        start = 0
        for k in columns:
            part = by_level[start : start + len(self._counts[k])]
            start += len(part)
            if k in self._values:
                out[self._span[k].start] += self._values[k] @ part
            else:
                out[self._span[k]] += part

    def _apply_numbers(self, v: Array, levels: dict[int, Array], out: Array) -> None:
        numbers, p = self._moments.numbers, len(self._moments.numbers.names)
        extended = np.zeros((numbers.n_extended, v.shape[1]))
        extended[self._number] = v[self._numeric_at]
        extended[p:] = self._deviation[self._missing, None] * extended[self._missing]
        offset = self._deviation[self._number] @ v[self._numeric_at]
        result = _times(numbers, extended)
        for k, u in levels.items():
            sums = self._moments.sums[k]
            self._add(out, [k], sums @ extended - np.multiply.outer(self._counts[k], offset))
            result += sums.T @ u
        result[self._missing] += self._deviation[self._missing, None] * result[p:]
        out[self._numeric_at] += result[self._number]


def _times(numbers: Numbers, v: Array) -> Array:
    """Return C v, through the rows where those are what is kept."""
    if numbers.rows is not None:
        return numbers.rows.T @ (numbers.rows @ v)
    assert numbers.scatter is not None
    return numbers.scatter @ v


def as_linear_operator(operator: ScatterOperator) -> sp.linalg.LinearOperator:
    """Return the scatter as scipy's `LinearOperator`, for its iterative solvers."""
    return sp.linalg.LinearOperator(
        operator.shape, matvec=operator.__matmul__, matmat=operator.__matmul__, rmatvec=operator.__matmul__, dtype=float
    )


def cross_scatter(moments: Moments, layout: Layout, targets: Sequence[str]) -> tuple[Array, Array, Layout]:
    """Return the scatter of features with targets (p, m), of the targets (m, m), and the targets' layout."""
    aimed = layout_of(moments, list(targets))
    joint = Layout(layout.columns + aimed.columns, layout.sizes + aimed.sizes, layout.forms + aimed.forms)
    p = layout.width
    units = np.eye(joint.width, aimed.width, -p)
    found = ScatterOperator(moments, joint) @ units
    return found[:p], found[p:], aimed
