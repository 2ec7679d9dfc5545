"""The one reader: what may stand for X, y and sample_weight in `fit`, and for X in `transform`, as tables, columns and weights.

Arrays, nested lists and sparse matrices go through scikit-learn's own validation; everything that has named columns (frames,
Arrow data, files, iterables of batches) goes to `gramian.tables`, and its columns are matched by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d

from gramian.arrays.types import Array, exact_array
from gramian.design.encoder import Encoder, check_weights, missing_among, weights_of
from gramian.design.kinds import date_of_part, date_parts, is_date, plan_columns, types_of
from gramian.design.schema import Column, Schema
from gramian.engines.base import weight_values
from gramian.engines.collect import library_of
from gramian.errors import Argument, ColumnError, DataError, Parameter, shown, unknown_column
from gramian.estimators.spine.inputs import Table, open_training, refuse_repeated
from gramian.maps.projection import Design, Rows
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import home_of
from gramian.tables.memory.arrays import narrowed
from gramian.tables.schemas import one_line

TARGET = "(target)"
"""The column that a target given as values is collected under; with its number where there are several."""

LARGEST = 1e150
"""Sizes beyond this have squares that float64 cannot hold."""


@dataclass(frozen=True, eq=False)
class Training:
    """A table to learn from, and what its columns are; nothing of it has been read yet.

    Attributes
    ----------
    table : ArrowTable or ArrayTable
    names : list of str
        Of its columns.
    named : bool
        Whether these are names of their own, and not x0, x1...
    library : str or None
        The dataframe library of the source.
    targets : list of str
        Columns that are targets: of the table, or attached.
    attached : dict
        Target values given beside the table.
    aside : list of str
        Columns of the table that are neither features nor targets.
    weights : (n,) array or None
        One weight per row, given beside the table.
    weight_column : str or None
    every_weight : float or None
        The weight of all rows, given as one number.
    categorical_features : as the parameter of that name
    """

    table: Table
    names: list[str]
    named: bool
    library: str | None
    targets: list[str]
    attached: dict[str, pa.Array]
    aside: list[str]
    weights: Array | None
    weight_column: str | None
    every_weight: float | None
    categorical_features: Any

    @property
    def features(self) -> list[str]:
        """The columns that are features."""
        others = {*self.targets, *self.aside, self.weight_column}
        features = [name for name in self.names if name not in others]
        if not features:
            raise DataError("no feature columns are left beside the target")
        return features

    @property
    def categorical(self) -> list[str]:
        """The features that the user says are categories."""
        return categorical_names(self.categorical_features, self.features)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, attached ones included."""
        return types_in(self.table) | {name: values.type for name, values in self.attached.items()}

    @property
    def integers(self) -> list[str]:
        """The features of integers that the user does not say are categories."""
        types, categorical = self.types, set(self.categorical)
        return [name for name in self.features if name not in categorical and pa.types.is_integer(types[name])]

    def schema(self, *, classes: bool = False, like: Schema | None = None) -> Schema:
        """Return the features as categories and numbers, whose integers are numbers, and the targets.

        Parameters
        ----------
        classes : bool
            Whether targets are classes; otherwise they are numbers.
        like : Schema, optional
            Of the rows before.
        """
        types = self.types
        if like is not None:
            schema = plan_columns(types, like=like)
            if schema.names != like.names:
                raise ColumnError(f"these rows have columns {schema.names[:5]}, and before {like.names[:5]}")
            return schema
        # Parts of dates are categories by themselves.
        whole = [name for name in self.targets if name in types]
        if len(whole) < len(self.targets) and not classes:
            part = next(name for name in self.targets if name not in types)
            raise ColumnError(Argument("y", part), " is a category, and a regression needs numbers")
        return plan_columns(
            types,
            columns=[*self.features, *whole],
            categorical=[*self.categorical, *(whole if classes else [])],
            numeric=[*self.integers, *([] if classes else whole)],
            targets=self.targets,
        )

    def encoder(self, schema: Schema, n_folds: int = 0, families: dict[str, str] | None = None) -> Encoder:
        """Return a fresh encoder of all columns."""
        return Encoder(
            schema,
            weight_column=self.weight_column,
            n_folds=n_folds,
            attached=self.attached,
            families=families,
            weights=self.weights,
        )

    def parts(self, design: Design) -> Iterator[tuple[pa.RecordBatch | Rows, Array | None]]:
        """Yield the rows that a design reads, each part with its weights, if rows have some.

        A part is a record batch, so that levels can be added to the design before it is encoded; of an array it is encoded.
        """
        if isinstance(self.table, ArrowTable):
            design.check(self.table.schema.names)
            beside = [] if self.weight_column is None else [self.weight_column]
            parts: Iterable[Any] = self.table.batches(list(dict.fromkeys([*design.origins, *beside])))
        else:
            parts = design.rows(self.table)
        done = 0
        for part in parts:
            start, done = done, done + len(part)
            if self.every_weight is not None:
                yield part, np.full(len(part), self.every_weight)
            elif self.weight_column is not None:
                yield part, check_weights(weights_of([part], self.weight_column), self.weight_column)
            elif self.weights is None or done <= len(self.weights):
                yield part, None if self.weights is None else self.weights[start:done]
        if self.weights is not None and len(self.weights) != done:
            raise DataError(f"sample_weight has {len(self.weights)} values, and the table has {done} rows")


