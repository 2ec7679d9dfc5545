"""What may stand for X: arrays, frames, Arrow data, files and batches, as tables whose columns are matched with those of fit.

Arrays, nested lists and sparse matrices go through scikit-learn's own validation; everything that has named columns goes to
`gramian.tables`, and its columns are matched by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from gramian.errors import ColumnError, DataError, NumberError, PythonOnly, shown
from gramian.maps.few_rows import MOST
from gramian.maps.projection import Design, Rows
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import filled, home_of, with_names
from gramian.tables.memory.arrays import mixes_long, narrowed, sound_sparse, unmasked
from gramian.tables.schemas import one_line

Table = ArrowTable | ArrayTable

_filling: ContextVar[bool] = ContextVar("missing", default=False)


@contextmanager
def filling() -> Iterator[None]:
    """Within the block rows that lack a column that is read have missing values there: `missing="fill"` of a method."""
    before = _filling.set(True)
    try:
        yield
    finally:
        _filling.reset(before)


def is_path(X: Any) -> bool:
    """Whether X names files."""
    if isinstance(X, str | PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(part, str | PathLike) for part in X)


def is_array_like(X: Any) -> bool:
    """Whether X is rows of values without column names: an array, a nested list, a sparse matrix."""
    if home_of(X) is not None:
        return False
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return not isinstance(X, np.ndarray) or X.dtype.names is None
    # A plan of polars warns where it is asked for its columns.
    if any(hasattr(X, name) for name in ("__arrow_c_stream__", "collect_schema", "columns", "schema")):
        return False
    if isinstance(X, list | tuple):
        # A list of tables or of 2-d arrays is batches; a list of rows is one array.
        return not X or not (
            isinstance(X[0], dict) or hasattr(X[0], "columns") or hasattr(X[0], "schema") or _dimensions(X[0]) == 2
        )
    return hasattr(X, "__array__") or np.isscalar(X) or X is None


def _dimensions(item: Any) -> int:
    """Return how many dimensions an item of a list has, 1 where lists within it are of unequal lengths."""
    try:
        return np.ndim(item)
    except ValueError:
        return 1


def check_array_like(estimator: Any, X: Any, *, reset: bool, typed: bool) -> Any:
    """Return rows without names as scikit-learn would check them, each column with the type it has.

    Integers become floats, which are added up several times as fast, unless a column is a category (`typed`) or a value would
    be rounded. Everything that holds anything but numbers keeps the types it has.
    """
    plain = rows_of_values(X)
    if isinstance(plain, np.ma.MaskedArray):
        plain = unmasked(plain, "X")
    elif sp.issparse(plain):
        sound_sparse(plain, "X")
    elif plain.dtype.kind == "f":
        plain = narrowed(plain)
    kind = plain.dtype.kind
    floats = kind in "fc" or sp.issparse(plain) or (not typed and _rounds_nothing(plain))
    return validate_data(
        estimator,
        plain,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32] if floats else None,
        # Missing values are welcome, and infinite ones are refused, by the column's name, where values are first added up.
        ensure_all_finite=False,
    )


def check_numbers(estimator: Any, X: Any, *, reset: bool, dtype: Any) -> npt.NDArray:
    """Return rows of numbers as scikit-learn would check them, and refuse by its place a value that is not a number."""
    columns = list(getattr(X, "columns", ())) if hasattr(X, "iloc") and getattr(X, "ndim", 2) == 2 else None
    if columns is not None:
        if not columns:
            raise DataError("X has no columns: 0 feature(s) while a minimum of 1 is required")
        refuse_repeated(columns)
    try:
        return np.asarray(validate_data(estimator, X, reset=reset, dtype=dtype))
    except (ValueError, TypeError, LookupError, pa.ArrowException) as error:
        refuse_what_is_no_number(X, error)
        # scikit-learn's own words: of dimensions, names, missing values.
        raise


def refuse_what_is_no_number(X: Any, reason: Exception) -> None:
    """Raise where values cannot be read as numbers, by the first of them; return where they can.

    Parameters
    ----------
    X : rows
    reason : Exception
        What reading them raised.
    """
    try:
        values = np.asarray(X)
        if values.dtype.kind in "fiubc":
            return
        values = np.asarray(X, dtype=object)
    except (ValueError, TypeError, LookupError, pa.ArrowException):
        raise NumberError(f"X cannot be read as rows of numbers: {one_line(reason)}") from None
    names = getattr(X, "column_names", getattr(X, "columns", range(values.shape[-1] if values.ndim else 0)))
    cell = np.empty(1, dtype=object)
    for place in np.ndindex(values.shape):
        value = cell[0] = values[place]
        try:
            # As numpy reads it: a date has a number too, and is not one.
            cell.astype(np.float64)
        except (ValueError, TypeError, OverflowError):
            column = f", column {names[place[1]]!r}" if len(place) > 1 else ""
            where = f" in row {place[0]}{column}" if place else ""
            raise NumberError(
                f"X holds {shown(value)[:60]}{where}: the argument must be a string or a real number, not "
                f"{type(value).__name__!r}; encode it as a number first"
            ) from None


def _rounds_nothing(values: npt.NDArray) -> bool:
    """Whether an array of integers is the same in float64."""
    if values.dtype.kind not in "iu":
        return False
    if values.dtype.itemsize < 8 or not values.size:
        return True
    return bool(values.max() <= 2**53 and values.min() >= -(2**53))


def rows_of_values(X: Any) -> Any:
    """Return rows as an array or a sparse matrix, with every value of lists as it is."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X
    try:
        plain = np.asarray(X)
    except ValueError:
        return np.asarray(X, dtype=object)
    if isinstance(X, list | tuple) and (plain.dtype.kind in "US" or mixes_long(plain)):
        # numpy makes text of [["a", 1]], and floats of [[2**63, -1]].
        return np.asarray(X, dtype=object)
    return plain


