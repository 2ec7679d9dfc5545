import numpy as np
import pytest

from gramian.online.schedules import Patience, Schedule, rounded_down


def test_rates_are_those_of_the_formulas():
    t = np.array([0.0, 1.0, 20.0, 100.0])
    np.testing.assert_array_equal(Schedule(0.3).at(t), [0.3] * 4)
    np.testing.assert_allclose(Schedule(0.3, "1/t").at(t), 0.3 / np.array([1, 2, 21, 101]))
    np.testing.assert_allclose(Schedule(0.3, "robbins-monro").at(t), 0.3 / np.array([1, 1.05, 2, 6]) ** 0.6)


@pytest.mark.parametrize("name", ["1/t", "robbins-monro"])
def test_falling_rates_satisfy_robbins_and_monro(name):
    t = np.arange(2**20)
    rates = Schedule(1.0, name).at(t)
    doublings = [rates[2**j : 2 ** (j + 1)] for j in range(10, 20)]
    # The sum grows by at least a constant with each doubling; the sum of squares by a falling factor.
    assert min(part.sum() for part in doublings) > 0.5
    squares = np.array([np.square(part).sum() for part in doublings])
    assert (squares[1:] < 0.95 * squares[:-1]).all()


def test_patience_ends_after_so_many_epochs_without_a_rise():
    wait = Patience(0.1, 3)
    for value in (1.0, 1.05, 1.15, 1.16, 1.17):
        wait = wait.after(value)
        assert not wait.over
    assert wait.after(1.18).over


def test_patience_ends_where_a_value_is_no_number():
    wait = Patience(0.0, 2).after(1.0).after(float("nan")).after(float("nan"))
    assert wait.over


def test_a_rounded_rate_is_never_above():
    for value in (0.0129, 1.0, 9.99e-7, 123456.0):
        assert 0.9 * value < rounded_down(value) <= value
