"""Training and left-out moments: the rows that they claim to be of."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.moments.algebra.combine import aligned
from gramian.moments.algebra.folds import filled_at, folds_of, has_folds, number_means

COLUMNS = ["color", "shape", "grade", "size", "cost", "id"]


@pytest.fixture
def parts(mixed, rng):
    # Each part lacks some levels of the others, and the last has no missing number.
    mixed["id"] = np.char.add("i", (np.arange(len(mixed)) // 3 + rng.integers(0, 40, len(mixed))).astype(str))
    return [mixed.iloc[k : k + 80] for k in range(0, 400, 80)]


@pytest.mark.parametrize("weighted", [False, True])
def test_training_moments_are_those_of_the_other_rows(parts, collect_in_folds, rng, weighted):
    if weighted:
        parts = [part.assign(weight=rng.gamma(2.0, size=len(part))) for part in parts]
    options = {"sample_weight": "weight"} if weighted else {}
    m = collect_in_folds(parts, **options)
    folds = folds_of(m)
    for k in folds.filled:
        train = folds.train(k)
        others = gm.collect(pd.concat([part for j, part in enumerate(parts) if j != k]), **options)
        expected = aligned(m, others)[1]
        assert train.n_rows == others.n_rows
        assert (train.counts("id") > 0).tolist() == (expected.counts("id") > 0).tolist()
        np.testing.assert_allclose(train.covariance(COLUMNS), expected.covariance(COLUMNS), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_moments_are_of_rows_filled_with_training_means(parts, collect_in_folds, rng, weighted):
    """Numbers and integers with missing values, and a number that no other part shows."""
    parts = [part.assign(grade=pd.array(part["grade"], dtype="Int64"), alone=np.nan) for part in parts]
    for k, part in enumerate(parts):
        part.iloc[k::9, part.columns.get_loc("grade")] = pd.NA
        part["weight"] = rng.gamma(2.0, size=len(part))
    parts[2]["alone"] = rng.standard_normal(80) + 1e6
    options = {"sample_weight": "weight"} if weighted else {"exclude": "weight"}
    names = [*COLUMNS, "alone"]
    for k, (train, test) in enumerate(folds_of(collect_in_folds(parts, **options), names)):
        others = pd.concat([part for j, part in enumerate(parts) if j != k])
        w = others["weight"] if weighted else pd.Series(1.0, others.index)
        filled = parts[k].copy()
        for name in ("grade", "size", "alone"):
            seen = others[name].notna()
            mean = (w * others[name])[seen].sum() / w[seen].sum() if seen.any() else np.nan
            filled[name] = filled[name].astype(float).fillna(mean) if seen.any() else 0.0
        expected = aligned(test, gm.collect(filled[[*names, "weight"]], **options))[1]
        np.testing.assert_allclose(test.mean(names), expected.mean(names), rtol=1e-12, atol=1e-12)
        scale = np.sqrt(np.diagonal(expected.covariance(names)) + 1e-9)
        off = np.abs(test.covariance(names) - expected.covariance(names)) / np.outer(scale, scale)
        assert off.max() < 1e-9
        assert test.levels("id") == train.levels("id")


def test_a_left_out_value_leaves_no_rounding_behind(parts, collect_in_folds):
    clean = folds_of(collect_in_folds(parts)).train(1)
    parts[1] = parts[1].assign(cost=parts[1]["cost"] + 1e12)
    wild = folds_of(collect_in_folds(parts)).train(1)
    np.testing.assert_array_equal(wild.numbers.sums, clean.numbers.sums)
    np.testing.assert_array_equal(wild.numbers.dense(), clean.numbers.dense())
    for mine, theirs in zip(wild.sums, clean.sums, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_pooled_levels_are_aligned_too(parts, collect_in_folds):
    m = collect_in_folds(parts).pool(min_count=2)
    train, own = folds_of(m).split(0)
    assert train.levels("id") == own.levels("id") == m.levels("id")
    np.testing.assert_array_equal(train.counts("id") + own.counts("id"), m.counts("id"))


def test_a_level_is_shown_where_two_folds_have_it(collect_in_folds):
    parts = [pd.DataFrame({"c": list(levels), "x": 1.0}) for levels in ("aab", "aac", "acd")]
    m = collect_in_folds(parts)
    found = folds_of(m).shown("c")
    assert dict(zip(m.levels("c"), found.tolist(), strict=True)) == {"a": True, "b": False, "c": True, "d": False}


def test_missing_numbers_take_the_given_means(mixed):
    mixed["grade"] = pd.array(mixed["grade"], dtype="Int64")
    mixed.loc[::7, "grade"] = pd.NA
    m = gm.collect(mixed)
    found = filled_at(m, number_means(m) | {"grade": 2.5, "size": -3.0})
    expected = gm.collect(mixed.assign(grade=mixed["grade"].astype(float).fillna(2.5), size=mixed["size"].fillna(-3.0)))
    names = ["color", "grade", "size", "cost"]
    np.testing.assert_allclose(found.mean(names), expected.mean(names), rtol=1e-12)
    np.testing.assert_allclose(found.covariance(names), expected.covariance(names), rtol=1e-9, atol=1e-9)


def test_folds_are_asked_for_in_words(mixed, collect_in_folds):
    assert not has_folds(gm.collect(mixed))
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        folds_of(gm.collect(mixed))
    lopsided = collect_in_folds([mixed.iloc[:399], mixed.iloc[399:]])
    assert not has_folds(lopsided)
    with pytest.raises(DataError, match="fold 0 leaves 1 of n_samples = 400"):
        folds_of(lopsided)
