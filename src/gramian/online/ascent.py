"""Mini-batch ascent of the Mahalanobis distance: the source's loop, with the gradient its objective has.

On a batch of b rows, Xc and Hc the centred design columns and influence functions, Z = Xc W, V = Hc^T Hc / b and A = Z^T Z
(plus a small ridge), the distance is

    M(W) = tr(A^-1 D V^-1 D^T),     D = Z^T Hc,          = b R^2 for one function without the ridge.

Both D and A move with W. With P = A^-1 D, dM = 2 tr(V^-1 P^T dD) - tr(P V^-1 P^T dA), hence

    gradient = 2 Xc^T (Hc - Z P) V^-1 P^T:

the residual of the regression on Z, sent back through the design. It vanishes at the optimum and is orthogonal to W but for
the ridge, as M depends on the span of W alone. The gradient printed in the source holds A fixed,

    printed = 2 Xc^T Hc q^T,     q = (A var(y))^-1 D,

which never vanishes: every step adds a multiple of g = Xc^T Hc, so W - W0 stays rank one along g, all columns drift to that
one direction, and |W| grows without end. It is kept for comparison, and only for one influence function.

*Weights.* A row of weight w counts as w equal rows in its batch: sums over rows become weighted sums, and b the weight of the
batch.

*Steps.* The exact gradient is taken per row (divided by b) and the step length falls as (1 + t / 20)^-0.6 over batches t,
slowly enough to get there and fast enough for the noise of batches to average out. After each epoch the columns are made
uncorrelated and of unit variance again, which changes nothing that M sees. The loop ends when the epoch's mean R^2 over
batches has not risen by `tol` for `patience` epochs; the printed gradient keeps the source's constant step.

*Rows* are read as sparse design columns and the values of the influence functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.encoder import missing_among
from gramian.design.kinds import date_of_part, part_of, types_of
from gramian.design.schema import number_values, offset_for
from gramian.errors import DataError
from gramian.linear.regression.independence import root_of_inverse
from gramian.linear.regression.targets import TargetFunctions
from gramian.maps.projection import Design, Rows
from gramian.online.rows import carried_over
from gramian.online.schedules import Patience, Schedule
from gramian.parameters import check, number, whole
from gramian.tables import ArrowTable, open_table

GRADIENTS = ("exact", "printed")


@dataclass(frozen=True)
class AscentOptions:
    """Settings of the ascent.

    Attributes
    ----------
    gradient : {"exact", "printed"}
    learning_rate : float
    batch_size : int
    max_epochs : int
    tol : float
        Rise of the mean R^2 over batches that counts as progress.
    patience : int
        Epochs without progress after which the loop ends.
    ridge : float
        Added to the diagonal of the batch's scatter of features: times the variance of y for the exact gradient, as it
        stands for the printed one.
    random_state : int
        Of the first weights and the order of rows.
    """

    gradient: str = "exact"
    learning_rate: float = 1.0
    batch_size: int = 256
    max_epochs: int = 100
    tol: float = 1e-4
    patience: int = 5
    ridge: float = 1e-6
    random_state: int = 0

    def __post_init__(self) -> None:
        check("gradient", self.gradient, *GRADIENTS)
        check("batch_size", self.batch_size, whole(2))
        check("max_epochs", self.max_epochs, whole())
        check("learning_rate", self.learning_rate, number(above=0))


@dataclass(frozen=True, eq=False)
class AscentState:
    """Where the ascent stands.

    Attributes
    ----------
    weights : (p, d) array
    steps : int
        Batches seen.
    history : dict of lists
        One entry per epoch: mean distance and R^2 over its batches, norm of the weights.
    """

    weights: Array
    steps: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {"distance": [], "r2": [], "norm": []})


def centred_product(X: Any, mean: Array, weights: Array) -> Array:
    """Return (X - mean) W for a sparse or dense X."""
    return np.asarray(X @ weights) - mean @ weights


def weighted_mean(X: Any, w: Array) -> Array:
    """Return the mean of the columns of a sparse or dense X, each row counted w times."""
    return np.asarray(X.T @ w).ravel() / w.sum()


def distance_and_gradient(
    X: Any, h: Array, weights: Array, *, gradient: str, ridge: float, row_weights: Array | None = None
) -> tuple[float, Array]:
    """Return M of a batch and its gradient, exact or as the source prints it.

    Parameters
    ----------
    X : (b, p) array or CSR array
    h : (b, m) array
    weights : (p, d) array
    gradient : {"exact", "printed"}
    ridge : float
    row_weights : (b,) array, optional
        By default every row counts once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, h, W = rng.standard_normal((50, 3)), rng.standard_normal((50, 1)), rng.standard_normal((3, 1))
    >>> value, slope = distance_and_gradient(X, h, W, gradient="exact", ridge=0.0)
    >>> bool(abs((slope * W).sum()) < 1e-9 * value)   # only the span matters
    True
    """
    w = np.ones(X.shape[0]) if row_weights is None else row_weights
    b = float(w.sum())
    mean = weighted_mean(X, w)
    centred = h - w @ h / b
    z = centred_product(X, mean, weights)
    weighed = w[:, None] * centred
    aim = z.T @ weighed

    def back(rows: Array) -> Array:
        return np.asarray(X.T @ rows) - np.outer(mean, rows.sum(axis=0))

    scatter = z.T @ (w[:, None] * z)
    if gradient == "printed":
        if h.shape[1] != 1:
            raise DataError(
                "the printed gradient is for one influence function: a number, or the indicator of two classes"
            )
        variance = float(centred[:, 0] @ weighed[:, 0]) / b
        q = np.linalg.solve(scatter * variance + ridge * np.eye(len(scatter)), aim[:, 0])
        return float(aim[:, 0] @ q), np.outer(back(weighed)[:, 0], 2.0 * q)
    root = root_of_inverse(centred.T @ weighed / b)
    p = np.linalg.solve(scatter + ridge * np.eye(len(scatter)), aim @ root)
    value = float(np.einsum("ij,ij->", aim @ root, p))
    return value, 2.0 * back(weighed @ root - w[:, None] * (z @ p)) @ p.T


def initial_state(p: int, d: int, options: AscentOptions) -> AscentState:
    """Return random weights, small as in the source."""
    rng = np.random.default_rng(options.random_state)
    return AscentState(0.01 * rng.standard_normal((p, d)))


def one_epoch(
    state: AscentState, X: Any, h: Array, options: AscentOptions, row_weights: Array | None = None
) -> AscentState:
    """Return the state after one pass over some rows in random order.

    Parameters
    ----------
    state : AscentState
    X : (n, p) CSR array or array
    h : (n, m) array
    options : AscentOptions
    row_weights : (n,) array, optional
        By default every row counts once.
    """
    n = X.shape[0]
    counted = np.ones(n) if row_weights is None else row_weights
    exact = options.gradient == "exact"
    epoch = len(state.history["r2"])
    order = np.random.default_rng([options.random_state, epoch]).permutation(n)
    weights = _uncorrelated(X, state.weights, counted) if exact else state.weights.copy()
    values, shares, steps = [], [], state.steps
    schedule = Schedule(options.learning_rate, "robbins-monro" if exact else "constant")
    for start in range(0, n, options.batch_size):
        rows = order[start : start + options.batch_size]
        # A last batch with fewer rows than twice its features would explain itself.
        if len(rows) < min(n, 2 * weights.shape[1] + 2):
            continue
        weight = float(counted[rows].sum())
        if not weight > 0:
            continue
        value, slope = distance_and_gradient(
            X[rows], h[rows], weights, gradient=options.gradient, ridge=options.ridge, row_weights=counted[rows]
        )
        weights = weights + float(schedule.at(steps)) * (slope / weight if exact else slope)
        values.append(value)
        shares.append(value / weight)
        steps += 1
    history = {name: list(past) for name, past in state.history.items()}
    history["distance"].append(float(np.mean(values)) if values else float("nan"))
    history["r2"].append(float(np.mean(shares)) if shares else float("nan"))
    history["norm"].append(float(np.linalg.norm(weights)))
    return replace(state, weights=weights, steps=steps, history=history)


def ascend(
    state: AscentState, X: Any, h: Array, options: AscentOptions, row_weights: Array | None = None
) -> AscentState:
    """Return the state after as many epochs as it takes for the mean R^2 over batches to stop rising."""
    wait = Patience(options.tol, options.patience)
    for _ in range(options.max_epochs):
        state = one_epoch(state, X, h, options, row_weights)
        wait = wait.after(state.history["r2"][-1])
        if wait.over:
            break
    if options.gradient == "exact":
        counted = np.ones(X.shape[0]) if row_weights is None else row_weights
        state = replace(state, weights=_uncorrelated(X, state.weights, counted))
    return state


def _uncorrelated(X: Any, weights: Array, w: Array) -> Array:
    """Return weights of the same span whose features are uncorrelated and of unit variance."""
    z = centred_product(X, weighted_mean(X, w), weights)
    root = root_of_inverse(z.T @ (w[:, None] * z) / w.sum())
    # A direction that has collapsed into the others keeps its place with zero weight.
    out = np.zeros_like(weights)
    out[:, : root.shape[1]] = weights @ root
    return out


Before = tuple[Design, AscentState]
"""What an earlier call left: the design its weights are over, and the state."""


def design_rows(design: Design, rows: Iterable[Rows], scale: Array) -> sp.csr_array:
    """Return encoded rows as one CSR matrix over the design columns.

    Numbers are centred and divided by `scale`, missing ones at 0; a level never seen has no entry.

    Parameters
    ----------
    design : Design
    rows : iterable of Rows
    scale : (p,) array
        1 for a level.
    """
    starts = np.array([design.spans[c.name].start for c in design.categorical], dtype=np.int64)
    sizes = np.array([len(labels) for labels in design.labels], dtype=np.int64)
    places = design.number_places
    mean = np.nan_to_num(design.mean[places])
    p = len(design.mean)
    parts = []
    for part in rows:
        numbers = np.nan_to_num((np.asarray(part.dense_numbers, dtype=np.float64) - mean) / scale[places])
        codes = part.codes.T.astype(np.int64)
        known = codes < sizes
        columns = np.hstack([np.where(known, codes + starts, 0), np.broadcast_to(places, numbers.shape)])
        values = np.hstack([known.astype(np.float64), numbers])
        pointer = np.arange(len(values) + 1, dtype=np.int64) * columns.shape[1]
        one = sp.csr_array((values.ravel(), columns.ravel(), pointer), shape=(len(values), p))
        one.sum_duplicates()
        parts.append(one)
    return sp.csr_array(sp.vstack(parts, format="csr")) if parts else sp.csr_array((0, p))


def influence_rows(aim: TargetFunctions, values: list[pa.Array]) -> Array:
    """Return the influence functions of rows, (n, m): numbers as they are, classes as indicators.

    Parameters
    ----------
    aim : TargetFunctions
        Of targets without slices, ranks or callables, which are derived before.
    values : list of arrays
        One per target.
    """
    parts: list[Any] = []
    for labels, column, target in zip(aim.classes, values, range(len(values)), strict=True):
        if not labels:
            # The ascent centres them, so that an offset changes nothing but rounding.
            parts.append(number_values(column, offset_for([column]) or 0.0)[:, None])
            continue
        # Of two classes `one_per_class` keeps the second alone, under the target's own name.
        own = [aim.names[k] for k in np.flatnonzero(aim.owner == target)]
        kept = labels[-1:] if len(own) == 1 else [label for label in labels if str(label) in own]
        listed = column.to_pylist()
        parts.append(np.array([[value == label for label in kept] for value in listed], dtype=np.float64))
    return np.hstack(parts)


def target_columns(X: Any, names: list[str]) -> list[pa.Array]:
    """Return some columns of a table, or parts of its dates, each as one array."""
    table = open_table(X)
    table = table if isinstance(table, ArrowTable) else table.as_arrow()
    dates = {name: date_of_part(name, types_of(table.schema)) for name in names}
    batches = list(table.batches(list(dict.fromkeys(dates[name] or name for name in names))))

    def values(batch: pa.RecordBatch, name: str) -> pa.Array:
        date = dates[name]
        part: Any = name.removeprefix(f"{date}_")
        return batch.column(name) if date is None else part_of(batch.column(date), part)

    return [pa.chunked_array([values(batch, name) for batch in batches]).combine_chunks() for name in names]


def state_over(old: Design, state: AscentState, design: Design, scale: Array) -> AscentState:
    """Return a state over the design columns there are now: levels keep their order, new ones come after at 0.

    Parameters
    ----------
    old : Design
        That of the state, whose weights are per unit of each number.
    state : AscentState
    design : Design
    scale : (p,) array
        The units that the ascent works in.
    """
    return replace(state, weights=carried_over(old, design, state.weights.T).T * scale[:, None])


def ascent_scale(design: Design, variance: Array) -> Array:
    """Return the unit of each design column in the ascent: 1 for a level, the standard deviation of a number that varies."""
    numbers = np.isin(np.arange(len(variance)), design.number_places)
    return np.where(numbers & (variance > 0), np.sqrt(variance), 1.0)


def climb(
    design: Design,
    rows: Iterable[Rows],
    aim: TargetFunctions,
    targets: list[pa.Array],
    row_weights: Array | None,
    scale: Array,
    options: AscentOptions,
    *,
    n_components: int,
    before: Before | None,
    whole: bool,
) -> tuple[Array, AscentState]:
    """Return weights per unit of each design column, and the state after climbing over some rows.

    Parameters
    ----------
    design : Design
        Over the levels there are now.
    rows : iterable of Rows
        Encoded against it.
    aim : TargetFunctions
    targets : list of arrays
        Values of each target.
    row_weights : (n,) array, optional
    scale : (p,) array
        See `ascent_scale`.
    options : AscentOptions
    n_components : int
        Directions, where the ascent starts anew.
    before : pair of Design and AscentState, optional
        To go on from.
    whole : bool
        Climb until it ends by itself; otherwise one epoch.
    """
    features, functions = design_rows(design, rows, scale), influence_rows(aim, targets)
    missing = [each for each in (missing_among([values]) for values in targets) if each is not None]
    if missing:
        # As in the moments: rows without a target are left out.
        kept = np.flatnonzero(~np.logical_or.reduce(missing))
        features, functions = features[kept], functions[kept]
        row_weights = None if row_weights is None else row_weights[kept]
    start = initial_state(len(scale), n_components, options) if before is None else state_over(*before, design, scale)
    step = ascend if whole else one_epoch
    state = step(start, features, functions, options, row_weights)
    return state.weights / scale[:, None], state
