"""What may stand for X and y in `fit` and `transform`, turned into tables and columns.

Arrays, nested lists and sparse matrices go through scikit-learn's own validation; everything that has named columns (frames,
Arrow data, files, iterables of batches) goes to `gramian.tables`, and its columns are matched by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d, validate_data

from gramian.arrays.types import exact_array
from gramian.design.encoder import check_weights, missing_among
from gramian.design.kinds import date_of_part, date_parts, is_date, types_of
from gramian.design.schema import Schema
from gramian.errors import Argument, ColumnError, DataError, NumberError, PythonOnly, shown, unknown_column
from gramian.maps.fitted_design import Design, Rows
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import home_of
from gramian.tables.failures import one_line
from gramian.tables.memory.arrays import mixes_long, narrowed, sound_sparse, unmasked
from gramian.tables.views import with_names

Table = ArrowTable | ArrayTable


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


def open_rows(estimator: Any, X: Any, design: Design, method: str = "transform") -> Table | Rows:
    """Return X as a table to be transformed, whose columns are named as in fit; rows that are encoded already as they are.

    Parameters
    ----------
    estimator : fitted estimator
    X : rows in memory
    design : what it reads
    method : str
        What was called, for the message that names the call which takes a file.
    """
    if isinstance(X, Rows):
        return X
    if is_path(X):
        how = "" if method == "transform" else f", method={method!r}"
        raise DataError(
            f"{method} takes rows in memory; for files use ",
            PythonOnly(f"gramian.transform_file(model, source, out{how}), or on the command line "),
            "gramian transform, predict or detect",
        )
    if is_array_like(X):
        checked = check_array_like(estimator, X, reset=False, typed=bool(design.categorical))
        return with_names(open_table(checked), columns_in(estimator, design))
    return _by_position(estimator, open_table(X), columns_in(estimator, design))


def columns_in(estimator: Any, design: Design) -> list[str]:
    """Return the source columns that a model was fitted on: those it reads, and identifiers that were set aside."""
    return list(vars(estimator).get("_columns_in", design.origins))


def unseen_levels(estimator: Any, X: Any) -> npt.NDArray[np.bool_]:
    """Return which values of X are levels never seen in fit, (n_rows, columns of fit); identifiers are not looked at."""
    design = estimator.design_
    names = columns_in(estimator, design)
    at = [names.index(name) for name in design.origins]
    parts = [design.unseen(rows) for rows in design.rows(open_rows(estimator, X, design))]
    out = np.zeros((sum(map(len, parts)), len(names)), dtype=bool)
    if parts:
        out[:, at] = np.concatenate(parts)
    return out


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


def refuse_beside_partitions(X: Any, name: str) -> None:
    """Raise where values are given, one a row, beside a frame whose rows lie in partitions."""
    if home_of(X) is not None:
        raise DataError(
            f"{name} is given as values, which cannot be matched to rows in partitions; make it a column of the frame and pass "
            "its name"
        )


def all_float32(table: Table | Rows, columns: Sequence[str]) -> bool:
    """Whether all of these columns are float32."""
    if isinstance(table, Rows):
        return table.single
    if isinstance(table, ArrayTable):
        return table.dtype == np.float32
    there = set(table.schema.names)
    return all(table.schema.field(name).type == pa.float32() for name in columns if name in there)


def names_categories(wanted: Any) -> bool:
    """Whether `categorical_features` says of any column that it is a category."""
    if wanted is None or isinstance(wanted, str):
        return wanted == "all"
    chosen = _listed(wanted)
    return bool(chosen.any() if chosen.dtype == bool else chosen.size)


def categorical_names(wanted: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that `categorical_features` names: by dtype (none here), all, names, positions or a mask."""
    if wanted is None or (isinstance(wanted, str) and wanted == "from_dtype"):
        return []
    if isinstance(wanted, str) and wanted == "all":
        return list(names)
    chosen = _listed(wanted)
    if chosen.dtype == bool:
        if len(chosen) != len(names):
            raise DataError(f"categorical_features is a mask of {len(chosen)} values for {len(names)} columns")
        return [name for name, taken in zip(names, chosen, strict=True) if taken]
    if chosen.dtype.kind in "iu":
        outside = [int(k) for k in chosen if not -len(names) <= k < len(names)]
        if outside:
            raise DataError(f"categorical_features names position {outside[0]}, and there are {len(names)} columns")
        return [names[int(k)] for k in chosen]
    return [str(name) for name in chosen]


def _listed(wanted: Any) -> npt.NDArray:
    """Return a list of names or positions, or a mask, as an array."""
    return np.asarray(list(wanted) if isinstance(wanted, set | frozenset) else wanted)


def single_weight(sample_weight: Any) -> float | None:
    """Return the weight of every row where it is given as one number, as scikit-learn allows; None where it is not.

    Examples
    --------
    >>> single_weight(2), single_weight([1.0, 2.0]), single_weight("weight"), single_weight(None)
    (2.0, None, None, None)
    """
    if isinstance(sample_weight, np.ndarray):
        number = sample_weight.ndim == 0 and sample_weight.dtype.kind in "iuf"
    else:
        number = isinstance(sample_weight, Real)
    if not number:
        return None
    weight = float(check_weights(np.array([sample_weight], dtype=np.float64), None)[0])
    if weight == 0:
        raise DataError(Argument("sample_weight", 0), " leaves out every row; give a number above 0, or one per row")
    return weight


