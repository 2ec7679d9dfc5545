"""The shared estimator of this folder: rows read once into memory and learnt in epochs, or a call at a time.

A concrete estimator says how it starts and learns. Here is what X may be, the design that grows with new levels, the mean that
moves with the rows, and one `Projection` in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator

from gramian.arrays.linalg import fix_signs
from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.spine.estimator import ProjectionFeatures, seed_of
from gramian.estimators.spine.fields import Field, Fields, Optional, array, finite, past, projection, size, texts
from gramian.estimators.spine.training import Training, note_columns, read, refuse_large, refuse_total
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.advice import identifiers_among
from gramian.moments.value import Moments
from gramian.online.amnesic import FEWEST_ROWS, Amnesic, rows_of_update
from gramian.online.rows import Batch, DesignRows, RunningDesign, carried_over, with_levels, with_rows, without_columns
from gramian.online.schedules import SCHEDULES, History, as_arrays, over_design
from gramian.parameters import OFTEN, TRUTH, declared, number, whole

AT_ONCE = 1024
"""Rows whose sums are taken together where all rows make one update."""


def generator(random_state: Any, *more: int) -> np.random.Generator:
    """Return a generator of its own for a seed and what it is for."""
    return np.random.default_rng([seed_of(random_state), *more])


LEARNING = declared(
    n_components=whole(),
    learning_rate=("auto", number(above=0)),
    schedule=SCHEDULES,
    n_epochs=OFTEN,
    batch_size=("auto", whole()),
    shuffle=TRUTH,
)


def refuse_schedule(estimator: Any) -> None:
    """Raise where a rate is to fall that is chosen automatically."""
    if isinstance(estimator.learning_rate, str) and estimator.schedule != "constant":
        raise DataError(
            Argument("schedule", estimator.schedule), " needs a number as learning_rate; 'auto' has its own"
        )


def batch_rows(batch_size: Any, rows: DesignRows, p: int, units: int) -> int:
    """Return the rows of a minibatch; by default by what an update costs, at most an eighth of the rows, but 256."""
    if batch_size != "auto":
        return int(batch_size)
    return max(FEWEST_ROWS, min(rows_of_update(p, rows.entries_a_row, units), len(rows) // 8))


def blocks(rows: DesignRows, mean: Array) -> Iterator[Batch]:
    """Yield all rows in blocks whose sums are taken together."""
    return (rows.batch(slice(start, start + AT_ONCE), mean) for start in range(0, len(rows), AT_ONCE))


def way_back(weights: Array) -> Array:
    """Return the pseudo-inverse of weights (k, p), transposed: W^+ = W^T (W W^T)^+, from a k x k matrix."""
    scale = float(np.abs(weights).max(initial=0.0))
    if not scale > 0:
        return np.zeros_like(weights)
    unit = weights / scale
    return np.asarray(np.linalg.pinv(unit @ unit.T, hermitian=True, rcond=1e-12) @ unit) / scale


def noted(**measures: Any) -> Field:
    """Return the history of weights (k, p), with some measures."""
    return past(updates=int, weights=array("k", None), norms=array("k"), **measures)


class KeepsHistory:
    """What methods that learn in epochs share: what happened in each."""

    _history: History

    @property
    def history_(self) -> dict[str, Array]:
        """What happened, one entry an epoch (or a call of `partial_fit`): arrays by name."""
        if "_history" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'history_'")
        return as_arrays(self._history)


class OnlineTransformer(KeepsHistory, ProjectionFeatures, BaseEstimator):
    """Learns features from rows as they pass.

    Attributes
    ----------
    projection_ : Projection
    mean_ : (p,) array
        Over `design_names_`, of the rows seen; what is taken off them.
    n_features_in_ : int
        Source columns.
    feature_names_in_ : array of str
        Their names, where they have some.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_samples_seen_ : int
    """

    _fields: ClassVar[Fields] = {
        "_columns_in": texts("q"),
        "projection_": projection(),
        "mean_": array("p"),
        "design_names_": texts("p"),
        "n_components_": size("k"),
        "n_samples_seen_ n_updates_ _updates": int,
        "n_epochs_": Optional(int),
        "_seen_weights": array("p", finite=True),
        "_total": finite,
        "_directions": Optional(array("d", "p", finite=True), "directions"),
        "_variances": Optional(array("d", finite=True), "directions"),
        "_learnt": Optional(finite, "directions"),
    }

    _parameters = LEARNING

    n_components: int
    shuffle: bool
    random_state: Any

    # What a subclass says

    def _start(self, rows: DesignRows, mean: Array) -> None:
        """Prepare for the first rows."""

    def _epoch(self, rows: DesignRows, mean: Array, epoch: int) -> bool:
        """Learn all rows once, in an order of this method's own; return whether that is enough."""
        raise NotImplementedError

    def _more(self, batches: Iterator[tuple[Batch, Array]]) -> None:
        """Learn more rows in the order in which they come, each batch with the shift of the mean that it brings."""
        raise NotImplementedError

    def _weights_now(self) -> tuple[Array, Array | None]:
        """Return the weights (k, p) of the features, and the way back (k, p)."""
        raise NotImplementedError

    @property
    def _automatic(self) -> bool:
        """Whether directions are learnt without a rate."""
        raise NotImplementedError

    _ruled: tuple[str, ...]
    """What a rule with a rate goes on from: weights (k, p)."""

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, which are held in memory, in `n_epochs` epochs.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s), or iterable of batches
            Any source of `gramian.collect`; not Moments, which have no rows.
        y : str or tuple of str, optional
            Columns of X that are not features; values are not looked at.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        seen, rows, n_rows = self._read(X, y, sample_weight, None, final=True)
        if len(rows) < 2:
            raise DataError(f"{type(self).__name__} needs at least 2 rows; got n_samples = {len(rows)}")
        self._set_seen(with_rows(seen, rows, getattr(self, "forgetting", None), ordered=False), n_rows)
        mean = self._seen().design.mean
        self._history = {}
        with one_blas_thread():
            self._start(rows, mean)
            for epoch in range(self.n_epochs):
                if self._epoch(rows, mean, epoch):
                    break
        self.n_epochs_ = epoch + 1
        self._finish(rows, mean)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn more rows, each once and in their order; the mean follows them.

        Parameters and result are those of `fit`.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        before = self._seen() if "projection_" in self.__dict__ else None
        if before is not None and not self._goes_on():
            raise DataError(
                f"{type(self).__name__} cannot add rows: its file does not hold what it has learnt, or its parameters were "
                "changed after the fit; fit it again"
            )
        seen, rows, n_rows = self._read(X, y, sample_weight, before)
        if before is None:
            self._history = {}
        elif len(seen.design.mean) != len(before.design.mean):
            self._widen(before.design, seen.design)
            self._history = over_design(self._history, before.design, seen.design)
        with one_blas_thread():
            self._pass(seen, rows, first=before is None, n_rows=n_rows)
        self._finish(rows, self._seen().design.mean)

    def _pass(self, seen: RunningDesign, rows: DesignRows, *, first: bool, n_rows: int) -> None:
        size = self._rows_at_once(rows, len(seen.weights))
        forgetting = getattr(self, "forgetting", None)
        if first:
            begun = with_rows(seen, rows, forgetting)
            self._start(rows, begun.design.mean)

        def batches() -> Iterator[tuple[Batch, Array]]:
            nonlocal seen
            for start in range(0, len(rows), size):
                part = rows.part(slice(start, start + size))
                after = with_rows(seen, part, forgetting)
                shift = after.design.mean - seen.design.mean if seen.total > 0 else np.zeros(len(seen.weights))
                seen = after
                yield part.batch(slice(None), seen.design.mean), shift

        self._more(batches())
        self._set_seen(seen, self.__dict__.get("n_samples_seen_", 0) + n_rows)

    def _rows_at_once(self, rows: DesignRows, p: int) -> int:
        """Return the rows of one update."""
        raise NotImplementedError

    # What was seen

    def _seen(self) -> RunningDesign:
        design = self.__dict__["projection_"].design if "projection_" in self.__dict__ else self._fresh_design
        return RunningDesign(design, self._seen_weights, self._total)

    def _goes_on(self) -> bool:
        """Whether there is what more rows are added to: not where a file leaves it out, or the rule is another one now."""
        if self._automatic:
            return "_directions" in vars(self)
        return len(vars(self).get(self._ruled[0], ())) == self.n_components

    def _widen(self, old: Design, new: Design) -> None:
        """Carry what was learnt over to a design with more levels."""
        for name in [*(["_directions"] if self._automatic else self._ruled), "reference_"]:
            if self.__dict__.get(name) is not None:
                setattr(self, name, carried_over(old, new, getattr(self, name)))

    # Directions learnt without a rate

    @property
    def _amnesic(self) -> Amnesic:
        return Amnesic(self._directions, self._variances, self._learnt)

    def _keep(self, state: Amnesic) -> None:
        self._directions, self._variances, self._learnt = state.directions, state.variances, state.weight

    def _leading(self) -> Array:
        """Return the first directions, (n_components, p): zero where no row has reached one."""
        out = np.zeros((int(self.n_components), self._directions.shape[1]))
        directions = self._directions[: len(out)]
        out[: len(directions)] = fix_signs(directions.T).T
        return out

    def _refuse_many(self, p: int) -> None:
        if self.n_components > p:
            raise DataError(
                Argument("n_components", int(self.n_components)),
                f" is more than the {p} design columns there are; ask for at most {p}",
            )

    def _shuffled(self, rows: DesignRows, epoch: int) -> tuple[np.random.Generator, Array]:
        """Return the generator of an epoch, and the order of its rows."""
        rng = generator(self.random_state, 1, epoch)
        return rng, rng.permutation(len(rows)) if self.shuffle else np.arange(len(rows))

    def _set_seen(self, seen: RunningDesign, n_rows: int) -> None:
        self._fresh_design, self._seen_weights, self._total = seen.design, seen.weights, seen.total
        self.__dict__.pop("projection_", None)
        self.n_samples_seen_ = n_rows

    def _finish(self, rows: DesignRows, mean: Array) -> None:
        weights, inverse = self._weights_now()
        design = self.__dict__.pop("_fresh_design")
        self.projection_ = Projection(design, weights.T, np.zeros(len(weights)), inverse)
        self.mean_ = design.as_given(design.mean)
        self.design_names_ = list(design.names)
        self._describe(rows, mean)

    def _describe(self, rows: DesignRows, mean: Array) -> None:
        """Set the attributes that the method adds."""

    def _read(
        self, X: Any, y: Any, sample_weight: Any, before: RunningDesign | None, *, final: bool = False
    ) -> tuple[RunningDesign, DesignRows, int]:
        """Return what has been seen with the levels of X added, and its rows; where these are all, without identifiers."""
        if isinstance(X, Moments):
            name = type(self).__name__
            raise DataError(
                f"{name} learns from rows, and Moments have none; pass rows or files, or fit PCA to the moments"
            )
        training = read(self, X, y, sample_weight, before=None if before is None else before.design.columns)
        if before is None:
            before = RunningDesign.nothing(training.schema().columns)
            note_columns(self, before.design.origins, named=training.named, library=training.library)
        seen, parts, weights = _encoded(training, before)
        if final and parts:
            aside = identifiers_among(seen.design.columns, seen.design.labels, sum(map(len, parts)))
            if aside:
                seen, parts = without_columns(seen, parts, aside)
        if weights is not None and weights.any():
            refuse_total(weights)
        for part in parts:
            refuse_large(part.numbers, [column.name for column in seen.design.numeric])
        rows = DesignRows.of(seen.design, parts, weights) if parts else None
        if rows is None or not len(rows):
            what = "the table is empty" if sample_weight is None else "every sample weight is zero"
            raise DataError(f"there are no rows to learn: {what} (n_samples = 0)")
        return seen, rows, len(rows)


def _encoded(training: Training, seen: RunningDesign) -> tuple[RunningDesign, Sequence[Rows], Array | None]:
    """Return the rows of a table that have a weight, with their levels seen, and those weights."""
    parts: list[Rows] = []
    weights: list[Array] = []
    for part, here in training.parts(seen.design):
        if isinstance(part, pa.RecordBatch):
            if here is not None and not here.all():
                # A row repeated zero times was not seen, nor were its levels.
                part, here = part.filter(pa.array(here > 0)), here[here > 0]
            seen = with_levels(seen, part)
            part = seen.design.encode(part)
        parts += [part] if len(part) else []
        weights += [here] if here is not None else []
    return seen, parts, np.concatenate(weights) if weights else None
