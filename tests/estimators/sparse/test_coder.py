"""`SparseCoder`: every coder as an estimator, the law of the best code, files."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.sparse.dictionary import SparseCoder


@pytest.fixture
def problem(rng):
    atoms = rng.normal(size=(9, 5))
    return rng.normal(size=(25, 5)), atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def objective(signals, atoms, codes, penalty):
    return np.square(signals - codes @ atoms).sum(axis=1) + penalty * np.count_nonzero(codes, axis=1)


@pytest.mark.parametrize("penalty", [0.01, 0.2, 2.0])
@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("omp", {"n_nonzero": 1}),
        ("omp", {"n_nonzero": 3}),
        ("lasso", {"penalty": 0.3}),
        ("lca", {"penalty": 0.3}),
        ("lca", {"penalty": 0.6, "threshold": "hard", "max_iter": 500}),
        ("feedback", {}),
        ("vq", {}),
    ],
)
def test_no_coder_beats_the_best_code_on_its_own_objective(problem, penalty, algorithm, settings):
    signals, atoms = problem
    best = SparseCoder(atoms, "l0", penalty=penalty).fit_transform(signals)
    other = SparseCoder(atoms, algorithm, **settings).fit_transform(signals)
    least = objective(signals, atoms, best, penalty)
    assert (least <= objective(signals, atoms, other, penalty) + 1e-9 * np.square(signals).sum(axis=1)).all()


def test_there_is_nothing_to_fit(problem):
    signals, atoms = problem
    coder = SparseCoder(atoms, n_nonzero=2)
    np.testing.assert_array_equal(coder.transform(signals), coder.fit(signals).transform(signals))
    np.testing.assert_array_equal(coder.dictionary_, atoms)
    assert coder.get_feature_names_out()[0] == "sparsecoder0"


def test_one_row_one_atom_and_a_zero_row():
    for algorithm in ("omp", "l0", "lasso", "lca", "feedback", "dim", "vq"):
        codes = SparseCoder([[0.6, 0.8]], algorithm).fit_transform([[0.0, 0.0]])
        assert codes.shape == (1, 1)
        assert codes[0, 0] == (1.0 if algorithm == "vq" else 0.0)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dictionary": None}, "dictionary is None"),
        ({"dictionary": np.zeros((2, 5))}, "atom 0 of the dictionary is zero"),
        ({"dictionary": 2 * np.eye(5)}, "length 2 "),
        ({"n_nonzero": 10}, "n_nonzero=10 is more than the 9 atoms"),
        ({"dictionary": np.eye(4)}, "X has 5 features, but SparseCoder is expecting 4"),
        ({"algorithm": "feedback", "step": 50.0}, "diverges"),
        ({"penalty": 1.0}, "no meaning for algorithm 'omp'"),
        ({"algorithm": "dim", "dictionary": np.eye(5)}, "Negative values in data: row 0 has"),
    ],
)
def test_bad_input_is_one_clear_line(problem, settings, said):
    signals, atoms = problem
    with pytest.raises(DataError, match=said) as raised:
        SparseCoder(**{"dictionary": atoms, **settings}).fit_transform(signals)
    assert "\n" not in str(raised.value)


def test_missing_values_have_no_meaning(problem):
    signals, atoms = problem
    signals[2, 3] = np.nan
    with pytest.raises(DataError, match="column 'x3' holds NaN in row 2"):
        SparseCoder(atoms).fit(signals)


def test_a_dictionary_may_be_a_frame_or_a_file(problem, tmp_path):
    signals, atoms = problem
    frame = pd.DataFrame(atoms, columns=list("abcde"))
    frame.to_csv(tmp_path / "atoms.csv", index=False)
    expected = SparseCoder(atoms, n_nonzero=2).fit_transform(signals)
    np.testing.assert_allclose(SparseCoder(frame, n_nonzero=2).fit_transform(signals), expected)
    model = SparseCoder(str(tmp_path / "atoms.csv"), n_nonzero=2).fit(signals)
    (tmp_path / "atoms.csv").unlink()
    np.testing.assert_allclose(model.transform(signals), expected, rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["omp", "lca", "dim"])
def test_a_saved_coder_gives_the_same_codes(problem, tmp_path, algorithm):
    signals, atoms = (np.abs(part) for part in problem)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    model = SparseCoder(atoms, algorithm).fit(signals)
    gm.save(model, tmp_path / "coder.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "coder.model").transform(signals), model.transform(signals))


def test_trajectories_end_where_the_code_is(problem):
    signals, atoms = problem
    coder = SparseCoder(atoms, "lca", penalty=0.3).fit(signals)
    path = coder.trajectory(signals[:3], 3000)
    assert path.shape == (3, 3001, 9)
    np.testing.assert_allclose(path[:, -1], coder.transform(signals[:3]), atol=1e-5)
    with pytest.raises(DataError, match="no steps in time"):
        SparseCoder(atoms).trajectory(signals)


def test_float32_rows_have_float32_codes(problem):
    signals, atoms = problem
    codes = SparseCoder(atoms, n_nonzero=2).fit_transform(signals.astype(np.float32))
    assert codes.dtype == np.float32
    np.testing.assert_allclose(codes, SparseCoder(atoms, n_nonzero=2).fit_transform(signals), atol=1e-5)
