"""Why a row is odd, in words: its score shared out over values and pairs of values, so that the shares add up.

The surprise of a level u is F_u h(r_u), and its residual a sum of what every column of the row says, r_u = sum_k s_k.
On average over the training rows that hold u these are ubar_k, and the level is worth F_u h(sum_k ubar_k): so much,
or all there is where that is less, is due to the level itself. The excess comes from the company it is in here: it is
shared out over pairs (u, value of k) in proportion to the positive parts of s_k - ubar_k. A pair collects what either
of its values says about the other.

What every row has is no reason: a level counts as one by what it is worth beyond the mean of its column, numbers by
what they are worth beyond residuals of one standard deviation; numbers share this in proportion to their squared
whitened residuals. An unseen level has its penalty to itself. So every reason is worth at least 0, and the rest of
the score is `(other)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.design.labels import canonical, label_text
from gramian.maps.design import Rows
from gramian.maps.pair_surprise import PairSurprise, damped, far_out
from gramian.tables import ArrayTable, ArrowTable

Array = npt.NDArray[np.float64]

CELLS = 2**22
"""Shares held at a time: rows times pairs of columns."""

OTHER = "(other)"


def explanation(score: PairSurprise, table: ArrowTable | ArrayTable, top: int) -> dict[str, Any]:
    """Return the columns of the explanation table: the `top` reasons of each row, then `(other)`."""
    writer = _Writer(score, top)
    for rows, batch in score.design.read(table):
        writer.add(rows, batch)
    return writer.columns()


def shares(score: PairSurprise, rows: Rows) -> tuple[Array, Array]:
    """Return what the reasons of each row are worth, (n, c + q, c + q) above and on the diagonal, and its score.

    The first c places are categorical columns, the next q numbers. The diagonal is what a value is worth alone.
    """
    n, n_levels, n_numbers = len(rows), len(score.sizes), len(score.scale)
    size = n_levels + n_numbers
    out = np.zeros((n, size, size))
    if n_levels:
        at = score.slots(rows.codes)
        unseen = at == len(score.factors) - 1
        said = np.empty((n, n_levels, size))
        said[:, :, :n_levels] = score.table[at[:, :, None], at[:, None, :]]
        if n_numbers:
            said[:, :, n_levels:] = score.number_table[at] * score.standardised(rows)[:, None, :]
        worth = score.factors[at] * damped(said.sum(axis=2))
        usual = score.usual[at]
        own = np.minimum(worth, score.factors[at] * damped(usual.sum(axis=2)))
        arguing = np.maximum(said - usual, 0.0)
        places = np.arange(n_levels)
        arguing[:, places, places] = 0.0
        arguing[:, :, places] *= ~unseen[:, None, :]
        # A pair that is seen more often than expected is no reason, whatever it says by way of third columns.
        own_counts = np.diagonal(score.counts)[at]
        expected = own_counts[:, :, None] * own_counts[:, None, :] / score.weight
        arguing[:, :, :n_levels] *= score.counts[at[:, :, None], at[:, None, :]] < expected
        total = arguing.sum(axis=2)
        own = np.where(total > 0, own, worth)
        out[:, :n_levels] = arguing * ((worth - own) / np.where(total > 0, total, 1.0))[:, :, None]
        out[:, places, places] += np.maximum(own - _mean_worth(score), 0.0) + score.penalty * unseen
    if n_numbers:
        residual = score.number_residual(rows)
        squares = np.square(residual)
        distance = squares.sum(axis=1, keepdims=True)
        worth = np.maximum(score.number_worth(residual) - n_numbers * far_out(np.ones(1)), 0.0)[:, None]
        places = np.arange(n_levels, size)
        out[:, places, places] += squares * (worth / np.where(distance > 0, distance, 1.0))
    lower = np.tril_indices(size, -1)
    out[:, lower[1], lower[0]] += out[:, lower[0], lower[1]]
    out[:, lower[0], lower[1]] = 0.0
    return out, score.apply_rows(rows)


def _mean_worth(score: PairSurprise) -> Array:
    """Return the mean over training rows of what the level of each column is usually worth."""
    worth = score.factors * damped(score.usual.sum(axis=1))
    return np.asarray(np.add.reduceat(worth * np.diagonal(score.counts) / score.weight, score.starts))


class _Writer:
    """Collects reasons, row after row."""

    def __init__(self, score: PairSurprise, top: int) -> None:
        self._score, self._top = score, top
        design = score.design
        self._names = [column.name for column in [*design.categorical, *design.numeric]]
        self._labels = [labels.names() for labels in design.labels]
        self._row = self._at = 0
        self._batch: pa.RecordBatch | None = None
        self._out: dict[str, list[Any]] = {
            name: [] for name in ("row", "columns", "values", "contribution", "seen", "expected", "text")
        }

    def columns(self) -> dict[str, Any]:
        return {
            "row": np.array(self._out["row"], dtype=np.int64),
            "columns": self._out["columns"],
            "values": self._out["values"],
            "contribution": np.array(self._out["contribution"], dtype=np.float64),
            "seen": pa.array(self._out["seen"], pa.float64()).to_numpy(zero_copy_only=False),
            "expected": pa.array(self._out["expected"], pa.float64()).to_numpy(zero_copy_only=False),
            "text": self._out["text"],
        }

    def add(self, rows: Rows, batch: pa.RecordBatch | None) -> None:
        """Add the reasons of encoded rows; the batch they were read from shows what unseen levels are called."""
        size = len(self._names)
        step = max(1, CELLS // size**2)
        self._batch = batch
        for start in range(0, len(rows), step):
            part = Rows(rows.codes[:, start : start + step], rows.numbers[start : start + step])
            worth, score = shares(self._score, part)
            numbers, expected = self._numbers(part)
            for i in range(len(part)):
                self._at = start + i
                self._add_row(worth[i], float(score[i]), part.codes[:, i], numbers[i], expected[i])

    def _numbers(self, rows: Rows) -> tuple[Array, Array]:
        """Return the numbers of rows, and what their other values lead one to expect."""
        score = self._score
        if score.numbers is None:
            empty = np.zeros((len(rows), 0))
            return empty, empty
        numbers = rows.numbers.toarray() if hasattr(rows.numbers, "toarray") else np.asarray(rows.numbers)
        # (P (x - m))_j / P_jj is the residual of one number given all other values, P_NN = D D with D the whitening root.
        root = score.numbers.weights[score.design.number_places] * score.scale[:, None]
        residual = (score.number_residual(rows) @ root) / np.square(root).sum(axis=0) * score.scale
        centre = np.nan_to_num(score.design.mean[score.design.number_places], nan=0.0)
        expected = np.where(np.isnan(numbers), centre, numbers) - residual
        taken = 0.0 if score.design.offsets is None else score.design.offsets
        return numbers + taken, expected + taken

    def _add_row(self, worth: Array, score: float, codes: npt.NDArray, numbers: Array, expected: Array) -> None:
        flat = worth.ravel()
        count = min(self._top, int(np.count_nonzero(flat > 0)))
        chosen = np.argpartition(-flat, count - 1)[:count] if 0 < count < len(flat) else np.flatnonzero(flat > 0)
        chosen = chosen[np.lexsort((chosen, -flat[chosen]))]
        named = 0.0
        for place in chosen:
            a, b = divmod(int(place), len(worth))
            share = float(flat[place])
            named += share
            self._write(share, *self._reason(a, b, codes, numbers, expected))
        self._write(score - named, OTHER, "", None, None, OTHER)
        self._row += 1

    def _write(self, share: float, columns: str, values: str, seen: Any, expected: Any, text: str) -> None:
        out = self._out
        for name, value in zip(out, (self._row, columns, values, share, seen, expected, text), strict=True):
            out[name].append(value)

    def _reason(
        self, a: int, b: int, codes: npt.NDArray, numbers: Array, expected: Array
    ) -> tuple[str, str, Any, Any, str]:
        score, n_levels = self._score, len(self._score.sizes)
        names = [self._names[k] for k in dict.fromkeys((a, b))]
        values = [self._value(k, codes, numbers) for k in dict.fromkeys((a, b))]
        said = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
        columns, shown, phrase = " & ".join(names), " & ".join(values), " with ".join(said)
        if a >= n_levels and a == b:
            usual = float(expected[a - n_levels])
            return columns, shown, None, usual, f"{phrase}: expected about {_figure(usual)} from the other values"
        if b >= n_levels:
            return columns, shown, None, None, f"{phrase}: an unusual amount for this value"
        slots = score.slots(codes[:, None])[0, [a, b]]
        seen = float(score.counts[slots[0], slots[1]])
        if a != b:
            own = np.diagonal(score.counts)
            even = float(own[slots[0]] * own[slots[1]] / score.weight)
            return columns, shown, seen, even, f"{phrase}: seen {_times(seen)}, expected {_figure(even)}"
        if codes[a] == score.sizes[a]:
            return columns, shown, 0.0, None, f"{phrase}: never seen in {_figure(score.weight)} rows"
        even = score.weight / float(score.sizes[a])
        return columns, shown, seen, even, f"{phrase}: seen {_times(seen)} in {_figure(score.weight)} rows"

    def _value(self, k: int, codes: npt.NDArray, numbers: Array) -> str:
        n_levels = len(self._score.sizes)
        if k >= n_levels:
            value = float(numbers[k - n_levels])
            return "(missing)" if np.isnan(value) else _figure(value)
        if codes[k] < self._score.sizes[k]:
            return self._labels[k][codes[k]]
        assert self._batch is not None
        value = self._score.design.labels_in(self._batch.slice(self._at, 1), k)
        return label_text(canonical(value)[0].as_py())


def _times(count: float) -> str:
    return f"{_figure(count)} time" if count == 1 else f"{_figure(count)} times"


def _figure(value: float) -> str:
    """Return a number as people write it.

    Examples
    --------
    >>> _figure(1234567.0), _figure(45.5), _figure(0.04), _figure(41.02)
    ('1,234,567', '45.5', '0.04', '41')
    """
    if value == 0 or not np.isfinite(value):
        # 0 and -0 are the same amount.
        return f"{value + 0.0:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
