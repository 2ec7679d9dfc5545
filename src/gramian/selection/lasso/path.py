"""The path of the group Lasso and the elastic net from second moments.

With x the design columns and h the functions of the target, centred, and a group of design columns a source column,

    1/(2n) sum_i |h_i - B^T x_i|^2 + alpha l1_ratio sum_g w_g |B_g| + alpha (1 - l1_ratio)/2 |B|^2

depends on the rows only through S/n and C/n. B_g holds all levels and all functions of a column, so a column enters or
leaves as one; w_g is the root of its directions (1 for a number), which makes columns of any number of levels enter alike
by chance (Yuan and Lin). With numbers alone and one target this is scikit-learn's Lasso and ElasticNet.

*Units.* The penalty depends on them. `scale=True` takes numbers of unit variance and levels divided by the roots of their
shares, where the block of a category is a projector, so that the result does not depend on how levels are coded;
`scale=False` takes columns as they are. One number as target stays in its unit; of several, each is divided by its standard
deviation, and class indicators by the roots of their shares f. Those add up to nothing along the direction of the roots of f,
so L classes are L - 1 functions in an orthonormal basis of what is left: |B_g| is the same in any such basis.

*Algorithm.* From the alpha at which the first column enters down a geometric grid, warm from the last. At each, descent
runs over the columns that the strong rule leaves (Tibshirani et al. 2012), then the gradient of all others is checked, and
those that violate the optimum join: what is returned satisfies the optimality conditions of the whole problem to
`TOLERANCE` of the first alpha.

Where columns nearly repeat each other descent crawls. So every few epochs comes a step of Newton over the columns that have
coefficients, taken as far as it lowers the objective: with u = B_g / |B_g| the penalty has the second derivative
alpha l1_ratio w_g (I - u u^T) / |B_g|. Close to the optimum two or three such steps end it.

*When it ends.* For moments of rows the objective without its constant is at least -|h|^2 / (2n), half the mean square of the
functions. Below that, S has a negative eigenvalue: its sums have lost their digits, descent would follow it for ever, and the
last coefficients above the bound are kept.

References: Yuan and Lin, Model selection and estimation in regression with grouped variables, JRSS B 68, 2006; Friedman,
Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate descent, JSS 33, 2010.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from gramian.arrays.types import Array
from gramian.selection.lasso.descent import descend, descend_in_groups
from gramian.selection.problem import ROUNDING, Problem

TOLERANCE = 1e-9
"""Of the largest gradient: how far from zero the optimality conditions may be."""

EPOCHS = 5_000
"""Over the columns at hand, at most, for one alpha."""

BETWEEN = 10
"""Rounds of two epochs between two steps of Newton, at most: fewer where such a step takes no longer than they do."""

SPARE = 0.125
"""Share of the design columns at hand that may be those of columns that have left: taking them out copies the others."""

STRIDE = 8
"""Alphas from one optimum to the next where only the order of entries is asked for."""

MOST = 0.75
"""Share of the design columns at hand from which on all of them are: their scatter is not copied then."""

IN_A_ROW = 30
"""Steps of Newton before descent goes on."""

NEWTON = 2_000
"""Coefficients beside those of the widest category, at most, for a step of Newton: it takes their number cubed."""

NO_PROGRESS = 1e-13
"""Of the objective: less than this in a round of iterates is rounding, and columns that repeat each other drift for ever."""


@dataclass(frozen=True, eq=False)
class LassoProblem:
    """Second moments per row in the units of the penalty.

    Attributes
    ----------
    scatter, cross : (p, p) and (p, m) arrays
        S/n and C/n.
    split, root : (g,) and (p,) arrays
        Whether the block of a source column is a diagonal less r r^T, as that of a category is, and r.
    starts : (g + 1,) array of int
        Where each source column begins.
    bound : (g,) array
        No eigenvalue of a block of the scatter is larger.
    weights : (g,) array
    back_x, back_y : (p,) and (m, q) arrays
        Coefficients are multiplied by the first, and as rows by the second, to be those of the columns and of the q functions
        as they are.
    own : float
        Mean square of the functions of the target, added up: what the squared error begins with.
    """

    scatter: Array
    cross: Array
    split: npt.NDArray[np.bool_]
    root: Array
    starts: Array
    bound: Array
    weights: Array
    back_x: Array
    back_y: Array
    own: float

    @classmethod
    def of(cls, problem: Problem, scale: bool) -> LassoProblem:
        """Return the problem in the units of the penalty."""
        regression, n = problem.regression, problem.n
        widths = np.array([span.stop - span.start for span in problem.spans], dtype=np.int64)
        ranks = np.bincount(problem.owner, problem.ranks, len(widths))
        unit = problem.unit / np.sqrt(n) if scale else np.where(np.isfinite(problem.unit), 1.0, np.inf)
        varies = np.isfinite(problem.unit)
        own = np.where(varies, 1.0 if scale else np.square(np.where(varies, problem.unit, 0.0)) / n, 0.0)
        # A category's block is at most its largest share, a number's is its variance; those of a date's parts add up.
        largest = np.maximum.reduceat(own, problem.layout.starts)
        basis, back_y = _target_basis(problem)
        split, root = widths == 1, np.zeros(len(unit))
        split[list(problem.roots)] = True
        for source, roots in problem.roots.items():
            root[problem.spans[source]] = roots * np.sqrt(own[problem.spans[source]])
        return cls(
            scatter=problem.matrix if scale else np.ascontiguousarray(regression.matrix / n / unit / unit[:, None]),
            split=split,
            root=root,
            cross=np.ascontiguousarray(regression.cross / n / unit[:, None] @ basis),
            starts=np.concatenate([[0], np.cumsum(widths)]),
            bound=np.bincount(problem.owner, largest, len(widths)),
            weights=np.sqrt(np.maximum(ranks, 1.0)),
            back_x=np.where(np.isfinite(unit), 1 / unit, 0.0),
            back_y=back_y,
            own=float(np.sum(basis * (regression.own / n @ basis))),
        )

    def norms(self, values: Array) -> Array:
        """Return the length of each source column's part of a (p, m) array."""
        return np.sqrt(np.add.reduceat(np.square(values).sum(axis=1), self.starts[:-1]))

    def gradient(self, coefficients: Array, known: Array, slope: Array) -> Array:
        """Return C - S B, of which some rows are known, and B is zero in all others.

        Rows of S are read, of those not known or of those that B needs, whichever are fewer.
        """
        others = np.ones(len(coefficients), dtype=bool)
        others[known] = False
        rest, some = np.flatnonzero(others), np.flatnonzero(coefficients.any(axis=1))
        if len(rest) <= len(some):
            out = np.empty_like(self.cross)
            out[rest] = self.cross[rest] - self.scatter.take(rest, axis=0) @ coefficients
        else:
            out = self.cross - self.scatter.take(some, axis=0).T @ coefficients[some]
        out[known] = slope
        return out

    def among(self, chosen: Array) -> tuple[Array, Array]:
        """Return the scatter and the roots of some design columns."""
        if len(chosen) == len(self.scatter):
            return self.scatter, self.root
        return self.scatter[np.ix_(chosen, chosen)], self.root[chosen]

    def largest_alpha(self, l1_ratio: float) -> float:
        """Return the alpha at which the first column enters."""
        return float((self.norms(self.cross) / self.weights).max(initial=0.0)) / l1_ratio

    def as_given(self, coefficients: Array) -> Array:
        """Return coefficients of the columns and functions as they are."""
        return coefficients * self.back_x[:, None] @ self.back_y


