"""Bins of numbers: intervals between edges, and single values with a bin of their own.

A linear method sees a straight line in a number. The bins of the same number, as one more categorical column beside it, let it
see any curve. A value is looked up first among the values with a bin of their own, then among the intervals: with the edges
e_1 < ... < e_m the intervals are (-inf, e_1), [e_1, e_2), ..., [e_m, inf). A missing number is a missing level.

Edges are chosen once and are then part of the schema, so passes over other files, days or sites count the same bins.

*Quantile bins.* Of k bins, each value that more than 1/k of the rows hold gets one of its own (zeros of a mostly empty
column). The other values are cut into intervals of equal counts. Between the largest value below a cut and the smallest above
it the edge is the number with the fewest digits, so that bins can be read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.errors import Argument, DataError, shown
from gramian.parameters import NUMBERS, check, whole

AUTO = 16
"""Bins of a number, unless another count is asked for."""

LEAST_ROWS = 20
"""Rows of the sample that an interval holds at least."""

MOST = 1000
"""Bins of a number at most: more are levels that few rows share."""


@dataclass(frozen=True)
class Bins:
    """Bins of one number.

    Attributes
    ----------
    edges : tuple of float
        Increasing. An interval holds its lower edge and not its upper one.
    own : tuple of float
        Increasing. Values with a bin of their own.

    Examples
    --------
    >>> bins = Bins((18.0, 65.0), own=(0.0,))
    >>> bins.names
    ['(-inf, 18)', '[18, 65)', '[65, inf)', '0']
    >>> bins.of(np.array([17, 18, 0, np.nan])).to_pylist()
    ['(-inf, 18)', '[18, 65)', '0', None]
    """

    edges: tuple[float, ...]
    own: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        """Labels of the intervals, then of the single values."""
        ends = ["(-inf", *(f"[{_shortest(edge)}" for edge in self.edges)]
        stops = [*map(_shortest, self.edges), "inf"]
        return [*(f"{low}, {high})" for low, high in zip(ends, stops, strict=True)), *map(_shortest, self.own)]

    @property
    def valid(self) -> bool:
        """Whether both lists hold finite numbers that increase."""
        each = all(isinstance(values, tuple) for values in (self.edges, self.own))
        return each and all(map(_increasing, (self.edges, self.own)))

    def of(self, values: npt.NDArray[np.float64]) -> pa.DictionaryArray:
        """Return the label of each number's bin, null where it is NaN."""
        codes = np.searchsorted(self.edges, values, side="right").astype(np.int32)
        if self.own:
            place = np.minimum(np.searchsorted(self.own, values), len(self.own) - 1)
            own = np.asarray(self.own)[place] == values
            codes[own] = len(self.edges) + 1 + place[own]
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=np.isnan(values)), pa.array(self.names))

    def stored(self) -> dict[str, list[float]]:
        """Return the bins as JSON."""
        return {"edges": list(self.edges), "own": list(self.own)}

    @classmethod
    def restored(cls, description: Mapping[str, Any]) -> Bins:
        """Return bins that were stored."""
        return cls(**{name: tuple(values) for name, values in description.items()})


def _increasing(values: Sequence[float]) -> bool:
    finite = all(isinstance(value, float) and math.isfinite(value) for value in values)
    return finite and all(low < high for low, high in pairwise(values))


def _shortest(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def quantile_bins(values: npt.NDArray[np.float64], most: int = AUTO, *, least: int = 3) -> Bins | None:
    """Return at most so many bins of a sample of numbers, None where it holds fewer than `least` values.

    Examples
    --------
    >>> quantile_bins(np.append(np.zeros(500), np.arange(1.0, 101)), 5)
    Bins(edges=(26.0, 51.0, 76.0), own=(0.0,))
    """
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(distinct) < least:
        # Two values are told apart by the number itself; crosses need them all the same.
        return None
    if len(distinct) <= most:
        return Bins((), tuple(map(float, distinct)))
    frequent = counts > counts.sum() / most
    own, rest, of_rest = distinct[frequent], distinct[~frequent], counts[~frequent]
    below = np.cumsum(of_rest)
    n_intervals = max(1, min(most - len(own), int(below[-1]) // LEAST_ROWS))
    cuts = np.searchsorted(below, below[-1] * np.arange(1, n_intervals) / n_intervals)
    pairs = sorted({int(cut) for cut in cuts if cut + 1 < len(rest)})
    edges = tuple(_fewest_digits(float(rest[cut]), float(rest[cut + 1])) for cut in pairs)
    return Bins(edges, tuple(map(float, own)))


def _fewest_digits(low: float, high: float) -> float:
    """Return the number above `low`, at most `high`, with the fewest decimal digits.

    Examples
    --------
    >>> _fewest_digits(17.23, 18.71), _fewest_digits(-0.031, 0.02), _fewest_digits(99.0, 100.0)
    (18.0, 0.0, 100.0)
    """
    if low < 0 <= high:
        return 0.0
    for exponent in range(math.floor(math.log10(max(abs(low), abs(high)))), -324, -1):
        # As text, so that the result is the float nearest to the decimal number.
        steps = math.floor(high / 10.0**exponent)
        nearby = (float(f"{steps + k}e{exponent}") for k in (0, -1, 1))
        found = next((each for each in nearby if low < each <= high), None)
        if found is not None:
            return found
    return high


def check_bins(bins: Any) -> None:
    """Raise where `bins` is not None, "auto", a number of bins, or one of these or edges per column."""
    check("bins", None if isinstance(bins, Mapping) else bins, None, "auto", whole(2, MOST))
    for name, each in bins.items() if isinstance(bins, Mapping) else ():
        check(f"bins[{name!r}]", each, "auto", whole(2, MOST), NUMBERS)


def bins_for(asked: Any, sample: npt.NDArray[np.float64] | None, *, name: str) -> Bins | None:
    """Return the bins of a column: with the edges that are asked for, or of a sample of its values."""
    if isinstance(asked, str | int | np.integer):
        assert sample is not None
        return quantile_bins(sample, AUTO if isinstance(asked, str) else int(asked))
    found = Bins(tuple(float(edge) for edge in asked))
    if not found.edges or not found.valid:
        raise DataError(
            Argument("bins"), f": the edges of column {name!r} must be finite numbers that increase; got {shown(asked)}"
        )
    return found
