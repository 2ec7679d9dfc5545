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
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
