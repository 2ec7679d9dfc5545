"""What is added for levels and pairs of levels, laid out for `kernel`: few look-ups a row, in little memory.

Small columns are fused: a *group* has one code a combination of its columns' levels, one more than there are for unseen
ones. What its columns add among themselves is one table by the code of the group, and what two groups add is one table by
both codes, the sum over the pairs of their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array

Ints = npt.NDArray[np.int64]

FUSED_CODES = (96, 48, 24, 12, 1)
"""Columns are fused while their combinations of levels are at most this many: 96 x 96 cells stay in cache."""

CELLS = 2**22
"""Cells that fusing may lead to; the largest limit that stays within is taken."""

AT_ONCE = 4
"""Look-ups that the kernel makes in one go."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The arguments of `kernel.add_tables` after the codes, in their order.

    Attributes
    ----------
    group_of, group_stride : (c,) arrays
        Each column's group, and its stride in the group's code.
    n_groups : int
        The group of this number has code 0 only.
    first, second, begin, stride : (t,) arrays
        Of each table the two groups, where it begins in `cells`, and the cells a code of the first group has.
    cells : array
        The first is 0: tables that fill up the last quadruple point there.
    """

    group_of: Ints
    group_stride: Ints
    n_groups: int
    first: Ints
    second: Ints
    begin: Ints
    stride: Ints
    cells: Array

    @property
    def arguments(self) -> tuple[object, ...]:
        """The fields, in order."""
        return (
            self.group_of, self.group_stride, self.n_groups, self.first, self.second, self.begin, self.stride, self.cells
        )  # fmt: skip


def lookup_tables(own: Sequence[Array], pairs: Mapping[tuple[int, int], Array], penalty: float) -> Tables:
    """Return the tables for what levels and pairs of levels add.

    Parameters
    ----------
    own : sequence of (levels,) arrays
        What each level adds, a column each.
    pairs : mapping
        `(j, k)`, j < k: what each pair of levels adds, (levels of j, levels of k).
    penalty : float
        What an unseen level adds: its code is the number of levels.
    """
    rooms = np.array([len(by_level) + 1 for by_level in own], np.int64)
    group_of, strides, widths = _groups(rooms, pairs)
    # Which level of each column the codes of its group stand for.
    levels = [np.arange(widths[g]) // s % room for g, s, room in zip(group_of, strides, rooms, strict=True)]
    alone = [np.zeros(width) for width in widths]
    for column, by_level in enumerate(own):
        alone[group_of[column]] += np.append(by_level, penalty)[levels[column]]
    joint: dict[tuple[int, int], Array] = {}
    for (j, k), table in pairs.items():
        g, h = int(group_of[j]), int(group_of[k])
        if g > h:
            j, k, g, h, table = k, j, h, g, table.T
        roomy = np.zeros((rooms[j], rooms[k]))
        roomy[:-1, :-1] = table
        if g == h:
            alone[g] += roomy[levels[j], levels[k]]
            continue
        if widths[g] != rooms[j]:
            roomy = roomy[levels[j]]
        if widths[h] != rooms[k]:
            roomy = roomy[:, levels[k]]
        if (g, h) in joint:
            joint[g, h] += roomy
        else:
            joint[g, h] = roomy
    n_groups = len(widths)
    parts = [(g, n_groups, 1, table) for g, table in enumerate(alone)]
    parts += [(g, h, widths[h], table) for (g, h), table in sorted(joint.items())]
    fill = -len(parts) % AT_ONCE
    begin = np.cumsum([1, *(table.size for *_, table in parts)], dtype=np.int64)
    return Tables(
        group_of,
        strides,
        n_groups,
        np.array([g for g, *_ in parts] + [n_groups] * fill, np.int64),
        np.array([h for _, h, *_ in parts] + [n_groups] * fill, np.int64),
        np.concatenate([begin[:-1], np.zeros(fill, np.int64)]),
        np.array([stride for *_, stride, _ in parts] + [0] * fill, np.int64),
        np.concatenate([[0.0], *(table.ravel() for *_, table in parts)]),
    )


def _groups(rooms: Ints, pairs: Mapping[tuple[int, int], Array]) -> tuple[Ints, Ints, list[int]]:
    """Return each column's group and stride, and the codes of each group, fused as far as memory allows."""
    groups = _fused(rooms, FUSED_CODES[0])
    for limit in FUSED_CODES[1:]:
        group_of, _, widths = groups
        if sum(widths[g] * widths[h] for g, h in {_ordered(group_of, j, k) for j, k in pairs} if g != h) <= CELLS:
            break
        groups = _fused(rooms, limit)
    return groups


def _ordered(group_of: Ints, j: int, k: int) -> tuple[int, int]:
    g, h = int(group_of[j]), int(group_of[k])
    return (g, h) if g < h else (h, g)


def _fused(rooms: Ints, limit: int) -> tuple[Ints, Ints, list[int]]:
    """Return the groups where combinations may be at most `limit`: the smallest columns are fused first."""
    group_of, strides = np.zeros(len(rooms), np.int64), np.ones(len(rooms), np.int64)
    widths: list[int] = []
    for k in np.argsort(rooms, kind="stable").tolist():
        room = int(rooms[k])
        if widths and widths[-1] * room <= limit:
            strides[k] = widths[-1]
            widths[-1] *= room
        else:
            widths.append(room)
        group_of[k] = len(widths) - 1
    return group_of, strides, widths
