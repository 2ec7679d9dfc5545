"""Regression of influence functions on design columns, with a ridge counted in rows, from moments.

S is the centred scatter of the design columns, C its cross scatter with the influence functions, V the scatter of those. The
ridge solution is

    B(r) = (S + r D)^-1 C,        D = diag(v),   v = 1 for a level, the variance for a number,

so a level of n rows that is uncorrelated with the rest has its coefficient shrunk by n / (n + r), and so has a number over n
rows, whatever its unit. For r -> 0 this is least squares.

*Which route.* Up to `EIGEN` design columns S is a matrix: Cholesky for r > 0, with pivots at r = 0, and a whole path of r comes
from one eigendecomposition of D^-1/2 S D^-1/2 = Q diag(l) Q^T,

    B(r) = D^-1/2 Q diag(1 / (l + r)) Q^T D^-1/2 C.

Above that eigenvectors cost seconds, and conjugate gradients over all r at once a tenth of one, as S only multiplies; see
`gramian.linear.conjugate`. Where they are slow to converge (columns that nearly repeat each other) the factorisations are taken
after all, up to `DENSE` columns. Beyond, the widest category is eliminated first
(`gramian.linear.elimination`). All routes give the same numbers.

*Gauge.* The levels of a category sum to one, so adding a constant to their coefficients changes nothing once centred. The
coefficients returned have weighted mean zero over each category: a level that no row had is then worth what the average row is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays import eigh_descending
from gramian.linear.conjugate import conjugate_gradients
from gramian.linear.elimination import Elimination
from gramian.linear.influence import Aim
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.operator import ScatterOperator
from gramian.linear.pivoted import solve_semidefinite
from gramian.linear.spread import kept_rows
from gramian.moments import dense
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]

DENSE = 6000
"""Up to this many design columns the scatter is formed: 288 MB, and a Cholesky factor in seconds."""

EIGEN = 450
"""Up to this many design columns a path of ridges is read off eigenvectors."""

ROUNDS = 200
"""Products with S after which, where S can be formed, a factorisation is cheaper than going on."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Second moments of design columns and influence functions.

    Attributes
    ----------
    moments : Moments
    layout : Layout
        Of the features.
    weight : float
        Total weight, n.
    mean : (p,) array
        Of the design columns.
    aim_mean : (m,) array
        Of the influence functions, up to a constant that is the same for every part of one data set.
    cross, own : (p, m) and (m, m) arrays
        C and V.
    unit : (p,) array
        v, the ridge of one row.
    joint : ScatterOperator
        Over features and targets.
    """

    moments: Moments
    layout: Layout
    weight: float
    mean: Array
    aim_mean: Array
    cross: Array
    own: Array
    unit: Array
    joint: ScatterOperator

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return self.layout.width

    @property
    def is_dense(self) -> bool:
        """Whether S is formed."""
        return self.width <= DENSE

    @cached_property
    def matrix(self) -> Array:
        """S as a matrix. Not to be changed."""
        rows = kept_rows(self.moments, self.layout)
        return dense.scatter(self.moments, self.layout.columns) if rows is None else rows.T @ rows

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of S."""
        return self.joint.diagonal()[: self.width]

    def apply(self, v: Array) -> Array:
        """Return S v, without forming S."""
        return self._seen(v)[0]

    def _seen(self, v: Array) -> tuple[Array, Array]:
        full = np.zeros((self.joint.shape[0], v.shape[1]))
        full[: self.width] = v
        found = self.joint @ full
        return found[: self.width], found[self.width :]

    @cached_property
    def directions(self) -> int:
        """Directions in which rows could differ: one less than its levels a category, one a number that varies."""
        varies = self.diagonal > 0
        levels = [max(int((self.mean[span] > 0).sum()) - 1, 0) for span in self.category_spans]
        return sum(levels) + int((varies & ~self.layout.is_level).sum())

    @property
    def dimensions(self) -> int:
        """The same, but no more than rows less one."""
        return int(min(self.directions, max(self.moments.n_rows - 1, 0)))

    def centred(self, coefficients: Array) -> Array:
        """Return coefficients with weighted mean zero over each category."""
        out = coefficients.copy()
        for span, is_category in zip(self.layout.spans(), self.layout.categorical, strict=True):
            if is_category:
                out[span] -= self.mean[span] @ out[span]
                out[span][self.mean[span] == 0] = 0.0
        return out

    @cached_property
    def elimination(self) -> Elimination | None:
        """The system with its widest category eliminated; None where there is no category."""
        sizes = [s if c else 0 for s, c in zip(self.layout.sizes, self.layout.categorical, strict=True)]
        return Elimination(self.moments, self.layout, int(np.argmax(sizes))) if any(sizes) else None

    @cached_property
    def category_spans(self) -> list[slice]:
        """The design columns of each category."""
        return [span for span, is_one in zip(self.layout.spans(), self.layout.categorical, strict=True) if is_one]


