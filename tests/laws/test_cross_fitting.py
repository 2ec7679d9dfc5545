"""No row's own target reaches its own features, and the held-out score is that of the cross-fitted features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import gramian as gm
from gramian.design.encoder import by_position

N = 400
FOLD = 2


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(
        {
            # Rare levels: some are in one fold alone.
            "city": np.char.add("c", rng.integers(0, 90, N).astype(str)),
            "color": rng.choice(["red", "green", "blue"], N),
            "grade": pd.array(rng.integers(0, 9, N), dtype="Int64"),
            "size": 1e3 * rng.standard_normal(N) + 1e5,
        }
    )
    frame.loc[10:60, "size"] = np.nan
    frame.loc[rng.random(N) < 0.1, "grade"] = pd.NA
    return frame


@pytest.fixture
def signal(frame, rng):
    city = frame["city"].str[1:].astype(int).to_numpy()
    return (
        np.sin(city) + (frame["color"] == "red") + 0.2 * frame["grade"].fillna(4).astype(float) + rng.standard_normal(N)
    )


@pytest.fixture(params=["number", "classes"])
def target(request, signal):
    if request.param == "number":
        return signal.to_numpy()
    return np.array(["low", "mid", "top"])[np.digitize(signal, np.quantile(signal, [0.3, 0.7]))]


@pytest.fixture(params=["by position", "splitter"])
def folds(request):
    """Return `cv` and the fold of each row."""
    if request.param == "by position":
        return 5, by_position(0, N, 5, 0)
    splitter = KFold(4, shuffle=True, random_state=0)
    fold_of = np.empty(N, dtype=int)
    for k, (_, rows) in enumerate(splitter.split(np.zeros(N))):
        fold_of[rows] = k
    return splitter, fold_of


def disturbed(target, rows, rng):
    """Yield the target with the values of some rows permuted, and with a single one of them changed beyond reason."""
    permuted = target.copy()
    permuted[rows] = rng.permutation(target[rows])
    yield rows, permuted
    wild = target.copy()
    wild[rows[0]] = "low" if target[rows[0]] == "top" else "top" if target.dtype.kind == "U" else 1e9
    yield rows[:1], wild


def is_whole(name, target):
    """Whether a feature belongs to a column that needs no encoding: a number, or as many levels as classes."""
    return name.split("_")[0] in ["grade", "size", "flag"] + (["color"] if target.dtype.kind == "U" else [])


def test_a_rows_target_does_not_reach_its_own_encoding(frame, target, folds, rng):
    cv, fold_of = folds
    encoder = gm.JointTargetEncoder(ridge=3.0, cv=cv, categorical_features=["city", "color"])
    before = encoder.fit_transform(frame, target)
    whole = [k for k, name in enumerate(encoder.get_feature_names_out()) if is_whole(name, target)]
    before = np.delete(before, whole, axis=1)
    inside = np.flatnonzero(fold_of == FOLD)
    for changed, other in disturbed(target, inside, rng):
        after = np.delete(encoder.fit_transform(frame, other), whole, axis=1)
        # Nothing of the changed values is in the sums, not even their rounding: the numbers agree to the last digits.
        np.testing.assert_allclose(after[inside], before[inside], rtol=1e-9, atol=1e-12)
        outside = np.flatnonzero(fold_of != FOLD)
        assert np.abs(after[outside] - before[outside]).max() > 1e-3
        leaky = encoder.fit(frame, other).transform(frame)
        assert np.abs(leaky[changed] - encoder.fit(frame, target).transform(frame)[changed]).max() > 1e-3


@pytest.mark.parametrize("options", [{}, {"structure": "krylov", "n_components": 3}])
def test_only_the_rotation_of_the_full_fit_is_shared(frame, target, folds, rng, options):
    # The rows of a fold are Z = X B R with B of the other folds and R of all: whatever R is, their columns span the same.
    cv, fold_of = folds
    model = gm.MahalanobisFeatures(ridge=3.0, cv=cv, **options)
    before = model.fit_transform(frame, target)
    inside = np.flatnonzero(fold_of == FOLD)
    for _, other in disturbed(target, inside, rng):
        after = model.fit_transform(frame, other)
        turn, *_ = np.linalg.lstsq(before[inside], after[inside], rcond=None)
        np.testing.assert_allclose(before[inside] @ turn, after[inside], atol=1e-7 * np.abs(after[inside]).max())
        outside = np.flatnonzero(fold_of != FOLD)
        assert np.abs(before[outside] @ turn - after[outside]).max() > 1e-5 * np.abs(after).max()


@pytest.mark.parametrize("ridge", [0.0, 3.0, "auto"])
def test_the_held_out_score_is_that_of_the_cross_fitted_prediction(frame, target, folds, ridge):
    # Of categories with more levels than classes, all of which are encoded: their features add up to the prediction.
    cv, fold_of = folds
    encoded = frame[["city", "grade"]]
    model = gm.MahalanobisFeatures(structure="columns", ridge=ridge, cv=cv, categorical_features="all")
    features = model.fit_transform(encoded, target)
    h = target[:, None] if target.dtype.kind == "f" else (target[:, None] == np.unique(target)).astype(float)
    total = features.reshape(N, encoded.shape[1], -1).sum(axis=1)
    centre = np.stack([h[fold_of != k].mean(axis=0) for k in range(fold_of.max() + 1)])[fold_of]
    expected = 1 - np.square(h - centre - total).sum() / np.square(h - centre).sum()
    assert model.r2_cv_ == pytest.approx(expected, abs=1e-9)


def test_weights_of_other_folds_alone_decide(frame, target, rng):
    # A level of which only left-out rows are left weighs nothing in training, also where weights are no whole numbers.
    weight = rng.gamma(2.0, size=N)
    fold_of = by_position(0, N, 5, 0)
    encoder = gm.JointTargetEncoder(ridge=3.0)
    found = encoder.fit_transform(frame, target, sample_weight=weight)
    for k in range(5):
        train, test = fold_of != k, fold_of == k
        alone = gm.JointTargetEncoder(ridge=3.0).fit(frame[train], target[train], sample_weight=weight[train])
        m = found.shape[1] // frame.shape[1]
        np.testing.assert_allclose(found[test][:, :m], alone.transform(frame[test])[:, :m], atol=1e-9)


def test_a_whole_column_is_itself_but_for_the_rotation_of_the_full_fit(frame, target, folds, rng):
    cv, _ = folds
    frame["flag"] = rng.random(N) < 0.3
    encoder = gm.JointTargetEncoder(ridge=3.0, cv=cv, categorical_features=["city", "color", "flag"])
    crossed = encoder.fit_transform(frame, target)
    names, plain = encoder.get_feature_names_out(), encoder.transform(frame)
    whole = np.array([is_whole(name, target) for name in names])
    np.testing.assert_allclose(crossed[:, whole], plain[:, whole], atol=1e-12)
    assert (np.abs(crossed[:, ~whole] - plain[:, ~whole]).max(axis=0) > 1e-3).all()
    other = encoder.fit_transform(frame, rng.permutation(target))
    for column in {name.split("_")[0] for name in names[whole]}:
        at = [k for k, name in enumerate(names) if name.split("_")[0] == column]
        turn, *_ = np.linalg.lstsq(crossed[:, at], other[:, at], rcond=1e-9)
        np.testing.assert_allclose(crossed[:, at] @ turn, other[:, at], atol=1e-6 * np.abs(other[:, at]).max())
