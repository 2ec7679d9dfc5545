"""What levels say about each other, laid out for `surprise_kernels`: few look-ups a row, in little memory."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

FUSED_CODES = 96
"""Columns are fused while their combinations of levels are at most this many: the table they need stays in cache."""


def lookup_tables(
    table: npt.NDArray[np.float64], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> tuple[Any, ...]:
    """Return what the kernel looks up, in the order of its arguments.

    Parameters
    ----------
    table : (s, s) array
        What the level in a slot (column) says about the level in a slot (row).
    starts, sizes : (c,) arrays
        First slot and number of levels of each column; one slot more is for its unseen levels.

    Returns
    -------
    group_of, strides : (c,) arrays
        Each column's group, and its stride in the group's code.
    group_starts : (g,) array
        First code of each group.
    asked : (c, g) bool array
        Whether the group says anything about the column by `said`.
    said : (s, w) array
        What a code of a group says about the level in a slot.
    pairs : (k, 2) array
        Pairs of columns a < b that are alone in their groups.
    pair_starts : (k,) array
        Where the pair begins in `both_ways`.
    both_ways : array
        For each level of a and each level of b, what b's says about a's and what a's says about b's.
    """
    rooms = sizes + 1
    group_of, strides, widths = _groups(rooms)
    group_starts = np.cumsum([0, *widths[:-1]]).astype(np.int64)
    alone = np.bincount(group_of, minlength=len(widths))[group_of] == 1
    # Columns that are alone are asked through `pairs`, but for what a level says about itself.
    asked = ~(alone[:, None] & _by_group(alone, group_of, len(widths))[None, :])
    asked[np.arange(len(sizes)), group_of] = True
    said = np.zeros((len(table), sum(widths)))
    spans = [slice(start, start + room) for start, room in zip(starts, rooms, strict=True)]
    for k, (span, group) in enumerate(zip(spans, group_of, strict=True)):
        levels = np.arange(widths[group]) // strides[k] % rooms[k]
        codes = slice(group_starts[group], group_starts[group] + widths[group])
        for j in np.flatnonzero(asked[:, group]):
            said[spans[j], codes] += table[spans[j], span][:, levels]
    pairs = np.array(list(combinations(np.flatnonzero(alone).tolist(), 2)), np.int64).reshape(-1, 2)
    ends = np.cumsum([0, *(2 * rooms[pairs[:, 0]] * rooms[pairs[:, 1]])]).astype(np.int64)
    both_ways = np.zeros(int(ends[-1]))
    for (a, b), (start, stop) in zip(pairs, pairwise(ends), strict=True):
        cells = both_ways[start:stop].reshape(rooms[a], rooms[b], 2)
        cells[:, :, 0] = table[spans[a], spans[b]]
        cells[:, :, 1] = table[spans[b], spans[a]].T
    return group_of, strides, group_starts, asked, said, pairs, ends[:-1].copy(), both_ways


def _groups(rooms: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[int]]:
    """Return each column's group and stride, and the codes of each group: neighbours are fused while they are small."""
    group_of: list[int] = []
    strides: list[int] = []
    widths: list[int] = []
    for room in rooms.tolist():
        if widths and widths[-1] * room <= FUSED_CODES:
            strides.append(widths[-1])
            widths[-1] *= room
        else:
            strides.append(1)
            widths.append(room)
        group_of.append(len(widths) - 1)
    return np.array(group_of, np.int64), np.array(strides, np.int64), widths


def _by_group(alone: npt.NDArray[np.bool_], group_of: npt.NDArray[np.int64], n_groups: int) -> npt.NDArray[np.bool_]:
    """Return for each group whether it is one column."""
    out = np.zeros(n_groups, bool)
    out[group_of] = alone
    return out
