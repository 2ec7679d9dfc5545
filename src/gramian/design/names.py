"""One name per design column: a number's own, and for a level `<column>_<label>`."""

from __future__ import annotations

from collections.abc import Iterable

from gramian.design.labels import Labels
from gramian.design.schema import Column


def names_of_design(columns: Iterable[Column], labels: Iterable[Labels]) -> list[str]:
    """Return the names of the design columns of some columns, those of categories with their labels in order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = [Column("color", "category", "color"), Column("age", "number", "age")]
    >>> names_of_design(columns, [Labels(pa.array(["red", None]))])
    ['color_red', 'color_(missing)', 'age']
    """
    names: list[str] = []
    left = iter(labels)
    for column in columns:
        if column.form == "category":
            names += [f"{column.name}_{label}" for label in next(left).names()]
        else:
            names.append(column.name)
    return disambiguated(names)


def disambiguated(names: list[str]) -> list[str]:
    """Return the names with a number after those that stood before; `a_b` may be a column and a level."""
    if len(set(names)) == len(names):
        return names
    taken, out = set(names), []
    seen: set[str] = set()
    for name in names:
        unique, k = name, 1
        while unique in seen or (k > 1 and unique in taken):
            k += 1
            unique = f"{name} ({k})"
        seen.add(unique)
        out.append(unique)
    return out
