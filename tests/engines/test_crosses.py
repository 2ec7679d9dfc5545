"""`collect(crosses=...)`: crosses in the pass equal columns made beforehand, and behave like any other column."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.bins import LEAST_ROWS
from gramian.design.crosses import cell_label
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine.files import load, save

CROSSES = [("age", "smoker"), ("city", "smoker"), ("kids", "age")]
EDGES = {"age": [20.0, 40.0, 60.0], "kids": [1.0, 3.0]}
TARGETS = "paid"


@pytest.fixture
def people(rng: np.random.Generator) -> pd.DataFrame:
    n = 3000
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "kids": rng.integers(0, 6, n),
            "city": rng.choice(["Ulm", "Bonn", "R & D", "(missing)"], n, p=[0.5, 0.47, 0.025, 0.005]),
            "smoker": rng.choice(["yes", "no", None], n, p=[0.3, 0.65, 0.05]),
        }
    )
    frame["paid"] = np.where((frame["age"] > 40) ^ (frame["smoker"] == "yes") ^ (rng.random(n) < 0.1), "yes", "no")
    frame.loc[::50, "age"] = np.nan
    return frame


def side(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return the texts of one side, as pandas makes them."""
    if name not in EDGES:
        texts = frame[name].where(frame[name] != "(missing)", "(missing)'")
    else:
        ends = [-np.inf, *EDGES[name], np.inf]
        labels = [f"[{a:g}, {b:g})".replace("[-inf", "(-inf") for a, b in pairwise(ends)]
        texts = pd.cut(frame[name], ends, right=False, labels=labels).astype(object)
    return texts.where(frame[name].notna(), "(missing)").str.replace("&", "&&")


def with_crosses_made_beforehand(frame: pd.DataFrame, moments: gm.Moments) -> pd.DataFrame:
    made = frame.copy()
    for name in EDGES:
        made.insert(made.columns.get_loc(name) + 1, f"{name}_bin", side(frame, name).where(frame[name].notna(), None))
    for a, b in CROSSES:
        made[f"{a} & {b}"] = side(frame, a) + " & " + side(frame, b)
        for column in moments.columns:
            if column.startswith(f"{a} & {b}="):
                part = moments.schema[column].part
                inside = frame[b] == part.level
                made[column] = ((frame[a] - part.centre).fillna(0.0)).where(inside, 0.0)
    return made


@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"targets": TARGETS}])
def test_crosses_equal_columns_made_beforehand(people: pd.DataFrame, options: dict) -> None:
    here = gm.collect(people, bins=EDGES, crosses=CROSSES, **options)
    before = gm.collect(with_crosses_made_beforehand(people, here), **options)
    assert "age & smoker=yes" in here.columns
    assert sorted(here.columns) == sorted(before.columns)
    assert cell_label("R & D", "(missing)") in here.levels("city & smoker")
    assert cell_label("(missing)'", "no") in here.levels("city & smoker")
    for a in here.columns:
        for b in here.columns:
            if here.schema[a].by_level and here.schema[b].by_level:
                order = [before.levels(a).index(level) for level in here.levels(a)]
                others = [before.levels(b).index(level) for level in here.levels(b)]
                assert (here.crosstab(a, b) == before.crosstab(a, b)[np.ix_(order, others)]).all()
    names = sorted(here.design_names)
    ours, theirs = ([m.design_names.index(name) for name in names] for m in (here, before))
    scale = np.abs(before.covariance()).max()
    np.testing.assert_allclose(
        here.covariance()[np.ix_(ours, ours)], before.covariance()[np.ix_(theirs, theirs)], atol=1e-12 * scale
    )


def test_parts_merge_and_are_taken_away_whatever_their_size(people: pd.DataFrame) -> None:
    whole = gm.collect(people, bins="auto", crosses=CROSSES)
    # In the small part nearly every cell has few rows: none of them may be folded away.
    left, right = (gm.collect(part, like=whole) for part in (people[:40], people[40:]))
    assert (left + right).isclose(whole)
    assert (whole - right).isclose(left)


def test_dask_equals_local(people: pd.DataFrame, client: object) -> None:
    dd = pytest.importorskip("dask.dataframe")
    here = gm.collect(people, bins=EDGES, crosses=CROSSES)
    assert gm.collect(dd.from_pandas(people, npartitions=3), like=here).isclose(here)
    plain = gm.collect(people, crosses=[("city", "smoker")])
    assert gm.collect(dd.from_pandas(people, npartitions=3), crosses=[("city", "smoker")]).isclose(plain)


