"""Laws of the density embedding and of the score of odd rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import gramian as gm
from gramian.linear.density import density_embedding
from gramian.linear.reference import levels_reference, reference_threshold
from gramian.linear.surprise import RIDGE_ROWS, surprise
from gramian.maps.pair_surprise import damped


def payments(rng: np.random.Generator, n: int, *, numbers: bool = True) -> pd.DataFrame:
    """Return rows with dependent categories and, where asked for, numbers that depend on them."""
    country = rng.choice(["DE", "NO", "JP", "FR"], n, p=[0.5, 0.3, 0.15, 0.05])
    money = np.where(country == "NO", "NOK", np.where(country == "JP", "JPY", "EUR"))
    money = np.where(rng.random(n) < 0.03, rng.choice(["EUR", "NOK", "JPY", "USD"], n), money)
    frame = pd.DataFrame({"country": country, "money": money, "channel": rng.choice(["web", "app", None], n)})
    if numbers:
        frame["amount"] = rng.gamma(2.0, 30.0, n) + 200.0 * (money == "JPY")
        frame["fee"] = 0.01 * frame["amount"] + rng.standard_normal(n)
        frame["day"] = rng.integers(0, 7, n)
        frame.loc[::17, "fee"] = np.nan
    return frame


def onehot(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the design matrix in the order of the names of design columns, missing numbers at the mean."""
    columns = []
    for name in names:
        if name in frame:
            values = frame[name].to_numpy(dtype=float)
            columns.append(np.where(np.isnan(values), np.nanmean(values), values))
        else:
            column, level = name.split("_", 1)
            columns.append((frame[column].fillna("(missing)") == level).to_numpy(dtype=float))
    return np.column_stack(columns)