def open_training(estimator: Any, X: Any, *, typed: bool, seen: Sequence[str] | None) -> tuple[Table, bool]:
    """Return X as a table to be fitted on, and whether its columns have names of their own.

    Where rows are added to what was seen, columns without names take the names of the columns `seen`.
    """
    if is_path(X) or not is_array_like(X):
        table = open_table(X)
        # A distributed array has no names of its own either.
        named = home_of(X) is None or hasattr(X, "columns")
        return table if seen is None or is_path(X) else _by_position(estimator, table, seen), named
    table = open_table(check_array_like(estimator, X, reset=seen is None, typed=typed))
    return table if seen is None else with_names(table, seen), False


def open_rows(
    estimator: Any, X: Any, design: Design, method: str = "transform", *, as_table: bool = False
) -> Table | Rows:
    """Return X as a table to be transformed, whose columns are named as in fit; rows that are encoded already as they are.

    Parameters
    ----------
    estimator : fitted estimator
    X : rows in memory
    design : what it reads
    method : str
        What was called, for the message that names the call which takes a file.
    as_table : bool
        Whether the values themselves are wanted: a few rows are otherwise encoded at once.
    """
    if isinstance(X, Rows):
        return X
    fill = _filling.get()
    few = None if as_table else design.encode_few(_whole(X, design.origins) if fill else X)
    if few is not None:
        return few
    refuse_files(X, method)
    if is_array_like(X):
        checked = check_array_like(estimator, X, reset=False, typed=bool(design.categorical))
        return with_names(open_table(checked), columns_in(estimator, design))
    if fill:
        return filled(open_table(X, missing="fill"), design.origins)
    return _by_position(estimator, open_table(X), columns_in(estimator, design))


def _whole(X: Any, names: Sequence[str]) -> Any:
    """Return dicts of single values with None under each of the names that they lack; anything else as it is."""
    nothing = dict.fromkeys(names)
    if type(X) is dict:
        return nothing | X
    if type(X) is list and len(X) <= MOST and all(type(row) is dict for row in X):
        return [nothing | row for row in X]
    return X


def refuse_files(X: Any, method: str = "transform") -> None:
    """Raise where a method that takes rows in memory is given files, by the name of the call that takes them."""
    if is_path(X):
        how = "" if method == "transform" else f", method={method!r}"
        raise DataError(
            f"{method} takes rows in memory; for files use ",
            PythonOnly(f"gramian.transform_file(model, source, out{how}), or on the command line "),
            "gramian transform, predict or detect",
        )


def columns_in(estimator: Any, design: Design) -> list[str]:
    """Return the source columns that a model was fitted on: those it reads, and identifiers that were set aside."""
    return list(vars(estimator).get("_columns_in", design.origins))


def _by_position(estimator: Any, table: Table, origins: Sequence[str]) -> Table:
    """Return a table with the names of fit, where that was on an array and the table has other names.

    Columns then go by position, and scikit-learn says so.
    """
    names = table.names if isinstance(table, ArrayTable) else table.schema.names
    if "feature_names_in_" in vars(estimator) or len(names) != len(origins) or set(origins) <= set(names):
        return table
    check_names(estimator, names)
    return with_names(table, origins)


def check_names(estimator: Any, names: Sequence[str]) -> None:
    """Compare the names and the number of columns with those of fit, as scikit-learn does."""
    # Arrow's names are known to every scikit-learn; those of polars 2 are not to 1.8.
    named = pa.table({name: pa.nulls(0) for name in names})
    validate_data(estimator, named, reset=False, skip_check_array=True)


def all_float32(table: Table | Rows, columns: Sequence[str]) -> bool:
    """Whether all of these columns are float32."""
    if isinstance(table, Rows):
        return table.single
    if isinstance(table, ArrayTable):
        return table.dtype == np.float32
    there = set(table.schema.names)
    return all(table.schema.field(name).type == pa.float32() for name in columns if name in there)


def refuse_repeated(names: Sequence[Any]) -> None:
    """Raise where a column is named twice."""
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ColumnError(f"column {shown(name)} is asked for twice")
