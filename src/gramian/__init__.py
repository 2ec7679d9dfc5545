"""Dense features from categorical tables, mixed tables and distances.

One pass over the data collects `Moments`; every linear method after that is algebra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module that defines it. Modules load when a name is first used, so that importing the package is cheap.
_HOMES = {
    "AdditiveClassifier": "gramian.estimators.regression.additive",
    "AdditiveRegressor": "gramian.estimators.regression.additive",
    "ClassicalMDS": "gramian.estimators.mds",
    "DensityEmbedding": "gramian.estimators.density",
    "DictionaryLearner": "gramian.estimators.sparse.learner",
    "ELMClassifier": "gramian.estimators.elm",
    "ELMRegressor": "gramian.estimators.elm",
    "EchoStateFeatures": "gramian.estimators.reservoirs.echo_state",
    "EchoStateRegressor": "gramian.estimators.reservoirs.echo_state",
    "FisherDiscriminant": "gramian.estimators.fisher",
    "ForwardSelector": "gramian.estimators.selection.stepwise",
    "GLM": "gramian.estimators.regression.glm",
    "HebbianPCA": "gramian.estimators.online.hebbian",
    "IndependenceFilter": "gramian.estimators.selection.filters",
    "JointTargetEncoder": "gramian.estimators.mahalanobis",
    "LassoSelector": "gramian.estimators.selection.lasso",
    "LogisticRegression": "gramian.estimators.regression.glm",
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
    "Ridge": "gramian.estimators.regression.ridge",
    "RedundancyFilter": "gramian.estimators.selection.redundancy",
    "SparseCoder": "gramian.estimators.sparse.coder",
    "TSNEMap": "gramian.estimators.neighbour_maps",
    "UMAPMap": "gramian.estimators.neighbour_maps",
    "VarianceFilter": "gramian.estimators.selection.filters",
    "VectorQuantizer": "gramian.estimators.sparse.quantizer",
    "Whitening": "gramian.estimators.whitening",
    "best_code": "gramian.sparse.best_code",
    "check_export": "gramian.exports.check",
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
    "rank_crosses": "gramian.estimators.regression.crosses",
    "rank_tables": "gramian.selection.tables_to_join",
    "report": "gramian.reporting.report",
    "save": "gramian.estimators.spine.files",
    "stream_fit": "gramian.estimators.online.streaming",
    "to_onnx": "gramian.exports.onnx",
    "to_polars": "gramian.exports.polars",
    "to_sql": "gramian.exports.sql",
    "transform_file": "gramian.estimators.spine.files",
    "transform_stream": "gramian.estimators.spine.files",
}

__all__ = ["__version__", "errors", *_HOMES]

if TYPE_CHECKING:
    # `as` says to type checkers that a name is exported.
    from gramian import errors as errors
    from gramian.distances.metrics.pairwise import pairwise_distances as pairwise_distances
    from gramian.engines.collect import collect as collect
    from gramian.engines.preview import preview as preview
    from gramian.estimators.density import DensityEmbedding as DensityEmbedding
    from gramian.estimators.elm import ELMClassifier as ELMClassifier
    from gramian.estimators.elm import ELMRegressor as ELMRegressor
    from gramian.estimators.fisher import FisherDiscriminant as FisherDiscriminant
    from gramian.estimators.mahalanobis import JointTargetEncoder as JointTargetEncoder
    from gramian.estimators.mahalanobis import MahalanobisFeatures as MahalanobisFeatures
    from gramian.estimators.mds import ClassicalMDS as ClassicalMDS
    from gramian.estimators.mdsfda import MDSFDA as MDSFDA
    from gramian.estimators.neighbour_maps import TSNEMap as TSNEMap
    from gramian.estimators.neighbour_maps import UMAPMap as UMAPMap
    from gramian.estimators.online.autoencoder import LinearAutoencoder as LinearAutoencoder
    from gramian.estimators.online.hebbian import HebbianPCA as HebbianPCA
    from gramian.estimators.online.ica import NeuralICA as NeuralICA
    from gramian.estimators.online.streaming import stream_fit as stream_fit
    from gramian.estimators.pca import PCA as PCA
    from gramian.estimators.random_features import RandomFeatures as RandomFeatures
    from gramian.estimators.registry import methods as methods
    from gramian.estimators.regression.additive import AdditiveClassifier as AdditiveClassifier
    from gramian.estimators.regression.additive import AdditiveRegressor as AdditiveRegressor
    from gramian.estimators.regression.crosses import rank_crosses as rank_crosses
    from gramian.estimators.regression.glm import GLM as GLM
    from gramian.estimators.regression.glm import LogisticRegression as LogisticRegression
    from gramian.estimators.regression.ridge import Ridge as Ridge
    from gramian.estimators.reservoirs.echo_state import EchoStateFeatures as EchoStateFeatures
    from gramian.estimators.reservoirs.echo_state import EchoStateRegressor as EchoStateRegressor
    from gramian.estimators.reservoirs.liquid_state import LiquidStateFeatures as LiquidStateFeatures
    from gramian.estimators.selection.filters import IndependenceFilter as IndependenceFilter
    from gramian.estimators.selection.filters import MutualInformationFilter as MutualInformationFilter
    from gramian.estimators.selection.filters import PearsonFilter as PearsonFilter
    from gramian.estimators.selection.filters import VarianceFilter as VarianceFilter
    from gramian.estimators.selection.lasso import LassoSelector as LassoSelector
    from gramian.estimators.selection.ranking import rank_columns as rank_columns
    from gramian.estimators.selection.redundancy import MRMRFilter as MRMRFilter
    from gramian.estimators.selection.redundancy import RedundancyFilter as RedundancyFilter
    from gramian.estimators.selection.stepwise import ForwardSelector as ForwardSelector
    from gramian.estimators.selection.stepwise import RecursiveEliminator as RecursiveEliminator
    from gramian.estimators.sparse.coder import SparseCoder as SparseCoder
    from gramian.estimators.sparse.learner import DictionaryLearner as DictionaryLearner
    from gramian.estimators.sparse.nmf import NMF as NMF
    from gramian.estimators.sparse.quantizer import VectorQuantizer as VectorQuantizer
    from gramian.estimators.spine.files import load as load
    from gramian.estimators.spine.files import save as save
    from gramian.estimators.spine.files import transform_file as transform_file
    from gramian.estimators.spine.files import transform_stream as transform_stream
    from gramian.estimators.whitening import Whitening as Whitening
    from gramian.exports.check import check_export as check_export
    from gramian.exports.onnx import to_onnx as to_onnx
    from gramian.exports.polars import to_polars as to_polars
    from gramian.exports.sql import to_sql as to_sql
    from gramian.linear.drift import compare as compare
    from gramian.linear.fisher import fisher_criterion as fisher_criterion
    from gramian.linear.regression.independence import independence_test as independence_test
    from gramian.moments.value import Moments as Moments
    from gramian.moments.value import merge as merge
    from gramian.reporting.report import report as report
    from gramian.selection.tables_to_join import rank_tables as rank_tables
    from gramian.sparse.best_code import best_code as best_code


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