@pytest.mark.parametrize("numbers", [False, True])
def test_eigenvectors_are_those_of_the_pseudo_inverse_with_reciprocal_eigenvalues(rng, numbers):
    m = gm.collect(payments(rng, 500, numbers=numbers))
    found = density_embedding(m)
    inverse = np.linalg.pinv(m.covariance(), hermitian=True, rcond=1e-12)
    values, vectors = np.linalg.eigh(inverse)
    np.testing.assert_allclose(found.precision_eigenvalues, values[::-1][: found.rank], rtol=1e-8)
    # Up to sign; the eigenvalues of this table are distinct.
    overlap = np.abs(np.sum(found.components * vectors[:, ::-1][:, : found.rank].T, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-7)
    np.testing.assert_allclose(
        inverse @ found.components.T, found.components.T * found.precision_eigenvalues, atol=1e-6
    )


def test_first_components_are_the_last_principal_components(rng):
    m = gm.collect(payments(rng, 500))
    last = gm.PCA(scale=False).fit(m)
    found = density_embedding(m, n_components=3)
    np.testing.assert_allclose(found.components, last.components_[::-1][:3], atol=1e-8)
    np.testing.assert_allclose(found.precision_eigenvalues, 1 / last.explained_variance_[::-1][:3], rtol=1e-9)


@pytest.mark.parametrize("numbers", [False, True])
def test_squared_length_is_the_mahalanobis_distance(rng, numbers):
    frame = payments(rng, 400, numbers=numbers)
    model = gm.DensityEmbedding().fit(frame)
    x = onehot(frame, model.design_names_) - model.mean_
    distance = np.einsum("ij,jk,ik->i", x, np.linalg.pinv(model.moments_.covariance(), hermitian=True, rcond=1e-12), x)
    np.testing.assert_allclose(np.square(model.transform(frame)).sum(axis=1), distance, rtol=1e-8)


def test_null_space_is_one_direction_a_categorical_column(rng):
    frame = payments(rng, 300, numbers=False)
    found = density_embedding(gm.collect(frame))
    assert found.rank == found.weights.shape[0] - frame.shape[1]


def test_residual_is_that_of_a_ridge_regression_on_the_other_columns(rng):
    frame = payments(rng, 600)
    found = surprise(gm.collect(frame))
    names = list(found.design.names)
    x = onehot(frame, names)
    mine = np.isin(np.arange(len(names)), range(*found.design.spans["money"].indices(len(names))))
    unit = np.where([n in frame for n in names], x.std(axis=0), 1.0)
    # S + (c/n) I on both sides of the regression: a ridge of c rows on predictors in their units.
    fit = Ridge(alpha=RIDGE_ROWS).fit(x[:, ~mine] / unit[~mine], x[:, mine])
    residual = x[:, mine] - fit.predict(x[:, ~mine] / unit[~mine])
    left = residual.T @ residual / len(x)
    rows = found.design.encode(gm.tables.open_table(frame).batches(found.design.origins).__next__())
    k = [c.name for c in found.design.categorical].index("money")
    slots = found.slots(rows.codes)
    said = found.table[slots[:, k][:, None], slots].sum(axis=1)
    said += (found.number_table[slots[:, k]] * found.standardised(rows)).sum(axis=1)
    held = residual[np.arange(len(x)), rows.codes[k]]
    # The variance adds the ridge's own share; the regression of the predictors' part is the same.
    coefficients = fit.coef_
    shrunk = RIDGE_ROWS / len(x) * (np.eye(mine.sum()) + coefficients @ coefficients.T)
    deviation = np.sqrt(np.diagonal(left + shrunk))[rows.codes[k]]
    np.testing.assert_allclose(said, held / deviation, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("numbers", [False, True])
def test_eliminating_the_widest_column_changes_nothing(rng, monkeypatch, numbers):
    frame = payments(rng, 900, numbers=numbers)
    frame.insert(1, "shop", [f"shop {k}" for k in np.minimum(rng.geometric(0.05, len(frame)), 60)])
    m = gm.collect(frame)
    plain = surprise(m)
    monkeypatch.setattr("gramian.linear.hearsay.ELIMINATED_LEVELS", 10)
    found = surprise(m)
    np.testing.assert_allclose(found.table, plain.table, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.number_table, plain.number_table, rtol=1e-9, atol=1e-10)
    if numbers:
        np.testing.assert_allclose(found.numbers.weights, plain.numbers.weights, rtol=1e-9, atol=1e-10)


def test_company_is_stationary_under_the_coupled_walk(rng, monkeypatch):
    monkeypatch.setattr("gramian.linear.surprise.LIFT_ROWS", 1e-12)
    m = gm.collect(payments(rng, 2000, numbers=False))
    from gramian.linear.surprise import _factors

    n = m.covariance(ddof=0) * m.n_rows + m.n_rows * np.outer(m.mean(), m.mean())
    columns = np.repeat(np.arange(3), [len(m.levels(c)) for c in m.columns])
    own, share = np.diagonal(n), m.mean()
    usual = np.array([share[columns == k].max() for k in range(3)])[columns]
    deviation = 0.5 * (1 - share / usual) + 0.5 * (1 - usual)
    step = np.where(columns[:, None] == columns, 0.0, n / own) * deviation
    step /= step.sum(axis=1, keepdims=True)
    factors = _factors(n, columns, float(m.n_rows))
    # Factors are company times a weight a column: within a column their ratios are those of company.
    elsewhere = deviation.sum() - np.bincount(columns, deviation)[columns]
    company = np.where(columns[:, None] == columns, 0.0, n / np.outer(own, own / m.n_rows)) @ deviation / elsewhere
    for k in range(3):
        ratio = factors[columns == k] / company[columns == k]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    stationary = deviation * company * elsewhere
    np.testing.assert_allclose(stationary @ step, stationary, rtol=1e-9)


@pytest.mark.parametrize("n_columns", [1, 2, 9])
def test_fused_columns_say_what_their_members_say(rng, n_columns):
    codes = rng.integers(0, 3, (500, n_columns)) * (rng.random((500, n_columns)) < 0.8)
    frame = pd.DataFrame(codes.astype(str), columns=[f"c{k}" for k in range(n_columns)])
    found = surprise(gm.collect(frame))
    odd = frame.copy()
    odd.iloc[::7, 0] = "new"
    rows = found.design.encode(gm.tables.open_table(odd).batches(found.design.origins).__next__())
    slots = found.slots(rows.codes).T
    expected = np.zeros(len(odd))
    for j in range(n_columns):
        said = sum(found.table[slots[j], slots[k]] for k in range(n_columns))
        expected += np.where(rows.codes[j] == found.sizes[j], found.penalty, found.factors[slots[j]] * damped(said))
    np.testing.assert_allclose(found.apply_rows(rows), expected, rtol=1e-12)


@pytest.mark.parametrize("numbers", [False, True])
def test_score_of_a_row_does_not_depend_on_the_rows_around_it(rng, numbers):
    frame = payments(rng, 300, numbers=numbers)
    model = gm.DensityEmbedding().fit(frame)
    together = model.anomaly_score(frame)
    alone = np.concatenate([model.anomaly_score(frame.iloc[[i]]) for i in range(0, 300, 37)])
    np.testing.assert_allclose(alone, together[::37], rtol=1e-12)
    shuffled = rng.permutation(300)
    np.testing.assert_allclose(model.anomaly_score(frame.iloc[shuffled]), together[shuffled], rtol=1e-12)


@pytest.mark.parametrize("numbers", [False, True])
def test_black_swans_outrank_everything_seen_and_two_outrank_one(rng, numbers):
    frame = payments(rng, 400, numbers=numbers)
    model = gm.DensityEmbedding().fit(frame)
    worst = frame.copy()
    if numbers:
        worst["amount"] = 1e300 * rng.choice([-1.0, 1.0], len(worst))
    worst["money"] = rng.permutation(worst["money"])
    one, two = frame.copy(), frame.copy()
    one["money"] = "BTC"
    two["money"], two["channel"] = "BTC", "fax"
    assert model.anomaly_score(worst).max() < model.anomaly_score(one).min()
    assert model.anomaly_score(one).max() < model.anomaly_score(two).min()
    assert (model.predict(one) == -1).all()
    assert model.black_swans(two).sum(axis=1).tolist() == [2] * len(two)
    assert np.isfinite(model.transform(two)).all()


def test_a_listed_level_without_rows_is_a_black_swan(rng):
    frame = payments(rng, 200, numbers=False).astype("category")
    frame["money"] = frame["money"].cat.add_categories(["BTC"])
    model = gm.DensityEmbedding().fit(frame)
    odd = frame.iloc[:1].copy()
    odd["money"] = pd.Categorical(["BTC"], categories=frame["money"].cat.categories)
    assert model.black_swans(odd).tolist() == [[False, True, False]]
    assert model.anomaly_score(odd)[0] > model.anomaly_score(frame).max()


@pytest.mark.parametrize("numbers", [False, True])
def test_explanations_add_up_and_nothing_argues_against(rng, numbers):
    frame = payments(rng, 250, numbers=numbers)
    model = gm.DensityEmbedding().fit(frame)
    odd = frame.copy()
    odd.loc[::5, "money"] = "BTC"
    odd["country"] = rng.permutation(odd["country"])
    for top in (1, 3, 100):
        table = model.explain(odd, top=top)
        total = table.groupby("row")["contribution"].sum().to_numpy()
        np.testing.assert_allclose(total, model.anomaly_score(odd), rtol=0, atol=1e-9)
        assert (table["contribution"] > -1e-9).all()
        assert (table.groupby("row")["text"].last() == "(other)").all()


@pytest.mark.parametrize("numbers", [False, True])
def test_windows_by_subtraction_give_the_detector_of_what_is_left(rng, numbers):
    old, new = payments(rng, 300, numbers=numbers), payments(rng, 700, numbers=numbers)
    old.loc[:20, "money"] = "DEM"
    a, b = gm.collect(old), gm.collect(new)
    window, plain = gm.DensityEmbedding().fit(a + b - a), gm.DensityEmbedding().fit(b)
    np.testing.assert_allclose(window.anomaly_score(new), plain.anomaly_score(new), rtol=1e-9)
    np.testing.assert_allclose(window.offset_, plain.offset_, rtol=1e-9)
    assert window.black_swans(old)[:21, 1].all()
    np.testing.assert_allclose(np.sort(window.precision_eigenvalues_), np.sort(plain.precision_eigenvalues_), rtol=1e-7)


def test_rows_moments_and_parts_give_the_same_detector(rng):
    frame = payments(rng, 600)
    whole = gm.DensityEmbedding().fit(frame)
    parts = gm.DensityEmbedding().partial_fit(frame[:200])
    parts.transform(frame)
    parts.partial_fit(frame[200:])
    for other in (gm.DensityEmbedding().fit(gm.collect(frame)), parts):
        np.testing.assert_allclose(other.anomaly_score(frame), whole.anomaly_score(frame), rtol=1e-9)
        np.testing.assert_allclose(other.offset_, whole.offset_, rtol=1e-9)
        np.testing.assert_allclose(np.abs(other.transform(frame)), np.abs(whole.transform(frame)), rtol=1e-6, atol=1e-8)


def test_reference_has_the_mean_and_variance_of_levels_at_their_usual_worth(rng):
    frame = payments(rng, 500, numbers=False)
    found = surprise(gm.collect(frame))
    rows = found.design.encode(gm.tables.open_table(frame).batches(found.design.origins).__next__())
    worth = found.factors * damped(found.usual.sum(axis=1))
    total = worth[found.slots(rows.codes)].sum(axis=1)
    mean, variance = levels_reference(found)
    np.testing.assert_allclose([mean, variance], [total.mean(), total.var()], rtol=1e-10)


@pytest.mark.parametrize("p", [1, 4])
def test_reference_of_normal_numbers_is_exact(rng, p):
    x = rng.standard_normal((20_000, p)) @ rng.standard_normal((p, p))
    found = surprise(gm.collect(x))
    scores = found.apply([found.design.encode_array(x)])
    # Three standard errors of a share of 5% of 20,000 rows.
    assert abs((scores > reference_threshold(found)).mean() - 0.05) < 0.005


def test_an_identifier_does_not_drown_the_other_columns(rng):
    frame = payments(rng, 3000, numbers=False)
    odd = np.zeros(len(frame), dtype=bool)
    odd[::100] = True
    frame.loc[odd, ["country", "money"]] = ["JP", "NOK"]
    frame["id"] = [f"id {k}" for k in rng.integers(0, 1500, len(frame))]
    scores = gm.DensityEmbedding().fit(frame).anomaly_score(frame)
    assert np.median(scores[odd]) > np.quantile(scores[~odd], 0.9)


@pytest.mark.parametrize("levels", [3, 200])
def test_scores_stay_finite_whatever_the_weight_of_a_row(rng, levels):
    frame = payments(rng, 400)
    frame["many"] = rng.integers(0, levels, 400).astype(str)
    frame["same"] = frame["many"]
    whole = gm.collect(frame)
    for weight in (1e12, 1e18):
        model = gm.DensityEmbedding().fit(whole * weight)
        scores = model.anomaly_score(frame)
        assert ((scores >= 0) & (scores <= model.surprise_.bound)).all()
