"""Levels that a table calls `(rare)` or `(missing)` and those of our own making are told apart wherever they have a name."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import gramian as gm

COLORS = ["(rare)"] * 6 + ["(missing)"] * 6 + [None] * 6 + ["blue"] * 6 + ["teal", "pink"]
"""After pooling: a literal `(rare)` and the pooled level, a literal `(missing)` and the missing one."""
NAMES = ["(rare)", "(missing)", "(missing) (2)", "blue", "(rare) (2)"]


@pytest.fixture
def table() -> pa.Table:
    return pa.table({"color": COLORS, "other": ["x", "y"] * 13})


@pytest.fixture
def pooled(table) -> gm.Moments:
    return gm.collect(table).pool(min_count=2)


def test_levels_and_design_names_differ(pooled):
    assert pooled.levels("color") == ["(rare)", "(missing)", None, "blue", "(rare) (2)"]
    assert pooled.design_names == [*(f"color_{name}" for name in NAMES), "other_x", "other_y"]
    assert pooled.counts("color").tolist() == [6, 6, 6, 6, 2]


def test_labels_of_a_contingency_table_differ(table, pooled):
    assert pooled.crosstab("other", "color", labels=True).column_names == ["other", *NAMES]
    assert pooled.crosstab("color", "other", labels=True)["color"].to_pylist() == pooled.levels("color")
    frame = gm.collect(pl.from_arrow(table)).pool(min_count=2).crosstab("other", "color", labels=True)
    assert frame.columns == ["other", *NAMES]


def test_loadings_explanations_and_the_way_back_differ(table, pooled):
    model = gm.PCA().fit(pooled)
    assert model.design_names_ == pooled.design_names
    assert model.loadings()["level"].to_pylist()[:7] == [*NAMES, "x", "y"]
    back = model.inverse_transform(model.transform(table))["color"].to_pylist()
    assert back == [color if color not in ("teal", "pink") else "(rare) (2)" for color in COLORS]
    # Among hundreds of rows the pooled level is odd enough to be a reason.
    many = pa.table({"color": COLORS[:24] * 50 + COLORS[24:], "other": ["x", "y"] * 601})
    detector = gm.DensityEmbedding().fit(gm.collect(many).pool(min_count=2))
    assert "(rare) (2)" in detector.explain(many.slice(1200), top=1)["values"][0].as_py()


def test_a_pooled_value_transforms_as_the_pooled_level_and_not_as_its_namesake(table, pooled):
    model = gm.PCA().fit(pooled)
    rows = pa.table({"color": ["teal", "(rare)", None, "(missing)", "mauve"], "other": ["x"] * 5})
    assert model.black_swans(rows)[:, 0].tolist() == [False, False, False, False, True]
    features = model.transform(rows).round(9).tolist()
    assert len({tuple(row) for row in features}) == 5


def test_names_survive_files_and_sums(table, pooled, tmp_path):
    pooled.save(tmp_path / "pooled")
    assert gm.load(tmp_path / "pooled").levels("color") == pooled.levels("color")
    assert (pooled + gm.collect(table)).levels("color") == pooled.levels("color")


def test_our_names_are_plain_where_no_value_has_them():
    moments = gm.collect(pa.table({"c": ["a", "a", None, None, "b"]})).pool(min_count=2)
    assert moments.design_names == ["c_a", "c_(missing)", "c_(rare)"]


def test_numbers_have_pooled_levels_too():
    table = pa.table({"k": [1, 1, 2, 2, 3, 4], "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]})
    pooled = gm.collect(table, categorical="k").pool(min_count=2)
    assert pooled.design_names == ["k_1", "k_2", "k_(rare)", "x"]
    model = gm.PCA().fit(pooled)
    assert model.inverse_transform(model.transform(table))["k"].to_pylist() == ["1", "1", "2", "2", "(rare)", "(rare)"]
