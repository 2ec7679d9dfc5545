r"""Generalised linear models by Newton steps, each of which is one weighted pass.

A row has a response y, a prior weight s and a predictor eta = a + (x - c)^T beta, c the means of the design columns. With
l(y, eta) the log-likelihood at dispersion 1, u = dl/deta its slope and w = -d^2 l/deta^2 its curvature, minimising

    sum_i s_i d(y_i, eta_i) / 2 + alpha |beta|^2 / 2,        d the unit deviance, the intercept without penalty,

by Newton's method asks for the step (delta, step of a) that solves the weighted least squares of r_i = u_i / w_i with weights
s_i w_i. About the weighted mean m of the pass the intercept falls apart, so that with S the weighted scatter of the design
columns and C theirs with r

    (S + alpha I) delta = C - alpha beta,        step of a = mean of r + (c - m)^T delta.

S, C, m and the mean of r are moments: the pass that collects moments is the pass that iterates. The deviance rides along as
one more number, d_i / w_i, whose weighted sum is the deviance. With r in place of the working response eta + r nothing is lost
to rounding near the optimum, where r has mean zero.

*When to stop.* The decrease that a step promises is half of

    lambda^2 = W (mean of r)^2 + delta^T (C - alpha beta),

the squared length of the step in units of standard errors (times the dispersion). It falls quadratically; below `tol` the step
is taken and nothing further is read: coefficients are then right to lambda^2 standard errors, and S to lambda. A step after
which the objective is larger is halved.

*Families.* The link is the logarithm, but for the binomial (logit) and the Gaussian (identity). With mu the mean,

    gaussian    u = y - mu                       w = 1                                        information 1
    binomial    u = y - mu                       w = mu (1 - mu)                              the same
    poisson     u = y - mu                       w = mu                                       the same
    tweedie p   u = y mu^(1-p) - mu^(2-p)        w = (p - 1) y mu^(1-p) + (2 - p) mu^(2-p)    mu^(2-p)

and gamma is Tweedie of p = 2. The information is the mean of w: statsmodels, R and this package give errors by it, so that
where it is not w itself one more pass is made at the end.

*Warm start.* For two classes the first step from the constant model has the same weight for every row, so that it is a
regression of the indicator: Fisher's discriminant, which the unweighted moments hold. Other families start from the rows
themselves, mu = (y + mean of y) / 2.

*Separation.* A level whose rows are all of one class, or all 0 where means are positive, has an infinite coefficient, which
moments tell before the first step. Levels and numbers together may tell rows apart as well, all of them or some. Then the
predictors of those rows grow by about 1 a step for ever, while the squared step falls by a factor e: a step that is short in
standard errors and still moves a coefficient by a tenth or more of the column's spread is no step towards an optimum. The rows
behind it move the other coefficients by the square of what is left, in squared standard errors, so that the iteration then ends
at the root of `tol`. Where all rows are told apart nothing but those is left of the deviance, about twice the squared step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, gammaln, xlogy

from gramian.arrays.types import Array
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import EIGEN, ROUNDS, iterated, least_squares, solved
from gramian.linear.regression.targets import TargetFunctions
from gramian.linear.solvers import solve_semidefinite
from gramian.moments.value import Moments

_LOG = logging.getLogger("gramian")

RESIDUAL, DEVIANCE, LOSS = "(residual)", "(deviance)", "(loss)"
"""The numbers that a pass collects beside the design columns: u / w, the unit deviance and -2 log-likelihood over w."""

LOGIT_END, LOG_END = 40.0, 300.0
"""Predictors are cut here: beyond, weights vanish from float64, or squares leave it."""

HALVINGS = 30

GROWING = 0.1
"""A last step that moves a coefficient by this, in units of the spread, is one of a coefficient without a finite value."""

STEP = 1e-10
"""Residual of a step that is found by iteration, relative to its right-hand side."""


@dataclass(frozen=True)
class Family:
    """The law of a response given its predictor.

    Attributes
    ----------
    name : {"gaussian", "binomial", "poisson", "gamma", "tweedie"}
    power : float
        p of the variance mu^p.
    """

    name: str
    power: float = 0.0

    @classmethod
    def of(cls, name: str, power: float = 1.5) -> Family:
        """Return a family by its name; `power` is that of Tweedie."""
        return cls(name, {"gaussian": 0.0, "poisson": 1.0, "gamma": 2.0}.get(name, power))

    @property
    def known_dispersion(self) -> bool:
        """Whether the variance is a function of the mean alone."""
        return self.name in ("binomial", "poisson")

    @property
    def least(self) -> tuple[float, bool]:
        """The least response, and whether it is itself allowed."""
        if self.name == "gaussian":
            return -np.inf, True
        return 0.0, self.power < 2

    @property
    def unbounded(self) -> bool:
        """Whether the best mean of some rows may be one that no finite predictor has."""
        return self.name == "binomial" or 1 <= self.power < 2

    @property
    def informed(self) -> bool:
        """Whether the curvature is the information, whatever the response."""
        return self.name in ("gaussian", "binomial", "poisson")

    def mean(self, eta: Array) -> Array:
        """Return the mean of the response."""
        if self.name == "gaussian":
            return eta
        return np.asarray(expit(eta)) if self.name == "binomial" else np.exp(np.clip(eta, -LOG_END, LOG_END))

    def start(self, y: Array, centre: float) -> Array:
        """Return predictors to begin with, near the responses."""
        if self.name == "gaussian":
            return y
        return np.log(np.maximum((y + centre) / 2, centre * 1e-3))

    def slope_and_curvature(self, y: Array, eta: Array, *, expected: bool = False) -> tuple[Array, Array]:
        """Return u and w; w is the information where it is the expected one that is asked for."""
        if self.name == "gaussian":
            return y - eta, np.ones_like(eta)
        if self.name == "binomial":
            cut = np.clip(eta, -LOGIT_END, LOGIT_END)
            up, down = expit(cut), expit(-cut)
            # Differences from 1 would lose what is left of it.
            return y * down - (1 - y) * up, up * down
        mu = self.mean(eta)
        if self.power == 1:
            return y - mu, mu
        rate, total = y * mu ** (1 - self.power), mu ** (2 - self.power)
        if expected:
            return rate - total, total
        return rate - total, (self.power - 1) * rate + (2 - self.power) * total

    def deviance(self, y: Array, eta: Array) -> Array:
        """Return the unit deviance of each row."""
        if self.name == "gaussian":
            return np.square(y - eta)
        if self.name == "binomial":
            return 2 * (np.logaddexp(0.0, eta) - y * eta)
        eta = np.clip(eta, -LOG_END, LOG_END)
        p = self.power
        if p == 1:
            return 2 * (xlogy(y, y) - y * eta - y + np.exp(eta))
        if p == 2:
            return 2 * (eta - np.log(y) + y * np.exp(-eta) - 1)
        end = y ** (2 - p) / ((1 - p) * (2 - p))
        return 2 * (end - y * np.exp((1 - p) * eta) / (1 - p) + np.exp((2 - p) * eta) / (2 - p))

    def loss(self, y: Array, eta: Array) -> Array | None:
        """Return -2 log-likelihood of each row where it is neither the deviance nor depends on a dispersion."""
        if self.name != "poisson":
            return None
        return 2 * (np.exp(np.clip(eta, -LOG_END, LOG_END)) - y * eta + gammaln(y + 1))


Look = Callable[[Array], tuple[float, float, Callable[[], tuple[Array, float]]]]
"""Makes a pass at predictors theta (k, 1 + p), a and beta of each; gives the deviance, the penalty, and what computes a step.