def _target_units(problem: Problem) -> Array:
    """Return by what each function of the target is divided."""
    aim, own = problem.aim, np.diagonal(problem.regression.own) / problem.n
    if len(aim.columns) == 1 and not aim.classes[0]:
        return np.ones(aim.size)
    out = np.sqrt(np.where(own > 0, own, 1.0))
    for target, classes in enumerate(aim.classes):
        if classes:
            at = aim.owner == target
            # f (1 - f) is the variance of an indicator; the chi-squared metric divides by the root of f.
            out[at] = np.sqrt(np.maximum(_shares(problem, at), 1e-300))
    return out


def _target_basis(problem: Problem) -> tuple[Array, Array]:
    """Return T, by which functions of the target are multiplied, and what brings coefficients of H T back to those of H."""
    units, aim = _target_units(problem), problem.aim
    blocks = []
    for target, classes in enumerate(aim.classes):
        at = np.flatnonzero(aim.owner == target)
        block = np.eye(len(units))[:, at]
        if len(classes) > 1:
            shares = _shares(problem, at)
            # Classes that are not all there are do not add up to nothing.
            if abs(shares.sum() - 1.0) <= 1e-9:
                block = block @ np.linalg.qr(np.sqrt(shares)[:, None], mode="complete")[0][:, 1:]
        blocks.append(block)
    basis = np.hstack(blocks)
    return basis / units[:, None], np.ascontiguousarray((basis * units[:, None]).T)


