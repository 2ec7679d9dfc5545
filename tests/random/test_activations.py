import math

import numpy as np
import pytest

from gramian.random.features import ACTIVATIONS, activate

DEFINED = {
    None: lambda v: v,
    "tanh": math.tanh,
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "relu": lambda v: v if v > 0 else 0.0,
    "step": lambda v: 1.0 if v >= 0 else 0.0,
    "cos": math.cos,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_each_is_its_definition(name):
    net = np.array([[-2.0, -1e-9, 0.0], [-0.0, 0.3, 5.0]])
    expected = [[DEFINED[name](v) for v in row] for row in net.tolist()]
    found = activate(name, net.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)
    single = activate(name, net.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-6, atol=1e-7)
