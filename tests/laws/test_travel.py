"""`load(save(m)) == m`, whatever m holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, collected, random_table, recipes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("travel")


def returned(m: gm.Moments, folder: Path) -> gm.Moments:
    path = folder / "m.moments"
    m.save(path)
    return gm.Moments.load(path)


@given(recipes(), st.booleans(), st.booleans(), st.sampled_from([None, 2, 5]))
def test_load_gives_back_what_was_saved(
    folder: Path, recipe: Recipe, folded: bool, weighted: bool, min_count: int | None
) -> None:
    arguments = {"sample_weight": "weight"} if weighted else {}
    m = collected(
        recipe.table(), folds=3 if folded else 0, targets="small" if not recipe.missing else None, **arguments
    )
    if min_count:
        m = m.pool(min_count=min_count)
    back = returned(m, folder)
    assert back == m
    assert back.schema == m.schema
    assert back.columns == m.columns
    assert back.design_names == m.design_names
    assert (back.n_rows, back.total_weight, back.weighted) == (m.n_rows, m.total_weight, m.weighted)
    for name in m.coded:
        assert back.levels(name) == m.levels(name)
        np.testing.assert_array_equal(back.counts(name), m.counts(name))
    np.testing.assert_array_equal(back.covariance(ddof=0), m.covariance(ddof=0))


def wide_table(seed: int = 0, n_rows: int = 6000) -> pa.Table:
    """Return two columns of thousands of levels, whose pair is kept sparsely, and a narrow one."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user": [f"u{k}" for k in rng.integers(0, 4000, n_rows)],
            "item": [f"i{k}" for k in rng.integers(0, 3500, n_rows)],
            "c": [["a", "b", None][k] for k in rng.integers(0, 3, n_rows)],
            "x": rng.normal(size=n_rows),
        }
    )


@pytest.mark.parametrize("folds", [0, 2])
def test_sparse_blocks_travel(folds: int, folder: Path) -> None:
    import scipy.sparse as sp

    m = gm.collect(wide_table(), folds=folds)
    assert any(sp.issparse(block) for block in m.pairs.blocks.values())
    back = returned(m, folder)
    assert back == m
    assert (back.crosstab("user", "item", sparse=True) != m.crosstab("user", "item", sparse=True)).nnz == 0
    # What came back still adds and subtracts.
    assert ((back + m) - m).isclose(m)


def test_more_columns_than_rows_travel(folder: Path, rng: np.random.Generator) -> None:
    m = gm.collect(rng.normal(size=(30, 700)))
    assert m.numbers.rows is not None
    back = returned(m, folder)
    assert back.numbers.rows is not None
    assert back == m


def test_what_came_back_adds_like_the_original(folder: Path) -> None:
    a, b = collected(random_table(1, 60), folds=2), collected(random_table(2, 60), folds=2)
    assert returned(a, folder) + b == a + b


def test_empty_moments_travel(folder: Path) -> None:
    assert returned(gm.Moments.empty(), folder) == gm.Moments.empty()
    m = collected(random_table(1, 20))
    nothing = returned(m - m, folder)
    assert nothing.n_rows == 0
    assert nothing.columns == m.columns
    assert nothing + m == m


@pytest.mark.parametrize(
    "values",
    [["", "a", None], ["ü", "日本", "🙂"], ["a\x00b", "a"], [True, False, None], [None, None]],
    ids=["empty text", "unicode", "zero byte", "booleans", "only missing"],
)
def test_labels_of_every_kind_travel(values: list, folder: Path) -> None:
    m = gm.collect(pa.table({"c": values}))
    back = returned(m, folder)
    assert back == m
    assert back.levels("c") == m.levels("c")
    assert [type(k) for k in back.levels("c")] == [type(k) for k in m.levels("c")]


def test_float_labels_travel(folder: Path) -> None:
    m = gm.collect(pa.table({"c": [0.1, float("nan"), -0.0, 0.0, 1e300]}), categorical="c")
    assert returned(m, folder) == m
    assert returned(m, folder).levels("c") == m.levels("c")


def test_pooled_labels_travel(folder: Path) -> None:
    m = gm.collect(pa.table({"c": ["a", "a", "b", None]})).pool(min_count=2)
    again = returned(m, folder) + gm.collect(pa.table({"c": ["b", None, "a"]}))
    assert dict(zip(again.levels("c"), again.counts("c"), strict=True)) == {"a": 3, "(rare)": 4}


def test_scaled_moments_travel(folder: Path) -> None:
    m = collected(random_table(1, 50)) * 0.1
    assert returned(m, folder) == m


def test_gm_save_and_load_open_moments(tmp_path: Path) -> None:
    m = collected(random_table(1, 50))
    gm.save(m, tmp_path / "m")
    assert gm.load(tmp_path / "m") == m
