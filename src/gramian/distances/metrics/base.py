"""The shape of a metric: objects put in order once, then distances by blocks of rows.

A metric is a small value. `prepare` turns what a user has into a container that can be cut into rows; `learn` returns the
metric with whatever it takes from the reference objects (ranges, variances), so that new objects are measured alike;
`block` gives the distances between two prepared containers. Prepared objects are plain: lists of text, lists of lists, or
arrays, which a model file can hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.threads import in_threads
from gramian.errors import DataError, shown

Objects = Any
"""A list, or an array with one object per row."""


class Metric(ABC):
    """Distances between objects of one kind.

    Parameters
    ----------
    name : str
        As the user calls it.
    params : mapping
        The metric's own parameters.
    """

    takes: frozenset[str] = frozenset()
    """Parameters that the user may give."""

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        unknown = sorted(set(params) - self.takes)
        if unknown:
            raise DataError(
                f"metric {name!r} has no parameter {unknown[0]!r}; it takes {', '.join(sorted(self.takes)) or 'only power'}"
            )
        self.name, self.params = name, dict(params)

    @abstractmethod
    def prepare(self, objects: Any) -> Objects:
        """Return the objects as a container that can be cut into rows."""

    def learn(self, objects: Any) -> Metric:
        """Return the metric with what it takes from these reference objects."""
        return self

    def state(self) -> dict[str, Any]:
        """Return what `learn` took, as plain values."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned."""
        if state:
            raise DataError(f"metric {self.name!r} learns nothing, and the model holds {sorted(state)} for it")

    @abstractmethod
    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances between prepared objects, (len(rows), len(cols))."""


def take(objects: Objects, index: npt.NDArray[np.int64] | slice) -> Objects:
    """Return some of the objects.

    Examples
    --------
    >>> take(["a", "b", "c"], np.array([2, 0])), take(["a", "b", "c"], slice(1, 3))
    (['c', 'a'], ['b', 'c'])
    """
    if isinstance(objects, np.ndarray) or isinstance(index, slice):
        return objects[index]
    return [objects[i] for i in index]


def as_list(objects: Any, *, metric: str) -> list[Any]:
    """Return objects as a list, one entry per object."""
    if isinstance(objects, str | bytes):
        raise DataError(f"metric {shown(metric)} takes a list of objects; got one text")
    if hasattr(objects, "to_pylist"):
        return objects.to_pylist()
    if hasattr(objects, "to_list"):
        return objects.to_list()
    if isinstance(objects, np.ndarray):
        if objects.ndim == 2 and objects.shape[1] == 1 and objects.dtype.kind in "OUST":
            objects = objects[:, 0]
        return objects.tolist()
    if isinstance(objects, Sequence):
        return list(objects)
    raise DataError(f"metric {shown(metric)} takes a list of objects; got {type(objects).__name__}")


def over_rows(work: Callable[[slice], None], n_rows: int, n_jobs: int) -> None:
    """Call `work` on stretches of rows from a pool of threads; it must write to its own rows only."""
    n_parts = min(n_rows, 1 if n_jobs == 1 else 4 * n_jobs)
    edges = np.linspace(0, n_rows, n_parts + 1).astype(int)
    in_threads(work, [slice(a, b) for a, b in pairwise(edges) if b > a], n_threads=n_jobs)
