"""Sums over the leverages of one side of a test, from moments: what `gramian.linear.regression.permutation` asks for.

*One column.* Its hat matrix is known from its margin. With n_u the rows of level u, d the deviations of a number and M_k their
power sums,

    category    a_ij = [same level] / n_u - 1/n        leverage  1/n_u - 1/n
    number      a_ij = d_i d_j / M_2                   leverage  d_i^2 / M_2,   so  L = M_4 / M_2^2,  C = M_6 / M_2^3

and functions f of a level, made orthonormal, give a_ij = f_u . f_v. All sums are exact, from level counts and four power sums.

*Several columns jointly.* For orthogonal columns hat matrices and leverages add. Then L = sum_jk sum_i h_j(i) h_k(i), and for
two columns collected by level the inner sum is sum_uv n_uv h_u h_v, from the pair counts. For a number and another column
it is taken as it would be if they were independent, T_j T_k / n, and for two numbers of correlation r as if one were a
multiple of the other plus noise, (1 + 2 r^2 + r^2 k) / n, k the mean excess kurtosis of the two: right at r = 0 and at
r = 1. Third-order sums across columns are those of independent ones.

Two corrections. No row has leverage above 1: where column j takes h_j of a row, the others, of rank T in all, share what is
left of it, T (1 - h_j) / (n - T_j), so what h_j deviates from its mean counts only 1 - T / (n - T_j) of itself. And as real
columns are not orthogonal, all is scaled to the rank: leverages sum to it. So this is an *estimate*, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.types import Array
from gramian.linear.regression.permutation import Side
from gramian.linear.regression.targets import Aim
from gramian.moments import covariance as dense
from gramian.moments.value import Moments

MANY_NUMBERS = 2048
"""Above this many numbers their correlations are not looked at: a matrix of them would cost more than the test."""


def root_of_inverse(matrix: Array) -> Array:
    """Return a (m, r) matrix R with R R^T a pseudo-inverse of a positive semi-definite matrix of rank r.

    Examples
    --------
    >>> R = root_of_inverse(np.array([[4.0, 0.0], [0.0, 0.0]]))
    >>> R @ R.T
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    spread = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    # A function that does not vary leaves rounding behind; the others set what that is.
    unit = np.where(spread > 0, spread, np.inf)
    values, vectors = eigh_descending(matrix / np.outer(unit, unit))
    rank = relative_rank(values, slack=64.0)
    return np.asarray(vectors[:, :rank] / np.sqrt(values[:rank]) / unit[:, None])


class Part:
    """One column of a side: its own sums, and the leverage of each of its levels where it has levels.

    Attributes
    ----------
    side : Side
    coded : int or None
        Its place among the columns collected by level.
    leverages : (levels,) array
    """

    def __init__(self, side: Side, coded: int | None = None, leverages: Array | None = None) -> None:
        self.side, self.coded = side, coded
        self.leverages = np.empty(0) if leverages is None else leverages


def of_category(counts: Array, coded: int | None = None) -> Part:
    """Return the part of a category with these level counts.

    Examples
    --------
    >>> of_category(np.array([2.0, 2.0])).side
    Side(rank=1.0, squares=0.25, cubes=0.0625, entries=0.0, form=0.0, estimated=False)
    """
    counts = np.asarray(counts, dtype=np.float64)
    n, some = counts.sum(), counts > 0
    share = np.divide(1.0, counts, out=np.zeros(len(counts)), where=some)
    h = np.where(some, share - 1 / n, 0.0)
    rank = float(max(some.sum() - 1, 0))
    squares = float(counts @ h**2)
    entries = float(counts**2 @ (h**3 + 1 / n**3) - 1 / n)
    side = Side(rank, squares, float(counts @ h**3), entries, float(squares - rank**2 / n), counts=counts)
    return Part(side, coded, h)


