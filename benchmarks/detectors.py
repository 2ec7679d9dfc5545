"""The contestants of the anomalies benchmark: each prepares its input and returns a call that fits and scores.

Everybody starts from the table of texts, as a user does: ours from Arrow, the plain frequencies and PyOD's detectors from a
pandas frame, which the latter one-hot encode first. Coupled biased random walks have their list of dictionaries ready.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pyarrow as pa

Detector = Callable[[], np.ndarray]

LOF_ROWS = 20_000
"""Local outlier factor compares every two rows: beyond this many it is fitted to, and judged on, a sample of so many."""


def ours(table: pa.Table) -> Detector:
    import gramian as gm

    return lambda: gm.DensityEmbedding().fit(table).anomaly_score(table)


def frequency(table: pa.Table) -> Detector:
    """Plain sum of -log frequency, as one writes it with pandas."""
    frame = table.to_pandas()

    def call() -> np.ndarray:
        total = np.zeros(len(frame))
        for name in frame:
            total -= np.log(frame[name].map(frame[name].value_counts(normalize=True, dropna=False)).to_numpy(float))
        return total

    return call


def walks(table: pa.Table) -> Detector:
    """Coupled biased random walks."""
    from coupled_biased_random_walks import CBRW

    rows = table.to_pandas().fillna("(missing)").to_dict("records")

    def call() -> np.ndarray:
        return np.asarray(CBRW().add_observations(rows).fit().score(rows))

    return call


def pyod(module: str, name: str) -> Callable[[pa.Table], Detector]:
    """Return the maker of a detector of PyOD on one-hot columns."""

    def make(table: pa.Table) -> Detector:
        from sklearn.preprocessing import OneHotEncoder

        detector = getattr(import_module(f"pyod.models.{module}"), name)
        frame = table.to_pandas()

        def call() -> np.ndarray:
            onehot = OneHotEncoder(sparse_output=False).fit_transform(frame)
            return np.asarray(
                detector(**({"random_state": 0} if name == "IForest" else {})).fit(onehot).decision_scores_
            )

        return call

    return make


DETECTORS: dict[str, tuple[Callable[[pa.Table], Detector], str]] = {
    "ours": (ours, ""),
    "random walks": (walks, "coupled-biased-random-walks (with --no-deps: it pins an old numpy)"),
    "-log frequency": (frequency, "pandas"),
    "IForest": (pyod("iforest", "IForest"), "pyod"),
    "ECOD": (pyod("ecod", "ECOD"), "pyod"),
    "HBOS": (pyod("hbos", "HBOS"), "pyod"),
    "COPOD": (pyod("copod", "COPOD"), "pyod"),
    "LOF": (pyod("lof", "LOF"), "pyod"),
}


def missing(package: str) -> bool:
    """Whether the package that a contestant needs is not installed."""
    return bool(package) and find_spec(package.split(" ")[0].replace("-", "_")) is None