def test_spark_equals_local(people: pd.DataFrame, spark_stand_in: Any) -> None:
    table = pa.Table.from_pandas(people, preserve_index=False)
    table = table.cast(
        pa.schema([(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in table.schema])
    )
    parts = [table.slice(start, 1000) for start in range(0, len(table), 1000)]
    here = gm.collect(table, bins=EDGES, crosses=CROSSES)
    assert gm.collect(spark_stand_in(parts), like=here).isclose(here)
    assert gm.collect(spark_stand_in(parts), bins=EDGES, crosses=CROSSES).isclose(here)


def test_every_container_has_the_same_cells(people: pd.DataFrame, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    people.to_parquet(tmp_path / "people.parquet", row_group_size=700)
    coded = people.astype({"city": "category", "smoker": "category"})
    first = gm.collect(people, bins="auto", crosses=CROSSES)
    for source in (tmp_path / "people.parquet", pl.from_pandas(people), coded):
        assert gm.collect(source, bins="auto", crosses=CROSSES).isclose(first)
    first.save(tmp_path / "m")
    assert gm.load(tmp_path / "m") == first
    numbers = people[["age", "kids"]].astype(float)
    of_array = gm.collect(numbers.to_numpy(), crosses=[("x0", "x1")])
    assert sorted(of_array.counts("x0 & x1")) == sorted(
        gm.collect(numbers, crosses=[("age", "kids")]).counts("age & kids")
    )


def test_models_pool_cells_of_few_rows_and_moments_do_not(people: pd.DataFrame) -> None:
    moments = gm.collect(people, crosses=[("city", "smoker")], targets=TARGETS)
    counts = dict(zip(moments.levels("city & smoker"), moments.counts("city & smoker"), strict=True))
    few = {label for label, count in counts.items() if count < LEAST_ROWS}
    assert few
    model = gm.FisherDiscriminant().fit(moments, y=TARGETS)
    (labels,) = [
        labels
        for column, labels in zip(model.design_.categorical, model.design_.labels, strict=True)
        if column.name == "city & smoker"
    ]
    assert set(labels.to_list()) == {*counts} - few | {"(rare)"}
    assert set(labels.pooled.to_pylist()) == few


def test_a_linear_method_sees_what_pairs_add(people: pd.DataFrame, tmp_path: Path) -> None:
    plain = gm.FisherDiscriminant().fit(gm.collect(people, targets=TARGETS, bins="auto"), y=TARGETS)
    moments = gm.collect(people, targets=TARGETS, bins="auto", crosses=CROSSES)
    crossed = gm.FisherDiscriminant().fit(moments, y=TARGETS)
    assert np.mean(plain.predict(people) == people["paid"]) < 0.75
    assert np.mean(crossed.predict(people) == people["paid"]) > 0.85
    save(crossed, tmp_path / "c")
    assert (load(tmp_path / "c").predict(people) == crossed.predict(people)).all()
    assert list(crossed.feature_names_in_) == ["age", "kids", "city", "smoker"]
    back = gm.PCA(2).fit(moments)
    assert list(back.inverse_transform(back.transform(people)).columns) == ["age", "kids", "city", "smoker"]


def test_a_pair_never_seen_is_predicted_from_its_two_columns(people: pd.DataFrame) -> None:
    seen = people[~((people["city"] == "Ulm") & (people["smoker"] == "yes"))]
    model = gm.PCA(2).fit(gm.collect(seen.drop(columns="paid"), crosses=[("city", "smoker")]))
    row = people[(people["city"] == "Ulm") & (people["smoker"] == "yes")][:1].drop(columns="paid")
    projection = model.projection_
    assert not model.black_swans(row).any()
    expected = model.mean_.copy()
    for name in ("city", "smoker"):
        span = projection.design.spans[name]
        expected[span] = [label == row[name].iloc[0] for label in _labels(model, name)]
    for column in ("age", "kids"):
        expected[projection.design.spans[column]] = row[column].iloc[0]
    np.testing.assert_allclose(model.transform(row)[0], (expected - model.mean_) @ projection.weights, atol=1e-9)


def _labels(model: gm.PCA, name: str) -> list:
    of = zip(model.design_.categorical, model.design_.labels, strict=True)
    return next(labels.to_list() for column, labels in of if column.name == name)


def test_a_target_is_not_a_feature_by_its_crosses(people: pd.DataFrame) -> None:
    moments = gm.collect(people.dropna(), crosses=[("city", "paid"), ("age", "smoker")])
    assert moments.schema.features_beside(["paid"]) == [
        "age",
        "kids",
        "city",
        "smoker",
        "age & smoker",
        "age & smoker=yes",
    ]
    assert moments.schema.features_beside(["age"]) == ["kids", "city", "smoker", "paid", "city & paid"]


def test_other_crosses_do_not_merge(people: pd.DataFrame) -> None:
    left, right = (gm.collect(people, bins={"age": [edge]}, crosses=[("age", "city")]) for edge in (30.0, 31.0))
    with pytest.raises(DataError, match=r"different (bins|crosses) .* like="):
        left + right
    with pytest.raises(DataError, match=r"'city & smoker' .* collect .* like="):
        gm.merge([gm.collect(people), gm.collect(people, crosses=[("city", "smoker")])], missing="fill")


@pytest.mark.parametrize(
    ("crosses", "words"),
    [
        ([("age", "age")], r"cross of column 'age' with itself"),
        ([("age", "agee")], r"did you mean 'age'"),
        ([("age", "paid")], r"'paid' is named in crosses=, and it is a target"),
        ("age", r"takes pairs of column names"),
        ([("age", "city", "kids")], r"takes pairs of column names"),
        ([("age", "city"), ("city", "age")], r"crossed twice"),
        ([("id", "city")], r"'id' and 'city' would have 3,000 x 4 cells, and there are 3,000 rows"),
        ([("when", "city")], r"'when' is a date; cross one of its parts, for example 'when_dayofweek'"),
    ],
)
def test_bad_crosses_are_refused_in_one_line(people: pd.DataFrame, crosses: object, words: str) -> None:
    people["id"] = [f"u{k}" for k in range(len(people))]
    people["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(people)), unit="h")
    with pytest.raises((DataError, ColumnError), match=words):
        gm.collect(people, crosses=crosses, targets=TARGETS)


def test_a_source_read_once_has_no_sample(people: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="can be read only once; cross categories"):
        gm.collect((part for part in [people]), crosses=[("age", "city")])
    moments = gm.collect((part for part in [people]), crosses=[("city", "smoker")])
    with pytest.raises(ColumnError, match="leave crosses= out"):
        gm.collect(people, crosses=[("city", "smoker")], like=moments)
    assert gm.collect((part for part in [people]), like=moments).isclose(moments)
