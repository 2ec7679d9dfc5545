"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm

ESTIMATORS = [
    gm.PCA(),
    gm.PCA(n_components=1, whiten=True),
    gm.Whitening(),
    gm.Whitening("zca"),
    gm.FisherDiscriminant(),
    gm.RandomFeatures(5),
    gm.RandomFeatures(5, activation="cos"),
    gm.ELMClassifier(20),
    gm.ELMRegressor(20),
    gm.ELMRegressor(10, direct_links=True),
    gm.EchoStateFeatures(5),
    gm.EchoStateFeatures(5, pool="mean"),
    gm.EchoStateRegressor(5),
    gm.LiquidStateFeatures(5),
    gm.HebbianPCA(),
    gm.HebbianPCA(2, rule="sanger", mode="batch", learning_rate=1e-3),
    gm.LinearAutoencoder(1),
    gm.NeuralICA(),
]

OF_TIME = "rows are steps of one sequence: their order is what the state remembers"
EXCEPTIONS = {
    "EchoStateRegressor": {
        "check_methods_sample_order_invariance": OF_TIME,
        "check_methods_subset_invariance": OF_TIME,
        "check_fit1d": "a sequence of single values has one dimension",
        "check_fit_score_takes_y": "the contract calls the arguments of fit sequence and target",
    },
}
"""Checks that do not hold, with the reason."""


@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXCEPTIONS.get(type(estimator).__name__, {})
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