def plain_target(y: Any) -> Any:
    """Return target values such that scikit-learn keeps them as they are.

    It makes floats of whole numbers and booleans that pandas keeps with a mask or in Arrow memory, and so does numpy of a list
    that has integers on both sides of 2^63. Missing values are left to be refused.
    """
    if isinstance(y, list | tuple):
        return exact_array(y) if y and all(type(value) is int for value in y) else y
    kinds = list(y.dtypes) if getattr(y, "ndim", 1) == 2 and hasattr(y, "dtypes") else [getattr(y, "dtype", None)]
    plain = getattr(kinds[0], "numpy_dtype", None) if len(kinds) == 1 else None
    if not isinstance(plain, np.dtype) or plain.kind not in "iub" or np.any(y.isna()):
        return y
    return y.astype(plain)


def target_shape(y: Any) -> tuple[int, ...]:
    """Return the shape of target values."""
    if isinstance(y, pa.Array | pa.ChunkedArray):
        return (len(y),)
    try:
        return np.asarray(y).shape
    except ValueError:
        raise DataError("y holds lists of unequal lengths; give one value per row, or one column per target") from None


def target_column(y: Any) -> npt.NDArray:
    """Return target values as one column, of a width that kernels take."""
    target_shape(y)
    values = column_or_1d(plain_target(y), warn=True)
    return narrowed(values) if values.dtype.kind == "f" else values


def target_values(y: Any) -> pa.Array:
    """Return target values as an Arrow array."""
    if isinstance(y, pa.ChunkedArray):
        y = y.combine_chunks()
    if isinstance(y, pa.Array):
        array = y
    else:
        values = target_column(y)
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity; every row needs a target")
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(f"y mixes types: {one_line(error)}") from None
        except OverflowError:
            raise DataError(
                "y holds an integer that 64 bits cannot hold; pass such numbers as float64, or as text where they are classes"
            ) from None
    if missing_among([array]) is not None:
        raise DataError("Input y contains NaN or None; every row needs a target")
    if is_date(array.type):
        raise DataError(
            f"y holds dates or times ({array.type}); pass one of their parts, such as the month, or make numbers of them"
        )
    return array


def named_targets(y: Any, schema: Schema, *, followed: bool = True) -> list[str]:
    """Return the columns that `y`, a name or a tuple of names, stands for.

    Parameters
    ----------
    y : str, tuple of str or None
    schema : Schema
        Of the columns that were collected.
    followed : bool
        Whether they are targets; otherwise they are only left out of the features, and a date stands for all of its parts.
    """
    if y is None:
        return []
    refuse_listed_names(y, [*schema.names, *(column.origin for column in schema)])
    names = [y] if isinstance(y, str) else list(y) if isinstance(y, tuple) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise DataError("with Moments, y is the name of a collected column: values cannot be matched to rows")
    for name in names if followed else []:
        if name not in schema and any(column.origin == name for column in schema):
            raise _no_target(name, schema.resolve([name]))
    return schema.resolve(names)


def require_columns(names: Sequence[Any], table: Table) -> None:
    """Raise where a table has no column of such a name, nor a date that has such a part."""
    types = types_of(table.schema) if isinstance(table, ArrowTable) else dict.fromkeys(table.names, pa.float64())
    for name in names:
        if name not in types and not (isinstance(name, str) and date_of_part(name, types)):
            raise unknown_column(name, list(types))


def refuse_repeated(names: Sequence[Any]) -> None:
    """Raise where a column is named twice."""
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ColumnError(f"column {shown(name)} is asked for twice")


def refuse_dates(targets: Sequence[str], types: Mapping[str, pa.DataType]) -> None:
    """Raise where a target is a date: that is several categories, and no number."""
    for name in targets:
        kind = types.get(name)
        if kind is not None and is_date(kind):
            raise _no_target(name, [f"{name}_{part}" for part in date_parts(kind)])


def _no_target(date: str, parts: Sequence[str]) -> ColumnError:
    return ColumnError(
        Argument("y", date),
        f" is a date or time; name one of its parts: {', '.join(map(repr, parts))}; or make a number of it",
    )


def refuse_listed_names(y: Any, names: Sequence[str]) -> None:
    """Raise where `y` is a list of names of columns: a list is values, one a row, and several targets are a tuple."""
    if isinstance(y, dict) and len(y) == 1:
        # Values under the name they are collected under.
        (y,) = y.values()
    if isinstance(y, set | frozenset) and all(isinstance(name, str) for name in y):
        y = sorted(y)
    if (
        isinstance(y, str | tuple | dict)
        or not hasattr(y, "__len__")
        # Their length is not to be asked for: it is a pass, or an error.
        or home_of(y) is not None
        or sp.issparse(y)
        or not 0 < len(y) <= len(names)
        or np.ndim(y) != 1
    ):
        return
    given = y.to_pylist() if isinstance(y, pa.Array | pa.ChunkedArray) else list(y)
    known = set(names)
    if all(isinstance(name, str) and name in known for name in given) and len(set(given)) == len(given):
        meant = tuple(map(str, given)) if len(given) > 1 else str(given[0])
        raise DataError(
            f"y holds {shown(given[0])}{' and others' if len(given) > 1 else ''}, the name of a column; lists and arrays are "
            "values, one a row: to name columns pass ",
            Argument("y", meant),
        )


def of_tables(tags: Any) -> Any:
    """Return scikit-learn's tags of an estimator, those of one that takes tables: categories, text, gaps, sparse arrays."""
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    return tags
