"""The Krylov sequence of a regression as features: c, S c, S^2 c, ... made orthonormal in S.

In units D of the ridge (see `linear.regression.ridge`) the candidates are D^-1 C, one a function, and then D^-1 S w for every
direction w already taken, in order. Each is made orthogonal in S to those before it and scaled so that the features have unit
variance. With one function the first k directions span what k steps of conjugate gradients on S b = c, and k components of
partial least squares, search: the fit improves with every one and reaches least squares after at most as many steps as S has
distinct eigenvalues.

Only the recurrence (which candidate, how much of each earlier direction to take away, how to scale) is kept for other rows:
followed on the moments of a training fold it gives the same features of those rows alone. In terms of the candidates that is a
triangular k x k matrix, the same for every fold: the directions span what the training rows' own sequence spans.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.regression.leverages import root_of_inverse
from gramian.linear.regression.problem import Regression

ENOUGH = 0.999
"""Share of the largest statistic at which the sequence ends by itself."""

MOST = 32
"""Directions after which it ends by itself in any case."""


@dataclass(frozen=True, eq=False)
class Recurrence:
    """How each direction follows from those before it.

    Attributes
    ----------
    source : (k,) array of int
        `j >= 0`: from D^-1 S w_j; `-1 - f`: from D^-1 C_f.
    mix : (k, k) array
        Row i: how much of the earlier directions is taken away.
    scale : (k,) array
        The factor after that.
    """

    source: npt.NDArray[np.intp]
    mix: Array
    scale: Array


def krylov_directions(problem: Regression, count: int | None, largest: float) -> tuple[Array, Recurrence]:
    """Return directions (p, k) of unit variance, uncorrelated, and the recurrence that made them.

    Parameters
    ----------
    problem : Regression
    count : int, optional
        By default as many as reach `ENOUGH` of the largest statistic, at most `MOST`.
    largest : float
        The sum of squared canonical correlations that all columns reach.
    """
    if count is None:
        directions, recurrence = _sequence(problem, MOST, ENOUGH * largest)
    else:
        directions, recurrence = _sequence(problem, count, np.inf)
    if not len(recurrence.source):
        return np.zeros((problem.width, 1)), Recurrence(np.array([-1]), np.zeros((1, 1)), np.zeros(1))
    k = directions.shape[1]
    if count is not None and k < count:
        raise DataError(
            Argument("n_components", count), f" is more than the {k} directions that the Krylov sequence has here"
        )
    return directions, recurrence


def krylov_coefficients(problem: Regression, count: int) -> Array:
    """Return the regression on the first 1, 2, ..., `count` directions, (count, p, m).

    The directions are uncorrelated, so each adds w (w^T C) / n to the coefficients. Where the sequence ends earlier the last
    regression, which is least squares, stands for the rest.
    """
    directions, _ = _sequence(problem, count, np.inf)
    out = np.zeros((count, *problem.cross.shape))
    for k in range(count):
        if k > 0:
            out[k] = out[k - 1]
        if k < directions.shape[1]:
            w = directions[:, k]
            out[k] += np.multiply.outer(w, w @ problem.cross) / problem.weight
    return out


def _sequence(problem: Regression, limit: int, until: float) -> tuple[Array, Recurrence]:
    """Return at most `limit` directions, fewer where the sum of squared correlations reaches `until` or the sequence ends."""
    n, root = problem.weight, root_of_inverse(problem.own)
    limit = min(limit, max(problem.dimensions, 1))
    queue = [-1 - f for f in range(problem.cross.shape[1])]
    directions: list[Array] = []
    images: list[Array] = []
    source, mix, scale = [], [], []
    reached = 0.0
    while queue and len(directions) < limit and reached < until:
        origin = queue.pop(0)
        raw = _candidate(problem, images, origin)
        size = np.sqrt(raw @ (problem.scatter @ raw) / n)
        if not size > 0:
            continue
        w, taken = raw.copy(), np.zeros(limit)
        for _ in range(2):
            for j, image in enumerate(images):
                share = float(w @ image) / n
                w -= share * directions[j]
                taken[j] += share
        image = problem.scatter @ w
        left = np.sqrt(max(float(w @ image), 0.0) / n)
        # What lies within the earlier directions leaves only rounding.
        if left <= 1e-9 * size:
            continue
        directions.append(w / left)
        images.append(image / left)
        source.append(origin)
        mix.append(taken)
        scale.append(1.0 / left)
        queue.append(len(directions) - 1)
        along = (directions[-1] @ problem.cross) @ root
        reached += float(along @ along) / n
    k = len(directions)
    recurrence = Recurrence(np.array(source, dtype=np.intp), np.array(mix).reshape(k, limit)[:, :k], np.array(scale))
    return (np.stack(directions, axis=1) if k else np.empty((problem.width, 0))), recurrence


def follow(problem: Regression, recurrence: Recurrence) -> Array:
    """Return the directions that a recurrence gives on other moments, a row counting as much as before."""
    directions: list[Array] = []
    images: list[Array] = []
    for origin, taken, factor in zip(recurrence.source, recurrence.mix, recurrence.scale, strict=True):
        w = _candidate(problem, images, int(origin))
        for j, earlier in enumerate(directions):
            w = w - taken[j] * earlier
        directions.append(w * factor)
        images.append(problem.scatter @ directions[-1])
    return np.stack(directions, axis=1)


def _candidate(problem: Regression, images: list[Array], origin: int) -> Array:
    direction = problem.cross[:, -1 - origin] if origin < 0 else images[origin]
    return np.asarray(direction / (problem.unit * problem.weight))