def types_in(table: Table) -> dict[str, pa.DataType]:
    """Return the type of each column of a table."""
    return types_of(table.schema) if isinstance(table, ArrowTable) else dict.fromkeys(table.names, pa.float64())


def read(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    targets: Callable[[Any], dict[str, pa.Array]] | None = None,
    before: Iterable[Column] | None = None,
    parts: bool = False,
) -> Training:
    """Return what is to be learned from, its columns checked.

    Parameters
    ----------
    estimator : estimator
        Its `categorical_features` names categories.
    X : any source of `gramian.collect`
    y : values, str or tuple of str, optional
        Texts are names of columns of X.
    sample_weight : array, number or str, optional
    targets : callable, optional
        How target values become columns. Without it columns that `y` names are left aside, and values are not looked at: a
        Pipeline gives those of the target to every step.
    before : iterable of Column, optional
        The columns of the rows before, where rows are added to these.
    parts : bool
        Whether a part of a date may be left aside by its name; a part that is a target always has one.
    """
    if isinstance(X, Moments):
        raise DataError(f"{type(estimator).__name__} learns from rows, and Moments have none; pass rows or files")
    wanted = getattr(estimator, "categorical_features", None)
    known = None if before is None else list(before)
    typed = names_categories(wanted) if known is None else any(column.form == "category" for column in known)
    seen = None if known is None else vars(estimator).get("_columns_in", list(dict.fromkeys(c.origin for c in known)))
    table, named = open_training(estimator, X, typed=typed, seen=seen)
    names = list(table.names if isinstance(table, ArrayTable) else table.schema.names)
    if named:
        refuse_listed_names(y, names)
    listed = [y] if isinstance(y, str) else list(y) if isinstance(y, tuple) else []
    attached: dict[str, pa.Array] = {}
    if targets is not None and listed:
        refuse_dates(listed, table)
    elif targets is not None and y is not None:
        attached = targets(y)
    if targets is not None or seen is None:
        require_columns(listed, table, parts=targets is not None or parts)
        refuse_repeated(listed)
    every = single_weight(sample_weight)
    weight_column = sample_weight if isinstance(sample_weight, str) else None
    if weight_column is not None and weight_column not in names:
        error = unknown_column(weight_column, names, where=table.describe)
        raise type(error)(Argument("sample_weight", weight_column), ": ", *error.parts)
    weights = None
    if sample_weight is not None and weight_column is None and every is None:
        weights = check_weights(weight_values(sample_weight), None)
    if isinstance(table, ArrayTable) and (typed or listed or weight_column is not None):
        table = table.as_arrow()
    return Training(
        table,
        names,
        named,
        library_of(X),
        targets=[] if targets is None else [*listed, *attached],
        attached=attached,
        aside=[name for name in listed if targets is None and isinstance(name, str)],
        weights=weights,
        weight_column=weight_column,
        every_weight=every,
        categorical_features=wanted,
    )


def note_columns(estimator: Any, columns: Sequence[str], *, named: bool, library: str | None) -> None:
    """Keep which source columns are features, as scikit-learn wants it kept; a date is several columns of one origin."""
    estimator._columns_in = list(dict.fromkeys(columns))
    estimator.n_features_in_ = len(estimator._columns_in)
    if named:
        estimator.feature_names_in_ = np.array(estimator._columns_in, dtype=object)
    estimator._frames = library


