import numpy as np
import pytest

from gramian.random.readout import discriminant


@pytest.fixture
def outputs(rng):
    classes = rng.choice(4, 500, p=[0.4, 0.3, 0.2, 0.1])
    y = np.eye(4)[classes] - np.bincount(classes) / 500
    X = rng.standard_normal((500, 6)) + 2 * np.eye(4, 6)[classes]
    X -= X.mean(axis=0)
    return classes, y, X @ np.linalg.solve(X.T @ X + 5.0 * np.eye(6), X.T @ y)


@pytest.mark.parametrize("effective", [0.0, 5.8, 240.0])
def test_it_is_the_gaussian_rule_of_outputs_left_out(outputs, effective):
    classes, y, f = outputs
    sizes = np.bincount(classes).astype(float)
    slope, offset = discriminant(y.T @ f, f.T @ f, sizes, effective)
    h = (effective + 1) / 500
    left = (f - h * y) / (1 - h)
    means = np.array([left[classes == k].mean(axis=0) for k in range(4)])
    within = sum(np.outer(left[i] - means[classes[i]], left[i] - means[classes[i]]) for i in range(500)) / 500
    inverse = np.linalg.pinv(within, rcond=1e-10)
    expected = f @ inverse @ means.T - np.diag(means @ inverse @ means.T) / 2 + np.log(sizes / 500)
    found = (f + sizes / 500) @ slope + offset
    if effective < 200:
        np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-8, atol=1e-8)
    else:
        # An association below what as many columns make of noise counts as none.
        assert np.linalg.matrix_rank(slope, tol=1e-9) < 3


def test_constants_of_outputs_do_not_matter(outputs):
    classes, y, f = outputs
    sizes = np.bincount(classes).astype(float)
    slope, offset = discriminant(y.T @ f, f.T @ f, sizes, 3.0)
    np.testing.assert_allclose(np.ones(4) @ slope, 0.0, atol=1e-6 * np.abs(slope).max())
    assert np.isfinite(offset).all()


def test_nothing_to_judge_by_gives_none():
    y = np.repeat(np.eye(3), 2, axis=0) - 1 / 3
    assert discriminant(y.T @ y, y.T @ y, np.full(3, 2.0), 5.0) is None
    assert discriminant(y.T @ y, y.T @ y, np.full(3, 2.0), 2.0) is None