def _shares(problem: Problem, at: Array) -> Array:
    return np.asarray(problem.regression.aim_mean[at])


def alpha_grid(problem: LassoProblem, l1_ratio: float, *, count: int = 100, eps: float = 1e-3) -> Array:
    """Return a geometric grid from the alpha at which the first column enters, as scikit-learn's.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect([[1.0, 0.0, 1.0], [2.0, 1.0, 3.0], [3.0, 5.0, 2.0], [4.0, 2.0, 5.0]])
    >>> found = LassoProblem.of(problem_of(m, ["x0", "x1"], ["x2"]), scale=False)
    >>> alpha_grid(found, 1.0, count=3, eps=0.01).round(4)
    array([1.375 , 0.1375, 0.0138])
    """
    top = problem.largest_alpha(l1_ratio)
    if not top > np.finfo(np.float64).tiny:
        return np.full(count, np.finfo(np.float64).tiny)
    return np.geomspace(top, top * eps, count)


def lasso_path(problem: LassoProblem, alphas: Array, l1_ratio: float = 1.0, *, most: int | None = None) -> Array:
    """Return the coefficients at each alpha, (k, p, m), in the units of the penalty.

    Parameters
    ----------
    problem : LassoProblem
    alphas : (k,) array
        Descending.
    l1_ratio : float
        Between 0, not included, and 1: the share of the group penalty, the rest being a ridge.
    most : int, optional
        Stop at the first alpha at which at least so many source columns have, or had before, coefficients; those of later
        ones are left out.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect([[1.0, 0.0, 1.0], [2.0, 1.0, 3.0], [3.0, 5.0, 2.0], [4.0, 2.0, 5.0]])
    >>> found = LassoProblem.of(problem_of(m, ["x0", "x1"], ["x2"]), scale=False)
    >>> lasso_path(found, [1.0, 0.1])[:, :, 0].round(6)
    array([[ 0.3     ,  0.      ],
           [ 1.431111, -0.411111]])
    """
    out = np.zeros((len(alphas), *problem.cross.shape))
    walk, entered = Walk(problem, alphas, l1_ratio), np.zeros(len(problem.weights), dtype=bool)
    for k, alpha in enumerate(alphas):
        walk.to(alpha)
        out[k] = walk.coefficients
        entered |= walk.inside
        if most is not None and entered.sum() >= most:
            return out[: k + 1]
    return out


