"""Which pairs of columns have a table of their own, and what is done where they would be too many.

The mutual counts of *narrow* columns form one dense matrix. Every pair with another column has a table of its own, and a
table costs a few hundred bytes and several microseconds whatever it holds, in every operation. A thousand columns of ten levels
make half a million of them. Three rules bound their number:

- Where the first rule (`NARROW_TOTAL`) would leave many pairs apart, columns of a few levels go on into the matrix, up to
  `MANY_TOTAL` levels, 2 GiB.
- Where more than `INTEGER_TABLES` are left, integers are numbers: all those that were to be kept by level beside their sums
  (`crowded`). A table of 24 rows and 1,728 columns of integers would have 700,000 tables, thousands of times its own size. The
  number of tables only grows with levels, so that moments added up and moments of one pass come to the same columns.
- What categories leave beyond `MOST_TABLES` is refused before anything is counted (`refuse_many_tables`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from itertools import accumulate

from gramian.errors import Argument, MemoryLimitError, Message, PythonOnly

_LOG = logging.getLogger("gramian")

NARROW_LEVELS = 2048
NARROW_TOTAL = 4096
# Pairs apart from which on columns of few levels join the matrix, how few those are, and how many levels it then holds.
MANY_TABLES = 2**15
FEW_LEVELS = 16
MANY_TOTAL = 2**14
# Tables of pairs there may be: building and adding so many takes seconds, and half a gigabyte beside their counts.
MOST_TABLES = 2**20
# Tables of pairs from which on integers are collected as numbers: a second of work each time they are added up.
INTEGER_TABLES = 2**18


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


def crowded(integers: Collection[str], n_levels: Sequence[int]) -> bool:
    """Return whether some integers have to become numbers, where the columns by level have so many levels; say so.

    Parameters
    ----------
    integers : collection of str
        The columns of integers that are kept by level, targets left out.
    n_levels : sequence of int
        The levels of every column by level.

    Examples
    --------
    >>> crowded([], [40] * 1000), crowded(["a"], [40] * 500), crowded(["a"], [40] * 1000)
    (False, False, True)
    """
    tables = pairs_apart(len(n_levels), len(narrow_columns(n_levels))) if integers else 0
    if tables <= INTEGER_TABLES:
        return False
    _LOG.info(
        Message(
            f"{len(integers):,} columns of integers are collected as numbers, without counts of their values: the pairs of "
            f"{len(n_levels):,} columns would need {tables:,} tables; name those whose values are labels in ",
            Argument("categorical"),
        )
    )
    return True
