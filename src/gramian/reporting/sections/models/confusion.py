"""Who is taken for whom: what rows or objects are against what a model says, counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.reporting.gather.json_values import number

CLASSES_SHOWN = 12


def confusion(
    predicted: npt.NDArray[np.int64], actual: npt.NDArray[np.int64], labels: list[str], words: str
) -> dict[str, Any]:
    """Return the confusion matrix and what it comes to.

    Parameters
    ----------
    predicted, actual : (n,) arrays
        Places among the labels; -1 in `actual` is none of them and not counted.
    labels : list of str
    words : str
        Which rows or objects these are.

    Examples
    --------
    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), ["a", "b"], "3 rows")["counts"]
    [[1, 1], [0, 1]]
    """
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    known = actual >= 0
    np.add.at(counts, (actual[known], predicted[known]), 1)
    total = max(int(counts.sum()), 1)
    return {
        "labels": labels[:CLASSES_SHOWN],
        "counts": counts[:CLASSES_SHOWN, :CLASSES_SHOWN].tolist(),
        "left_out": max(len(labels) - CLASSES_SHOWN, 0),
        "accuracy": number(np.trace(counts) / total, 4),
        "largest_class": number(counts.sum(axis=1).max() / total, 4),
        "balanced_accuracy": number(_mean_recall(counts), 4),
        "auc": None,
        "words": words,
    }


def _mean_recall(counts: npt.NDArray[np.int64]) -> float:
    totals = counts.sum(axis=1)
    return float((np.diagonal(counts)[totals > 0] / totals[totals > 0]).mean()) if totals.any() else np.nan
