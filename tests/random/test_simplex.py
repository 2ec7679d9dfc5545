import numpy as np
from scipy.optimize import minimize

from gramian.random.readout import nearest_probabilities


def test_it_is_the_nearest_point_of_the_simplex(rng):
    for outputs in rng.normal(0.3, 0.6, (10, 4)):
        found = nearest_probabilities(outputs[None])[0]
        assert found.min() >= 0
        np.testing.assert_allclose(found.sum(), 1, atol=1e-12)
        best = minimize(
            lambda q, v=outputs: np.square(q - v).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_probabilities_stay_as_they_are(rng):
    shares = rng.dirichlet(np.ones(5), 20)
    np.testing.assert_allclose(nearest_probabilities(shares), shares, atol=1e-14)
