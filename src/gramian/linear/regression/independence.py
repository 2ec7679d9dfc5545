"""Are two sets of columns independent? The permutation test of Strasser and Weber, from moments.

With S the scatter of the design columns x, V that of the influence functions h(y) and C the cross scatter, the linear statistic
T = sum_i x_i h(y_i)^T has, over all permutations of y, mean sum x sum h^T / n and covariance V (x) S / (n - 1). Its Mahalanobis
distance from that mean is

    (n - 1) tr(S^+ C V^+ C^T) = (n - 1) sum of the squared canonical correlations of x and h.

With one number on either side it is (n - 1) r^2; with two categories (n - 1)/n times Pearson's chi-squared of the table; with
one number and classes, up to that factor, n times the correlation ratio. Nothing is assumed of the distributions: the p-value
comes from the mean, variance and skewness of the statistic over all permutations (`linear.regression.permutation`), which the
leverages of the two sides give (`linear.regression.leverages`), and for two sparse categories from the tables of their margins
(`linear.regression.table_tail`). For large n, and where neither side has rare levels or heavy
tails, that is chi-squared with rank(S) rank(V) degrees of freedom.

*Components.* The squared canonical correlations come one by one, largest first. That none but the first k differ from zero is
tested by (n - 1) times the sum of the others. Its law is taken as that of the statistic of the spaces that are left, x and
h without their first k canonical directions, as if these had been known beforehand; so it is approximate, and best where the
first k are plain and the rest of x varies alike whatever h is. The spaces left are exact for a single column of few levels and
the first components, otherwise their leverages are in proportion. A later component means something only if all before it do,
so no p-value is smaller than the one before.

Reference: Strasser and Weber, On the asymptotic theory of permutation statistics, Mathematical Methods of Statistics 8, 1999.

Sums over the leverages of one side of a test, from moments: what `gramian.linear.regression.permutation` asks for.

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
from dataclasses import dataclass

import numpy as np

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.types import Array
from gramian.errors import Call, DataError, PythonOnly
from gramian.linear.regression.permutation import NullLaw, Side, null_law
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import least_squares
from gramian.linear.regression.targets import TargetFunctions, aim_of, refuse_missing
from gramian.moments import covariance as dense
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class IndependenceTest:
    """The answer of `independence_test`.

    Attributes
    ----------
    statistic : float
        (n - 1) times the sum of the squared canonical correlations.
    df : int
        `rank_x * rank_y`, the mean of the statistic over all permutations.
    p_value : float
        Of a statistic as large over all permutations: by all tables of the same margins, or random ones, where two
        categories are sparse, otherwise by a gamma law of the mean, variance and skewness.
    null : {"exact", "estimated", "chi-squared"}
        Whether those moments are exact, estimates (several columns jointly on one side), or unknown: moments from a file
        without fourth powers, or less a part that held almost all of them; chi-squared then stands in.
    null_variance, null_skewness : float
        Of the statistic over all permutations; those of chi-squared are 2 df and sqrt(8 / df). NaN where unknown.
    null_law : NullLaw
        What gives the p-value: `null_law.upper_tail(statistic)`.
    rank_x, rank_y : int
    correlations : (min(rank_x, rank_y),) array
        Canonical correlations, largest first.
    component_statistics, component_df, component_p_values : arrays
        Of the tests that this and all later canonical correlations are zero, p-values approximate and never falling.
    n : float
        Total weight.
    """

    statistic: float
    df: int
    p_value: float
    rank_x: int
    rank_y: int
    correlations: Array
    component_statistics: Array
    component_df: Array
    component_p_values: Array
    n: float
    null: str
    null_variance: float
    null_skewness: float
    null_law: NullLaw

    def __repr__(self) -> str:
        words = f"statistic={self.statistic:.6g}, df={self.df}, p_value={self.p_value:.4g}"
        return f"IndependenceTest({words}, null={self.null!r})"


FEW_LEVELS = 64
FIRST_COMPONENTS = 8
"""Columns of so many levels, and so many components, have the spaces that are left worked out."""


def dependence_of(problem: Regression, aim: TargetFunctions) -> IndependenceTest:
    """Return the test of a regression of `aim`: always at ridge 0, whatever ridge its features have."""
    divisor_of(problem.moments, 1, "a test of independence")
    solved = least_squares(problem)
    root = root_of_inverse(problem.own)
    explained = root.T @ (problem.cross.T @ solved.coefficients) @ root
    values, vectors = eigh_descending((explained + explained.T) / 2)
    rank_x, rank_y = solved.rank, root.shape[1]
    count = min(rank_x, rank_y)
    squares = np.clip(values[:count], 0.0, 1.0)
    n, moments = problem.weight, problem.moments
    rest = (n - 1) * np.cumsum(squares[::-1])[::-1]
    k = np.arange(count)

    columns = problem.layout.columns
    x, y = parts_of(moments, columns), parts_of_target(moments, aim)
    sides = side_of(moments, columns, x, rank_x), side_of(moments, aim.columns, y, rank_y)
    whole = null_law(n, *sides)
    # Unit canonical variates as functions of a level; in design columns where several make a side.
    in_x = solved.coefficients @ root @ vectors[:, :count] / np.sqrt(np.where(squares > 0, squares, np.inf))
    in_y = aim.map @ root @ vectors[:, :count]
    left = [
        null_law(n, _left(moments, sides[0], x, in_x, j, rank_x), _left(moments, sides[1], y, in_y, j, rank_y))
        for j in range(1, count)
    ]
    laws = [whole, *left]
    statistic = float((n - 1) * squares.sum())
    return IndependenceTest(
        statistic=statistic,
        df=rank_x * rank_y,
        p_value=whole.upper_tail(statistic),
        rank_x=rank_x,
        rank_y=rank_y,
        correlations=np.sqrt(squares),
        component_statistics=rest,
        component_df=(rank_x - k) * (rank_y - k),
        component_p_values=np.maximum.accumulate([law.upper_tail(v) for law, v in zip(laws, rest, strict=False)]),
        n=n,
        null=_known(whole, sides),
        null_variance=whole.variance,
        null_skewness=whole.skewness,
        null_law=whole,
    )


def _known(law: NullLaw, sides: tuple[Side, Side]) -> str:
    if not np.isfinite(law.variance):
        return "chi-squared"
    return "estimated" if any(side.estimated for side in sides) else "exact"


def _left(moments: Moments, side: Side, parts: Sequence[Part], scores: Array, k: int, rank: int) -> Side:
    """Return a side without its first k canonical directions."""
    part = parts[0]
    if len(parts) > 1 or part.coded is None or k > FIRST_COMPONENTS or not 1 < len(part.leverages) <= FEW_LEVELS:
        return scaled(side, rank - k)
    counts = np.asarray(moments.pairs.level_weights[part.coded], dtype=np.float64)
    remaining = beyond(part, counts, scores[:, :k] - counts @ scores[:, :k] / counts.sum()).side
    # Functions of a level that are not all there are would leave more than their own space.
    return remaining if remaining.rank == rank - k else scaled(side, rank - k)


def independence_test(
    moments: Moments, x_columns: str | Sequence[str] | None = None, target: str | Sequence[str] | None = None
) -> IndependenceTest:
    """Test whether some columns and a target (one column or several) are independent, from moments.

    Numbers, categories and mixtures of both may stand on either side: a number enters as itself, a category by its levels.

    Parameters
    ----------
    moments : Moments
    x_columns : str or sequence of str, optional
        By default every feature that is not a target: `independence_test(moments, "sold")` tests them against `sold`.
    target : str or sequence of str
        With two arguments the second is the target.

    Returns
    -------
    IndependenceTest

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "red", "blue", "blue"] * 25, "size": [1.0, 2.0, 1.0, 2.0] * 25,
    ...                          "sold": ["yes", "yes", "no", "yes"] * 25}))
    >>> independence_test(m, "color", "sold")
    IndependenceTest(statistic=33, df=1, p_value=1.042e-09, null='exact')
    >>> independence_test(m, "color", "size").p_value
    1.0
    >>> independence_test(m, "sold").df
    2
    """
    given: object = moments
    if not isinstance(given, Moments):
        got = type(given).__name__
        raise DataError(
            Call("independence_test"), f" takes Moments; got {got}", PythonOnly(": collect() the rows first")
        )
    if target is None:
        x_columns, target = None, x_columns
    if target is None:
        raise DataError(Call("independence_test"), " needs a target: the name of a column, or several names")
    targets = moments.schema.resolve(target)
    columns = moments.schema.features_beside(targets) if x_columns is None else moments.schema.resolve(x_columns)
    for name in targets:
        refuse_missing(moments, name)
    aim = _by_kind(moments, targets)
    return dependence_of(regression_of(moments, columns, aim), aim)


def _by_kind(moments: Moments, targets: Sequence[str]) -> TargetFunctions:
    """Return the functions of columns as they are collected: numbers as numbers, categories by level."""
    sizes = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    widths = [sizes[name] if moments.kind(name) == "categorical" else 1 for name in targets]
    if sum(widths) == 0:
        return aim_of(moments, targets)
    owner = np.repeat(np.arange(len(targets)), widths)
    names = [name for name, width in zip(targets, widths, strict=True) for _ in range(width)]
    return TargetFunctions(list(targets), [], np.eye(sum(widths)), names, owner, [[] for _ in targets])


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


def parts_of_target(moments: Moments, aim: TargetFunctions) -> list[Part]:
    """Return the parts of influence functions, one per target."""
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
    """Return h_j^T N_jk h_k summed over j != k: one product for the narrow columns, one per pair for the others."""
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