def row_weights(sample_weight: Any, n_rows: int, X: Any = None) -> Array | None:
    """Return one weight for each row, or raise; None where there are none.

    Parameters
    ----------
    sample_weight : array, number or str, optional
        A number is the weight of every row, a text names a column of X.
    n_rows : int
    X : any source of `gramian.collect`
    """
    if sample_weight is None:
        return None
    every = single_weight(sample_weight)
    if every is not None:
        weights = np.full(n_rows, every)
    elif isinstance(sample_weight, str):
        if hasattr(X, "__next__"):
            raise DataError(
                Argument("sample_weight", sample_weight),
                " is read beside the rows, and an iterator gives its batches once; pass a list of them",
            )
        weights = check_weights(column_weights(open_table(X), sample_weight), sample_weight)
    else:
        weights = check_weights(weight_values(sample_weight), None)
    if len(weights) != n_rows:
        raise DataError(f"sample_weight has {len(weights)} values for {n_rows} rows; give one per row")
    if not weights.any():
        raise DataError("sample_weight holds only zeros, which leave out every row; give some rows a weight above 0")
    return weights


def column_weights(table: Table, name: str) -> Array:
    """Return the weights that a column of a table holds."""
    if isinstance(table, ArrayTable):
        if name not in table.names:
            raise unknown_column(name, table.names, where=table.describe)
        return np.concatenate([np.asarray(chunk[:, table.names.index(name)]) for chunk in table.chunks()])
    table.require([name])
    return weights_of(list(table.batches([name])), name)


def refuse_large(numbers: Any, names: Sequence[str]) -> None:
    """Raise for the first column of numbers, dense or sparse, that holds one whose square overflows."""
    if sp.issparse(numbers):
        largest = np.zeros(numbers.shape[1])
        np.maximum.at(largest, numbers.indices, np.abs(numbers.data))
    elif numbers.size:
        # Without a copy of the rows, past NaN, and in float64: the bound is beyond float32.
        largest = np.maximum(np.fmax.reduce(numbers), -np.fmin.reduce(numbers)).astype(np.float64)
    else:
        return
    for j in np.flatnonzero(largest > LARGEST)[:1]:
        raise DataError(
            f"column {names[j]!r} holds a value of size {largest[j]:.3g}, whose square overflows; "
            f"divide the column by a constant first"
        )


def refuse_total(weights: Array) -> None:
    """Raise where weights add up to so much, or so little, that their products with squares leave float64."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 1 / LARGEST <= total <= LARGEST:
        raise DataError(
            Parameter("sample_weight"),
            f" adds up to {total:.3g}; multiply all weights by a constant, so that they add up to the number of rows they "
            "stand for",
        )


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


def no_target(estimator: Any) -> DataError:
    """Return the error for an estimator that is given no target and needs one."""
    return DataError(
        f"requires y to be passed, but the target y is None: {type(estimator).__name__} needs a target, as values or as the "
        "name of a column"
    )


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
        raise DataError("y holds dates or times; pass one of their parts, such as the month, or make numbers of them")
    return array


def target_outputs(y: Any) -> dict[str, pa.Array]:
    """Return target values by the name they are collected under: one output, or several."""
    y = plain_target(y)
    shape = target_shape(y)
    if len(shape) < 2 or shape[1] == 1:
        return {TARGET: target_values(y)}
    columns = [y.iloc[:, k] for k in range(shape[1])] if hasattr(y, "iloc") else list(np.asarray(y).T)
    return {f"{TARGET}{k}": target_values(column) for k, column in enumerate(columns)}


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


def require_columns(names: Sequence[Any], table: Table, *, parts: bool = True) -> None:
    """Raise where a table has no column of such a name, nor a date that has such a part."""
    types = types_in(table)
    for name in names:
        if name not in types and not (parts and isinstance(name, str) and date_of_part(name, types)):
            raise unknown_column(name, list(types), where=table.describe)


def refuse_dates(targets: Sequence[str], table: Table) -> None:
    """Raise where a target is a date: that is several categories, and no number."""
    types = types_in(table)
    for name in targets:
        if name in types and is_date(types[name]):
            raise _no_target(name, [f"{name}_{part}" for part in date_parts(types[name])])


def _no_target(date: str, parts: Sequence[str]) -> ColumnError:
    return ColumnError(
        Argument("y", date),
        f" is a date or time; name one of its parts: {', '.join(map(repr, parts))}; or make a number of it",
    )


def refuse_listed_names(y: Any, names: Sequence[str]) -> None:
    """Raise where `y` is a list of names of columns: a list holds one value per row, and several targets are a tuple."""
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
            "values, one per row: to name columns pass ",
            Argument("y", meant),
        )
