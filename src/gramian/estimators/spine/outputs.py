"""What a fitted model gives for rows: the contract that files, lazy frames, the report and the command line use.

`outputs_of(model)` says of any fitted model which columns it reads, which methods of rows it has, and the names and types of
what each of them returns. It opens and checks a table once; then a model over columns (`design_`) has every batch encoded once,
for as many of its methods as are asked. A family that reads its rows otherwise declares a subclass of `Outputs` as its
`row_outputs`.

Rows that lie in another system stay there: a method of a fitted model gives a lazy frame of the same kind. The model goes to
the workers as it is at the time of the call, as the bytes of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from importlib import import_module
from threading import Event, Lock
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from gramian.engines.base import Engine, batch_rows
from gramian.engines.collect import choose_engine
from gramian.errors import Argument, DataError, NoRowsError, PythonOnly, shown
from gramian.estimators.spine.inputs import columns_in, filling
from gramian.maps.formula import Formula
from gramian.parameters import check
from gramian.tables import ArrowTable
from gramian.tables.base import filled, home_of, typed

Result = TypeVar("Result")

ROW_METHODS = (
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "anomaly_score", "score_samples",
    "black_swans",
)  # fmt: skip
"""Methods that map rows to rows, in the order in which messages list them."""


@dataclass(frozen=True)
class Reading:
    """What a model takes of a table.

    Attributes
    ----------
    columns : list of str
        Those to read.
    prepare : callable
        From a batch with these columns to what the model's methods take.
    """

    columns: list[str]
    prepare: Callable[[pa.RecordBatch], Any]


class Outputs:
    """What one fitted model reads of a table, and what it gives for each row.

    Parameters
    ----------
    model : fitted estimator
        Of this package, or any other with named columns.

    Examples
    --------
    >>> import gramian as gm
    >>> given = outputs_of(gm.PCA(n_components=1).fit(pa.table({"zip": ["01067", "50667"], "size": [1.0, 2.0]})))
    >>> given.columns, given.text_columns, given.methods
    (['zip', 'size'], ['zip'], ['transform', 'score_samples', 'black_swans'])
    >>> given.names("transform")
    ['pca0']
    """

    whole = False
    """Whether what a row gives depends on the rows before it: all rows are then read at once."""
    serial = False
    """Whether batches are mapped one at a time."""
    tables: ClassVar[Mapping[str, Mapping[str, pa.DataType]]] = {}
    """Further methods, each of which returns several columns as a dict: their names and types."""

    def __init__(self, model: Any) -> None:
        self.model = model

    # What is read

    @property
    def columns(self) -> list[str] | None:
        """The source columns that are read; None where the model itself says what it takes."""
        design = getattr(self.model, "design_", None)
        return None if design is None else list(design.origins)

    @property
    def columns_by_name(self) -> list[str] | None:
        """The source columns that are read; None also where fit saw no names, and columns go by position."""
        return self.columns if "feature_names_in_" in vars(self.model) else None

    @property
    def text_columns(self) -> list[str]:
        """The columns that held text in fit: those of a CSV file are then read as they are written."""
        design = getattr(self.model, "design_", None)
        if design is None:
            return []
        known = zip(design.categorical, design.labels, strict=True)
        return [column.name for column, labels in known if column.part is None and labels.family == "text"]

    @property
    def targets(self) -> list[str]:
        """The names of the target columns of fit, where it had some."""
        return [str(name) for name in vars(self.model).get("_targets", ())]

    def filled(self, table: ArrowTable) -> ArrowTable:
        """Return a table in which the columns that the model reads and the table lacks are missing values."""
        columns = self.columns
        return table if columns is None else typed(filled(table, columns))

    def reading(self, table: ArrowTable, columns: Sequence[str] | None = None) -> Reading:
        """Return how the model reads a table, having checked that it can.

        Parameters
        ----------
        table : ArrowTable
        columns : sequence of str, optional
            For a model of distances the columns of the objects, where that is known.
        """
        design = getattr(self.model, "design_", None)
        if design is None:
            # A model of another kind takes named columns and checks every batch itself.
            return self._selecting(getattr(self.model, "feature_names_in_", table.schema.names), table)
        there = set(table.schema.names)
        table.require(name for name in design.origins if name in there)
        design.check(table.schema.names)
        return Reading(list(design.origins), design.encode)

    def _selecting(self, names: Sequence[Any], table: ArrowTable) -> Reading:
        chosen = [str(name) for name in names]
        table.require(chosen)
        return Reading(chosen, partial(_selected, chosen))

    # What is given

    @property
    def methods(self) -> list[str]:
        """The methods of rows that the model has."""
        return [name for name in (*ROW_METHODS, *self.tables) if hasattr(self.model, name)]

    def require(self, methods: Sequence[str]) -> None:
        """Raise where the model is not fitted, or lacks one of these methods."""
        check_is_fitted(self.model)
        known = self.methods
        for method in methods:
            if method not in known:
                raise DataError(
                    f"{type(self.model).__name__} has no method {shown(method)} for files; it has {', '.join(known)}"
                )

    def formula(self, method: str) -> Formula:
        """Return how what a method gives follows from a row; raise where the model has no such method, or no formula."""
        self.require([])
        written = getattr(self.model, "_formula", lambda method: None)
        found = written(method)
        others = [name for name in self.methods if written(name) is not None]
        if method not in self.methods and others:
            raise DataError(
                f"{type(self.model).__name__} has no method {shown(method)}; export ", Argument("method", others[0]),
                *([f" or {', '.join(others[1:])}"] if others[1:] else []),
            )  # fmt: skip
        if found is None:
            raise DataError(
                f"{method} of {type(self.model).__name__} cannot be exported: it is not a formula of one row; use ",
                PythonOnly("gramian.transform_file, or "),
                "gramian transform, predict or detect",
            )
        return found

    def names(self, method: str, *, design: bool = False) -> list[str]:
        """Return the names of the columns that a method's result becomes.

        Parameters
        ----------
        method : str
            One of `methods`, or "inverse_transform".
        design : bool
            Of the latter: design columns in place of source columns.
        """
        model = self.model
        if method in self.tables:
            return list(self.tables[method])
        if method == "transform":
            return [str(name) for name in model.get_feature_names_out()]
        if method == "inverse_transform":
            return list(model.design_.names if design else model.design_.origins)
        if method == "black_swans":
            return self.columns_of_fit
        several = getattr(model, "_output_names", None)
        if method == "predict" and several:
            return [f"prediction_{name}" for name in several]
        if method == "predict_proba":
            if several:
                sides = zip(several, model.classes_, strict=True)
                return [f"probability_{name}_{label}" for name, labels in sides for label in labels]
            return [f"probability_{label}" for label in model.classes_]
        if method == "predict_log_proba":
            return [f"log_{name}" for name in self.names("predict_proba")]
        if method == "decision_function" and len(getattr(model, "classes_", ())) > 2:
            return [f"decision_{label}" for label in model.classes_]
        return [{"predict": "prediction", "decision_function": "decision"}.get(method, method)]

    @property
    def columns_of_fit(self) -> list[str]:
        """The source columns that fit was given: those that are read, and identifiers that were set aside."""
        return columns_in(self.model, self.model.design_)

    def types(self, method: str, schema: pa.Schema, dtype: str) -> list[pa.DataType]:
        """Return the types of these columns.

        Parameters
        ----------
        method : str
        schema : pyarrow.Schema
            Of the rows, which selectors pass on.
        dtype : {"float64", "float32"}
            Of the features.
        """
        if method in self.tables:
            return list(self.tables[method].values())
        if method == "predict" and hasattr(self.model, "classes_"):
            several = isinstance(self.model.classes_, list)
            return [pa.array(labels).type for labels in (self.model.classes_ if several else [self.model.classes_])]
        kind = pa.bool_() if method == "black_swans" else pa.type_for_alias(dtype)
        return [kind] * len(self.names(method))

    def answers(self, methods: Sequence[str], rows: Any, dtype: Any) -> list[pa.Array]:
        """Return the columns that methods give for rows, as arrays whatever `set_output` says for people.

        Parameters
        ----------
        methods : sequence of str
        rows : what `Reading.prepare` gives, or rows in memory
        dtype : numpy type
            Of results that are floats.
        """
        with config_context(transform_output="default"):
            found = self._found(methods, rows)
        return [column for method in methods for column in _columns(found[method], dtype)]

    def _found(self, methods: Sequence[str], rows: Any) -> dict[str, Any]:
        """Return what each method gives; the class of a row is the likeliest where probabilities are asked for too."""
        found: dict[str, Any] = {}
        if {"predict", "predict_proba"} <= set(methods) and isinstance(self.model, MapsFrames):
            model: Any = self.model
            known, given = model.classes_, model.predict_proba(rows)
            pairs = zip(known, given, strict=True) if isinstance(given, list) else [(known, given)]
            found = {"predict_proba": given, "predict": [labels[part.argmax(axis=1)] for labels, part in pairs]}
        return found | {method: getattr(self.model, method)(rows) for method in methods if method not in found}

    def map(
        self,
        table: ArrowTable,
        function: Callable[[Any, pa.RecordBatch], Result],
        *,
        keep: Sequence[str] = (),
        width: int = 0,
        columns: Sequence[str] | None = None,
        engine: str | Engine | None = None,
    ) -> Iterator[Result]:
        """Yield a function of each batch of a table as the model takes it, and of the batch itself, in order.

        Parameters
        ----------
        table : ArrowTable
        function : callable
            Of what the model's methods take and of the record batch.
        keep : sequence of str
            Columns that the batch has beside those of the model.
        width : int
            Values that a row becomes: batches are the shorter for it.
        columns : sequence of str, optional
            See `reading`.
        engine : str or Engine, optional
            Where the function is called; by default where the table is at home.

        Raises
        ------
        DataError
            At once, where the table lacks a column; with the first batch, where it has no rows.
        """
        check_is_fitted(self.model)
        reading = self.reading(table, columns)
        table.require(keep)
        needed = list(dict.fromkeys([*reading.columns, *keep]))
        work = _Work(reading.prepare, function)
        if self.whole:
            schema = pa.schema([table.schema.field(name) for name in needed])
            rows = pa.Table.from_batches(list(table.batches(needed)), schema).combine_chunks()
            return _some(iter([work(batch) for batch in rows.to_batches()]), table.describe)
        runs = choose_engine(engine, table, n_jobs=1 if self.serial else None)
        return _some(runs.map(table, work, columns=needed, rows=batch_rows(len(needed) + width)), table.describe)


class SequenceOutputs(Outputs):
    """Of a model to which the rows of a table are the steps of one sequence."""

    whole = True


class SerialOutputs(Outputs):
    """Of a model whose libraries do not allow two calls at once."""

    serial = True


class SelectedOutputs(Outputs):
    """Of a selector, which passes columns on as they are: files are read column by column, and not encoded."""

    @property
    def columns(self) -> list[str] | None:
        """The source columns that are read, and those passed on."""
        return list(dict.fromkeys([*self.model.design_.origins, *self.names("transform")]))

    @property
    def methods(self) -> list[str]:
        """The methods of rows that need the columns that stay, and no others."""
        return [name for name in super().methods if name != "black_swans"]

    def reading(self, table: ArrowTable, columns: Sequence[str] | None = None) -> Reading:
        """Return how the columns that stay are read."""
        return self._selecting(self.names("transform"), table)

    def names(self, method: str, *, design: bool = False) -> list[str]:
        """Return the names of the columns that a method's result becomes."""
        return self.columns_of_fit if method == "inverse_transform" else super().names(method)

    def types(self, method: str, schema: pa.Schema, dtype: str) -> list[pa.DataType]:
        """Return the types of these columns."""
        if method == "transform":
            return [schema.field(name).type for name in self.names(method)]
        return super().types(method, schema, dtype)

    def _found(self, methods: Sequence[str], rows: Any) -> dict[str, Any]:
        # A wrapped model may predict another class than the likeliest.
        return {method: getattr(self.model, method)(rows) for method in methods}


