"""Features of files of any size: read, transform and write batch by batch; the output appears whole or not at all.

`save` and `load`: one safe file for moments and for every estimator.

A model file holds the class's name (looked up in a fixed list, never imported by path), its parameters, and its fitted
attributes, without the moments it was fitted from unless it goes on from them (extreme learning machines). Loading builds
only the values that `gramian.maps.state` lists.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from gramian.design.kinds import names_of
from gramian.engines.base import Engine
from gramian.errors import Argument, Call, ColumnError, DataError, FileFormatError, GramianError, NoRowsError
from gramian.estimators.registry import estimator_class
from gramian.estimators.spine import fields
from gramian.estimators.spine.estimator import assign, solve
from gramian.estimators.spine.lookups import with_lookups
from gramian.estimators.spine.outputs import Outputs, RowMethod, outputs_of
from gramian.maps import state
from gramian.moments import file as moments_file
from gramian.moments.value import Moments
from gramian.parameters import check, check_parameters
from gramian.progress import Progress
from gramian.storage import container
from gramian.storage.atomic import appearing
from gramian.tables import ArrowTable, open_table
from gramian.tables.base import home_of, typed
from gramian.tables.opening import refuse_input_as_output
from gramian.tables.write import table_writer


def transform_stream(
    model: Any,
    source: Any,
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    methods: Sequence[str] | None = None,
    dtype: str = "float64",
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
    lookup: Mapping[str, Any] | None = None,
) -> pa.RecordBatchReader:
    """Return a reader of the features of a source, one output row per input row, in order.

    A model of distances takes a source whose only column holds the objects. Where an object is a row of numbers or of a mixed
    table, or rows hold distances, the columns are those of fit, by name if they had names. Which of several columns is meant is
    never guessed, whatever `keep` says.

    Parameters
    ----------
    model : fitted estimator
        Any that has the method.
    source : any source of `collect`
        Read batch by batch, while batches before are transformed.
    keep : str or list of str, optional
        Columns copied through, in front of the features.
    method : str
        `"transform"`, or another method of the model: `"predict"`, `"predict_proba"`, `"anomaly_score"`...
    methods : list of str, optional
        Several methods in place of `method`: their columns stand side by side, and every batch is read and encoded once.
    dtype : {"float64", "float32"}
        Of the features.
    missing : {"raise", "fill"}
        `"fill"`: a column that a file lacks, or all of them, is missing values there; and a source without rows gives none.
    csv : dict, optional
        How CSV files are written, as in `collect`.
    engine : {"local", "dask"} or Engine, optional
        Where rows are transformed, as in `collect`; they come back here, in order.
    lookup : mapping, optional
        Tables to join while rows stream, `{key: table}`, with one row per key, for a model of moments with tables attached
        (`Moments.attach`). A key that a table lacks has missing values. Of each table the columns that are read are held in
        memory.

    Returns
    -------
    pyarrow.RecordBatchReader

    See Also
    --------
    transform_file : the same, written to a file.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 4.0]})
    >>> model = gm.PCA(n_components=1).fit(table)
    >>> gm.transform_stream(model, table, keep="color").read_all().column_names
    ['color', 'pca0']
    >>> gm.transform_stream(model, table, methods=["transform", "score_samples"]).read_all().column_names
    ['pca0', 'score_samples']
    """
    outputs, asked, kept = _asked(model, [method] if methods is None else list(methods), keep, dtype)
    table = typed(open_table(source, categorical=outputs.text_columns, csv=csv, missing=missing))
    if lookup is not None:
        needed = None if outputs.columns is None else [*outputs.columns, *kept]
        table = with_lookups(table, lookup, needed, text_columns=outputs.text_columns)
    if missing == "fill":
        table = outputs.filled(table)
    return row_stream(outputs, table, asked, keep=kept, dtype=dtype, missing=missing, engine=engine)


def _asked(model: Any, methods: list[str], keep: Any, dtype: str) -> tuple[Outputs, list[str], list[str]]:
    """Return the contract of a model, the methods and the columns to keep, checked before any data is opened."""
    outputs = outputs_of(model)
    check("dtype", dtype, "float64", "float32")
    outputs.require(methods)
    kept = names_of(keep, called="keep")
    clash = set(kept).intersection(name for method in methods for name in outputs.names(method))
    if clash:
        raise ColumnError(
            Argument("keep"), f" names {min(clash)!r}, which is also a feature's name; rename the column first"
        )
    return outputs, methods, kept


def row_stream(
    outputs: Outputs,
    table: ArrowTable,
    methods: Sequence[str],
    *,
    keep: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    dtype: str = "float64",
    missing: str = "raise",
    engine: str | Engine | None = None,
) -> pa.RecordBatchReader:
    """Return a reader of what methods give for the rows of an opened table, behind the columns kept.

    Parameters
    ----------
    outputs : Outputs
        The contract of the model.
    table : ArrowTable
    methods : sequence of str
        Some of `outputs.methods`.
    keep : sequence of str
        Columns copied through. Names are not compared with those of the results.
    columns : sequence of str, optional
        For a model of distances the columns of the objects, where they are not the only ones.
    dtype, missing, engine
        As in `transform_stream`.
    """
    names = [*keep, *(name for method in methods for name in outputs.names(method))]
    answer = partial(_answered, outputs, list(methods), list(keep), names, np.dtype(dtype))
    batches = outputs.map(table, answer, keep=keep, width=len(names), columns=columns, engine=engine)
    try:
        first = next(batches)
    except NoRowsError:
        if missing != "fill":
            raise
        types = [kind for method in methods for kind in outputs.types(method, table.schema, dtype)]
        kept = [table.schema.field(name).type for name in keep]
        return pa.RecordBatchReader.from_batches(pa.schema(list(zip(names, [*kept, *types], strict=True))), [])
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def _answered(
    outputs: Outputs,
    methods: list[str],
    kept: list[str],
    names: list[str],
    dtype: Any,
    rows: Any,
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    arrays = [*(batch.column(name) for name in kept), *outputs.answers(methods, rows, dtype)]
    return pa.record_batch(arrays, names=names)


def transform_file(
    model: Any,
    source: Any,
    out: str | os.PathLike[str],
    *,
    keep: str | Sequence[str] | None = None,
    method: str = "transform",
    dtype: str = "float64",
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
    lookup: Mapping[str, Any] | None = None,
    spreadsheet_safe: bool = False,
) -> int:
    """Write the features of a source of any size to a file, and return the number of rows.

    One output row per input row, in order. The file appears under its name only when it is whole. A symbolic link as `out` is
    written through: the file that it leads to is replaced, and the link stays.

    Parameters
    ----------
    model : fitted estimator
        Any that has the method. For models of distances see `transform_stream`.
    source : any source of `collect`
        Read batch by batch. It must not include `out`, also not through a link.
    out : path
        `.parquet`, `.csv`, `.csv.gz`, `.arrow` or `.feather`. Of a Spark frame, a new folder of Parquet files, which the
        executors write.
    keep : str or list of str, optional
        Columns copied through, in front of the features.
    method : str
        `"transform"`, or another method of the model: `"predict"`, `"predict_proba"`, `"decision_function"`,
        `"anomaly_score"`, `"score_samples"`.
    dtype : {"float64", "float32"}
        Of the features.
    missing : {"raise", "fill"}
        `"fill"`: a column that a file lacks, or all of them, is missing values there; and a source without rows gives none.
    csv : dict, optional
        How CSV files are written, as in `collect`.
    engine : {"local", "dask"} or Engine, optional
        Where rows are transformed, as in `collect`; they come back here, in order.
    lookup : mapping, optional
        Tables to join while rows stream, `{key: table}`, with one row per key, for a model of moments with tables attached
        (`Moments.attach`). A key that a table lacks has missing values. Of each table the columns that are read are held in
        memory.
    spreadsheet_safe : bool
        For CSV files that people open in a spreadsheet: text (and names of columns) that it would run as a formula is written
        behind an apostrophe. Numbers stay as they are. Leave it off where a program reads the file.

    Returns
    -------
    int
        Rows written.

    See Also
    --------
    transform_stream : the same as a reader, without a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 4.0]})
    >>> model = gm.PCA(n_components=1).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.transform_file(model, table, pathlib.Path(folder) / "features.csv", keep="color")
    3
    """
    if home_of(source) == "spark" and engine in (None, "spark") and lookup is None:
        return _by_spark(model, source, out, keep=keep, method=method, dtype=dtype, missing=missing)
    refuse_input_as_output(out, source)
    opened = partial(
        transform_stream,
        model,
        source,
        keep=keep,
        method=method,
        dtype=dtype,
        missing=missing,
        csv=csv,
        engine=engine,
        lookup=lookup,
    )
    return write_rows(opened, out, spreadsheet_safe=spreadsheet_safe)


def write_rows(
    opened: Callable[[], pa.RecordBatchReader],
    out: str | os.PathLike[str],
    *,
    spreadsheet_safe: bool | None = None,
    progress: Progress | None = None,
) -> int:
    """Write record batches to a file, which appears whole or not at all, and return the number of rows.

    Parameters
    ----------
    opened : callable
        Gives the reader; it is called once it is known that the file can be written.
    out : path
        Whose suffix names the format.
    spreadsheet_safe : bool, optional
        As in `transform_file`; by default what `spreadsheet_safety` says.
    progress : Progress, optional
        Is told of the rows written.
    """
    n_rows = 0
    with (
        appearing(out) as temporary,
        # Whatever reads ahead in the background has ended when the block has.
        closing(opened()) as reader,
        table_writer(Path(out), temporary, reader.schema, spreadsheet_safe=spreadsheet_safe) as write,
    ):
        for batch in reader:
            write(batch)
            n_rows += batch.num_rows
            if progress is not None:
                progress.advance(batch.num_rows)
    return n_rows


def _by_spark(
    model: Any, frame: Any, out: str | os.PathLike[str], *, keep: Any, method: str, dtype: str, missing: str
) -> int:
    """Have the executors of Spark write the features of a frame, and return the number of rows."""
    from gramian.engines.spark import map_frame, with_missing, write_parquet

    _, _, kept = _asked(model, [method], keep, dtype)
    function = RowMethod(model, method)
    if missing == "fill":
        frame = with_missing(frame, function.columns or [])
    return write_parquet(map_frame(frame, function, function.names, keep=kept, dtype=np.dtype(dtype)), out)


def save(model: Any, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write moments or a fitted estimator to one checksummed file, which appears whole or not at all.

    Parameters
    ----------
    model : Moments or estimator
        Fitted, and one of this package.
    path : path
        A symbolic link is written through.
    metadata : mapping of texts, optional
        Notes to keep in the header.

    See Also
    --------
    load : the way back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit([[1.0, 2.0], [2.0, 4.0], [4.0, 7.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.save(model, pathlib.Path(folder) / "pca.model", metadata={"note": "three rows"})
    ...     gm.load(pathlib.Path(folder) / "pca.model").transform([[1.0, 2.0]]).shape
    (1, 1)
    """
    if isinstance(model, Moments):
        model.save(path, metadata)
        return
    container.write(path, *_parts(model, metadata))


