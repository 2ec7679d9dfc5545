"""`NMF`: missing entries, weights, losses, streams, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.sparse.nmf import NMF


@pytest.fixture
def rows(rng):
    return rng.gamma(0.7, size=(120, 3)) @ rng.gamma(0.7, size=(3, 10)) + 0.02 * rng.random((120, 10))


def test_hidden_entries_are_recovered(rows, rng):
    hidden = rng.random(rows.shape) < 0.25
    shown = pd.DataFrame(np.where(hidden, np.nan, rows))
    shown.columns = [f"c{j}" for j in range(10)]
    model = NMF(3, tol=1e-6).fit(shown)
    # Three parts make these rows but for little noise: nothing need be held.
    assert model.ridge_ == 0.0
    found = model.inverse_transform(model.transform(shown))
    means = np.broadcast_to(shown.mean(), rows.shape)
    assert np.square((found - rows)[hidden]).mean() < 0.2 * np.square((means - rows)[hidden]).mean()


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler", "itakura-saito", 1.5])
def test_every_loss_falls_and_codes_reproduce_it(rows, loss):
    model = NMF(3, beta_loss=loss, max_iter=300).fit(rows)
    assert (np.diff(model.history_) <= 1e-12 * model.history_[0]).all()
    assert model.n_iter_ == len(model.history_) - 1
    assert model.ridge_ == 0.0
    made = model.inverse_transform(model.transform(rows))
    assert np.corrcoef(made.ravel(), rows.ravel())[0, 1] > 0.97
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * model.history_[-1]), rel=1e-9)
    np.testing.assert_array_equal(model.components_, model.dictionary_)


def test_fit_transform_is_fit_then_transform(rows):
    np.testing.assert_array_equal(NMF(2).fit_transform(rows), NMF(2).fit(rows).transform(rows))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights(rows):
    counts = np.arange(120) % 3
    a = NMF(2, max_iter=10).fit(rows, sample_weight=counts)
    b = NMF(2, max_iter=10).fit(np.repeat(rows, counts, axis=0))
    np.testing.assert_allclose(a.dictionary_, b.dictionary_, rtol=1e-5)
    weights = np.ones_like(rows)
    weights[:, 4] = 100.0
    errors = [np.abs(m.inverse_transform(m.transform(rows)) - rows)[:, 4].mean() for m in
              (NMF(2).fit(rows), NMF(2).fit(rows, entry_weight=weights))]  # fmt: skip
    assert errors[1] < errors[0]


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_a_stream(rows, loss, tmp_path):
    shown = rows.copy()
    shown[::7, 3] = np.nan
    model = NMF(3, beta_loss=loss)
    for batch in np.array_split(shown, 4):
        model.partial_fit(batch)
    whole = NMF(3, beta_loss=loss).fit(shown)
    errors = [np.square(m.reconstruction_error(shown)).sum() for m in (model, whole)]
    assert errors[0] < 2 * errors[1] + 1e-3 * np.nansum(shown**2)
    gm.save(model, tmp_path / "nmf.model")
    loaded = gm.load(tmp_path / "nmf.model")
    np.testing.assert_array_equal(loaded.partial_fit(shown).dictionary_, model.partial_fit(shown).dictionary_)


def test_where_it_begins(rows):
    given = NMF(2, init=np.abs(rows[:2]) + 0.1).fit(rows)
    drawn = NMF(2, init="random", random_state=1).fit(rows)
    for model in (given, drawn):
        assert model.history_[-1] < 1.3 * NMF(2).fit(rows).history_[-1]


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ((3, 4, -1.0), {}, "Negative values in data passed to NMF: row 3, column 4 holds -1"),
        ((3, 4, 0.0), {"beta_loss": "itakura-saito"}, "row 3, column 4 is zero"),
        ((5, slice(None), np.nan), {}, "row 5 has no observed value"),
        ((slice(None), 2, np.nan), {}, "column 'x2' has no observed value"),
        ((0, 0, 1.0), {"beta_loss": "huber"}, "beta_loss is"),
        ((0, 0, 1.0), {"ridge": -1.0}, "ridge"),
        ((0, 0, 1.0), {"ridge": 1.0, "beta_loss": 1}, "'frobenius' alone"),
        ((0, 0, 1.0), {"init": "nndsvd"}, "init is 'svd'"),
        ((0, 0, 1.0), {"init": np.ones((2, 3))}, "init has shape"),
        ((0, 0, 1.0), {"n_components": 0}, "n_components"),
        ((0, 0, 1.0), {"tol": -1}, "tol"),
    ],
)
def test_bad_input_is_one_clear_line(rows, change, settings, said):
    row, column, value = change
    rows[row, column] = value
    with pytest.raises(DataError, match=said) as raised:
        NMF(**{"n_components": 2, **settings}).fit(rows)
    assert "\n" not in str(raised.value)


def test_a_new_row_without_a_value_is_refused(rows):
    with pytest.raises(DataError, match="row 1 has no observed value"):
        NMF(2).fit(rows).transform(np.array([rows[0], np.full(10, np.nan)]))


@pytest.mark.parametrize("beta", [300, 1e6])
def test_powers_that_no_float_holds_are_refused(rng, beta):
    rows = 1000 * rng.random((30, 4))
    with pytest.raises(DataError, match=r"^beta_loss=.* takes powers of the values that floats cannot hold"):
        gm.NMF(2, beta_loss=beta, random_state=0).fit(rows)
    model = gm.NMF(2, random_state=0).fit(rows)
    model.beta_loss = 1e9 * beta
    with pytest.raises(DataError, match="floats cannot hold"):
        model.transform(rows)


def test_a_loss_that_had_not_settled_warns(rng):
    X = rng.random((40, 8))
    for loss in ("frobenius", "kullback-leibler"):
        with pytest.warns(ConvergenceWarning, match=r"max_iter = 1 iterations, .* larger max_iter or tol"):
            gm.NMF(3, beta_loss=loss, max_iter=1).fit(X)
    # Nobody asked it to settle; and this one does.
    gm.NMF(3, max_iter=1, tol=0).fit(X)
    assert gm.NMF(3, tol=1e-2).fit(X).n_iter_ < 200


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler", "itakura-saito"])
def test_the_score_is_minus_the_loss_of_rows(rng, loss):
    X, weights = rng.random((60, 6)) + 0.1, rng.integers(0, 4, 60)
    X[3, 2] = np.nan
    model = gm.NMF(2, beta_loss=loss, ridge=0, tol=1e-2).fit(X)
    made = model.inverse_transform(model.transform(X))
    entry = {
        "frobenius": (X - made) ** 2 / 2,
        "kullback-leibler": X * np.log(X / made) - X + made,
        "itakura-saito": X / made - np.log(X / made) - 1,
    }[loss]
    rows = np.nansum(entry, axis=1)
    assert model.score(X) == pytest.approx(-rows.sum())
    assert model.score(X, sample_weight=weights) == pytest.approx(-(weights @ rows))
    assert model.score(X, sample_weight=2.0) == pytest.approx(-2 * rows.sum())


def test_a_search_finds_the_number_of_parts(rng):
    X = rng.random((120, 3)) @ rng.random((3, 8))
    search = GridSearchCV(gm.NMF(tol=1e-3), {"n_components": [1, 2, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}
