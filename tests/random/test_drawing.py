import numpy as np
import pyarrow as pa
import pytest

from gramian.random.drawing import KINDS, Drawing


@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_mean_zero_variance_one_and_are_uncorrelated(kind):
    weights = Drawing(kind, 400, seed=1).numbers(np.arange(300))
    n = weights.size
    # Four standard errors; the fourth moment is at most 3.
    assert abs(weights.mean()) < 4 / np.sqrt(n)
    assert abs(weights.var() - 1) < 4 * np.sqrt(2 / n)
    across = np.corrcoef(weights)[np.triu_indices(300, 1)]
    assert np.abs(across).max() < 6 / np.sqrt(400)
    assert abs(np.corrcoef(weights[:, :-1].ravel(), weights[:, 1:].ravel())[0, 1]) < 4 / np.sqrt(n)


def test_a_density_is_the_share_of_weights_that_are_not_zero():
    weights = Drawing("sparse", 1000, seed=2, density=0.05).numbers(np.arange(100))
    assert abs((weights != 0).mean() - 0.05) < 4 * np.sqrt(0.05 / 1e5)
    assert set(np.unique(weights).round(9)) == {-round(0.05**-0.5, 9), 0.0, round(0.05**-0.5, 9)}


def test_the_weights_of_a_level_depend_on_nothing_but_its_label():
    drawing = Drawing("gaussian", 5, seed=3)
    one = drawing.levels(2, pa.array(["b", "a", None]))
    other = drawing.levels(2, pa.array(["z", None, "b", "a"]).cast(pa.large_string()))
    np.testing.assert_array_equal(one, other[[2, 3, 1]])
    np.testing.assert_array_equal(
        drawing.levels(0, pa.array([1, 2, None])), drawing.levels(0, pa.array([1.0, 2.0, None]))
    )
    assert not np.array_equal(drawing.levels(1, pa.array(["a"])), drawing.levels(2, pa.array(["a"])))
    assert not np.array_equal(drawing.levels(0, pa.array(["1"])), drawing.levels(0, pa.array([1])))


@pytest.mark.parametrize("other", [{"seed": 4}, {"layer": 1}])
def test_another_seed_or_layer_draws_others(other):
    base = {"seed": 3, "layer": 0}
    a, b = Drawing("gaussian", 50, **base), Drawing("gaussian", 50, **{**base, **other})
    for left, right in ((a.numbers(0), b.numbers(0)), (a.bias(), b.bias()), (a.angles(), b.angles())):
        assert (left != right).all()


def test_more_features_begin_with_the_same():
    few, many = Drawing("gaussian", 7, seed=0).numbers(0), Drawing("gaussian", 8, seed=0).numbers(0)
    np.testing.assert_array_equal(few, many[:, :7])


def test_angles_go_round_the_circle():
    angles = Drawing("gaussian", 10_000, seed=0).angles()
    assert angles.min() > 0
    assert angles.max() <= 2 * np.pi
    assert abs(np.exp(1j * angles).mean()) < 4 / np.sqrt(10_000)
