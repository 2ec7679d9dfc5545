"""What levels say about each other, laid out for `surprise_kernels`: few look-ups a row, in little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FUSED_CODES = 96
"""Columns are fused while their combinations of levels are at most this many: the table they need stays in cache."""

AT_ONCE = 4
"""Look-ups that the kernel makes in one go."""

OWN, NOTHING = 0, 1
"""Cells in front of each row of the table: what a level says about itself, and 0."""


def lookup_tables(
    table: Array, number_table: Array, factors: Array, sizes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[Any], ...]:
    """Return what the kernel looks up, in the order of its arguments.

    Parameters
    ----------
    table, number_table, factors : arrays
        As `gramian.maps.pair_surprise.PairSurprise` has them: by slot, the last one that of unseen levels.
    sizes : (c,) array
        Number of levels of each column.

    Returns
    -------
    sizes : (c,) array
        As given: the code of an unseen level.
    group_of, strides : (c,) arrays
        Each column's group, and its stride in the group's code.
    first_codes : (g + 2,) array
        First code of each group, then the codes `OWN` and `NOTHING`, which every row has.
    asked : (c, m) array
        The groups that say something about the column: all but its own where it is alone there, `OWN` instead. m is a
        multiple of `AT_ONCE`.
    begins, widths : (c,) arrays
        Where the column's part of `cells` begins, and how many cells each of its levels has.
    cells : array
        What each code of a group says about each level.
    starts : (c,) array
        First row of each column in the next two, which have one for the unseen level of each.
    number_table, factors : arrays
        What the numbers say about each level, and the weight of its surprise.
    """
    rooms = sizes + 1
    group_of, strides, group_widths = _groups(rooms)
    n_groups = len(group_widths)
    first_codes = np.cumsum([NOTHING + 1, *group_widths]).astype(np.int64)
    alone = np.bincount(group_of, minlength=n_groups)[group_of] == 1
    asked = np.full((len(sizes), -(-n_groups // AT_ONCE) * AT_ONCE), n_groups + NOTHING, np.int64)
    asked[:, :n_groups] = np.arange(n_groups)
    asked[alone, group_of[alone]] = n_groups + OWN
    # Of the widest group, the last one, a column that is all of it needs nothing.
    widths = np.where(alone & (group_of == n_groups - 1), first_codes[-2], first_codes[-1])
    ends = np.cumsum(rooms * widths)
    begins = ends - rooms * widths
    # Unseen levels say nothing, and nothing is said about them.
    cells = np.zeros(int(ends[-1]))
    spans = [slice(stop - size, stop) for stop, size in zip(np.cumsum(sizes), sizes, strict=True)]
    for j in range(len(sizes)):
        said = cells[begins[j] : ends[j]].reshape(rooms[j], widths[j])[:-1]
        if alone[j]:
            said[:, OWN] = np.diagonal(table[spans[j], spans[j]])
        for k, group in enumerate(group_of):
            if alone[j] and k == j:
                continue
            by_group = said[:, first_codes[group] : first_codes[group + 1]]
            if strides[k] == 1 and group_widths[group] == rooms[k]:
                by_group[:, :-1] = table[spans[j], spans[k]]
                continue
            levels = np.arange(group_widths[group]) // strides[k] % rooms[k]
            seen = levels < sizes[k]
            by_group[:, seen] += table[spans[j], spans[k]][:, levels[seen]]
    by_room = np.concatenate([np.append(np.arange(span.start, span.stop), len(factors) - 1) for span in spans])
    return (
        sizes, group_of, strides, np.append(first_codes[:-1], [OWN, NOTHING]), asked, begins, widths, cells,
        np.cumsum(rooms) - rooms, number_table[by_room], factors[by_room],
    )  # fmt: skip


def _groups(rooms: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[int]]:
    """Return each column's group and stride, and the codes of each group: the smallest columns are fused first."""
    group_of, strides = np.zeros(len(rooms), np.int64), np.ones(len(rooms), np.int64)
    widths: list[int] = []
    for k in np.argsort(rooms, kind="stable").tolist():
        room = int(rooms[k])
        if widths and widths[-1] * room <= FUSED_CODES:
            strides[k] = widths[-1]
            widths[-1] *= room
        else:
            widths.append(room)
        group_of[k] = len(widths) - 1
    return group_of, strides, widths
