"""Which columns are narrow: their mutual counts form one dense matrix, and tables so small that they stay dense."""

from __future__ import annotations

from collections.abc import Sequence

NARROW_LEVELS = 2048
NARROW_TOTAL = 4096
# A block this small stays dense whatever the rows: it costs less than the bookkeeping of a sparse one.
SMALL_CELLS = 2**16


def narrow_columns(n_levels: Sequence[int]) -> tuple[int, ...]:
    """Return the columns whose mutual counts form one dense matrix, in ascending order.

    Columns are taken from the fewest levels up (ties by position) while each has at most 2,048 levels and all of
    them together at most 4,096, so that the matrix of int64 counts takes at most 128 MiB.

    Examples
    --------
    >>> narrow_columns([5, 100_000, 2048, 2])
    (0, 2, 3)
    >>> narrow_columns([2048, 2048, 1])
    (0, 2)
    """
    total, taken = 0, []
    for j in sorted(range(len(n_levels)), key=lambda j: n_levels[j]):
        total += n_levels[j]
        if n_levels[j] > NARROW_LEVELS or total > NARROW_TOTAL:
            break
        taken.append(j)
    return tuple(sorted(taken))
