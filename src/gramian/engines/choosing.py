"""Which engine a name, or a source, stands for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gramian.engines.base import Engine
from gramian.errors import DataError, shown

ENGINES = {"local": ("gramian.engines.local", "LocalEngine")}
"""Where the engine of each name is; imported when it is asked for."""


def choose_engine(
    engine: str | Engine | None,
    *,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    progress: bool | None = None,
) -> Engine:
    """Return the engine to read with.

    Parameters
    ----------
    engine : str, Engine or None
        A name, an engine as it is, or None for the one that the source is at home in, which is the local one.
    n_jobs, memory_limit, progress
        As in `gramian.collect`.

    Examples
    --------
    >>> type(choose_engine(None)).__name__
    'LocalEngine'
    >>> choose_engine("locale")
    Traceback (most recent call last):
    gramian.errors.DataError: there is no engine 'locale'; there is 'local'
    """
    if isinstance(engine, Engine):
        return engine
    name: Any = "local" if engine is None else engine
    if not isinstance(name, str) or name not in ENGINES:
        known = ", ".join(map(repr, ENGINES))
        raise DataError(f"there is no engine {shown(name)}; there {'are' if len(ENGINES) > 1 else 'is'} {known}")
    module, kind = ENGINES[name]
    found: Engine = getattr(import_module(module), kind)(n_jobs=n_jobs, memory_limit=memory_limit, progress=progress)
    return found