class Walk:
    """Where descent stands on the path; it goes on from there, and a copy of it may go elsewhere."""

    def __init__(self, problem: LassoProblem, alphas: Array, l1_ratio: float) -> None:
        top = problem.largest_alpha(l1_ratio)
        self._problem, self._l1_ratio = problem, l1_ratio
        self._tol = TOLERANCE * max(top * l1_ratio, np.finfo(np.float64).tiny)
        self._before = max(top, float(alphas[0])) if len(alphas) else top
        self._at_hand = np.zeros(len(problem.weights), dtype=bool)
        self._block = _Block(problem, np.empty(0, dtype=np.intp))
        self._gradient = problem.cross.copy()
        self.coefficients = np.zeros_like(problem.cross)
        """In the units of the penalty."""
        self.inside = self._at_hand.copy()
        """Which source columns have coefficients."""

    def copy(self) -> Walk:
        """Return another that stands here."""
        out = copy.copy(self)
        out.coefficients, out._at_hand = self.coefficients.copy(), self._at_hand.copy()
        return out

    def to(self, alpha: float) -> None:
        """Go to the optimum at a lower alpha."""
        problem, l1_ratio, at_hand = self._problem, self._l1_ratio, self._at_hand
        coefficients, widths = self.coefficients, np.diff(problem.starts)
        penalty, ridge = alpha * l1_ratio * problem.weights, alpha * (1 - l1_ratio)
        sizes = problem.norms(self._gradient - ridge * coefficients)
        at_hand |= sizes >= np.maximum(2 * alpha - self._before, 0.0) * l1_ratio * problem.weights
        at_hand &= problem.bound > 0
        while True:
            if widths[at_hand].sum() >= MOST * widths.sum():
                at_hand[:] = True
            chosen = np.flatnonzero(np.repeat(at_hand, widths))
            if len(chosen):
                if not np.array_equal(chosen, self._block.chosen):
                    self._block = _Block(problem, chosen)
                slope = _descend(problem, at_hand, self._block, coefficients, self._gradient, penalty, ridge, self._tol)
                self._gradient = problem.gradient(coefficients, chosen, slope)
            short = problem.norms(self._gradient) > penalty * (1 + TOLERANCE)
            short &= ~at_hand & (problem.bound > 0)
            if not short.any():
                break
            at_hand |= short
        self.inside, self._before = problem.norms(coefficients) > 0, float(alpha)
        # What is zero now may stay out of the next step, unless the strong rule takes it in again.
        if widths[at_hand & ~self.inside].sum() > SPARE * widths[at_hand].sum():
            self._at_hand = self.inside.copy()


def entry_order(problem: LassoProblem, alphas: Array, l1_ratio: float = 1.0, *, most: int) -> list[int]:
    """Return the source columns in the order in which they enter, up to the alpha at which `most` have entered.

    The optimum is found at every eighth alpha, and between two of them only where several columns enter there: by halves, until
    each enters alone or the two are neighbours, between which columns keep their own order. A column that enters and leaves
    again between two such alphas is not seen.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.selection.problem import problem_of
    >>> m = gm.collect([[1.0, 0.0, 1.0], [2.0, 1.0, 3.0], [3.0, 5.0, 2.0], [4.0, 2.0, 5.0]])
    >>> found = LassoProblem.of(problem_of(m, ["x0", "x1"], ["x2"]), scale=False)
    >>> entry_order(found, alpha_grid(found, 1.0), most=2)
    [0, 1]
    """
    order: list[int] = []

    def between(start: int, here: Walk, end: int, there: Walk) -> None:
        """Add what enters after one alpha, up to another; both optima are known."""
        new = [int(j) for j in np.flatnonzero(there.inside) if int(j) not in order]
        if len(new) <= 1 or end == start + 1:
            order.extend(new)
            return
        middle, halfway = (start + end) // 2, here.copy()
        halfway.to(float(alphas[middle]))
        between(start, here, middle, halfway)
        if len(order) < most:
            between(middle, halfway, end, there)

    here, start = Walk(problem, alphas, l1_ratio), -1
    while start < len(alphas) - 1 and len(order) < most:
        end = min(start + STRIDE, len(alphas) - 1)
        there = here.copy()
        there.to(float(alphas[end]))
        between(start, here, end, there)
        here, start = there, end
    return order


