"""Regression of influence functions on design columns, with a ridge counted in rows, from moments.

S is the centred scatter of the design columns, C its cross scatter with the influence functions, V the scatter of those. The
ridge solution is

    B(r) = (S + r D)^-1 C,        D = diag(v),   v = 1 for a level, the variance for a number,

so a level of n rows that is uncorrelated with the rest has its coefficient shrunk by n / (n + r), and so has a number over n
rows, whatever its unit. For r -> 0 this is least squares.

*Which route.* Up to `EIGEN` design columns S is a matrix: Cholesky for r > 0, with pivots at r = 0, and a whole path of r comes
from one tridiagonal form D^-1/2 S D^-1/2 = Q T Q^T,

    B(r) = D^-1/2 Q (T + r I)^-1 Q^T D^-1/2 C,

which takes a sixth of the time of eigenvectors: Q is applied as reflections and never formed. Above that conjugate gradients
over all r at once are taken, in which S only multiplies; see `linear.solvers.conjugate`. Where one
category has most of the levels, eliminating it and factoring what is left costs less still (`gramian.linear.scatter.wide`).
Numbers may nearly repeat each other (hidden units do), and the iteration then ends without an answer: where a factor for each
r costs less than finding that out, factors are taken at once. And where the iteration is slow to converge (columns that
nearly repeat each other) a factorisation is taken after all, of what is left or of S. Beyond `DENSE` columns S is never
formed and the widest category always eliminated, unless rows are fewer: with S = F^T F, F' = F D^-1/2 of few rows
(`linear.scatter.factored`) and F' F'^T = U diag(l) U^T,

    B(r) = D^-1/2 F'^T U diag(1 / (l (l + r))) U^T F' D^-1/2 C

for every r, and its limit at r = 0, where l is not rounding. All routes give the same numbers.

*Gauge.* The levels of a category sum to one, so adding a constant to their coefficients changes nothing once centred. The
coefficients returned have weighted mean zero over each category: a level that no row had is then worth what the average row is.

Which ridge: cross-validated over fold moments, or generalised cross-validation where there are no folds.

*Folds.* The r of the largest held-out R^2; see below.

*No folds.* Generalised cross-validation: with H(r) = X (S + r D)^-1 X^T the hat matrix, the r of least

    GCV(r) = n |h - H h|^2 / (n - 1 - tr H(r))^2.

tr H = sum of l / (l + r) over the eigenvalues of D^-1/2 S D^-1/2, or, where those cost too much, the mean of z^T H z over a
few random signs z (Hutchinson), which at thousands of columns is right to a fraction of a percent.

Both look at the same path: half decades from 0.01 rows up to the number of rows; whole ones from 0.1 where eigenvectors are out
of reach and every r is solved for (the curve is flat at that size). Folds are independent, so each has a thread.

Held-out scores of a regression from fold moments: no row is read again.

With (S, C, V, n, means) the moments of the left-out fold, d and e the gaps of its means of x and h from the training
folds', and B the training folds' coefficients, the squared error of predicting the fold is

    sum_i |h_i - hbar_train - B^T (x_i - xbar_train)|^2
        = tr(V + n e e^T) - 2 tr(B^T (C + n d e^T)) + tr(B^T (S + n d d^T) B),

a function of moments: it *is* the error that refitting on the training rows and predicting the left-out ones would give, as B
uses the training rows alone, also for the variance of a number in its ridge. The score is R^2, of the Brier kind for classes
(summed over the indicators), averaged over targets. A level that no training row has is predicted as the average row and a
missing number as their mean (`gramian.moments.algebra.folds`), as `transform` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg.lapack import dormqr, dptsv, dsytrd, dsytrd_lwork

from gramian.arrays.linalg import relative_rank
from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.errors import Argument
from gramian.linear.layout import LevelMeans
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.targets import TargetFunctions
from gramian.linear.scatter.wide import FACTOR, mostly_numbers
from gramian.linear.solvers import conjugate_gradients, solve_semidefinite
from gramian.moments.algebra.folds import folds_of, has_folds
from gramian.moments.value import Moments

EIGEN = 450
"""Up to this many design columns a path of ridges is solved in tridiagonal form."""

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
    repeated = mostly_numbers(problem.layout) and distinct * p / 3 <= 2 * (ROUNDS // 4) * rhs.shape[1]
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
    problem: Regression, rhs: Array, ridge: Array, *, tol: float, least: float = 0.0, max_rounds: int = 2000
) -> tuple[Array, bool]:
    """Return the solutions of (S + r_j D) x_j = b_j by products with S, and whether all reached the tolerance.

    Where S is too wide to be formed the widest category is eliminated. The right-hand sides sum to zero over each category,
    and so do the solutions.
    """
    if problem.elimination is not None and not problem.is_dense:
        solution, done = problem.elimination.solve(
            rhs, ridge, problem.unit, tol=tol, least=least, max_rounds=max_rounds
        )
    else:
        solution, done = conjugate_gradients(
            lambda v, _: problem.scatter @ v,
            problem.diagonal,
            rhs,
            ridge,
            problem.unit,
            spans=problem.layout.category_spans,
            tol=tol,
            least=least,
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
    return Tridiagonal(problem).path(ridges)


class Tridiagonal:
    """A regression after D^-1/2 S D^-1/2 = Q T Q^T, T tridiagonal and Q a product of reflections.

    Parameters
    ----------
    problem : Regression
        Of which S is a matrix.
    """

    def __init__(self, problem: Regression) -> None:
        self._cross, self._rooted = problem.cross, np.sqrt(problem.unit)[:, None]
        scaled = np.asfortranarray(problem.matrix / self._rooted / self._rooted.T)
        if len(scaled) < 2:
            self._diagonal, self._beside, self._turns = scaled.diagonal().copy(), np.zeros(0), None
            return
        room = int(dsytrd_lwork(len(scaled), lower=1)[0])
        reflected, self._diagonal, self._beside, tau, _ = dsytrd(scaled, lower=1, lwork=room, overwrite_a=1)
        # The reflections leave the first row alone.
        self._turns = np.asfortranarray(reflected[1:, :-1]), tau

    def _turned(self, columns: Array, direction: str) -> Array:
        """Return Q ("N") or Q^T ("T") times columns."""
        if self._turns is None:
            return columns
        columns = np.asfortranarray(columns)
        _, room, _ = dormqr("L", direction, *self._turns, columns[1:], -1)
        return np.vstack([columns[:1], dormqr("L", direction, *self._turns, columns[1:], int(room[0]))[0]])

    def path(self, ridges: Array) -> Array:
        """Return B(r) for every r, (k, p, m)."""
        p, m = self._cross.shape
        along = self._turned(self._cross / self._rooted, "T")
        if len(self._diagonal) > 1:
            solved = [solveh_tridiagonal(self._diagonal + r, self._beside, along) for r in ridges]
        else:
            solved = [along / (self._diagonal + r)[:, None] for r in ridges]
        flat = self._turned(np.stack(solved, axis=1).reshape(p, -1), "N") / self._rooted
        return np.moveaxis(flat.reshape(p, len(ridges), m), 0, 1)

    def traces(self, ridges: Array) -> list[float]:
        """Return tr H(r), the sum of l / (l + r) over the eigenvalues of T."""
        if len(self._diagonal) > 1:
            values = np.maximum(scipy.linalg.eigvalsh_tridiagonal(self._diagonal, self._beside), 0.0)
        else:
            values = np.maximum(self._diagonal, 0.0)
        return [float((values / (values + r)).sum()) for r in ridges]


def solveh_tridiagonal(diagonal: Array, beside: Array, columns: Array) -> Array:
    """Return the solutions of a positive definite tridiagonal system, by rounding at least: S has no negative direction.

    Examples
    --------
    >>> solveh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), np.array([[3.0], [3.0]])).tolist()
    [[1.0], [1.0]]
    """
    *_, out, info = dptsv(diagonal, beside, columns)
    if not info:
        return np.asarray(out)
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
    least = np.finfo(np.float64).eps * len(values) * float(np.abs(values).max())
    return np.asarray(vectors @ ((vectors.T @ columns) / np.maximum(values, least)[:, None]))


PROBES = 8
"""Random signs for the trace of the hat matrix."""


def ridges_for(problem: Regression) -> Array:
    """Return the path of ridges that are tried, ascending, up to the number of rows."""
    top = int(np.ceil(2 * np.log10(max(problem.weight, 1.0)) - 1e-9))
    half = np.arange(-4, top + 1) if problem.width <= EIGEN else np.arange(-2, top + 1, 2)
    return 10.0 ** (half / 2)


def _in_blocks(problem: Regression, ridges: Array) -> list[Array]:
    size = block_size(problem)
    return [ridges[k : k + size] for k in range(0, len(ridges), size)]


def cross_validated(
    moments: Moments, columns: list[str], aim: TargetFunctions, whole: Regression, ridges: Array
) -> dict[str, Array]:
    """Return the held-out R^2 of every ridge and its standard error over folds, no row read."""

    def path(train: Regression) -> Iterator[Array]:
        if len(ridges) == 1:
            yield ridge_coefficients(train, float(ridges[0]))[None]
            return
        for some in _in_blocks(train, ridges):
            flat = np.moveaxis(ridge_path(train, some), 1, 0).reshape(train.width, -1)
            yield np.moveaxis(train.centred(flat).reshape(train.width, len(some), -1), 1, 0)

    score, error = held_out_scores(moments, columns, aim, whole, path)
    return {"ridge": ridges, "r2": score, "r2_se": error}


def generalised(aim: TargetFunctions, whole: Regression, ridges: Array, inflation: float = 1.0) -> dict[str, Array]:
    """Return the generalised cross-validation score of every ridge, from the moments of all rows.

    Effective columns count `inflation` times; a ridge that has more of them than rows has an infinite score.
    """
    effective: list[float] = []
    residual = []
    for some in _in_blocks(whole, ridges):
        path, traces = _path_and_traces(whole, some)
        effective += traces
        for coefficients, r in zip(path, some, strict=True):
            # B^T S B = B^T C - r B^T D B: no product with S is needed.
            fit = np.einsum("pm,pm->m", coefficients, whole.cross)
            penalty = r * np.einsum("pm,p,pm->m", coefficients, whole.unit, coefficients)
            residual.append(np.diagonal(whole.own) - fit - penalty)
    left = per_target(np.maximum(np.array(residual), 0.0), aim.owner)
    base = per_target(np.diagonal(whole.own), aim.owner)
    share = (left / np.where(base > 0, base, np.inf)).mean(axis=1)
    free = whole.weight - 1 - inflation * np.array(effective)
    score = share * np.square(whole.weight / np.maximum(free, 1e-9 * whole.weight))
    if inflation > 1:
        score = np.where(free > 0, score, np.inf)
    return {"ridge": ridges, "gcv": score, "effective_columns": np.array(effective)}


def _path_and_traces(whole: Regression, ridges: Array) -> tuple[Array, list[float]]:
    """Return B(r) for every r, (k, p, m), and tr H(r): random signs are solved for beside C, with the same factors."""
    p, m = whole.cross.shape
    if p <= EIGEN:
        route = Tridiagonal(whole)
        return route.path(ridges), route.traces(ridges)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (p, PROBES))
    root = np.sqrt(whole.unit)[:, None]
    sides = np.hstack([whole.cross, whole.scatter @ (signs / root)])
    rhs = np.repeat(sides[:, None], len(ridges), axis=1).reshape(p, -1)
    solutions = solved(whole, rhs, np.repeat(ridges, sides.shape[1]), tol=1e-8).reshape(p, len(ridges), -1)
    traces = np.einsum("pkj,pj->k", solutions[:, :, m:], root * signs) / PROBES
    return np.moveaxis(solutions[:, :, :m], 0, 1), [float(trace) for trace in traces]


def effective_columns(problem: Regression, ridge: float) -> float:
    """Return tr H(r), how many columns a ridge regression has in effect; for ridge 0 the rank.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.linear.regression.problem import regression_of
    >>> from gramian.linear.regression.targets import aim_of
    >>> m = gm.collect([[0.0, 1.0, 0.0], [1.0, -1.0, 1.0], [0.0, -1.0, 1.0], [1.0, 1.0, 3.0]])
    >>> problem = regression_of(m, ["x0", "x1"], aim_of(m, ["x2"]))
    >>> effective_columns(problem, 0.0), round(effective_columns(problem, 4.0), 9)
    (2.0, 1.0)
    """
    if ridge == 0:
        return float(least_squares(problem).rank)
    return _path_and_traces(problem, np.array([ridge]))[1][0]


def choose_ridge(
    moments: Moments,
    columns: list[str],
    aim: TargetFunctions,
    whole: Regression,
    rule: str,
    ridges: Array | None = None,
    *,
    inflation: float = 1.0,
) -> tuple[float, dict[str, Array]]:
    """Return the ridge that a rule chooses, and the curve behind it.

    Parameters
    ----------
    moments : Moments
        In the form that `aim` takes; with folds for "cv".
    columns : list of str
        Features.
    aim : TargetFunctions
    whole : Regression
        Of all rows.
    rule : {"auto", "cv"}
        "auto" cross-validates where there are folds, and otherwise uses generalised cross-validation.
    ridges : (k,) array, optional
        What to try, ascending, all above 0; by default `ridges_for(whole)`.
    inflation : float
        What effective columns count in generalised cross-validation; see `gramian.random.readout` for more than 1.
    """
    ridges = ridges_for(whole) if ridges is None else ridges
    if rule == "cv" or has_folds(moments):
        curve = cross_validated(moments, columns, aim, whole, ridges)
        return float(ridges[int(np.argmax(curve["r2"]))]), curve
    curve = generalised(aim, whole, ridges, inflation)
    if not np.isfinite(curve["gcv"]).any():
        return float(ridges[-1]), curve
    return float(ridges[int(np.argmin(curve["gcv"]))]), curve


BLOCK_BYTES = 2**28
"""So many candidates' coefficients are held at once as fit this."""

