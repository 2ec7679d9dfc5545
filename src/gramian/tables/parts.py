"""How many rows the parts of a table have, as far as that is known, and where among them a row lies."""

from __future__ import annotations

from collections.abc import Sequence


class PartRows:
    """The rows of files, or other parts, read one after the other; a text file's are known once it has been read.

    Parameters
    ----------
    n_rows : sequence of int or None
        Rows of each part, None where not known.

    Examples
    --------
    >>> parts = PartRows([3, None, None])
    >>> parts.place(5)
    (1, 2)
    >>> parts.note(1, 2)
    >>> parts.place(5), parts.up_to(4)
    ((2, 0), [3])
    """

    def __init__(self, n_rows: Sequence[int | None]) -> None:
        self._n_rows = list(n_rows)

    def place(self, row: int) -> tuple[int, int]:
        """Return the part to begin with in order to come to a row, and how many of its rows lie before that row."""
        part = 0
        for n in self._n_rows:
            if n is None or n > row:
                break
            row -= n
            part += 1
        return part, row

    def note(self, part: int, n_rows: int) -> None:
        """Note the rows of a part that has been read to its end."""
        self._n_rows[part] = n_rows

    def up_to(self, row: int) -> list[int]:
        """Return the rows of the parts that end by a row."""
        part, _ = self.place(row)
        return [n for n in self._n_rows[:part] if n is not None]

    @property
    def total(self) -> int | None:
        """Rows of all parts, None where not known."""
        known = [n for n in self._n_rows if n is not None]
        return sum(known) if len(known) == len(self._n_rows) else None
