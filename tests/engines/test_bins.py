"""`collect(bins=...)`: bins in the pass equal bins made beforehand, and every method reads them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine.files import load, save

EDGES = {"age": [20.0, 40.0, 60.0], "kids": [1.0, 3.0]}


@pytest.fixture
def people(rng: np.random.Generator) -> pd.DataFrame:
    n = 3000
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "kids": rng.integers(0, 6, n),
            "city": rng.choice(["Ulm", "Bonn", "Köln"], n),
            "weight": rng.integers(1, 4, n),
        }
    )
    frame["paid"] = np.where((np.abs(frame["age"] - 40) < 8) ^ (rng.random(n) < 0.1), "yes", "no")
    frame.loc[::50, "age"] = np.nan
    return frame


def with_bins_made_beforehand(frame: pd.DataFrame, edges: dict[str, list[float]]) -> pd.DataFrame:
    made = frame.copy()
    for name, cuts in edges.items():
        ends = [-np.inf, *cuts, np.inf]
        texts = [f"[{a:g}, {b:g})".replace("[-inf", "(-inf") for a, b in pairwise(ends)]
        binned = pd.cut(frame[name], ends, right=False, labels=texts).astype(object)
        made.insert(made.columns.get_loc(name) + 1, f"{name}_bin", binned.where(frame[name].notna(), None))
    return made


@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"sample_weight": "weight", "targets": "paid"}])
def test_bins_equal_columns_made_beforehand(people: pd.DataFrame, options: dict) -> None:
    here = gm.collect(people, bins=EDGES, **options)
    before = gm.collect(with_bins_made_beforehand(people, EDGES), **options)
    assert here.columns == before.columns
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


def test_parts_merge_and_are_taken_away(people: pd.DataFrame) -> None:
    whole = gm.collect(people, bins="auto")
    left, right = (gm.collect(part, like=whole) for part in (people[:1000], people[1000:]))
    assert (left + right).isclose(whole)
    assert (whole - right).isclose(left)


def test_other_edges_do_not_merge(people: pd.DataFrame) -> None:
    left, right = (gm.collect(people, bins={"age": [edge]}) for edge in (30.0, 31.0))
    with pytest.raises(DataError, match=r"different bins .* 'age_bin' .* like="):
        left + right


def test_every_container_has_the_same_bins(people: pd.DataFrame, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    people.to_parquet(tmp_path / "people.parquet")
    people.to_csv(tmp_path / "people.csv", index=False)
    first = gm.collect(people, bins="auto")
    for source in (
        tmp_path / "people.parquet",
        tmp_path / "people.csv",
        pl.from_pandas(people),
        people.to_dict("list"),
    ):
        assert gm.collect(source, bins="auto").isclose(first)
    numbers = people[["age", "kids"]].astype(float)
    of_array = gm.collect(numbers.to_numpy(), bins="auto")
    assert of_array.columns == ["x0", "x0_bin", "x1", "x1_bin"]
    assert sorted(of_array.counts("x1_bin")) == sorted(gm.collect(numbers, bins="auto").counts("kids_bin"))


def test_dask_equals_local(people: pd.DataFrame, client: object) -> None:
    dd = pytest.importorskip("dask.dataframe")
    here = gm.collect(people, bins=EDGES)
    assert gm.collect(dd.from_pandas(people, npartitions=3), bins=EDGES).isclose(here)
    assert gm.collect(dd.from_pandas(people, npartitions=3), like=here).isclose(here)


def test_linear_methods_follow_curves(people: pd.DataFrame, tmp_path: Path) -> None:
    plain = gm.FisherDiscriminant().fit(gm.collect(people, targets="paid"), y="paid")
    moments = gm.collect(people, targets="paid", bins="auto")
    binned = gm.FisherDiscriminant().fit(moments, y="paid")
    assert np.mean(plain.predict(people) == people["paid"]) < 0.6
    assert np.mean(binned.predict(people) == people["paid"]) > 0.85
    moments.save(tmp_path / "m")
    assert gm.load(tmp_path / "m") == moments
    save(binned, tmp_path / "b")
    assert (load(tmp_path / "b").predict(people) == binned.predict(people)).all()
    assert list(binned.feature_names_in_) == ["age", "kids", "city", "weight"]
    back = gm.PCA(2).fit(moments)
    assert list(back.inverse_transform(back.transform(people)).columns) == ["age", "kids", "city", "weight"]


@pytest.mark.parametrize(("target", "gone"), [("age", "age_bin"), ("kids_bin", "kids"), ("kids", "kids_bin")])
def test_a_target_is_not_a_feature_by_its_bins(people: pd.DataFrame, target: str, gone: str) -> None:
    people = people.dropna()
    moments = gm.collect(people, bins=EDGES)
    model = gm.MahalanobisFeatures(1).fit(moments, y=target)
    assert model.r2_ < 0.5
    assert not any(name.startswith(gone) for name in model.design_names_ if target not in name)
    assert gone.removesuffix("_bin") not in list(gm.rank_columns(moments, target)["column"])
    assert gm.independence_test(moments, target).p_value > 1e-12


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ("many", r"bins is None, 'auto' or a whole number from 2"),
        ({"city": 4}, r"'city' is named in bins=, and it is not a number"),
        ({"paid": 4}, r"'paid' is named in bins=, and it is a target"),
        ({"agee": 4}, r"did you mean 'age'"),
        ({"age": [3, 1]}, r"edges of column 'age' must be finite numbers that increase"),
        ({"age": ["a"]}, r"bins\['age'\] is 'auto', a whole number"),
    ],
)
def test_bad_bins_are_refused_in_one_line(people: pd.DataFrame, bins: object, words: str) -> None:
    with pytest.raises((DataError, ColumnError), match=words):
        gm.collect(people, bins=bins, targets="paid")


def test_a_source_read_once_needs_edges(people: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="can be read only once; give edges"):
        gm.collect((part for part in [people]), bins=4)
    moments = gm.collect((part for part in [people]), bins=EDGES)
    with pytest.raises(ColumnError, match="leave bins= out"):
        gm.collect(people, bins=4, like=moments)
    assert gm.collect((part for part in [people]), like=moments).isclose(moments)
