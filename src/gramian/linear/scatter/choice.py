"""Which representation of the scatter is used: decided here and nowhere else.

By what is asked of it:

- *the matrix, or all eigenpairs* (`scatter_of`): the matrix, unless numbers are kept as fewer rows than columns, or a thousand
  design columns and more have less than half as many rows, and a factor;
- *products* (`for_products`): rows where there are few; the widest category apart where S is too wide to be formed, since its
  block is most of S and diagonal; the matrix where most design columns are numbers, as pair counts spare nothing then and
  missing values double the columns; one matrix of pair counts where categories are narrow, which BLAS multiplies fastest; the
  pair counts as they are otherwise;
- *leading eigenpairs* (`for_leading_pairs`): several may do, and the first that gives as many vectors as are wanted is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gramian.arrays.memory import available_memory, in_words
from gramian.arrays.types import Array
from gramian.errors import Argument, Call, DataError, PythonOnly
from gramian.linear.layout import Layout
from gramian.linear.scatter.base import Scatter
from gramian.linear.scatter.dense import DenseScatter, FactoredScatter, RowScatter, unlike
from gramian.linear.scatter.sparse import BoundedScatter, NarrowScatter, SparseScatter, TriedScatter
from gramian.linear.scatter.wide import WideScatter
from gramian.moments.value import Moments

DENSE = 6000
"""Up to this many design columns the scatter may be formed: 288 MB, and a Cholesky factor in seconds."""

WIDE = 1000
"""Levels from which a category is worth taking apart for eigenpairs; they must also be three times the other design columns."""

FEW = 64
"""Of more design columns than this many times the components, and than `MANY`, the components come from Krylov iterations."""

MANY = 2500


def scatter_of(moments: Moments, layout: Layout, metric: Array | None = None) -> Scatter:
    """Return the scatter for whoever needs its matrix or all of its eigenpairs."""
    return by_few_rows(moments, layout, metric) or DenseScatter(moments, layout, metric)


def by_few_rows(moments: Moments, layout: Layout, metric: Array | None = None) -> RowScatter | None:
    """Return the scatter by rows fewer than its columns, as they were collected or as a factor; None where rows are many."""
    if RowScatter.are_few(moments, layout):
        return RowScatter(moments, layout, metric)
    return FactoredScatter(moments, layout, metric) if FactoredScatter.suits(moments, layout) else None


def may_be_formed(layout: Layout) -> bool:
    """Whether S is small enough to be a matrix."""
    return layout.width <= DENSE


def mostly_numbers(layout: Layout) -> bool:
    """Whether more than half of the design columns are numbers."""
    return 2 * int(np.count_nonzero(layout.is_level)) < layout.width


def for_products(moments: Moments, layout: Layout, eliminated: WideScatter | None) -> Scatter:
    """Return the scatter for whoever only multiplies; `eliminated` is that with the widest category apart, if there is one."""
    if RowScatter.are_few(moments, layout):
        return RowScatter(moments, layout)
    if eliminated is not None and not may_be_formed(layout):
        return eliminated
    if mostly_numbers(layout) and may_be_formed(layout):
        return DenseScatter(moments, layout)
    return (NarrowScatter if NarrowScatter.suits(moments, layout) else SparseScatter)(moments, layout)


def for_leading_pairs(
    moments: Moments,
    layout: Layout,
    metric: Array | None,
    *,
    diagonal: Array,
    n_components: int | float | str | None,
    memory_limit: int | None,
) -> Iterator[Scatter]:
    """Yield representations to ask for eigenpairs, the cheapest first; the last gives as many as there are.

    Parameters
    ----------
    moments : Moments
    layout : Layout
    metric : (p,) array or None
    diagonal : (p,) array
        Of the scatter in the metric.
    n_components : int, float, str or None
        How many vectors are wanted, or by what rule; None for all of them.
    memory_limit : int, optional
        Bytes that a dense solution may take; by default what the machine has free.

    Raises
    ------
    DataError
        Where there is not the memory for a matrix, and no number of components to iterate towards.
    """
    if RowScatter.are_few(moments, layout):
        yield RowScatter(moments, layout, metric)
        return
    p, k = layout.width, int(n_components) if isinstance(n_components, int | np.integer) else None
    allowed = available_memory() if memory_limit is None else memory_limit
    sparse = SparseScatter(moments, layout, metric)
    # The matrix, the factor twice, and what is made of it.
    if FactoredScatter.suits(moments, layout) and 8 * p * (p + 4 * sparse.bound) <= allowed:
        yield FactoredScatter(moments, layout, metric)
        return
    if sparse.bound < p // 4 and 4 * 8 * p * sparse.bound <= allowed:
        yield BoundedScatter(moments, layout, metric)
        return
    if n_components is not None and metric is not None and any(layout.categorical):
        wide = WideScatter(moments, layout, metric)
        if len(wide.counts) >= max(WIDE, 3 * wide.rest.width) and wide.is_projector:
            yield wide
    # The matrix, its vectors, and what `eigh` works in.
    needed = 4 * 8 * p * p
    # Iterations compare with the largest eigenvalue, and would not see columns far below it. Where there is no matrix to give
    # them up for, they are not begun twice.
    if k is not None and needed <= allowed and p > max(MANY, FEW * k) and not unlike(diagonal):
        yield TriedScatter(moments, layout, metric)
    if needed <= allowed:
        yield DenseScatter(moments, layout, metric)
    elif k is not None:
        yield sparse
    else:
        name, size = layout.widest
        raise DataError(
            f"{p:,} design columns, {size:,} of them of column {name!r}, are too many for a "
            f"dense solution ({in_words(needed)}, and {in_words(allowed)} are "
            "allowed), and the matrix-free one finds a given number of components: instead of ",
            Argument("n_components", n_components),
            " ask for a whole number, such as ",
            Argument("n_components", 20),
            PythonOnly("; or ", Call("pool"), " rare levels first"),
        )