The step comes with its squared length in standard errors.
"""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where Newton's steps end.

    Attributes
    ----------
    theta : (k, 1 + p) array
        a and beta of each predictor.
    deviance : float
        Before the last step.
    decrement : float
        The squared length of the last step, in standard errors.
    n_passes : int
    converged : bool
    growth : (p,) array
        What the last step still moved each coefficient by, in units of the column's spread; zeros where there is an optimum.
    """

    theta: Array
    deviance: float
    decrement: float
    n_passes: int
    converged: bool
    growth: Array


def newton(
    look: Look,
    theta: Array,
    *,
    unit: Array,
    before: tuple[Array, float] | None = None,
    n_passes: int = 0,
    max_iter: int,
    tol: float,
) -> Optimum:
    """Return where Newton's steps from theta end; one after which the objective is larger is halved.

    Parameters
    ----------
    look : callable
        See `Look`.
    theta : (k, 1 + p) array
    unit : (p,) array
        The spread of each column, 0 where its coefficient has a finite value for sure.
    before : tuple, optional
        Predictors with their objective, to which a start that is worse is brought nearer.
    n_passes : int
        Made already.
    max_iter : int
        Passes at most.
    tol : float
        Squared length of the last step, in standard errors.
    """
    halved = 0
    while True:
        deviance, penalty, solve = look(theta)
        objective = deviance + penalty
        n_passes += 1
        worse = before is not None and not objective <= before[1] + 1e-9 * (abs(before[1]) + 1)
        if before is not None and worse and halved < HALVINGS and n_passes < max_iter:
            theta, halved = (theta + before[0]) / 2, halved + 1
            continue
        step, decrement = solve()
        _LOG.debug(f"pass {n_passes}: deviance {deviance:.10g}, squared step {decrement:.3g}")
        moved = np.abs(step[:, 1:]).max(axis=0) * unit
        growth = np.where(moved > GROWING, moved, 0.0)
        converged = bool(decrement <= (np.sqrt(tol) if growth.any() else tol))
        before, halved, theta = (theta, objective), 0, theta + step
        if converged or n_passes >= max_iter:
            return Optimum(theta, deviance, decrement, n_passes, converged, growth * converged)


