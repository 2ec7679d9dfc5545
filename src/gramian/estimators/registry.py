"""The estimators there are, by class name: what files may name, and what the command line lists."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

MODULES = {
    "ClassicalMDS": "gramian.estimators.mds",
    "JointTargetEncoder": "gramian.estimators.joint_target_encoder",
    "MDSFDA": "gramian.estimators.mdsfda",
    "DensityEmbedding": "gramian.estimators.density",
    "FisherDiscriminant": "gramian.estimators.fisher",
    "MahalanobisFeatures": "gramian.estimators.mahalanobis",
    "PCA": "gramian.estimators.pca",
    "Whitening": "gramian.estimators.whitening",
}
"""Class name -> module."""


@cache
def estimator_classes() -> dict[str, Any]:
    """Return every estimator class by name."""
    return {name: getattr(import_module(module), name) for name, module in MODULES.items()}