def of_functions(counts: Array, values: Array, coded: int | None = None) -> Part:
    """Return the part of functions of a level, given their (levels, m) values.

    Examples
    --------
    >>> three = np.array([2.0, 5.0, 1.0])
    >>> a, b = of_functions(three, np.eye(3)).side, of_category(three).side
    >>> np.allclose([a.squares, a.cubes, a.entries, a.form], [b.squares, b.cubes, b.entries, b.form])
    True
    """
    counts = np.asarray(counts, dtype=np.float64)
    centred = values - counts @ values / counts.sum()
    centred[counts == 0] = 0.0
    scores = centred @ root_of_inverse((centred * counts[:, None]).T @ centred)
    rank = scores.shape[1]
    if rank == (counts > 0).sum() - 1:
        return of_category(counts, coded)
    hat = scores @ scores.T
    h = np.diagonal(hat).copy()
    weighted = counts * h
    side = Side(
        rank=float(rank),
        squares=float(weighted @ h),
        cubes=float(weighted @ h**2),
        entries=float(counts @ hat**3 @ counts),
        form=float(weighted @ hat @ weighted),
    )
    return Part(side, coded, h)


def beyond(part: Part, counts: Array, scores: Array) -> Part:
    """Return the part of a single column without the directions of some orthonormal (levels, k) scores."""
    counts = np.asarray(counts, dtype=np.float64)
    return of_functions(counts, np.eye(len(counts)) - scores @ (scores * counts[:, None]).T, part.coded)


def scaled(side: Side, rank: int) -> Side:
    """Return the sums of a smaller space, leverages in proportion."""
    c = rank / side.rank if side.rank > 0 else 0.0
    cubes, entries, form = (value * c**3 for value in (side.cubes, side.entries, side.form))
    return Side(float(rank), side.squares * c**2, cubes, entries, form, estimated=True)


def of_number(powers: Array) -> Part:
    """Return the part of a number with these central power sums M_2 to M_6."""
    second = float(powers[0])
    if not second > 0:
        return Part(Side(0.0, 0.0, 0.0, 0.0, 0.0))
    # One division after the other, so that no power of a large or small unit leaves the range of floats.
    # One that has left it already is not known.
    third, fourth, sixth = (float(power) if np.isfinite(power) else float("nan") for power in powers[[1, 2, 4]])
    fourth = fourth / second / second
    skewed = (third / second) ** 2 / second if abs(third / second) < 1e150 else float("nan")
    return Part(Side(1.0, fourth, sixth / second / second / second, skewed, skewed))


def parts_of(moments: Moments, columns: Sequence[str]) -> list[Part]:
    """Return the parts of some columns in the forms in which they are collected."""
    position = {name: j for j, name in enumerate(moments.numbers.names)}
    powers = moments.numbers.central(float(moments.total_weight)).sums if position else np.empty((5, 0))
    return [_part(moments, name, powers, position) for name in columns]


def _part(moments: Moments, name: str, powers: Array, position: dict[str, int]) -> Part:
    form = moments.schema[name].form
    if form == "number":
        return of_number(powers[:, position[name]])
    k = moments.coded_at[name]
    counts = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
    if form == "category":
        return of_category(counts, k)
    return of_functions(counts, dense.level_values(moments, k)[1][:, None], k)


def parts_of_target(moments: Moments, aim: Aim) -> list[Part]:
    """Return the parts of influence functions, one a target."""
    sizes = dense.design_sizes(moments, aim.columns)
    starts = np.cumsum([0, *sizes])
    parts = parts_of(moments, aim.columns)
    for t, name in enumerate(aim.columns):
        if moments.schema[name].form == "category":
            k = moments.coded_at[name]
            values = aim.map[starts[t] : starts[t + 1], aim.owner == t]
            if values.shape[0] != values.shape[1] or not np.array_equal(values, np.eye(len(values))):
                parts[t] = of_functions(moments.pairs.level_weights[k], values, k)
    return parts


