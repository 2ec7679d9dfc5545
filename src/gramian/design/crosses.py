"""Crosses: two columns read as one category, a level for each pair of levels; and a number within one level of a category.

A sum of one function per column cannot say that smoking costs the heavy more. With the cells of a cross as one more category
beside its two columns it can: the coefficient of a cell is what the pair adds to the two.

*Which cells.* Every pair of levels that some row has is a level of its own in moments. Only so `collect(a) + collect(b)` is
`collect(a and b)`: a cell of 12 rows today may have 200 at the end of the week, and a cell that one day folds away cannot be
counted from it. Folding cells together is a linear map of design columns, exact after the pass, so it waits until a model is
solved: cells of fewer than `LEAST_ROWS` rows are then one level `(rare)`, as `Moments.pool` would make it (`pool_cells` in
`gramian.moments.algebra.levels`). A pair of levels never seen adds nothing, like any unseen level: the row is predicted from
its two columns.

*Text.* A cell is labelled `left & right`. A `&` within a label is doubled, so that the single one between spaces is the only
run of odd length and different pairs have different texts. A missing value is `(missing)`; a text that reads so gets a `'`.

*Slopes.* A number x has, beside its own slope b, another one within a level l of the category that it is crossed with:
the column (x - c) 1{l}. The slopes of all levels add up to that of x, so the most frequent level has none of its own. c is near
the mean, so that the column is nearly unrelated to the indicator of l; the model is the same for every c. Where the number or
the level is missing the column is 0. Levels come from the sample that bins are made of, and are part of the schema,
as edges are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.design.bins import LEAST_ROWS, Bins, quantile_bins
from gramian.design.codebook import OutsideDictionary, as_indices
from gramian.design.schema import MISSING, Column, Cross, Schema, Slope, label_text, number_values
from gramian.errors import Argument, ColumnError, DataError, PythonOnly, shown, unknown_column

MOST_SLOPES = 32
"""Levels of a category within which a number has a slope of its own at most."""

FEW_CELLS = 400
"""Cells that a cross may have however few rows there are: a small table stays usable."""


def check_crosses(crosses: Any) -> None:
    """Raise where `crosses` is not pairs of names."""
    fine = isinstance(crosses, Sequence) and not isinstance(crosses, str)
    for pair in crosses if fine else ():
        fine = fine and isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
    if not fine:
        raise DataError(
            Argument("crosses"), f" takes pairs of column names, such as [('bmi', 'smoker')]; got {shown(crosses)}"
        )


def cell_label(left: str, right: str) -> str:
    """Return the text of a cell.

    Examples
    --------
    >>> cell_label("yes", "[18, 65)"), cell_label("R & D", "no")
    ('yes & [18, 65)', 'R && D & no')
    """
    return f"{left.replace('&', '&&')} & {right.replace('&', '&&')}"


def split_label(cell: str) -> tuple[str, str]:
    """Return the texts of a cell's two sides: what `cell_label` was given.

    Examples
    --------
    >>> split_label("yes & [18, 65)"), split_label("R && D & no")
    (('yes', '[18, 65)'), ('R & D', 'no'))
    """
    at = next(run.start() for run in re.finditer("&+", cell) if len(run.group()) % 2)
    return cell[: at - 1].replace("&&", "&"), cell[at + 2 :].replace("&&", "&")


def in_order(sides: Collection[str]) -> list[str]:
    """Return texts of sides in the order in which people read them: along the line, by the alphabet, missing ones last.

    Examples
    --------
    >>> in_order({"[65, inf)", "(missing)", "(-inf, 9)", "[9, 65)"}), in_order({"10", "9", "no"})
    (['(-inf, 9)', '[9, 65)', '[65, inf)', '(missing)'], ['9', '10', 'no'])
    """

    def place(text: str) -> tuple[int, float, str]:
        if text == MISSING:
            return 2, 0.0, text
        try:
            return 0, float(text.lstrip("([").split(",")[0]), text
        except ValueError:
            return 1, 0.0, text

    return sorted(sides, key=place)


def side_texts(labels: pa.Array) -> list[str]:
    """Return the texts of labels as cells have them, null as `(missing)`."""
    texts = labels.to_pylist()
    # A text that reads so itself, with any number of marks, has one more.
    marked = [f"{text}'" if isinstance(text, str) and text.rstrip("'") == MISSING else text for text in texts]
    return list(map(label_text, marked))


def cells(left: pa.Array, right: pa.Array) -> pa.DictionaryArray:
    """Return the cell of each row.

    Examples
    --------
    >>> cells(pa.array(["a", "b", "a"]), pa.array([1, None, 1])).to_pylist()
    ['a & 1', 'b & (missing)', 'a & 1']
    """
    (first, of_left), (second, of_right) = map(_coded, (left, right))
    width = len(of_right)
    both = first.astype(np.int64) * width + second
    n_cells = len(of_left) * width
    if n_cells <= max(len(both), FEW_CELLS):
        present = np.flatnonzero(np.bincount(both, minlength=n_cells))
        place = np.zeros(n_cells, dtype=np.int32)
        place[present] = np.arange(len(present), dtype=np.int32)
        codes = place[both]
    else:
        present, inverse = np.unique(both, return_inverse=True)
        codes = inverse.astype(np.int32)
    texts = [cell_label(of_left[k // width], of_right[k % width]) for k in present.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts, pa.large_string()))


def within(numbers: pa.Array, levels: pa.Array, slope: Slope) -> pa.Array:
    """Return each number less the constant of a slope where the level is the one of the slope, else 0.

    Examples
    --------
    >>> by = Column("smoker", "category", "smoker")
    >>> within(pa.array([20.0, 30.0, None]), pa.array(["no", "yes", "yes"]), Slope(by, "yes", 25.0)).to_pylist()
    [0.0, 5.0, 0.0]
    """
    codes, texts = _coded(levels)
    inside = np.array([text == slope.level for text in texts], dtype=bool)[codes]
    return pa.array(np.where(inside, np.nan_to_num(number_values(numbers) - slope.centre), 0.0))


def _coded(values: pa.Array) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return codes of values and the texts of these, equal texts with equal codes, the last of them that of missing values."""
    indices, dictionary = as_indices(values)
    texts = [*side_texts(dictionary), MISSING]
    codes = indices.fill_null(len(dictionary)) if indices.null_count else indices
    codes = codes.to_numpy(zero_copy_only=False)
    if len(codes) and (codes.min() < 0 or codes.max() >= len(texts)):
        raise OutsideDictionary(f"an index leads outside its dictionary of {len(dictionary)}")
    known = {text: k for k, text in enumerate(texts)}
    if len(known) < len(texts):
        codes = np.array([known[text] for text in texts], dtype=np.int32)[codes]
    return codes, texts


