"""Jaccard's distance between sets: one less the share of the union that is common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.distances.metrics.base import Metric, Objects, as_list
from gramian.errors import DataError, shown


class SetMetric(Metric):
    """Jaccard's distance between collections of hashable things; two empty sets are at distance 0.

    Examples
    --------
    >>> metric = SetMetric("jaccard", {})
    >>> sets = metric.prepare([{"a", "b"}, {"b"}, set()])
    >>> metric.block(sets, sets, 1)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 1. ],
           [1. , 1. , 0. ]])
    """

    def prepare(self, objects: Any) -> Objects:
        """Return each set as a list of its distinct members."""
        items = as_list(objects, metric=self.name)
        for i, item in enumerate(items):
            if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
                raise DataError(
                    f"object {i} is {shown(item)}; metric 'jaccard' compares sets, lists or tuples of things"
                )
        return [list(dict.fromkeys(item)) for item in items]

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances through one sparse product of the membership tables."""
        codes: dict[Any, int] = {}
        for item in cols:
            for member in item:
                codes.setdefault(member, len(codes))
        common = (_members(rows, codes) @ _members(cols, codes).T).toarray()
        sizes = np.array([len(item) for item in rows])[:, None] + np.array([len(item) for item in cols])
        union = sizes - common
        return np.where(union > 0, 1.0 - common / np.maximum(union, 1), 0.0)


def _members(sets: list[list[Any]], codes: dict[Any, int]) -> Any:
    # A member that the other side never shows has no column: it counts in the union only.
    at = [[codes[member] for member in item if member in codes] for item in sets]
    offsets = np.zeros(len(sets) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in at], out=offsets[1:])
    columns = np.fromiter((code for item in at for code in item), dtype=np.int64, count=int(offsets[-1]))
    return sp.csr_array((np.ones(len(columns)), columns, offsets), shape=(len(sets), max(1, len(codes))))
