"""Sums over leverages against hat matrices of the rows themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.regression.independence import of_number, parts_of, parts_of_target, side_of
from gramian.linear.regression.permutation import Side
from gramian.linear.regression.targets import aim_of


def hat(columns: np.ndarray) -> np.ndarray:
    centred = columns - columns.mean(axis=0)
    # To unit length: the pseudo-inverse of columns of very different size would drop the small ones.
    size = np.sqrt((centred**2).sum(axis=0))
    centred = centred[:, size > 0] / size[size > 0]
    return centred @ np.linalg.pinv(centred, rcond=1e-10)


def by_definition(a: np.ndarray) -> list[float]:
    h = np.diagonal(a)
    return [np.trace(a), (h**2).sum(), (h**3).sum(), (a**3).sum(), h @ a @ h]


def sums(side: Side) -> list[float]:
    return [side.rank, side.squares, side.cubes, side.entries, side.form]


def indicators(labels) -> np.ndarray:
    given = pd.Series(labels).astype(object)
    labels = given.where(given.notna(), "none").astype(str).to_numpy()
    return (labels[:, None] == np.unique(labels)).astype(float)


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    n = 240
    share = 1 / np.arange(1, 31)
    heavy = np.exp(2 * rng.standard_normal(n))
    return pd.DataFrame(
        {
            "label": pd.Series(rng.choice(30, n, p=share / share.sum())).map(lambda k: None if k == 4 else f"l{k}"),
            "small": rng.integers(0, 7, n) ** 2,
            "gaps": pd.array(np.where(rng.random(n) < 0.2, -1, rng.integers(0, 5, n)), dtype="Int64"),
            "heavy": heavy,
            "holes": np.where(rng.random(n) < 0.3, np.nan, 1e6 + heavy**1.5),
            "always": 3.5,
        }
    ).assign(gaps=lambda f: f["gaps"].where(f["gaps"] >= 0))


def rows_of(frame: pd.DataFrame, name: str) -> np.ndarray:
    if name == "label":
        return indicators(frame[name])
    values = frame[name].astype(float)
    return values.fillna(values.mean()).to_numpy()[:, None]


@pytest.mark.parametrize("name", ["label", "small", "gaps", "heavy", "holes", "always"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_column_has_the_sums_of_its_hat_matrix(frame, rng, name, weighted):
    weights = rng.integers(1, 4, len(frame))
    moments = gm.collect(frame[[name]], sample_weight=weights.astype(float) if weighted else None)
    rows = frame.loc[frame.index.repeat(weights)] if weighted else frame
    expected = by_definition(hat(rows_of(rows, name)))
    (part,) = parts_of(moments, [name])
    assert sums(side_of(moments, [name], [part], round(expected[0]))) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert not part.side.estimated


@pytest.mark.parametrize("influence", ["auto", "slices", "ranks", lambda v: np.column_stack([v, v**2, np.sin(v)])])
def test_functions_of_a_target_have_the_sums_of_their_hat_matrix(frame, influence):
    moments = gm.collect(frame[["small", "label"]])
    aim = aim_of(moments, ["small"], influence=influence, target_type="continuous")
    read = aim.read(moments)
    (part,) = parts_of_target(read, aim)
    levels = moments.levels("small")
    at = frame["small"].map({label: k for k, label in enumerate(levels)}).to_numpy()
    values = np.asarray(levels, dtype=float)[:, None] if len(aim.map) == 1 else aim.map
    assert sums(part.side) == pytest.approx(by_definition(hat(values[at])), rel=1e-8)


def test_classes_are_a_category(frame):
    moments = gm.collect(frame[["small", "label"]])
    aim = aim_of(moments, ["small"])
    (part,) = parts_of_target(aim.read(moments), aim)
    assert sums(part.side) == pytest.approx(by_definition(hat(indicators(frame["small"]))), rel=1e-9)


def joint(frame: pd.DataFrame, names: list[str], **arguments) -> tuple[Side, list[float]]:
    moments = gm.collect(frame, **arguments)
    expected = by_definition(hat(np.column_stack([rows_of(frame, name) for name in names])))
    return side_of(moments, names, parts_of(moments, names), round(expected[0])), expected


def test_several_columns_are_estimated_closely_where_they_are_independent(frame):
    found, expected = joint(frame, ["label", "small", "heavy"])
    assert found.estimated
    # Of 240 rows, 30 levels and two heavy tails: not exact, and not far.
    assert sums(found) == pytest.approx(expected, rel=0.15)


def test_a_column_twice_is_one_column(frame):
    frame = frame.assign(
        twin=frame["label"].map(lambda v: None if v is None else f"t{v}"), double=-2.0 * frame["heavy"]
    )
    moments = gm.collect(frame)
    for names in (["label", "twin"], ["heavy", "double"]):
        once = parts_of(moments, names[:1])[0].side
        both = side_of(moments, names, parts_of(moments, names), int(once.rank))
        # A share of leverage that the twin would have taken is missed: a tenth at most at a tenth as many levels as rows.
        assert both.squares == pytest.approx(once.squares, rel=0.1)


def test_wide_columns_are_counted_by_pairs(rng, monkeypatch):
    from gramian.design import pair_tables as limits

    n = 3000
    frame = pd.DataFrame({c: np.char.add(c, (rng.pareto(1.0, n) * 9 % 400).astype(int).astype(str)) for c in "ab"})
    narrow = gm.collect(frame)
    monkeypatch.setattr(limits, "NARROW_LEVELS", 50)
    wide = gm.collect(frame)
    assert wide.pairs.blocks
    assert not narrow.pairs.blocks
    a, b = (sums(side_of(m, ["a", "b"], parts_of(m, ["a", "b"]), 500)) for m in (narrow, wide))
    assert a == pytest.approx(b, rel=1e-12)


def test_powers_that_left_the_range_of_floats_are_not_known():
    side = of_number(np.array([1e160, 0.0, np.inf, np.nan, np.inf])).side
    assert (side.rank, np.isnan(side.squares), np.isnan(side.cubes)) == (1.0, True, True)