def side_of(moments: Moments, columns: Sequence[str], parts: Sequence[Part], rank: int) -> Side:
    """Return the sums of one or several columns jointly, whose hat matrix has this rank."""
    if len(parts) == 1:
        return parts[0].side
    n = float(moments.total_weight)
    ranks = np.array([part.side.rank for part in parts])
    total = ranks.sum()
    if not total > 0:
        return Side(0.0, 0.0, 0.0, 0.0, 0.0)
    scale = min(rank / total, 1.0)
    parts = [_beside(part, rank - scale * part.side.rank, n) for part in parts]
    squares = np.array([part.side.squares for part in parts])
    joint = squares.sum() + _across(moments, columns, parts)
    apart = squares - ranks**2 / n
    cubes = sum(p.side.cubes for p in parts) - (3 * ranks * squares / n - 2 * ranks**3 / n**2).sum()
    cubes += 3 * total / n * (joint - total**2 / n) + total**3 / n**2
    entries = sum(p.side.entries for p in parts)
    # Pairs and triples of independent columns: on the diagonal leverages multiply, off it means of entries do.
    entries += 3 * _off(squares / n - (ranks - squares) / (n * max(n - 1, 1)), ranks)
    triples = total**3 - 3 * total * (ranks**2).sum() + 2 * (ranks**3).sum()
    entries += triples / n**2
    form = sum(p.side.form for p in parts) + _off(apart / max(n - 1, 1), ranks)
    return Side(
        rank=float(rank),
        # A leverage is at most 1, so the sum of their squares at most the rank.
        squares=float(np.minimum(joint * scale**2, rank)),
        cubes=float(np.minimum(cubes * scale**3, rank)),
        entries=float(entries * scale**3),
        form=float(form * scale**3),
        estimated=True,
    )


def _beside(part: Part, others: float, n: float) -> Part:
    """Return a part with its leverages drawn to their mean, as they are beside others of so much rank."""
    side = part.side
    mean = side.rank / n
    f = max(1 - others / max(n - side.rank, 1.0), 0.0)
    spread = f**2 * (side.squares - side.rank * mean)
    third = f**3 * (side.cubes - 3 * mean * side.squares + 2 * side.rank * mean**2)
    drawn = Side(
        rank=side.rank,
        squares=side.rank * mean + spread,
        cubes=third + 3 * mean * spread + side.rank * mean**2,
        entries=f**3 * side.entries,
        form=f**3 * side.form,
    )
    return Part(drawn, part.coded, mean + f * (part.leverages - mean))


def _off(a: Array, b: Array) -> float:
    """Return the sum of a_j b_k over j != k."""
    return float(a.sum() * b.sum() - a @ b)


def _across(moments: Moments, columns: Sequence[str], parts: Sequence[Part]) -> float:
    """Return the sum over pairs j != k of columns of sum_i h_j(i) h_k(i)."""
    n = float(moments.total_weight)
    coded = [part for part in parts if part.coded is not None]
    plain = [part.side for part in parts if part.coded is None]
    number_ranks, ranks = sum(s.rank for s in plain), sum(part.side.rank for part in coded)
    return _between_levels(moments, coded) + 2 * number_ranks * ranks / n + _between_numbers(moments, columns, parts, n)


def _between_levels(moments: Moments, parts: Sequence[Part]) -> float:
    """Return h_j^T N_jk h_k summed over j != k: one product for the narrow columns, one a pair for the others."""
    pairs, offsets = moments.pairs, moments.pairs.offsets()
    stacked = np.zeros(len(pairs.matrix))
    for part in parts:
        if part.coded in offsets:
            stacked[offsets[part.coded] :][: len(part.leverages)] = part.leverages
    total = 0.0
    for position, part in enumerate(parts):
        k, h = part.coded, part.leverages
        assert k is not None
        if k in offsets:
            rows = pairs.matrix[offsets[k] : offsets[k] + len(h)]
            total += float(h @ (rows @ stacked)) - float(np.asarray(pairs.level_weights[k]) @ h**2)
        for other in parts[position + 1 :]:
            assert other.coded is not None
            if k not in offsets or other.coded not in offsets:
                total += 2 * float(h @ (pairs.block(k, other.coded) @ other.leverages))
    return total


def _between_numbers(moments: Moments, columns: Sequence[str], parts: Sequence[Part], n: float) -> float:
    names = [name for name, part in zip(columns, parts, strict=True) if part.coded is None and part.side.rank > 0]
    if len(names) < 2:
        return 0.0
    if len(names) > MANY_NUMBERS:
        return len(names) * (len(names) - 1) / n
    squares = np.array([part.side.squares for part in parts if part.coded is None and part.side.rank > 0])
    scatter = dense.scatter(moments, names)
    spread = np.sqrt(np.diagonal(scatter))
    shared = np.square(scatter / np.outer(spread, spread))
    np.fill_diagonal(shared, 0.0)
    excess = n * squares - 3
    pairs = len(names) * (len(names) - 1)
    return float(pairs + 2 * shared.sum() + (shared @ excess).sum()) / n
