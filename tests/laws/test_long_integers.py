"""Integers beyond 2^53, which float64 rounds, are collected, fitted and transformed as small ones are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.errors import DataError

from .tables import examples

ESTIMATORS = [
    gm.PCA,
    gm.Whitening,
    gm.FisherDiscriminant,
    gm.MahalanobisFeatures,
    gm.JointTargetEncoder,
    gm.DensityEmbedding,
]


def table(steps: np.ndarray, start: int) -> pa.Table:
    """Return start + steps in the smallest type that holds them, and another number."""
    values = [start + int(step) for step in steps]
    kind = pa.uint64() if max(values) >= 2**63 else pa.int64()
    return pa.table({"x0": pa.array(values, kind), "x1": np.sin(np.arange(len(steps)))})


def holders(rows: pa.Table, folder: Path) -> dict[str, Any]:
    lists = [[a, b] for a, b in zip(rows["x0"].to_pylist(), rows["x1"].to_pylist(), strict=True)]
    pyarrow.csv.write_csv(rows, folder / "long.csv")
    pyarrow.parquet.write_table(rows, folder / "long.parquet")
    (folder / "long.jsonl").write_text("".join(json.dumps({"x0": a, "x1": b}) + "\n" for a, b in lists))
    return {
        "arrow": rows,
        "pandas": rows.to_pandas(),
        "nullable": rows.to_pandas().convert_dtypes(),
        "polars": pl.from_arrow(rows),
        "lists": lists,
        "objects": np.array(lists, dtype=object),
        "object column": rows.to_pandas().astype({"x0": object}),
        "decimals": rows.set_column(0, "x0", rows["x0"].cast(pa.decimal128(20, 0))),
        "csv": str(folder / "long.csv"),
        "parquet": str(folder / "long.parquet"),
        "json lines": str(folder / "long.jsonl"),
    }


STARTS = st.sampled_from([2**53 + 1, 2**62, -(2**63), 2**63 - 200, 2**63, 2**64 - 1000])


@examples(12)
@given(start=STARTS, seed=st.integers(0, 1000), distinct=st.sampled_from([5, 64, 300]), scale=st.sampled_from([1, 3]))
def test_moments_are_those_of_small_integers(
    start: int, seed: int, distinct: int, scale: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    steps = scale * np.random.default_rng(seed).integers(0, distinct, 80)
    if start + int(steps.max()) >= 2**64 or (start < 2**63 <= start + int(steps.max()) and start < 0):
        return
    rows = table(steps, start)
    expected = np.cov(np.column_stack([steps, rows["x1"]]), rowvar=False)
    for name, source in holders(rows, tmp_path_factory.mktemp("long")).items():
        moments = gm.collect(source, numeric="x0") if distinct == 64 and name != "lists" else gm.collect(source)
        # A few dozen additions of numbers below 1,000.
        np.testing.assert_allclose(moments.covariance(), expected, rtol=1e-11, atol=1e-11, err_msg=name)
        assert moments.mean("x0")[0] == pytest.approx(start + float(steps.mean()), rel=1e-15)
    halves = gm.collect(rows.slice(0, 40)) + gm.collect(rows.slice(40))
    np.testing.assert_allclose(halves.covariance(), expected, rtol=1e-11, atol=1e-11)
    left = gm.collect(rows) - gm.collect(rows.slice(0, 40))
    np.testing.assert_allclose(left.covariance(), gm.collect(rows.slice(40)).covariance(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("start", "distinct"), [(2**62, 400), (2**63, 40), (-(2**63), 400)])
def test_features_are_those_of_small_integers(estimator, start, distinct, rng, tmp_path):
    steps = 3 * rng.integers(0, distinct, 200)
    y = (steps + rng.normal(size=200) * distinct > 1.5 * distinct).astype(int)
    small = estimator().fit(table(steps, 0), y)
    expected = np.asarray(small.transform(table(steps, 0)))
    rows = table(steps, start)
    for name, source in holders(rows, tmp_path).items():
        model = estimator().fit(source, y)
        found = np.asarray(model.transform(rows))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max(), err_msg=name)
        if not isinstance(source, str):
            np.testing.assert_array_equal(np.asarray(model.transform(source)), found, err_msg=name)
        np.testing.assert_allclose(model.mean_[0], start + steps.mean(), rtol=1e-15)
        if hasattr(model, "predict"):
            assert (model.predict(rows) == small.predict(table(steps, 0))).all(), name
    if estimator in (gm.MahalanobisFeatures, gm.JointTargetEncoder):
        cross = estimator().fit_transform(rows, y)
        np.testing.assert_allclose(cross, estimator().fit_transform(table(steps, 0), y), atol=1e-9)
    gm.save(model, tmp_path / "model")
    np.testing.assert_array_equal(gm.load(tmp_path / "model").transform(rows), model.transform(rows))


def test_the_way_back_ends_at_the_values():
    rows = table(np.arange(100), 2**62)
    model = gm.PCA().fit(rows)
    back = model.inverse_transform(model.transform(rows))
    np.testing.assert_allclose(back[:, 0], rows["x0"].to_numpy().astype(float), rtol=1e-15)


def test_labels_past_int64_are_levels_folds_and_classes(tmp_path):
    ids = [2**63 + 5 * (i % 6) for i in range(60)]
    rows = pa.table({"id": pa.array(ids, pa.uint64()), "x": np.arange(60.0)})
    for moments in (gm.collect(rows, categorical="id"), gm.collect(rows).as_categorical("id")):
        assert moments.levels("id") == sorted(set(ids))
        assert moments.counts("id").tolist() == [10] * 6
        moments.save(tmp_path / "long.moments")
        assert gm.load(tmp_path / "long.moments") == moments
        assert (moments + moments).levels("id") == sorted(set(ids))
    folds = gm.collect(rows, folds=3, fold_by="id").folds
    met = [fold.levels("id") for fold in folds if fold.n_rows]
    assert sorted(label for labels in met for label in labels) == sorted(set(ids))
    features = pa.table({"x": [i % 6 + 0.001 * i for i in range(60)]})
    assert gm.FisherDiscriminant().fit(features, ids).predict(features).tolist() == ids
    strange = rows.set_column(0, "id", pa.array([2**63 + 1] * 60, pa.uint64()))
    assert gm.PCA(categorical_features=["id"]).fit(rows).black_swans(strange)[:, 0].all()


def test_an_id_is_in_one_fold_whatever_its_type():
    small = [3, 2**53 + 2, 2**62, 7]
    sources = [pa.array(small, pa.int64()), pa.array(small, pa.uint64()), pa.array([float(v) for v in small])]
    folds = [gm.collect(pa.table({"id": ids}), folds=5, fold_by="id", categorical="id").folds for ids in sources]
    for other in folds[1:]:
        assert [set(fold.levels("id")) for fold in other] == [set(fold.levels("id")) for fold in folds[0]]


def test_what_cannot_be_exact_is_refused_by_name():
    with pytest.raises(DataError, match="'x1' of a scipy sparse matrix holds 4611686018427387905"):
        gm.collect(sp.csr_array(np.array([[0, 2**62 + 1], [1, 0]])))
    long, fractions = pd.DataFrame({"id": [2**62 + 1, 5]}), pd.DataFrame({"id": [0.5, 1.5]})
    with pytest.raises(DataError, match="'id'"):
        gm.collect([long, fractions])
    with pytest.raises(DataError, match=r"'id'.*exactly"):
        gm.collect(long, categorical="id") + gm.collect(fractions, categorical="id")


def two_classes(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    k = np.arange(60) % 2
    return pd.DataFrame({"x": rng.normal(size=60) + 3 * k}), k


CLASS_STARTS = [2**53, 2**60, 2**63 - 1, 2**63, -(2**63)]


HOLDERS = ["arrow", "pandas", "nullable", "pyarrow-backed", "polars", "moments", "targets"]


@pytest.mark.parametrize(
    ("start", "holder"), [*((start, "pandas") for start in CLASS_STARTS), *((2**63 - 1, holder) for holder in HOLDERS)]
)
def test_a_named_class_target_keeps_its_labels(start, holder, rng):
    frame, k = two_classes(rng)
    labels = [start + int(i) for i in k]
    kind = np.uint64 if max(labels) >= 2**63 else np.int64
    y = np.array(labels, dtype=kind)
    rows = pa.table({"x": frame.x, "y": y})
    source = {
        "arrow": lambda: rows,
        "pandas": rows.to_pandas,
        "nullable": lambda: rows.to_pandas().convert_dtypes(),
        "pyarrow-backed": lambda: rows.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: pl.from_arrow(rows),
        "moments": lambda: gm.collect(rows),
        "targets": lambda: gm.collect(rows, targets="y"),
    }[holder]()
    small = gm.FisherDiscriminant().fit(frame, k)
    model = gm.FisherDiscriminant().fit(source, "y")
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.classes_.dtype == kind
    assert model.predict(frame).tolist() == [start + int(i) for i in small.predict(frame)]
    assert model.score(frame, y) == small.score(frame, k) > 0.8
    for estimator in (gm.MahalanobisFeatures, gm.JointTargetEncoder):
        found = estimator(ridge=0.0).fit(source, "y")
        assert found.classes_.tolist() == sorted(set(labels))
        assert found.r2_ == pytest.approx(estimator(ridge=0.0).fit(frame, k).r2_, rel=1e-12)


def test_classes_of_merged_moments_are_those_of_both(rng):
    frame, k = two_classes(rng)
    for start, kind in ((2**60, np.int64), (2**63, np.uint64)):
        y = np.array([start + int(i) for i in k], dtype=kind)
        both = gm.collect(frame.assign(y=y)) + gm.collect(frame.assign(y=k))
        assert gm.FisherDiscriminant().fit(both, "y").classes_.tolist() == [0, 1, start, start + 1]
        names = gm.JointTargetEncoder().fit(both, "y").get_feature_names_out().tolist()
        assert names == ["x_0", "x_1", f"x_{start}", f"x_{start + 1}"]


@pytest.mark.parametrize("influence", ["slices", "ranks"])
def test_ranks_of_a_long_target_are_those_of_a_small_one(influence, rng):
    steps = rng.integers(0, 40, 300)
    frame = pd.DataFrame({"x": steps + rng.normal(size=300)})
    model = gm.MahalanobisFeatures(influence=influence, ridge=0.0)
    expected = model.fit(frame, steps).r2_
    y = 2**60 + steps
    for fitted in (
        model.fit(frame, y),
        gm.MahalanobisFeatures(influence=influence, ridge=0.0).fit(gm.collect(frame.assign(y=y)), "y"),
    ):
        assert fitted.r2_ == pytest.approx(expected, rel=1e-12)


def test_the_ascent_tells_long_targets_apart(rng):
    steps = rng.integers(0, 40, 300)
    frame = pd.DataFrame({"x": steps + rng.normal(size=300), "z": rng.normal(size=300)})
    small, long = (gm.MahalanobisFeatures(solver="sgd").fit(frame, y) for y in (steps, 2**60 + steps))
    np.testing.assert_allclose(long.components_, small.components_, rtol=1e-9)
    assert long.r2_ == pytest.approx(small.r2_, rel=1e-9)


def test_lists_that_mix_long_integers_and_floats_keep_their_levels():
    for start in (2**53, 2**60, -(2**53) - 1):
        rows = [[start + i % 2, 0.5] for i in range(6)]
        assert sorted(gm.collect(rows, categorical=["x0"]).levels("x0")) == [start, start + 1]
        assert gm.PCA(categorical_features=["x0"]).fit(rows).design_names_[:2] == [f"x0_{start}", f"x0_{start + 1}"]
