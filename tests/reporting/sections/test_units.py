"""What fixed random units do is shown where a model has some, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.units import BINS, STEPS_SHOWN


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {"color": rng.choice(["red", "blue"], 200), "size": rng.standard_normal(200), "y": [0.0, 1.5] * 100}
    )


def test_hidden_units_are_counted_by_their_spread(frame: pd.DataFrame) -> None:
    model = gm.ELMRegressor(30).fit(frame, "y")
    found = summary(model, data=frame)["units"]
    spread = model.hidden_layer(frame[["color", "size"]]).std(axis=0)
    assert found["activity"]["n_units"] == 30
    assert found["activity"]["middle"] == pytest.approx(np.median(spread), rel=1e-4)
    assert len(found["activity"]["histogram"]) == BINS
    assert sum(entry["y"] for entry in found["activity"]["histogram"]) == 30
    assert found["ridge"] == pytest.approx(model.ridge_, rel=1e-5)
    random = gm.RandomFeatures(12).fit(frame[["color", "size"]])
    assert summary(random, data=frame)["units"]["activity"]["n_units"] == 12


def test_states_spikes_and_forecasts(rng: np.random.Generator) -> None:
    series = pd.DataFrame(np.cumsum(rng.standard_normal((6, 40)), axis=1), columns=[f"t{k}" for k in range(40)])
    echo = gm.EchoStateFeatures(8).fit(series)
    states = summary(echo, data=series)["units"]["states"]
    own = echo._reservoir.states(np.ascontiguousarray(series.iloc[0].to_numpy()[:, None]))
    shown = [entry["state"] for entry in states if entry["series"] == "unit 2"]
    assert shown == pytest.approx(own[:, 2].tolist(), rel=1e-3, abs=1e-4)
    liquid = gm.LiquidStateFeatures(20).fit(series)
    found = summary(liquid, data=series)["units"]
    fired = liquid.spikes(series.head(1))[0]
    assert len(found["raster"]) == fired.sum()
    assert found["rate"] == pytest.approx(1000 * fired.mean(), rel=1e-2)
    wave = pd.DataFrame({"u": np.sin(np.arange(300) / 5)})
    lines = summary(gm.EchoStateRegressor(30, washout=20).fit(wave), data=wave)["units"]["forecast"]
    truth, ahead = ([e["value"] for e in lines if e["series"] == name] for name in ("what came next", "forecast"))
    assert len(truth) == len(ahead) == min(60, STEPS_SHOWN)
    assert np.abs(np.subtract(truth, ahead)).max() < 0.2


def test_only_models_with_units_have_the_section(frame: pd.DataFrame, tmp_path: Path) -> None:
    assert summary(gm.PCA().fit(frame), data=frame).get("units") is None
    gm.report(gm.ELMRegressor(30, direct_links=True).fit(frame, "y"), data=frame).save(tmp_path / "r.html")
    assert "Hidden units and reservoirs" in (tmp_path / "r.html").read_text()
