"""Machines of hidden units are fitted where the rows lie: the encoder of a pass is a protocol, and every engine takes it."""

from __future__ import annotations

import pickle
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns
from gramian.engines.dask import DaskEngine
from gramian.engines.local import LocalEngine
from gramian.engines.partitions import PassPlan
from gramian.estimators.hidden_layers import layers_of
from gramian.random.elm import HiddenEncoder
from gramian.random.features import level_counts
from gramian.tables import open_table


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 160
    # Levels that the first partition does not have, a level per part, and rows without a target.
    color = np.where(np.arange(n) < 40, "a", rng.choice(["a", "b", "c"], n))
    return pd.DataFrame(
        {
            "color": color,
            "part": [f"p{k // 20}" for k in range(n)],
            "x": rng.normal(size=n),
            "w": rng.integers(0, 3, n).astype(float),
            "y": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "z": np.where(rng.random(n) < 0.5, "yes", "no"),
        }
    )


@pytest.fixture
def used(monkeypatch) -> list[str]:
    """The engines that reduce a whole table, in order."""
    found: list[str] = []
    for kind in (LocalEngine, DaskEngine):
        reduce = kind.reduce

        def counted(self: Any, table: Any, encoder: Any, reduce: Any = reduce) -> Any:
            found.append(type(self).__name__)
            return reduce(self, table, encoder)

        monkeypatch.setattr(kind, "reduce", counted)
    return found


@pytest.mark.parametrize("options", [{}, {"direct_links": True}, {"n_hidden": (7, 5)}], ids=str)
def test_a_machine_from_a_dask_frame_is_that_from_the_rows(client, frame, used, options):
    lazy = dd.from_pandas(frame, npartitions=5)
    columns = ["color", "part", "x", "y"]
    model = gm.ELMRegressor(**{"n_hidden": 9, **options}).fit(lazy[columns], "y")
    assert used == ["DaskEngine"]
    here = gm.ELMRegressor(**{"n_hidden": 9, **options}).fit(frame[columns], "y")
    np.testing.assert_allclose(model.predict(frame), here.predict(frame), rtol=1e-6, atol=1e-9)
    assert model.moments_.n_rows == here.moments_.n_rows == frame["y"].notna().sum()
    assert [each.to_list() for each in model._state.labels] == [each.to_list() for each in here._state.labels]
    assert [each.tolist() for each in model._state.counts] == [each.tolist() for each in here._state.counts]


def test_weights_and_classes_are_columns_of_the_frame(frame, used):
    lazy = dd.from_pandas(frame.drop(columns="y"), npartitions=3)
    model = gm.ELMClassifier(6).fit(lazy, "z", sample_weight="w")
    here = gm.ELMClassifier(6).fit(frame.drop(columns="y"), "z", sample_weight="w")
    assert used == ["DaskEngine", "LocalEngine"]
    np.testing.assert_allclose(model.predict_proba(frame), here.predict_proba(frame), rtol=1e-6)
    assert [each.tolist() for each in model._state.counts] == [each.tolist() for each in here._state.counts]
    more = model.partial_fit(lazy, "z", sample_weight="w")
    np.testing.assert_allclose(
        more.predict_proba(frame), (here + here).predict_proba(frame), rtol=1e-6, err_msg="rows are added there, too"
    )


def test_values_beside_the_frame_are_matched_here(frame, used):
    y = np.arange(len(frame), dtype=float)
    lazy = dd.from_pandas(frame[["color", "x"]], npartitions=3)
    model = gm.ELMRegressor(6).fit(lazy, y)
    assert used == ["LocalEngine"]
    np.testing.assert_allclose(
        model.predict(frame[["color", "x"]]),
        gm.ELMRegressor(6).fit(frame[["color", "x"]], y).predict(frame[["color", "x"]]),
    )


def test_a_machine_from_a_spark_frame_is_that_from_the_rows(frame, spark_stand_in):
    pytest.importorskip("gramian.engines.spark", reason="pyspark is not installed")
    rows = frame[["color", "x", "y"]].dropna()
    table = pa.table({"color": pa.array(rows["color"], pa.string()), "x": rows["x"], "y": rows["y"]})
    model = gm.ELMRegressor(9).fit(spark_stand_in([table.slice(0, 50), table.slice(50)]), "y")
    here = gm.ELMRegressor(9).fit(rows, "y")
    np.testing.assert_allclose(model.predict(rows), here.predict(rows), rtol=1e-6, atol=1e-9)
    assert [each.tolist() for each in model._state.counts] == [each.tolist() for each in here._state.counts]


def test_a_plan_of_hidden_units_travels(frame):
    schema = plan_columns({"color": pa.string(), "x": pa.float64()})
    layers = layers_of(gm.ELMRegressor(4), list(schema), 0, [])
    plan = pickle.loads(pickle.dumps(PassPlan.of(HiddenEncoder(Encoder(schema), layers, direct=False))))
    found = plan.reduce(open_table(frame[["color", "x"]]))
    assert found.columns == [f"(hidden){k}" for k in range(4)]
    assert found.n_rows == len(frame)


def test_levels_are_counted_by_the_rows_that_count(frame):
    types = {"color": pa.string(), "w": pa.float64(), "y": pa.float64()}
    encoder = Encoder(plan_columns(types, columns=["color", "y"], targets=["y"]), weight_column="w")
    labels, counts = level_counts(LocalEngine(), open_table(frame), encoder)
    kept = frame[(frame["w"] > 0) & frame["y"].notna()]["color"].value_counts()
    assert dict(zip(labels[0].to_list(), counts[0].tolist(), strict=True)) == kept.to_dict()
    assert level_counts(LocalEngine(), open_table(frame), Encoder(plan_columns({"x": pa.float64()}))) == ([], [])