def outputs_of(model: Any) -> Outputs:
    """Return the contract of a fitted model.

    Examples
    --------
    >>> import gramian as gm
    >>> fitted = gm.VarianceFilter(k=1).fit(pa.table({"a": [1.0, 1.0, 2.0], "b": [5.0, 1.0, 9.0]}))
    >>> outputs_of(fitted).names("transform")
    ['b']
    """
    kind: type[Outputs] = getattr(type(model), "row_outputs", Outputs)
    return kind(model)


def _selected(names: list[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(names)


def _columns(answer: Any, dtype: Any) -> Iterator[pa.Array]:
    """Yield the columns of what a method returned; of several targets it is a list, of several columns a dict."""
    if isinstance(answer, pa.RecordBatch):
        yield from answer.columns
        return
    parts = answer if isinstance(answer, list) else answer.values() if isinstance(answer, dict) else [answer]
    for part in map(np.asarray, parts):
        for column in part.T if part.ndim > 1 else [part]:
            yield pa.array(column if column.dtype.kind in "OUib" else column.astype(dtype, copy=False))


class _Work(Generic[Result]):
    """A function of rows as a model takes them, as one of batches; it may be sent to another process.

    A model may solve when it is first asked: that is done once, and not by two threads at a time.
    """

    def __init__(
        self, prepare: Callable[[pa.RecordBatch], Any], function: Callable[[Any, pa.RecordBatch], Result]
    ) -> None:
        self._prepare, self._function = prepare, function
        self._first, self._solved = Lock(), Event()

    def __reduce__(self) -> Any:
        return type(self), (self._prepare, self._function)

    def __call__(self, batch: pa.RecordBatch) -> Result:
        rows = self._prepare(batch)
        if self._solved.is_set():
            return self._function(rows, batch)
        with self._first:
            result = self._function(rows, batch)
        self._solved.set()
        return result


def _some(results: Iterator[Result], describe: str) -> Iterator[Result]:
    """Yield results, of which there must be one."""
    empty = True
    for result in results:
        empty = False
        yield result
    if empty:
        raise NoRowsError(f"{describe} has no rows")


# Rows of Dask and Spark

_MAPPERS = {"dask": "gramian.engines.dask", "spark": "gramian.engines.spark"}
"""Per system the module whose `map_frame(frame, function, names)` gives a lazy frame."""


class RowMethod:
    """A method of a fitted model as a function that travels.

    Parameters
    ----------
    model : fitted estimator
    method : str
        One of `ROW_METHODS`, or "inverse_transform".
    design : bool
        Of the latter: design columns in place of source columns.

    Attributes
    ----------
    names : list of str
        Of the columns that it gives.
    columns : list of str or None
        Those that it reads; None where they go by position.

    Examples
    --------
    >>> import gramian as gm
    >>> RowMethod(gm.PCA(n_components=1).fit([[1.0, 2.0], [3.0, 1.0]]), "transform").names
    ['pca0']
    """

    def __init__(self, model: Any, method: str, design: bool = False) -> None:
        outputs = outputs_of(model)
        self.names = outputs.names(method, design=design)
        self.columns = None if method == "inverse_transform" else outputs.columns_by_name
        self._options = {"design": True} if design else {}
        self._model, self._method = copy(model), method

    def __getstate__(self) -> dict[str, Any]:
        # As its file, which no code comes with; a model of another package as it is. Whoever maps frames asks for the meta
        # first, here, so that what a model solves when it is first asked is solved.
        from gramian.estimators.spine.files import can_be_saved, to_bytes

        model = to_bytes(self._model) if can_be_saved(self._model) else self._model
        return {**vars(self), "_model": model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state["_model"]
        vars(self).update(state, _model=_opened(model) if isinstance(model, bytes) else model)

    def __call__(self, rows: Any) -> Any:
        """Return what the method gives for rows in memory, as arrays whatever `set_output` says for people."""
        with config_context(transform_output="default"):
            values = getattr(self._model, self._method)(rows, **self._options)
        if self._method == "inverse_transform" and not hasattr(values, "dtype") and not hasattr(values, "iloc"):
            # Columns of several types, as the library of fit has them: partitions are of pandas.
            values = values.to_pandas()
        # Of several targets the probabilities are a list.
        return np.hstack(values) if isinstance(values, list) else values


@lru_cache(maxsize=4)
def _opened(data: bytes) -> Any:
    """Return a model from its file, once in each process: a worker does many tasks."""
    from gramian.estimators.spine.files import from_bytes

    return from_bytes(data, "a model")


class MapsFrames:
    """An estimator whose methods of rows take distributed frames, and return lazy ones.

    Where the model knows its columns by name, these methods and `explain` also take a keyword `missing`: `"raise"`, the
    default, or `"fill"`, with which a column that the rows lack is missing values, as in `gramian.transform_file`.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit(pa.table({"zip": ["01067", "50667"], "size": [1.0, 2.0]}))
    >>> alike = model.transform({"zip": "01067"}, missing="fill") == model.transform({"zip": "01067", "size": None})
    >>> bool(alike)
    True
    """

    row_outputs: ClassVar[type[Outputs]] = Outputs
    """What a fitted model gives for rows."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in (*ROW_METHODS, "explain", "inverse_transform"):
            method = vars(cls).get(name)
            if hasattr(method, "fn"):
                # scikit-learn's `available_if` keeps the function inside.
                method.fn = _of_rows(name, method.fn)  # type: ignore[union-attr]
            elif callable(method):
                setattr(cls, name, _of_rows(name, method))


def _of_rows(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of rows that gives lazy frames of lazy frames, and takes `missing`."""

    # Not in the signature: scikit-learn would route each of its keywords as metadata of the method.
    @wraps(method)
    def mapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        home = home_of(X)
        if "missing" in kwargs and name != "inverse_transform" and _fills(self, name, home, kwargs.pop("missing")):
            with filling():
                return method(self, X, *args, **kwargs)
        if home in _MAPPERS and (name in ROW_METHODS or (home == "dask" and name != "explain")):
            check_is_fitted(self)
            function = RowMethod(self, name, *args, **kwargs) if name == "inverse_transform" else RowMethod(self, name)
            return import_module(_MAPPERS[home]).map_frame(X, function, function.names)
        return method(self, X, *args, **kwargs)

    return mapped


def _fills(model: Any, name: str, home: str | None, missing: Any) -> bool:
    """Whether a method is to take columns that rows lack as missing values; raise where it cannot."""
    check("missing", missing, "raise", "fill")
    if missing == "raise":
        return False
    check_is_fitted(model)
    outputs = outputs_of(model)
    why = None
    if home in _MAPPERS:
        why = f"is for rows in memory; add the columns to the {home.capitalize()} frame"
    elif name == "transform" and isinstance(outputs, SelectedOutputs):
        why = f"cannot be had of {type(model).__name__}, which passes columns on as they are; add the columns"
    elif outputs.columns_by_name is None:
        why = f"needs columns with names, and {type(model).__name__} was not fitted on any; pass every column"
    if why is not None:
        raise DataError(Argument("missing", "fill"), f" of {name} {why}")
    return True
