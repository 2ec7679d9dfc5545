import numpy as np

from gramian.sparse.nmf import RIDGES, Observed, _hidden, choose_ridge, codes_of, factorise


def test_parts_that_make_the_whole_table_are_not_shrunk(rng):
    X = np.outer(rng.uniform(0.5, 1.5, 40), [4.0, 1.0, 5.0, 2.0])
    X[3, 2] = np.nan
    data = Observed.of(X)
    ridge = choose_ridge(data, 1)
    assert ridge == 0.0
    found = factorise(data, 1, ridge=ridge)
    np.testing.assert_allclose((found.codes @ found.atoms)[:3], X[:3], rtol=1e-9)


def test_coefficients_that_entries_do_not_settle_are_held(rng):
    """More parts than a row shows entries of: without a hold they fit noise."""
    X = rng.uniform(0, 1, (120, 12)) @ rng.uniform(0, 1, (12, 12)) + rng.uniform(0, 2, (120, 12))
    hidden = rng.random(X.shape) < 0.6
    hidden[np.arange(120), rng.integers(0, 12, 120)] = False
    data = Observed.of(np.where(hidden, np.nan, X))
    ridge = choose_ridge(data, 8)
    assert ridge > 0

    def error(amount):
        found = factorise(data, 8, ridge=amount)
        codes = codes_of(data, found.atoms, ridge=amount)
        return np.square(codes @ found.atoms - X)[hidden].sum()

    # What is hidden agrees with what was hidden to choose.
    assert error(ridge) < 0.5 * error(0.0)


def test_a_full_table_and_one_that_shows_too_little_need_no_trial():
    assert choose_ridge(Observed.of(np.ones((3, 2))), 1) == 0.0
    assert choose_ridge(Observed.of(np.array([[1.0, np.nan], [np.nan, 2.0]])), 1) == RIDGES[-1]


def test_a_tenth_is_hidden_and_every_row_and_column_shows_something(rng):
    observed = rng.random((60, 20)) < 0.3
    observed[:, 0] = False
    observed[7, 0] = True
    observed[np.arange(60), rng.integers(1, 20, 60)] = True
    hidden = _hidden(observed, rng)
    assert hidden.sum() == observed.sum() // 10
    assert not (hidden & ~observed).any()
    left = observed & ~hidden
    assert left.any(axis=1).all()
    assert left.any(axis=0).all()
