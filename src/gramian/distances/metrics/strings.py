"""Distances between texts and sequences of symbols, through rapidfuzz.

A sequence may be a text or a list of hashable symbols (states, tokens). Edit distances count operations, so their square
root is what behaves like a length: the root of the Hamming distance is exactly the Euclidean distance of one-hot columns.
Ask for it with ``power=0.5``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.metrics.base import Metric, Objects, as_list
from gramian.errors import DataError, missing_package, shown

SCORERS = {
    "damerau_levenshtein": "DamerauLevenshtein",
    "hamming": "Hamming",
    "indel": "Indel",
    "jaro": "Jaro",
    "jaro_winkler": "JaroWinkler",
    "levenshtein": "Levenshtein",
    "osa": "OSA",
}
"""Metric name -> class of rapidfuzz.distance."""


class StringMetric(Metric):
    """A distance of rapidfuzz; `normalized=True` divides by the largest that lengths allow.

    Examples
    --------
    >>> metric = StringMetric("levenshtein", {})
    >>> metric.block(["kitten"], ["sitting", "kitten"], 1)
    array([[3., 0.]])
    """

    takes = frozenset({"normalized"})

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        super().__init__(name, params)
        try:
            from rapidfuzz import distance
        except ImportError:
            raise missing_package(f"metric {name!r}", "rapidfuzz", extra="distances") from None
        scorer = getattr(distance, SCORERS[name])
        self._scorer = scorer.normalized_distance if params.get("normalized") else scorer.distance

    def prepare(self, objects: Any) -> Objects:
        """Return the texts or sequences as a list."""
        strings = as_list(objects, metric=self.name)
        for i, item in enumerate(strings):
            if item is None or isinstance(item, float | int | bool):
                raise DataError(f"object {i} is {shown(item)}; metric {self.name!r} compares texts or lists of symbols")
        return [item if isinstance(item, str) else list(item) for item in strings]

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances; rapidfuzz runs its own threads."""
        from rapidfuzz import process

        # A list asked against itself is measured once a pair.
        options = {"pad": True} if self.name == "hamming" else None
        return process.cdist(rows, cols, scorer=self._scorer, scorer_kwargs=options, dtype=np.float64, workers=n_jobs)
