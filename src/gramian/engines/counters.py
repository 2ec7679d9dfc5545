"""The counters of one local pass: a set for each fold, renewed when a column changes its form, in a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from threading import Lock

import numpy as np
import pyarrow as pa

from gramian.arrays.allocator import Growth
from gramian.arrays.memory import available_memory, in_words
from gramian.design.encoded import Encoded
from gramian.design.encoder import Encoder
from gramian.design.labels import Labels, positions
from gramian.design.schema import Schema
from gramian.errors import Argument, Call, MemoryLimitError, PythonOnly
from gramian.moments.algebra.levels import drop_empty_levels, map_levels
from gramian.moments.counting.accumulate import Accumulator
from gramian.moments.value import Moments, merge

READING_SHARE = 4
"""Of the memory a user allows, what is left to reading and encoding: one part in so many."""


class MemoryBudget:
    """What one pass holds, refused before it passes the limit.

    Parameters
    ----------
    limit : int or None
        Bytes that the process may grow by; None for what is free, less a tenth for all that is not counted here.
    widest : callable, optional
        Gives the column with the most levels, and how many they are, for the message.
    """

    def __init__(self, limit: int | None, widest: Callable[[], tuple[str, int] | None] = lambda: None) -> None:
        self.limit = limit if limit is not None else int(0.9 * available_memory())
        # Of a limit of the user's own a part is left to what is being read, which nobody counts byte by byte.
        self._reading = 0 if limit is None else limit // READING_SHARE
        self._growth = None if limit is None else Growth(limit)
        self._widest = widest
        self._held: dict[object, int] = {}
        self._lock = Lock()

    def settle(self, nbytes: int) -> None:
        """Note that all counters have been emptied into moments of so many bytes."""
        with self._lock:
            self._held = {"labels": self._held.get("labels", 0), "moments": nbytes}

    def reserve(self, who: object, nbytes: int) -> None:
        """Note that `who` is about to hold `nbytes` in all."""
        with self._lock:
            more = nbytes - self._held.get(who, 0)
            total = sum(self._held.values()) + self._reading + more
            if total > self.limit:
                raise self._refusal(total)
            self._held[who] = nbytes
        if self._growth is not None:
            self._growth.expect(max(0, more))

    def all_read(self) -> None:
        """Note that no row is to come any more."""
        self._reading = 0

    def close(self) -> None:
        """Note that the pass has ended."""
        if self._growth is not None:
            self._growth.close()

    def _refusal(self, total: int) -> MemoryLimitError:
        numbers = sum(held for who, held in self._held.items() if isinstance(who, tuple) and who[1] == "numbers")
        # Where it is the scatter of numbers that takes the memory, no column stands out.
        widest = self._widest() if 2 * numbers < total else None
        name = None if widest is None else widest[0]
        words = "" if widest is None else f"column {name!r} has the most levels, {widest[1]:,}: "
        return MemoryLimitError(
            f"counting needs {in_words(total)} and {in_words(self.limit)} are allowed; {words}leave "
            f"{'the widest columns' if widest is None else 'it'} out with ",
            Argument("exclude") if name is None else Argument("exclude", [name]),
            PythonOnly(" or ", Argument("columns")),
            " (",
            Call("preview"),
            " shows such columns)",
            PythonOnly(", or collect in parts and ", Call("pool"), " each before adding"),
        )


class Pass:
    """The counters of one pass, a set of them for each fold, renewed when a column changes its form.

    As many folds as divide evenly among the threads are counted a thread each, so that no thread waits for another; what is
    left over is split, as rows without folds are.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        executor: Executor,
        n_threads: int,
        expected_rows: int | None,
        budget: MemoryBudget,
    ) -> None:
        self._encoder, self._executor, self._n_threads = encoder, executor, n_threads
        self._n_parts = max(encoder.n_folds, 1)
        self._n_whole = self._n_parts - self._n_parts % n_threads if n_threads > 1 and encoder.n_folds else 0
        self._budget = budget
        self._expected_rows = None if expected_rows is None else expected_rows // self._n_parts
        self._counters: list[Accumulator] = []
        self._parts: list[list[Moments]] = [[] for _ in range(self._n_parts)]

    def add(self, rows: Encoded) -> None:
        """Count a stretch of rows."""
        if self._counters:
            first = self._counters[0]
            if (rows.coded, rows.numeric, rows.offsets) != (first.coded, first.numeric, first.offsets):
                self._close()
        if not self._counters:
            self._counters = [
                Accumulator(
                    self._schema(rows),
                    executor=self._executor,
                    n_threads=1 if k < self._n_whole else self._n_threads,
                    weighted=self._encoder.weighted,
                    expected_rows=self._expected_rows,
                    reserve=self._budget.reserve,
                    offsets=rows.offsets,
                    room=self._budget.limit // self._n_parts,
                )
                for k in range(self._n_parts)
            ]
        if rows.folds is None:
            self._counters[0].add(rows)
            return
        folds = rows.by_fold(self._n_parts, self._executor)
        self._each(lambda k: self._counters[k].add(folds[k]))

    def _schema(self, rows: Encoded) -> Schema:
        """Return the columns as they are in these rows: the encoder is ahead, and may have made a number of an integer."""
        schema = self._encoder.schema
        return schema.with_form(set(rows.coded).difference(schema.coded), "integer")

    def _each(self, work: Callable[[int], None]) -> None:
        """Do something for every part that has a counter: in the pool where it takes one thread, here where it takes all."""
        count = len(self._counters)
        waiting = [self._executor.submit(work, k) for k in range(min(self._n_whole, count))]
        for task in waiting:
            task.result()
        for k in range(len(waiting), count):
            work(k)

    def _close(self) -> None:
        known: dict[tuple[str, int], Labels] = {}

        def labels(name: str, n_levels: int) -> Labels:
            # Folds share them: a copy each would be a table of texts for every fold.
            if (name, n_levels) not in known:
                known[name, n_levels] = self._encoder.labels(name, n_levels)
            return known[name, n_levels]

        self._each(lambda k: self._parts[k].append(self._counters[k].finish(labels)))
        self._counters = []

    def settle(self) -> list[Moments]:
        """Return the moments so far, of each fold or of all rows, with levels as they are coded; counting starts afresh."""
        self._close()
        self._parts = [[merge(part)] for part in self._parts]
        self._budget.settle(sum(part.nbytes for (part,) in self._parts))
        return [part for (part,) in self._parts]

    def restore(self, parts: Sequence[Moments]) -> None:
        """Go on from what `settle` returned in another pass."""
        self._parts = [[part] for part in parts]
        self._budget.settle(sum(part.nbytes for part in parts))

    def finish(self) -> Moments:
        """Return the moments of all rows, with those of the folds."""
        self._budget.all_read()
        self._close()
        parts = [merge(part) for part in self._parts]
        if len(parts) > 1:
            held = sum(part.nbytes for part in parts)
            self._budget.settle(held)
            # The whole is no larger than its parts together.
            self._budget.reserve("whole", held)
        # Added up while all have the codes of the pass, so that nothing has to be aligned.
        whole = parts[0] if len(parts) == 1 else self._in_order_of_sight(merge(parts))
        folds = tuple(map(drop_empty_levels, parts)) if len(parts) > 1 else ()
        return replace(drop_empty_levels(whole), folds=folds)

    def _in_order_of_sight(self, moments: Moments) -> Moments:
        """Return the moments with levels as the rows showed them, not as the folds did."""
        changes = {}
        for k, (name, labels) in enumerate(zip(moments.coded, moments.labels, strict=True)):
            order = np.argsort(positions(labels.values, self._encoder.labels(name).values))
            mapping = np.empty(len(order), dtype=np.int64)
            mapping[order] = np.arange(len(order))
            if (mapping != np.arange(len(order))).any():
                changes[k] = (Labels(labels.values.take(pa.array(order))), mapping)
        return map_levels(moments, changes)
