import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.whitening import independent_columns, whitening
from gramian.moments.state.numbers import Numbers


def test_rank_deficient_input_keeps_its_rank_and_says_so(mixed):
    m = gm.collect(mixed[["color", "shape", "cost"]])
    shapes = {"pca": (7, 5), "zca": (7, 7), "cholesky": (7, 5)}
    for method, shape in shapes.items():
        found = whitening(m, method=method)
        assert found.rank == 5
        assert found.weights.shape == shape
        assert found.inverse.shape == shape[::-1]


def test_cholesky_weights_are_triangular_and_skip_what_depends_on_earlier_columns(rng):
    x = rng.standard_normal((60, 3))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "ab": x[:, 0] - 2 * x[:, 1], "c": x[:, 2]})
    found = whitening(gm.collect(frame), method="cholesky")
    assert found.rank == 3
    assert (found.weights == 0).all(axis=1).sum() == 1
    kept = found.weights[(found.weights != 0).any(axis=1)]
    np.testing.assert_array_equal(kept, np.triu(kept))


def test_dependence_does_not_change_with_the_units(rng):
    x = rng.standard_normal((50, 4)) * [1e-8, 1.0, 1e8, 1e3]
    assert whitening(gm.collect(x), method="cholesky").rank == 4
    c = np.corrcoef(x.T)
    assert independent_columns(c).tolist() == [0, 1, 2, 3]


def test_columns_that_do_not_vary_are_refused():
    with pytest.raises(DataError, match="nothing to whiten"):
        whitening(gm.collect(np.ones((4, 2))))


@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_more_columns_than_rows_are_whitened_without_their_matrix(rng, monkeypatch, strength):
    """Well conditioned, and with the Newton step that a wide spectrum takes."""
    x = rng.standard_normal((30, 600))
    x[:, 0] *= strength
    m = gm.collect(x)
    with monkeypatch.context() as patched:
        patched.setattr(Numbers, "dense", lambda _: pytest.fail("a p x p matrix was formed"))
        found = whitening(m)
    assert found.rank == 29
    z = (x - found.mean) @ found.weights
    np.testing.assert_allclose(np.cov(z.T), np.eye(29), atol=1e-10)
    np.testing.assert_allclose(z @ found.inverse + found.mean, x, atol=1e-9 * strength)
    turned = whitening(m, method="zca")
    np.testing.assert_allclose(turned.weights, turned.weights.T, atol=1e-10)
    np.testing.assert_allclose(
        (x - x.mean(axis=0)) @ turned.weights @ turned.inverse + x.mean(axis=0), x, atol=1e-9 * strength
    )


@pytest.mark.parametrize("ratio", [1e3, 1e7, 1e12])
def test_every_method_finds_the_same_rank_whatever_the_units(rng, ratio):
    x = rng.standard_normal((300, 3)) @ (np.eye(3) + 0.3 * rng.standard_normal((3, 3)))
    x = np.column_stack([x, x[:, 0] - x[:, 2]]) * [1.0, ratio, 1.0, 1.0]
    for method in ("pca", "zca", "cholesky"):
        found = whitening(gm.collect(x), method=method)
        assert found.rank == 3, method
        z = (x - found.mean) @ found.weights
        values = np.sort(np.linalg.eigvalsh(np.cov(z.T)))[-3:]
        # Weights of a strong column in a weak feature are rounded relative to the largest.
        np.testing.assert_allclose(values, 1.0, atol=max(1e-9, 1e-15 * ratio), err_msg=method)


def test_cholesky_takes_the_first_columns_whether_rows_are_weighted_or_repeated(rng):
    x = rng.standard_normal((8, 20))
    times = np.array([1, 2, 3, 1, 1, 2, 1, 1])
    weighted = whitening(gm.collect(x, sample_weight=times.astype(float)), method="cholesky")
    repeated = whitening(gm.collect(np.repeat(x, times, axis=0)), method="cholesky")
    plain = whitening(gm.collect(x), method="cholesky")
    for found in (weighted, repeated, plain):
        assert found.rank == 7
        np.testing.assert_array_equal(np.flatnonzero(np.abs(found.weights).max(axis=1)), np.arange(7))
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=1e-7, atol=1e-9)
