"""`collect`: one pass over any source, to `Moments`.

Which engine a name, or a source, stands for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.memory import allowing_memory, arrow_from_the_system, parse_bytes
from gramian.design.bins import bins_for
from gramian.design.crosses import cross_columns, needs_sample, refuse_crosses, refuse_many_cells
from gramian.design.encoder import Encoder
from gramian.design.kinds import names_of, plan_columns, types_of
from gramian.design.pair_tables import refuse_many_tables
from gramian.design.schema import Column, Schema, number_values
from gramian.engines.base import CollectOptions, Engine, Names
from gramian.engines.checkpoint import Checkpoint
from gramian.engines.local import LocalEngine, named
from gramian.errors import Argument, ColumnError, DataError, NoRowsError, shown, unknown_column
from gramian.moments.advice import advise_pooling
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import decoded, filled, innermost

_LOG = logging.getLogger("gramian")

SAMPLE_ROWS = 100_000
"""Rows that bins are made of."""


def collect(
    source: Any,
    *,
    columns: Names = None,
    exclude: Names = None,
    categorical: Names = None,
    numeric: Names = None,
    targets: Names = None,
    sample_weight: str | npt.ArrayLike | None = None,
    like: Moments | str | PathLike[str] | None = None,
    folds: int = 0,
    fold_by: str | None = None,
    random_state: int = 0,
    engine: str | Engine | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    progress: bool | None = None,
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    target_missing: str | None = None,
    bins: str | int | Mapping[str, Any] | None = None,
    crosses: Sequence[tuple[str, str]] | None = None,
) -> Moments:
    """Read a table once and return its moments.

    Parameters
    ----------
    source : path, list of paths, glob, folder, frame, Arrow data, array, sparse matrix, distributed frame, or batches
        Parquet, CSV(.gz), Arrow IPC/Feather or JSON-lines files, spreadsheets (.xlsx); a pandas or polars frame; a pyarrow
        Table, Dataset or RecordBatchReader; anything with `__arrow_c_stream__`; a numpy array or nested list of numbers; a
        scipy sparse matrix; a Dask DataFrame or 2-d Array; a Spark DataFrame; an Ibis table, or its address such as
        `"postgres://HOST/DB::TABLE"`; a generator or list of tables or arrays.
    columns, exclude : str or list of str, optional
        Read only these columns; leave these out.
    categorical, numeric : str or list of str, optional
        Kinds that are not to be inferred. By default text, dictionaries and booleans are categorical; floats, decimals
        and durations (in seconds) numeric; dates become categorical parts (`when_dayofweek`, Monday = 0, `when_month`,
        `when_hour`) as clocks of their own time zone show them; integers are numeric and collected by level while they show
        at most 64 distinct values and their pairs with other columns need at most 262,144 tables; then they are numbers
        only, which the log says.
    targets : str or list of str, optional
        Columns that may be named as `y` later and are never features. Rows in which one of them is missing are left out; see
        `target_missing`.
    sample_weight : str or array, optional
        A column, or one value a row: how often each row counts. Rows of weight 0 are not seen.
    like : Moments or path of a moments file, optional
        Columns and kinds to enforce.
    folds : int
        Also keep the moments of this many folds, 0 for none.
    fold_by : str, optional
        Column whose value decides the fold, by a seeded hash, so that equal values share a fold wherever they are met. By
        default each fold occurs once in every `folds` consecutive rows.
    random_state : int
        Seed of the folds.
    engine : {"local", "dask", "spark", "ibis"} or Engine, optional
        Where the pass runs; by default where the source is at home: a Dask frame or array on Dask, a Spark frame on Spark, an
        Ibis table of a server in its database (`docs/joins.md`), all else in this process. `"dask"` also has files read by the
        workers of the current `distributed.Client`, `"spark"` by the executors of the active session, where `source` may also
        be the name of a table.
    n_jobs : int, optional
        Threads; by default the cores this process may use. On Dask and Spark threads of one task, by default 1.
    memory_limit : int or str, optional
        Bytes, or words such as `"2GB"`, that the process may grow by during the pass, a tenth more or less (on Dask and Spark,
        in one task); by default what the machine, its control group or `ulimit -v` leaves free. What would take more is refused
        as soon as it is known.
    progress : bool, optional
        Show rows, speed and time left; by default on a terminal only.
    missing : {"raise", "fill"}
        A column that one file or batch lacks, or that `like` has and the source has not: `"fill"` takes it as missing values
        there, `"raise"` is an error that names this option. With `"fill"` a source without rows gives empty moments, the
        identity of `+`, and `exclude` may name columns that are not there. Files without any bytes are left out of a list
        either way.
    csv : dict, optional
        How CSV files are written, where that is not to be found in a sample of their lines: `delimiter`, `decimal`,
        `thousands`, `encoding`, `date_format` (as `strptime` has it), `header` (its line, counted from 1) and `empty` (a
        quoted empty field is `"text"` or `"missing"`), any of them; of spreadsheets `sheet`, by name; of both and of JSON
        lines `na`, a list of words that are missing values in every column. What was found goes to the log `gramian`. Columns
        named in `categorical` are read as they are written, leading zeros included. Empty fields are missing. Words such as
        NA, n/a, NULL, None and - are missing among numbers and dates, and texts among texts.
    checkpoint : path, optional
        Keep progress in this file, every few seconds. The same call after a crash goes on from there and ends with the same
        bits as one that was never stopped (with another `n_jobs`, the same counts); the file is removed at the end. Files
        only, on the local engine. A checkpoint of other data or other options is refused. What was being read is read
        again: of Parquet the row group, of text files and Arrow IPC the file.
    target_missing : {"drop", "raise"}, optional
        What to do with rows in which a column of `targets` is missing. `"drop"`, the default, leaves them out and says in the
        log `gramian` how many (`rows_left_out` of the moments); `"raise"` is an error. Rows cannot be taken out of moments
        afterwards: a column that has missing values and is not named in `targets` cannot be a target later.
    bins : "auto", int or dict, optional
        Also collect numbers in bins, as a categorical column `age_bin` beside the number `age`: linear methods then see
        curves. `"auto"` makes at most 16 bins of each number, an int at most that many, a dict says it by column: `"auto"`, a
        count or a list of edges. Counts need a sample of the first 100,000 rows, read beforehand: bins hold equally many of its
        rows, and a value that more than one row in 16 holds has a bin of its own. Missing is a bin. Edges are part of the
        schema: to count the same bins in other files, pass `like`. Targets have no bins.
    crosses : list of pairs of names, optional
        Also collect two columns as one category, `age & city`, with a level for each pair of levels: what a pair adds to its
        two columns. A number is read by its bins; of a number and a category there is also the number within the levels of the
        category, `age & city=Ulm`. Models pool cells of fewer than 20 rows. Crosses are part of the schema, as bins are.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "blue", None], "age": [31.0, 28.0, None], "bought": [0, 1, 1]}),
    ...                targets="bought")
    >>> m.levels("color"), m.kind("bought"), m.mean("age")
    (['red', 'blue', None], 'numeric', array([29.5]))
    """
    # The options are described, one by one, by the arguments above.
    options = {name: value for name, value in locals().items() if name != "source"}
    return note_left_out(collect_attached(source, {}, CollectOptions(**options)))


def collect_attached(
    source: Any,
    attached: Mapping[str, pa.Array],
    options: CollectOptions,
    wrap: Callable[[Encoder], Encoder] | None = None,
) -> Moments:
    """Collect a source together with columns given beside it, one value per row: how a target passed as an array gets in.

    `categorical`, `numeric` and `targets` of the options may name attached columns; everything else is as in `collect`.
    `wrap` makes an encoder of something else than the columns themselves of the one that was planned.
    """
    choose = partial(choose_engine, n_jobs=options.n_jobs, memory_limit=options.memory_limit, progress=options.progress)
    # A wrong name is told before anything is opened.
    source = choose(options.engine).resolved(source)
    kept = options.kept
    try:
        limit = None if options.memory_limit is None else parse_bytes(options.memory_limit)
        with arrow_from_the_system(limit), allowing_memory(limit):
            table, inner = planned(source, attached, options)
            encoder = inner if wrap is None else wrap(inner)
            engine = choose(options.engine, table)
            moments = engine.reduce(table, encoder) if kept is None else engine.reduce_kept(table, inner, kept)
    except NoRowsError:
        if options.missing != "fill":
            raise
        return Moments.empty()
    if options.crosses:
        levels = dict(zip(moments.coded, map(len, moments.labels), strict=True))
        refuse_many_cells(moments.schema.columns, levels, moments.n_rows)
    advise_pooling(moments)
    return moments.from_library(library_of(source))


def note_left_out(moments: Moments) -> Moments:
    """Return moments that were just collected; say in the log how many rows have no target and were left out."""
    if moments.rows_left_out:
        note_missing(moments.rows_left_out, moments.n_rows + moments.rows_left_out, moments.targets)
    return moments


def note_missing(count: int, n_rows: int, targets: Sequence[str]) -> None:
    """Say in the log how many rows are left out because a target is missing."""
    _LOG.info(f"left out {count:,} of {n_rows:,} rows: target {named(targets)} is missing there")


def planned(
    source: Any, attached: Mapping[str, pa.Array], options: CollectOptions
) -> tuple[ArrowTable | ArrayTable, Encoder]:
    """Return the table to read and the encoder of its rows: what a pass does, settled before it begins."""
    model = options.model
    enforced = None if model is None else model.schema
    numeric = names_of(options.numeric, called="numeric")
    targets = names_of(options.targets, called="targets")
    weight_column = options.weight_column
    categorical = names_of(options.categorical, called="categorical")
    families = None if model is None else _families(model)
    as_text = [name for name, family in (families or {}).items() if family == "text"]
    table = open_table(
        source,
        numeric=[name for name in numeric if name not in attached],
        categorical=[*categorical, *as_text],
        csv=options.csv,
        missing=options.missing,
    )
    if enforced is not None and options.missing == "fill":
        table = filled(table, {origin for column in enforced for origin in column.origins} - set(attached))
    asked = {*targets, *categorical} - set(attached)
    # Targets are looked through for missing values, and so are columns of a table.
    of_category = enforced is not None and any(
        column.form == "category" or column.target or column.crossed for column in enforced
    )
    if isinstance(table, ArrayTable) and (
        weight_column or options.fold_by or asked or of_category or options.bins or options.crosses
    ):
        table = table.as_arrow()
    names = table.schema.names if isinstance(table, ArrowTable) else list(table.names)
    if weight_column is not None and weight_column in targets:
        raise ColumnError(
            f"column {weight_column!r} is named in ",
            Argument("targets"),
            " and in ",
            Argument("sample_weight"),
            "; keep one",
        )
    for role, name in (("sample_weight", weight_column), ("fold_by", options.fold_by)):
        if name is not None and name not in names:
            error = unknown_column(name, names)
            raise type(error)(Argument(role, name), ": ", error)
    types = types_of(table.schema) if isinstance(table, ArrowTable) else dict.fromkeys(names, pa.float64())
    types |= {name: values.type for name, values in attached.items()}
    schema = plan_columns(
        types,
        columns=options.columns,
        exclude=_excluded(options, types),
        categorical=options.categorical,
        numeric=options.numeric,
        targets=options.targets,
        reserved=[weight_column] if weight_column else [],
        like=enforced,
    )
    if options.bins is not None:
        schema = _with_bins(schema, table, options, set(attached))
    if options.crosses:
        schema = _with_crosses(schema, table, options, names)
    # Each has a level at least; integers may still turn out to be plain numbers.
    refuse_many_tables([1] * sum(column.form == "category" for column in schema))
    encoder = Encoder(
        schema,
        weight_column=weight_column,
        fold_column=options.fold_by,
        n_folds=options.folds,
        seed=int(options.random_state),
        attached=attached,
        families=families,
        weights=options.weights,
        target_missing=options.target_missing,
    )
    return table, encoder


def _with_bins(schema: Schema, table: Any, options: CollectOptions, attached: Collection[str]) -> Schema:
    """Return a schema with the bins that are asked for, each behind its number."""
    if options.model is not None:
        raise ColumnError(Argument("like"), " fixes columns and kinds; leave ", Argument("bins"), " out")
    given = options.bins if isinstance(options.bins, Mapping) else None
    for name in given or ():
        if name not in schema or schema[name].kind != "numeric" or schema[name].target:
            known = [c.name for c in schema if c.kind == "numeric" and not c.target]
            what = "it is a target" if name in schema and schema[name].target else "it is not a number"
            raise (
                unknown_column(name, known)
                if name not in schema
                else ColumnError(f"column {name!r} is named in ", Argument("bins"), f", and {what}; leave it out there")
            )
    numbers = [c for c in schema if c.kind == "numeric" and not c.target and c.origin not in attached]
    asked = {
        c.name: options.bins if given is None else given[c.name] for c in numbers if given is None or c.name in given
    }
    counted = [name for name, each in asked.items() if isinstance(each, str | int)]
    edges = Argument("bins", {name: [0, 10, 20] for name in counted[:1]})
    read = _sample(table, counted, Argument("bins"), " reads", "give edges, as in ", edges)
    sample = {name: np.concatenate([np.empty(0), *map(number_values, column.chunks)]) for name, column in read.items()}
    columns = []
    for column in schema:
        columns.append(column)
        if column.name in asked:
            bins = bins_for(asked[column.name], sample.get(column.name), name=column.name)
            if bins is not None:
                columns.append(Column(f"{column.name}_bin", "category", column.origin, bins))
    return Schema(tuple(columns))


def _with_crosses(schema: Schema, table: Any, options: CollectOptions, names: Sequence[str]) -> Schema:
    """Return a schema with the crosses that are asked for, after all other columns."""
    if options.model is not None:
        raise ColumnError(Argument("like"), " fixes columns and kinds; leave ", Argument("crosses"), " out")
    refuse_crosses(options.crosses, schema, names)
    needed = needs_sample(options.crosses, schema)
    sample = _sample(table, needed, Argument("crosses"), " of numbers read", "cross categories")
    return Schema((*schema, *cross_columns(options.crosses, schema, sample)))


def _sample(table: Any, names: list[str], what: Argument, reads: str, *way_out: object) -> dict[str, pa.ChunkedArray]:
    """Return the first rows of some columns; raise where a table can be read only once, with a way out."""
    if not names:
        return {}
    if table.one_shot:
        words = f"{reads} a sample beforehand, and {table.describe} can be read only once; "
        raise DataError(what, words, *way_out, ", or collect it with ", Argument("like"))
    batches = list(LocalEngine().map(table, decoded, columns=names, rows=SAMPLE_ROWS, limit=SAMPLE_ROWS))
    kind = None if batches else pa.null()
    return {name: pa.chunked_array([batch.column(name) for batch in batches], kind) for name in names}


def _excluded(options: CollectOptions, types: Mapping[str, pa.DataType]) -> Names:
    """Return the columns to leave out; where columns come and go, those that are not there are left out already."""
    if options.missing != "fill":
        return options.exclude
    return [name for name in names_of(options.exclude, called="exclude") if name in types]


def _families(like: Moments) -> dict[str, str]:
    """Return the family of the labels of each category, parts of dates aside: labels of another would never match."""
    known = zip(like.coded, like.labels, strict=True)
    return {name: labels.family for name, labels in known if like.schema[name].part is None}


def library_of(source: Any) -> str | None:
    """Return the dataframe library a source belongs to, so that tables can be given back in it."""
    root = type(source).__module__.split(".")[0]
    # Partitions of Dask are frames of pandas.
    return "pandas" if root == "dask" else root if root in ("pandas", "polars") else None


ENGINES = {
    "local": ("gramian.engines.local", "LocalEngine"),
    "dask": ("gramian.engines.dask", "DaskEngine"),
    "spark": ("gramian.engines.spark", "SparkEngine"),
    "ibis": ("gramian.engines.database", "DatabaseEngine"),
}
"""Where the engine of each name is; imported when it is asked for."""


def choose_engine(
    engine: str | Engine | None,
    table: ArrowTable | ArrayTable | None = None,
    *,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    progress: bool | None = None,
) -> Engine:
    """Return the engine to read with.

    Parameters
    ----------
    engine : str, Engine or None
        A name, an engine as it is, or None for the one that the table is at home in.
    table : ArrowTable or ArrayTable, optional
        What is to be read; by default something local.
    n_jobs, memory_limit, progress
        As in `gramian.collect`.

    Examples
    --------
    >>> type(choose_engine(None)).__name__
    'LocalEngine'
    >>> choose_engine("locale")
    Traceback (most recent call last):
    gramian.errors.DataError: there is no engine 'locale'; there are 'local', 'dask', 'spark', 'ibis'
    """
    if isinstance(engine, Engine):
        return engine
    home = "local" if table is None else innermost(table).home
    name: Any = home if engine is None else engine
    if not isinstance(name, str) or name not in ENGINES:
        known = ", ".join(map(repr, ENGINES))
        raise DataError(f"there is no engine {shown(name)}; there are {known}")
    if home not in ("local", "ibis", name) and table is not None:
        raise DataError(
            f"{table.describe} lies in partitions of its own, and ",
            Argument("engine", name),
            " does not read those; leave it out, or compute the frame first",
        )
    module, kind = ENGINES[name]
    # What a database cannot count is read here, unless the database was asked for by name.
    more = {"streams": True} if engine is None and name == "ibis" else {}
    make = getattr(import_module(module), kind)
    chosen: Engine = make(n_jobs=n_jobs, memory_limit=memory_limit, progress=progress, **more)
    return chosen
