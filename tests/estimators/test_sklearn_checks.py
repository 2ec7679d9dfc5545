"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm

ESTIMATORS = [
    gm.PCA(),
    gm.PCA(n_components=1, whiten=True),
    gm.Whitening(),
    gm.Whitening("zca"),
    gm.FisherDiscriminant(),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