def regression_of(moments: Moments, columns: list[str], aim: Aim, *, unit: Array | None = None) -> Regression:
    """Return the moments of a regression of `aim` on some columns.

    Parameters
    ----------
    moments : Moments
        With the targets already in the form that `aim` takes (`aim.read`).
    columns : list of str
        Feature columns.
    aim : Aim
    unit : (p,) array, optional
        The ridge of one row; by default from the variances of these moments. Folds are given that of the whole, so that
        a ridge means the same in each.
    """
    layout = layout_of(moments, columns, without=aim.columns)
    aimed = layout_of(moments, aim.columns)
    both = Layout(layout.columns + aimed.columns, layout.sizes + aimed.sizes, layout.forms + aimed.forms)
    joint = ScatterOperator(moments, both)
    p, weight = layout.width, float(moments.total_weight)
    found = joint @ np.vstack([np.zeros((p, aim.size)), aim.map])
    own = aim.map.T @ found[p:]
    if unit is None:
        spread = joint.diagonal()[:p] / weight
        unit = np.where(layout.is_level | (spread <= 0), 1.0, spread)
    return Regression(
        moments=moments,
        layout=layout,
        weight=weight,
        mean=centre_of(moments, layout),
        aim_mean=centre_of(moments, aimed) @ aim.map,
        cross=found[:p],
        own=(own + own.T) / 2,
        unit=unit,
        joint=joint,
    )


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The solution at ridge 0.

    Attributes
    ----------
    coefficients : (p, m) array
        A solution of S B = C.
    rank : int
        Of S. Where S is not formed: the directions in which rows can differ, an upper bound.
    """

    coefficients: Array
    rank: int


def least_squares(problem: Regression) -> LeastSquares:
    """Return the regression without a ridge, singular blocks included."""
    if problem.width > EIGEN:
        found = _without_further_null_space(problem)
        if found is not None:
            return found
    if problem.is_dense:
        coefficients, rank = solve_semidefinite(problem.matrix, problem.cross)
        return LeastSquares(problem.centred(coefficients), rank)
    coefficients = iterated(problem, problem.cross, np.zeros(problem.cross.shape[1]), tol=1e-13, max_rounds=2 * ROUNDS)[
        0
    ]
    return LeastSquares(problem.centred(coefficients), problem.dimensions)


def _without_further_null_space(problem: Regression) -> LeastSquares | None:
    """Return the solution by conjugate gradients where S has no null space but that of its categories, else None.

    Beside C a random right-hand side is solved for, drawn from all directions in which rows can differ. Were there one more in
    which S vanishes, the random column would have a part along it that no product with S can cancel, and the iteration
    could not converge. So if it does, in a few rounds, the rank is known, and neither matrix nor factor is needed.
    """
    rng = np.random.default_rng(0)
    probe = np.sqrt(problem.diagonal) * rng.standard_normal(problem.width)
    for span in problem.category_spans:
        probe[span] -= problem.mean[span] * probe[span].sum()
    rhs = np.column_stack([problem.cross, probe])
    found, done = iterated(problem, rhs, np.zeros(rhs.shape[1]), tol=1e-13, max_rounds=ROUNDS)
    if not done or problem.dimensions < problem.directions:
        return None
    return LeastSquares(problem.centred(found[:, :-1]), problem.dimensions)


def ridge_coefficients(problem: Regression, ridge: float) -> Array:
    """Return B(r), (p, m), to about twelve digits.

    Parameters
    ----------
    problem : Regression
    ridge : float
        In rows, at least 0.
    """
    if ridge == 0:
        return least_squares(problem).coefficients
    if problem.width > EIGEN:
        amounts = np.full(problem.cross.shape[1], float(ridge))
        rounds = ROUNDS if problem.is_dense else 10 * ROUNDS
        found, done = iterated(problem, problem.cross, amounts, tol=1e-13, max_rounds=rounds)
        if done or not problem.is_dense:
            return problem.centred(found)
    shifted = problem.matrix.copy()
    shifted[np.diag_indices_from(shifted)] += ridge * problem.unit
    factor = scipy.linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    found = scipy.linalg.cho_solve(factor, problem.cross, check_finite=False)
    left = problem.cross - problem.matrix @ found - ridge * problem.unit[:, None] * found
    found += scipy.linalg.cho_solve(factor, left, check_finite=False)
    return problem.centred(found)


def iterated(
    problem: Regression, rhs: Array, ridge: Array, *, tol: float, max_rounds: int = 2000
) -> tuple[Array, bool]:
    """Return the solutions of (S + r_j D) x_j = b_j by products with S, and whether all reached the tolerance.

    Where S is too wide to be formed the widest category is eliminated.
    """
    if problem.elimination is not None and not problem.is_dense:
        return problem.elimination.solve(problem.diagonal, rhs, ridge, problem.unit, tol=tol, max_rounds=max_rounds)
    return conjugate_gradients(
        lambda v, _: problem.apply(v),
        problem.diagonal,
        rhs,
        ridge,
        problem.unit,
        spans=problem.category_spans,
        tol=tol,
        max_rounds=max_rounds,
    )


def ridge_path(problem: Regression, ridges: Array, *, tol: float = 1e-9) -> Array:
    """Return B(r) for every r, (k, p, m).

    Parameters
    ----------
    problem : Regression
    ridges : (k,) array
        All above 0.
    tol : float
        Of the conjugate gradients, where those are used.
    """
    p, m = problem.cross.shape
    if p > EIGEN:
        rhs = np.repeat(problem.cross[:, None], len(ridges), axis=1).reshape(p, -1)
        rounds = ROUNDS if problem.is_dense else 10 * ROUNDS
        found, done = iterated(problem, rhs, np.repeat(ridges, m), tol=tol, max_rounds=rounds)
        if done or not problem.is_dense:
            return np.moveaxis(found.reshape(p, len(ridges), m), 0, 1)
    values, turned, rooted = eigen_route(problem)
    along = turned.T @ (problem.cross / rooted[:, None])
    return np.array([(turned @ (along / (values + r)[:, None])) / rooted[:, None] for r in ridges])


def eigen_route(problem: Regression) -> tuple[Array, Array, Array]:
    """Return eigenvalues and vectors of D^-1/2 S D^-1/2, and the diagonal of D^1/2."""
    rooted = np.sqrt(problem.unit)
    scaled = problem.matrix / rooted
    scaled /= rooted[:, None]
    values, vectors = eigh_descending(scaled, overwrite=True)
    return np.maximum(values, 0.0), vectors, rooted
