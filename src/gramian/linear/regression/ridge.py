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
`linear.solvers.conjugate`. Where one category has most of the levels, eliminating it and factoring what is left costs less
still (`gramian.linear.scatter.wide`). Numbers alone may nearly repeat each other (hidden units do), and the iteration then ends
without an answer: where a factor for each r costs less than finding that out, factors are taken at once. And where the
iteration is slow to converge (columns that nearly repeat each other) a
factorisation is taken after all, of what is left or of S. Beyond `DENSE` columns S is never formed and the widest category
always eliminated, unless rows are fewer: with S = F^T F, F' = F D^-1/2 of few rows (`linear.scatter.factored`) and
F' F'^T = U diag(l) U^T,

    B(r) = D^-1/2 F'^T U diag(1 / (l (l + r))) U^T F' D^-1/2 C

for every r, and its limit at r = 0, where l is not rounding. All routes give the same numbers.

*Gauge.* The levels of a category sum to one, so adding a constant to their coefficients changes nothing once centred. The
coefficients returned have weighted mean zero over each category: a level that no row had is then worth what the average row is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.types import Array
from gramian.linear.level_means import LevelMeans
from gramian.linear.regression.problem import Regression
from gramian.linear.scatter.wide import FACTOR
from gramian.linear.solvers.conjugate import conjugate_gradients
from gramian.linear.solvers.pivoted import solve_semidefinite

EIGEN = 450
"""Up to this many design columns a path of ridges is read off eigenvectors."""

ROUNDS = 200
"""Products with S after which, where S can be formed, a factorisation is cheaper than going on."""

