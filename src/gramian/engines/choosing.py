"""Which engine a name, or a source, stands for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gramian.engines.base import Engine
from gramian.errors import Argument, DataError, shown
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.views import innermost

ENGINES = {
    "local": ("gramian.engines.local", "LocalEngine"),
    "dask": ("gramian.engines.dask", "DaskEngine"),
    "spark": ("gramian.engines.spark", "SparkEngine"),
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
    gramian.errors.DataError: there is no engine 'locale'; there are 'local', 'dask', 'spark'
    """
    if isinstance(engine, Engine):
        return engine
    home = "local" if table is None else innermost(table).home
    name: Any = home if engine is None else engine
    if not isinstance(name, str) or name not in ENGINES:
        known = ", ".join(map(repr, ENGINES))
        raise DataError(f"there is no engine {shown(name)}; there are {known}")
    if home not in ("local", name) and table is not None:
        raise DataError(
            f"{table.describe} lies in partitions of its own, and ",
            Argument("engine", name),
            " does not read those; leave it out, or compute the frame first",
        )
    module, kind = ENGINES[name]
    chosen: Engine = getattr(import_module(module), kind)(n_jobs=n_jobs, memory_limit=memory_limit, progress=progress)
    return chosen
