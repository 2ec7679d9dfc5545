"""Why a row is odd: its score shared out over values and pairs of values, in words, so that the shares add up.

A score is a sum of terms, one per value and one per pair of values. The average of a term over the training rows is not a
reason: these averages add up to the line `(what every row has)`. A reason is worth what its term is above that average. It is
shown where it is worth something and what was seen is not what one would expect anyway (see `NOISE`); all else, what speaks
for the row included, is `(other)`. Each reason says how often its values were seen, and what was expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.schema import canonical, label_text
from gramian.maps.projection import Design, Rows
from gramian.maps.surprise.score import PairScore, SquaredLength, normal_score, standard_value
from gramian.moments.covariance import scatter
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable

CELLS = 2**22
"""Terms held at a time: rows times values and pairs of values that add something."""

EVERY_ROW = "(what every row has)"
OTHER = "(other)"
REST = (EVERY_ROW, OTHER)
"""Texts of lines that are not reasons."""


def explanation(
    score: PairScore | SquaredLength, moments: Moments, facts: NumberFacts, table: ArrowTable | ArrayTable, top: int
) -> dict[str, Any]:
    """Return the columns of the explanation table: the `top` reasons of each row, what every row has, and the rest."""
    usual, (first, second) = usual_terms(score, moments, facts), score.places
    of_every_row = float(usual.sum())
    wording = Wording(score.design, moments, facts)
    out: dict[str, list[Any]] = {
        name: [] for name in ("row", "columns", "values", "contribution", "seen", "expected", "text")
    }
    n_before = 0
    for rows, batch in score.design.read(table):
        step = max(1, CELLS // len(usual))
        for start in range(0, len(rows), step):
            part = rows.part(slice(start, start + step))
            with np.errstate(invalid="ignore"):
                worth = score.terms(part)
                worth -= usual
                worth[~wording.striking(part, first, second)] = 0.0
            totals = score.apply_rows(part)
            for i in range(len(part)):
                # Most terms are worth nothing; of equals the first pair of columns comes first.
                at = np.flatnonzero(worth[i] > 0)
                at = at[np.lexsort((second[at], first[at], -worth[i, at]))[:top]]
                reasons = [
                    (float(worth[i, k]), wording.reason(int(first[k]), int(second[k]), part, i, batch, start + i))
                    for k in at
                ]
                named = sum(share for share, _ in reasons)
                reasons.append((of_every_row, Reason(EVERY_ROW, "", None, None, EVERY_ROW)))
                reasons.append((float(totals[i] - named - of_every_row), Reason(OTHER, "", None, None, OTHER)))
                for share, reason in reasons:
                    values = (n_before + start + i, reason.columns, reason.values, share, reason.seen, reason.expected)
                    for name, value in zip(out, (*values, reason.text), strict=True):
                        out[name].append(value)
        n_before += len(rows)
    return {
        **out,
        "row": np.array(out["row"], dtype=np.int64),
        "contribution": np.array(out["contribution"], dtype=np.float64),
        "seen": pa.array(out["seen"], pa.float64()).to_numpy(zero_copy_only=False),
        "expected": pa.array(out["expected"], pa.float64()).to_numpy(zero_copy_only=False),
    }


def usual_terms(score: PairScore | SquaredLength, moments: Moments, facts: NumberFacts) -> Array:
    """Return what the values and pairs at the places of a score add on average over the training rows, (e,).

    Exact for levels and for the squared length. For numbers in trees it is what normal numbers of these moments add.
    """
    n = float(moments.total_weight)
    if isinstance(score, SquaredLength):
        return _usual_products(score, moments)
    at = [moments.coded_at[column.name] for column in score.design.categorical]
    out = [float(moments.pairs.level_weights[k] @ by_level) / n for k, by_level in zip(at, score.own, strict=True)]
    for (j, k), table in score.pairs.items():
        block = moments.pairs.block(at[j], at[k])
        out.append(float((block.multiply(table) if sp.issparse(block) else block * table).sum()) / n)
    for pair in score.sparse_pairs.values():
        rows = np.repeat(np.arange(len(pair.weights)), np.diff(pair.indptr))
        expected = pair.weights[rows] * pair.shares[pair.indices]
        out.append(pair.factor * float(pair.counts @ np.log((expected + 1.0) / (pair.counts + 1.0))) / n)
    terms = score.numbers
    if terms is None:
        return np.array(out)
    x, y, observed = terms.first, terms.second, facts.observed / n
    fit = (1.0 - np.square(terms.slope)) / terms.left - 1.0
    edges = 0.5 * terms.factor * (np.log(terms.left) + fit) * observed[x] * observed[y]
    to_levels = 0.5 * terms.level_factor * np.log(terms.left_by_level) * observed[terms.number]
    return np.concatenate([out, 0.5 * observed, edges, to_levels])


def _usual_products(score: SquaredLength, moments: Moments) -> Array:
    """Return the means of |z_j|^2 and 2 z_j . z_k: sums of the covariance times W W^T over blocks."""
    design = score.design
    columns = [*design.categorical, *design.numeric]
    covariance = scatter(moments, [column.name for column in design.columns])
    covariance /= float(moments.total_weight)
    weights = score.projection.weights
    spans = [design.spans[column.name] for column in columns]
    out = np.empty(len(score.places[0]))
    for place, (j, k) in enumerate(zip(*score.places, strict=True)):
        mine, theirs = spans[j], spans[k]
        product = float(np.sum(covariance[mine, theirs] * (weights[mine] @ weights[theirs].T)))
        out[place] = product if j == k else 2.0 * product
    return out


NOISE = 2.0
"""Standard deviations within which what is seen agrees with what is expected."""


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """What numbers are like, alone and given other columns.

    Attributes
    ----------
    centre, scale, bend, observed : (q,) arrays
        Mean, standard deviation (1 for a number that does not vary), how much of a logarithm the scale is (0: none), and the
        weight of the rows with a value.
    correlation, left : (q, q) arrays
        Of two numbers the correlation, and the share of the variance that one leaves of the other.
    level_means : tuple of (levels, q) arrays
        Means in each level of each category as the score has them, drawn towards the mean of all rows where rows are few.
    left_by_level : (c, q) array
        The share of the variance within levels.
    seen_means, seen_rows : tuples of (levels, q) arrays
        The means of the rows of each level as they are, in standard deviations from the mean, and how many rows these are.
    """

    centre: Array
    scale: Array
    bend: Array
    observed: Array
    correlation: Array
    left: Array
    level_means: tuple[Array, ...]
    left_by_level: Array
    seen_means: tuple[Array, ...]
    seen_rows: tuple[Array, ...]


class Reason(NamedTuple):
    """One value, or a pair of values, of a row.

    Attributes
    ----------
    columns, values : str
    seen, expected : float or None
        Training rows; for a number what is expected of it.
    text : str
    """

    columns: str
    values: str
    seen: float | None
    expected: float | None
    text: str


class Wording:
    """Tells which values and pairs of rows are out of the ordinary, and says it.

    Parameters
    ----------
    design : Design
    moments : Moments
        The counts behind the score.
    facts : NumberFacts
    """

    def __init__(self, design: Design, moments: Moments, facts: NumberFacts) -> None:
        self._facts, self._pairs, self._weight = facts, moments.pairs, float(moments.total_weight)
        self._design = design
        self._taken = np.zeros(len(facts.centre)) if design.offsets is None else design.offsets
        self._columns = [*design.categorical, *design.numeric]
        self._labels = [labels.names() for labels in design.labels]
        self._at = [moments.coded_at[column.name] for column in design.categorical]
        self._own = [np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in self._at]
        # Numbers whose values are counted one by one: where their counts stand, and the values as `rows.numbers` has them.
        self._counted: dict[int, tuple[int, Array]] = {}
        for q, column in enumerate(design.numeric):
            if moments.schema[column.name].by_level:
                k = moments.coded_at[column.name]
                offset, values = moments.labels[k].numbers
                self._counted[q] = k, np.asarray(values + (offset - self._taken[q]), dtype=np.float64)

    def striking(self, rows: Rows, first: npt.NDArray, second: npt.NDArray) -> npt.NDArray[np.bool_]:
        """Return which values and pairs were seen less often, or lie farther out, than noise, (n, e).

        Parameters
        ----------
        rows : Rows
        first, second : (e,) arrays
            Columns of each pair, categories first, in ascending order; the same column twice for a value alone.
        """
        c, facts = len(self._own), self._facts
        codes = rows.codes.astype(np.int64)
        known = codes < np.array([len(own) for own in self._own], dtype=np.int64)[:, None]
        held = np.where(known, codes, 0)
        z = self._on_scale(self._numbers(rows))
        out = np.zeros((len(rows), len(first)), dtype=bool)
        for pair in np.flatnonzero(second < c).tolist():
            j, k = int(first[pair]), int(second[pair])
            mine = self._own[k][held[k]]
            if j == k:
                out[:, pair] = ~known[k] | _fewer(mine, self._weight / np.count_nonzero(self._own[k]))
            else:
                expected = self._own[j][held[j]] * mine / self._weight
                out[:, pair] = known[j] & known[k] & _fewer(self._together(j, k, held[j], held[k]), expected)
        for j in range(c):
            at = np.flatnonzero((first == j) & (second >= c))
            q = second[at] - c
            levels = held[j][:, None], q
            # The score draws means of few rows together. A value where the rows of its level are is no reason for all that.
            seen_means = normal_score(facts.seen_means[j][levels], facts.bend[q])
            away = np.minimum(np.abs(z[:, q] - facts.level_means[j][levels]), np.abs(z[:, q] - seen_means))
            out[:, at] = known[j][:, None] & (away >= NOISE * np.sqrt(facts.left_by_level[j, q]))
        at = np.flatnonzero((first >= c) & (first == second))
        out[:, at] = np.abs(z[:, first[at] - c]) >= NOISE
        at = np.flatnonzero((first >= c) & (first < second))
        x, y = first[at] - c, second[at] - c
        # What is missing or infinite is not far from anything.
        with np.errstate(invalid="ignore", divide="ignore"):
            residual = (z[:, y] - facts.correlation[x, y] * z[:, x]) / np.sqrt(facts.left[x, y])
        out[:, at] = np.abs(residual) >= NOISE
        return out

    def reason(self, a: int, b: int, rows: Rows, i: int, batch: pa.RecordBatch | None, at: int) -> Reason:
        """Return the reason of row i in columns a <= b (equal: a value alone), which is row `at` of the batch."""
        c = len(self._own)
        codes, numbers = rows.codes[:, i].astype(np.int64), self._numbers(rows)[i]
        places = list(dict.fromkeys((a, b)))
        names = [self._columns[k].name for k in places]
        values = [self._value(k, codes, numbers, batch, at) for k in places]
        phrase = " with ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        columns, shown = " & ".join(names), " & ".join(values)
        if b >= c:
            expected, words = self._number_words(a, b, codes, numbers)
            return Reason(columns, shown, None, expected, f"{phrase}: {words}")
        if a == b:
            if codes[a] == len(self._own[a]):
                return Reason(columns, shown, 0.0, None, f"{phrase}: never seen in {figure(self._weight)} rows")
            seen, even = float(self._own[a][codes[a]]), self._weight / np.count_nonzero(self._own[a])
            return Reason(columns, shown, seen, even, f"{phrase}: seen {_times(seen)} in {figure(self._weight)} rows")
        seen = float(self._together(a, b, codes[[a]], codes[[b]])[0])
        expected = float(self._own[a][codes[a]] * self._own[b][codes[b]] / self._weight)
        return Reason(columns, shown, seen, expected, f"{phrase}: seen {_times(seen)}, expected {figure(expected)}")

    def _number_words(self, a: int, b: int, codes: npt.NDArray, numbers: Array) -> tuple[float, str]:
        c, facts = len(self._own), self._facts
        q = b - c
        mean = float(facts.centre[q] + self._taken[q])
        if a < c and a != b:
            expected = mean + float(facts.scale[q] * facts.seen_means[a][codes[a], q])
            rows = float(facts.seen_rows[a][codes[a], q])
            count = f"{figure(rows)} row" if rows == 1 else f"{figure(rows)} rows"
            if rows == 1 or self._always(a, int(codes[a]), q):
                return expected, f"{count}, always {figure(expected)}"
            return expected, f"expected about {figure(expected)}, the mean of {count}"
        on_scale = self._on_scale(numbers[None])[0]
        if a != b:
            shift = facts.correlation[a - c, q] * on_scale[a - c]
            expected = mean + float(facts.scale[q] * standard_value(shift, facts.bend[q]))
            return expected, f"{self._columns[b].name} expected about {figure(expected)}"
        if q in self._counted:
            return mean, self._rank(q, float(numbers[q]), bool(on_scale[q] > 0))
        side = "above" if on_scale[q] > 0 else "below"
        far = f"{figure(abs(float(on_scale[q])))} standard deviations {side}"
        if facts.bend[q] == 0:
            return mean, f"{far} the mean, {figure(mean)}"
        middle = mean + float(facts.scale[q] * standard_value(np.zeros(1), facts.bend[q])[0])
        return middle, f"{far} the middle, {figure(middle)}, on a logarithmic scale"

    def _rank(self, q: int, value: float, high: bool) -> str:
        """Return how many rows are as far out as a value, for a number whose values are counted."""
        k, values = self._counted[q]
        weights = np.asarray(self._pairs.level_weights[k], dtype=np.float64)
        beyond = float(weights[values >= value if high else values <= value].sum())
        all_rows = figure(float(weights[~np.isnan(values)].sum()))
        than = "higher than all" if high else "lower than all"
        return f"{than} but {figure(beyond)} of {all_rows} rows" if beyond else f"{than} {all_rows} rows"

    def _always(self, a: int, level: int, q: int) -> bool:
        """Whether all rows of a level are known to have one value of a number."""
        if q not in self._counted:
            return False
        k, values = self._counted[q]
        known = np.flatnonzero(~np.isnan(values))
        block = self._pairs.block(self._at[a], k)
        return int(np.count_nonzero(np.asarray(sp.csr_array(block)[[level]].toarray())[0, known])) == 1

    def _on_scale(self, numbers: Array) -> Array:
        return normal_score((numbers - self._facts.centre) / self._facts.scale, self._facts.bend)

    def _together(self, a: int, b: int, left: npt.NDArray, right: npt.NDArray) -> Array:
        """Return how often levels of two columns were seen together."""
        return np.asarray(self._pairs.block(self._at[a], self._at[b])[left, right], dtype=np.float64).reshape(-1)

    def _value(self, k: int, codes: npt.NDArray, numbers: Array, batch: pa.RecordBatch | None, at: int) -> str:
        if k >= len(self._own):
            value = float(numbers[k - len(self._own)])
            return "(missing)" if np.isnan(value) else figure(value + self._taken[k - len(self._own)])
        if codes[k] < len(self._own[k]):
            return self._labels[k][codes[k]]
        assert batch is not None
        value = self._design.labels_in(batch.slice(at, 1), k)
        return label_text(canonical(value)[0].as_py())

    def _numbers(self, rows: Rows) -> Array:
        return np.asarray(rows.dense_numbers, dtype=np.float64)


def _fewer(seen: Array, expected: Array | float) -> npt.NDArray[np.bool_]:
    """Whether counts are below what was expected by more than the noise of a Poisson count."""
    return np.asarray(expected - seen >= NOISE * np.sqrt(expected))


def _times(count: float) -> str:
    return f"{figure(count)} time" if count == 1 else f"{figure(count)} times"


def figure(value: float) -> str:
    """Return a number as people write it.

    Examples
    --------
    >>> figure(1234567.0), figure(45.5), figure(0.04), figure(41.02), figure(999.99)
    ('1,234,567', '45.5', '0.04', '41', '1,000')
    """
    if value == 0 or not np.isfinite(value):
        # 0 and -0 are the same amount.
        return f"{value + 0.0:g}"
    # From 999.5 on three digits would be 1e+03.
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"
