"""`method="walk"`: coupled biased random walks (Pang, Cao and Chen, IJCAI 2016), from pair counts alone.

The bias of a level u of column j is b_u = (1 - n_u / n_mode + 1 - n_mode / n) / 2, n_mode the count of the most frequent
level of the column. A walk over all levels goes from u to a level v of another column in proportion to b_v p(u | v) = b_v
n_uv / n_v, and with probability 1 - alpha anywhere. Where it is often found is odd: levels that are rare for their column
and keep company with such. With pi the distribution of the walk, started evenly and followed until no entry moves by more
than the tolerance, the weight of a column is rho_j = sum_{u in j} pi_u and

    score(x) = sum_j rho_j pi[u_j]:

one number a level. In matrices, with N the pair counts of different columns, the step is pi <- (1 - alpha) / p + alpha g *
(N (pi / (N g))), g = b / n_v. Constants are the published ones. A missing value is a level like any other; numbers are no
levels and add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.layout import layout_of
from gramian.maps.frozen_encoder import Design
from gramian.maps.surprise.score import PairScore
from gramian.moments import covariance as dense
from gramian.moments.value import Moments

DAMPING = 0.95
TOLERANCE = 1e-3
MOST_STEPS = 100


def walk_score(moments: Moments, columns: Sequence[str] | None = None) -> PairScore:
    """Return the score of rows by coupled biased random walks.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.

    Raises
    ------
    DataError
        Where no column is categorical.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> found = walk_score(gm.collect(pa.table({"a": ["x", "x", "x", "y"], "b": ["p", "p", "q", "q"]})))
    >>> [by_level.round(3).tolist() for by_level in found.own]
    [[0.071, 0.179], [0.051, 0.199]]
    """
    layout = layout_of(moments, columns)
    design = Design.of(moments, layout.columns)
    at = [moments.coded_at[column.name] for column in design.categorical]
    if not at:
        raise DataError(
            Argument("method", "walk"),
            " walks over levels, and no column is categorical; name some in categorical_features, or take ",
            Argument("method", "trees"),
        )
    n = float(moments.total_weight)
    weights = [np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in at]
    starts = np.cumsum([0, *(len(weight) for weight in weights)])
    stacked = np.concatenate(weights)
    bias = np.concatenate([1.0 - 0.5 * (weight / weight.max() + weight.max() / n) for weight in weights])
    pi = _walk(_pair_counts(moments, at, starts), bias / np.where(stacked > 0, stacked, 1.0))
    own = tuple(pi[start:stop] * pi[start:stop].sum() for start, stop in pairwise(starts))
    return PairScore(design, own, {}, {}, None, (0.0, float(sum(by_level.max() for by_level in own))))


def _walk(times: Callable[[Array], Array], gain: Array) -> Array:
    """Return the distribution of the walk, given the product of the pair counts with a vector, and g."""
    outflow = times(gain)
    p = len(gain)
    pi = np.full(p, 1.0 / p)
    for _ in range(MOST_STEPS):
        # A level from which no step leads, since nothing beside it is ever odd, keeps nothing and passes nothing on.
        spread = np.divide(pi, outflow, out=np.zeros(p), where=outflow > 0)
        after = (1.0 - DAMPING) / p + DAMPING * gain * times(spread)
        moved = float(np.abs(pi - after).max())
        pi = after
        if moved <= TOLERANCE:
            break
    return np.asarray(pi / pi.sum())


def _pair_counts(moments: Moments, at: list[int], starts: npt.NDArray[np.intp]) -> Callable[[Array], Array]:
    """Return the product of the pair counts of different columns with a vector over their levels."""
    pairs = moments.pairs
    offsets = pairs.offsets()
    narrow = [j for j, k in enumerate(at) if k in offsets]
    spans = [slice(int(a), int(b)) for a, b in pairwise(starts)]
    inner, places = np.zeros((0, 0)), np.zeros(0, np.intp)
    if narrow:
        slots = np.concatenate([offsets[at[j]] + np.arange(pairs.sizes[at[j]]) for j in narrow])
        places = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in narrow])
        inner = np.array(pairs.matrix[dense.grid(slots, slots)], dtype=np.float64)
        # Levels of one column never meet but themselves.
        np.fill_diagonal(inner, 0.0)
    blocks = [
        (spans[i], spans[j], sp.csr_array(pairs.block(at[i], at[j]), dtype=np.float64))
        for j in range(len(at))
        for i in range(j)
        if at[i] not in offsets or at[j] not in offsets
    ]

    def times(vector: Array) -> Array:
        out = np.zeros(len(vector))
        out[places] = inner @ vector[places]
        for rows, cols, block in blocks:
            out[rows] += block @ vector[cols]
            out[cols] += block.T @ vector[rows]
        return out

    return times