Candidates = Callable[[Regression], Iterable[Array]]
"""Gives the coefficients of several candidates, (k, p, m), from training moments; in blocks where they are large."""


def held_out_errors(train: Regression, fold: Regression, coefficients: Array) -> tuple[Array, Array]:
    """Return the squared errors of a fold and those of the training mean, one per function, for (k, p, m) coefficients.

    Returns
    -------
    errors : (k, m) array
    baseline : (m,) array
    """
    k, p, m = coefficients.shape
    gap, shift = fold.mean - train.mean, fold.aim_mean - train.aim_mean
    flat = np.moveaxis(coefficients, 1, 0).reshape(p, k * m)
    seen = fold.scatter.variance_along(flat).reshape(k, m)
    seen += fold.weight * np.square(gap @ flat).reshape(k, m)
    aim = fold.cross + fold.weight * np.outer(gap, shift)
    across = np.einsum("kpm,pm->km", coefficients, aim)
    baseline = np.diagonal(fold.own) + fold.weight * np.square(shift)
    return baseline - 2 * across + seen, baseline


def per_target(values: Array, owner: npt.NDArray[np.intp]) -> Array:
    """Return values of the functions summed over those of each target, along the last axis."""
    out = np.zeros((*values.shape[:-1], int(owner.max()) + 1))
    for function, target in enumerate(owner):
        out[..., target] += values[..., function]
    return out