# Planning


def refuse_crosses(pairs: Sequence[Sequence[str]], schema: Schema, types: Collection[str]) -> None:
    """Raise for the first pair that cannot be crossed, by the names of its columns."""
    for pair in pairs:
        for name in pair:
            if name not in schema:
                parts = [column.name for column in schema if column.origin == name]
                if parts:
                    raise ColumnError(f"column {name!r} is a date; cross one of its parts, for example {parts[0]!r}")
                if name in types:
                    raise ColumnError(
                        f"column {name!r} is named in ", Argument("crosses"), " and is not collected; cross another one"
                    )
                raise unknown_column(name, [column.name for column in schema if not column.target])
            if schema[name].target:
                raise ColumnError(
                    f"column {name!r} is named in ", Argument("crosses"), ", and it is a target; leave it out there"
                )
        a, b = (schema[name] for name in pair)
        if a.origin == b.origin and (a.part is None or b.part is None or a.name == b.name):
            raise ColumnError(f"a cross of column {a.origin!r} with itself has no cells of its own; name two columns")
        same = [list(map(str, other)) for other in pairs if set(other) == set(pair)]
        if len(same) > 1:
            raise ColumnError(f"columns {a.name!r} and {b.name!r} are crossed twice; name the pair once")


def cross_columns(
    pairs: Sequence[Sequence[str]], schema: Schema, sample: Mapping[str, pa.ChunkedArray]
) -> list[Column]:
    """Return the columns of some crosses: the cells, and for a number and a category the slopes.

    Parameters
    ----------
    pairs : pairs of names
    schema : Schema
        With the bins that are asked for.
    sample : mapping
        First rows of the source columns that `needs_sample` names.
    """
    made: list[Column] = []
    for pair in pairs:
        columns = [schema[name] for name in pair]
        sides = [side_of(column, schema, sample.get(column.origin)) for column in columns]
        name = " & ".join(pair)
        made.append(Column(name, "category", sides[0].origin, Cross(*sides)))
        numbers = [k for k in (0, 1) if columns[k].kind == "numeric"]
        if len(numbers) == 1:
            (k,) = numbers
            made += _slopes(name, columns[k], sides[1 - k], sample)
    for column in made:
        if column.name in schema:
            raise ColumnError(f"a column is called {column.name!r}, as the cross would be; rename it, or exclude it")
    return made


