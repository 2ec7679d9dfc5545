"""Distances between sequences: alignment scores of proteins, edit distances of texts, and Jaccard's distance of sets.

*Alignments*, through Biopython. The best alignment of two sequences under a substitution matrix has a score s(a, b). Were the
score an inner product, the distance would be ``sqrt(s(a, a) + s(b, b) - 2 s(a, b))``, and so it is defined; it is 0 for equal
sequences.

*Texts and sequences of symbols*, through rapidfuzz. A sequence may be a text or a list of hashable symbols (states, tokens).
Edit distances count operations, so their square root is what behaves like a length: the root of the Hamming distance is
exactly the Euclidean distance of one-hot columns. Ask for it with ``power=0.5``.

*Sets*: Jaccard's distance is one less the share of the union that is common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.distances.metrics.metric import Metric, Objects, as_list
from gramian.errors import DataError, optional, shown

SERIAL_CELLS = 2e8
"""Cells of the score tables below which processes cost more than they save."""


def _aligner(matrix: str, open_gap: float, extend_gap: float, mode: str) -> Any:
    align = optional("Bio.Align", "metric 'alignment'", "biopython", extra="distances")
    known = align.substitution_matrices.load()
    if matrix not in known:
        raise DataError(f"there is no substitution matrix {shown(matrix)}; Biopython has {', '.join(known)}")
    aligner = align.PairwiseAligner()
    aligner.mode = mode
    aligner.substitution_matrix = align.substitution_matrices.load(matrix)
    aligner.open_gap_score = -open_gap
    aligner.extend_gap_score = -extend_gap
    return aligner


def _scores(settings: tuple[str, float, float, str], rows: list[str], cols: list[str]) -> npt.NDArray[np.float64]:
    aligner = _aligner(*settings)
    return np.array([[aligner.score(a, b) for b in cols] for a in rows]).reshape(len(rows), len(cols))


class AlignmentMetric(Metric):
    """Distance from the best alignment's score.

    Parameters are `matrix` (the name of a substitution matrix, ``"BLOSUM62"``), `open_gap` (11), `extend_gap` (1) and
    `mode` (``"global"``, or ``"local"``).
    """

    takes = frozenset({"matrix", "open_gap", "extend_gap", "mode"})

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        super().__init__(name, params)
        mode = params.get("mode", "global")
        if mode not in ("global", "local"):
            raise DataError(f"mode is {shown(mode)}; an alignment is 'global' or 'local'")
        gaps = float(params.get("open_gap", 11.0)), float(params.get("extend_gap", 1.0))
        self._settings = (str(params.get("matrix", "BLOSUM62")), *gaps, str(mode))
        self._letters = set(str(_aligner(*self._settings).substitution_matrix.alphabet))

    def prepare(self, objects: Any) -> Objects:
        """Return the sequences as upper-case text."""
        words = [str(item).upper() for item in as_list(objects, metric=self.name)]
        for i, item in enumerate(words):
            strange = set(item) - self._letters
            if strange or not item:
                fault = f"holds {shown(sorted(strange)[0])}" if strange else "is empty"
                raise DataError(
                    f"sequence {i} {fault}; {self._settings[0]} knows the letters {''.join(sorted(self._letters))}"
                )
        return words

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances; Biopython holds the interpreter lock, so long work goes to processes."""
        own_rows, own_cols = self._own(rows), self._own(cols)
        cells = float(sum(map(len, rows))) * float(sum(map(len, cols)))
        if n_jobs == 1 or cells < SERIAL_CELLS:
            scores = _scores(self._settings, rows, cols)
        else:
            from joblib import Parallel, delayed

            parts = np.array_split(np.arange(len(rows)), min(len(rows), 4 * n_jobs))
            lines = Parallel(n_jobs=n_jobs)(
                delayed(_scores)(self._settings, [rows[i] for i in part], cols) for part in parts
            )
            scores = np.concatenate(lines)
        return np.sqrt(np.maximum(own_rows[:, None] + own_cols - 2 * scores, 0.0))

    def _own(self, objects: list[str]) -> npt.NDArray[np.float64]:
        aligner = _aligner(*self._settings)
        return np.array([aligner.score(item, item) for item in objects])


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
        rapidfuzz = optional("rapidfuzz", f"metric {name!r}", "rapidfuzz", extra="distances")
        scorer = getattr(rapidfuzz.distance, SCORERS[name])
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
    offsets = np.cumsum([0, *map(len, at)], dtype=np.int64)
    columns = np.fromiter((code for item in at for code in item), dtype=np.int64, count=int(offsets[-1]))
    return sp.csr_array((np.ones(len(columns)), columns, offsets), shape=(len(sets), max(1, len(codes))))
