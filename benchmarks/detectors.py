"""The contestants of the anomalies benchmark: each takes a problem, fits a detector to its rows and scores them.

Ours start from a table of texts, as a user does. The peers start from what they like best: the plain frequencies and the single
tree from codes, PyOD's detectors and LOF from a one-hot matrix, coupled biased random walks from a list of dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from benchmarks.pool import Problem
from benchmarks.tree_scores import chow_liu

Detector = Callable[[Problem], np.ndarray]

OURS = ("trees", "mahalanobis", "walk")
REPLACED = "replaced"
"""The score of residuals that `trees` took the place of; its figures are kept in `benchmarks.before`."""

ROWS = {"LOF": 5_000}
"""Local outlier factor compares every two rows: beyond so many it is fitted to, and judged on, a sample of so many."""


def ours(score: str) -> Detector:
    import gramian as gm

    def call(problem: Problem) -> np.ndarray:
        table = problem.table()
        return gm.DensityEmbedding(method=score).fit(table).anomaly_score(table)

    return call


def frequency(problem: Problem) -> np.ndarray:
    """Plain sum of -log frequency."""
    columns = (np.bincount(c)[c] for c in problem.codes.T)
    return -sum(np.log(counts / len(problem.odd)) for counts in columns)


def package_walks(problem: Problem) -> np.ndarray:
    """Coupled biased random walks as their package comes: its iteration stops at 1e-3, ours where it stands still."""
    from coupled_biased_random_walks import CBRW

    names = [f"c{j}" for j in range(problem.codes.shape[1])]
    rows = [dict(zip(names, map(str, row), strict=True)) for row in problem.codes.tolist()]
    return np.asarray(CBRW().add_observations(rows).fit().score(rows))


def onehot(problem: Problem) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(problem.sizes)])
    matrix = np.zeros((len(problem.odd), int(starts[-1])), dtype=np.float32)
    for codes, start in zip(problem.codes.T, starts, strict=False):
        matrix[np.arange(len(codes)), start + codes] = 1.0
    return matrix[:, matrix.any(axis=0)]


def pyod(module: str, name: str) -> Detector:
    """Return a detector of PyOD on one-hot columns."""

    def call(problem: Problem) -> np.ndarray:
        detector = getattr(import_module(f"pyod.models.{module}"), name)
        settings = {"random_state": 0} if name == "IForest" else {}
        return np.asarray(detector(**settings).fit(onehot(problem)).decision_scores_)

    return call


def lof(problem: Problem) -> np.ndarray:
    from sklearn.neighbors import LocalOutlierFactor

    return -LocalOutlierFactor().fit(onehot(problem)).negative_outlier_factor_


PEERS: dict[str, tuple[Detector, str]] = {
    "-log frequency": (frequency, ""),
    "Chow-Liu": (chow_liu, ""),
    "CBRW package": (package_walks, "coupled-biased-random-walks (with --no-deps: it pins an old numpy)"),
    "IForest": (pyod("iforest", "IForest"), "pyod"),
    "ECOD": (pyod("ecod", "ECOD"), "pyod"),
    "HBOS": (pyod("hbos", "HBOS"), "pyod"),
    "COPOD": (pyod("copod", "COPOD"), "pyod"),
    "LOF": (lof, "scikit-learn"),
}


def missing(package: str) -> bool:
    """Whether the package that a contestant needs is not installed."""
    name = package.split(" ")[0].replace("-", "_")
    return bool(package) and find_spec({"scikit_learn": "sklearn"}.get(name, name)) is None
