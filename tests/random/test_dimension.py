import numpy as np
import pytest
from sklearn.random_projection import johnson_lindenstrauss_min_dim

import gramian as gm
from gramian.errors import DataError
from gramian.random.features import least_dimension


@pytest.mark.parametrize(("n", "eps"), [(10, 0.9), (1000, 0.5), (10_000, 0.1)])
def test_the_bound_is_that_of_scikit_learn_rounded_up(n, eps):
    assert least_dimension(n, eps) in (k := int(johnson_lindenstrauss_min_dim(n, eps=eps)), k + 1)


@pytest.mark.parametrize("projection", ["gaussian", "uniform", "sparse", "hadamard"])
def test_distances_of_ten_thousand_pairs_are_kept_at_the_bound(projection, rng):
    n, eps = 142, 0.3  # 10,011 pairs
    X = rng.standard_t(3, (n, 2000))
    model = gm.RandomFeatures("auto", eps=eps, projection=projection).fit(X)
    assert model.n_components_ == least_dimension(n, eps)
    Z = model.transform(X)
    i, j = np.triu_indices(n, 1)
    ratio = np.square(Z[i] - Z[j]).sum(axis=1) / np.square(X[i] - X[j]).sum(axis=1)
    assert len(ratio) > 10_000
    assert 1 - eps < ratio.min()
    assert ratio.max() < 1 + eps
    # A test that could not fail would pass at a tenth of the dimensions as well.
    few = gm.RandomFeatures(model.n_components_ // 10, projection=projection).fit_transform(X)
    ratio = np.square(few[i] - few[j]).sum(axis=1) / np.square(X[i] - X[j]).sum(axis=1)
    assert np.abs(ratio - 1).max() > eps


def test_a_bound_beyond_the_columns_says_so(rng):
    with pytest.raises(DataError, match=r"needs 3948 dimensions .* there are 5 design columns"):
        gm.RandomFeatures("auto", eps=0.1).fit(rng.standard_normal((100, 5)))
