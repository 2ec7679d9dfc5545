"""What happens to levels after the pass, against the same done to the rows before it."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.design import pair_tables
from gramian.errors import ColumnError, DataError
from gramian.moments.algebra.levels import as_categorical, drop_empty_levels, fold_into_numbers, map_levels, pool


def same(a, b, columns):
    np.testing.assert_allclose(a.mean(columns), b.mean(columns), rtol=1e-12)
    expected = b.covariance(columns)
    np.testing.assert_allclose(a.covariance(columns), expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("missing", [False, True])
def test_an_integer_folded_into_a_number_is_that_number(mixed, missing):
    if missing:
        mixed["grade"] = pd.array(mixed["grade"], dtype="Int64")
        mixed.loc[::6, "grade"] = pd.NA
    m = gm.collect(mixed)
    assert m.schema["grade"].form == "integer"
    found = fold_into_numbers(m, ["grade"])
    expected = gm.collect(mixed.assign(grade=mixed["grade"].astype(float)))
    assert found.schema["grade"].form == "number"
    same(found, expected, ["color", "grade", "size", "cost"])
    np.testing.assert_allclose(found.numbers.powers, expected.numbers.powers, rtol=1e-9, atol=1e-6)


def test_mapped_levels_are_those_of_renamed_rows(mixed):
    m = gm.collect(mixed)
    k = m.coded_at["color"]
    two = gm.collect(mixed.assign(color=np.where(mixed["color"] == "red", "red", "other")))
    labels = two.labels[two.coded_at["color"]]
    mapping = np.array([labels.to_list().index("red" if label == "red" else "other") for label in m.levels("color")])
    found = map_levels(m, {k: (labels, mapping)})
    same(found, two, ["color", "shape", "size"])
    np.testing.assert_array_equal(found.crosstab("color", "shape"), two.crosstab("color", "shape"))


def test_levels_without_rows_go(mixed):
    m = gm.collect(mixed)
    rest = gm.collect(mixed[mixed["shape"] != "rod"])
    left = m - gm.collect(mixed[mixed["shape"] == "rod"])
    assert left.isclose(rest)
    assert "rod" not in left.levels("shape")
    empty = map_levels(left, {left.coded_at["shape"]: (m.labels[m.coded_at["shape"]], _into(left, m, "shape"))})
    assert "rod" in empty.levels("shape")
    assert drop_empty_levels(empty) == left


def _into(part, whole, column):
    return np.array([whole.levels(column).index(label) for label in part.levels(column)])


def test_rare_levels_are_pooled_by_rows_then_by_number(mixed):
    m = gm.collect(mixed)
    found = pool(m, None, 2)
    assert found.levels("color")[-1] == "(rare)"
    assert len(found.levels("color")) == 2
    counts = mixed["color"].value_counts()
    assert found.counts("color").tolist() == [counts.iloc[0], counts.iloc[1:].sum()]
    with pytest.raises(DataError, match="needs"):
        pool(m, None, None)
    with pytest.raises(DataError, match="min_count"):
        pool(m, 0, None)


def test_integers_are_read_as_categories_and_numbers_are_not(mixed):
    m = gm.collect(mixed)
    found = as_categorical(m, ["grade"])
    expected = gm.collect(mixed.assign(grade=mixed["grade"].astype(str)))
    assert sorted(map(str, found.levels("grade"))) == sorted(expected.levels("grade"))
    assert found.kind("grade") == "categorical"
    with pytest.raises(ColumnError, match="'cost' was collected as a number"):
        as_categorical(m, ["cost"])


def test_integers_folded_together_are_those_folded_one_by_one(monkeypatch, rng):
    """In the matrix and in tables of their own, beside categories of both kinds and numbers with missing values."""
    monkeypatch.setattr(pair_tables, "NARROW_TOTAL", 25)
    n = 300
    frame = pd.DataFrame({f"n{j}": rng.integers(0, 3 + 3 * j, n) for j in range(5)}).astype("Int64")
    frame.loc[::7, ["n1", "n4"]] = pd.NA
    frame = frame.assign(a=rng.choice(list("uv"), n), b=rng.choice([f"l{k}" for k in range(20)], n))
    frame = frame.assign(x=np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)))
    for weight in (None, rng.random(n)):
        m = gm.collect(frame, folds=2, sample_weight=weight)
        assert m.pairs.blocks
        assert len(m.pairs.narrow) > 2
        names = ["n4", "n0", "n1", "n3"]
        together, one_by_one = fold_into_numbers(m, names), m
        for name in names:
            one_by_one = fold_into_numbers(one_by_one, [name])
        assert together.schema == one_by_one.schema
        assert together.isclose(one_by_one)
        assert together.isclose(gm.collect(frame.astype(dict.fromkeys(names, float)), folds=2, sample_weight=weight))
    assert fold_into_numbers(m, []) is m
