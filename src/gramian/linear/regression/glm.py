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

*Separation.* A level whose rows are all of one class, or all 0 where means are positive, has an infinite coefficient; where the
deviance vanishes, so have others. Both are told from moments, and named. Such a coefficient grows by 1 a step while the squared
step falls by a factor e, and the rows behind it move the other coefficients by the square of that, in squared standard errors.
So the iteration then ends at the root of `tol`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, xlogy

from gramian.arrays.types import Array
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import least_squares, solved
from gramian.linear.regression.targets import TargetFunctions
from gramian.linear.solvers import solve_semidefinite
from gramian.moments.value import Moments

_LOG = logging.getLogger("gramian")

RESIDUAL, DEVIANCE, LOSS = "(residual)", "(deviance)", "(loss)"
"""The numbers that a pass collects beside the design columns: u / w, the unit deviance and -2 log-likelihood over w."""

LOGIT_END, LOG_END = 40.0, 300.0
"""Predictors are cut here: beyond, weights vanish from float64, or squares leave it."""

HALVINGS = 30


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


@dataclass(frozen=True, eq=False)
class Predictor:
    """beta over the design columns, and a.

    Attributes
    ----------
    beta : (p,) array
    centre : float
        a, the predictor at the means of the design columns.
    """

    beta: Array
    centre: float

    def moved(self, step: Predictor, share: float = 1.0) -> Predictor:
        """Return the sum with a share of a step."""
        return Predictor(self.beta + share * step.beta, self.centre + share * step.centre)


Pass = Callable[[Predictor, str], Moments]
"""Gives the moments of a pass at a predictor; its second argument is "start", "step" or "information"."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A generalised linear model at its optimum.

    Attributes
    ----------
    predictor : Predictor
    information, curvature : Moments
        Weighted by the information and by the curvature at the optimum, which are the same for most families.
    deviance : float
    loss : float or None
        -2 log-likelihood where it is known.
    pearson : float
        Sum of the squared residuals over the variance function.
    n_passes : int
    converged : bool
    """

    predictor: Predictor
    information: Moments
    curvature: Moments
    deviance: float
    loss: float | None
    pearson: float
    n_passes: int
    converged: bool


def residual_of(moments: Moments, columns: Sequence[str], called: str = RESIDUAL) -> Regression:
    """Return the regression of what a pass collects on the design columns."""
    aim = TargetFunctions([called], [], np.ones((1, 1)), [called], np.zeros(1, dtype=np.intp), [[]])
    return regression_of(moments, list(columns), aim, in_rows=False)


def newton_step(problem: Regression, beta: Array, alpha: float, means: Array) -> tuple[Predictor, float]:
    """Return the step from a pass at `beta`, and the squared length that it has in standard errors."""
    aim = problem.cross - alpha * beta[:, None]
    if alpha > 0:
        delta = solved(problem, aim, np.array([alpha]), tol=1e-13)[:, 0]
        # Along the ones of a category the penalty alone has a say, and its gradient vanishes.
        for span in problem.layout.category_spans:
            delta[span] -= delta[span].mean()
    else:
        delta = least_squares(problem).coefficients[:, 0]
    mean = float(problem.aim_mean[0])
    decrement = problem.weight * mean**2 + float(delta @ aim[:, 0])
    return Predictor(delta, mean + float((means - problem.mean) @ delta)), max(decrement, 0.0)


