"""The coders by name: settings that mean nothing are refused, defaults are scikit-learn's."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian.errors import DataError
from gramian.sparse.coders.choice import ALGORITHMS, Coder


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_coder_codes_with_its_defaults(problem, algorithm):
    signals, atoms = problem
    signals, atoms = (np.abs(signals), np.abs(atoms)) if algorithm == "dim" else (signals, atoms)
    codes = Coder.of(algorithm)(signals, Coder.of(algorithm).checked(atoms))
    assert codes.shape == (40, 12)
    assert np.isfinite(codes).all()


@pytest.mark.parametrize(
    ("algorithm", "settings", "said"),
    [
        ("foba", {}, "algorithm is 'omp', 'l0'"),
        (3, {}, "algorithm is"),
        ("omp", {"penalty": 1.0}, "penalty has no meaning for algorithm 'omp'"),
        ("vq", {"positive": True}, "positive has no meaning"),
        ("lasso", {"step": 0.1}, "step has no meaning"),
        ("omp", {"n_nonzero": 0}, "n_nonzero is None or a whole number from 1"),
        ("omp", {"n_nonzero": 2.0}, "n_nonzero is None or a whole number"),
        ("lasso", {"penalty": -1.0}, "penalty is None or a number from 0"),
        ("lasso", {"penalty": np.nan}, "penalty is None or a number from 0"),
        ("dim", {"epsilon": 0.0}, "epsilon is None or a number above 0"),
        ("lca", {"threshold": "firm"}, "'soft' or 'hard'"),
        ("lasso", {"max_iter": True}, "max_iter"),
    ],
)
def test_settings_that_make_no_sense_are_refused(algorithm, settings, said):
    with pytest.raises(DataError, match=said) as raised:
        Coder.of(algorithm, **settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("algorithm", "settings", "atoms", "said"),
    [
        ("omp", {"n_nonzero": 3}, np.eye(2), "n_nonzero=3 is more than the 2 atoms"),
        ("l0", {"n_nonzero": 3}, np.eye(2), "n_nonzero=3 is more than the 2 atoms"),
        ("omp", {}, 2 * np.eye(2), "length 2 "),
        ("lasso", {}, np.zeros((2, 2)), "atom 0 .* zero"),
        ("dim", {}, -np.eye(2), "negative"),
        ("feedback", {"step": 2.0}, np.eye(2), "between 0 and 2"),
        ("lca", {"step": 2.0}, np.eye(2), "between 0 and 2"),
    ],
)
def test_atoms_that_do_not_fit_are_refused_before_any_signal(algorithm, settings, atoms, said):
    with pytest.raises(DataError, match=said):
        Coder.of(algorithm, **settings).checked(atoms)


def test_lengths_matter_to_matching_pursuit_alone():
    for algorithm in set(ALGORITHMS) - {"omp"}:
        Coder.of(algorithm).checked(3 * np.eye(2))


@pytest.mark.parametrize("settings", [{}, {"max_iter": 3}])
def test_rows_that_did_not_settle_warn(settings):
    # Nearly parallel atoms: the error along their difference shrinks by 1 - 1e-6 a step.
    atoms, signals = np.array([[1.0, 0.0], [1.0, 1e-3]]), np.array([[1.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="1 of 1 signals had not settled"):
        Coder.of("feedback", tol=1e-12, **settings)(signals, atoms)


@pytest.mark.parametrize("algorithm", ["lasso", "lca", "feedback", "dim"])
def test_every_coder_that_iterates_warns_at_its_limit(problem, algorithm):
    signals, atoms = (np.abs(each) for each in problem)
    with pytest.warns(ConvergenceWarning, match="larger max_iter or tol"):
        Coder.of(algorithm, max_iter=1)(signals, atoms)
    # While atoms are learnt, codes as good as was asked for will do.
    Coder.of(algorithm, max_iter=1)(signals, atoms, learning=True)