def needs_sample(pairs: Sequence[Sequence[str]], schema: Schema) -> list[str]:
    """Return the source columns that crosses must be planned from."""
    out: dict[str, None] = {}
    for pair in pairs:
        columns = [schema[name] for name in pair]
        if any(column.kind == "numeric" for column in columns):
            out |= dict.fromkeys(column.origin for column in columns)
    return list(out)


def side_of(column: Column, schema: Schema, sample: pa.ChunkedArray | None = None) -> Column:
    """Return a column as the side of a cross: a category as it is, a number by its bins, or by some made of the sample."""
    if column.kind == "categorical":
        return column._replace(target=False, named=False)
    name = f"{column.name}_bin"
    if name in schema and isinstance(schema[name].part, Bins):
        return schema[name]._replace(named=False)
    assert sample is not None
    values = np.concatenate([number_values(chunk) for chunk in sample.chunks] or [np.empty(0)])
    bins = quantile_bins(values, least=1) or Bins(())
    return Column(name, "category", column.origin, bins)


def _slopes(name: str, number: Column, by: Column, sample: Mapping[str, pa.ChunkedArray]) -> list[Column]:
    from gramian.design.kinds import read_column

    parts = [read_column(chunk, by, "null", asked="a cross takes") for chunk in sample[by.origin].chunks]
    counts: dict[str, int] = {}
    for part in parts:
        codes, texts = _coded(part)
        for text, count in zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True):
            counts[text] = counts.get(text, 0) + count
    counts.pop(MISSING, None)
    often = sorted((text for text in counts if counts[text] >= LEAST_ROWS), key=lambda text: (-counts[text], text))
    values = np.concatenate([number_values(chunk) for chunk in sample[number.origin].chunks] or [np.empty(0)])
    seen = values[np.isfinite(values)]
    # A multiple of a power of two near the spread, so that differences are exact.
    step = 2.0 ** np.floor(np.log2(seen.std())) if len(seen) and seen.std() > 0 else 1.0
    centre = float(np.rint(seen.mean() / step) * step) if len(seen) else 0.0
    return [
        Column(f"{name}={text}", "number", number.origin, Slope(by, text, centre))
        for text in often[1 : MOST_SLOPES + 1]
    ]


def refuse_many_cells(columns: Sequence[Column], levels: Mapping[str, int], n_rows: int) -> None:
    """Raise where a cross would have more cells than there are rows.

    Parameters
    ----------
    columns : sequence of Column
    levels : mapping
        How many levels each category has shown.
    n_rows : int
    """
    for column in columns:
        if not isinstance(column.part, Cross):
            continue
        sizes = [
            levels.get(side.name, len(side.part.names) + 1 if isinstance(side.part, Bins) else 0)
            for side in column.part.sides
        ]
        n_cells = sizes[0] * sizes[1]
        if n_cells > max(n_rows, FEW_CELLS):
            names = [side.name for side in column.part.sides]
            wide = names[int(sizes[1] > sizes[0])]
            raise DataError(
                f"the cross of {names[0]!r} and {names[1]!r} would have {sizes[0]:,} x {sizes[1]:,} cells, and there are "
                f"{n_rows:,} rows; cross a column of fewer levels in place of {wide!r}",
                PythonOnly(", or join rare levels first"),
            )