def residual_of(moments: Moments, columns: Sequence[str], called: str = RESIDUAL) -> Regression:
    """Return the regression of what a pass collects on the design columns."""
    aim = TargetFunctions([called], [], np.ones((1, 1)), [called], np.zeros(1, dtype=np.intp), [[]])
    return regression_of(moments, list(columns), aim, in_rows=False)


def newton_step(
    problem: Regression, beta: Array, alpha: float, means: Array, least: float = 0.0
) -> tuple[Array, float]:
    """Return the step (1, 1 + p) from a pass at `beta`, and its squared length, in standard errors at dispersion 1.

    Of many columns the step is found by conjugate gradients, which end where what is left of it is `least` in that unit: no
    factor and no rank is needed on the way to the optimum.
    """
    aim, penalty = problem.cross - alpha * beta[:, None], np.array([alpha])
    found, done = aim, False
    if problem.width > EIGEN:
        found, done = iterated(problem, aim, penalty, tol=STEP, least=least, max_rounds=ROUNDS)
    if not done:
        found = solved(problem, aim, penalty, tol=1e-13) if alpha > 0 else least_squares(problem).coefficients
    delta = found[:, 0]
    if alpha > 0:
        # Along the ones of a category the penalty alone has a say, and its gradient vanishes.
        for span in problem.layout.category_spans:
            delta[span] -= delta[span].mean()
    mean = float(problem.aim_mean[0])
    decrement = problem.weight * mean**2 + float(delta @ aim[:, 0])
    return np.append(mean + float((means - problem.mean) @ delta), delta)[None], max(decrement, 0.0)


def total_of(moments: Moments, name: str) -> float:
    """Return the sum of a number over all rows."""
    return float(moments.total_weight) * float(moments.mean(name)[0])