USUAL = 30
"""Products that conjugate gradients usually take, for comparing costs: a dozen for unrelated columns, up to a hundred."""


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The solution at ridge 0.

    Attributes
    ----------
    coefficients : (p, m) array
        A solution of S B = C.
    rank : int
        Of S. Where neither S nor its complement is formed: the directions in which rows can differ, an upper bound.
    """

    coefficients: Array
    rank: int


def least_squares(problem: Regression) -> LeastSquares:
    """Return the regression without a ridge, singular blocks included."""
    wide, p = problem.elimination, problem.width
    if problem.few_rows is not None:
        coefficients, rank = _through_rows(problem, problem.cross, np.zeros(problem.cross.shape[1]))
        return LeastSquares(problem.centred(coefficients), rank)
    if not problem.is_dense and wide is not None and wide.is_factored(1):
        return _by_complement(problem)
    if p > EIGEN:
        if problem.is_dense and _pays(problem, 1, _iterating(p, 1)):
            return _by_complement(problem)
        solution = _without_further_null_space(problem)
        if solution is not None:
            return solution
        if problem.is_dense and _pays(problem, 1, p**3 / FACTOR):
            return _by_complement(problem)
    if problem.is_dense:
        coefficients, rank = solve_semidefinite(problem.matrix, problem.cross)
        return LeastSquares(problem.centred(coefficients), rank)
    none = np.zeros(problem.cross.shape[1])
    coefficients, _ = iterated(problem, problem.cross, none, tol=1e-13, max_rounds=2 * ROUNDS)
    return LeastSquares(problem.centred(coefficients), problem.dimensions)


def _by_complement(problem: Regression) -> LeastSquares:
    assert problem.elimination is not None
    coefficients, rank = problem.elimination.least_squares(problem.cross)
    return LeastSquares(problem.centred(coefficients), rank)


def _pays(problem: Regression, n_ridges: int, rival: float) -> bool:
    """Whether eliminating the widest category and factoring the rest costs less than a rival."""
    return problem.elimination is not None and problem.elimination.pays(n_ridges, rival)


def _iterating(p: int, n_ridges: int) -> float:
    """Return what conjugate gradients over a matrix of order p usually cost, in the unit of `WideScatter.pays`."""
    # A product takes 2 p^2 operations of BLAS, of which 20 go into one addition of a sweep over sparse rows.
    return USUAL * n_ridges * p**2 / 10


def _without_further_null_space(problem: Regression) -> LeastSquares | None:
    """Return the solution by conjugate gradients where S has no null space but that of its categories, else None.

    Beside C a random right-hand side is solved for, drawn from all directions in which rows can differ. Were there one more in
    which S vanishes, the random column would have a part along it that no product with S can cancel, and the iteration
    could not converge. So if it does, in a few rounds, the rank is known, and neither matrix nor factor is needed.
    """
    rng = np.random.default_rng(0)
    probe = np.sqrt(problem.diagonal) * rng.standard_normal(problem.width)
    for span in problem.layout.category_spans:
        probe[span] -= problem.mean[span] * probe[span].sum()
    rhs = np.column_stack([problem.cross, probe])
    solution, done = iterated(problem, rhs, np.zeros(rhs.shape[1]), tol=1e-13, max_rounds=ROUNDS)
    if not done or problem.dimensions < problem.directions:
        return None
    return LeastSquares(problem.centred(solution[:, :-1]), problem.dimensions)


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
    amounts = np.full(problem.cross.shape[1], float(ridge))
    return problem.centred(solved(problem, problem.cross, amounts, tol=1e-13))


def solved(problem: Regression, rhs: Array, ridge: Array, *, tol: float) -> Array:
    """Return the solutions of (S + r_j D) x_j = b_j, by whatever route costs least.

    Parameters
    ----------
    problem : Regression
    rhs : (p, k) array
        Columns that sum to zero over each category.
    ridge : (k,) array
        All above 0.
    tol : float
        Where the route is iterative.
    """
    p, distinct = problem.width, len(np.unique(ridge))
    if problem.few_rows is not None:
        return _through_rows(problem, rhs, ridge)[0]
    if not problem.is_dense:
        return iterated(problem, rhs, ridge, tol=tol, max_rounds=10 * ROUNDS)[0]
    repeated = not problem.layout.category_spans and distinct * p / 3 <= 2 * (ROUNDS // 4) * rhs.shape[1]
    if p > EIGEN and not repeated and not _pays(problem, distinct, _iterating(p, distinct)):
        solution, done = iterated(problem, rhs, ridge, tol=tol, max_rounds=ROUNDS)
        if done:
            return solution
    if p > EIGEN and _pays(problem, distinct, distinct * p**3 / FACTOR):
        assert problem.elimination is not None
        return problem.elimination.factored(rhs, ridge, problem.unit, tol=tol)
    return _by_factors(problem, rhs, ridge)


def _through_rows(problem: Regression, rhs: Array, ridge: Array) -> tuple[Array, int]:
    """Return the solutions by the eigenvectors of F' F'^T, corrected once by their residual, and the rank of S."""
    assert problem.few_rows is not None
    rooted, rows = np.sqrt(problem.unit)[:, None], problem.few_rows.rows
    values, turn = problem.few_rows.left_pairs
    rank = relative_rank(values, size=problem.width)
    values, turn = values[:rank, None], turn[:, :rank]

    def towards(aim: Array) -> Array:
        return np.asarray(rows.T @ (turn @ ((turn.T @ (rows @ aim)) / (values * (values + ridge)))))

    scaled = rhs / rooted
    solution = towards(scaled)
    solution += towards(scaled - rows.T @ (rows @ solution) - ridge * solution)
    return solution / rooted, rank


def _by_factors(problem: Regression, rhs: Array, ridge: Array) -> Array:
    """Return the solutions by a Cholesky factor each, corrected once by their residual."""
    out = np.empty_like(rhs)
    for amount in np.unique(ridge):
        at = np.flatnonzero(ridge == amount)
        shifted = problem.matrix.copy()
        shifted[np.diag_indices_from(shifted)] += amount * problem.unit
        factor = scipy.linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        solution = scipy.linalg.cho_solve(factor, rhs[:, at], check_finite=False)
        left = rhs[:, at] - problem.matrix @ solution - amount * problem.unit[:, None] * solution
        out[:, at] = solution + scipy.linalg.cho_solve(factor, left, check_finite=False)
    return out


def iterated(
    problem: Regression, rhs: Array, ridge: Array, *, tol: float, max_rounds: int = 2000
) -> tuple[Array, bool]:
    """Return the solutions of (S + r_j D) x_j = b_j by products with S, and whether all reached the tolerance.

    Where S is too wide to be formed the widest category is eliminated. The right-hand sides sum to zero over each category,
    and so do the solutions.
    """
    if problem.elimination is not None and not problem.is_dense:
        solution, done = problem.elimination.solve(rhs, ridge, problem.unit, tol=tol, max_rounds=max_rounds)
    else:
        solution, done = conjugate_gradients(
            lambda v, _: problem.scatter @ v,
            problem.diagonal,
            rhs,
            ridge,
            problem.unit,
            spans=problem.layout.category_spans,
            tol=tol,
            max_rounds=max_rounds,
            # Where S can be formed there is another way.
            hopeless=max_rounds // 4 if problem.is_dense else None,
        )
    return LevelMeans(problem.layout.category_spans, problem.width).removed(solution), done


def ridge_path(problem: Regression, ridges: Array, *, tol: float = 1e-8) -> Array:
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
        solutions = solved(problem, rhs, np.repeat(ridges, m), tol=tol)
        return np.moveaxis(solutions.reshape(p, len(ridges), m), 0, 1)
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