class _Block:
    """The scatter of the columns at hand, and what a step of Newton needs of it again and again.

    A wide category is eliminated from such a step. Where its levels have one second derivative a, all that this takes of its
    scatter with the others, X, is X^T X.
    """

    def __init__(self, problem: LassoProblem, chosen: Array) -> None:
        self.chosen = chosen
        self.scatter, self.root = problem.among(chosen)
        self._known: tuple[bytes, Array, Array] | None = None

    def squares(self, apart: Array, others: Array) -> Array:
        """Return X^T X for the rows `apart` and the columns `others`."""
        key = apart.tobytes()
        if self._known is None or self._known[0] != key or not np.isin(others, self._known[1]).all():
            across = self.scatter[np.ix_(apart, others)]
            self._known = (key, others, across.T @ across)
        _, known, out = self._known
        at = np.searchsorted(known, others)
        return out if len(at) == len(known) else out[np.ix_(at, at)]


def _descend(
    problem: LassoProblem,
    at_hand: Array,
    block: _Block,
    coefficients: Array,
    gradient: Array,
    penalty: Array,
    ridge: float,
    tol: float,
) -> Array:
    """Descend over the columns at hand and return C - S B there; `coefficients` is changed in place."""
    chosen, scatter, root = block.chosen, block.scatter, block.root
    here, slope = np.ascontiguousarray(coefficients[chosen]), np.ascontiguousarray(gradient[chosen])
    cross, bound, amount, split = (
        problem.cross[chosen],
        problem.bound[at_hand],
        penalty[at_hand],
        problem.split[at_hand],
    )
    starts = np.concatenate([[0], np.cumsum(np.diff(problem.starts)[at_hand])])
    single, own = here.shape[1] == 1 and len(bound) == len(chosen), np.diagonal(scatter) + root**2

    def settled() -> bool:
        if single:
            return descend(scatter, slope[:, 0], here[:, 0], bound, amount, ridge, tol, 2) < 2
        return descend_in_groups(scatter, slope, here, starts, bound, amount, own, root, split, ridge, tol, 2) < 2

    def objective(at: Array, left: Array) -> float:
        norms = np.sqrt(np.add.reduceat(np.square(at).sum(axis=1), starts[:-1]))
        return float(-np.sum(at * (cross + left)) / 2 + amount @ norms + ridge / 2 * np.sum(at * at))

    sizes = np.diff(starts)
    cubed = (float(len(chosen) - sizes[split].max(initial=0)) * here.shape[1]) ** 3
    # Products of matrices take an eighth of the time of as many operations in a row.
    between = int(np.clip(cubed / 24 / (2.0 * len(chosen) ** 2 * here.shape[1]), 2, BETWEEN))
    value, least = objective(here, slope), -problem.own / 2 * (1 + 1e-6)
    for _ in range(EPOCHS // (2 * between)):
        start, slope_there = here.copy(), slope.copy()
        if any(settled() for _ in range(between)):
            break
        before, value = value, objective(here, slope)
        if not value >= least:
            here, slope = start, slope_there
            break
        # One group after another vanishes on the way; descent in between would take it in again.
        for _ in range(IN_A_ROW):
            step = _newton_step(block, split, slope, here, starts, amount, ridge)
            taken = 0.0
            for share, ahead, left in () if step is None else _ahead(scatter, slope, here, step, starts):
                reached = objective(ahead, left)
                if reached <= value + 1e-15 * abs(value):
                    here[:], slope[:], value, taken = ahead, left, reached, share
                    break
            if taken in (0.0, 1.0):
                break
        if before - value <= NO_PROGRESS * abs(value):
            break
    coefficients[chosen] = here
    return slope


def _newton_step(
    block: _Block, split: Array, slope: Array, here: Array, starts: Array, penalty: Array, ridge: float
) -> Array | None:
    """Return the step to the minimum of the quadratic that the objective is near here, among the groups with coefficients.

    The widest of them that is a category is eliminated: its second derivative is a diagonal less two terms of rank one.
    """
    scatter, root = block.scatter, block.root
    m, widths = here.shape[1], np.diff(starts)
    norms = np.sqrt(np.add.reduceat(np.square(here).sum(axis=1), starts[:-1]))
    group = np.repeat(np.arange(len(widths)), widths)
    pull = np.divide(penalty, norms, out=np.zeros(len(norms)), where=norms > 0)
    widest = int(np.argmax(np.where(split & (norms > 0), widths, 0)))
    active = (norms > 0)[group] & (np.diagonal(scatter) > 0)
    wide = active & (group == widest) & split[widest]
    apart, rows = np.flatnonzero(wide), np.flatnonzero(active & ~wide)
    if len(rows) * m > NEWTON:
        return None
    downhill = slope - (pull[group] + ridge)[:, None] * here
    unit = here / np.where(norms > 0, norms, 1.0)[group, None]
    # The category: A = (diag(a) - r r^T) x I - pull u u^T, and what A0, its first term, makes of its scatter with the others.
    a, r, u = np.diagonal(scatter)[apart] + root[apart] ** 2 + pull[widest] + ridge, root[apart], unit[apart]

    along = r / a / (1 - r @ (r / a))

    def first_inverse(x: Array) -> Array:
        out = x / a[:, None]
        return np.asarray(out + np.multiply.outer(along, r @ out))

    across, turned = scatter[np.ix_(apart, rows)], first_inverse(u)
    weight = pull[widest] / (1 - pull[widest] * np.sum(u * turned))

    def inverse(x: Array) -> Array:
        return first_inverse(x) + weight * np.sum(turned * x) * turned

    seen = (across.T @ turned).ravel()
    left = scatter[np.ix_(rows, rows)]
    if len(apart) and np.ptp(a) <= 1e-14 * a[0]:
        left -= block.squares(apart, rows) / a[0]
        left -= np.multiply.outer(across.T @ along, (r / a) @ across)
    else:
        left -= across.T @ first_inverse(across)
    hessian = np.kron(left, np.eye(m)) if m > 1 else left
    hessian -= weight * np.multiply.outer(seen, seen)
    # Columns that repeat each other leave directions without curvature, along which nothing pulls either.
    least = 1e-12 * np.diagonal(scatter).max()
    hessian[np.diag_indices_from(hessian)] += np.repeat(pull[group[rows]] + ridge + least, m)
    starting = [*np.flatnonzero(np.diff(group[rows], prepend=-1)), len(rows)]
    for first, end in pairwise(starting):
        span, each = slice(first * m, end * m), unit[rows[first:end]].ravel()
        hessian[span, span] -= pull[group[rows[first]]] * np.multiply.outer(each, each)
    out = np.zeros_like(here)
    if len(rows):
        aim = downhill[rows] - across.T @ inverse(downhill[apart])
        _, step, failed = lapack.dposv(hessian, aim.ravel(), lower=1, overwrite_a=1)
        if failed or not np.isfinite(step).all():
            return None
        out[rows] = step.reshape(-1, m)
    out[apart] = inverse(downhill[apart] - across @ out[rows])
    return out


def _ahead(
    scatter: Array, slope: Array, here: Array, step: Array, starts: Array
) -> Iterator[tuple[float, Array, Array]]:
    """Give shares of a step, where they lead and C - S B there; what turns round is zero. The last stops at the first."""

    def along(at: Array) -> Array:
        return np.add.reduceat((here * at).sum(axis=1), starts[:-1])

    now, change, image = along(here), along(step), scatter @ step
    backwards = change < 0
    for share in (1.0, 0.5, 0.1, float(np.min(now[backwards] / -change[backwards], initial=1.0))):
        ahead, left = here + share * step, slope - share * image
        turned = (now > 0) & (now + share * change <= ROUNDING * now)
        if turned.any():
            rows = np.flatnonzero(np.repeat(turned, np.diff(starts)))
            left += scatter[:, rows] @ ahead[rows]
            ahead[rows] = 0.0
        yield share, ahead, left


def entry_alphas(problem: LassoProblem, alphas: Array, path: Array) -> Array:
    """Return the largest alpha at which each source column has coefficients, 0 where it never has."""
    inside = np.array([problem.norms(coefficients) > 0 for coefficients in path])
    if not len(inside):
        return np.zeros(len(problem.weights))
    return np.where(inside.any(axis=0), np.asarray(alphas)[inside.argmax(axis=0)], 0.0)
