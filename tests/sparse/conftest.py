import numpy as np
import pytest


@pytest.fixture
def problem(rng):
    """Signals and more unit atoms than columns."""
    atoms = rng.normal(size=(12, 6))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    return rng.normal(size=(40, 6)), atoms