def fit_glm(
    run: Pass,
    columns: Sequence[str],
    family: Family,
    *,
    means: Array,
    start: Predictor | None,
    bound: tuple[Predictor, float] | None = None,
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
    start : Predictor or None
        Where to begin; None: from the rows.
    bound : tuple, optional
        A predictor with its objective, to which a start that is worse is brought nearer.
    alpha : float
    max_iter : int
        Passes at most.
    tol : float
        Squared length of the last step, in standard errors.
    """
    here = start
    before: tuple[Predictor, float] | None = bound
    n_passes, halved, converged = 0, 0, False
    if here is None:
        problem = residual_of(run(Predictor(np.zeros(len(means)), 0.0), "start"), columns)
        here, _ = newton_step(problem, np.zeros(len(means)), alpha, means)
        n_passes = 1
    while True:
        moments = run(here, "step")
        n_passes += 1
        weight = float(moments.total_weight)
        deviance = weight * float(moments.mean(DEVIANCE)[0])
        objective = deviance + alpha * float(here.beta @ here.beta)
        if before is not None and not objective <= before[1] + 1e-9 * (abs(before[1]) + 1) and halved < HALVINGS:
            here = Predictor((here.beta + before[0].beta) / 2, (here.centre + before[0].centre) / 2)
            halved += 1
            if n_passes < max_iter:
                continue
        problem = residual_of(moments, columns)
        step, decrement = newton_step(problem, here.beta, alpha, means)
        scale = 1.0 if family.known_dispersion else max(_pearson(moments) / weight, np.finfo(np.float64).tiny)
        _LOG.debug(f"pass {n_passes}: deviance {deviance:.10g}, squared step {decrement / scale:.3g}")
        converged = decrement <= tol * scale
        before, halved = (here, objective), 0
        here = here.moved(step)
        if converged or n_passes >= max_iter:
            break
    loss, curvature = None, moments
    if LOSS in moments.columns:
        loss = weight * float(moments.mean(LOSS)[0])
    if not family.informed:
        moments = run(here, "information")
        n_passes += 1
        deviance = float(moments.total_weight) * float(moments.mean(DEVIANCE)[0])
    else:
        # What the last step still takes off, to third order.
        deviance -= decrement if alpha == 0 else 0.0
    return Fitted(here, moments, curvature, max(deviance, 0.0), loss, _pearson(moments), n_passes, converged)


def _pearson(moments: Moments) -> float:
    """Return sum w r^2 of a pass."""
    weight = float(moments.total_weight)
    at = moments.numbers.names.index(RESIDUAL)
    centred = float(moments.numbers.central(weight).sums[0][at])
    return centred + weight * float(moments.mean(RESIDUAL)[0]) ** 2


def fisher_start(problem: Regression, alpha: float) -> tuple[Predictor, float]:
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
    null = -2 * problem.weight * float(xlogy(share, share) + xlogy(1 - share, 1 - share))
    return Predictor(step.beta / curvature, float(np.log(share / (1 - share)))), null


def separated_levels(problem: Regression, *, binomial: bool) -> dict[int, float]:
    """Return the levels whose rows all have the same end of the response, and that end, by their design columns.

    Parameters
    ----------
    problem : Regression
        Of the response on unweighted moments.
    binomial : bool
        Whether 1 is an end as well as 0.
    """
    rows = problem.mean * problem.weight
    centre = float(problem.aim_mean[0])
    total = problem.cross[:, 0] + rows * centre
    low = total <= 1e-9 * rows * centre
    high = binomial & (rows - total <= 1e-9 * rows)
    alone = np.zeros(len(rows), dtype=bool)
    for span in problem.layout.category_spans:
        alone[span] = np.count_nonzero(rows[span] > 0) < 2
    at = np.flatnonzero(problem.layout.is_level & (rows > 0) & ~alone & (low | high))
    return {int(k): float(high[k]) for k in at}


def cells_without_rows(problem: Regression) -> list[tuple[int, int]]:
    """Return the levels and the classes that never meet, as design columns and places of classes.

    Parameters
    ----------
    problem : Regression
        Of the indicators of the classes on unweighted moments.
    """
    rows = problem.mean * problem.weight
    total = problem.cross + np.outer(rows, problem.aim_mean)
    alone = np.zeros(len(rows), dtype=bool)
    for span in problem.layout.category_spans:
        alone[span] = np.count_nonzero(rows[span] > 0) < 2
    levels = (problem.layout.is_level & (rows > 0) & ~alone)[:, None]
    return [(int(at), int(label)) for at, label in np.argwhere(levels & (total <= 1e-9 * rows[:, None]))]


ClassPass = Callable[[list[Predictor], int, int], Moments]
"""Gives the moments of a pass at the predictors of all classes but the first, weighted for a pair of these."""


def fit_multinomial(
    run: ClassPass,
    columns: Sequence[str],
    *,
    means: Array,
    shares: Array,
    start: list[Predictor] | None,
    alpha: float,
    max_iter: int,
    tol: float,
) -> tuple[list[Predictor], float, int, bool]:
    r"""Return the predictors of K classes, which add up to zero, the deviance, the passes and whether these converged.

    With p_k the probability of class k, the curvature in the predictors of classes k and l is p_k (delta_kl - p_l). Of a step,
    the block (k, l) is thus a pass with weights p_k p_l, or p_k (1 - p_k), and its gradient is that of the latter with residual
    (1{y = k} - p_k) / (p_k (1 - p_k)). Predictors are taken relative to the first class; the penalty on all K of them, least
    when they add up to zero, is alpha (I - 1 1^T / K) in these.

    Parameters
    ----------
    run : callable
        See `ClassPass`.
    columns : list of str
    means : (p,) array
        Of the design columns.
    shares : (K,) array
        Of the classes.
    start : list of Predictor, optional
        Of all classes, to begin with.
    alpha, max_iter, tol
        As in `fit_glm`.
    """
    count, p = len(shares) - 1, len(means)
    wide = p + 1
    theta = np.zeros((count, wide))
    theta[:, 0] = np.log(shares[1:] / shares[0])
    if start is not None:
        every = np.array([np.append(each.centre, each.beta) for each in start])
        theta = every[1:] - every[0]
    before: tuple[Array, float] | None = None
    n_passes, halved = 0, 0
    while True:
        here = [Predictor(row[1:], float(row[0])) for row in theta]
        full = theta[:, 1:] - theta[:, 1:].sum(axis=0) / (count + 1)
        first = theta[:, 1:].sum(axis=0) / (count + 1)
        n_passes += 1
        own = run(here, 0, 0)
        deviance = float(own.total_weight) * float(own.mean(DEVIANCE)[0])
        objective = deviance + alpha * (float(np.square(full).sum()) + float(first @ first))
        if before is not None and not objective <= before[1] + 1e-9 * (abs(before[1]) + 1) and halved < HALVINGS:
            theta, halved = (theta + before[0]) / 2, halved + 1
            if n_passes < max_iter:
                continue
        hessian, gradient = np.zeros((count, wide, count, wide)), np.zeros((count, wide))
        penalty = np.append(0.0, np.full(p, alpha))
        for k in range(count):
            for m in range(k, count):
                moments = own if k == m == 0 else run(here, k, m)
                problem = residual_of(moments, columns)
                gap = problem.mean - means
                gram = np.empty((wide, wide))
                gram[0, 0] = problem.weight
                gram[0, 1:] = gram[1:, 0] = problem.weight * gap
                gram[1:, 1:] = problem.matrix + problem.weight * np.outer(gap, gap)
                if k == m:
                    mean = problem.weight * float(problem.aim_mean[0])
                    gradient[k] = np.append(mean, problem.cross[:, 0] + mean * gap - alpha * full[k])
                block = gram if k == m else -gram
                block[np.diag_indices(wide)] += penalty * (float(k == m) - 1 / (count + 1))
                hessian[k, :, m] = block
                hessian[m, :, k] = block.T
        flat = hessian.reshape(count * wide, count * wide)
        step, _ = solve_semidefinite(flat, gradient.reshape(-1, 1))
        decrement = max(float(step[:, 0] @ gradient.ravel()), 0.0)
        _LOG.debug(f"pass {n_passes}: deviance {deviance:.10g}, squared step {decrement:.3g}")
        before, halved = (theta, objective), 0
        theta = theta + step.reshape(count, wide)
        if decrement <= tol or n_passes >= max_iter:
            break
    every = np.vstack([np.zeros(wide), theta])
    every -= every.mean(axis=0)
    return [Predictor(row[1:], float(row[0])) for row in every], deviance, n_passes, decrement <= tol
