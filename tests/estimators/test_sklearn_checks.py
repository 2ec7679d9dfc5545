"""scikit-learn's own checks, for every estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import gramian as gm
from gramian.sparse.atoms import unit_rows


class AnyWidth(gm.SparseCoder):
    """A coder whose dictionary is as wide as the rows it is fitted to: the checks come with rows of many widths."""

    n_nonzero = penalty = threshold = step = max_iter = tol = epsilon = None
    positive = False

    def __init__(self, algorithm="omp"):
        self.algorithm = algorithm

    @property
    def dictionary(self):
        return unit_rows(np.abs(np.random.default_rng(0).normal(size=(4, self._width))) + 0.1)

    def _check_together(self):
        """Leave the dictionary for when the width is known."""

    def _learn(self, X, y=None):
        self._width = self._training(X)[0].shape[1]
        super()._learn(X, y)

    def _rows(self, X):
        check_is_fitted(self)
        return super()._rows(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        return tags


ESTIMATORS = [
    gm.PCA(),
    gm.Whitening(),
    gm.FisherDiscriminant(),
    gm.Ridge(),
    gm.LogisticRegression(alpha=1.0),
    gm.GLM(alpha=1.0),
    gm.AdditiveClassifier(),
    gm.AdditiveRegressor(),
    gm.GLM("gaussian", alpha=1.0),
    gm.RandomFeatures(5),
    gm.ELMClassifier(20),
    gm.ELMRegressor(20),
    gm.EchoStateFeatures(5),
    gm.EchoStateFeatures(5, pool="mean"),
    gm.EchoStateRegressor(5),
    gm.LiquidStateFeatures(5),
    gm.HebbianPCA(),
    gm.HebbianPCA(2, rule="sanger", mode="batch", learning_rate=1e-3),
    gm.LinearAutoencoder(1),
    gm.NeuralICA(),
    AnyWidth(),
    AnyWidth("dim"),
    gm.DictionaryLearner(2, n_epochs=1),
    gm.DictionaryLearner(2, algorithm="lasso", n_epochs=1),
    gm.VectorQuantizer(2),
    gm.NMF(),
    gm.NMF(beta_loss="kullback-leibler"),
]

BY_CHANCE = "k-means draws its first centres: repeated rows are drawn otherwise than weighted ones"
OF_TIME = "rows are steps of one sequence: their order is what the state remembers"
OF_ROWS = "bins have equally many rows, whatever these weigh, and folds go by position"
EXCEPTIONS = {
    "AdditiveClassifier": {
        "check_sample_weight_equivalence_on_dense_data": OF_ROWS,
        "check_sample_weight_equivalence_on_sparse_data": OF_ROWS,
    },
    "EchoStateRegressor": {
        "check_methods_sample_order_invariance": OF_TIME,
        "check_methods_subset_invariance": OF_TIME,
        "check_fit1d": "a sequence of single values has one dimension",
        "check_fit_score_takes_y": "the contract calls the arguments of fit sequence and target",
    },
    "AnyWidth": {"check_transformer_n_iter": "max_iter is of transform: there is nothing to iterate in fit"},
    "VectorQuantizer": {
        "check_sample_weight_equivalence_on_dense_data": BY_CHANCE,
        "check_sample_weight_equivalence_on_sparse_data": BY_CHANCE,
    },
}
"""Checks that do not hold, with the reason."""


# The checks fit tables of noise with few iterations.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXCEPTIONS.get(type(estimator).__name__, {})
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