Pass = Callable[[Array, str], Moments]
"""Gives the moments of a pass at a predictor (1, 1 + p); its second argument is "start", "step" or "information"."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A generalised linear model at its optimum.

    Attributes
    ----------
    optimum : Optimum
    information, curvature : Moments
        Weighted by the information and by the curvature at the optimum, which are the same for most families.
    deviance : float
    loss : float or None
        -2 log-likelihood where it is known.
    pearson : float
        Sum of the squared residuals over the variance function.
    n_passes : int
    perfect : bool
        Whether every row is told apart: of two classes, nothing is left of the deviance.
    """

    optimum: Optimum
    information: Moments
    curvature: Moments
    deviance: float
    loss: float | None
    pearson: float
    n_passes: int
    perfect: bool


def fit_glm(
    run: Pass,
    columns: Sequence[str],
    family: Family,
    *,
    means: Array,
    spread: Array,
    start: Array | None,
    bound: tuple[Array, float] | None = None,
    alpha: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-10,
) -> Fitted:
    """Return the model at its optimum.

    Parameters
    ----------
    run : callable
        See `Pass`.
    columns : list of str
        The features.
    family : Family
    means : (p,) array
        Of the design columns, c.
    spread : (p,) array
        1 for a level, the standard deviation of a number.
    start : (1, 1 + p) array or None
        Where to begin; None: from the rows.
    bound, max_iter, tol
        See `newton`.
    alpha : float
    """
    latest: list[Moments] = []

    def look(theta: Array) -> tuple[float, float, Callable[[], tuple[Array, float]]]:
        # Pair counts are large: those of the last pass make room for the next.
        latest.clear()
        moments = run(theta, "step")
        latest.append(moments)
        scale = 1.0
        if not family.known_dispersion:
            scale = max(_pearson(moments) / float(moments.total_weight), np.finfo(np.float64).tiny)

        def solve() -> tuple[Array, float]:
            step, decrement = newton_step(
                residual_of(latest[0], columns), theta[0, 1:], alpha, means, 1e-10 * tol * scale
            )
            return step, decrement / scale

        return total_of(moments, DEVIANCE), alpha * float(np.square(theta[:, 1:]).sum()), solve

    begun = 0
    if start is None:
        none, begun = np.zeros((1, 1 + len(means))), 1
        start, _ = newton_step(residual_of(run(none, "start"), columns), none[0, 1:], alpha, means)
    unit = spread if family.unbounded and alpha == 0 else np.zeros(len(means))
    # The information takes a pass of its own at the end.
    most = max_iter if family.informed else max(max_iter - 1, 1)
    found = newton(look, start, unit=unit, before=bound, n_passes=begun, max_iter=most, tol=tol)
    curvature = information = latest[0]
    deviance = found.deviance
    perfect = family.name == "binomial" and bool(found.growth.any()) and deviance <= 100 * found.decrement
    loss = total_of(curvature, LOSS) if LOSS in curvature.columns else None
    n_passes = found.n_passes
    if not family.informed and n_passes < max_iter:
        information, n_passes = run(found.theta, "information"), n_passes + 1
        deviance = total_of(information, DEVIANCE)
    elif alpha == 0:
        # What the last step still takes off, to third order.
        scale = 1.0 if family.known_dispersion else _pearson(curvature) / float(curvature.total_weight)
        deviance -= found.decrement * scale
    return Fitted(found, information, curvature, max(deviance, 0.0), loss, _pearson(information), n_passes, perfect)


def _pearson(moments: Moments) -> float:
    """Return sum w r^2 of a pass."""
    weight = float(moments.total_weight)
    at = moments.numbers.names.index(RESIDUAL)
    centred = float(moments.numbers.central(weight).sums[0][at])
    return centred + weight * float(moments.mean(RESIDUAL)[0]) ** 2


def fisher_start(problem: Regression, alpha: float) -> tuple[Array, float]:
    """Return the first step of two classes from the constant model, and the deviance of that model.

    Parameters
    ----------
    problem : Regression
        Of the indicator of the second class, on unweighted moments.
    alpha : float
    """
    share = float(problem.aim_mean[0])
    # Of a rare class the first step would go too far.
    curvature = max(share * (1 - share), 0.1)
    step, _ = newton_step(problem, np.zeros(problem.width), alpha / curvature, problem.mean)
    step /= curvature
    step[0, 0] = np.log(share / (1 - share))
    return step, -2 * problem.weight * float(xlogy(share, share) + xlogy(1 - share, 1 - share))


