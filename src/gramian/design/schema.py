"""The columns of a design: what each source column became, and how it is collected.

A column is collected in one of three *forms*: by level (`category`), by level but read as a number (`integer`: at most
`MAX_INTEGER_LEVELS` distinct values, so nothing is lost by keeping the levels), or as plain sums (`number`). To a user
there are two *kinds*: `integer` and `number` are both numeric.

One name per design column: a number's own, and for a level `<column>_<label>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gramian.caching import cached_property
from gramian.design.labels import Labels
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly, unknown_column

Form = Literal["category", "integer", "number"]
DatePart = Literal["dayofweek", "month", "hour"]

MAX_INTEGER_LEVELS = 64


class Column(NamedTuple):
    """One collected column.

    Attributes
    ----------
    name : str
        The column's own name; for a part of a date, `<origin>_<part>`.
    form : {"category", "integer", "number"}
        How it is collected.
    origin : str
        The source column it was read from.
    part : {"dayofweek", "month", "hour"} or None
        Which part of a date it is.
    target : bool
        Whether it may only be a target, never a feature.
    named : bool
        Whether the user said that it is a category; it is then a feature however many levels it has
        (`gramian.design.identifiers`).
    """

    name: str
    form: Form
    origin: str
    part: DatePart | None = None
    target: bool = False
    named: bool = False

    @property
    def kind(self) -> Literal["categorical", "numeric"]:
        """What the column is to a user."""
        return "categorical" if self.form == "category" else "numeric"

    @property
    def by_level(self) -> bool:
        """Whether its levels are counted (categories and small integers)."""
        return self.form != "number"

    def stored(self) -> dict[str, Any]:
        """Return what a file holds of the column: `named` only where it is, so that earlier versions read the others."""
        return {field: value for field, value in self._asdict().items() if field != "named" or value}


@dataclass(frozen=True)
class Schema:
    """The columns in order; looks names up and says what is nearest when one is not there."""

    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise ColumnError(f"column {column.name!r} appears twice; rename one of them or exclude it")
            seen.add(column.name)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            raise unknown_column(name, self.names, where="these moments") from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """Every column's name, in order."""
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[str]:
        """The names of the columns that are not reserved as targets."""
        return [column.name for column in self.columns if not column.target]

    @cached_property
    def coded(self) -> tuple[str, ...]:
        """The names of the columns whose levels are counted."""
        return tuple([column.name for column in self.columns if column.form != "number"])

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns that are added up as numbers."""
        return tuple([column.name for column in self.columns if column.form == "number"])

    def resolve(self, names: str | Iterable[str]) -> list[str]:
        """Return column names for `names`, where a date's source name stands for its parts.

        Examples
        --------
        >>> schema = Schema((Column("when_month", "category", "when", "month"), Column("age", "number", "age")))
        >>> schema.resolve(["age", "when"])
        ['age', 'when_month']
        """
        asked = [names] if isinstance(names, str) else list(names)
        if asked == self.names:
            return list(self.names)
        resolved: dict[str, None] = {}
        for name in asked:
            # The schema's own text, whatever kind of text was asked with.
            matching = [self[name].name] if name in self else [c.name for c in self.columns if c.origin == name]
            if not matching:
                raise unknown_column(name, self.names, where="these moments")
            for one in matching:
                if one in resolved:
                    raise ColumnError(f"column {one!r} is asked for twice")
                resolved[one] = None
        return list(resolved)

    def take(self, names: Sequence[str]) -> Schema:
        """Return the schema of `names` alone, in that order."""
        return Schema(tuple(self[name] for name in names))

    def with_form(self, names: str | Iterable[str], form: Form) -> Schema:
        """Return the schema with one column, or several, collected in another form."""
        chosen = {names} if isinstance(names, str) else set(names)
        if not chosen:
            return self
        return Schema(tuple(c._replace(form=form) if c.name in chosen else c for c in self.columns))

    def with_named(self, names: Iterable[str], named: bool = True) -> Schema:
        """Return the schema with a note that the user named some columns as categories."""
        chosen = set(names)
        return Schema(tuple(c._replace(named=named) if c.name in chosen else c for c in self.columns))


def reconcile(left: Schema, right: Schema) -> Schema:
    """Return the schema under which two sets of moments can be added, in the left one's order.

    An integer that one side has folded into a number is folded on the other side too. A column that may only be a
    target on one side is one on both.
    """
    missing = [name for name in left.names if name not in right]
    extra = [name for name in right.names if name not in left]
    if missing or extra:
        name, side = (missing[0], "right") if missing else (extra[0], "left")
        raise DataError(
            f"moments of different columns cannot be combined: {name!r} is missing on the {side}; ",
            "take it as missing there with ",
            Call("merge", missing="fill"),
            PythonOnly(", ", Call("select"), " the common columns first"),
            ", or collect both with ",
            Argument("like"),
        )
    right_of = {column.name: column for column in right}
    columns = []
    for mine in left:
        other = right_of[mine.name]
        if mine.kind != other.kind:
            raise DataError(
                f"moments of different kinds cannot be combined: column {mine.name!r} is {mine.kind} on the left "
                f"and {other.kind} on the right; collect both with ",
                Argument("like"),
                PythonOnly(", or use ", Call("as_categorical"), " on both"),
            )
        form: Form = mine.form if mine.form == other.form else "number"
        columns.append(mine._replace(form=form, target=mine.target or other.target, named=mine.named or other.named))
    return Schema(tuple(columns))


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
