"""`DictionaryLearner`: streams, merging, forgetting, files, and what it refuses."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.sparse.dictionary import DictionaryLearner


@pytest.fixture
def rows(rng):
    atoms = rng.normal(size=(12, 8))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = rng.normal(size=(600, 12)) * (rng.random((600, 12)) < 0.15)
    return codes @ atoms + 0.01 * rng.normal(size=(600, 8))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_nonzero": 2},
        {"n_nonzero": 2, "update": "ksvd"},
        {"algorithm": "lasso", "penalty": 0.1},
        {"algorithm": "lca", "penalty": 0.1, "max_iter": 300},
        {"algorithm": "vq"},
        {"algorithm": "l0", "n_nonzero": 2},
        {"algorithm": "feedback", "penalty": 0.1, "max_iter": 200},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_lowers_the_error(rows, settings):
    model = DictionaryLearner(10, n_epochs=3, batch_size=200, **settings).fit(rows)
    begun = gm.SparseCoder(
        model.start_, model.algorithm, **{k: v for k, v in settings.items() if k not in ("algorithm", "update")}
    )
    before = np.square(begun.fit(rows).reconstruction_error(rows)).mean()
    assert np.square(model.reconstruction_error(rows)).mean() < 0.9 * before
    sizes = np.linalg.norm(model.dictionary_, axis=1)
    if model.algorithm in ("omp", "l0"):
        np.testing.assert_allclose(sizes, 1, rtol=1e-9)
    elif model.algorithm != "vq":
        assert sizes.max() <= 1 + 1e-9
    assert len(model.history_) == 9


def test_non_negative_atoms_for_divisive_modulation(rng):
    model = DictionaryLearner(3, algorithm="dim", max_iter=30, n_epochs=2).fit(rng.random((60, 5)))
    assert model.dictionary_.min() >= 0


@pytest.mark.parametrize("settings", [{"n_nonzero": 2}, {"algorithm": "lasso", "penalty": 0.2}])
def test_merged_learners_equal_one_on_all_rows(rows, settings):
    start = rows[:9]
    a, b, whole = (
        DictionaryLearner(9, init=start, **settings).partial_fit(part) for part in (rows[:250], rows[250:], rows)
    )
    merged = a + b
    assert merged.sums_.isclose(whole.sums_)
    np.testing.assert_allclose(merged.dictionary_, whole.dictionary_, atol=1e-8)
    assert (merged - b).sums_.isclose(a.sums_, 1e-9)
    assert merged.sums_.weight == 600
    with pytest.raises(DataError, match="different atoms"):
        _ = a + DictionaryLearner(9, init=rows[20:29], **settings).partial_fit(rows)


def test_merged_learners_of_ksvd_have_the_best_atoms_for_the_codes_of_both(rows):
    settings = {"init": rows[:9], "n_nonzero": 2, "update": "ksvd"}
    a, b, whole = (DictionaryLearner(9, **settings).partial_fit(part) for part in (rows[:250], rows[250:], rows))
    merged = a + b
    assert merged.sums_.isclose(a.sums_ + b.sums_)
    error = merged.sums_.squared_error(merged.dictionary_)
    for other in (a, b, whole):
        assert error <= merged.sums_.squared_error(other.dictionary_) * (1 + 1e-9)
    # What the notes say: near the learner of both, and another one.
    gap = np.abs(merged.dictionary_ - whole.dictionary_).max()
    assert 1e-6 < gap < 0.1


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        ({"n_nonzero": 2}, {"n_nonzero": 1}, "these learners differ in n_nonzero: 2 and 1;"),
        ({"n_nonzero": 2}, {"algorithm": "lasso"}, "these learners differ in algorithm: 'omp' and 'lasso';"),
        (
            {"algorithm": "lasso", "penalty": 0.2},
            {"algorithm": "lasso"},
            "these learners differ in penalty: 0.2 and None;",
        ),
        ({}, {"positive": True}, "these learners differ in positive: False and True;"),
        ({}, {"update": "ksvd"}, "these learners differ in update: 'online' and 'ksvd';"),
        ({}, {"incoherence": 0.5}, "these learners differ in incoherence: 0.0 and 0.5;"),
    ],
)
def test_learners_of_different_settings_do_not_add(rows, mine, other, said):
    # Lengths of 1 are what every coder here begins with.
    start = rows[:9] / np.linalg.norm(rows[:9], axis=1, keepdims=True)
    a, b = (DictionaryLearner(9, init=start, **each).partial_fit(rows[:50]) for each in (mine, other))
    for merge in (lambda: a + b, lambda: a - b):
        with pytest.raises(DataError, match=said):
            merge()


def test_learners_that_differ_in_batches_alone_add(rows):
    a, b = (DictionaryLearner(9, init=rows[:9], batch_size=size).partial_fit(rows[:50]) for size in (8, 16))
    assert (a + b).sums_.weight == 100


def test_streams_learn_and_forget(rows):
    model = DictionaryLearner(10, n_nonzero=2, forgetting=0.5)
    for _ in range(3):
        for batch in np.array_split(rows, 3):
            model.partial_fit(batch)
    assert model.sums_.weight == pytest.approx(200 * (1 - 0.5**9) / 0.5)
    assert model.history_[-1] < 0.7 * model.history_[0]


def test_the_same_seed_gives_the_same_atoms(rows):
    a, b, c = (DictionaryLearner(6, n_epochs=1, random_state=seed).fit(rows).dictionary_ for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


def test_incoherence_keeps_atoms_apart(rows):
    plain, apart = (
        DictionaryLearner(14, n_nonzero=2, n_epochs=4, incoherence=strength).fit(rows).dictionary_
        for strength in (0.0, 3.0)
    )
    squares = [np.square(np.triu(d @ d.T, 1)).sum() for d in (plain, apart)]
    assert squares[1] < 0.8 * squares[0]


def test_a_saved_learner_goes_on(rows, tmp_path):
    model = DictionaryLearner(6, n_nonzero=2).partial_fit(rows[:300])
    gm.save(model, tmp_path / "d.model")
    loaded = gm.load(tmp_path / "d.model")
    np.testing.assert_array_equal(loaded.partial_fit(rows[300:]).dictionary_, model.partial_fit(rows[300:]).dictionary_)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_components": 0}, "n_components is None or a whole number from 1"),
        ({"n_components": 3, "n_nonzero": 4}, "n_nonzero=4 is more than the 3 atoms"),
        ({"update": "svd"}, "'online' or 'ksvd'"),
        ({"algorithm": "lasso", "update": "ksvd"}, "refits coefficients freely"),
        ({"forgetting": 1.0}, "forgetting"),
        ({"incoherence": -1}, "incoherence"),
        ({"batch_size": 0}, "batch_size"),
        ({"n_components": 2, "init": np.eye(8)}, "init has shape"),
    ],
)
def test_bad_settings_are_refused(rows, settings, said):
    with pytest.raises(DataError, match=said):
        DictionaryLearner(**settings).fit(rows)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_atoms_do_not_depend_on_the_unit(rows, scale):
    a, b = (DictionaryLearner(6, n_nonzero=2, n_epochs=2).fit(rows * s).dictionary_ for s in (1.0, scale))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_one_row_and_rows_of_zeros(rng):
    assert DictionaryLearner(3, n_epochs=1).fit(rng.normal(size=(1, 4))).dictionary_.shape == (3, 4)
    assert np.isfinite(DictionaryLearner(3, n_epochs=1).fit(np.zeros((5, 4))).dictionary_).all()
