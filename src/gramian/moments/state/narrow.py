"""Which columns are narrow: their mutual counts form one dense matrix, and tables so small that they stay dense.

Every pair with a column that is not narrow has a table of its own, and a table costs a few hundred bytes and several
microseconds whatever it holds, in every operation. A thousand columns of ten levels make half a million of them. So where the
first rule (`NARROW_TOTAL`) would leave many pairs apart, columns of a few levels go on into the matrix, up to `MANY_TOTAL`
levels, 2 GiB. What is left after that is bounded too: `refuse_many_tables` says so before anything is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from gramian.errors import Argument, MemoryLimitError, PythonOnly

NARROW_LEVELS = 2048
NARROW_TOTAL = 4096
# Pairs apart from which on columns of few levels join the matrix, how few those are, and how many levels it then holds.
MANY_TABLES = 2**15
FEW_LEVELS = 16
MANY_TOTAL = 2**14
# Tables of pairs there may be: building and adding so many takes seconds, and half a gigabyte beside their counts.
MOST_TABLES = 2**20
# A block this small stays dense whatever the rows: it costs less than the bookkeeping of a sparse one.
SMALL_CELLS = 2**16


def narrow_columns(n_levels: Sequence[int]) -> tuple[int, ...]:
    """Return the columns whose mutual counts form one dense matrix, in ascending order.

    Columns are taken from the fewest levels up (ties by position) while each has at most 2,048 levels and all of
    them together at most 4,096, so that the matrix of int64 counts takes at most 128 MiB. Where more than 32,768 pairs would
    be left apart, further columns of at most 16 levels are taken, while all together have at most 16,384.

    Examples
    --------
    >>> narrow_columns([5, 100_000, 2048, 2])
    (0, 2, 3)
    >>> narrow_columns([2048, 2048, 1])
    (0, 2)
    >>> len(narrow_columns([8] * 600)), len(narrow_columns([32] * 600))
    (600, 128)
    """
    order = sorted(range(len(n_levels)), key=n_levels.__getitem__)
    totals = list(accumulate(n_levels[j] for j in order))

    def fitting(start: int, most: int, together: int) -> int:
        end = start
        while end < len(order) and n_levels[order[end]] <= most and totals[end] <= together:
            end += 1
        return end

    count = fitting(0, NARROW_LEVELS, NARROW_TOTAL)
    if pairs_apart(len(order), count) > MANY_TABLES:
        count = fitting(count, FEW_LEVELS, MANY_TOTAL)
    return tuple(sorted(order[:count]))


def pairs_apart(n_columns: int, n_narrow: int) -> int:
    """Return how many pairs of columns have a table of their own.

    Examples
    --------
    >>> pairs_apart(5, 3)
    7
    """
    return (n_columns * (n_columns - 1) - n_narrow * (n_narrow - 1)) // 2


def refuse_many_tables(n_levels: Sequence[int]) -> None:
    """Raise before columns with so many levels are counted or added up, where too many pairs would have tables of their own."""
    tables = pairs_apart(len(n_levels), len(narrow_columns(n_levels)))
    if tables > MOST_TABLES:
        raise MemoryLimitError(
            f"the pairs of {len(n_levels):,} columns that are counted by level need {tables:,} tables of their own, and at "
            f"most {MOST_TABLES:,} are made; leave columns out with ",
            Argument("exclude"),
            PythonOnly(" or ", Argument("columns")),
            ", or name integers that are only numbers in ",
            Argument("numeric"),
        )