def cells_without_rows(problem: Regression) -> list[tuple[int, int]]:
    """Return the levels and the functions of the response that never meet, as design columns and places.

    Parameters
    ----------
    problem : Regression
        Of counts, or of the indicators of classes, on unweighted moments.
    """
    rows = problem.mean * problem.weight
    alone = np.zeros(len(rows), dtype=bool)
    for span in problem.layout.category_spans:
        alone[span] = np.count_nonzero(rows[span] > 0) < 2
    expected = np.outer(rows, problem.aim_mean)
    levels = (problem.layout.is_level & (rows > 0) & ~alone)[:, None]
    return [(int(at), int(k)) for at, k in np.argwhere(levels & (problem.cross + expected <= 1e-9 * expected))]


ClassPass = Callable[[Array, int, int], Moments]
"""Gives the moments of a pass at the predictors of all classes but the first, weighted for a pair of these."""


def fit_multinomial(
    run: ClassPass,
    columns: Sequence[str],
    *,
    means: Array,
    spread: Array,
    start: Array,
    alpha: float,
    max_iter: int,
    tol: float,
) -> Optimum:
    r"""Return the predictors of K classes, which add up to zero.

    With p_k the probability of class k, the curvature in the predictors of classes k and l is p_k (delta_kl - p_l). Of a step,
    the block (k, l) is thus a pass with weights p_k p_l, or p_k (1 - p_k), and its gradient is that of the latter with residual
    (1{y = k} - p_k) / (p_k (1 - p_k)). Predictors are taken relative to the first class; the penalty on all K of them, least
    when they add up to zero, is alpha (I - 1 1^T / K) in these.

    Parameters
    ----------
    run : callable
        See `ClassPass`.
    columns : list of str
    means, spread : (p,) arrays
        See `fit_glm`.
    start : (K, 1 + p) array
        Predictors to begin with.
    alpha, max_iter, tol
        As in `fit_glm`.
    """
    count, wide = len(start) - 1, start.shape[1]
    penalty = np.append(0.0, np.full(wide - 1, alpha))

    def centred(theta: Array) -> Array:
        every = np.vstack([np.zeros(wide), theta])
        return every - every.mean(axis=0)

    def look(theta: Array) -> tuple[float, float, Callable[[], tuple[Array, float]]]:
        own = run(theta, 0, 0)
        every = centred(theta)

        def solve() -> tuple[Array, float]:
            hessian, gradient = np.zeros((count, wide, count, wide)), np.zeros((count, wide))
            for k in range(count):
                for m in range(k, count):
                    problem = residual_of(own if k == m == 0 else run(theta, k, m), columns)
                    gap = problem.mean - means
                    gram = np.empty((wide, wide))
                    gram[0, 0] = problem.weight
                    gram[0, 1:] = gram[1:, 0] = problem.weight * gap
                    gram[1:, 1:] = problem.matrix + problem.weight * np.outer(gap, gap)
                    if k == m:
                        mean = problem.weight * float(problem.aim_mean[0])
                        gradient[k] = np.append(mean, problem.cross[:, 0] + mean * gap) - penalty * every[k + 1]
                    block = gram if k == m else -gram
                    block[np.diag_indices(wide)] += penalty * (float(k == m) - 1 / (count + 1))
                    hessian[k, :, m] = block
                    hessian[m, :, k] = block.T
            step, _ = solve_semidefinite(hessian.reshape(count * wide, -1), gradient.reshape(-1, 1))
            return step.reshape(count, wide), max(float(step[:, 0] @ gradient.ravel()), 0.0)

        return total_of(own, DEVIANCE), alpha * float(np.square(every[:, 1:]).sum()), solve

    unit = spread if alpha == 0 else np.zeros(wide - 1)
    found = newton(look, start[1:] - start[0], unit=unit, max_iter=max_iter, tol=tol)
    return replace(found, theta=centred(found.theta))
