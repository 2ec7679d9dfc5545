"""Which system a frame is at home in, told by the names of its classes: nothing is imported to find out."""

from __future__ import annotations

from typing import Any

_SYSTEMS = {"dask": "dask", "dask_expr": "dask", "pyspark": "spark"}


def home_of(source: Any) -> str | None:
    """Return the engine that a source's rows lie in, `"dask"` or `"spark"`; None for rows that lie anywhere else.

    Examples
    --------
    >>> home_of([[1.0, 2.0]]) is None
    True
    """
    roots = (kind.__module__.partition(".")[0] for kind in type(source).__mro__)
    return next((_SYSTEMS[root] for root in roots if root in _SYSTEMS), None)