def block_size(problem: Regression) -> int:
    """Return how many candidates' coefficients fit into `BLOCK_BYTES`."""
    return int(max(1, BLOCK_BYTES // max(8 * problem.cross.size, 1)))


def held_out_scores(
    moments: Moments, columns: list[str], aim: TargetFunctions, whole: Regression, candidates: Candidates
) -> tuple[Array, Array]:
    """Return the held-out R^2 of every candidate and its standard error over folds.

    Parameters
    ----------
    moments : Moments
        With folds, in the form that `aim` takes.
    columns : list of str
        Features.
    aim : TargetFunctions
    whole : Regression
        Of all rows.
    candidates : callable
        See `Candidates`.
    """
    folds = folds_of(moments, asked=Argument("ridge", "cv"))

    def judge(fold: int) -> tuple[Array, Array]:
        fitted, judged = (regression_of(part, columns, aim, in_rows=whole.in_rows) for part in folds.split(fold))
        parts = [held_out_errors(fitted, judged, some) for some in candidates(fitted)]
        return per_target(np.concatenate([e for e, _ in parts]), aim.owner), per_target(parts[0][1], aim.owner)

    # Wide moments are held one fold at a time: there memory is what counts.
    threads = min(usable_cores(None), len(folds.filled)) if whole.is_dense else 1
    with one_blas_thread() if threads > 1 else nullcontext():
        scores = in_threads(judge, folds.filled, n_threads=threads)
    table, base = np.array([e for e, _ in scores]), np.array([b for _, b in scores])
    total = base.sum(axis=0)
    score = (1.0 - table.sum(axis=0) / np.where(total > 0, total, np.inf)).mean(axis=1)
    by_fold = (1.0 - table / np.where(base > 0, base, np.inf)[:, None]).mean(axis=2)
    error = by_fold.std(axis=0, ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else np.zeros(len(score))
    return score, error
