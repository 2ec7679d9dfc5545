"""scikit-learn's own checks, for every selector."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm

SELECTORS = [
    gm.VarianceFilter(),
    gm.PearsonFilter(),
    gm.MutualInformationFilter(),
    gm.IndependenceFilter(),
    gm.RedundancyFilter(),
    gm.MRMRFilter(),
    gm.ForwardSelector(),
    gm.RecursiveEliminator(),
    # Without folds: weights are repeated rows, which the default is excused from.
    gm.LassoSelector(0.1),
    gm.LassoSelector(),
]


def exceptions(estimator):
    """Return the checks that an estimator does not pass, each with its reason."""
    if not estimator._wants_folds():
        return {}
    # As for scikit-learn's own LassoCV: repeated rows fall into different folds, weighted ones into one.
    reason = "cross-validation splits rows, and a row of weight two is one row"
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, reason)


# A few of scikit-learn's checks give a target of noise: then nothing may be left.
@pytest.mark.filterwarnings("ignore::gramian.errors.NothingSelectedWarning")
@parametrize_with_checks(SELECTORS, expected_failed_checks=exceptions)
def test_scikit_learn_check(estimator, check):
    check(estimator)
