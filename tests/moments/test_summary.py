from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import gramian as gm
from gramian.moments.summary import summarise


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    n = 200
    x = rng.normal(3.0, 2.0, n)
    x[:20] = np.nan
    return pd.DataFrame({"x": x, "k": rng.integers(0, 5, n), "c": ["often"] * 150 + [None] * 50, "y": ["u", "v"] * 100})


def test_summary_equals_pandas(frame: pd.DataFrame) -> None:
    summary = gm.collect(frame, targets="y").summary()
    by_name = {column.name: column for column in summary.columns}
    for name in ("x", "k"):
        assert by_name[name].mean == pytest.approx(frame[name].mean(), rel=1e-12)
        assert by_name[name].std == pytest.approx(frame[name].std(), rel=1e-12)
        seen = frame[name].dropna()
        assert by_name[name].skewness == pytest.approx(stats.skew(seen), rel=1e-10)
        assert by_name[name].kurtosis == pytest.approx(stats.kurtosis(seen, fisher=False), rel=1e-10)
    assert by_name["x"].missing == pytest.approx(0.1)
    assert by_name["c"].missing == pytest.approx(0.25)
    assert (by_name["c"].top, by_name["c"].top_share, by_name["c"].levels) == ("often", 0.75, 2)
    assert by_name["y"].target
    assert summary.n_rows == 200
    assert summary.n_design_columns == 4


def test_summary_is_plain_data(frame: pd.DataFrame) -> None:
    told = gm.collect(frame).summary().to_dict()
    assert json.loads(json.dumps(told)) == told


def test_summary_prints_a_line_a_column(frame: pd.DataFrame) -> None:
    text = str(gm.collect(frame, folds=2).summary())
    assert "200 rows" in text
    assert "2 folds" in text
    assert "often: 75.0%" in text
    assert len(text.splitlines()) == 3 + 4


def test_html_escapes_what_users_wrote() -> None:
    m = gm.collect(pa.table({"<b>": ["<script>", "<script>"]}))
    assert "<script>" not in m._repr_html_()
    assert "<b></td>" not in m._repr_html_()


def test_long_tables_are_cut_short() -> None:
    m = gm.collect(np.zeros((2, 100)))
    assert "and 60 more columns" in str(m.summary())
    assert "and 60 more columns" in m._repr_html_()


def test_summary_of_columns_without_values() -> None:
    m = gm.collect(pa.table({"x": pa.nulls(2, pa.float64()), "k": pa.nulls(2, pa.int64())}))
    text = str(m.summary())
    assert text.count("nothing observed") == 2


def test_summary_of_weighted_moments_weighs() -> None:
    m = gm.collect(pa.table({"c": ["a", "b"], "x": [0.0, 1.0], "w": [3.0, 1.0]}), sample_weight="w")
    by_name = {column.name: column for column in m.summary().columns}
    assert by_name["x"].mean == 0.25
    assert by_name["c"].top_share == 0.75
    assert "weight 4" in str(m.summary())


def test_a_column_that_does_not_vary_has_no_shape() -> None:
    m = gm.collect(pa.table({"x": [0.1] * 5, "k": [3] * 5}))
    assert [(c.std, c.skewness, c.kurtosis) for c in m.summary().columns] == [(0.0, None, None)] * 2


def by_hand(x: np.ndarray, w: np.ndarray) -> dict[str, float]:
    """Return mean, spread and shape of weighted values, one sum a line."""
    n = sum(w)
    mean = sum(w * x) / n
    second, third, fourth = (sum(w * (x - mean) ** k) for k in (2, 3, 4))
    spread = (second / n) ** 0.5
    return {
        "mean": mean,
        "std": (second / (n - 1)) ** 0.5,
        "skewness": third / n / spread**3,
        "kurtosis": fourth / n / spread**4,
    }


@pytest.mark.parametrize("column", ["x", "k"])
def test_shapes_are_the_weighted_sums_of_their_definition(rng: np.random.Generator, column: str) -> None:
    n = 60
    table = pa.table(
        {"x": rng.gamma(2.0, size=n), "k": rng.integers(0, 4, n) ** 2, "w": rng.integers(1, 5, n).astype(float)}
    )
    found = {c.name: c for c in summarise(gm.collect(table, sample_weight="w")).columns}[column]
    expected = by_hand(table[column].to_numpy().astype(float), table["w"].to_numpy())
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=1e-10)
    assert found.levels == (4 if column == "k" else None)


def test_a_long_level_is_cut_and_a_target_is_marked() -> None:
    m = gm.collect(pa.table({"c": ["x" * 50, "x" * 50], "y": ["u", "u"]}), targets="y")
    (_, kind, levels, missing, about), (_, target, *_) = (column.cells() for column in summarise(m).columns)
    assert (kind, levels, missing, about) == ("categorical", "1", "", "x" * 29 + "…: 100.0%")
    assert target == "categorical (target)"