def to_bytes(model: Any) -> bytes:
    """Return what `save` would write of an estimator: how models travel between processes.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit([[1.0, 2.0], [2.0, 4.0], [4.0, 7.0]])
    >>> from_bytes(to_bytes(model)).transform([[1.0, 2.0]]).shape
    (1, 1)
    """
    return container.write_bytes(*_parts(model, None))


def can_be_saved(model: Any) -> bool:
    """Whether an estimator is one of this package, which a file can hold."""
    return estimator_class(type(model).__name__) is type(model)


def _parts(model: Any, metadata: Mapping[str, str] | None) -> tuple[state.Tensors, dict[str, str]]:
    """Return the arrays and the header of a file of an estimator."""
    name = type(model).__name__
    if not can_be_saved(model):
        raise DataError(Call("save"), f" takes Moments or an estimator of this package; got {name}")
    check_is_fitted(model)
    if vars(model).get("_unsolved"):
        solve(model)
    parameters = model.get_params(deep=False)
    fitted = fields.held(model) | getattr(model, "_beside_in_file", dict)()
    tensors: state.Tensors = {}
    return tensors, {
        "kind": "model",
        "class": name,
        "version": moments_file.package_version(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "parameters": json.dumps(state.pack(parameters, tensors, "parameters")),
        "state": json.dumps(state.pack(fitted, tensors, "state")),
        "metadata": json.dumps(moments_file.checked_notes(metadata)),
    }


def load(path: str | os.PathLike[str]) -> Any:
    """Read moments or an estimator written by `save`; nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    Moments or estimator
        A model as it was fitted, without the moments that it was fitted from; an extreme learning machine has them, so that
        what two files hold can be added.

    Raises
    ------
    FileFormatError
        In one line, where the file is damaged, from a newer release, or none of ours.

    See Also
    --------
    save : the way there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.save(gm.collect([[1.0], [3.0]]), pathlib.Path(folder) / "two.moments")
    ...     gm.load(pathlib.Path(folder) / "two.moments").mean()
    array([2.])
    """
    header = container.read_header(path)
    if header.get("kind") == "moments":
        return Moments.load(path)
    if header.get("kind") == "checkpoint":
        again = Call("collect", checkpoint=os.fspath(path))
        raise FileFormatError(
            f"{os.fspath(path)!r} keeps the progress of a pass; the same ", again, " goes on from there"
        )
    return _whole(*container.read(path), os.fspath(path))


def from_bytes(data: bytes, name: str = "the bytes") -> Any:
    """Return an estimator from what `to_bytes` gave; `name` is what errors call it."""
    return _whole(*container.read_bytes(data, name), name)


def _whole(tensors: state.Tensors, header: Mapping[str, str], name: str) -> Any:
    known = estimator_class(header.get("class", ""))
    if header.get("kind") != "model" or known is None:
        raise FileFormatError(
            f"{name!r} holds a {(header.get('class') or header.get('kind', 'value'))[:60]}, which this release does not know; "
            f"upgrade gramian"
        )
    try:
        parameters = state.unpack(json.loads(header["parameters"]), tensors)
        renamed = getattr(known, "_renamed_parameters", {})
        parameters = {renamed.get(key, key): value for key, value in parameters.items()}
        model = known(**parameters)
        check_parameters(model)
        fields.restore(model, _of_earlier(state.unpack(json.loads(header["state"]), tensors)))
        getattr(model, "_take_up", tuple)()
        # What was built from the file is learned as well.
        assign(model, {key: value for key, value in vars(model).items() if key not in parameters})
    except moments_file.MEANINGLESS as error:
        words = str(error) if isinstance(error, GramianError) else moments_file.one_line(error)
        # A text in a file may have any length.
        raise FileFormatError(f"{name!r} does not describe a {known.__name__}: {words[:300]}") from None
    return model


def _of_earlier(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a file, with those that files lack which were written before identifiers were set aside."""
    if "_features" not in values or {"_offered", "_columns_in"} & values.keys():
        return values
    # Every column was a feature then.
    columns = list(values.get("feature_names_in_", values["_features"]))
    return {**values, "_offered": values["_features"], "_columns_in": columns}
