"""Whether what a subtraction leaves can be the moments of any rows.

Over the columns z = [1, levels, d, u] of n rows of weights w (d and u as in `gramian.moments.state.numbers`), the moments are
M = sum_i w_i z_i z_i^T. So M is positive semi-definite and of rank n at most, counts are not negative, what is missing is
not more than there is, and sums over no rows are zero. Counts are checked cell by cell where they are subtracted; the rest is
here. For a category of level weights n_l and sums T_l, a Schur complement turns M >= 0 into

    Q - sum_l T_l T_l^T / n_l >= 0,        Q = C + s s^T / W:

the numbers cannot vary between levels more than they vary at all. Where columns are few, all of M is checked, and its rank
where rows are fewer; where they are many, blocks of it, so that the cost stays near that of the subtraction.

*Tolerance.* A sum of n terms is off by at most n eps of the sum of their sizes. So with r_j the second moment of number j
about its anchor (and the weight, for 1, levels and u) the error of M_jk is below (n eps) sqrt(r_j r_k), and M, divided by
these roots, is off by less than `slack` = 1e-9 + n eps: what is refused has an eigenvalue below -slack, which rounding
cannot reach. Rounding stays when what caused it is gone: `Peak` is the largest r_j that went into the moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import row_blocks
from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.errors import DataError

if TYPE_CHECKING:
    from gramian.moments.state.numbers import Numbers
    from gramian.moments.value import Moments


JOINT_COLUMNS = 512
"""Up to so many columns all of M is checked, in some milliseconds."""
NUMBER_BLOCK = 1024
"""Of more numbers so many are checked together, and beyond every pair."""
WITHIN_BLOCK = 128
"""Within the levels of a category so many numbers are checked together: there may be many categories."""


@dataclass(frozen=True)
class Peak:
    """The largest sums that subtraction has taken moments through: their rounding is still there.

    Attributes
    ----------
    rows : int
    weight : float
    squares : mapping
        By number: its second moment about the anchor.
    """

    rows: int = 0
    weight: float = 0.0
    squares: Mapping[str, float] = field(default_factory=dict)

    def __or__(self, other: Peak) -> Peak:
        """Return the larger of each."""
        names = {**self.squares, **other.squares}
        squares = {name: max(self.squares.get(name, 0.0), other.squares.get(name, 0.0)) for name in names}
        return Peak(max(self.rows, other.rows), max(self.weight, other.weight), squares)

    def scale(self, factor: float) -> Peak:
        """Return the peak of moments whose weights are multiplied."""
        return Peak(self.rows, self.weight * factor, {name: s * factor for name, s in self.squares.items()})

    @property
    def slack(self) -> float:
        """Share of the scale that rounding cannot reach."""
        return 1e-9 + np.finfo(np.float64).eps * self.rows

    def rounding(self, numbers: Numbers) -> Array:
        """Return of each extended column the root of the size of rounding in its scatter: a random walk of `rows` steps."""
        own = [self.squares.get(name, 0.0) for name in numbers.names]
        scale = np.array([*own, *[self.weight] * len(numbers.missing)])
        return np.sqrt(4 * np.finfo(np.float64).eps * np.sqrt(max(self.rows, 64)) * scale)


def peak_of(moments: Moments) -> Peak:
    """Return the largest sums that went into some moments, those that are there now included."""
    weight, numbers = float(moments.total_weight), moments.numbers
    p = len(numbers.names)
    squares = numbers.diagonal()[:p]
    if weight > 0:
        squares = squares + np.square(numbers.sums[:p]) / weight
    return moments.peak | Peak(moments.n_rows, weight, dict(zip(numbers.names, squares.tolist(), strict=True)))


def refuse_impossible(rest: Moments, peak: Peak) -> None:
    """Raise where a difference cannot be the moments of rows; it is as subtraction leaves it, rounding and all.

    Parameters
    ----------
    rest : Moments
        With every level of the whole, also those without rows.
    peak : Peak
        Of the whole and the part.
    """
    if not peak.weight > 0:
        return
    remains = _Remains(rest, peak)
    remains.check_weights()
    remains.check_missing()
    # Matrices this small gain nothing from threads that wait for each other.
    with one_blas_thread(of_scipy=False):
        if rest.numbers.names:
            remains.check_spreads()
            remains.check_sums_by_level()
        if remains.width <= JOINT_COLUMNS:
            remains.check_joint()
        elif rest.numbers.names:
            remains.check_pairs_of_numbers()
            remains.check_blocks()


class _Remains:
    """A difference, and the scale of its rounding."""

    def __init__(self, rest: Moments, peak: Peak) -> None:
        self.rest, self.slack, self.heaviest = rest, peak.slack, peak.weight
        self.heavy = self.slack * peak.weight
        numbers = rest.numbers
        self.numbers, self.p = numbers, len(numbers.names)
        self.owner = [*numbers.names, *(numbers.names[j] for j in numbers.missing)]
        own = np.array([peak.squares.get(name, 0.0) for name in numbers.names])
        # Smaller squares round to multiples of the smallest double, whatever their size.
        own = np.where(own > 0, np.maximum(own, 1e-290), 0.0)
        self.scale = np.concatenate([own, np.full(len(numbers.missing), peak.weight)])
        self.root = np.sqrt(np.where(self.scale > 0, self.scale, 1.0))
        self.scatter = numbers.dense()
        self.left = float(rest.total_weight)
        self.width = 1 + sum(rest.pairs.sizes) + numbers.n_extended

    def _second(self, at: slice = slice(None)) -> Array:
        """Return Q of some numbers, about their anchors."""
        sums = self.numbers.sums[at]
        out = self.scatter[at, at]
        return out + np.outer(sums, sums / self.left) if self.left > 0 else out

    def _level(self, k: int, level: int) -> str:
        return f"{self.rest.coded[k]!r} = {self.rest.labels[k].to_list()[level]!r}"

    def check_weights(self) -> None:
        pairs = self.rest.pairs
        for k, (rows, weights) in enumerate(zip(pairs.level_rows, pairs.level_weights, strict=True)):
            wrong = np.flatnonzero((weights < -self.heavy) | ((rows == 0) & (weights > self.heavy)))
            if len(wrong):
                raise DataError(
                    f"cannot subtract: the weight of {self._level(k, int(wrong[0]))} in the part does not fit the whole's"
                )

    def check_missing(self) -> None:
        gaps = self.numbers.sums[self.p :]
        for kind, wrong in (("missing", gaps < -self.heavy), ("observed", gaps > self.left + self.heavy)):
            self._refuse_first(wrong, f"is {kind} more often in the part than in the whole")
        for k, weights in enumerate(self.rest.pairs.level_weights):
            gone = self.rest.sums[k][:, self.p :]
            for kind, bad in (("missing", gone < -self.heavy), ("observed", gone > weights[:, None] + self.heavy)):
                if bad.any():
                    level, j = map(int, np.argwhere(bad)[0])
                    name = self.owner[self.p + j]
                    raise DataError(
                        f"cannot subtract: column {name!r} is {kind} more often in the part than in the whole where "
                        f"{self._level(k, level)}"
                    )

    def _refuse_first(self, wrong: npt.NDArray[np.bool_], why: str, offset: int | None = None) -> None:
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0]) + (self.p if offset is None else offset)
            raise DataError(f"cannot subtract: column {self.owner[at]!r} {why}")

    def check_spreads(self) -> None:
        """Squares are not negative, and zero where nothing is observed or one row is left."""
        spread = np.diagonal(self.scatter)
        self._refuse_first(spread < -self.slack * self.scale, "varies more in the part than in the whole", 0)
        empty = self.numbers.observed(self.left) <= self.heavy if self.left > 0 else np.ones(self.p, dtype=bool)
        second = np.diagonal(self._second())[: self.p]
        sums = np.abs(self.numbers.sums[: self.p])
        wrong = (second > self.slack * self.scale[: self.p]) | (
            sums > self.slack * np.sqrt(self.heaviest) * self.root[: self.p]
        )
        self._refuse_first(empty & wrong, "has other values in the part than in the whole", 0)
        if self.rest.n_rows <= 1:
            self._refuse_first(spread > self.slack * self.scale, "would still vary, and one row is left", 0)

    def check_sums_by_level(self) -> None:
        """Sums over no rows are zero, and numbers vary between levels no more than at all."""
        limit = np.diagonal(self._second()) + self.slack * self.scale
        near_nothing, pairs = self.slack * np.sqrt(self.heaviest) * self.root, self.rest.pairs
        for k, (rows, weights) in enumerate(zip(pairs.level_rows, pairs.level_weights, strict=True)):
            sums = self.rest.sums[k]
            wrong = (rows == 0)[:, None] & (np.abs(sums) > near_nothing)
            if wrong.any():
                level, j = map(int, np.argwhere(wrong)[0])
                raise DataError(
                    f"cannot subtract: no row is left with {self._level(k, level)}, and the part's column "
                    f"{self.owner[j]!r} adds up to something else there than the whole's"
                )
            between = (np.square(sums) / self._weights(weights)[:, None]).sum(axis=0)
            if (between > limit).any():
                j = int(np.argmax((between - limit) / np.square(self.root)))
                self._refuse_together([self.owner[j], self.rest.coded[k]])

    def _weights(self, weights: npt.NDArray) -> Array:
        return np.maximum(np.asarray(weights, dtype=np.float64), 0.0) + self.heavy

    def check_joint(self) -> None:
        """All of M, and its rank where rows are few."""
        pairs, numbers = self.rest.pairs, self.numbers
        levels = np.concatenate([[self.left], *pairs.level_weights]).astype(np.float64)
        a = len(levels)
        whole = np.empty((self.width, self.width))
        whole[0, :a] = whole[:a, 0] = levels
        whole[1:a, 1:a] = pairs.matrix
        whole[:a, a:] = np.concatenate([numbers.sums[None], *self.rest.sums])
        whole[a:, :a] = whole[:a, a:].T
        whole[a:, a:] = self._second()
        root = np.concatenate([np.full(a, np.sqrt(self.heaviest)), self.root])
        names = [name for name, size in zip(self.rest.coded, pairs.sizes, strict=True) for _ in range(size)]
        self._refuse_negative(whole, root, ["", *names, *self.owner], self.rest.n_rows)

    def check_pairs_of_numbers(self) -> None:
        """No covariance above the product of the spreads."""
        bound = np.sqrt(np.maximum(np.diagonal(self.scatter), 0.0) + self.slack * self.scale)
        for tile in row_blocks(self.scatter, 2**22):
            over = np.abs(self.scatter[tile]) - np.outer(bound[tile], bound)
            over -= self.slack * np.outer(self.root[tile], self.root)
            if (over > 0).any():
                i, j = map(int, np.argwhere(over > 0)[0])
                self._refuse_together([self.owner[i + tile.start], self.owner[j]])

    def check_blocks(self) -> None:
        """Numbers among each other, and within the levels of each category."""
        q = self.numbers.n_extended
        for at in _stretches(q, NUMBER_BLOCK):
            self._refuse_negative(self.scatter[at, at], self.root[at], self.owner[at])
        for at in _stretches(q, WITHIN_BLOCK):
            second = self._second(at)
            for k, weights in enumerate(self.rest.pairs.level_weights):
                sums = self.rest.sums[k][:, at]
                within = second - (sums / self._weights(weights)[:, None]).T @ sums
                self._refuse_negative(within, self.root[at], self.owner[at], beside=self.rest.coded[k])

    def _refuse_negative(
        self, matrix: Array, root: Array, owner: list[str], rank: int | None = None, beside: str | None = None
    ) -> None:
        """Raise where a matrix has an eigenvalue below 0, or more than `rank` above, by more than rounding."""
        n = len(matrix)
        if not n:
            return
        scaled = matrix / root / root[:, None]
        few = rank is not None and rank < n
        if not few:
            try:
                np.linalg.cholesky(scaled + self.slack * np.eye(n))
                return
            except np.linalg.LinAlgError:
                pass
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
        if values[0] < -self.slack:
            share = np.square(vectors[:, 0])
            totals: dict[str, float] = {}
            for name, part in zip(owner, share.tolist(), strict=True):
                if name:
                    totals[name] = totals.get(name, 0.0) + part
            names = sorted(totals, key=lambda name: -totals[name])
            # The columns in which the impossible direction lies, two at least.
            above = [name for name in names if totals[name] > 0.05][:4]
            self._refuse_together([*(above if len(above) > 1 else names[:2]), *([beside] if beside else [])])
        if rank is not None and few and values[n - 1 - rank] > self.slack:
            raise DataError(
                f"cannot subtract: {rank} {'row is' if rank == 1 else 'rows are'} left, and what would be left of the columns "
                f"is more than so few rows can hold: the part is of other rows than the whole"
            )

    def _refuse_together(self, names: list[str]) -> None:
        known = list(dict.fromkeys(names))
        which = (
            f"column {known[0]!r} goes" if len(known) == 1 else f"columns {' and '.join(map(repr, known))} go together"
        )
        raise DataError(f"cannot subtract: {which} in the part in a way that no rows of the whole do")


def _stretches(n: int, length: int) -> list[slice]:
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]
