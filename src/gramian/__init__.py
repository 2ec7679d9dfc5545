"""Dense features from categorical tables, mixed tables and distances.

One pass over the data collects `Moments`; every linear method after that is algebra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module that defines it. Modules load when a name is first used, so that importing the package is cheap.
_HOMES = {
    "ClassicalMDS": "gramian.estimators.mds",
    "DensityEmbedding": "gramian.estimators.density",
    "DictionaryLearner": "gramian.estimators.sparse.learner",
    "ELMClassifier": "gramian.estimators.elm",
    "ELMRegressor": "gramian.estimators.elm",
    "EchoStateFeatures": "gramian.estimators.reservoirs.echo_state",
    "EchoStateRegressor": "gramian.estimators.reservoirs.echo_state",
    "FisherDiscriminant": "gramian.estimators.fisher",
    "ForwardSelector": "gramian.estimators.selection.stepwise",
    "GLM": "gramian.estimators.glm",
    "HebbianPCA": "gramian.estimators.online.hebbian",
    "IndependenceFilter": "gramian.estimators.selection.filters",
    "JointTargetEncoder": "gramian.estimators.mahalanobis",
    "LassoSelector": "gramian.estimators.selection.lasso",
    "LogisticRegression": "gramian.estimators.glm",
    "LinearAutoencoder": "gramian.estimators.online.autoencoder",
    "LiquidStateFeatures": "gramian.estimators.reservoirs.liquid_state",
    "MDSFDA": "gramian.estimators.mdsfda",
    "MRMRFilter": "gramian.estimators.selection.redundancy",
    "MahalanobisFeatures": "gramian.estimators.mahalanobis",
    "Moments": "gramian.moments.value",
    "MutualInformationFilter": "gramian.estimators.selection.filters",
    "NMF": "gramian.estimators.sparse.nmf",
    "NeuralICA": "gramian.estimators.online.ica",
    "PCA": "gramian.estimators.pca",
    "PearsonFilter": "gramian.estimators.selection.filters",
    "RandomFeatures": "gramian.estimators.random_features",
    "RecursiveEliminator": "gramian.estimators.selection.stepwise",
    "Ridge": "gramian.estimators.regression",
    "RedundancyFilter": "gramian.estimators.selection.redundancy",
    "SparseCoder": "gramian.estimators.sparse.coder",
    "TSNEMap": "gramian.estimators.neighbour_maps",
    "UMAPMap": "gramian.estimators.neighbour_maps",
    "VarianceFilter": "gramian.estimators.selection.filters",
    "VectorQuantizer": "gramian.estimators.sparse.quantizer",
    "Whitening": "gramian.estimators.whitening",
    "best_code": "gramian.sparse.best_code",
    "collect": "gramian.engines.collect",
    "compare": "gramian.linear.drift",
    "fisher_criterion": "gramian.linear.fisher",
    "independence_test": "gramian.linear.regression.independence",
    "load": "gramian.estimators.spine.files",
    "merge": "gramian.moments.value",
    "methods": "gramian.estimators.registry",
    "pairwise_distances": "gramian.distances.metrics.pairwise",
    "preview": "gramian.engines.preview",
    "rank_columns": "gramian.estimators.selection.ranking",
    "report": "gramian.reporting.report",
    "save": "gramian.estimators.spine.files",
    "stream_fit": "gramian.estimators.online.streaming",
    "transform_file": "gramian.estimators.spine.files",
    "transform_stream": "gramian.estimators.spine.files",
}

__all__ = [
    "GLM",
    "MDSFDA",
    "NMF",
    "PCA",
    "ClassicalMDS",
    "DensityEmbedding",
    "DictionaryLearner",
    "ELMClassifier",
    "ELMRegressor",
    "EchoStateFeatures",
    "EchoStateRegressor",
    "FisherDiscriminant",
    "ForwardSelector",
    "HebbianPCA",
    "IndependenceFilter",
    "JointTargetEncoder",
    "LassoSelector",
    "LinearAutoencoder",
    "LiquidStateFeatures",
    "LogisticRegression",
    "MRMRFilter",
    "MahalanobisFeatures",
    "Moments",
    "MutualInformationFilter",
    "NeuralICA",
    "PearsonFilter",
    "RandomFeatures",
    "RecursiveEliminator",
    "RedundancyFilter",
    "Ridge",
    "SparseCoder",
    "TSNEMap",
    "UMAPMap",
    "VarianceFilter",
    "VectorQuantizer",
    "Whitening",
    "__version__",
    "best_code",
    "collect",
    "compare",
    "errors",
    "fisher_criterion",
    "independence_test",
    "load",
    "merge",
    "methods",
    "pairwise_distances",
    "preview",
    "rank_columns",
    "report",
    "save",
    "stream_fit",
    "transform_file",
    "transform_stream",
]

if TYPE_CHECKING:
    from gramian import errors
    from gramian.distances.metrics.pairwise import pairwise_distances
    from gramian.engines.collect import collect
    from gramian.engines.preview import preview
    from gramian.estimators.density import DensityEmbedding
    from gramian.estimators.elm import ELMClassifier, ELMRegressor
    from gramian.estimators.fisher import FisherDiscriminant
    from gramian.estimators.glm import GLM, LogisticRegression
    from gramian.estimators.mahalanobis import JointTargetEncoder, MahalanobisFeatures
    from gramian.estimators.mds import ClassicalMDS
    from gramian.estimators.mdsfda import MDSFDA
    from gramian.estimators.neighbour_maps import TSNEMap, UMAPMap
    from gramian.estimators.online.autoencoder import LinearAutoencoder
    from gramian.estimators.online.hebbian import HebbianPCA
    from gramian.estimators.online.ica import NeuralICA
    from gramian.estimators.online.streaming import stream_fit
    from gramian.estimators.pca import PCA
    from gramian.estimators.random_features import RandomFeatures
    from gramian.estimators.registry import methods
    from gramian.estimators.regression import Ridge
    from gramian.estimators.reservoirs.echo_state import EchoStateFeatures, EchoStateRegressor
    from gramian.estimators.reservoirs.liquid_state import LiquidStateFeatures
    from gramian.estimators.selection.filters import (
        IndependenceFilter,
        MutualInformationFilter,
        PearsonFilter,
        VarianceFilter,
    )
    from gramian.estimators.selection.lasso import LassoSelector
    from gramian.estimators.selection.ranking import rank_columns
    from gramian.estimators.selection.redundancy import MRMRFilter, RedundancyFilter
    from gramian.estimators.selection.stepwise import ForwardSelector, RecursiveEliminator
    from gramian.estimators.sparse.coder import SparseCoder
    from gramian.estimators.sparse.learner import DictionaryLearner
    from gramian.estimators.sparse.nmf import NMF
    from gramian.estimators.sparse.quantizer import VectorQuantizer
    from gramian.estimators.spine.files import load, save, transform_file, transform_stream
    from gramian.estimators.whitening import Whitening
    from gramian.linear.drift import compare
    from gramian.linear.fisher import fisher_criterion
    from gramian.linear.regression.independence import independence_test
    from gramian.moments.value import Moments, merge
    from gramian.reporting.report import report
    from gramian.sparse.best_code import best_code


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("gramian.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'gramian' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
