"""`to_polars`: a fitted model as expressions of polars, for eager frames, lazy plans and streams.

A vector is a list of expressions, one per entry. polars computes what several of them share once, in a plan of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, optional
from gramian.exports.description import Category, Codes, Description, Language, Number, described, written
from gramian.maps.formula import EXP_END, Choose, Function

Vector = list[Any]

MOST = 200_000
"""Parts of all expressions together: polars writes what is shared as often as it is used, before it shares it."""


def to_polars(model: Any, method: str = "transform") -> list[Any]:
    """Return what a fitted model gives as expressions of polars, one per output.

    Null and NaN are missing, and a level never seen adds nothing, as in `transform`. An infinite number raises in Python and
    is not defined here.

    Parameters
    ----------
    model : fitted estimator
        As in `to_sql`.
    method : str
        `"transform"`, `"predict"`, `"predict_proba"`, `"decision_function"`, `"anomaly_score"` or `"score_samples"`.

    Returns
    -------
    list of polars.Expr
        Named as the outputs: `frame.select(gm.to_polars(model))`, `plan.with_columns(gm.to_polars(model))`.

    See Also
    --------
    to_sql, to_onnx : other languages.
    check_export : whether they say the same.

    Examples
    --------
    >>> import gramian as gm
    >>> import polars as pl
    >>> rows = pl.DataFrame({"city": ["Bonn", "Kiel", "Bonn", None], "rent": [510.0, 640.0, 930.0, 700.0]})
    >>> model = gm.Ridge(alpha=0).fit(rows, "rent")
    >>> rows.select(gm.to_polars(model, "predict"))["prediction"].round(1).to_list()
    [720.0, 640.0, 720.0, 700.0]
    """
    pl = optional("polars", "to_polars", "polars", extra="exports")
    description = described(model, method)
    if description.formula is None:
        return [pl.col(name) for name in description.names]
    language = _Expressions(description, pl)
    found = written(language, description.formula)
    return [entry.alias(name) for entry, name in zip(found, description.names, strict=True)]


class _Expressions(Language[Vector]):
    def __init__(self, description: Description, pl: Any) -> None:
        super().__init__(description)
        self._pl = pl
        self._parts = 0

    def by_level(self, category: int, table: Array) -> Vector:
        known = self._description.categories[category]
        if known.edges is not None or known.sides is not None:
            code = self._code(category)
            cells = list(range(known.unseen))
            return [self._replaced(code, cells, column[:-1], column[-1], self._pl.Float64) for column in table.T]
        key = self._key(category)
        return [self._by_key(key, known, column, self._pl.Float64) for column in table.T]

    def by_pair(self, first: int, second: int, table: Array) -> Vector:
        rows, columns = np.nonzero(table)
        return self.by_seen_pair(first, second, rows, columns, table[rows, columns])

    def by_seen_pair(self, first: int, second: int, rows: Codes, columns: Codes, values: Array) -> Vector:
        return [self._by_cell((first, second), (rows, columns), values, 0.0, self._pl.Float64)]

    def _by_cell(
        self, sides: tuple[int, int], cells: tuple[Codes, Codes], values: Any, otherwise: Any, kind: Any
    ) -> Any:
        """Return the value of a pair of codes, `otherwise` of one that is not listed."""
        width = self._description.categories[sides[1]].unseen + 1
        cell = self._code(sides[0]) * width + self._code(sides[1])
        return self._replaced(cell, (cells[0] * width + cells[1]).tolist(), values, otherwise, kind)

    def number(self, number: Number) -> Vector:
        column = self._pl.col(number.origin)
        value = (column - int(number.offset) if number.offset else column).cast(self._pl.Float64).fill_nan(None)
        return [value.log() if number.logarithm else value]

    def total(self, values: list[Vector], offset: Array) -> Vector:
        out = []
        for k, constant in enumerate(offset):
            terms = [value[k] for value in values]
            out.append(self._summed([*terms, self._pl.lit(float(constant), dtype=self._pl.Float64)]))
        return out

    def product(self, value: Vector, matrix: Array) -> Vector:
        out = []
        for column in matrix.T:
            terms = [entry * float(weight) for entry, weight in zip(value, column, strict=True) if weight != 0]
            out.append(self._summed(terms) if terms else self._pl.lit(0.0))
        return out

    def pick(self, value: Vector, places: Codes) -> Vector:
        return [value[place] for place in places]

    def join(self, values: list[Vector]) -> Vector:
        return [entry for value in values for entry in value]

    def combine(self, sign: str, left: Any, right: Any) -> Vector:
        a, b = self._aligned(left, right)
        function = {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}[sign]
        return [getattr(x, function)(y) for x, y in zip(a, b, strict=True)]

    def log(self, value: Vector) -> Vector:
        return [entry.log() for entry in value]

    def where(self, left: Vector, least: Any, above: Any, below: Any) -> Vector:
        parts = zip(*self._aligned(left, least, above, below), strict=True)
        return [self._pl.when(x > y).then(u).otherwise(v) for x, y, u, v in parts]

    def filled(self, value: Vector) -> Vector:
        return [entry.fill_null(0.0) for entry in value]

    def apply(self, function: Function, value: Vector) -> Vector:
        pl = self._pl
        if function == "softmax":
            top = pl.max_horizontal(value)
            value = [(entry - top).exp() for entry in value]
        if function in ("softmax", "proportion"):
            self._count(len(value) ** 2)
            return [entry / pl.sum_horizontal(value) for entry in value]
        functions = {
            "tanh": lambda x: x.tanh(),
            "sigmoid": lambda x: 1.0 / (1.0 + (-x).exp()),
            "relu": lambda x: x.clip(lower_bound=0.0),
            "step": lambda x: (x >= 0).cast(pl.Float64),
            "cos": lambda x: x.cos(),
            "exp": lambda x: x.clip(-EXP_END, EXP_END).exp(),
            "share": lambda x: x.clip(0.0, 1.0),
        }
        return [functions[function](entry) for entry in value]

    def choose(self, value: Vector, step: Choose) -> Vector:
        pl, labels = self._pl, [self._pl.lit(label) for label in step.classes.tolist()]
        if len(value) == 1:
            second = value[0] >= 0 if step.at_least else value[0] > 0
            return [pl.when(second).then(labels[1]).otherwise(labels[0])]
        self._count(len(value) ** 2)
        top, out = pl.max_horizontal(value), labels[-1]
        for entry, label in zip(value[-2::-1], labels[-2::-1], strict=True):
            out = pl.when(entry == top).then(label).otherwise(out)
        return [out]

    # Keys

    def _key(self, category: int) -> Any:
        known, pl = self._description.categories[category], self._pl
        column = pl.col(known.origin)
        match known.part or known.family:
            case "dayofweek":
                return column.dt.weekday().cast(pl.Int64) - 1
            case "month" | "hour" as part:
                return getattr(column.dt, part)().cast(pl.Int64)
            case "text":
                return column.cast(pl.String)
            case "number" if known.exact:
                return column.cast(pl.Float64).fill_nan(None)
        return column

    def _code(self, category: int) -> Any:
        known = self._description.categories[category]
        if known.edges is not None:
            return self._interval(category)
        if known.sides is not None and known.cells is not None:
            return self._by_cell(known.sides, known.cells, known.codes, known.unseen, self._pl.Int64)
        key = self._key(category)
        return self._by_key(key, known, np.arange(known.unseen + 1), self._pl.Int64)

    def _interval(self, category: int) -> Any:
        known, pl = self._description.categories[category], self._pl
        assert known.edges is not None
        assert known.intervals is not None
        key = self._key(category)
        above = self._summed([pl.lit(0), *((key >= float(edge)).cast(pl.Int64) for edge in known.edges)])
        out = self._replaced(above, list(range(len(known.intervals))), known.intervals, known.unseen, pl.Int64)
        for own, code in zip(known.keys, known.codes, strict=True):
            out = pl.when(key == own).then(pl.lit(int(code))).otherwise(out)
        return pl.when(key.is_null()).then(pl.lit(known.missing)).otherwise(out)

    def _replaced(self, key: Any, keys: list[Any], values: Any, otherwise: Any, kind: Any) -> Any:
        """Return the value of a key, `otherwise` for other keys; NaN is missing."""
        self._count(1)
        values, otherwise = [None if np.isnan(v) else v for v in values.tolist()], _plain(otherwise)
        if not keys:
            return self._pl.lit(otherwise, dtype=kind)
        number = any(isinstance(each, float) for each in keys)
        keys = self._pl.Series(keys, dtype=self._pl.Float64 if number else None)
        return key.replace_strict(keys, self._pl.Series(values, dtype=kind), default=otherwise, return_dtype=kind)

    def _by_key(self, key: Any, known: Category, column: Any, kind: Any) -> Any:
        """Return what a column has for the code of a key."""
        missing, otherwise = column[known.missing], column[known.unseen]
        found = self._replaced(key, known.keys, column[known.codes], otherwise, kind)
        if missing == otherwise or (np.isnan(missing) and np.isnan(otherwise)):
            return found
        return self._pl.when(key.is_null()).then(self._pl.lit(_plain(missing))).otherwise(found)

    def _summed(self, terms: list[Any]) -> Any:
        self._count(len(terms))
        return terms[0] if len(terms) == 1 else self._pl.sum_horizontal(terms)

    def _aligned(self, *values: Any) -> list[Vector]:
        width = max(len(value) for value in values)
        lit = self._pl.lit
        out = [value if isinstance(value, list) else [lit(float(each)) for each in value] for value in values]
        return [value * width if len(value) == 1 else value for value in out]

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > MOST:
            raise DataError(
                f"{self._description.method} of this model takes more than {MOST:,} parts of expressions, which polars "
                "does not plan in reasonable time; export it with to_onnx, or ask for fewer features"
            )


def _plain(value: Any) -> Any:
    """Return a number of Python, None for NaN."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and np.isnan(value) else value
