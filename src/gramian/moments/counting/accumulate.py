"""From encoded stretches to `Moments`: the by-level columns counted, the numbers added up, each by its own counter."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from gramian.design.encoder import Encoded
from gramian.design.schema import Labels, Schema
from gramian.moments.counting.pair_counter import PairCounter
from gramian.moments.counting.plan_tables import ChunkSums
from gramian.moments.counting.scatter_counter import ScatterCounter, places
from gramian.moments.value import Moments


class Accumulator:
    """Adds up stretches that have the same columns in the same forms.

    Parameters
    ----------
    schema : Schema
        The columns; `coded` and `numeric` of every stretch follow it.
    executor, n_threads
        The pool that counts.
    weighted : bool
        Whether stretches carry weights.
    expected_rows : int or None
        How many rows are to come, where that is known: it decides how the counting is planned.
    reserve : callable
        `reserve(who, nbytes)`, called before memory is taken; raises where it is too much.
    offsets : tuple of float
        What has been taken off each number, which is then its anchor; 0, or an empty tuple, where nothing has.
    room : int, optional
        Bytes that all of this may take, where that decides how it is counted.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        executor: Executor,
        n_threads: int,
        weighted: bool,
        expected_rows: int | None,
        reserve: Callable[[object, int], None],
        offsets: tuple[float, ...] = (),
        room: int | None = None,
    ) -> None:
        self.offsets = offsets
        self.schema = schema
        self.coded, self.numeric = schema.coded, schema.numbers
        self._weighted = weighted
        self._n_rows = self._left_out = 0
        self._weight = 0.0
        self._n_levels = [0] * len(self.coded)
        # Not this object itself, which would then be a part of its own parts, and live until garbage is looked for.
        mine = object()
        self._pairs = PairCounter(
            len(self.coded),
            executor=executor,
            n_threads=n_threads,
            weighted=weighted,
            expected_rows=expected_rows,
            reserve=partial(reserve, (mine, "pairs")),
            room=room,
        )
        self._scatter = ScatterCounter(
            self.numeric,
            executor=executor,
            n_threads=n_threads,
            reserve=partial(reserve, (mine, "numbers")),
        )
        taken = np.array(offsets) if offsets else np.zeros(len(self.numeric))
        self._scatter.anchors[taken != 0] = 0.0
        self._taken = taken
        self._chunk_sums = ChunkSums(len(self.coded), len(self.numeric), n_threads)

    def add(self, rows: Encoded) -> None:
        """Count one stretch."""
        self._left_out += rows.left_out
        if not rows.n_rows:
            return
        weights = rows.weights
        self._n_rows += rows.n_rows
        self._weight += rows.n_rows if weights is None else float(weights.sum())
        if not self.coded:
            self._scatter.add(rows.numbers, weights)
            return
        deviations = None
        self._n_levels = list(rows.n_levels)
        if self._chunk_sums.has_room(rows.n_levels) and not sp.issparse(rows.numbers):
            self._scatter.add(rows.numbers, weights, self._chunk_sums.watch(rows.codes, rows.n_levels, weights))
        elif self.numeric:
            # Sums by level are dense, and a stretch is short enough to be so too.
            numbers = rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers[:]
            extended = self._scatter.extend(numbers, weights)
            self._scatter.add_extended(extended, weights)
            deviations = extended if weights is None else extended * weights[:, None]
        self._pairs.add(rows.codes, rows.n_levels, weights=weights, deviations=deviations)

    def finish(self, labels: Callable[[str, int], Labels]) -> Moments:
        """Return the moments of all stretches, levels that no row of them has included.

        Parameters
        ----------
        labels : callable
            `labels(name, n)` gives a column's first n labels.
        """
        numbers, _ = self._scatter.result()
        pairs, counted_sums = self._pairs.result()
        p = len(self.numeric)
        # Indicators were numbered in order of first sight; a value has them in the order of their columns.
        at = places(p, self._scatter.missing, numbers.missing)
        sums = [np.zeros((size, p + len(numbers.missing))) for size in self._n_levels]
        for total, counted in zip(sums, counted_sums, strict=True):
            total[:, at[: counted.shape[1]]] = counted
        self._chunk_sums.add_to(sums, numbers.missing)
        return Moments(
            schema=self.schema,
            n_rows=self._n_rows,
            total_weight=self._weight if self._weighted else self._n_rows,
            labels=tuple(labels(name, size) for name, size in zip(self.coded, self._n_levels, strict=True)),
            pairs=pairs,
            numbers=replace(numbers, anchors=numbers.anchors + self._taken),
            sums=tuple(sums),
            rows_left_out=self._left_out,
        )
