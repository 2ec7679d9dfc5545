"""Errors with a category eliminated equal those with its columns in a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.regression.problem import Regression


@pytest.fixture
def orders(rng) -> pd.DataFrame:
    n = 900
    shop = rng.integers(0, 60, n)
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "blue", "green"], n),
            "shop": [f"s{k:02d}" for k in shop],
            "size": rng.normal(size=n) + 0.1 * shop,
            "count": rng.integers(0, 4, n),
        }
    )
    frame["region"] = np.where(shop < 20, "north", "south")
    frame["price"] = 2 * frame["size"] + (frame["color"] == "red") + 0.05 * shop + rng.normal(size=n)
    frame["sold"] = rng.poisson(np.exp(0.1 * frame["size"] + 0.3 * (frame["color"] == "red")))
    return frame


def tables(model, frame: pd.DataFrame, target: str):
    """Return what a model says of its coefficients."""
    fitted = model.fit(frame, target)
    pairs = [("shop", "s03", "s07"), ("shop", "s00", "s07"), ("color", "red", "green")]
    return fitted.inference(), fitted.anova(), pd.concat([fitted.compare_levels(*pair) for pair in pairs])


@pytest.mark.parametrize(
    ("model", "target"), [(gm.Ridge(0), "price"), (gm.GLM(), "sold"), (gm.GLM("gaussian"), "price")]
)
def test_eliminated_and_formed_errors_agree(orders, model, target, monkeypatch):
    # The region is a function of the shop: whichever comes first keeps its coefficients.
    frame = orders[["shop", "color", "size", "region", "count", target]]
    formed = tables(model, frame, target)
    assert formed[0].set_index("column")["coefficient"].isna()["region"]
    monkeypatch.setattr(Regression, "is_dense", False)
    for found, wanted in zip(tables(model, frame, target), formed, strict=True):
        pd.testing.assert_frame_equal(found, wanted, rtol=1e-6, atol=1e-8)


def test_a_category_of_thousands_of_levels_has_errors(rng):
    n = 20_000
    user = np.append(np.arange(7000), rng.integers(0, 7000, n - 7000))
    x = rng.normal(size=n)
    y = 2 * x + (user % 7) + rng.normal(size=n)
    frame = pd.DataFrame({"user": [f"u{k:04d}" for k in user], "x": x, "y": y})
    model = gm.Ridge(0, categorical_features=["user"]).fit(frame, "y")
    found = model.inference().set_index(["column", "level"])
    # Within users: what is left of x and y after the mean of each user.
    inside = frame[["x", "y"]] - frame.groupby("user")[["x", "y"]].transform("mean")
    slope = (inside["x"] @ inside["y"]) / (inside["x"] @ inside["x"])
    left = np.square(inside["y"] - slope * inside["x"]).sum() / (n - 7001)
    np.testing.assert_allclose(found.loc["x", "coefficient"].iloc[0], slope, rtol=1e-7)
    np.testing.assert_allclose(
        found.loc["x", "std_error"].iloc[0], np.sqrt(left / (inside["x"] @ inside["x"])), rtol=1e-7
    )
    mean = frame.groupby("user")[["x", "y"]].mean()
    wanted = (mean.loc["u0005"] - mean.loc["u0000"]) @ [-slope, 1]
    np.testing.assert_allclose(found.loc[("user", "u0005"), "coefficient"], wanted, rtol=1e-7)
    assert model.anova().set_index("column").loc["user", "df"] == 6999
    text = model.summary()
    assert "6,001 more coefficients are in inference()." in text
    assert f"{model.score(frame[['user', 'x']], frame['y']):.4f}" in text
    with pytest.raises(
        DataError, match="7,001 design columns, 7,000 of them of column 'user', are too many for these errors"
    ):
        model.inference("HC0", frame)
